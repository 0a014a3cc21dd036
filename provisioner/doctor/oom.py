"""The numbers in torch's out-of-memory message, and what they say: real shortage, fragmentation, or somebody else's memory.

    CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 11.17 GiB total capacity; 8.20 GiB already allocated;
        1.30 GiB free; 9.00 GiB reserved in total by PyTorch)
    CUDA out of memory. Tried to allocate 158.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 115.69 MiB is free.
        Process 21422 has 23.57 GiB memory in use. Of the allocated memory 22.14 GiB is allocated by PyTorch, and 910.35
        MiB is reserved by PyTorch but unallocated.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from provisioner.doctor.clean import Line
from provisioner.doctor.facts import Doc

_SIZE = r"([\d.]+) ?(bytes|[KMGT]i?B)"
_UNITS = {"b": 1 / 2**30, "k": 1 / 2**20, "m": 1 / 2**10, "g": 1.0, "t": 2.0**10}
_PARTS = {
    "tried": rf"tried to allocate {_SIZE}",
    "total": rf"(?:total capaci?ty of {_SIZE}|{_SIZE} total capacity)",
    "free": rf"(?:of which {_SIZE} is free|{_SIZE} free)",
    "allocated": rf"(?:{_SIZE} (?:is )?(?:already )?allocated(?: by pytorch|;|,))",
    "reserved": rf"{_SIZE} (?:reserved in total|cached)",
    "unallocated": rf"{_SIZE} is reserved by pytorch but unallocated",
    "mine": rf"this process has {_SIZE} memory in use",
}
_FORMAT = re.compile(r"cuda out of memory|outofmemoryerror: \S|error:? ?(?:\S+ )?out of memory|tried to allocate", re.IGNORECASE)
_SUMMARY = {"allocated": r"allocated memory \| (\d+) ([KMG]i?B)", "reserved": r"gpu reserved memory \| (\d+) ([KMG]i?B)"}
_PROCESS = re.compile(rf"process (\d+) has {_SIZE} memory in use", re.IGNORECASE)


class Memory(NamedTuple):
    """Sizes in GiB; None where the message does not say. `others`: what other processes hold, at least."""

    tried: float | None
    total: float | None
    free: float | None
    allocated: float | None
    unallocated: float | None
    others: float | None
    verdict: str  # genuine | fragmentation | other-process | unknown
    sure: bool
    line: Line


def _gib(number: str, unit: str) -> float:
    return float(number.rstrip(".")) * _UNITS[unit[0].lower()]


def read(doc: Doc) -> Memory | None:
    """The last message with the most numbers, judged; None when there is none."""
    best: tuple[int, Memory] | None = None
    places = [here for here in doc.find("out of memory") if _FORMAT.search(doc.lines[here].text)] or doc.find("tried to allocate")
    for here in places[-20:]:
        text = " ".join(each.text for each in doc.lines[here:here + 6])[:1500]
        start = text.lower().find("out of memory")
        again = text.lower().find("out of memory", start + 200)
        text = text[start if start >= 0 else 0:again if again > 0 else None]
        memory = judge(text, doc.lines[here])
        known = sum(each is not None for each in memory[:6])
        if best is None or known >= best[0]:
            best = (known, memory)
    if best is None:
        return None
    return _with_summary(doc, best[1]) if best[1].allocated is None else best[1]


def _with_summary(doc: Doc, memory: Memory) -> Memory:
    """The message without numbers of its own, helped by torch.cuda.memory_summary()'s table beside it."""
    sizes = {}
    for name, pattern in _SUMMARY.items():
        for here in doc.find(name)[:20]:
            found = re.search(pattern, doc.lines[here].text, re.IGNORECASE)
            if found:
                sizes[name] = _gib(found[1], found[2])
                break
    if len(sizes) < 2:
        return memory
    gap = max(0.0, sizes["reserved"] - sizes["allocated"])
    broken = gap > 0.25 * sizes["reserved"] and (memory.tried is None or gap > memory.tried)
    return memory._replace(allocated=sizes["allocated"], unallocated=gap, verdict="fragmentation" if broken else "genuine", sure=True)


def judge(text: str, line: Line) -> Memory:
    """What one message says."""
    sizes: dict[str, float] = {}
    for name, pattern in _PARTS.items():
        found = re.search(pattern, text, re.IGNORECASE)
        if found:
            groups = [group for group in found.groups() if group]
            sizes[name] = _gib(groups[0], groups[1])
    processes = [_gib(found[2], found[3]) for found in _PROCESS.finditer(text)]
    tried, total, free = sizes.get("tried"), sizes.get("total"), sizes.get("free")
    allocated, unallocated = sizes.get("allocated"), sizes.get("unallocated")
    if unallocated is None and "reserved" in sizes and allocated is not None:
        unallocated = max(0.0, sizes["reserved"] - allocated)
    others: float | None = None
    if total is not None and allocated is not None:
        mine = sizes.get("mine", allocated + (unallocated or 0.0) + 0.7)
        others = max(0.0, total - (free or 0.0) - mine)
        if len(processes) > 1:
            others = max(others, sum(processes) - max(processes, key=lambda each: -abs(each - mine)))
    verdict, sure = _verdict(tried, total, free, allocated, unallocated, others)
    return Memory(tried, total, free, allocated, unallocated, others, verdict, sure, line)


def _verdict(tried: float | None, total: float | None, free: float | None, allocated: float | None,
             unallocated: float | None, others: float | None) -> tuple[str, bool]:
    if tried is None or total is None or allocated is None:
        return "unknown", False
    held, gap, foreign = allocated, unallocated or 0.0, others or 0.0
    if tried > total * 0.97:
        return "genuine", True
    if foreign > 0.25 * total and foreign > held + gap:
        return "other-process", True
    if gap >= tried and gap >= 0.14 * total:
        return "fragmentation", True
    if free is not None and free > tried * 1.05:
        return "fragmentation", False
    if gap + (free or 0.0) >= tried and gap >= 0.1 * total and held < 0.75 * total:
        return "fragmentation", True
    if foreign > 0.3 * total and tried < foreign and held + gap + tried < 0.97 * total:
        return "other-process", True
    return "genuine", held + gap > 0.5 * total or held > 0.5 * total
