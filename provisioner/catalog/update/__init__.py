"""`provision update`: what the sources have that the shipped catalogue lacks, into an overlay of the user's.

Each source is asked by itself; what it says becomes rows (`provisioner/catalog/sources`, pure), every new row is put through the
linters together with all others, and what they find anything against is left out and reported. The overlay is one file, written
beside and moved into place; a source that is out of reach or answers nonsense keeps the rows it gave the last time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from provisioner.catalog.update.report import Asked, Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from provisioner.catalog.load import Catalog
    from provisioner.catalog.update.fetch import Fetcher
    from provisioner.catalog.update.places import Places

#: The overlay file; its name sorts before a user's own files, whose rows so have the last word.
FILE = "00-update.yaml"


class Group(NamedTuple):
    """Rows that stand or fall together: a release with its builds, a toolkit with its components."""

    source: str
    name: str
    rows: tuple[tuple[str, Any], ...]  # (table, row)


def update(check: bool = False, progress: Callable[[int, int, str], None] | None = None, lang: str = "en", *,  # noqa: ARG001
           environment: dict[str, str] | None = None, today: str = "", fetcher: Fetcher | None = None) -> Report:
    """Ask the sources. check: say what is new, write nothing. lang: of no matter, the report speaks each language.

    progress: called with (done, total, what is asked next). environment, today, fetcher: for tests; else the process's own.
    Raises Problem when the user's own overlay cannot be read, or the new one cannot be written."""
    import datetime

    from provisioner.catalog.update.fetch import Fetcher
    from provisioner.catalog.update.places import places
    from provisioner.catalog.update.sources import SOURCES

    where = places(environment)
    today = today or datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    base, before = _base()
    asker = _Asker(base, before, where, fetcher or Fetcher(where.certificates), today)
    tasks = [(source, task) for source in SOURCES for task in source.tasks(asker)]
    for number, (source, task) in enumerate(tasks):
        if progress:
            progress(number, len(tasks), task.name)
        asker.ask(source.id, task)
    if progress:
        progress(len(tasks), len(tasks), "")
    groups = _kept(asker)
    taken, refused = accept(base, groups)
    asked = tuple(Asked(source.id, source.shown(where), *asker.state(source.id)) for source in SOURCES)
    new = tuple((group.source, table, row) for group in taken for table, row in group.rows)
    known = {(table, _key(table, row)) for table, rows in before.items() for row in rows}
    fresh = tuple(each for each in new if (each[1], _key(each[1], each[2])) not in known
                  or each[2] not in before.get(each[1], ()))
    written = ""
    if not check and (fresh or len(new) != sum(len(rows) for table, rows in before.items() if table != "sources")):
        written = _write(base, new, [(source.id, source.title, source.shown(where)) for source in SOURCES], today)
    return Report(base.version, base.date, _days(base.date, today), check, asked, new, fresh, tuple(refused), tuple(asker.notes), written,
                  max((row.date for rows in before.values() for row in rows), default=""))


class Task(NamedTuple):
    """One question to a source: its name for people, and what asks it."""

    name: str
    ask: Callable[[_Asker], list[Group]]


