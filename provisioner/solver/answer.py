"""A world read back as choices: what the contract calls `choices`, and the warnings that belong to them."""

from __future__ import annotations

from provisioner.solver import tables as t
from provisioner.solver.cards import capability_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.solver.problem import Question


class Answer:
    """One world of a question."""

    def __init__(self, question: Question, world: tuple[int, ...]) -> None:
        self.question, self.world = question, world
        self.wheel: tuple[Any, ...] = question.tables["wheels"][world[question.wheel]]
        index = world[question.driver]
        self.driver: str = question.drivers.versions[index] if index < question.drivers.count else ""
        self.branch: str = question.drivers.branches[index] if self.driver else ""
        from provisioner.solver.problem import FLAVOURS, ORIGINS

        self.flavour: str = FLAVOURS[world[question.flavour]]
        self.origin: str = ORIGINS[world[question.origin]]
        self.python: str = question.pythons[world[question.python]]
        toolkit = world[question.toolkit]
        self.toolkit: str = question.tables["toolkits"]["versions"][toolkit - 1] if toolkit else ""
        self.compat: str = ""
        if world[question.compat]:
            row = question.catalog.row("forward_compat", self.wheel[t.CUDA])
            self.compat = row.package if row else ""
        self.unsure = bool(world[question.sure])

    def library(self, name: str) -> str | None:
        """The cuDNN or NCCL of the plan: the system's when one was asked for, else the wheel's."""
        q = self.question
        index = self.world[q.cudnn if name == "cudnn" else q.nccl]
        if index:
            return str(q.tables[name]["rows"][index - 1][0])
        return self.wheel[t.CUDNN if name == "cudnn" else t.NCCL] or None

    def release(self, plain: str) -> tuple[Any, ...]:
        """The row of a package's chosen release."""
        _, _, variable = self.question.packages[plain]
        row: tuple[Any, ...] = self.question.tables["packages"][plain]["rows"][self.world[variable]]
        return row

    def package_version(self, plain: str) -> str:
        """Its version, with torch's label where its wheels carry it."""
        row = self.release(plain)
        labelled = row[t.P_LABEL] and self.wheel[t.LABEL] and self.wheel[t.CHANNEL] == "pip"
        return str(row[t.P_VERSION]) + (self.wheel[t.LABEL] if labelled else "")

    @property
    def torch(self) -> str:
        return str(self.wheel[t.TORCH]) + str(self.wheel[t.LABEL] or "")

    def named_driver(self) -> bool:
        """Whether the driver is the user's own word rather than one of many that would do."""
        from provisioner.solver.problem import exact_driver

        return bool(exact_driver(self.question.spec.driver.version))

    def choices(self) -> dict[str, Any]:
        """The choices as the contract spells them."""
        q = self.question
        here = q.machine
        driver = self.driver
        there = self.origin == "preinstalled"
        if driver and (there or not here.installs_driver) and not self.named_driver():
            driver = ""  # somebody else's driver, and any of several will do
        gpus: list[str] = []
        for card in q.cards or ():
            name = capability_name(card.sm)
            if name not in gpus:
                gpus.append(name)
        told: dict[str, Any] = {
            "os": here.os, "arch": here.arch, "gpus": gpus,
            "driver": driver or None, "driver_branch": self.branch if driver else None,
            "driver_flavour": self._known_flavour() if driver else None,
            "driver_source": (self.origin or "preinstalled") if driver else "preinstalled" if there and here.installs_driver else None,
            "cuda": self.wheel[t.CUDA] or None, "cuda_build": self.wheel[t.BUILD], "toolkit": self.toolkit or None,
            "cudnn": self.library("cudnn"), "nccl": self.library("nccl"), "python": self.python, "torch": self.torch,
            "index_url": self.wheel[t.INDEX_URL] or None if self.wheel[t.CHANNEL] == "pip" else None,
            "packages": self.package_choices(),
        }
        if self.compat:
            told["compat"] = self.compat
        return told

    def _known_flavour(self) -> str | None:
        """The flavour of the kernel modules; None when the driver is there already and nobody said which it has."""
        q = self.question
        if self.origin != "preinstalled" or q.spec.driver.flavour != "auto" or not self.flavour:
            return self.flavour or None
        here = self.world[q.driver]
        other = q.world.domains[q.flavour] & ~(1 << self.world[q.flavour])
        both = q.world.holds(extra=[((q.driver,), ((1 << here,),), frozenset()), ((q.flavour,), ((other,),), frozenset())])
        return None if both else self.flavour

    def package_choices(self) -> dict[str, str]:
        """Each package of the spec, in the spec's order, with its version; those nobody knows with the user's range."""
        q = self.question
        told: dict[str, str] = {}
        for name, wish in q.spec.packages:
            plain = t.canonical(name)
            if plain in q.packages:
                told[name] = self.package_version(plain)
            elif plain == "torch":
                continue
            else:
                told[name] = wish
        return told
