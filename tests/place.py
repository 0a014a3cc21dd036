"""Where the checkout is. In a module of its own, because several folders of tests have a `conftest`."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
