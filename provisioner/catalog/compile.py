"""From the files that people edit to plain tuples: strict, and naming file and line for everything that is off.

A file may hold several tables, as YAML documents one after the other.
"""

# pathlib costs more to import than the catalogue takes to load

from __future__ import annotations

import csv
import hashlib
import os
import typing
from typing import Any

import yaml

from provisioner.catalog.model import TABLES
from provisioner.errors import Problem, nearest

_KINDS: dict[type, dict[str, str]] = {}


def _kinds(row_type: type) -> dict[str, str]:
    """field -> kind: str, str?, int, int?, bool, bool?, strs, ints, pairs."""
    if row_type not in _KINDS:
        names = {str: "str", int: "int", bool: "bool"}
        kinds = {}
        for field, hint in typing.get_type_hints(row_type).items():
            arguments = typing.get_args(hint)
            if hint in names:
                kinds[field] = names[hint]
            elif type(None) in arguments:
                kinds[field] = names[next(each for each in arguments if each is not type(None))] + "?"
            elif arguments and arguments[0] is str:
                kinds[field] = "strs"
            elif arguments and arguments[0] is int:
                kinds[field] = "ints"
            else:
                kinds[field] = "pairs"
        _KINDS[row_type] = kinds
    return _KINDS[row_type]


_EMPTY: dict[str, Any] = {"str": "", "str?": None, "int": 0, "int?": None, "bool": False, "bool?": None, "strs": (), "ints": (),
                          "pairs": ()}


def empty(table: str, field: str) -> Any:
    """What a field is when a row leaves it out."""
    return _EMPTY[_kinds(TABLES[table][0])[field]]


CONFIDENCES = ("measured", "stated", "derived")


def _value(kind: str, value: Any, where: tuple[str, int], field: str) -> Any:
    """`value` as its kind wants it. Raises Problem."""
    base = kind.rstrip("?")
    if value is None and kind.endswith("?"):
        return None
    fits = {  # what YAML gave has to be of the kind as it stands: 12.10 without quotes is a number, and 12.1
        "str": lambda: isinstance(value, str),
        "int": lambda: isinstance(value, int) and not isinstance(value, bool),
        "bool": lambda: isinstance(value, bool),
        "strs": lambda: isinstance(value, list) and all(isinstance(each, str) for each in value),
        "ints": lambda: isinstance(value, list) and all(isinstance(each, int) and not isinstance(each, bool) for each in value),
        "pairs": lambda: isinstance(value, dict) and all(isinstance(part, str) for pair in value.items() for part in pair),
    }[base]()
    if not fits:
        wanted = {"str": "a quoted text", "int": "a whole number", "bool": "true or false", "strs": "a list of quoted texts",
                  "ints": "a list of whole numbers", "pairs": "a mapping of texts"}[base]
        raise Problem("catalog-type", f"{field} is {value!r}; it has to be {wanted}", file=where[0], line=where[1])
    if base in ("strs", "ints"):
        return tuple(value)
    return tuple(value.items()) if base == "pairs" else value


def _row(table: str, raw: dict[str, Any], defaults: dict[str, Any], where: tuple[str, int]) -> tuple[Any, ...]:
    row_type = TABLES[table][0]
    kinds = _kinds(row_type)
    for field in raw:
        if field not in kinds:
            near = nearest(str(field), list(kinds))
            raise Problem("catalog-field", f"table {table} has no field {field!r}",
                          todo=f"did you mean {' or '.join(near)}?" if near else f"its fields are {', '.join(kinds)}",
                          file=where[0], line=where[1])
    made = tuple(_value(kind, raw[field], where, field) if field in raw
                 else _value(kind, defaults[field], where, field) if field in defaults else _EMPTY[kind]
                 for field, kind in kinds.items())
    if table != "sources":
        source, date, confidence = made[-3:]
        if not source or not date or confidence not in CONFIDENCES:
            raise Problem("catalog-provenance", f"a row of {table} lacks source, date or confidence",
                          todo=f"confidence is one of {', '.join(CONFIDENCES)}", file=where[0], line=where[1])
    return made


