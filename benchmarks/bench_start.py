"""What a whole command costs, as a multiple of `python -c pass` of the same interpreter, beside the peers.

Each tool lives in an environment of its own, installed from the package index like a user would, ours from the wheel.
`plan` of an unseen spec gets a spec it has never seen in each round; `plan` again gets the one before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import CACHE, ROOT, Command, Table, environment, wall

SPEC = "spec: 1\nname: round-{number}\ntarget: ubuntu2204\ngpus: [RTX 4090]\ntorch: \">=2.{minor}\"\npackages: {{torchvision: \"*\"}}\n"
IMPOSSIBLE = "spec: 1\nname: round-{number}\ntarget: ubuntu2204\ngpus: [RTX 5090]\ntorch: \"==2.6.*\"\n"


def _ours() -> Path | None:
    """Our wheel, built now, in an environment of its own."""
    folder = CACHE / "wheel"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True)
    (CACHE / "ours" / ".done").unlink(missing_ok=True)
    wheel = next(folder.glob("*.whl"))
    bin_folder = environment("ours", [str(wheel)])
    if bin_folder:  # the wheel's version does not change with each commit
        subprocess.run([str(bin_folder / "python"), "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", str(wheel)],
                       check=True)
    return bin_folder


def measure(quick: bool) -> list[Table]:
    """The table of starts."""
    ours = _ours()
    if ours is None:
        return []
    rounds = 7 if quick else 25
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        env = {**os.environ, "PROVISION_CACHE_HOME": str(folder / "cache"), "PROVISION_DATA_HOME": str(folder / "data"),
               "UV_CACHE_DIR": str(CACHE / "uv-cache"), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
        python = str(ours / "python")

        def unseen(text: str, file: str):  # type: ignore[no-untyped-def]
            def write(number: int) -> None:
                (folder / file).write_text(text.format(number=number, minor=number % 8))
            return write

        (folder / "again.yaml").write_text(SPEC.format(number=0, minor=1))
        provision = str(ours / "provision")
        commands = {
            "python -c pass": Command([python, "-c", "pass"], folder, env),
            "provision --help": Command([provision, "--help"], folder, env),
            "provision plan, unseen spec": Command([provision, "plan", "new.yaml"], folder, env, unseen(SPEC, "new.yaml")),
            "provision plan, unchanged spec": Command([provision, "plan", "again.yaml"], folder, env),
            "provision plan, unseen impossible spec": Command([provision, "plan", "no.yaml"], folder, env,
                                                              unseen(IMPOSSIBLE, "no.yaml"), (3,)),
        }
        uv = environment("uv", ["uv"])
        if uv:
            (folder / "requirements.in").write_text("torch\n")
            # --python: without it uv goes looking through every interpreter on the machine, which is no part of a resolve
            compile_ = [str(uv / "uv"), "pip", "compile", "--quiet", "--python", python, "--python-version", "3.12", "--python-platform", "linux",
                        "requirements.in"]
            subprocess.run(compile_, cwd=folder, env=env, capture_output=True, check=False)  # fills its cache
            commands["uv --help"] = Command([str(uv / "uv"), "--help"], folder, env)
            commands["uv pip compile torch, warm, offline"] = Command([*compile_, "--offline"], folder, env)
        for peer, script in (("env-doctor", "env-doctor"), ("rigsolve", "rigsolve"), ("torchruntime", "torchruntime"),
                             ("cuda-doctor", "cuda-doctor")):
            bin_folder = environment(peer, [peer])
            if bin_folder and (bin_folder / script).exists():
                commands[f"{peer} --help"] = Command([str(bin_folder / script), "--help"], folder, env, statuses=(0, 1, 2))
        subprocess.run([provision, "plan", "again.yaml"], cwd=folder, env=env, capture_output=True, check=False)
        medians = wall(commands, rounds)
    base = medians["python -c pass"]
    rows: list[tuple[str, ...]] = [(name, f"{seconds / base:.2f}") for name, seconds in medians.items()]
    return [Table("What a command costs", ("command", "× `python -c pass`"), rows,
                  f"Median of {rounds} rounds, all commands taking turns; each tool in an environment of its own.")]
