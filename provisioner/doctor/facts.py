"""The text as a searchable whole, and the facts that the readers find in it, each with the line it rests on."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from provisioner.doctor.clean import Line


class Fact(NamedTuple):
    """A value read out of a text, and where. `strength` 2: a program's own report, 1: said in passing."""

    value: str
    line: Line
    strength: int = 2


class Facts:
    """Named facts, several values each, in the order in which they were read."""

    def __init__(self) -> None:
        self.known: dict[str, list[Fact]] = {}

    def add(self, name: str, value: str, line: Line, strength: int = 2) -> None:
        """Note a value; one that is known already is not noted twice."""
        value = value.strip()
        if not value:
            return
        held = self.known.setdefault(name, [])
        for at, each in enumerate(held):
            if each.value == value:
                if each.strength < strength:
                    held[at] = Fact(value, line, strength)
                return
        held.append(Fact(value, line, strength))

    def all(self, name: str) -> list[Fact]:
        """Every value noted, the strong ones first."""
        return sorted(self.known.get(name, ()), key=lambda fact: -fact.strength)

    def first(self, name: str) -> Fact | None:
        """The best value noted, or None."""
        found = self.all(name)
        return found[0] if found else None

    def value(self, name: str) -> str:
        """The best value, or the empty string."""
        found = self.first(name)
        return found.value if found else ""

    def values(self, name: str) -> list[str]:
        """All values."""
        return [each.value for each in self.all(name)]


class Doc:
    """Clean lines and three views of them: line by line, joined with a space, joined with nothing (wrapped lines)."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.lower = [each.text.lower() for each in lines]
        self.blob, self._starts = self._join("\n")
        self.bare = self.blob.replace("\n", "").replace(" ", "")
        self._joined: list[tuple[str, list[int]]] = []
        self._hits: dict[str, list[int]] = {}

    def _join(self, mark: str) -> tuple[str, list[int]]:
        starts, at = [], 0
        for each in self.lower:
            starts.append(at)
            at += len(each) + len(mark)
        return mark.join(self.lower), starts

    def find(self, literal: str) -> list[int]:
        """Indices of the lines that hold a lower-case literal."""
        if literal in self._hits:
            return self._hits[literal]
        found: list[int] = []
        at = self.blob.find(literal) if literal in self.blob else -1
        while at >= 0:
            here = bisect_right(self._starts, at) - 1
            if not found or found[-1] != here:
                found.append(here)
            at = self.blob.find(literal, at + 1)
        self._hits[literal] = found
        return found

    def joined(self) -> list[tuple[str, list[int]]]:
        """The text with its line ends taken out, once with a space for each and once without; with the lines' starts."""
        if not self._joined:
            self._joined = [self._join(" "), self._join("")]
        return self._joined

    def at(self, starts: list[int], position: int) -> int:
        """The index of the line that a position of a joined view lies in."""
        return bisect_right(starts, position) - 1
