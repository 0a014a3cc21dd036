"""Reading a package index's answers: the shapes are those of the simple API's own specification."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from provisioner.catalog.sources import index

WHEEL = "torch-2.7.1-cp312-cp312-manylinux_2_28_x86_64.whl"
JSON = json.dumps({"meta": {"api-version": "1.1"}, "name": "torch", "files": [
    {"filename": WHEEL, "url": f"../../files/{WHEEL}", "hashes": {"sha256": "0"}, "requires-python": ">=3.9.0",
     "size": 821155411, "upload-time": "2025-06-04T17:36:57.1Z", "yanked": False},
    {"filename": "torch-0.1.2.tar.gz", "url": "https://files.example/torch-0.1.2.tar.gz", "hashes": {}, "yanked": "broken"},
]})
HTML = """<!DOCTYPE html><html><body>
<a href="/whl/cu128/torch-2.7.1%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl#sha256=0" data-requires-python="&gt;=3.9.0">torch</a>
<a href="https://files.example/torch-2.6.0.zip" data-yanked="bad">torch</a><a href="../">up</a>
</body></html>"""


def test_json_listing() -> None:
    """Relative addresses are resolved, the upload's day is kept, a reason for yanking counts as yanked."""
    first, second = index.listing(JSON, "application/vnd.pypi.simple.v1+json", "https://index.example/simple/torch/")
    assert first == index.IndexFile(WHEEL, f"https://index.example/files/{WHEEL}", 821155411, "2025-06-04", ">=3.9.0", False)
    assert (second.yanked, second.size, index.version_of(second)) == (True, 0, "0.1.2")


def test_html_listing() -> None:
    """Names are unquoted, hashes cut off, links that are no file left out."""
    first, second = index.listing(HTML, "text/html", "https://download.example/whl/cu128/torch/")
    assert first.filename == "torch-2.7.1+cu128-cp312-cp312-manylinux_2_28_x86_64.whl"
    assert first.url == "https://download.example/whl/cu128/torch-2.7.1%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl"
    assert (first.requires_python, index.version_of(first)) == (">=3.9.0", "2.7.1+cu128")
    assert second.yanked


@pytest.mark.parametrize("text", ["", "502 Bad Gateway", "{}", '{"files": 3}', '{"files": [{"filename": 3, "url": "x"}]}', "{not json"])
def test_a_broken_listing_is_a_value_error(text: str) -> None:
    """Nothing is made of an answer nobody understands."""
    with pytest.raises(ValueError):
        index.listing(text, "")


@pytest.mark.parametrize(("tag", "expected"), [
    ("manylinux_2_28_aarch64", ("linux_aarch64", "2.28")), ("manylinux2014_aarch64", ("linux_aarch64", "2.17")),
    ("manylinux1_x86_64", ("linux_x86_64", "2.5")), ("linux_x86_64", ("linux_x86_64", "")),
    ("macosx_11_0_arm64", ("macos_arm64", "")), ("win_arm64", ("win_arm64", "")),
    ("manylinux_2_28_s390x", None), ("win32", None), ("any", None)])
def test_platform_tags(tag: str, expected: tuple[str, str] | None) -> None:
    """PEP 600 and the profiles before it."""
    assert index.platform(tag) == expected


def names(*files: str) -> list[index.Wheel]:
    """Wheels of these names."""
    found = [index.wheel(name) for name in files]
    assert None not in found
    return [one for one in found if one is not None]


def test_pythons_leave_free_threaded_wheels_out() -> None:
    """cp313t is another ABI; the free-threaded wheel alone gives no Python."""
    wheels = names("torch-2.7.1-cp39-none-macosx_11_0_arm64.whl", "torch-2.7.1-cp310-cp310-win_amd64.whl",
                   "torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl", "torch-2.7.1-cp313-cp313t-win_amd64.whl")
    assert index.pythons(wheels) == ("3.9", "3.10", "3.12")
    assert index.pythons(wheels, only="win_amd64") == ("3.10",)
    assert wheels[2].build == "3"


def test_pythons_of_stable_abi_and_pure_wheels() -> None:
    """Stable ABI alone or pure Python: no list; beside wheels of their own, up to the end of Requires-Python."""
    assert index.pythons(names("xformers-0.0.31-cp39-abi3-win_amd64.whl")) == ()
    assert index.pythons(names("torchaudio-2.11.1-py3-none-win_amd64.whl")) == ()
    mixed = names("triton-3.9.0-cp311-cp311-manylinux_2_28_x86_64.whl", "triton-3.9.0-cp312-abi3-manylinux_2_28_x86_64.whl")
    assert index.pythons(mixed, ">=3.11,<3.14") == ("3.11", "3.12", "3.13")


