"""A changed value is the only thing that changes in a user's file."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from place import ROOT

from provisioner.errors import Problem
from provisioner.spec.load import edit, load, normal

FILE = """\
# head
spec: 1
target: ubuntu2204   # the box
torch: "==2.6.*"  # pinned
gpus:   # two of them
  # the fast one
  - RTX 5090  # top slot
  - 'RTX 4090'  # bottom slot
# about the driver
driver: {version: "==570.*",  flavour: open}  # as it came
packages:
    torchvision: "*"   # images
    TorchAudio: '*'
# tail
"""


@pytest.mark.parametrize(("field", "to", "old", "new"), [
    ("torch", ">=2.7", 'torch: "==2.6.*"', 'torch: ">=2.7"'),
    ("target", "debian12", "target: ubuntu2204", "target: debian12"),
    ("target.os", "debian12", "target: ubuntu2204", "target: debian12"),
    ("target.glibc", "2.36", "target: ubuntu2204", 'target: {os: ubuntu2204, glibc: "2.36"}'),
    ("driver", ">=580", '{version: "==570.*",', '{version: ">=580",'),
    ("driver.flavour", "proprietary", "flavour: open", "flavour: proprietary"),
    ("driver.keep", None, "", ""),
    ("driver.keep", True, "flavour: open}", "flavour: open, keep: true}"),
    ("driver.flavour", None, '"==570.*",  flavour: open', '"==570.*"'),
    ("driver.version", None, 'version: "==570.*",  ', ""),
    ("packages.torchaudio", "==2.7.1", "TorchAudio: '*'", 'TorchAudio: "==2.7.1"'),
    ("packages.xformers", "*", "TorchAudio: '*'\n", "TorchAudio: '*'\n    xformers: \"*\"\n"),
    ("packages.torchaudio", None, "    TorchAudio: '*'\n", ""),
    ("packages.torchvision", None, '    torchvision: "*"   # images\n', ""),
    ("python", "3.12", "# pinned\n", '# pinned\npython: "3.12"\n'),
    ("torch", None, 'torch: "==2.6.*"  # pinned\n', ""),
    ("cuda", None, "", ""),
    ("gpus", ["RTX 4090"], "gpus:   # two of them\n  # the fast one\n  - RTX 5090  # top slot\n  - 'RTX 4090'  # bottom slot",
     "gpus: [RTX 4090]  # two of them  # bottom slot"),
    ("packages", {"torchvision": ">=0.22"}, "packages:\n    torchvision: \"*\"   # images\n    TorchAudio: '*'",
     'packages: {torchvision: ">=0.22"}'),
    ("name", "a: b #c", "spec: 1\n", 'spec: 1\nname: "a: b #c"\n'),
    ("installer", "uv", "TorchAudio: '*'\n", "TorchAudio: '*'\ninstaller: uv\n"),
])
def test_one_span_changes(field: str, to: Any, old: str, new: str) -> None:
    assert old in FILE
    assert edit(FILE, [{"field": field, "to": to}]) == FILE.replace(old, new, 1)


@pytest.mark.parametrize(("before", "field", "to", "after"), [
    ("spec: 1\ntarget: a\ndriver: {version: \"1\"}\n", "driver.version", None, "spec: 1\ntarget: a\n"),
    ("spec: 1\ntarget: a", "torch", "2.7", 'spec: 1\ntarget: a\ntorch: "2.7"'),
    ("spec: 1\r\ntarget: a\r\n", "torch", "2.7", 'spec: 1\r\ntarget: a\r\ntorch: "2.7"\r\n'),
    ("{spec: 1, target: a}", "torch", "2.7", '{spec: 1, target: a, torch: "2.7"}'),
    ("{spec: 1, target: a, torch: 2.6}", "torch", None, "{spec: 1, target: a}"),
    ("{torch: 2.6, spec: 1, target: a}", "torch", None, "{spec: 1, target: a}"),
    ("spec: 1\ntarget: a\ndriver:   # later\n", "driver", ">=580", 'spec: 1\ntarget: a\ndriver: ">=580"   # later\n'),
    ("spec: 1\ntarget: a\ndriver:\n", "driver.flavour", "open", "spec: 1\ntarget: a\ndriver: {flavour: open}\n"),
    ("spec: 1\ntarget: a\ndriver: ==550.*\n", "driver.flavour", "open",
     "spec: 1\ntarget: a\ndriver: {version: ==550.*, flavour: open}\n"),
    ("spec: 1\ntarget: a\ndriver: ~=550.1,<600\n", "driver.flavour", "open",
     'spec: 1\ntarget: a\ndriver: {version: "~=550.1,<600", flavour: open}\n'),
    ("spec: 1\ntarget: a\ntorch: >-\n  2.6\n# x\n", "torch", "2.7", 'spec: 1\ntarget: a\ntorch: "2.7"\n# x\n'),
    ("spec: 1\ntarget:\n  os: a\n  arch: aarch64\n", "target", "b", "spec: 1\ntarget:\n  os: b\n  arch: aarch64\n"),
    ("spec: 1\ntarget: a\npackages: {}\n", "packages.torchvision", "*", 'spec: 1\ntarget: a\npackages: {torchvision: "*"}\n'),
    ("spec: 1\nname: 训练é\ntarget: a  # é\n", "target", "b", "spec: 1\nname: 训练é\ntarget: b  # é\n"),
    ("---\nspec: 1\ntarget: a\ntorch: 2\n...\n", "torch", "2.7", '---\nspec: 1\ntarget: a\ntorch: "2.7"\n...\n'),
])
def test_other_shapes_of_file(before: str, field: str, to: Any, after: str) -> None:
    assert edit(before, [{"field": field, "to": to}]) == after


@pytest.mark.parametrize(("text", "field"), [
    ("[]", "torch"), ("a: [", "torch"), ("gpus: [a]\n", "gpus.x"), ("packages: x\n", "packages.y")])
def test_what_cannot_be_changed_is_told(text: str, field: str) -> None:
    with pytest.raises(Problem):
        edit(text, [{"field": field, "to": "1"}])


_changes = st.lists(st.one_of(
    st.tuples(st.sampled_from(["torch", "python", "cuda", "driver.version", "driver"]), st.sampled_from(["==2.7.*", ">=1,<3", "3.12", None])),
    st.tuples(st.sampled_from(["packages.torchvision", "packages.xformers"]), st.sampled_from(["*", ">=0.5", None])),
    st.tuples(st.just("driver.flavour"), st.sampled_from(["open", "proprietary", None])),
    st.tuples(st.sampled_from(["target", "target.os"]), st.sampled_from(["debian12", "rhel9"])),
    st.tuples(st.just("target.glibc"), st.sampled_from(["2.36", None])),
    st.tuples(st.just("gpus"), st.sampled_from([["A100", "10de:2684"], [], None]))), max_size=4)


def _applied(content: dict[str, Any], field: str, to: Any) -> dict[str, Any]:
    """The same change made to the canonical content, which knows no spelling."""
    made: dict[str, Any] = copy.deepcopy(content)
    field = {"target": "target.os", "driver": "driver" if to is None else "driver.version"}.get(field, field)
    top, _, rest = field.partition(".")
    if not rest:
        made.pop(top, None)
        if to is not None:
            made[top] = to
        return made
    inner = made.setdefault(top, {})
    inner.pop(rest, None)
    if to is not None:
        inner[rest] = to
    if not inner:
        del made[top]
    return made


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([FILE, *((path.read_text("utf-8")) for path in sorted((ROOT / "examples").glob("*.yaml")))]), _changes)
def test_any_changes_say_the_same_as_in_the_content(text: str, changes: list[tuple[str, Any]]) -> None:
    wanted = normal(load("s", text=text.encode()))
    if "keep" in wanted.get("driver", {}):  # keep needs its version: a change that takes it away would be refused on reading
        changes = [each for each in changes if not each[0].startswith("driver")]
    for field, to in changes:
        wanted = _applied(wanted, field, to)
    changed = edit(text, [{"field": field, "to": to} for field, to in changes])
    assert normal(load("s", text=changed.encode())) == wanted, changed
    kept = [line for line in text.splitlines() if line.startswith("#")]
    assert [line for line in changed.splitlines() if line.startswith("#")] == kept
