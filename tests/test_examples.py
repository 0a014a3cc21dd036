"""Every shipped example is planned, rendered and shell-checked, and the right ones are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from place import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
REFUSED = {"impossible-pascal-blackwell"}


def provision(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "provisioner", *arguments], cwd=cwd, capture_output=True, text=True, check=False,
                          env={**__import__("os").environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_bytes(example.read_bytes())
    planned = provision("plan", "--format", "json", cwd=tmp_path)
    document = json.loads(planned.stdout)
    if example.stem in REFUSED:
        assert planned.returncode == 3
        assert document["conflict"]
        assert document["alternatives"]
        return
    assert planned.returncode == 0, planned.stderr
    target = document["choices"]["os"]
    rendered = provision("render", "--target", target, "--out", "out", cwd=tmp_path)
    assert rendered.returncode == 0, rendered.stderr
    scripts = [path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.read_bytes().startswith(b"#!")]
    assert scripts
    for script in scripts:
        checked = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout


def test_the_pascal_card_gets_kernels(tmp_path: Path) -> None:
    """GTX 1080 Ti is sm_61: torch 2.14 with cu126 is the last wheel that lists it (sm_60 and sm_61 run there), driver below 590."""
    (tmp_path / "spec.yaml").write_bytes((ROOT / "examples" / "gtx1080ti-desktop.yaml").read_bytes())
    choices = json.loads(provision("plan", "--format", "json", cwd=tmp_path).stdout)["choices"]
    assert choices["torch"].startswith("2.14.")
    assert choices["cuda_build"] == "cu126"
    assert choices["driver_branch"] == "580"
    assert choices["driver_flavour"] == "proprietary"


def test_plan_render_verify_follow_each_other(tmp_path: Path) -> None:
    """The three verbs find each other's files with no flags but those of the task."""
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.yaml").write_bytes((ROOT / "examples" / "rtx4090-workstation.yaml").read_bytes())
    assert provision("plan", "examples/a.yaml", cwd=tmp_path).returncode == 0
    assert (tmp_path / "examples" / "provision.lock").is_file()
    assert provision("render", "--target", "ubuntu2204", "--out", "out", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out" / "install.sh").is_file()
    verified = provision("verify", cwd=tmp_path)
    assert verified.returncode in (0, 4)
    assert verified.stdout
