"""Run every benchmark and write `docs/benchmarks.md`: `python benchmarks/run.py [--quick] [NAME...]`."""

from __future__ import annotations

import importlib
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common import ROOT


def main(arguments: list[str]) -> int:
    """Measure, print, write."""
    quick = "--quick" in arguments
    wanted = [each for each in arguments if not each.startswith("-")]
    names = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    parts = []
    for name in names:
        if wanted and name.removeprefix("bench_") not in wanted:
            continue
        for table in importlib.import_module(name).measure(quick):
            print(table.markdown(), flush=True)
            parts.append(table.markdown())
    if not quick and not wanted:
        head = ("# Benchmarks\n\nMade by `make bench`; do not edit. Ratios to a reference measured in the same run, on "
                f"Python {platform.python_version()}, {platform.machine()}.\n\n")
        (ROOT / "docs" / "benchmarks.md").write_text(head + "\n".join(parts), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
