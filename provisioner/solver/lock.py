"""`provision.lock`: a plan with everything that rendering and checking need. JSON, equal bytes for equal input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from provisioner.solver.plan import Plan

FORMAT = 1


def make(plan: Plan, spec: Any, tool_version: str) -> dict[str, Any]:
    """The lock of a plan; `steps` is left empty for whoever renders it."""
    from provisioner.solver.artefacts import artefacts

    content = spec_content(spec)
    document = plan.document()
    return {
        "lock": FORMAT, "tool": tool_version, "catalog": document["catalog"],
        "spec": {"digest": digest(content), "name": spec.name, "content": content},
        "choices": document["choices"], "artefacts": plain(artefacts(plan)), "because": document["because"],
        "warnings": document["warnings"], "steps": [],
    }


def dump(lock: dict[str, Any]) -> str:
    """The lock as text: sorted keys, one space of indent, a newline at the end."""
    import json

    return json.dumps(lock, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def digest(content: dict[str, Any]) -> str:
    """sha256 over the normalised spec, whatever its layout and comments."""
    import hashlib
    import json

    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def spec_content(spec: Any) -> dict[str, Any]:
    """What a spec says, defaults left out, in the order of the format."""
    told: dict[str, Any] = {"spec": 1}
    if spec.name:
        told["name"] = spec.name
    target = {name: value for name, value in spec.target._asdict().items() if value != spec.target._field_defaults.get(name)}
    told["target"] = target if len(target) > 1 else spec.target.os
    if spec.gpus is not None:
        told["gpus"] = list(spec.gpus)
    driver = {name: value for name, value in spec.driver._asdict().items() if value != spec.driver._field_defaults.get(name)}
    if driver:
        told["driver"] = driver if set(driver) != {"version"} else driver["version"]
    for name, default in (("torch", None), ("cuda", None), ("python", None), ("toolkit", "none"), ("cudnn", "bundled"),
                          ("nccl", "bundled")):
        value = getattr(spec, name)
        if value != default:
            told[name] = value
    if spec.packages:
        told["packages"] = dict(spec.packages)
    for name, default in (("installer", "pip"), ("environment", "/opt/torch"), ("prefer", "newest")):
        value = getattr(spec, name)
        if value != default:
            told[name] = value
    return told


def plain(value: Any) -> Any:
    """Tuples as lists, all the way down: what reading the JSON again gives."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value
