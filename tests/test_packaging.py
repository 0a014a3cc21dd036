"""The wheel stands alone: installed into an empty environment it does the main job from any folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from place import ROOT

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    return folder / "bin"


def test_data_and_templates_are_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for folder in ("compat_data", "templates"):
        shipped = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert {f"provisioner/_data/{name}" for name in shipped} <= set(names)
    rules = {path.name for path in (ROOT / "provisioner" / "doctor" / "rules").glob("*.yaml")}
    assert rules <= {Path(name).name for name in names}


def test_the_main_job_from_any_folder(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_bytes((ROOT / "examples" / "rtx4090-workstation.yaml").read_bytes())
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*arguments: str, status: int = 0, stdin: str | None = None) -> str:
        told = subprocess.run([str(installed / "provision"), *arguments], cwd=tmp_path, env=env, capture_output=True, text=True,
                              check=False, input=stdin)
        assert told.returncode == status, told.stderr
        return told.stdout

    assert json.loads(run("plan", "--format", "json"))["status"] == "ok"
    assert run("render", "--target", "ubuntu2204").startswith("#!/usr/bin/env bash")
    findings = json.loads(run("explain", "-", "--format", "json", stdin="ImportError: libcuda.so.1: cannot open shared object file\n",
                              status=0))["findings"]
    assert findings
    run("verify", status=4)
    assert json.loads(run("catalog", "lint", "--format", "json"))["findings"] == []
