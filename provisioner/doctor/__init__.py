"""What is wrong with a machine, and how to mend it."""
