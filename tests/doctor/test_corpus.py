"""How often the doctor is right on the corpus, on the part that rules were written with and on the part kept aside."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import score_corpus
import yaml

from provisioner.doctor import engine

HERE = Path(__file__).parent


@pytest.mark.parametrize("part", ["open", "aside"])
def test_right_first_and_right_within_three(part: str) -> None:
    found = score_corpus.score(part)
    assert found.top1 / found.inputs >= 0.90, found.misses if part == "open" else found.top1
    assert found.top3 / found.inputs >= 0.97
    assert found.alarms <= 0.02 * max(found.clean, 50), found.false_alarms if part == "open" else found.alarms


def samples() -> list[tuple[str, str, str]]:
    """Every third input of the open part: its name, code and text."""
    folder = HERE / "corpus"
    rows = yaml.safe_load((folder / "index.yaml").read_text(encoding="utf-8"))["rows"]
    return [(row["file"], row["code"], (folder / row["file"]).read_text(encoding="utf-8")) for row in rows[::3]]


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def quoted(text: str) -> bytes:
    return "".join(f"> {line}\n" for line in text.splitlines()).encode()


def fenced(text: str) -> bytes:
    return f"It fails on my machine:\n\n```shell\n{text}\n```\n\nAny idea?\n".encode()


def coloured(text: str) -> bytes:
    return "".join(f"\x1b[31m{line}\x1b[0m\x1b[K\n" for line in text.splitlines()).encode()


def utf16(text: str) -> bytes:
    return text.encode("utf-16")


def dated(text: str) -> bytes:
    return "".join(f"2026-03-01T12:00:{at % 60:02d}.000Z {line}\n" for at, line in enumerate(text.splitlines())).encode()


def surrounded(text: str) -> bytes:
    """In the middle of a megabyte of progress lines."""
    rng = random.Random(3)
    noise = "".join(f"[{at:06d}] step {at} loss {rng.random():.4f} ok\n" for at in range(16000))
    return (noise + text + "\n" + noise).encode()


@pytest.mark.parametrize("change", [crlf, quoted, fenced, coloured, utf16, dated, surrounded])
def test_decoration_does_not_change_the_first_answer(change) -> None:  # type: ignore[no-untyped-def]
    changed = []
    for name, code, text in samples():
        found = [each.code for each in engine.diagnose([("stdin", change(text))], "doctor").findings]
        if found[:1] != [code]:
            changed.append((name, found[:2]))
    assert len(changed) <= 0.04 * len(samples()), changed


def test_lines_wrapped_by_a_terminal_are_read() -> None:
    """At 60 columns nine in ten keep their first answer; a table cut in two is not a table any more."""
    kept = 0
    for _, code, text in samples():
        wrapped = "\n".join(line[at:at + 60] for line in text.splitlines() for at in range(0, max(len(line), 1), 60))
        found = [each.code for each in engine.diagnose([("stdin", wrapped)], "doctor").findings]
        kept += found[:1] == [code]
    assert kept >= 0.9 * len(samples()), f"{kept} of {len(samples())}"


def test_any_prefix_of_a_text_is_survived() -> None:
    rng = random.Random(5)
    for _, _, text in samples():
        for _ in range(3):
            engine.diagnose([("stdin", text.encode()[:rng.randrange(len(text) + 1)])], "doctor")


def test_binary_rubbish_is_survived_and_names_nothing() -> None:
    rng = random.Random(11)
    for size in (0, 1, 100, 5000, 300_000):
        assert engine.diagnose([("stdin", rng.randbytes(size))], "explain").findings == ()