class _Loader(yaml.CSafeLoader):
    """The C loader, refusing keys given twice and keeping each row's line."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    made: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, (str, int)):
            raise yaml.constructor.ConstructorError(None, None, "a key has to be a word", key_node.start_mark)
        if key in made:
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is given twice", key_node.start_mark)
        made[key] = loader.construct_object(value_node, deep=True)
    return made


def _rows(loader: _Loader, node: yaml.MappingNode) -> _Lined:
    return _Lined(_mapping(loader, node), node.start_mark.line + 1)


class _Lined(dict):  # type: ignore[type-arg]
    """A mapping that knows its line."""

    def __init__(self, values: dict[str, Any], line: int) -> None:
        super().__init__(values)
        self.line = line


_Loader.add_constructor("tag:yaml.org,2002:map", _rows)


Table = tuple[str, dict[str, Any], list[tuple[dict[str, Any], int]]]
_LIMIT = 64 << 20  # bytes; the whole catalogue has one


def read_yaml(path: str, text: bytes) -> list[Table]:
    """The tables in a file: each one's name, defaults, and rows with their lines. Raises Problem."""
    try:
        documents = [each for each in yaml.load_all(text, Loader=_Loader) if each is not None]
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        raise Problem("catalog-yaml", f"this is not YAML: {getattr(fault, 'problem', None) or fault}", file=path,
                      line=mark.line + 1 if mark else 0) from None
    except UnicodeDecodeError:
        raise Problem("catalog-yaml", "this is not UTF-8", file=path) from None
    except (ValueError, RecursionError, OverflowError) as fault:  # a date or number that cannot be, endless nesting
        raise Problem("catalog-yaml", f"this cannot be read: {fault}", file=path) from None
    return [_table(path, document) for document in documents]


def _table(path: str, document: Any) -> Table:
    named = document.get("table") if isinstance(document, dict) else None
    if not isinstance(named, str) or named not in TABLES:
        near = nearest(named, list(TABLES)) if isinstance(named, str) else []
        raise Problem("catalog-table", "this names no table" if named is None else f"{named!r} is not a table of the catalogue",
                      todo=f"did you mean {' or '.join(near)}?" if near else f"`table:` is one of {', '.join(TABLES)}", file=path)
    for key in document:
        if key not in ("table", "defaults", "rows"):
            raise Problem("catalog-key", f"unknown key {key!r}", todo="a table has table, defaults and rows", file=path)
    rows, defaults = document.get("rows") or [], document.get("defaults") or {}
    if not isinstance(rows, list) or not all(isinstance(row, _Lined) for row in rows):
        raise Problem("catalog-rows", "rows has to be a list of mappings", file=path)
    if not isinstance(defaults, dict):
        raise Problem("catalog-rows", "defaults has to be a mapping", file=path)
    kinds = _kinds(TABLES[named][0])
    for field in defaults:
        if field not in kinds:
            raise Problem("catalog-field", f"defaults: table {named} has no field {field!r}", file=path,
                          todo=f"its fields are {', '.join(kinds)}")
    return named, dict(defaults), [(dict(row), row.line) for row in rows]


def _read_csv(path: str, text: bytes, table: str) -> Table:
    """A CSV table: lists joined by ";", empty cells left out. A first line starting with # is a comment."""
    kinds = _kinds(TABLES[table][0])
    try:
        lines = text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise Problem("catalog-csv", "this is not UTF-8", file=path) from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    try:
        cells = list(csv.reader([line for _, line in numbered], strict=True))
    except csv.Error as fault:
        raise Problem("catalog-csv", f"this is not CSV: {fault}", file=path) from None
    if len(cells) != len(numbered):
        raise Problem("catalog-csv", "a cell goes over the end of a line", file=path)
    rows = []
    for (number, _), values in zip(numbered[1:], cells[1:], strict=True):
        if len(values) != len(cells[0]):
            raise Problem("catalog-csv", "this line has not as many cells as the head", file=path, line=number)
        rows.append(({field: _cell(kinds.get(field, "str"), cell) for field, cell in zip(cells[0], values, strict=True)
                      if cell or kinds.get(field, "str") == "str"}, number))
    return table, {}, rows


def _cell(kind: str, cell: str) -> Any:
    """A cell as YAML would have given it; what cannot be read stays text and is refused later, with its line."""
    if kind == "strs":
        return [part for part in cell.split(";") if part]
    if kind == "ints":
        return [int(part) if _whole(part) else part for part in cell.split(";") if part]
    if kind.startswith("int"):
        return int(cell) if _whole(cell) else cell
    return {"true": True, "false": False}.get(cell, cell) if kind.startswith("bool") else cell


