"""`provision apply` is the rendered script, run here: its words, its arguments, its statuses."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from place import ROOT

PYTHON = "{}.{}".format(*sys.version_info)
pytestmark = pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="the script is for the machine in the lock")


def provision(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "provisioner", *arguments], cwd=folder, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"} | more)


@pytest.fixture
def locked(tmp_path: Path) -> Callable[[str], Path]:
    """A folder with the lock of a spec."""

    def made(text: str) -> Path:
        folder = tmp_path / "work"
        folder.mkdir()
        (folder / "spec.yaml").write_text(f"spec: 1\npython: '{PYTHON}'\nenvironment: {folder}/environment\n{text}")
        told = provision(folder, "plan")
        assert told.returncode == 0, told.stderr
        return folder

    return made


def test_a_dry_run_says_what_the_script_says_and_changes_nothing(locked: Callable[[str], Path]) -> None:
    folder = locked("target: linux\ngpus: none\n")
    before = sorted(folder.iterdir())
    told = provision(folder, "apply", "--dry-run", PROVISION_STATE_DIR=str(folder / "state"))
    assert told.returncode == 0, told.stderr
    assert "would do: Create a Python" in told.stdout
    assert told.stdout.endswith("nothing was changed (--dry-run)\n")
    assert sorted(folder.iterdir()) == before
    assert provision(folder, "render", "--target", "linux", "--out", "out").returncode == 0
    alone = subprocess.run(["bash", "out/install.sh", "--dry-run"], cwd=folder, capture_output=True, text=True, check=False)
    assert alone.stdout == told.stdout


def test_a_dry_run_needs_no_root(locked: Callable[[str], Path]) -> None:
    """Somebody who may write nowhere sees the whole plan of a machine that gets a driver, and what is wrong with the machine here."""
    folder = locked("target: linux\ngpus: none\n")
    command = ["-m", "provisioner", "apply", "--dry-run", "--lock", "provision.lock"]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8",
           "PYTHONPATH": os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])}
    if os.geteuid() != 0:
        told = subprocess.run([sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, check=False)
    else:
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        for path in (folder, *folder.parents):  # pytest's own folders are closed to others
            if path.stat().st_uid == 0 and path != Path("/"):
                path.chmod(path.stat().st_mode | 0o055)
        interpreters = [sys.executable, "/usr/bin/python3"]
        told = None
        for each in interpreters:
            try:
                able = subprocess.run([each, "-c", "import yaml, jinja2"], env=env, capture_output=True, check=False, **nobody)  # type: ignore[call-overload]
            except OSError:
                continue
            if able.returncode == 0:
                told = subprocess.run([each, *command], cwd=folder, env=env, capture_output=True, text=True, check=False, **nobody)  # type: ignore[call-overload]
                break
        if told is None:
            pytest.skip("no Python here that another user may run")
    assert told.returncode == 0, told.stderr
    assert "would do: Create a Python" in told.stdout


def test_another_system_is_a_bad_input(locked: Callable[[str], Path]) -> None:
    here = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    other = "ubuntu2204" if re.search(r"^ID=.?debian", here, re.MULTILINE) else "debian12"
    folder = locked(f"target: {other}\ngpus: none\n")
    told = provision(folder, "apply", "--dry-run")
    assert told.returncode == 2
    assert f"this script is for {other}" in told.stderr
    assert "to do: plan and render for this system" in told.stderr


def test_a_step_that_fails_is_status_4(locked: Callable[[str], Path]) -> None:
    """Nothing listens at that index; the environment that was made stays, and the next run goes on from there."""
    folder = locked("target: linux\ngpus: none\n")
    more = {"PROVISION_STATE_DIR": str(folder / "state"), "PROVISION_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    told = provision(folder, "apply", **more)
    assert told.returncode == 4, told.stdout + told.stderr
    assert "error: the wheels cannot be installed" in told.stderr
    assert "already done: Create a Python" in provision(folder, "apply", "--dry-run", **more).stdout


def test_no_lock_is_a_bad_input(tmp_path: Path) -> None:
    told = provision(tmp_path, "apply")
    assert told.returncode == 2
    assert "provision plan" in told.stderr
    assert "Traceback" not in told.stderr


def test_without_bash_there_is_an_error(locked: Callable[[str], Path], tmp_path: Path) -> None:
    folder = locked("target: linux\ngpus: none\n")
    told = provision(folder, "apply", "--dry-run", PATH=str(tmp_path / "empty"))
    assert told.returncode == 2
    assert "bash is not installed" in told.stderr
    assert "Traceback" not in told.stderr


def test_an_interruption_waits_for_the_script(locked: Callable[[str], Path]) -> None:
    """Ctrl-C goes to the whole group; the script's own traps run before `apply` leaves."""
    folder = locked("target: linux\ngpus: none\n")
    tools = folder / "tools"
    tools.mkdir()
    # stands for bash with a package manager under it, which finishes what it has begun
    (tools / "bash").write_text("#!/bin/sh\ntrap 'sleep 1; touch ended; exit 4' INT\ntouch begun\nwhile :; do sleep 0.1; done\n")
    (tools / "bash").chmod(0o755)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tools}:{os.environ['PATH']}"}
    with subprocess.Popen([sys.executable, "-m", "provisioner", "apply"], cwd=folder, env=env, start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        while not (folder / "begun").exists():
            assert running.poll() is None
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait() == 4
        assert (folder / "ended").exists()
