"""Writing a spec: one commented file, the same for the same content."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provisioner.spec.types import Spec

#: The keys of the format in the order in which a file lists them.
FIELDS = ("spec", "name", "target", "gpus", "driver", "torch", "cuda", "python", "toolkit", "cudnn", "nccl", "packages", "installer",
          "environment", "prefer")


def quoted(value: object) -> str:
    """A value as YAML on one line."""
    import json

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(quoted(each) for each in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {quoted(part)}" for key, part in value.items()) + "}"
    text = str(value)
    if text and text[0].isalpha() and all(each.isalnum() or each in " -_./" for each in text) and text == text.strip() \
            and text.lower() not in ("null", "true", "false", "yes", "no", "on", "off", "y", "n"):
        return text
    return json.dumps(text, ensure_ascii=False)


_NOTES = {
    "spec": ("version of this format", "本格式的版本"),
    "name": ("a name of yours", "您起的名字"),
    "target": ("the machine", "目标机器"),
    "gpus": ("product names, sm_89, or PCI ids; all of them must work", "产品名、sm_89 或 PCI 编号;必须全部可用"),
    "driver": ("a range, or what the machine has with keep: true", "版本范围;keep: true 表示机器现有且不可更改"),
    "torch": ("a range, latest, or an exact version; left out: the newest that fits", "范围、latest 或确切版本;省略则取可行的最新版"),
    "python": ("X.Y, or a range", "X.Y 或范围"),
    "environment": ("where the Python environment goes", "Python 环境的位置"),
}


def write(spec: Spec, lang: str = "en") -> str:
    """A commented spec file with that content."""
    from provisioner.spec.load import normal

    plain = normal(spec)
    target = plain.get("target", {})
    if target.keys() <= {"os", "arch", "kind"} and (target.get("arch"), target.get("kind")) == ("x86_64", "host"):
        plain["target"] = target["os"]
    if plain.get("driver", {}).keys() == {"version"}:
        plain["driver"] = plain["driver"]["version"]
    lines = []
    for field in FIELDS:
        if field not in plain:
            continue
        value = plain[field]
        line = f"{field}: {value if field == 'spec' else quoted(value)}"
        note = _NOTES.get(field)
        lines.append(f"{line:40}  # {note[lang == 'zh']}" if note else line)
    return "\n".join(lines) + "\n"
