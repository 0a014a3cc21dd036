"""A plan as ordered steps, and the steps as files in a format."""
