"""Every system of the catalogue gets a script that is valid and clean, in the kinds that it has, or a refusal that says why."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from provisioner import __version__
from provisioner.catalog.load import load
from provisioner.errors import Problem
from provisioner.render import MAIN_SCRIPT, render
from provisioner.render.steps import build
from provisioner.solver import lock
from provisioner.solver.plan import Plan, solve
from provisioner.spec.load import load as load_spec

LINUX = [row.id for row in load().systems if row.family not in ("windows", "macos") and row.id != "wsl-ubuntu"]
CHECKED: set[tuple[str, ...]] = set()


@pytest.mark.parametrize("kind", ["host", "container", "wsl"])
@pytest.mark.parametrize("system", LINUX)
def test_a_script_for_every_system(system: str, kind: str, tmp_path: Path) -> None:
    glibc = ', glibc: "2.36"' if system == "linux" else ""
    for installer, toolkit in (("pip", "none"), ("uv", ">=11"), ("conda", "none")) if kind == "host" else (("uv", ">=11"),):
        text = f"spec: 1\ntarget: {{os: {system}, kind: {kind}{glibc}}}\ngpus: [L4]\ntoolkit: '{toolkit}'\ninstaller: {installer}\n"
        spec = load_spec("spec.yaml", text=text.encode())
        plan = solve(spec, load())
        if not isinstance(plan, Plan):
            continue  # the solver's word; what it may refuse is tested with it
        made = lock.make(plan, spec, __version__)
        try:
            script = render(made, system, "bash")[MAIN_SCRIPT]
        except Problem as refused:
            assert refused.status == 2
            assert refused.todo
            continue
        path = tmp_path / "install.sh"
        path.write_text(script)
        alike = (made["artefacts"]["system"]["package_manager"], kind, *(step.id for step in build(made)))
        checker = ["bash", "-n"] if alike in CHECKED else ["shellcheck"]  # one look at each kind of script
        CHECKED.add(alike)
        told = subprocess.run([*checker, str(path)], capture_output=True, text=True, check=False)
        assert told.returncode == 0, f"{installer}\n{told.stdout[:1500]}{told.stderr[:1500]}"
        defined = {line.split("()")[0] for line in script.splitlines() if "() {" in line and line[0].isalpha()}
        for name in ("has_package", "install_packages", "undo_packages", "refresh_packages", "hold_packages", "are_held"):
            assert name in defined or f"{name} " not in script, f"{name} is called and nowhere defined"
        if kind != "host":
            assert "check_install_driver" not in script
            assert "blacklist" not in script
