"""The machine that a spec describes: which system of the catalogue, and what holds for it."""

from __future__ import annotations

from provisioner.errors import Problem, ProblemList
from provisioner.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Machine(Record):
    """A target as the rules need it."""

    system: Any  # row of `systems`
    os: str  # as `choices.os` says it: the catalogue's id
    arch: str
    kind: str  # host | container | wsl | jetson
    platform: str  # linux_x86_64 ...
    glibc: str  # "" where it is no question, or nobody knows
    gcc: str
    kernel: str
    drivers: str  # linux | windows: whose driver numbers count
    installs_driver: bool


def machine(spec: Any, catalog: Any) -> Machine:
    """The machine of a spec. Raises ProblemList for a system or an architecture that nobody knows."""
    target = spec.target
    try:
        system = catalog.system(target.os)
    except Problem as problem:
        raise ProblemList([_placed(spec, "target.os", problem)]) from None
    kind, arch = target.kind, target.arch
    if system.id == "wsl-ubuntu" or target.os.lower().startswith("wsl"):
        kind = "wsl"
    if system.family == "macos" and spec.place("target.arch") is None and arch == "x86_64":
        arch = "aarch64"  # what every Mac since 2020 is
    if kind == "jetson" and spec.place("target.arch") is None:
        arch = "aarch64"
    if system.arches and arch not in system.arches and system.family not in ("linux",) and kind != "jetson":
        raise ProblemList([_placed(spec, "target.arch", Problem(
            "spec-unknown-arch", f"{system.id} does not exist for {arch}", todo=f"it does for {', '.join(system.arches)}"))])
    words = {"windows": {"x86_64": "win_amd64", "aarch64": "win_arm64"},
             "macos": {"x86_64": "macos_x86_64", "aarch64": "macos_arm64"}}
    platform = words.get(system.family, {}).get(arch) or f"linux_{arch}"
    plain = system.family in ("windows", "macos")
    return Machine(
        system, system.id, arch, kind, platform, "" if plain else target.glibc or system.glibc or "",
        target.gcc or system.gcc or "", target.kernel or system.kernel or "",
        "windows" if kind == "wsl" or system.family == "windows" else "linux",
        kind == "host" and system.family != "macos")


def _placed(spec: Any, field: str, problem: Problem) -> Problem:
    place = spec.place(field) or spec.place("target")
    problem.file = spec.file
    if place:
        problem.line, problem.column = place.line, place.column
    return problem
