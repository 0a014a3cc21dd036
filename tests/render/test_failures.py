"""What a script says and how it leaves when something goes wrong; run by real bash, without root's places being touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from render.locks import debian12

from provisioner.render import MAIN_SCRIPT, render


def run(tmp_path: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script of a lock whose environment lies in `tmp_path`."""
    script = tmp_path / "install.sh"
    script.write_text(render(debian12(artefacts={"environment": str(tmp_path / "torch")}), "debian12", "bash")[MAIN_SCRIPT])
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PROVISION_STATE_DIR": str(tmp_path / "state"), **variables}
    return subprocess.run(["bash", str(script), *arguments], env=env, capture_output=True, text=True, check=False, cwd=tmp_path,
                          stdin=subprocess.DEVNULL)


def test_a_command_that_fails_unforeseen_leaves_with_4_and_names_the_step(tmp_path: Path) -> None:
    told = run(tmp_path, "--only", "create-python-environment", PROVISION_STATE_DIR="/dev/null/nowhere")
    assert told.returncode == 4
    assert "stopped with status 1 in: Create a Python 3.11 environment" in told.stderr


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "thesis.tex").write_text("mine")
    told = run(tmp_path, "--only", "create-python-environment")
    assert told.returncode == 4
    assert "is no Python 3.11 environment" in told.stderr
    assert (tmp_path / "torch" / "thesis.tex").read_text() == "mine"
    assert run(tmp_path, "--undo").returncode == 0
    assert (tmp_path / "torch" / "thesis.tex").read_text() == "mine"


def test_wrong_calls_leave_with_2(tmp_path: Path) -> None:
    for arguments in (["--nonsense"], ["--only", "no-such-step"], ["--skip"]):
        told = run(tmp_path, *arguments)
        assert told.returncode == 2
        assert "error: " in told.stderr


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    told = run(tmp_path, "--dry-run", "--skip", "check-system")
    assert told.returncode == 0
    assert "nothing was changed" in told.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["install.sh"]


def test_another_cuda_build_is_not_what_was_asked_for(tmp_path: Path) -> None:
    """torch 2.7.1+cpu has the right number and the wrong build; 2.7.1+cu128 is right."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "torch")], check=True)
    place = next((tmp_path / "torch" / "lib").glob("python*")) / "site-packages"
    for version, verdict in (("2.7.1+cpu", "would do"), ("2.7.0+cu128", "would do"), ("2.7.1+cu128", "already done")):
        for name, found in (("torch", version), ("torchvision", "0.22.1+cu128")):
            info = place / f"{name}.dist-info"
            info.mkdir(exist_ok=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {found}\n")
        told = run(tmp_path, "--dry-run", "--only", "install-wheels")
        assert f"{verdict}: Install torch==2.7.1+cu128" in told.stdout, version
