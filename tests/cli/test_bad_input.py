"""Whatever a user hands over, the answer is a clear error and status 2: no traceback, and nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from place import ROOT

GOOD = "spec: 1\ntarget: ubuntu2204\ngpus: [RTX 4090]\n"


def provision(*arguments: str, cwd: Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "provisioner", *arguments], cwd=cwd, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, **more)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("content", [
    b"", b"\n\n", b"# only a comment\n", b"null\n", b"[]\n", b"42\n", b"\xff\xfe\x00\x01", b"\x00" * 64, b"\x7fELF" + bytes(range(256)),
    b"spec: 1\n", b"target: [\n", b"spec: 1\ntarget: ubuntu2204\ntarget: debian12\n", b"spec: 1\ntarget: ubuntu2204\ncolour: red\n",
    b"spec: 1\ntarget: !!python/object/apply:os.system ['true']\n", b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n",
    b"spec: 2\ntarget: ubuntu2204\n", b"spec: 1\ntarget: ubuntu2204\ngpus: {}\n", b"spec: 1\ntarget: nosuch\n",
    b"spec: 1\ntarget: ubuntu2204\ntorch: \"not a range\"\n", b"spec: 1\ntarget: ubuntu2204\n" + b"#" * (1 << 20),
    b"{" * 3000, b"spec: 1\ntarget: ubuntu2204\ngpus: [Voodoo 3dfx]\n", b"spec: 1\ntarget: ubuntu2204\n---\nspec: 1\n",
], ids=range(23))
def test_bad_specs(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_bytes(content)
    told = provision("plan", cwd=tmp_path)
    assert told.returncode == 2, told.stdout + told.stderr
    assert "Traceback" not in told.stderr
    assert "spec.yaml" in told.stderr
    assert not (tmp_path / "provision.lock").exists()


@pytest.mark.parametrize("name", [".", "/dev/null", "nosuch.yaml"])
def test_things_that_are_no_files(name: str, tmp_path: Path) -> None:
    told = provision("plan", name, cwd=tmp_path)
    assert told.returncode == 2
    assert "Traceback" not in told.stderr


def test_json_of_bad_input_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("spec: 1\ntarget: ubuntu2204\ntorhc: 2.7\ndrivr: 580\n")
    told = provision("plan", "--format", "json", cwd=tmp_path)
    document = json.loads(told.stdout)
    assert document["status"] == "error"
    assert [problem["line"] for problem in document["problems"]] == [3, 4]
    assert "torch" in document["problems"][0]["todo"]


def test_no_permission(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (tmp_path / "spec.yaml").write_text(GOOD)
    (tmp_path / "spec.yaml").chmod(0)
    told = provision("plan", cwd=tmp_path)
    assert told.returncode == 2
    assert "Traceback" not in told.stderr


def test_full_disk_loses_nothing(tmp_path: Path) -> None:
    """/dev/full takes every open and refuses every write."""
    (tmp_path / "spec.yaml").write_text(GOOD)
    told = provision("plan", "--lock", "/dev/full", cwd=tmp_path)
    assert told.returncode == 2, told.stderr
    assert "Traceback" not in told.stderr
    with open("/dev/full", "w") as full:
        shown = subprocess.run([sys.executable, "-m", "provisioner", "plan", "--no-lock"], cwd=tmp_path, stdout=full,
                               stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert shown.returncode == 2, shown.stderr
    assert "Traceback" not in shown.stderr


def test_lock_into_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(GOOD)
    told = provision("plan", "--lock", "no/such/provision.lock", cwd=tmp_path)
    assert told.returncode == 2
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\x00\xff", b'{"lock": 99}', b"{" * 100000])
def test_bad_locks(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "provision.lock").write_bytes(content)
    for command in (("render", "--target", "ubuntu2204"), ("verify",), ("apply", "--dry-run")):
        told = provision(*command, cwd=tmp_path)
        assert told.returncode == 2, (command, told.stderr)
        assert "Traceback" not in told.stderr


def test_a_wrong_command_names_the_near_one(tmp_path: Path) -> None:
    told = provision("plna", cwd=tmp_path)
    assert told.returncode == 2
    assert "did you mean plan" in told.stderr


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(GOOD)
    told = subprocess.run(f"'{sys.executable}' -m provisioner rules list | head -n 1", shell=True, cwd=tmp_path, text=True,
                          capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert "Traceback" not in told.stderr
    assert told.stderr == ""
