"""Reading specs: what is right is read without pydantic, what is wrong is told with its place, all in one pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from place import ROOT

from provisioner.errors import ProblemList
from provisioner.spec import quick, tree
from provisioner.spec.load import digest, load, normal, schema_text, slow, write
from provisioner.spec.words import _WORDS

HEAD = "spec: 1\ntarget: ubuntu2204\n"


def problems(text: str | bytes, lang: str = "en") -> list[tuple[str, int, int]]:
    """Codes and places of everything wrong with a text."""
    with pytest.raises(ProblemList) as raised:
        load("spec.yaml", text=text if isinstance(text, bytes) else text.encode(), lang=lang)
    return [(each.code, each.line, each.column) for each in raised.value.problems]


def test_the_python_trap() -> None:
    """YAML reads a plain 3.10 as the number 3.1; the text is what was meant."""
    assert load("s", text=(HEAD + "python: 3.10\n").encode()).python == "3.10"


def test_every_field() -> None:
    spec = load("s", text=b"""spec: 1
name: all
target: {os: debian12, arch: arm64, kind: container, glibc: "2.36", kernel: "6.1", secure_boot: true, gcc: "12", nvswitch: false}
gpus: [RTX 4090, 8.9, "10de:2684"]
driver: {version: "535.129.03", flavour: open, source: vendor, keep: true}
torch: "~=2.5.0"
cuda: cu124
python: 3.11
toolkit: match
cudnn: ">=9"
nccl: "2.21.5"
packages: {torchvision: "*", xformers: ">=0.0.28"}
installer: uv
environment: ~/env
prefer: conservative
""")
    assert spec.target == ("debian12", "aarch64", "container", "2.36", "6.1", True, "12", None, None, None, False)
    assert spec.gpus == ("RTX 4090", "8.9", "10de:2684")
    assert spec.driver == ("535.129.03", "open", "vendor", True)
    assert (spec.torch, spec.cuda, spec.python) == ("~=2.5.0", "cu124", "3.11")
    assert (spec.toolkit, spec.cudnn, spec.nccl) == ("match", ">=9", "2.21.5")
    assert spec.packages == (("torchvision", "*"), ("xformers", ">=0.0.28"))
    assert (spec.installer, spec.environment, spec.prefer) == ("uv", "~/env", "conservative")
    assert spec.place("driver.keep") == (5, 64)
    assert spec.place("gpus[1]") == (4, 18)


def test_the_wsl_shorthand() -> None:
    target = load("s", text=b"spec: 1\ntarget: wsl-ubuntu\n").target
    assert (target.os, target.kind) == ("ubuntu2204", "wsl")


def test_no_gpus_is_not_the_same_as_nothing_said() -> None:
    assert load("s", text=HEAD.encode()).gpus is None
    assert load("s", text=(HEAD + "gpus: []\n").encode()).gpus == ()
    assert load("s", text=(HEAD + "gpus: none\n").encode()).gpus == ()


@pytest.mark.parametrize(("text", "wanted"), [
    ("", [("spec-empty", 1, 0)]),
    ("[]", [("spec-not-mapping", 1, 1)]),
    (b"\xff\xfe\x00", [("spec-encoding", 1, 0)]),
    (b"spec: 1\ntarget: a\x07b\n", [("spec-control", 2, 10)]),
    ("spec: 1\ntarget: a\ntarget: b\n", [("spec-duplicate", 3, 1)]),
    (HEAD + "torhc: 2\ndrivr: 5\n", [("spec-unknown-key", 3, 1), ("spec-unknown-key", 4, 1)]),
    ("spec: 1\ntarget: !!python/name:os.system x\n", [("spec-tag", 2, 9)]),
    (HEAD + "gpus: &a [A100]\npackages: *a\nname: !!str x\ntorhc: 1\n",
     [("spec-alias", 3, 7), ("spec-alias", 4, 11), ("spec-tag", 5, 7), ("spec-unknown-key", 6, 1)]),
    (HEAD + "driver: {<<: {version: \"1\"}}\n", [("spec-merge", 3, 10)]),
    (HEAD + "torch: >=2.6\n", [("spec-yaml", 3, 9)]),
    (HEAD + "packages: {A_b: \"*\", a-B: \"*\"}\n", [("spec-package-twice", 3, 22)]),
    (HEAD + "driver: [550]\n", [("spec-text-or-mapping", 3, 1)]),
    ("spec: 2\ntarget: a\n", [("spec-version", 1, 1)]),
    (HEAD + "gpus: RTX 4090\n", [("spec-list", 3, 1)]),
    (HEAD + "torch: not a range\n", [("spec-range", 3, 1)]),
    (HEAD + "---\nspec: 1\n", [("spec-documents", 3, 1)]),
    ("- " * 50 + "x", [("spec-deep", 1, 25)]),
    (HEAD + "driver: {keep: true}\n", [("spec-keep", 3, 1)]),
    (HEAD + "driver: {version: \">=550\", keep: true}\n", [("spec-keep", 3, 1)]),
    (HEAD + "packages: {torch: \"2\"}\n", [("spec-package-torch", 3, 12)]),
    (HEAD + "environment: rel\n", [("spec-path", 3, 1)]),
    (HEAD + "name: yes\nprefer: newst\ninstaller: 5\n", [("spec-choice", 4, 1), ("spec-choice", 5, 1)]),
    (HEAD + "toolkit:\n", [("spec-empty-value", 3, 1)]),
    (b"#" * ((1 << 20) + 1), [("spec-too-big", 0, 0)]),
])
def test_what_is_wrong_and_where(text: str | bytes, wanted: list[tuple[str, int, int]]) -> None:
    assert problems(text) == wanted


def test_near_misses_get_the_nearest_name() -> None:
    with pytest.raises(ProblemList) as raised:
        load("s", text=b"spec: 1\ntarget: {os: x, kind: contaner}\nintsaller: pip\n")
    assert [each.todo for each in raised.value.problems] == ["did you mean container?", "did you mean installer?"]


@pytest.mark.parametrize(("text", "todo"), [
    ("pytorch: \"2\"", "did you mean torch?"), ("gpu: [A100]", "did you mean gpus?"), ("installer: mamba", "did you mean conda?"),
    ("target: {distro: x}", "did you mean os?"), ("torch: >=2.6", 'put the value in quotes: `torch: ">=2.6"`'),
    ("packages: {torchvision: *, torchaudio: \"*\"}", 'put the value in quotes: `torchvision: "*"`'),
    ("torch: !=2.6", 'put the value in quotes: `torch: "!=2.6"`'),
])
def test_what_people_write_leads_to_what_they_mean(text: str, todo: str) -> None:
    with pytest.raises(ProblemList) as raised:
        load("s", text=("spec: 1\n" + ("" if text.startswith("target") else "target: a\n") + text + "\n").encode())
    assert todo in [each.todo for each in raised.value.problems]


def test_a_million_aliases_end_soon() -> None:
    assert len(problems("a: &a 1\n" + "b: [" + "*a, " * 100000 + "]\n")) <= 110


def test_messages_in_chinese() -> None:
    with pytest.raises(ProblemList) as raised:
        load("s", text=(HEAD + "torhc: 2\n").encode(), lang="zh")
    assert str(raised.value.problems[0].what) == "没有名为 torhc 的键"


@pytest.mark.parametrize(("path", "code"), [
    ("/dev/null", "spec-not-regular"), ("/dev/zero", "spec-not-regular"), ("/proc/self", "spec-folder"), ("nosuch", "spec-missing-file"),
    ("a\0b", "spec-missing-file"), ("", "spec-missing-file"), ("/proc/self/mem", "spec-unreadable"),
    ("/etc/hostname/x", "spec-unreadable")])
def test_paths_that_are_no_spec(path: str, code: str) -> None:
    with pytest.raises(ProblemList) as raised:
        load(path)
    assert [each.code for each in raised.value.problems] == [code]


def test_a_pipe_is_read_and_a_silent_one_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    monkeypatch.setattr("provisioner.spec.load.PATIENCE", 0.2)
    with pytest.raises(ProblemList) as raised:
        load(pipe)
    assert [each.code for each in raised.value.problems] == ["spec-pipe"]
    monkeypatch.setattr("provisioner.spec.load.PATIENCE", 20.0)
    with subprocess.Popen(["sh", "-c", f"printf 'spec: 1\\ntarget: ubuntu2204\\n' > '{pipe}'"]):
        assert load(pipe).target.os == "ubuntu2204"


def test_every_message_has_both_languages() -> None:
    """The same places to fill in, and no untranslated copy."""
    for name, (english, chinese) in _WORDS.items():
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", chinese)), name
        assert re.search("[\u4e00-\u9fff]", chinese), name


def test_the_committed_schema_is_fresh() -> None:
    committed = (ROOT / "docs" / "spec.schema.json").read_text("utf-8")
    assert committed == schema_text(), "write it anew: provision schema > docs/spec.schema.json"


# Quick and slow read the same language -------------------------------------------------------------------------------------------

_junk: Any = st.one_of(st.none(), st.booleans(), st.integers(-2, 13), st.floats(allow_nan=False, width=16), st.text(max_size=8),
                       st.lists(st.text(max_size=4), max_size=2), st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2))
_range = st.sampled_from(["2.7.1", "~=2.5.0", ">=2.6,<2.9", "==2.7.*", "*", "latest", "none", "match", "bundled", "cpu", "cu124", "cu1",
                          "~=2",
                          "", " ", "==", "12.4", ">=12", "2.7.1+cu128", "!=1", "x", "3.10"])
_text = st.sampled_from(["ubuntu2204", "wsl-ubuntu", "wsl-", "RTX 4090", "sm_89", "/opt/x", "~", "rel", "C:\\x", "pip", "uv", "newest",
                         "open", "vendor", "host", "wsl", "amd64", "aarch64", "none", "null", "true", "", "1"])


def _either(*good: Any) -> Any:
    return st.one_of(*good, *good, *good, _junk)


_target = st.fixed_dictionaries({"os": _either(_text)}, optional={
    "arch": _either(_text), "kind": _either(_text), "glibc": _either(_range), "secure_boot": _either(st.booleans()), "nvswitch": _junk,
    "windows": _either(_range), "x": _junk})
_driver = st.fixed_dictionaries({}, optional={"version": _either(_range), "flavour": _either(_text), "source": _either(_text),
                                              "keep": _either(st.booleans())})
_specs = st.fixed_dictionaries({"spec": _either(st.just(1)), "target": _either(_text, _target)}, optional={
    "name": _either(_text), "gpus": _either(st.lists(_either(_text), max_size=3), st.just("none")), "driver": _either(_range, _driver),
    "torch": _either(_range), "cuda": _either(_range), "python": _either(_range), "toolkit": _either(_range), "cudnn": _either(_range),
    "nccl": _either(_range),
    "packages": _either(st.dictionaries(st.sampled_from(["torchvision", "torch", "a b", "x_Y.z", ""]), _range, max_size=2)),
    "installer": _either(_text), "environment": _either(_text), "prefer": _either(_text), "colour": _junk})


@settings(max_examples=1500, deadline=None)
@given(_specs)
def test_quick_accepts_exactly_what_pydantic_accepts(content: dict[str, Any]) -> None:
    text = yaml.safe_dump(content, allow_unicode=True)
    root, wrong = tree.read(text, "s", "en")
    if root is None or wrong:
        return
    accepted = quick.read(root, "s") is not None
    told = slow(root, "s", "en")
    assert accepted == (not told), (text, [str(each) for each in told])


def test_a_valid_spec_imports_no_pydantic() -> None:
    code = ("from provisioner.spec.load import load\nimport sys, glob\n"
            "for path in glob.glob('examples/*.yaml'): load(path)\nprint('pydantic' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "False\n"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_no_text_brings_it_down(text: str) -> None:
    try:
        load("s", text=text.encode("utf-8", "surrogatepass"))
    except ProblemList:
        pass


# Writing -------------------------------------------------------------------------------------------------------------------------

def test_order_and_spelling_do_not_change_the_digest() -> None:
    one = load("a", text=b"spec: 1\ntarget: ubuntu2204\ntorch: \"2.7\"\npackages: {A_b: \"*\", c: \"*\"}\n")
    two = load("b", text=b"# x\npackages:\n  c: '*'\n  a-b: '*'\ntorch: 2.7\ntarget: {os: ubuntu2204}\nspec: 1\n")
    assert digest(one) == digest(two)
    assert digest(one) != digest(one._replace(torch="2.8"))


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_written_reads_back(example: Any) -> None:
    spec = load(str(example))
    assert normal(load("s", text=write(spec).encode())) == normal(spec)
