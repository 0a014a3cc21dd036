"""What the benchmarks share: a table, a fair clock, and environments for peers."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "provision-benchmarks"


class Table(NamedTuple):
    """A result for people: a title, column heads, rows, and a note on how it was measured."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [f"### {self.title}", "", "| " + " | ".join(self.heads) + " |", "|" + " --- |" * len(self.heads)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])


class Command(NamedTuple):
    """A command to time: what to run, where, and what to do before each run (not timed)."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str] | None = None
    before: Callable[[int], None] | None = None
    statuses: tuple[int, ...] = (0,)


def wall(commands: Mapping[str, Command], rounds: int) -> dict[str, float]:
    """Median wall seconds of each command over `rounds`, all commands taking turns so that noise falls on each alike.

    A command whose exit status is not among its `statuses` is left out, with a word on standard error."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    failed: set[str] = set()
    for number in range(rounds):
        for name, command in commands.items():
            if name in failed:
                continue
            if command.before:
                command.before(number)
            started = time.perf_counter()
            ended = subprocess.run(command.argv, cwd=command.cwd, env=command.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            seconds[name].append(time.perf_counter() - started)
            if ended.returncode not in command.statuses:
                last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
                print(f"left out: {name}: status {ended.returncode}: {last[0][:200]}", file=sys.stderr)
                failed.add(name)
    return {name: statistics.median(values) for name, values in seconds.items() if name not in failed}


def environment(name: str, requirements: Sequence[str]) -> Path | None:
    """The bin folder of a virtual environment of its own with `requirements`, made once; None when it cannot be had."""
    folder = CACHE / name
    done = folder / ".done"
    if not done.exists():
        made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, check=False).returncode == 0
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        ended = subprocess.run(pip, capture_output=True, text=True, check=False) if made else None
        if ended is None or ended.returncode:
            print(f"left out: {name} cannot be installed: {(ended.stderr if ended else '')[-200:]}", file=sys.stderr)
            return None
        done.touch()
    return folder / "bin"