class _Asker:
    """What the questions share: the catalogue as it is, where to ask, and what came of it."""

    def __init__(self, catalog: Catalog, before: dict[str, list[Any]], where: Places, fetcher: Fetcher, today: str) -> None:
        self.catalog, self.before, self.where, self.fetcher, self.today = catalog, before, where, fetcher, today
        self.groups: list[Group] = []
        self.notes: list[str] = []
        self._faults: dict[str, list[tuple[str, str]]] = {}
        self._answered: dict[str, int] = {}

    def ask(self, source: str, task: Task) -> None:
        """Ask, and keep the rows or the fault. A source that cannot be reached is not asked again."""
        from provisioner.catalog.update.fetch import Broken, Unreachable

        if any(kind == "offline" for kind, _ in self._faults.get(source, ())):
            return
        try:
            self.groups += task.ask(self)
        except Unreachable as fault:
            self._faults.setdefault(source, []).append(("offline", str(fault)))
        except Broken as fault:
            self._faults.setdefault(source, []).append(("broken", str(fault)))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as fault:
            # an answer of another shape than any that the parsers know
            self._faults.setdefault(source, []).append(("broken", f"{task.name}: an answer that nobody can read ({fault})"[:300]))
        else:
            self._answered[source] = self._answered.get(source, 0) + 1

    def state(self, source: str) -> tuple[str, str]:
        """ok, broken, offline; and why."""
        faults = self._faults.get(source, [])
        if not faults:
            return "ok", ""
        kinds = {kind for kind, _ in faults}
        return "offline" if kinds == {"offline"} else "broken", "; ".join(dict.fromkeys(text for _, text in faults))[:600]

    def failed(self, source: str) -> bool:
        """Whether any of its answers is missing."""
        return source in self._faults


# -- the rows ----------------------------------------------------------------------------------------------------------


def _key(table: str, row: Any) -> tuple[object, ...]:
    from provisioner.catalog.lint.engine import key_of

    return key_of(table, row)


def _base() -> tuple[Catalog, dict[str, list[Any]]]:
    """The catalogue without what the last update wrote, and what that was."""
    import os

    from provisioner import resources
    from provisioner.catalog import load as loading
    from provisioner.catalog.compile import compile_tables, read_rows
    from provisioner.errors import Problem

    folder = loading.overlay_folder()
    path = os.path.join(folder, FILE)
    before: dict[str, list[Any]] = {}
    try:
        with open(path, "rb") as stream:
            before = read_rows(FILE, stream.read(), path)
    except (OSError, Problem):
        pass  # there is none, or a newer or older provision wrote it: it is made anew
    own = [each for each in loading._files(folder) if each != path]
    if not own:
        return loading.load(overlays=False), before
    import tempfile

    with tempfile.TemporaryDirectory() as aside:
        for number, each in enumerate(own):
            with open(each, "rb") as stream, open(os.path.join(aside, f"{number:04d}-{os.path.basename(each)}"), "wb") as copy:
                copy.write(stream.read())
        try:
            return loading.Catalog(compile_tables(resources.compat_data(), aside)), before
        except Problem as problem:
            place = os.path.basename(problem.file)[:4]
            if place.isdigit():
                problem.file = own[int(place)]
            raise


def _kept(asker: _Asker) -> list[Group]:
    """The groups, with the rows of the last update for sources that failed now."""
    from provisioner.catalog.update.sources import SOURCES

    groups = list(asker.groups)
    have = {(table, _key(table, row)) for group in groups for table, row in group.rows}
    for source in SOURCES:
        if not asker.failed(source.id):
            continue
        old: dict[str, list[tuple[str, Any]]] = {}
        for table, rows in asker.before.items():
            for row in rows:
                if table != "sources" and row.source.partition(":")[0] == source.id and (table, _key(table, row)) not in have \
                        and differs(asker.catalog, table, row):
                    about = row.branch if table.startswith("driver") else _key(table, row)[0]
                    old.setdefault(f"{source.id} {about}", []).append((table, row))
        groups += [Group(source.id, name, tuple(rows)) for name, rows in old.items()]
    return groups


def differs(catalog: Catalog, table: str, row: Any) -> bool:
    """Whether the catalogue lacks a row, or holds another one under its key; provenance apart."""
    held = catalog.row(table, *_key(table, row))
    return held is None or tuple(held)[:-3] != tuple(row)[:-3]


