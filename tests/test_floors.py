"""The shape of the building: who imports whom, and what a start costs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from place import ROOT

HEAVY = ("pydantic", "jinja2", "requests", "packaging", "torch", "rich", "ruamel", "dataclasses", "asyncio", "urllib.request")


def imported(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after running `code`."""
    told = subprocess.run([sys.executable, "-c", code + "\nimport sys; print('\\n'.join(sys.modules))"], cwd=ROOT,
                          capture_output=True, text=True, check=True)
    return set(told.stdout.splitlines())


def test_import_contracts() -> None:
    """Rooms import only rooms below them; the deciding rooms start no process and open no connection."""
    pytest.importorskip("importlinter")
    told = subprocess.run(["lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False,
                          env={"PATH": str(ROOT / ".venv" / "bin") + ":" + str(sys.prefix) + "/bin:/usr/bin:/bin"})
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("heavy", HEAVY)
def test_help_imports_nothing_heavy(heavy: str) -> None:
    before = imported("pass")
    after = imported("import sys; sys.argv = ['provision', '--help']\n"
                     "import io, contextlib\nfrom provisioner.cli.main import entry\n"
                     "with contextlib.redirect_stdout(io.StringIO()):\n    entry()")
    assert heavy not in after - before


def test_only_the_cli_prints() -> None:
    """No other room writes to the terminal; the two payloads print their one document by design."""
    allowed = {"verify/payload.py", "probe/payload.py"}
    guilty = [str(path.relative_to(ROOT / "provisioner")) for path in (ROOT / "provisioner").rglob("*.py")
              if path.relative_to(ROOT / "provisioner").parts[0] not in ("cli", "_data")
              and any(line.lstrip().startswith("print(") for line in path.read_text("utf-8").splitlines())]
    assert set(guilty) <= allowed, guilty
