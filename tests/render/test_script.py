"""The rendered script as text: golden files, shellcheck, and the proof that no value of a lock becomes code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from place import ROOT
from render.locks import debian12

from provisioner.errors import Problem
from provisioner.render import MAIN_SCRIPT, formats, render
from provisioner.render.steps import build, titles

GOLDEN = Path(__file__).parent / "golden"


def shellcheck(text: str, tmp_path: Path) -> str:
    script = tmp_path / "install.sh"
    script.write_text(text)
    return subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False).stdout


def variants() -> dict[str, dict[str, Any]]:
    """Locks that reach every step of the bash format."""
    driver = debian12()["artefacts"]["driver"]
    return {
        "everything": debian12(),
        "cpu": debian12(artefacts={"driver": None, "fabric": None, "toolkit": None, "repository": None, "index_url": "https://download.pytorch.org/whl/cpu",
                                   "requirements": ["torch==2.7.1+cpu"]},
                        choices={"cuda": None, "cuda_build": "cpu", "driver": None, "gpus": [], "torch": "2.7.1+cpu", "toolkit": None}),
        "kept-driver-with-toolkit": debian12(artefacts={"driver": driver | {"action": "keep"}, "fabric": None}),
        "libraries": debian12(artefacts={"cudnn": {"version": "9.7.1.26", "packages": [{"name": "libcudnn9-cuda-12", "version": "9.7.1.26"}]},
                                         "nccl": {"version": "2.26.2", "packages": [{"name": "libnccl2", "version": "2.26.2-1+cuda12.8"}]},
                                         "compat": {"package": "cuda-compat-12-8", "cuda": "12.8"}}),
        "runfile": debian12(artefacts={"driver": driver | {"origin": "runfile", "packages": []},
                                       "toolkit": {"version": "11.8.0", "packages": [], "origin": "runfile", "home": "/usr/local/cuda-11.8",
                                                   "bundled": "520.61.05"}}),
        "uv": debian12(artefacts={"installer": "uv", "python": {"version": "3.12", "packages": [], "source": "uv"},
                                  "plain_requirements": ["vllm==0.9.2"]}),
        "conda": debian12(artefacts={"installer": "conda", "conda": {"channels": ["conda-forge"], "specs": ["pytorch=2.7.1=cuda129*"]},
                                     "requirements": [], "index_url": None}),
        "container": debian12(artefacts={"kind": "container", "driver": None, "fabric": None, "toolkit": None, "repository": None}),
    }


@pytest.mark.parametrize("name", sorted(variants()))
def test_golden(name: str, tmp_path: Path) -> None:
    """The whole script, as it is; PROVISION_WRITE_GOLDEN=1 writes it anew, and the diff is for a person to read."""
    text = render(variants()[name], "debian12", "bash")[MAIN_SCRIPT]
    path = GOLDEN / f"{name}.sh"
    if os.environ.get("PROVISION_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text("utf-8")
    assert shellcheck(text, tmp_path) == ""


@pytest.mark.parametrize("manager", ["apt", "dnf", "zypper", "tdnf"])
@pytest.mark.parametrize("name", sorted(variants()))
def test_every_package_manager_is_shellcheck_clean(manager: str, name: str, tmp_path: Path) -> None:
    lock = variants()[name]
    lock["artefacts"]["system"] |= {"package_manager": manager, "family": {"apt": "debian", "zypper": "suse", "tdnf": "azure"}.get(manager, "rhel")}
    assert shellcheck(render(lock, "debian12", "bash", "zh")[MAIN_SCRIPT], tmp_path) == ""


def test_a_driver_is_never_installed_where_it_must_not_be() -> None:
    for kind in ("container", "wsl", "jetson"):
        lock = debian12(artefacts={"kind": kind, "driver": None, "fabric": None})
        assert not {step.id for step in build(lock)} & {"install-driver", "install-driver-runfile", "blacklist-nouveau", "reboot"}


def test_a_kept_driver_is_kept_from_the_toolkits_repository() -> None:
    steps = [step.id for step in build(variants()["kept-driver-with-toolkit"])]
    assert "install-driver" not in steps
    assert steps.index("add-repository") < steps.index("keep-driver-out") < steps.index("install-toolkit")


def test_the_space_inside_the_kernels_release_splits_nothing() -> None:
    driver = debian12()["artefacts"]["driver"] | {"headers": "kernel-devel-$(uname -r) kernel-headers", "prerequisites": []}
    packages = next(step for step in build(debian12(artefacts={"driver": driver})) if step.id == "install-prerequisites").values["packages"]
    assert packages[-2:] == ["kernel-devel-$(uname -r)", "kernel-headers"]


def test_titles_in_both_languages() -> None:
    lock = debian12()
    english, chinese = titles(lock, "en"), titles(lock, "zh")
    assert len(english) == len(chinese) == len(build(lock))
    assert all(re.search("[\u4e00-\u9fff]", title) for title in chinese)
    assert not any(re.search("[\u4e00-\u9fff]", title) for title in english)


def test_another_target_is_refused() -> None:
    with pytest.raises(Problem) as raised:
        render(debian12(), "ubuntu2204", "bash")
    assert raised.value.status == 2
    assert "--target debian12" in raised.value.todo


def test_an_unknown_format_names_the_near_one() -> None:
    with pytest.raises(Problem, match="bsh") as raised:
        render(debian12(), "debian12", "bsh")
    assert "bash" in raised.value.todo
    assert "bash" in formats()


# No value becomes code ------------------------------------------------------------------------------------------------------------

def strings(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all strings in a lock."""
    if isinstance(value, str):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, each in items for found in strings(each, (*path, key))]


