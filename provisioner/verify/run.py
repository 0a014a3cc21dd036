"""Running the payload with an interpreter."""

from __future__ import annotations

import json
import os
from typing import Any

from provisioner.errors import Problem
from provisioner.runner import Runner

LIMITS = {"quick": 180.0, "full": 400.0, "stress": 1200.0}


def run(python: str, level: str, lock: dict[str, Any], runner: Runner | None = None) -> dict[str, Any]:
    """What the payload says about the environment of `python`. Raises Problem when that interpreter cannot be run at all."""
    payload = os.path.join(os.path.dirname(os.path.abspath(__file__)), "payload.py")
    result = (runner or Runner()).run([python, payload, "--level", level], limit=LIMITS[level])
    lines = result.out.strip().splitlines()
    try:
        document = json.loads(lines[-1]) if lines else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise Problem("verify-python", f"{python} cannot run the test", because=result.reason() or result.err.strip()[-300:],
                      todo=f"is it a Python interpreter? The lock's environment is {lock['artefacts'].get('environment')}; name another with --python")
    return document
