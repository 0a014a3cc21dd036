"""The smoke test as a lone file: whatever torch does, one JSON document comes out and says what happened."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from place import ROOT

from provisioner.errors import Problem
from provisioner.runner import Replayer
from provisioner.verify.run import PAYLOAD, run

FIXTURES = ROOT / "tests" / "fixtures"


def told(*options: str, python: str = sys.executable, **environment: str) -> dict[str, dict[str, Any]]:
    """The checks of a run, by name."""
    done = subprocess.run([python, PAYLOAD, *options], capture_output=True, text=True, check=True, timeout=300,
                          env={**os.environ, **environment})
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert document["verify"] == 1
    assert set(document["python"]) == {"version", "executable", "prefix", "virtual", "implementation"}
    for each in document["checks"]:
        assert each["outcome"] in ("ran", "skipped", "crashed")
        assert (each["outcome"] == "ran") == (each["because"] == "")
    return {each["name"]: each for each in document["checks"]}


def pretend(cards: list[dict[str, Any]], *options: str) -> dict[str, dict[str, Any]]:
    """A run of the real torch, with the CPU playing these GPUs."""
    return told("--load", "0.02", *options, PYTHONPATH=str(FIXTURES / "pretend_gpu"), PRETEND_GPU=json.dumps(cards))


def standin(mode: str, *options: str) -> dict[str, dict[str, Any]]:
    return told(*options, PYTHONPATH=str(FIXTURES / "standin_torch"), STANDIN_TORCH=mode)


ADA = {"name": "NVIDIA GeForce RTX 4090", "capability": [8, 9]}
TURING = {"name": "Tesla T4", "capability": [7, 5]}


def test_it_imports_the_standard_library_only_and_reads_as_python_3_6() -> None:
    source = Path(PAYLOAD).read_text("utf-8")
    tree = ast.parse(source, feature_version=(3, 6))
    names = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= set(sys.stdlib_module_names)


def _interpreters() -> list[str]:
    found = [shutil.which(f"python3.{minor}") for minor in range(6, 16)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(path) for path in pyenv.glob("3.*/bin/python")]
    return sorted({os.path.realpath(path) for path in found if path and "shims" not in path} | {os.path.realpath(sys.executable)})


@pytest.mark.parametrize("python", _interpreters())
def test_every_python_here_runs_it(python: str, tmp_path: Path) -> None:
    checks = told("--packages", "torchvision", python=python, PYTHONPATH=str(tmp_path))
    assert checks["pci"]["outcome"] in ("ran", "skipped")
    assert checks["torch"]["outcome"] == "ran"


def test_wrong_options_are_told() -> None:
    done = subprocess.run([sys.executable, PAYLOAD, "--level", "huge"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage:")


# Torch that fails ------------------------------------------------------------------------------------------------------------------

def test_a_torch_that_cannot_be_imported() -> None:
    checks = standin("missing-library")
    assert checks["torch"]["data"]["imported"] is False
    assert "libcudnn.so.9" in checks["torch"]["data"]["error"]
    assert (checks["matmul"]["outcome"], checks["matmul"]["because"]) == ("skipped", "no-torch")


def test_a_torch_that_kills_its_process_is_a_crashed_check_and_the_rest_goes_on() -> None:
    checks = standin("segfault")
    assert checks["torch"]["outcome"] == "crashed"
    assert checks["torch"]["because"].startswith("killed by signal 11")
    assert checks["packages"]["outcome"] == "ran"
    assert checks["memory"]["outcome"] == "crashed"


def test_a_torch_that_leaves_without_a_word() -> None:
    assert standin("exit")["torch"]["because"].startswith("ended with status 3")


def test_a_gpu_that_never_answers_is_given_up_once() -> None:
    """Not each check waits for it anew."""
    checks = standin("hang-gpu", "--patience", "0.02")
    assert checks["devices"]["outcome"] == "crashed"
    assert checks["devices"]["because"].startswith("no answer within")
    assert {checks[name]["because"] for name in ("kernel", "matmul", "convolution", "memory")} == {"gpu-hangs"}
    assert checks["torch"]["data"]["nccl"] == "2.10.3"
    assert checks["torch"]["data"]["cudnn"] == "8.9.7"
    assert checks["torch"]["data"]["arch_list"] == ["sm_75", "sm_90"]


def test_an_import_that_hangs() -> None:
    checks = standin("hang-import", "--patience", "0.01")
    assert checks["torch"]["because"].startswith("no answer within")


def test_why_no_gpu_is_there() -> None:
    data = standin("")["devices"]["data"]
    assert (data["available"], data["gpus"], data["error"]) == (False, [], "RuntimeError: Found no NVIDIA driver on your system.")


# The real torch --------------------------------------------------------------------------------------------------------------------

@pytest.mark.torch
def test_the_cpu_build_computes_right() -> None:
    checks = told("--level", "full")
    assert checks["torch"]["data"]["cuda"] is None
    assert checks["devices"]["because"] == "cpu-build"
    for name in ("kernel", "matmul", "convolution", "training"):
        (entry,) = checks[name]["data"]["devices"]
        assert entry["device"] == "cpu"
        assert entry.get("wrong", 0) == 0
        assert entry.get("deviation", 0) < 0.5
    assert checks["workers"]["data"]["complete"] is True


@pytest.mark.torch
def test_two_gpus_under_stress() -> None:
    checks = pretend([ADA, TURING], "--level", "stress")
    assert [each["capability"] for each in checks["devices"]["data"]["gpus"]] == [[8, 9], [7, 5]]
    for name in ("kernel", "matmul", "convolution", "memory", "half", "training", "speed", "burn"):
        assert [each["outcome"] for each in checks[name]["data"]["devices"]] == ["ran", "ran"], checks[name]
        assert all(each.get("wrong", 0) == 0 and each.get("deviation", 0) <= 1 for each in checks[name]["data"]["devices"])
    ada, turing = checks["half"]["data"]["devices"]
    assert (set(ada["kinds"]), set(turing["kinds"])) == ({"float16", "bfloat16"}, {"float16"})
    assert [each["wrong"] for each in checks["peer-copies"]["data"]["pairs"]] == [0, 0]
    assert [(each["outcome"], each["wrong"]) for each in checks["all-reduce"]["data"]["ranks"]] == [("ran", 0), ("ran", 0)]


@pytest.mark.torch
@pytest.mark.parametrize("fault", ["wrong", "nan"])
def test_a_card_that_computes_wrong_does_not_pass(fault: str) -> None:
    """One value off in each result is found on that card, and the other card stays clean."""
    checks = pretend([ADA, {**ADA, "fault": fault}])
    assert [each["wrong"] for each in checks["kernel"]["data"]["devices"]] == [0, 1]
    for name in ("matmul", "convolution"):
        good, bad = checks[name]["data"]["devices"]
        assert good["deviation"] <= 1 < bad["deviation"]


@pytest.mark.torch
def test_a_card_without_kernels_does_not_hide_the_other() -> None:
    checks = pretend([{**ADA, "fault": "no-kernel"}, TURING])
    bad, good = checks["matmul"]["data"]["devices"]
    assert (bad["outcome"], good["outcome"]) == ("crashed", "ran")
    assert "no kernel image" in bad["because"]


@pytest.mark.torch
def test_a_card_that_kills_the_process() -> None:
    checks = pretend([{**ADA, "fault": "dies"}])
    assert checks["kernel"]["because"].startswith("killed by signal 11")
    assert checks["torch"]["outcome"] == "ran"


# The runner's side -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("python", ["/no/such/python", "/", "/etc/hostname"])
def test_an_interpreter_that_cannot_be_run_is_bad_input(python: str) -> None:
    with pytest.raises(Problem) as raised:
        run(python, "quick", {})
    assert (raised.value.code, raised.value.status) == ("no-interpreter", 2)


def test_an_interpreter_that_dies_is_a_document() -> None:
    assert run("/bin/false", "quick", {}) == {"verify": 0, "level": "quick", "error": "false ended with status 1"}


def test_an_interpreter_that_prints_something_else() -> None:
    assert "printed no document" in run("/bin/echo", "quick", {})["error"]


def test_packages_of_the_lock_are_asked_for() -> None:
    command = ["py", "-u", PAYLOAD, "--level", "full", "--packages", "torchaudio,torchvision"]
    call = {"command": command, "stdin": "", "environment": {}, "outcome": "done", "status": 0, "out": '{"verify": 1}', "err": "",
            "cut": False, "seconds": 1.0}
    lock = {"choices": {"packages": {"torchvision": "1", "torchaudio": "2"}}}
    assert run("py", "full", lock, Replayer({"record": 1, "calls": [call]})) == {"verify": 1}