def test_platforms_take_the_lowest_glibc() -> None:
    """A wheel with several tags may be installed under the lowest of them."""
    wheels = names("torchao-0.7.0-cp39-cp39-manylinux_2_28_x86_64.manylinux_2_17_x86_64.whl", "x-1-cp39-cp39-win32.whl")
    assert index.platforms(wheels) == {"linux_x86_64": "2.17"}
    assert set(index.platforms(names("torchao-0.7.0-py3-none-any.whl"))) == set(index.MARKERS)


def test_glibc_above_torchs_own() -> None:
    """What manylinux2014 or older asks for goes without saying; vllm 0.12.0 asks for 2.31, vllm 0.10.2's old tags for less."""
    tags = index.platforms(names("vllm-0.12.0-cp38-abi3-manylinux_2_31_x86_64.whl", "vllm-0.12.0-cp38-abi3-manylinux_2_31_aarch64.whl"))
    assert index.above_baseline(tags) == (("linux_aarch64", "2.31"), ("linux_x86_64", "2.31"))
    old = index.platforms(names("vllm-0.10.2-cp38-abi3-manylinux1_x86_64.whl", "vllm-0.10.2-cp38-abi3-manylinux2014_aarch64.whl",
                                "xformers-0.0.35-py39-none-win_amd64.whl"))
    assert index.above_baseline(old) == ()


METADATA = """Metadata-Version: 2.1
Name: torch
Version: 2.13.0
License: BSD
        \n        All rights reserved.
Requires-Dist: filelock
Requires-Dist: cuda-toolkit[cudart,cublas]==13.0.3; platform_system == "Linux"
Requires-Dist: cuda-bindings<14,>=13.0.3; platform_system == "Linux" and python_version < "3.15"
Requires-Dist: nvidia-cublas-cu12 (==12.1.3.1) ; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: opt-einsum>=3.3; extra == "opt-einsum"

Requires-Dist: nvidia-nccl-cu13==1 is only text here
"""


def test_requirements_and_markers() -> None:
    """A licence with blank lines does not end the head, the body is not read; extras and markers decide."""
    wanted = index.requirements(METADATA)
    toolkit = "cuda-toolkit[cublas,cudart]"
    assert [one.label for one in wanted] == ["filelock", toolkit, "cuda-bindings", "nvidia-cublas-cu12", "opt-einsum"]
    assert wanted[2].specifier == "<14,>=13.0.3"
    assert not index.applies(wanted[4], "linux_x86_64", "3.12")
    assert set(index.library_pins(wanted, "linux_x86_64", ["3.12"])) == {toolkit, "cuda-bindings", "nvidia-cublas-cu12"}
    assert set(index.library_pins(wanted, "linux_aarch64", ["3.15"])) == {toolkit}
    assert index.library_pins(wanted, "win_amd64", ["3.12"]) == {}


def test_an_unreadable_requirement_is_a_value_error() -> None:
    """It names the line."""
    with pytest.raises(ValueError, match="==="):
        index.requirements("Name: x\nRequires-Dist: torch >== ===\n")


def remote_wheel() -> bytes:
    """A wheel of some megabytes with its METADATA at the end."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("torch/lib/libtorch.so", bytes(range(256)) * 12_000)
        archive.writestr("torch-2.13.0.dist-info/METADATA", METADATA)
        archive.writestr("torch/vendored-1.dist-info/METADATA", "Name: other\n")
    return made.getvalue()


def test_metadata_out_of_a_remote_wheel() -> None:
    """By ranges, and by far not the whole file."""
    data, read = remote_wheel(), 0

    def ranges(first: int, last: int) -> bytes:
        nonlocal read
        read += last + 1 - first
        return data[first : last + 1]

    assert index.metadata_of_wheel(ranges, len(data)) == METADATA
    assert read < len(data) // 2


def test_a_server_that_ignores_ranges_or_sends_rubbish() -> None:
    """Both end as a ValueError."""
    data = remote_wheel()
    with pytest.raises(ValueError, match="range"):
        index.metadata_of_wheel(lambda first, last: data, len(data))
    with pytest.raises(ValueError, match="not a wheel"):
        index.metadata_of_wheel(lambda first, last: b"x" * (last + 1 - first), 4000)
