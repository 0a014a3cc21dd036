"""The spec as plain types that the rooms above work with.

`provisioner.spec.load.load` makes them from a file. Every field that was left out has the contract's default, and
`Spec.where` tells which were written and where, by dotted path ("driver.version", "packages.torchvision", "gpus[1]").
Ranges stay as the user wrote them: PEP 440 specifier text ("~=2.5.0"), or an exact version ("2.7.1"), or "latest".
"""

from __future__ import annotations

from provisioner.records import Record


class Place(Record):
    """A place in the user's file, both counted from 1."""

    line: int
    column: int


class Target(Record):
    """The machine. `os` is a catalogue system id after aliases were resolved by the solver; here it is as written."""

    os: str
    arch: str = "x86_64"  # x86_64 | aarch64
    kind: str = "host"  # host | container | wsl | jetson
    glibc: str | None = None
    kernel: str | None = None
    secure_boot: bool | None = None
    gcc: str | None = None
    l4t: str | None = None
    jetpack: str | None = None
    windows: str | None = None  # Windows build, for WSL
    nvswitch: bool | None = None


class DriverWish(Record):
    """What is asked of the driver. `version` is a range or an exact release; with `keep` it is what the machine has."""

    version: str | None = None
    flavour: str = "auto"  # auto | open | proprietary
    source: str = "auto"  # auto | vendor | distro | runfile | preinstalled
    keep: bool = False


class Spec(Record):
    """A whole spec. `gpus` None = nothing said; () = none, CPU only; repeated entries count cards."""

    target: Target
    name: str = ""
    gpus: tuple[str, ...] | None = None
    driver: DriverWish = DriverWish()
    torch: str | None = None  # None = newest that fits
    cuda: str | None = None  # None | "cpu" | "cu124" | "12.4" | a range
    python: str | None = None
    toolkit: str = "none"  # none | match | a range
    cudnn: str = "bundled"
    nccl: str = "bundled"
    packages: tuple[tuple[str, str], ...] = ()
    installer: str = "pip"  # pip | uv | conda | pixi
    environment: str = "/opt/torch"
    prefer: str = "newest"  # newest | conservative | least-change
    where: tuple[tuple[str, Place], ...] = ()  # only what the user wrote
    file: str = ""

    def place(self, field: str) -> Place | None:
        """Where `field` was written, or None when it was not."""
        for name, place in self.where:
            if name == field:
                return place
        return None
