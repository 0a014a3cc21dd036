"""Many hosts, through Ansible."""
