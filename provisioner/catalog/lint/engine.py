"""Asking every question, and counting what the catalogue says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from provisioner.catalog.model import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from provisioner.catalog.load import Catalog

#: name -> the function that asks it
QUESTIONS: dict[str, Callable[[Catalog], Iterator[tuple[str, Any, str]]]] = {}


def question(name: str) -> Callable[[Any], Any]:
    """Enter a generator of `(table, row, text)` under a name."""

    def enter(function: Any) -> Any:
        QUESTIONS[name] = function
        return function

    return enter


class Finding(NamedTuple):
    """Something that cannot be right."""

    question: str
    table: str
    key: tuple[object, ...]
    text: str  # names the row and what is wrong


class Report(NamedTuple):
    """What all questions found, and how much there was to ask about."""

    findings: tuple[Finding, ...]
    facts: int
    rows: int
    tables: int
    questions: int

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"facts": self.facts, "rows": self.rows, "tables": self.tables, "questions": self.questions,
                "findings": [{"question": each.question, "table": each.table, "key": [str(part) for part in each.key],
                              "text": each.text} for each in self.findings]}


def key_of(table: str, row: Any) -> tuple[object, ...]:
    """The values of a row's key fields."""
    return tuple(getattr(row, field) for field in TABLES[table][1])


_NO_FACTS = ("source", "date", "confidence", "text", "note", "examples")


def facts(row: Any, table: str) -> int:
    """Facts in a row: its fields apart from its key and its provenance that say something. Nothing, false, an empty text, list
    or mapping, and 0 say nothing; a list is one fact, a mapping one for each entry. Prose (`text`, `note`, `examples`) and sources
    are no facts."""
    if table == "sources":
        return 0
    told = 0
    for field, value in zip(row._fields, row, strict=True):
        if not value or field in _NO_FACTS or field in TABLES[table][1]:
            continue
        told += len(value) if isinstance(value, tuple) and isinstance(value[0], tuple) else 1
    return told


def facts_in(catalog: Catalog) -> int:
    """Facts in all tables."""
    return sum(facts(row, table) for table in TABLES for row in getattr(catalog, table))


def lint(catalog: Catalog, only: tuple[str, ...] = ()) -> Report:
    """Ask every question, or `only` some; findings in the order of the questions."""
    from provisioner.catalog.lint import general, nvidia, systems, torch  # noqa: F401  (they enter their questions)

    found = []
    asked = [name for name in QUESTIONS if not only or name in only]
    for name in asked:
        for table, row, text in QUESTIONS[name](catalog):
            key = key_of(table, row)
            shown = " ".join(str(part) for part in key if part not in ("", ()))
            found.append(Finding(name, table, key, f"{table} {shown}: {text}"))
    return Report(tuple(found), facts_in(catalog), sum(len(getattr(catalog, table)) for table in TABLES), len(TABLES), len(asked))