def _whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def compile_tables(folder: str, overlay: str | None) -> dict[str, Any]:
    """All tables of `folder`, the rows of `overlay` replacing those of the same key; each table marshalled. Raises Problem.

    `digest` is over the names and bytes of all files read, `code` over the program files that decide what is made of them."""
    import marshal

    digest = hashlib.sha256()
    tables: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {name: {} for name in TABLES}
    overlaid: dict[str, set[tuple[Any, ...]]] = {}
    version, date = "", ""
    for root, own in ((folder, False), (overlay, True)):
        for path, text in _texts(root):
            name = os.path.relpath(path, root).replace(os.sep, "/")
            digest.update(f"{'overlay ' if own else ''}{name} {len(text)}\n".encode("utf-8", "surrogateescape") + text)
            if name == "index.yaml" and not own:
                index = yaml.safe_load(text)
                version, date = str(index["version"]), str(index["date"])
                continue
            for table, key, made in _keyed(name, text, path if own else f"compat_data/{name}"):
                if not own and key in tables[table]:
                    raise Problem("catalog-twice", f"table {table} has the row {key} in two files", file=f"compat_data/{name}")
                if own and table != "sources":
                    made = (*made[:-3], _marked(made[-3], name), *made[-2:])
                tables[table][key] = made
                if own:
                    overlaid.setdefault(table, set()).add(key)
    if not version:
        raise Problem("catalog-missing", "there is no catalogue", file=folder, todo="install provision again")
    return {"version": version, "date": date, "digest": f"sha256:{digest.hexdigest()}", "code": _code(),
            "tables": {name: marshal.dumps(list(rows.values())) for name, rows in tables.items()},
            "overlaid": {name: frozenset(keys) for name, keys in overlaid.items()}}


def _marked(source: str, name: str) -> str:
    """A source's text that says that its row is of an overlay; so does all that is concluded from it, down to the plan."""
    identifier, _, detail = source.partition(":")
    return f"{identifier}: {detail.strip()} [overlay {name}]".replace(":  [", ": [")


def read_rows(name: str, text: bytes, shown: str = "") -> dict[str, list[Any]]:
    """The rows of one data file, by table; `name` is its path below its folder, `shown` how problems name it. Raises Problem."""
    found: dict[str, list[Any]] = {}
    for table, _, made in _keyed(name, text, shown or name):
        found.setdefault(table, []).append(TABLES[table][0](*made))
    return found


def _keyed(name: str, text: bytes, shown: str) -> list[tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
    """(table, key, row) of every row in a data file."""
    if name.endswith(".csv"):
        last = name.rsplit("/", 1)[-1]
        table = next((each for each, row in TABLES.items() if row[2].rsplit("/", 1)[-1] == last), "")
        if not table:
            raise Problem("catalog-table", "no table is kept in a CSV file of this name", file=shown)
        parts = [_read_csv(shown, text, table)]
    else:
        parts = read_yaml(shown, text)
    found = []
    seen = set()
    for table, defaults, rows in parts:
        fields = list(_kinds(TABLES[table][0]))
        positions = [fields.index(key) for key in TABLES[table][1]]
        for raw, line in rows:
            made = _row(table, raw, defaults, (shown, line))
            key = tuple(made[position] for position in positions)
            if (table, key) in seen:
                raise Problem("catalog-twice", f"table {table} has the row {key} twice", file=shown, line=line)
            if not any(key):
                raise Problem("catalog-no-key", f"a row of {table} lacks its key: {', '.join(TABLES[table][1])}", file=shown, line=line)
            seen.add((table, key))
            found.append((table, key, made))
    return found


def _code() -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    digest = hashlib.sha256()
    for name in ("model.py", "load.py", "compile.py", "names.py"):
        with open(os.path.join(here, name), "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()


def _texts(root: str | None) -> list[tuple[str, bytes]]:
    """Every data file below a folder. Raises Problem."""
    if root is None:
        return []
    from provisioner.catalog.load import _files

    found = []
    for path in _files(root):
        try:
            with open(path, "rb") as stream:
                text = stream.read(_LIMIT + 1)
        except OSError as fault:
            raise Problem("catalog-read", f"cannot read {path}", because=fault.strerror or "", file=path) from None
        if len(text) > _LIMIT:
            raise Problem("catalog-read", "a file of the catalogue may have 64 MiB", file=path)
        found.append((path, text))
    return found
