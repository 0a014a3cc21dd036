"""How long explaining a log takes against reading it line by line in Python, in the same run.

    python benchmarks/bench_explain.py [--mb 1] [--limit 10] [--varied-limit 25]

Prints one line a kind of log; ends with status 1 when a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import Table

from provisioner.doctor import engine

END = ("Traceback (most recent call last):\n"
       "RuntimeError: CUDA error: no kernel image is available for execution on the device\n")


def training(rng: random.Random) -> str:
    """Progress lines of a training run: the same words, other numbers."""
    step = rng.randrange(10**6)
    return (f"2026-03-01 12:00:{step % 60:02d},{step % 1000:03d} INFO trainer step {step} loss {rng.random():.5f} lr 1e-4 "
            f"{rng.random() * 900:.1f} samples/s\n")


def files(rng: random.Random) -> str:
    """Lines that hardly repeat: paths and hashes."""
    name = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz_") for _ in range(rng.randrange(6, 24)))
    return f"copying /data/set/{name}/{rng.getrandbits(128):032x}.tar ({rng.randrange(10**7)} bytes) ok\n"


def nccl(rng: random.Random) -> str:
    """NCCL's own log: every line names things that the rules look for."""
    return (f"node{rng.randrange(8)}:{rng.randrange(10**5)}:{rng.randrange(10**5)} [{rng.randrange(8)}] NCCL INFO Channel "
            f"{rng.randrange(32):02d}/0 : {rng.randrange(8)}[{rng.randrange(8)}] -> {rng.randrange(8)}[{rng.randrange(8)}] "
            f"via P2P/CUMEM/read\n")


def make(kind: Callable[[random.Random], str], size: int) -> bytes:
    """A log of about `size` bytes, with an error at its end."""
    rng = random.Random(7)
    lines, total = [], 0
    while total < size:
        lines.append(kind(rng))
        total += len(lines[-1])
    return ("".join(lines) + END).encode()


def best(work: Callable[[], object], times: int) -> float:
    """The shortest of several runs, in seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def ratios(megabytes: float, times: int) -> list[tuple[str, float, str]]:
    """For each kind of log: its name, explaining to reading, and the first finding's code."""
    engine.diagnose([("warm", b"RuntimeError: No CUDA GPUs are available")])
    told = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in (training, nccl, files):
            path = Path(folder) / "log.txt"
            path.write_bytes(make(kind, int(megabytes * 1e6)))

            def read(path: Path = path) -> None:
                with open(path, encoding="utf-8") as stream:
                    for _ in stream:
                        pass

            def explain(path: Path = path) -> engine.Report:
                with open(path, "rb") as stream:
                    return engine.diagnose([("log", stream)])

            codes = [each.code for each in explain().findings]
            told.append((kind.__name__, best(explain, times) / best(read, times), codes[0] if codes else ""))
    return told


def measure(quick: bool) -> list[Table]:
    """The table for `run.py`."""
    abouts = {"training": "progress lines", "nccl": "NCCL debug lines", "files": "lines that never repeat"}
    rows: list[tuple[str, ...]] = [(abouts[name], f"{ratio:.1f}") for name, ratio, _ in ratios(1.0, 3 if quick else 7)]
    return [Table("Explaining 1 MB of log", ("log", "× reading it line by line"), rows, "Shortest of several runs.")]


def main() -> int:
    """Print one line a kind of log; status 1 when a ratio is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=10.0, help="for logs whose lines are alike, as logs are")
    parser.add_argument("--varied-limit", type=float, default=25.0, help="for a log that never repeats itself")
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    slow = False
    for name, ratio, code in ratios(options.mb, options.times):
        slow |= ratio > (options.varied_limit if name == "files" else options.limit)
        print(f"{name:10} {options.mb:g} MB: explaining takes {ratio:.1f} × reading, found {code}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
