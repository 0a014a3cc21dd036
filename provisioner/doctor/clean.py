"""One cleaning pass over what people paste: bytes or lines in, a bounded list of clean lines with their numbers out.

Small texts are kept whole. Of long logs only the lines that may matter are kept: each chunk is folded (letters that occur in
hexadecimal numbers, digits and marks taken out), lines that were seen before in that form are dropped, and of the rest those
that hold one of a few anchor words stay, with their neighbours, the head and the tail. All steps are linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

SMALL = 96 * 1024  # a text up to this many bytes is looked at whole
CHUNK = 1 << 20
LONGEST = 4000  # characters of a line that are looked at
HEAD, TAIL, NEAR = 8, 30, 2
MOST = 2500  # lines kept of one long log, beside head and tail


class Line(NamedTuple):
    """A line: where it came from, its number from 1, its text without decoration, and the same with single spaces."""

    source: str
    number: int
    raw: str
    text: str


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BARE_ANSI = re.compile(r"(?:␛|\^\[|\\x1b|\\033|\\e|\\u001b)\[[0-9;]{0,12}[mK]")
# What terminals, loggers, schedulers and mail put before a line.
_PREFIX = re.compile(
    r"(?:\s{0,8}>(?!>>)\s?"  # quoted mail (but not the Python prompt)
    r"|\[\s{0,6}\d+\.\d{4,9}\]\s"  # dmesg
    r"|[A-Z][a-z]{2}\s[A-Z][a-z]{2}\s[\s\d]\d\s\d\d:\d\d:\d\d\s\d{4}\s"  # dmesg -T
    r"|\[[A-Z][a-z]{2}\s[A-Z][a-z]{2}\s[\s\d]\d\s\d\d:\d\d:\d\d\s\d{4}\]\s"
    r"|(?:<\d+>)?[A-Z][a-z]{2}\s[\s\d]\d\s\d\d:\d\d:\d\d\s[\w.-]+\s[\w./@-]+(?:\[\d+\])?:\s"  # syslog, journal
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[:\s]\s?"  # ISO time
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s"
    r"|\[(?:rank|Rank )\s?\d+\]:?\s|\[\d+,\d+\]<std(?:out|err)>:\s?"  # torchrun, mpirun
    r"|\([\w:.]+(?:\s[\w:.]+)?\s?pid=\d+(?:,\sip=[\d.]+)?\)\s"  # ray, vllm
    r"|#\d+\s\d+\.\d+\s"  # docker build
    r"|[\w.-]{1,40}[-_]\d+\s{1,20}\|\s(?=\S))"  # docker compose
)
_FENCE = re.compile(r"\s{0,8}(?:`{3,}|~{3,})\s?[\w+-]{0,20}\s*$")
_WIDE: dict[int, str | None] = {0xff01 + offset: chr(0x21 + offset) for offset in range(0x5e)}  # full-width forms
_WIDE.update({0x3002: ".", 0x3001: ",", 0x3010: "[", 0x3011: "]", 0x3000: " ", 0xa0: " ", 0x2009: " ", 0xfeff: None,
              0x2018: "'", 0x2019: "'", 0x201c: '"', 0x201d: '"', 0x300c: '"', 0x300d: '"', 0x2013: "-", 0x2014: "-",
              0x2010: "-", 0x2011: "-", 0x2212: "-", 0x200b: None, 0x200c: None, 0x200d: None, 0x2060: None})
_FOLDED = b"0123456789abcdefABCDEF .,:;-_+=/\\|()[]{}<>'\"#%*&@!?~^$`\t\r"


def decode(data: bytes) -> str:
    """Bytes as text: UTF-8, UTF-16 (with or without a mark), else the Chinese and Western code pages; never fails."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if data[:3] == b"\xef\xbb\xbf":
        return data[3:].decode("utf-8", "replace")
    if len(data) > 3 and data[1::2].count(0) * 3 > len(data):
        return data.decode("utf-16-le", "replace")
    if len(data) > 3 and data[0::2].count(0) * 3 > len(data):
        return data.decode("utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    broken = data.decode("utf-8", "replace")
    if broken.count("\ufffd") * 50 > len(broken):
        for code in ("gb18030", "cp1252"):
            try:
                return data.decode(code)
            except UnicodeDecodeError:
                continue
    return broken


def line(source: str, number: int, text: str) -> Line | None:
    """One line without colour codes, quote marks and prefixes; None for a Markdown fence."""
    text = text[:LONGEST]
    if not text.isascii():
        text = text.translate(_WIDE)
    if "\r" in text:  # a progress bar: what was printed last stands
        text = text.rstrip("\r").rsplit("\r", 1)[-1]
    if "\x1b" in text or not text.isprintable():
        text = _ANSI.sub("", text)
    if "[" in text and ("^[" in text or "␛" in text or "\\" in text):
        text = _BARE_ANSI.sub("", text)
    if ("```" in text or "~~~" in text) and _FENCE.match(text):
        return None
    for _ in range(4):
        found = _PREFIX.match(text)
        if found is None or not found.end():
            break
        text = text[found.end():]
    text = text.rstrip()
    return Line(source, number, text, " ".join(text.split()))


def _json(source: str, data: bytes) -> list[Line] | None:
    """JSON in the words of the programs it came from; None when it is none."""
    if data.lstrip()[:1] != b"{" or data.rstrip()[-1:] != b"}":
        return None
    import json

    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    from provisioner.doctor import bundle

    return bundle.lines(document, source)


def small(source: str, text: str) -> list[Line]:
    """All lines of a text that is short enough to be looked at whole."""
    made = (line(source, number, each) for number, each in enumerate(text.split("\n"), 1))
    return [each for each in made if each is not None]


def read(source: str, data: object, anchors: Anchors) -> list[Line]:
    """The lines that matter. `data`: str, bytes, a binary or text stream, or an iterable of lines (str or bytes)."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    chunks = _chunks(data)
    first = next(chunks, b"")
    if first[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(first) > 3 and (
            first[1:4000:2].count(0) * 6 > min(len(first), 4000) or first[0:4000:2].count(0) * 6 > min(len(first), 4000))):
        whole = decode(b"".join([first, *chunks])).encode("utf-8", "replace")  # UTF-16 has no line ends to cut at
        chunks = _chunks(whole)
        first = next(chunks, b"")
    second = next(chunks, b"")
    if not second:
        told = _json(source, first)
        if told is not None:
            return told
        if len(first) <= SMALL:
            return small(source, decode(first))
    return _long(source, _chain(first, _chain(second, chunks)), anchors)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _chunks(data: object) -> Iterator[bytes]:
    if isinstance(data, (bytes, bytearray, memoryview)):
        view = bytes(data)
        for start in range(0, len(view), CHUNK):
            yield view[start:start + CHUNK]
        return
    reader = getattr(data, "read", None)
    if reader is not None:
        while True:
            block = reader(CHUNK)
            if not block:
                return
            yield block if isinstance(block, bytes) else block.encode("utf-8", "surrogatepass")
    lines = iter(data)  # type: ignore[call-overload]
    while batch := list(islice(lines, 8192)):
        block = _joined(batch)
        for start in range(0, len(block), CHUNK):  # a few lines of megabytes each
            yield block[start:start + CHUNK]


def _joined(batch: list[Any]) -> bytes:
    """Lines as one block, each with its end."""
    pieces = batch if isinstance(batch[0], bytes) else [each.encode("utf-8", "surrogatepass") for each in batch]
    if pieces[0].endswith(b"\n"):
        block = b"".join(pieces)
        return block if block.endswith(b"\n") else block + b"\n"
    return b"\n".join(pieces) + b"\n"


class Anchors:
    """Which lines of a long log are worth a look: those with one of these words (lower case, no digits)."""

    def __init__(self, words: Iterable[str], plain: Iterable[str]) -> None:
        self.words = [word.encode() for word in words]
        self.plain = [word.encode() for word in plain]  # a handful, for logs that never repeat themselves

    def hits(self, blob: bytes) -> set[int]:
        """Positions of one hit a line for each word."""
        found: set[int] = set()
        for word in self.words if len(blob) < 200_000 else self.plain:
            at = blob.find(word)
            while at >= 0:
                found.add(at)
                at = blob.find(b"\n", at)
                if at >= 0:
                    at = blob.find(word, at)
        return found


def _long(source: str, chunks: Iterator[bytes], anchors: Anchors) -> list[Line]:
    from bisect import bisect_right
    from itertools import accumulate

    seen: set[bytes] = set()
    kept: dict[int, bytes] = {}
    tail: list[tuple[int, bytes, bytes]] = []
    base, rest = 0, b""
    for chunk in chunks:
        if rest:
            chunk = rest + chunk
            rest = b""
        end = chunk.rfind(b"\n")
        if end < 0:
            if len(chunk) < 4 * CHUNK:
                rest = chunk
                continue
            end = len(chunk)
        chunk, rest = chunk[:end], chunk[end + 1:]
        if len(rest) > 4 * CHUNK:
            rest = rest[:LONGEST]
        lines = chunk.split(b"\n")
        sample = b"\n".join(lines[len(lines) // 2:len(lines) // 2 + 200]).translate(None, _FOLDED).split(b"\n")
        varied = len(set(sample)) > 100  # hardly anything repeats: looking at all lines is cheaper than sorting them out
        shapes = (b"\n".join(lines[-TAIL:]) if varied else chunk).translate(None, _FOLDED).split(b"\n")
        fresh = set() if varied else set(shapes)
        if seen:
            fresh.difference_update(seen)
        if len(seen) < 300_000:
            seen |= fresh
        numbers: Sequence[int]
        if varied or len(fresh) * 3 > len(lines):
            numbers = range(len(lines))
        elif len(fresh) < 12:
            numbers = sorted(map(shapes.index, fresh))
        else:
            first = dict(zip(reversed(shapes), range(len(shapes) - 1, -1, -1), strict=True))
            numbers = sorted([first[shape] for shape in fresh])
        if base < HEAD:
            kept.update((base + at, lines[at]) for at in numbers if base + at < HEAD)
        picked = lines if len(numbers) == len(lines) else [lines[at] for at in numbers]
        hits = anchors.hits((chunk if picked is lines else b"\n".join(picked)).lower())
        starts = list(accumulate(map((1).__add__, map(len, picked)), initial=0)) if hits else []
        for hit in hits:
            here = numbers[bisect_right(starts, hit) - 1]
            if len(kept) < MOST:
                for near in range(max(0, here - NEAR), min(len(lines), here + NEAR + 1)):
                    kept[base + near] = lines[near]
        tail = [*tail, *zip(range(base + max(0, len(lines) - TAIL), base + len(lines)), lines[-TAIL:], shapes[-TAIL:], strict=True)][-TAIL:]
        base += len(lines)
    if rest:
        tail.append((base, rest, b""))
    last: dict[bytes, int] = {}
    for number, raw, shape in tail:  # of lines alike, the first two and those near the end
        last[shape] = last.get(shape, 0) + 1
        if last[shape] < 3 or number > tail[-1][0] - 8:
            kept[number] = raw
    made = (line(source, number + 1, decode(kept[number][:4 * LONGEST])) for number in sorted(kept))
    return [each for each in made if each is not None]
