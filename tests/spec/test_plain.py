"""The reader of the plain part of YAML sees what PyYAML sees, places included, or nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from place import ROOT

from provisioner.spec import plain, tree

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
TEXTS = [path.read_text("utf-8") for path in EXAMPLES]


def agree(text: str) -> bool:
    """Whether the plain reader took it; when it did, PyYAML has to see the same."""
    mine = plain.read(text)
    if mine is None:
        return False
    theirs, problems = tree.read(text, "s", "en")
    assert not problems, (text, [str(each) for each in problems])
    assert mine == theirs, text
    return True


@pytest.mark.parametrize("text", TEXTS, ids=[path.stem for path in EXAMPLES])
def test_examples_are_of_the_plain_part(text: str) -> None:
    assert agree(text)


def test_what_people_write() -> None:
    assert agree("""# comment — with a dash
spec: 1
name: vision-train   # mine
target: {os: ubuntu2204, arch: x86_64, glibc: "2.35"}
gpus:
  - RTX 4090      # first
  - '10de:2684'
  - 10de:2684
  - "NVIDIA H100 80GB HBM3"
driver: {version: "535.129.03", keep: true}
torch: "~=2.5.0"
cuda: ~=12.4
python: 3.10
packages:
  torchvision: "*"
  x-y_z: ==1.0
environment: /opt/torch
gpus2: []
m: {}
l: [a, [b, c], {d: e}]
t: 中 # 不
""".replace("t: 中 # 不\n", "t: x # 不\n"))


_scalars = st.one_of(st.text(alphabet="ab0 .:-#'\"[]{},~<>=!*&%@?|\\/_\u4e2d\t", max_size=7), st.sampled_from(
    ["1", "2.7", "~=2.5.0", ">=2.6,<2.9", "RTX 4090", "10de:2684", "null", "true", "~", "- x", "a: b", "a #b", "a#b", "'q'", '"q"', "x y  z", "{a: 1}",
     "[1, 2]", "{a: [b, {c: d}]}", "[a,b]", "{ }", "[ ]", "[a, ]", "{a:1}", "{a: }", "'a''b'", '"a\\n"', "a\n  b", "|\n  x", "*x", "&a b", "!t x"]))
_lines = st.one_of(
    st.tuples(st.sampled_from(["", "  ", "    ", " "]), st.sampled_from(["spec", "gpus", "a-b", "a_1", "1a", "- x", "-", "? a", "a b", "\u4e2d"]),
              st.sampled_from([": ", ":", ":  ", " : "]), _scalars, st.sampled_from(["", " # c", "  ", "# c", " #\u4e2d"])).map("".join),
    st.tuples(st.sampled_from(["", "  ", "    "]), st.sampled_from(["- ", "-", "-  ", "- - "]), _scalars).map("".join),
    st.sampled_from(["", "   ", "# c", "  # c", "---", "...", "%YAML 1.1", "a:", "b:", "c: [", "]", "x"]))
_documents = st.lists(_lines, min_size=1, max_size=6).map(lambda lines: "\n".join(lines) + "\n")


@settings(max_examples=6000, deadline=None)
@given(_documents)
def test_generated_texts(text: str) -> None:
    agree(text)


@settings(max_examples=3000, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 2000), st.integers(0, 3), st.text(alphabet=" \n:-#'\"[]{},a1~<=*&!%\\", max_size=3))
def test_examples_with_a_slip(text: str, place: int, cut: int, put: str) -> None:
    place %= len(text)
    agree(text[:place] + put + text[place + cut:])


_values: Any = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=10)),
                            lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)))


@settings(max_examples=1500, deadline=None)
@given(st.dictionaries(st.text(alphabet="abc_-1", max_size=4), _values, max_size=4), st.booleans())
def test_dumped_documents(content: dict[str, Any], flow: bool) -> None:
    agree(yaml.safe_dump(content, default_flow_style=None if flow else False, allow_unicode=True, width=10**6))


def test_a_plain_spec_imports_no_yaml() -> None:
    code = ("from provisioner.spec.load import load\nimport sys, glob\n"
            "for path in glob.glob('examples/*.yaml'): load(path)\nprint('yaml' in sys.modules, 'typing' in sys.modules)")
    told = subprocess.run([sys.executable, "-S", "-c", "import sys; sys.path.insert(0, '.')\n" + code], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout
    assert told == "False False\n"