def put(lock: dict[str, Any], path: tuple[Any, ...], text: str) -> None:
    place: Any = lock
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = text


#: structure, not content: they choose which steps there are, and a wrong one is refused or ignored
STRUCTURE = {"os", "family", "package_manager", "kind", "action", "installer", "cuda_build", "version", "aliases"}
hostile = st.one_of(
    st.sampled_from(["$(touch CANARY)", "`touch CANARY`", "'; touch CANARY; '", '"; touch CANARY; "', "x\ntouch CANARY\n", "CHECK\ntouch CANARY",
                     "PROFILE\ntouch CANARY", "; touch CANARY #", "|touch CANARY", "&&touch CANARY", "${IFS}touch${IFS}CANARY", "}; touch CANARY; {",
                     "$'\\n'touch CANARY", "!touch CANARY", "\\\"; touch CANARY", "{{ 7*7 }}", "{% raw %}", "-e touch CANARY", "~/x; touch CANARY"]),
    st.text(alphabet="$`'\"\\;|&(){}<>*?!#~ \n\tabCANRYtouch-=%", min_size=1, max_size=30))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_hostile_values_stay_values(tmp_path: Path, data: st.DataObject) -> None:
    """Any string of a lock replaced by anything: the script is refused, or it is valid bash that runs none of it."""
    name = data.draw(st.sampled_from(sorted(variants())))
    lock = variants()[name]
    paths = [path for path in strings(lock) if path[-1] not in STRUCTURE and "aliases" not in path]
    for path in data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=4, unique=True)):
        put(lock, path, data.draw(hostile))
    try:
        text = render(lock, "debian12", "bash", data.draw(st.sampled_from(["en", "zh"])))[MAIN_SCRIPT]
    except Problem:
        return
    canary = tmp_path / "CANARY"
    script = tmp_path / "script.sh"
    # The checks of a dry run look at real files, so it runs in a folder of its own with its own state.
    script.write_text(text)
    assert subprocess.run(["bash", "-n", str(script)], capture_output=True, check=False).returncode == 0
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PROVISION_STATE_DIR": str(tmp_path / "state")}
    for arguments in (["--list"], ["--help"], ["--dry-run", "--skip", "check-system"]):
        told = subprocess.run(["bash", str(script), *arguments], cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        assert not canary.exists(), (arguments, text)
        assert told.returncode in (0, 2, 4), told.stderr


@pytest.mark.parametrize("field", ["name", "environment"])
@pytest.mark.parametrize("value", ["$(touch CANARY)", "'; touch CANARY; '", "/opt/a b'c\"d;$(touch CANARY)"])
def test_a_spec_cannot_put_code_into_a_script(field: str, value: str, tmp_path: Path) -> None:
    """From the spec file to a dry run of the script, by the commands that a user types."""
    content = {"spec": 1, "target": "debian12", "gpus": ["RTX 4090"], field: value if field == "name" else value if value[0] == "/" else f"/opt/{value}"}
    (tmp_path / "spec.yaml").write_text(json.dumps(content))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for command in (["plan"], ["render", "--target", "debian12", "--out", "out"]):
        subprocess.run([sys.executable, "-m", "provisioner", *command], cwd=tmp_path, env=env, check=True, capture_output=True)
    subprocess.run(["bash", "out/install.sh", "--dry-run", "--skip", "check-system"], cwd=tmp_path, check=True, capture_output=True,
                   env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert not (tmp_path / "CANARY").exists()
    assert shellcheck((tmp_path / "out/install.sh").read_text(), tmp_path) == ""
