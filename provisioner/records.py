"""Named tuples that cost nothing at the start.

`typing.NamedTuple` brings `typing` with it (as much as starting Python) and compiles code for each class. `Record` makes the same kind
of class from the same kind of body: fields with annotations and defaults, access by name, `_fields`, `_make`, `_asdict`, `_replace`.
To the type checker it is `typing.NamedTuple`.

Modules that are loaded at every start name types only in annotations, so they import `typing` only for the type checker:
`TYPE_CHECKING = False` in them is the constant that type checkers take for true.
"""

from __future__ import annotations

__all__ = ["Record"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:
    try:
        from _collections import _tuplegetter as _getter
    except ImportError:  # another implementation of Python

        def _getter(index, doc):
            return property(lambda self: self[index], doc=doc)

    class Record(tuple):
        """See the module."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}

        def __init_subclass__(cls):
            if cls._fields:
                return  # a record of a record adds methods, not fields
            fields = tuple(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063 - inspect costs too much here
            if not fields and hasattr(cls, "__annotations__"):
                fields = tuple(cls.__annotations__)
            cls._field_defaults = {name: cls.__dict__[name] for name in fields if name in cls.__dict__}
            cls._fields = cls.__match_args__ = fields
            for index, name in enumerate(fields):
                setattr(cls, name, _getter(index, ""))

        def __new__(cls, *values, **named):
            fields = cls._fields
            if named or len(values) != len(fields):
                if len(values) > len(fields):
                    raise TypeError(f"{cls.__name__} takes {len(fields)} values, not {len(values)}")
                given = dict(zip(fields, values))  # noqa: B905 - fewer values than fields
                for name, value in named.items():
                    if name not in fields or name in given:
                        raise TypeError(f"{cls.__name__} has no field {name!r}, or has it twice")
                    given[name] = value
                try:
                    values = [given[name] if name in given else cls._field_defaults[name] for name in fields]
                except KeyError as missing:
                    raise TypeError(f"{cls.__name__} lacks {missing}") from None
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} takes {len(cls._fields)} values, not {len(made)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self))  # noqa: B905

        def _replace(self, **named):
            made = self._make([named.pop(name, value) for name, value in zip(self._fields, self)])  # noqa: B905
            if named:
                raise ValueError(f"{type(self).__name__} has no field {', '.join(named)}")
            return made

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            told = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self))  # noqa: B905
            return f"{type(self).__name__}({told})"
