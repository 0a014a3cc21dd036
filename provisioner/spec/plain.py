"""The plain part of YAML that specs are written in, read without PyYAML, whose import costs more than solving a spec.

Top-level keys; values on the same line (plain, quoted, [lists], {mappings}), or a block list or a block mapping of such values below
the key. Everything else — other indentation, escapes, line folding, tags, anything that is not ASCII outside a comment, anything
wrong — gives None, and PyYAML reads the text. A test holds the two to the same tree, places included.
"""

from __future__ import annotations

from provisioner.spec.nodes import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from provisioner.spec.nodes import Node

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_KEY = _LETTERS | _DIGITS | frozenset("_-")
_START = _LETTERS | _DIGITS | frozenset("./~<=_")  # what a plain scalar may begin with here
_INSIDE = _START | frozenset(" -+*()^%;&|'\"\\")  # and go on with; `:` and `#` are looked at apart
_DEPTH = 4


class _Other(Exception):
    """Not of the plain part."""


def read(text: str) -> Mapping | None:
    """The tree of a text of the plain part, else None."""
    try:
        return _document(text)
    except _Other:
        return None


def _document(text: str) -> Mapping:
    if "\r" in text or "\t" in text or not text.endswith("\n"):
        raise _Other
    root: Mapping | None = None
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" ") and line.lstrip(" ")[0] != "#"]
    position = 0
    while position < len(lines):
        number, line = lines[position]
        position += 1
        if not line.isascii():
            _comment_only(line)
        if root is None:
            root = Mapping({}, {}, number, 1)
        rest = _key(line, 0, number, root)
        if rest is not None:
            root.items[rest[0]] = rest[1]
            continue
        name = line.partition(":")[0]
        block = []
        while position < len(lines) and (lines[position][1][0] == " " or lines[position][1].startswith("- ")):
            block.append(lines[position])
            position += 1
        if not block:
            raise _Other  # an empty value
        root.items[name] = _block(block)
    if root is None:
        raise _Other
    return root


def _comment_only(line: str) -> None:
    """Letters of other scripts may stand in a comment alone."""
    head, hash_, _ = line.partition(" #")
    if not hash_ or not head.isascii() or "'" in head or '"' in head:
        raise _Other


def _key(line: str, start: int, number: int, owner: Mapping) -> tuple[str, Node] | None:
    """The key at `start` noted in `owner`, and the value on its line; None when there is nothing behind it on the line."""
    end = start
    while end < len(line) and line[end] in _KEY:
        end += 1
    name = line[start:end]
    if not name or line[end:end + 1] != ":" or line[start] not in _LETTERS or name in owner.keys:
        raise _Other
    if line[end + 1:end + 2] not in ("", " "):
        raise _Other
    owner.keys[name] = Scalar(name, True, number, start + 1)
    position = _blank(line, end + 1)
    if position == len(line):
        return None
    node, position = _value(line, position, number, 0, "")
    position = _blank(line, position)
    if position != len(line):
        raise _Other
    return name, node


def _block(lines: list[tuple[int, str]]) -> Node:
    """A block list or a block mapping, one value a line."""
    number, first = lines[0]
    indent = len(first) - len(first.lstrip(" "))
    if first[indent:indent + 2] == "- ":
        made = Sequence([], number, indent + 1)
        for number, line in lines:
            if not line.isascii():
                _comment_only(line)
            if len(line) - len(line.lstrip(" ")) != indent or line[indent:indent + 2] != "- ":
                raise _Other
            position = _blank(line, indent + 1)
            if position == len(line):
                raise _Other
            node, position = _value(line, position, number, 0, "")
            if _blank(line, position) != len(line):
                raise _Other
            made.items.append(node)
        return made
    if indent == 0:
        raise _Other
    mapping = Mapping({}, {}, number, indent + 1)
    for number, line in lines:
        if not line.isascii():
            _comment_only(line)
        if len(line) - len(line.lstrip(" ")) != indent:
            raise _Other
        pair = _key(line, indent, number, mapping)
        if pair is None:
            raise _Other
        mapping.items[pair[0]] = pair[1]
    return mapping


def _blank(line: str, position: int) -> int:
    """The next place that is neither a space nor in a comment: the line's end when only a comment is left."""
    start = position
    while position < len(line) and line[position] == " ":
        position += 1
    if position < len(line) and line[position] == "#":
        if position == start:
            raise _Other  # no space before it
        return len(line)
    return position


def _value(line: str, position: int, number: int, depth: int, close: str) -> tuple[Node, int]:
    """The value at `position` and where it ends. `close`: what ends the collection around it, "" outside one."""
    first = line[position]
    column = position + 1
    if first == "[":
        if depth == _DEPTH:
            raise _Other
        items: list[Node] = []
        position = _space(line, position + 1)
        while line[position:position + 1] != "]":
            if position >= len(line):
                raise _Other
            node, position = _value(line, position, number, depth + 1, "]")
            items.append(node)
            position = _next(line, position, "]")
        return Sequence(items, number, column), position + 1
    if first == "{":
        if depth == _DEPTH:
            raise _Other
        made = Mapping({}, {}, number, column)
        position = _space(line, position + 1)
        while line[position:position + 1] != "}":
            end = position
            while end < len(line) and line[end] in _KEY:
                end += 1
            name = line[position:end]
            if not name or line[position] not in _LETTERS or line[end:end + 2] != ": " or name in made.keys:
                raise _Other
            made.keys[name] = Scalar(name, True, number, position + 1)
            position = _space(line, end + 1)
            if position >= len(line):
                raise _Other
            made.items[name], position = _value(line, position, number, depth + 1, "}")
            position = _next(line, position, "}")
        return made, position + 1
    if first in "'\"":
        end = line.find(first, position + 1)
        if end < 0 or line[end + 1:end + 2] == first or (first == '"' and "\\" in line[position:end]):
            raise _Other
        if line[end + 1:end + 2] not in ("", " ", ",", "]", "}"):
            raise _Other
        return Scalar(line[position + 1:end], False, number, column), end + 1
    if first not in _START:
        raise _Other
    end = position
    while end < len(line):
        each = line[end]
        if each == ":" and line[end + 1:end + 2] and line[end + 1] in _KEY:
            end += 1
            continue
        if each == "#" and line[end - 1] == " ":
            break
        if each not in _INSIDE:
            if close and each in ("," + close):
                break
            raise _Other
        end += 1
    text = line[position:end].rstrip(" ")
    return Scalar(text, True, number, column), position + len(text)


def _space(line: str, position: int) -> int:
    while position < len(line) and line[position] == " ":
        position += 1
    return position


def _next(line: str, position: int, close: str) -> int:
    """Past the comma to the next item, or at the closing bracket."""
    position = _space(line, position)
    if line[position:position + 1] == ",":
        position = _space(line, position + 1)
        if line[position:position + 1] in ("", close, ","):
            raise _Other  # YAML takes a comma before the bracket; PyYAML may tell
        return position
    if line[position:position + 1] != close:
        raise _Other
    return position
