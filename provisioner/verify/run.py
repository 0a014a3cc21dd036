"""Runs the smoke test with the environment's own interpreter and brings its document back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from provisioner.runner import Runner

PAYLOAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "payload.py")
#: Seconds for the whole test, above the sum of what its checks may take before they are stopped one by one.
LIMITS = {"quick": 2400.0, "full": 3600.0, "stress": 7200.0}


def run(python: str, level: str, lock: dict[str, Any], runner: Runner | None = None) -> dict[str, Any]:
    """The payload's document. When the interpreter printed none, a document of the same kind whose `error` says why.

    Raises Problem when there is no such interpreter."""
    import json

    from provisioner.errors import Problem
    from provisioner.runner import Runner

    names = sorted((lock.get("choices") or {}).get("packages") or {})
    command = [python, "-u", PAYLOAD, "--level", level, *(["--packages", ",".join(names)] if names else [])]
    result = (runner or Runner()).run(command, limit=LIMITS[level])
    if result.outcome in ("missing", "refused"):
        raise Problem("no-interpreter", f"{python} cannot be run", because=result.err,
                      todo="name the interpreter to test with --python, or install the environment with `provision apply`")
    if not result.ok:
        return {"verify": 0, "level": level, "error": result.reason()}
    try:
        document = json.loads(result.out)
    except ValueError:
        return {"verify": 0, "level": level, "error": f"{python} printed no document: {result.out[:200]!r}"}
    return document if isinstance(document, dict) else {"verify": 0, "level": level, "error": f"{python} printed no document"}
