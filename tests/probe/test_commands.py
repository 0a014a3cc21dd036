"""`init` and `doctor` as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MACHINES = Path(__file__).parent / "machines"


def provision(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "provisioner", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_this_host_saved_and_read_again_says_the_same(tmp_path: Path) -> None:
    live = provision("doctor", "--format", "json", "--save", "bundle.json", "--python", sys.executable, folder=tmp_path)
    again = provision("doctor", "--format", "json", "--from", "bundle.json", folder=tmp_path)
    assert live.returncode == again.returncode
    assert [each["code"] for each in json.loads(live.stdout)["findings"]] == [each["code"] for each in json.loads(again.stdout)["findings"]]
    assert "private" not in json.loads((tmp_path / "bundle.json").read_text("utf-8"))


@pytest.mark.parametrize(("name", "status"), [("healthy-rtx5090-no-torch", 0), ("no-gpu-laptop", 4)])
def test_doctor_on_facts_of_another_machine(tmp_path: Path, name: str, status: int) -> None:
    assert provision("doctor", "--from", str(MACHINES / f"{name}.json"), folder=tmp_path).returncode == status


def test_init_writes_a_spec_that_plans(tmp_path: Path) -> None:
    made = provision("init", "--from", str(MACHINES / "healthy-rtx4090.json"), folder=tmp_path)
    assert made.returncode == 0, made.stderr
    planned = provision("plan", "--format", "json", folder=tmp_path)
    assert planned.returncode == 0, planned.stderr
    choices = json.loads(planned.stdout)["choices"]
    assert (choices["driver"], choices["torch"].split("+")[0], choices["cuda"]) == ("550.144.03", "2.6.0", "12.4")


def test_init_keeps_a_spec_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("mine\n", "utf-8")
    made = provision("init", "--from", str(MACHINES / "healthy-rtx4090.json"), folder=tmp_path)
    assert made.returncode == 2
    assert (tmp_path / "spec.yaml").read_text("utf-8") == "mine\n"


def test_facts_that_are_none_are_told_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text("{}", "utf-8")
    made = provision("init", "--from", "facts.json", folder=tmp_path)
    assert made.returncode == 2
    assert "is no file of facts" in made.stderr
    assert "Traceback" not in made.stderr
