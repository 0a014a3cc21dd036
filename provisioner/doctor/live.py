"""The doctor on a live host: what a probe found out, judged by the same rules as pasted text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from provisioner.doctor.engine import Report


def diagnose_facts(facts: dict[str, Any], lang: str = "en") -> Report:
    """The findings for the facts of a probe (`provisioner.probe.collect.collect`, or a saved bundle)."""
    from provisioner.doctor import bundle, engine, readers
    from provisioner.doctor.facts import Doc

    doc = Doc(bundle.lines(facts, "probe"))
    return engine.judge(doc, readers.read(doc), "doctor", lang)
