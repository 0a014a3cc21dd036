"""`provision plan` from outside: what it writes, remembers, compares and takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from place import ROOT

GOOD = "# mine\nspec: 1\nname: box\ntarget: ubuntu2204\ngpus: [RTX 4090]   # one card\ntorch: \"~=2.7.0\"\n"
IMPOSSIBLE = "spec: 1\ntarget: ubuntu2204\ngpus: [RTX 5090]\ntorch: \"==2.6.*\"   # pinned\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec, and a cache of its own."""
    monkeypatch.setenv("PROVISION_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "spec.yaml").write_text(GOOD)
    return tmp_path


def plan(here: Path, *arguments: str, status: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    told = subprocess.run([sys.executable, "-m", "provisioner", "plan", *arguments], cwd=here, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **env})
    assert told.returncode == status, told.stdout + told.stderr
    return told


def test_json_has_the_contracts_keys(here: Path) -> None:
    document = json.loads(plan(here, "--format", "json").stdout)
    assert document.keys() >= {"status", "catalog", "choices", "because", "warnings", "steps"}
    assert document["choices"].keys() >= {"os", "arch", "gpus", "driver", "driver_branch", "driver_flavour", "driver_source", "cuda", "cuda_build",
                                          "toolkit", "cudnn", "nccl", "python", "torch", "index_url", "packages"}
    assert document["choices"]["torch"] == "2.7.1+cu128"
    assert all(each["text"] and each["facts"] is not None for each in document["because"])


def test_equal_input_gives_equal_bytes(here: Path) -> None:
    plan(here)
    first = (here / "provision.lock").read_bytes()
    (here / "provision.lock").unlink()
    plan(here, PROVISION_CACHE_HOME=str(here / "other"), PYTHONHASHSEED="7")
    assert (here / "provision.lock").read_bytes() == first


def test_the_order_of_the_file_changes_only_line_numbers(here: Path) -> None:
    plan(here, "--lock", "one.lock")
    (here / "spec.yaml").write_text("\n".join(reversed(GOOD.strip().split("\n"))) + "\n")
    plan(here, "--lock", "two.lock")
    one, two = (json.loads((here / name).read_text()) for name in ("one.lock", "two.lock"))
    for part in ("spec", "choices", "artefacts", "steps"):
        assert one[part] == two[part]


def test_the_second_answer_is_the_first(here: Path) -> None:
    first = plan(here)
    (here / "provision.lock").unlink()
    second = plan(here)
    assert list((here / "cache" / "plans").iterdir())
    assert second.stdout == first.stdout
    assert (here / "provision.lock").is_file()


@pytest.mark.parametrize("damage", [b"", b"\x00", b"{}", None], ids=["empty", "byte", "text", "truncated"])
def test_a_damaged_memory_changes_nothing(here: Path, damage: bytes | None) -> None:
    first = plan(here).stdout
    for entry in (here / "cache" / "plans").iterdir():
        entry.write_bytes(entry.read_bytes()[:-9] if damage is None else damage)
    assert plan(here).stdout == first


def test_a_changed_spec_is_never_answered_from_before(here: Path) -> None:
    plan(here)
    (here / "spec.yaml").write_text(GOOD.replace("2.7.0", "2.8.0"))
    assert json.loads(plan(here, "--format", "json").stdout)["choices"]["torch"].startswith("2.8.0")


def test_an_overlay_is_seen_at_once_and_marked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own row changes the plan, also one that was remembered."""
    monkeypatch.setenv("PROVISION_DATA_HOME", str(here / "data"))
    (here / "spec.yaml").write_text("spec: 1\ntarget: ubuntu2204\ngpus: [Frobnicator 9000]\n")
    plan(here, status=2)
    (here / "data" / "catalog.d").mkdir(parents=True)
    (here / "data" / "catalog.d" / "mine.yaml").write_text(
        "table: gpus\nrows:\n  - {name: \"Frobnicator 9000\", pci_id: \"fff0\", chip: X, architecture: Ada, sm: 89, gpu_class: geforce, "
        "open_modules: supported, source: \"provision: a test\", date: \"2026-12-01\", confidence: stated}\n")
    told = json.loads(plan(here, "--format", "json").stdout)
    assert told["choices"]["gpus"] == ["sm_89"]
    assert [each["text"] for each in told["warnings"] if each["code"] == "own-rows"] == [
        "this plan rests on rows of your own catalogue overlay: gpus Frobnicator 9000 fff0"]


def test_a_cache_that_cannot_be_written_is_no_fault(here: Path) -> None:
    (here / "file").write_text("")
    plan(here, PROVISION_CACHE_HOME=str(here / "file" / "below"))


def test_frozen(here: Path) -> None:
    plan(here)
    plan(here, "--frozen")
    before = (here / "provision.lock").read_bytes()
    (here / "spec.yaml").write_text(GOOD.replace("2.7.0", "2.8.0"))
    told = plan(here, "--frozen", status=2)
    assert "provision.lock" in told.stderr
    assert (here / "provision.lock").read_bytes() == before


def test_all_lists_different_plans(here: Path) -> None:
    document = json.loads(plan(here, "--all", "4", "--format", "json", "--no-lock").stdout)
    plans = [document["choices"], *document["others"]]
    assert len(plans) == 4
    assert len({json.dumps(each, sort_keys=True) for each in plans}) == 4


def test_why_names_the_sources(here: Path) -> None:
    told = plan(here, "--why", "driver").stdout
    assert "driver" in told
    assert "(stated)" in told or "(measured)" in told
    assert "did you mean driver" in plan(here, "--why", "drivr", status=2).stderr


def test_diff_says_what_changed(here: Path) -> None:
    plan(here, "--lock", "old.lock")
    (here / "spec.yaml").write_text(GOOD.replace("2.7.0", "2.8.0"))
    changes = json.loads(plan(here, "--diff", "old.lock", "--format", "json").stdout)["changes"]
    torch = next(each for each in changes if each["choice"] == "torch")
    assert (torch["from"], torch["to"][:5]) == ("2.7.1+cu128", "2.8.0")


def test_take_writes_a_way_out_and_keeps_comments(here: Path) -> None:
    (here / "spec.yaml").write_text(IMPOSSIBLE)
    refused = json.loads(plan(here, "--format", "json", status=3).stdout)
    assert {entry.get("field", "").split("[")[0] for entry in refused["conflict"] if entry["kind"] == "requirement"} == {"torch", "gpus"}
    count = len(refused["alternatives"])
    for number in range(1, count + 1):
        (here / "spec.yaml").write_text(IMPOSSIBLE)
        document = json.loads(plan(here, "--take", str(number), "--format", "json").stdout)
        assert document["choices"] == refused["alternatives"][number - 1]["choices"]
    (here / "spec.yaml").write_text(IMPOSSIBLE)
    plan(here, "--take", "1")
    assert "# pinned" in (here / "spec.yaml").read_text()
    (here / "spec.yaml").write_text(IMPOSSIBLE)
    plan(here, "--take", str(count + 1), status=2)
    assert (here / "spec.yaml").read_text() == IMPOSSIBLE


def test_a_lock_of_another_catalogue_says_so(here: Path) -> None:
    plan(here)
    lock = json.loads((here / "provision.lock").read_text())
    lock["catalog"] = {"version": "2020.1.1", "digest": "sha256:0"}
    (here / "provision.lock").write_text(json.dumps(lock))
    told = subprocess.run([sys.executable, "-m", "provisioner", "render", "--target", "ubuntu2204"], cwd=here, capture_output=True, text=True,
                          check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert "2020.1.1" in told.stderr


def test_least_change_keeps_what_the_machine_has(here: Path) -> None:
    facts = {"probe": 1, "facts": {"driver": {"value": "550.163.01"}, "torch": {"value": {"version": "2.6.0+cu124", "cuda": "12.4"}},
                                   "python": {"value": {"version": "3.10.12"}}}}
    (here / "facts.json").write_text(json.dumps(facts))
    (here / "spec.yaml").write_text("spec: 1\ntarget: ubuntu2204\ngpus: [RTX 4090]\nprefer: least-change\n")
    choices = json.loads(plan(here, "--facts", "facts.json", "--format", "json").stdout)["choices"]
    assert (choices["driver"], choices["torch"], choices["python"]) == ("550.163.01", "2.6.0+cu124", "3.10")


def test_a_spec_from_standard_input(here: Path) -> None:
    told = subprocess.run([sys.executable, "-m", "provisioner", "plan", "-", "--no-lock", "--format", "json"], cwd=here, capture_output=True, text=True,
                          input=GOOD, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert json.loads(told.stdout)["status"] == "ok"


def test_chinese_by_locale(here: Path) -> None:
    assert "方案" in plan(here, LC_ALL="zh_CN.UTF-8").stdout
    assert "Plan" in plan(here, "--lang", "en", LC_ALL="zh_CN.UTF-8").stdout


def test_windows_steps_speak_of_windows(here: Path) -> None:
    """No nouveau, no initramfs, no run file there; NVIDIA's installer instead."""
    (here / "spec.yaml").write_text("spec: 1\ntarget: windows\ngpus: [RTX 4090]\ntoolkit: match\n")
    steps = " | ".join(json.loads(plan(here, "--no-lock", "--format", "json").stdout)["steps"])
    assert "installer for Windows" in steps
    assert not [word for word in ("nouveau", "initramfs", "run file", "/etc/") if word in steps]


def test_a_refusal_names_each_line_once(here: Path) -> None:
    (here / "spec.yaml").write_text(IMPOSSIBLE)
    english = plan(here, "--no-lock", "--lang", "en", status=3).stdout
    assert "  - line 4 asks for torch ==2.6.*" in english and "[line 4]" not in english
    chinese = plan(here, "--no-lock", "--lang", "zh", status=3).stdout
    assert "即可成立：" in chinese and "即可成立:" not in chinese
