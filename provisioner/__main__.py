"""`python -m provisioner`."""

from provisioner.cli.main import entry

raise SystemExit(entry())
