"""A plan as ordered steps, and the steps as files in a format.

Where (the target system: data in the lock) and how (the format: a folder in `templates/`) are separate: a new system is data, a
new format is a folder.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAIN_SCRIPT = "install.sh"


def formats() -> list[str]:
    """The formats there are: folders of `templates/` with a `format.yaml`."""
    import os

    from provisioner import resources

    root = resources.templates()
    return sorted(name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name, "format.yaml")))


def render(lock: dict[str, Any], target: str, as_format: str, lang: str = "en") -> dict[str, str]:
    """The files of a lock in a format, by name. Raises Problem (status 2) when target or format do not fit."""
    from provisioner.render.script import render as make

    return make(lock, target, as_format, lang)
