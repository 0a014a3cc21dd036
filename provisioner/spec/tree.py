"""A YAML text as a tree that knows where everything stands, and keeps every scalar as it was written.

`python: 3.10` stays "3.10" here, not the number 3.1. Tags, anchors, aliases, second documents and deep nesting are refused: no
spec needs them, and some of them are how a small file becomes a large problem.
"""

from __future__ import annotations

import yaml

from provisioner.errors import Problem
from provisioner.spec.nodes import Mapping, Scalar, Sequence, is_null
from provisioner.spec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.spec.nodes import Node

__all__ = ["Mapping", "Scalar", "Sequence", "is_null", "plain", "read"]

DEPTH = 12
ENOUGH = 100  # problems after which reading ends: nobody mends more at a time
REFUSED = "\0refused"  # stands for a value that was refused already; no file can hold this text
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str, file: str, lang: str) -> tuple[Node | None, list[Problem]]:
    """The tree of a text, None when it is empty, with what is wrong about its shape."""
    problems: list[Problem] = []

    def wrong(name: str, mark: object, todo: str = "", **values: object) -> None:
        problems.append(Problem(f"spec-{name}", say(lang, name, **values), todo=say(lang, todo) if todo else "", file=file,
                                line=mark.line + 1, column=mark.column + 1))  # type: ignore[attr-defined]

    root: Node | None = None
    stack: list[tuple[Sequence | Mapping, list[Scalar | None]]] = []
    documents = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            made: Node | None = None
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    wrong("documents", event.start_mark, "documents-todo")
                    break
                continue
            if len(problems) >= ENOUGH:
                break
            if isinstance(event, (yaml.ScalarEvent, yaml.SequenceStartEvent, yaml.MappingStartEvent, yaml.AliasEvent)):
                mark: Any = event.start_mark
                place = (int(mark.line) + 1, int(mark.column) + 1)
                tag = getattr(event, "tag", None)
                if event.anchor is not None:  # an alias has one as well: the name it refers to
                    wrong("alias", mark, "alias-todo")
                if tag is not None and tag != "!":
                    problems.append(Problem("spec-tag", say(lang, "tag", tag=tag), todo=_quotes(text, event, lang) or say(lang, "tag-todo"),
                                            file=file, line=place[0], column=place[1]))
                if isinstance(event, yaml.AliasEvent):
                    made = Scalar(REFUSED, False, *place)
                elif isinstance(event, yaml.ScalarEvent):
                    made = Scalar(REFUSED if tag not in (None, "!") else event.value,
                                  bool(event.implicit[0]) and event.style in (None, ""), *place)
                elif isinstance(event, yaml.SequenceStartEvent):
                    made = Sequence([], *place)
                else:
                    made = Mapping({}, {}, *place)
                if stack:
                    _put(stack[-1], made, wrong, event.start_mark)
                elif root is None:
                    root = made
                if not isinstance(made, Scalar):
                    stack.append((made, [None]))
                    if len(stack) > DEPTH:
                        wrong("deep", mark, "deep-todo")
                        return None, problems
            elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                stack.pop()
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        why = " ".join(str(part) for part in (getattr(fault, "context", None), getattr(fault, "problem", None)) if part) or str(fault)
        todo = _quotes(text, fault, lang)
        problems.append(Problem("spec-yaml", say(lang, "yaml", why=why), todo=todo, file=file, line=mark.line + 1 if mark else 0,
                                column=mark.column + 1 if mark else 0))
        return None, problems
    except RecursionError:
        problems.append(Problem("spec-deep", say(lang, "deep"), todo=say(lang, "deep-todo"), file=file))
        return None, problems
    return root, problems


def _quotes(text: str, fault: object, lang: str) -> str:
    """Advice for a value that YAML takes for something else because it has no quotes: `torch: >=2.6`, `torchvision: *`."""
    lines = text.split("\n")
    for mark in (getattr(fault, name, None) for name in ("context_mark", "problem_mark", "start_mark")):
        number = getattr(mark, "line", len(lines))
        for line in lines[number:number + 1]:
            for part in line.replace("{", ",").split(","):
                key, colon, value = part.partition(":")
                value = value.split(" #")[0].strip(" }\r")
                if colon and value[:1] in (">", "*", "!", "|", "&", "%", "@", "`"):
                    return say(lang, "quotes-todo", key=key.strip(), value=value)
    return ""


def _put(top: tuple[Sequence | Mapping, list[Scalar | None]], made: Node, wrong: object, mark: object) -> None:
    """Hang `made` into the collection at hand: as an item, a key, or the value of the key before it."""
    container, pending = top
    if isinstance(container, Sequence):
        container.items.append(made)
        return
    key = pending[0]
    if key is None:
        if isinstance(made, Scalar):
            pending[0] = made
        else:
            wrong("key-type", mark)  # type: ignore[operator]
            pending[0] = Scalar("", False, made.line, made.column)
        return
    pending[0] = None
    if key.text in container.items:
        wrong("duplicate", _Mark(key), "duplicate-todo", key=key.text, first=container.keys[key.text].line)  # type: ignore[operator]
        return
    container.items[key.text] = made
    container.keys[key.text] = key


class _Mark:
    """A place in the shape that PyYAML has."""

    def __init__(self, node: Scalar) -> None:
        self.line, self.column = node.line - 1, node.column - 1


def plain(node: Node) -> object:
    """The tree as Python objects: texts, None, true and false, lists, dicts."""
    if isinstance(node, Scalar):
        if is_null(node):
            return None
        if node.plain and node.text in ("true", "True", "TRUE"):
            return True
        if node.plain and node.text in ("false", "False", "FALSE"):
            return False
        return node.text
    if isinstance(node, Sequence):
        return [plain(each) for each in node.items]
    return {key: plain(value) for key, value in node.items.items()}
