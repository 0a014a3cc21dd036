"""Questions that are asked of every table."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from provisioner.catalog.lint.engine import key_of, question
from provisioner.catalog.model import TABLES
from provisioner.versions import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provisioner.catalog.load import Catalog

    Said = Iterator[tuple[str, Any, str]]

_DATE = re.compile(r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?")
_DATES = ("date", "released", "end_of_life")


def _all(catalog: Catalog) -> Said:
    for table in TABLES:
        for row in getattr(catalog, table):
            yield table, row, ""


@question("source-unknown")
def source_unknown(catalog: Catalog) -> Said:
    """Does every row name a source that is listed?"""
    known = {row.id for row in catalog.sources}
    for table, row, _ in _all(catalog):
        if table != "sources" and row.source.partition(":")[0].strip() not in known:
            yield table, row, f"its source {row.source!r} is not among the sources"


@question("date-form")
def date_form(catalog: Catalog) -> Said:
    """Is every date an ISO day, month or year?"""
    for table, row, _ in _all(catalog):
        for field in _DATES:
            value = getattr(row, field, "")
            if value and not _DATE.fullmatch(value):
                yield table, row, f"{field} {value!r} is no ISO date"


@question("date-future")
def date_future(catalog: Catalog) -> Said:
    """Was every shipped row read, and everything it tells of released, before the catalogue's own date?"""
    for table, row, _ in _all(catalog):
        for field in ("date", "released"):
            value = getattr(row, field, "") or ""
            if value[:10] > catalog.date[:len(value)] and not catalog.from_overlay(table, row):
                yield table, row, f"{field} {value} is after the catalogue's date {catalog.date}"


@question("life-order")
def life_order(catalog: Catalog) -> Said:
    """Does everything end after it began?"""
    for table, row, _ in _all(catalog):
        begin, end = getattr(row, "released", "") or "", getattr(row, "end_of_life", "") or ""
        size = min(len(begin), len(end))
        if size and end[:size] < begin[:size]:
            yield table, row, f"it ends on {end}, before it began on {begin}"


@question("date-order")
def date_order(catalog: Catalog) -> Said:
    """Are releases dated in the order of their numbers, within a series?"""
    series: dict[tuple[str, str], list[Any]] = {}
    for table, depth in (("torch_releases", 2), ("toolkits", 2), ("driver_branches", 0), ("cudnn", 2), ("nccl", 2)):
        for row in getattr(catalog, table):
            name = str(key_of(table, row)[0])
            apart = ".".join(name.split(".")[:depth]) + (row.cuda if table == "cudnn" else "")
            if getattr(row, "kind", "") != "beta":
                series.setdefault((table, apart), []).append(row)
    for (table, _), rows in series.items():
        dated = sorted((row for row in rows if row.released), key=lambda row: number(str(row[0])))
        for before, after in pairwise(dated):
            size = min(len(before.released), len(after.released))
            if after.released[:size] < before.released[:size]:
                yield table, after, f"released {after.released}, before {before[0]} ({before.released})"


@question("address")
def address(catalog: Catalog) -> Said:
    """Is every shipped address an https one without blanks?"""
    for table, row, _ in _all(catalog):
        if catalog.from_overlay(table, row):
            continue  # a mirror of one's own may be what it likes
        for field, value in zip(row._fields, row, strict=True):
            if not isinstance(value, str) or field in ("source", "text", "note", "value"):
                continue
            for part in value.split(", ") if re.match(r"[a-z]+://", value) else ():
                if not re.fullmatch(r"https://[a-z0-9.-]+(?::\d+)?(?:/[^\s]*)?", part):
                    yield table, row, f"{field} {part!r} is not an https address"


@question("address-of-another-architecture")
def address_architecture(catalog: Catalog) -> Said:
    """Does an address or a file name belong to the architecture of its row?"""
    words = {"x86_64": ("x86_64", "amd64"), "aarch64": ("aarch64", "arm64", "sbsa")}

    def wrong(value: str, arch: str) -> bool:
        other = "aarch64" if arch == "x86_64" else "x86_64"
        return any(re.search(rf"(?<![a-z0-9]){word}(?![a-z0-9])", value) for word in words[other])

    for row in catalog.torch_builds:
        arch = "aarch64" if row.platform.endswith(("aarch64", "arm64")) else "x86_64"
        for field in ("index_url", "file_pattern"):
            if wrong(getattr(row, field), arch):
                yield "torch_builds", row, f"{field} {getattr(row, field)!r} is not for {arch}"
    for system in catalog.systems:
        for arch in ("x86_64", "aarch64"):
            value = getattr(system, f"repository_{arch}")
            if wrong(value, arch):
                yield "systems", system, f"repository_{arch} {value!r} is not for {arch}"


@question("blank")
def blank(catalog: Catalog) -> Said:
    """Is there no text with blanks at its ends, and no list with an entry twice?"""
    for table, row, _ in _all(catalog):
        for field, value in zip(row._fields, row, strict=True):
            parts = value if isinstance(value, tuple) else (value,)
            for part in parts:
                words = part if isinstance(part, tuple) else (part,)
                if any(isinstance(word, str) and word != word.strip() for word in words):
                    yield table, row, f"{field} {part!r} has blanks at its ends"
            if isinstance(value, tuple) and len(set(value)) != len(value):
                yield table, row, f"{field} names something twice"


@question("driver-spelling")
def driver_spelling(catalog: Catalog) -> Said:
    """Is every driver version spelled as the vendor spells it (450.80.02, not 450.80.2)?"""
    spelled: dict[tuple[int, ...], set[str]] = {}
    for release in catalog.driver_releases:
        spelled.setdefault(number(release.version), set()).add(release.version)
    fields = ("min_driver_linux", "min_driver_windows", "bundled_linux", "bundled_windows", "first_driver", "open_first_driver",
              "latest", "first_in_branch")
    for table, row, _ in _all(catalog):
        for field in fields:
            value = getattr(row, field, None)
            for version in value if isinstance(value, tuple) else (value,):
                if version and version not in spelled.get(number(version), {version}):
                    yield table, row, f"{field} {version!r} is spelled {' or '.join(spelled[number(version)])} elsewhere"


@question("interval")
def interval(catalog: Catalog) -> Said:
    """Does every interval begin before it ends?"""
    pairs = (("first", "last"), ("first_toolkit", "last_toolkit"), ("first_branch", "last_branch"), ("min_sm", "max_sm"))
    for table, row, _ in _all(catalog):
        for low, high in pairs:
            first, last = getattr(row, low, ""), getattr(row, high, "")
            if first and last and number(str(first)) > number(str(last)):
                yield table, row, f"{low} {first} is above {high} {last}"


@question("overlap")
def overlap(catalog: Catalog) -> Said:
    """Do no two intervals of the same thing overlap and so contradict each other?"""
    same = {"driver_offers": ("os", "arch", "origin"), "toolkit_offers": ("os", "arch"),
            "package_names": ("family", "os", "origin", "thing"), "companion_archs": ("package", "build")}
    for table, fields in same.items():
        groups: dict[tuple[object, ...], list[Any]] = {}
        for row in getattr(catalog, table):
            groups.setdefault(tuple(getattr(row, field) for field in fields), []).append(row)
        for rows in groups.values():
            rows.sort(key=lambda row: number(row.first) if row.first else ())
            for before, after in pairwise(rows):
                if table == "driver_offers" and not set(before.flavours) & set(after.flavours):
                    continue
                if not before.last or number(after.first or "0") <= number(before.last):
                    yield table, after, f"it overlaps the interval {before.first or '…'} to {before.last or '…'}"
