"""What this host is: each fact a command and a pure parser."""
