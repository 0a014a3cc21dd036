"""Readers: what a text says is read out of it, value by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from provisioner.doctor import clean, oom, readers
from provisioner.doctor.facts import Doc

HERE = Path(__file__).parent


def cases() -> list[Any]:
    return [pytest.param(case["text"], case["facts"], id=f"{path.stem}: {case['name']}")
            for path in sorted((HERE / "readers").glob("*.yaml")) for case in yaml.safe_load(path.read_text(encoding="utf-8"))]


def doc(text: str) -> Doc:
    return Doc(clean.small("stdin", text))


@pytest.mark.parametrize(("text", "facts"), cases())
def test_facts_are_read(text: str, facts: dict[str, list[str]]) -> None:
    found = readers.read(doc(text))
    assert {name: sorted(value for value in found.values(name) if value in wanted) for name, wanted in facts.items()} \
        == {name: sorted(wanted) for name, wanted in facts.items()}
    single = {name: wanted[0] for name, wanted in facts.items() if len(wanted) == 1}
    assert {name: found.value(name) for name in single} == single


def test_a_fact_points_to_its_line() -> None:
    found = readers.read(doc("hello\n\nNvidia driver version: 550.54.15\n")).first("driver")
    assert found is not None and (found.line.number, found.line.source) == (3, "stdin")


CAP = ("GPU 0 has a total capacity of 23.69 GiB of which {free} is free. Of the allocated memory {held} is allocated by PyTorch, "
       "and {gap} is reserved by PyTorch but unallocated.")


@pytest.mark.parametrize(("text", "verdict"), [
    # torch 2: the memory is held by live tensors; the unused reserve is small
    ("CUDA out of memory. Tried to allocate 158.00 MiB. " + CAP.format(free="115.69 MiB", held="22.14 GiB", gap="910.35 MiB"), "genuine"),
    # a third of the card is reserved and unused, and the request would fit into it
    ("CUDA out of memory. Tried to allocate 2.00 GiB. " + CAP.format(free="300.00 MiB", held="14.00 GiB", gap="8.60 GiB"), "fragmentation"),
    # torch 1: 12 MiB are ours, 9 MiB are free of 10.76 GiB
    ("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 12.20 MiB already allocated; 9.44 MiB free; "
     "22.00 MiB reserved in total by PyTorch)", "other-process"),
    # more is wanted than the card has
    ("CUDA out of memory. Tried to allocate 40.00 GiB (GPU 0; 23.69 GiB total capacity; 1.00 GiB already allocated; 22.00 GiB free; "
     "1.10 GiB reserved in total by PyTorch)", "genuine"),
    ("CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 15.78 GiB total capacity; 8.10 GiB already allocated; 410.75 MiB free; "
     "14.20 GiB reserved in total by PyTorch)", "fragmentation"),
    ("CUDA out of memory.", "unknown"),
])
def test_memory_is_judged_by_its_numbers(text: str, verdict: str) -> None:
    memory = oom.read(doc(text))
    assert memory is not None and memory.verdict == verdict


def test_sizes_are_read_in_gib() -> None:
    text = CAP.format(free="1.00 GiB", held="20.00 GiB", gap="256.00 MiB")
    memory = oom.read(doc("CUDA out of memory. Tried to allocate 512.00 MiB. " + text))
    assert memory is not None
    assert (memory.tried, memory.total, memory.free, memory.allocated, memory.unallocated) == (0.5, 23.69, 1.0, 20.0, 0.25)


@pytest.mark.parametrize(("raw", "text"), [
    ("> RuntimeError: x", "RuntimeError: x"),
    (">>> torch.__version__", ">>> torch.__version__"),
    ("> > quoted  twice", "quoted twice"),
    ("\x1b[1;31mRuntimeError\x1b[0m: x", "RuntimeError: x"),
    ("^[[31mred^[[0m", "red"),
    ("[ 1234.567890] NVRM: Xid", "NVRM: Xid"),
    ("Dec 01 10:11:12 node kernel: NVRM: Xid", "NVRM: Xid"),
    ("2026-01-02T03:04:05.678Z error here", "error here"),
    ("[rank3]: RuntimeError: x", "RuntimeError: x"),
    ("[1,0]<stderr>:RuntimeError: x", "RuntimeError: x"),
    ("(RayWorker pid=123) RuntimeError: x", "RuntimeError: x"),
    ("#12 34.56 E: Unable", "E: Unable"),
    ("web-1  | RuntimeError: x", "RuntimeError: x"),
    ("10%|#   | 1/9\r100%|####| 9/9", "100%|####| 9/9"),
    ("错误：显存不足（CUDA）", "错误:显存不足(CUDA)"),
])
def test_decoration_is_taken_off(raw: str, text: str) -> None:
    found = clean.line("stdin", 1, raw)
    assert found is not None and found.text == text


def test_fences_are_no_lines_and_numbers_stay() -> None:
    assert [(each.number, each.text) for each in clean.small("s", "```python\nx\n```\ny")] == [(2, "x"), (4, "y")]


@pytest.mark.parametrize("data", [
    "gr\u00fc\u00dfe".encode("cp1252"), "显存不足 CUDA".encode("gb18030"), "x".encode("utf-16"), b"\xef\xbb\xbfx",
    "abc".encode("utf-16-le"),
])
def test_encodings_are_read(data: bytes) -> None:
    assert "\ufffd" not in clean.decode(data) and "\x00" not in clean.decode(data)


def test_a_long_log_keeps_the_numbers_of_its_lines() -> None:
    noise = "".join(f"step {number} loss 0.{number}\n" for number in range(40_000))
    data = (noise + "RuntimeError: CUDA error: invalid device ordinal\n" + noise).encode()
    anchors = clean.Anchors(("cuda error",), ("error",))
    for given in (data, iter(data.splitlines(keepends=True)), data.decode()):
        kept = {each.text: each.number for each in clean.read("log", given, anchors)}
        assert kept["RuntimeError: CUDA error: invalid device ordinal"] == 40_001
        assert len(kept) < 200
