"""Filling values into the texts of rules."""

from __future__ import annotations

import re

_OPTIONAL = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
_SLOT = re.compile(r"\{([a-z_0-9]+)\}")


def fill(text: str, values: dict[str, str]) -> str:
    """`{name}` becomes its value, else `<name>`; a part in `[[...]]` is left out when one of its values is unknown."""

    def optional(found: re.Match[str]) -> str:
        return found[1] if all(values.get(name) for name in _SLOT.findall(found[1])) else ""

    text = _OPTIONAL.sub(optional, text)
    return _SLOT.sub(lambda found: values.get(found[1]) or f"<{found[1].replace('_', '-')}>", text)
