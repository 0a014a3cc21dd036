"""Changing single values in a user's spec: everything else in the file stays as it is, byte for byte.

The text is not written anew. The parser tells where each value begins and ends, and only that span is replaced; so comments, order,
quotes and line ends survive, in block style and in flow style.
"""

from __future__ import annotations

from typing import Any

import yaml

from provisioner.errors import Problem
from provisioner.spec.values import package_key
from provisioner.spec.write import FIELDS, quoted

#: What the short form of these two keys says: `target: ubuntu2204`, `driver: ">=550"`.
_MAIN = {"target": "os", "driver": "version"}


def edit(text: str, changes: list[dict[str, Any]]) -> str:
    """`text` with each change {"field": dotted path, "to": new value, or None to take the key out} made.

    Raises Problem when the text cannot be read or a field cannot be reached."""
    for change in changes:
        text = _edit(text, str(change["field"]), change.get("to"))
    return text


def _edit(text: str, field: str, value: Any) -> str:
    head = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(head):]
    try:
        root = yaml.compose(body, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as fault:
        raise Problem("spec-yaml", "the spec is not YAML", because=str(fault)) from None
    if not isinstance(root, yaml.MappingNode):
        raise Problem("spec-not-mapping", "the spec has to be a mapping of keys to values")
    top, _, rest = field.partition(".")
    entry = _entry(root, top)
    if entry is None:
        if value is None:
            return text
        if rest:
            value = value if rest == _MAIN.get(top) else {rest: value}
        return head + _add(body, root, top, value)
    node = entry[1]
    if not rest and top in _MAIN and isinstance(node, yaml.MappingNode) and isinstance(value, str):
        rest = _MAIN[top]
    if not rest:
        return head + (_remove(body, root, entry) if value is None else _replace(body, entry, quoted(value)))
    if isinstance(node, yaml.MappingNode):
        inner = _entry(node, rest)
        if inner is None:
            return text if value is None else head + _add(body, node, rest, value)
        if value is not None:
            return head + _replace(body, inner, quoted(value))
        return head + (_remove(body, node, inner) if len(node.value) > 1 else _remove(body, root, entry))
    if not isinstance(node, yaml.ScalarNode):
        raise Problem("spec-edit", f"{top} is a list: {rest} cannot be changed in it")
    main = _MAIN.get(top)
    empty = not node.style and node.value in ("", "~", "null", "Null", "NULL")
    if rest == main:
        return head + (_remove(body, root, entry) if value is None else _replace(body, entry, quoted(value)))
    if value is None:
        return text
    if main is None and not empty:
        raise Problem("spec-edit", f"{top} is no mapping: {rest} cannot be set in it")
    first = "" if empty else f"{main}: {_flow(body[node.start_mark.index:node.end_mark.index])}, "
    return head + _replace(body, entry, f"{{{first}{rest}: {quoted(value)}}}")


_Entry = tuple[Any, Any]


def _entry(mapping: Any, name: str) -> _Entry | None:
    """The key and value nodes of a key; names of packages are compared as the package index compares them."""
    for key, value in mapping.value:
        if isinstance(key, yaml.ScalarNode) and (key.value == name or package_key(key.value) == package_key(name)):
            return key, value
    return None


def _flow(source: str) -> str:
    """A scalar's source, fit for a flow mapping: `RTX, 4090` plain in a block would fall apart in one."""
    plain = source[:1] not in ("'", '"')
    return quoted(source) if plain and (any(each in source for each in ",[]{}\n") or source[:1] in ("|", ">")) else source


def _end(node: Any) -> int:
    """Where a value's own text ends: a block collection ends with its last scalar, not with the comments after it."""
    if getattr(node, "flow_style", True) is False and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _span(body: str, entry: _Entry) -> tuple[int, int]:
    """Begin and end of a value's text."""
    key, value = entry
    begin, end = value.start_mark.index, max(_end(value), value.start_mark.index)
    if begin == end:  # nothing written: behind the colon
        begin = end = body.index(":", key.end_mark.index) + 1
    while end > begin and body[end - 1] in " \t\r\n":  # a block scalar's end takes the line break along
        end -= 1
    return begin, end


def _replace(body: str, entry: _Entry, new: str) -> str:
    begin, end = _span(body, entry)
    colon = body.index(":", entry[0].end_mark.index) + 1
    # a block collection begins on a line of its own: its replacement goes behind the colon, and a comment there stays behind it
    if "\n" in body[colon:begin]:
        line_end = body.index("\n", colon)
        comment = body[colon:line_end].rstrip("\r").strip()
        after = _line_end(body, end)
        tail = body[end:after].strip()
        notes = "  ".join(note for note in (comment, tail) if note.startswith("#"))
        return body[:colon] + " " + new + ("  " + notes if notes else "") + body[after:]
    return body[:begin] + ("" if body[begin - 1:begin] in (" ", "\t") else " ") + new + body[end:]


def _line_end(body: str, at: int) -> int:
    """The end of the line, before its line break."""
    end = body.find("\n", at)
    end = len(body) if end < 0 else end
    return end - 1 if end and body[end - 1:end] == "\r" else end


def _add(body: str, mapping: Any, name: str, value: Any) -> str:
    line = f"{name}: {quoted(value)}"
    entries = mapping.value
    if mapping.flow_style:
        if not entries:
            return body[:mapping.start_mark.index + 1] + line + body[mapping.start_mark.index + 1:]
        _, end = _span(body, entries[-1])
        return f"{body[:end]}, {line}{body[end:]}"
    # In a block: behind the entry that the format lists before it, else as the last one.
    order = {field: number for number, field in enumerate(FIELDS)}
    before = [entry for entry in entries if order.get(entry[0].value, 99) < order.get(name, 98)]
    anchor = max(before, key=lambda entry: order.get(entry[0].value, 0)) if before and name in order else entries[-1]
    _, end = _span(body, anchor)
    at = _line_end(body, end)
    newline = "\r\n" if "\r\n" in body else "\n"
    return body[:at] + newline + " " * int(entries[0][0].start_mark.column) + line + body[at:]


def _remove(body: str, mapping: Any, entry: _Entry) -> str:
    begin, (_, end) = entry[0].start_mark.index, _span(body, entry)
    if not mapping.flow_style:
        line_begin = body.rfind("\n", 0, begin) + 1
        if body[line_begin:begin].strip():  # `--- spec: 1`, or the first key behind a dash
            line_begin = begin
        stop = body.find("\n", end)
        return body[:line_begin] + ("" if stop < 0 else body[stop + 1:])
    at = next(number for number, each in enumerate(mapping.value) if each[0] is entry[0])
    if at + 1 < len(mapping.value):
        return body[:begin] + body[mapping.value[at + 1][0].start_mark.index:]
    if at:
        begin = _span(body, mapping.value[at - 1])[1]
    return body[:begin] + body[end:]
