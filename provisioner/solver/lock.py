"""`provision.lock`: a plan with everything that rendering and checking need. JSON, equal bytes for equal input."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.solver.plan import Plan

FORMAT = 1


def make(plan: Plan, spec: Any, tool_version: str) -> dict[str, Any]:
    """The lock of a plan; `steps` is left empty for whoever renders it."""
    from provisioner.solver.artefacts import artefacts
    from provisioner.spec.load import digest, normal

    document = plan.document()
    return {
        "lock": FORMAT, "tool": tool_version, "catalog": document["catalog"],
        "spec": {"digest": digest(spec), "name": spec.name, "content": plain(normal(spec))},
        "choices": document["choices"], "artefacts": plain(artefacts(plan)), "because": document["because"],
        "warnings": document["warnings"], "steps": [],
    }


def dump(lock: dict[str, Any]) -> str:
    """The lock as text: sorted keys, one space of indent, a newline at the end."""
    import json

    return json.dumps(lock, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def plain(value: Any) -> Any:
    """Tuples as lists, all the way down: what reading the JSON again gives."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value
