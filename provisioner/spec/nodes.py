"""The nodes of a spec's tree: what was written, and where."""

from __future__ import annotations

from provisioner.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union


class Scalar(Record):
    """A scalar as written. plain: without quotes, so that null, true and false mean what YAML says."""

    text: str
    plain: bool
    line: int
    column: int


class Sequence(Record):
    """A list."""

    items: list[Node]
    line: int
    column: int


class Mapping(Record):
    """A mapping; `keys` has the place of each key."""

    items: dict[str, Node]
    keys: dict[str, Scalar]
    line: int
    column: int


if TYPE_CHECKING:
    Node = Union[Scalar, Sequence, Mapping]  # noqa: UP007 - Python 3.10 reads it for the checker alone
_NULLS = ("", "~", "null", "Null", "NULL")


def is_null(node: Node) -> bool:
    """Whether the node says nothing."""
    return isinstance(node, Scalar) and node.plain and node.text in _NULLS