def accept(base: Catalog, groups: list[Group]) -> tuple[list[Group], list[tuple[str, str]]]:
    """The groups that no linter has anything against together with all that is there, and (group, finding) of the others."""
    from provisioner.catalog.lint import lint

    if not groups:
        return [], []
    known = {(each.question, each.table, each.key) for each in lint(base).findings}

    def against(some: list[Group]) -> list[Any]:
        return [each for each in lint(merged(base, some)).findings if (each.question, each.table, each.key) not in known]

    refused: list[tuple[str, str]] = []
    left = list(groups)
    while left:
        findings = against(left)
        if not findings:
            return left, refused
        named = {(each.table, each.key): each.text for each in findings}
        guilty = [group for group in left if any((table, _key(table, row)) in named for table, row in group.rows)]
        if not guilty:
            break
        for group in guilty:
            refused += [(group.name, named[table, _key(table, row)]) for table, row in group.rows if (table, _key(table, row)) in named][:1]
        left = [group for group in left if group not in guilty]
    taken: list[Group] = []  # what is found wrong is said of other rows: each group by itself, then
    for group in left:
        findings = against([*taken, group])
        if findings:
            refused.append((group.name, findings[0].text))
        else:
            taken.append(group)
    return taken, refused


def merged(base: Catalog, groups: list[Group]) -> Catalog:
    """The catalogue with the rows of the groups, marked as an overlay's."""
    rows: dict[str, list[Any]] = {}
    for group in groups:
        for table, row in group.rows:
            rows.setdefault(table, []).append(row)
    from provisioner.catalog.model import Source
    from provisioner.catalog.update.sources import SOURCES

    rows["sources"] = [Source(source.id, source.title, source.title, "2026-01-01") for source in SOURCES]
    return base.with_rows(rows)


# -- the file ----------------------------------------------------------------------------------------------------------


def _write(base: Catalog, new: tuple[tuple[str, str, Any], ...], sources: list[tuple[str, str, str]], today: str) -> str:
    """Write the overlay, after reading it back; its path. Raises Problem."""
    import os

    from provisioner.catalog.compile import read_rows
    from provisioner.catalog.load import overlay_folder
    from provisioner.catalog.model import TABLES, Source
    from provisioner.errors import WRONG, Problem

    folder = overlay_folder()
    path = os.path.join(folder, FILE)
    used = {source for source, _, _ in new} | {row.source.partition(":")[0] for _, _, row in new}
    tables: dict[str, list[Any]] = {"sources": [Source(name, title, shown, today) for name, title, shown in sources if name in used]}
    for _, table, row in new:
        tables.setdefault(table, []).append(row)
    head = f"# Written by `provision update` on {today}, on top of catalogue {base.version}. Delete it to go back to what was shipped.\n"
    text = head + "".join(f"---\ntable: {table}\nrows:\n" + "".join(f"  - {_flow(table, row)}\n" for row in tables[table])
                          for table in TABLES if tables.get(table))
    if read_rows(FILE, text.encode(), path) != {table: rows for table, rows in tables.items() if rows}:
        raise Problem("update-write", "what was written is not what was read back", todo="please report it", status=WRONG)
    temporary = f"{path}.{os.urandom(6).hex()}.tmp"
    try:
        os.makedirs(folder, exist_ok=True)
        if not new:
            if os.path.exists(path):
                os.unlink(path)  # the shipped catalogue has caught up
            return path
        with open(temporary, "x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as fault:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise Problem("update-write", f"cannot write {path}", because=fault.strerror or str(fault),
                      todo="set PROVISION_DATA_HOME to a folder that can be written", status=WRONG) from None
    return path


def _flow(table: str, row: Any) -> str:
    """A row as a flow mapping of YAML, in JSON's spelling; what its field is when it is left out is left out."""
    import json

    from provisioner.catalog.compile import empty

    parts = []
    for field, value in zip(row._fields, row, strict=True):
        if value == empty(table, field) and type(value) is type(empty(table, field)):
            continue
        if isinstance(value, tuple):
            value = dict(value) if value and isinstance(value[0], tuple) else list(value)
        parts.append(f"{field}: {json.dumps(value)}")
    return "{" + ", ".join(parts) + "}"


def _days(since: str, today: str) -> int:
    import datetime

    return (datetime.date.fromisoformat(today) - datetime.date.fromisoformat(since)).days


__all__ = ["FILE", "Group", "Report", "accept", "differs", "merged", "update"]
