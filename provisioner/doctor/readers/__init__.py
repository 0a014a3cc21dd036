"""Pure parsers: the clean lines of a text in, facts with their lines out. Each reader quotes a sample of what it reads."""

from __future__ import annotations

from provisioner.doctor.facts import Doc, Facts
from provisioner.doctor.readers import machine, packages, plain, smi, trace

_READERS = (plain, smi, packages, machine, trace)
#: literals that a line must hold for some reader to want it
LITERALS: tuple[str, ...] = tuple(sorted({literal for reader in _READERS for literal in reader.LITERALS}))


def read(doc: Doc) -> Facts:
    """All facts in a text."""
    facts = Facts()
    for reader in _READERS:
        reader.read(doc, facts)
    return facts
