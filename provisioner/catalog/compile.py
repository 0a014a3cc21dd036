"""From the files that people edit to plain tuples: strict, and naming file and line for everything that is off."""

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
CONFIDENCES = ("measured", "stated", "derived")


def _value(kind: str, value: Any, where: tuple[str, int], field: str) -> Any:
    """`value` as its kind wants it. Raises Problem."""
    base = kind.rstrip("?")
    if value is None and kind.endswith("?"):
        return None
    fits = {
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


class _Loader(yaml.CSafeLoader):  # type: ignore[misc]
    """The C loader, refusing keys given twice and keeping each row's line."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    made: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
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


def read_yaml(path: str, text: bytes) -> tuple[str, dict[str, Any], list[tuple[dict[str, Any], int]]]:
    """A table file: its table, defaults, and rows with their lines. Raises Problem."""
    try:
        document = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        raise Problem("catalog-yaml", f"this is not YAML: {getattr(fault, 'problem', fault)}", file=path,
                      line=mark.line + 1 if mark else 0) from None
    except UnicodeDecodeError:
        raise Problem("catalog-yaml", "this is not UTF-8", file=path) from None
    if not isinstance(document, dict) or document.get("table") not in TABLES:
        named = document.get("table") if isinstance(document, dict) else None
        near = nearest(str(named), list(TABLES)) if named else []
        raise Problem("catalog-table", f"{'no table' if named is None else repr(named)} is not a table of the catalogue",
                      todo=f"did you mean {' or '.join(near)}?" if near else f"`table:` is one of {', '.join(TABLES)}", file=path)
    for key in document:
        if key not in ("table", "defaults", "rows"):
            raise Problem("catalog-key", f"unknown key {key!r}", todo="a table file has table, defaults and rows", file=path)
    rows = document.get("rows") or []
    if not isinstance(rows, list) or not all(isinstance(row, _Lined) for row in rows):
        raise Problem("catalog-rows", "rows has to be a list of mappings", file=path)
    return str(document["table"]), dict(document.get("defaults") or {}), [(dict(row), row.line) for row in rows]


def _read_csv(path: str, text: bytes, table: str) -> list[tuple[dict[str, Any], int]]:
    """Rows of a CSV table: lists joined by ";", empty cells left out."""
    kinds = _kinds(TABLES[table][0])
    lines = [(number, line) for number, line in enumerate(text.decode("utf-8").splitlines(), 1) if line and not line.startswith("#")]
    reader = csv.DictReader([line for _, line in lines])
    rows = []
    for (number, _), cells in zip(lines[1:], reader, strict=False):
        row: dict[str, Any] = {}
        for field, cell in cells.items():
            if field is None or cell is None:
                raise Problem("catalog-csv", "this line has not as many cells as the head", file=path, line=number)
            kind = kinds.get(field, "str")
            if cell == "" and kind != "str":
                continue
            if kind in ("strs",):
                row[field] = [part for part in cell.split(";") if part]
            elif kind.startswith("int") and kind != "ints":
                row[field] = int(cell)
            elif kind.startswith("bool"):
                row[field] = {"true": True, "false": False}.get(cell, cell)
            elif kind == "ints":
                row[field] = [int(part) for part in cell.split(";") if part]
            else:
                row[field] = cell
        rows.append((row, number))
    return rows


def compile_tables(folder: str, overlay: str | None) -> dict[str, Any]:
    """All tables of `folder`, the rows of `overlay` replacing those of the same key. Raises Problem."""
    digest = hashlib.sha256()
    tables: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {name: {} for name in TABLES}
    overlaid: dict[str, set[tuple[Any, ...]]] = {}
    version, date = "", ""
    for root, own in ((folder, False), (overlay, True)):
        for path, text in _texts(root):
            name = os.path.relpath(path, root).replace(os.sep, "/")
            digest.update(f"{'overlay ' if own else ''}{name} {len(text)}\n".encode() + text)
            if name == "index.yaml" and not own:
                index = yaml.safe_load(text)
                version, date = str(index["version"]), str(index["date"])
                continue
            shown = path if own else f"compat_data/{name}"
            if name.endswith(".csv"):
                table = next((each for each, row in TABLES.items() if row[2].rsplit("/", 1)[-1] == name.rsplit("/", 1)[-1]), "")
                if not table:
                    raise Problem("catalog-table", "no table is kept in a CSV file of this name", file=shown)
                defaults, rows = {}, _read_csv(shown, text, table)
            else:
                table, defaults, rows = read_yaml(shown, text)
            fields, keys = list(_kinds(TABLES[table][0])), TABLES[table][1]
            positions = [fields.index(key) for key in keys]
            seen = set()
            for raw, line in rows:
                made = _row(table, raw, defaults, (shown, line))
                key = tuple(made[position] for position in positions)
                if key in seen or (not own and key in tables[table]):
                    raise Problem("catalog-twice", f"table {table} has the row {key} twice", file=shown, line=line)
                seen.add(key)
                tables[table][key] = made
                if own:
                    overlaid.setdefault(table, set()).add(key)
    return {"version": version, "date": date, "digest": f"sha256:{digest.hexdigest()}",
            "tables": {name: list(rows.values()) for name, rows in tables.items()},
            "overlaid": {name: frozenset(keys) for name, keys in overlaid.items()}}


def _texts(root: str | None) -> list[tuple[str, bytes]]:
    if root is None:
        return []
    from provisioner.catalog.load import _files

    found = []
    for path in _files(root):
        try:
            with open(path, "rb") as stream:
                found.append((path, stream.read()))
        except OSError as fault:
            raise Problem("catalog-read", f"cannot read {path}", because=fault.strerror or "", file=path) from None
    return found
