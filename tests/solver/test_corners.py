"""Corners of the real catalogue, GPU x driver branch x system x torch, by the engine and by a slow check of the tables.

The check below knows the rules of DESIGN and the rows of the catalogue, and nothing of the solver: it tries every wheel with every
driver release, module flavour and source. The default run takes a sample; PROVISION_CORNERS=all takes every corner, a number takes
so many, PROVISION_SEED chooses others.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from provisioner.catalog.load import Catalog, load
from provisioner.solver.plan import Plan, solve
from provisioner.spec.types import DriverWish, Spec, Target

#: what stands for its kind: every generation, class and odd case
GPUS = ("Tesla K80", "GeForce GTX 780", "NVIDIA GeForce GTX 980", "Tesla M60", "Tesla P100-PCIE-16GB", "NVIDIA GeForce GTX 1080 Ti",
        "Tesla V100-SXM2-16GB", "NVIDIA TITAN V", "Tesla T4", "NVIDIA GeForce RTX 2080 Ti", "NVIDIA A100-SXM4-40GB", "NVIDIA A10G",
        "NVIDIA GeForce RTX 3090", "NVIDIA RTX A6000", "NVIDIA L4", "NVIDIA L40S", "NVIDIA GeForce RTX 4090",
        "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H200", "NVIDIA GH200 480GB", "NVIDIA B200", "NVIDIA GB200",
        "NVIDIA GeForce RTX 5090", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA GB10")


def number(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.split(".")]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts)


def newest_first(version: str) -> tuple[int, ...]:
    return tuple(-part for part in (*number(version), 0, 0, 0, 0)[:4])


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


class Best(NamedTuple):
    torch: str
    build: str
    driver: str
    flavour: str
    origin: str
    python: str


class Slow:
    """The rules once more, row by row."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.archs = {(row.torch, row.build, row.platform, row.channel): row for row in catalog.torch_archs}
        self.pins = {(row.torch, row.build, row.platform, row.channel): row for row in catalog.torch_pins}
        self.branches = {row.branch: row for row in catalog.driver_branches}
        self.generations = {row.name: row for row in catalog.architectures}
        self.capabilities = {row.sm: row for row in catalog.capabilities}
        self.floors = {row.major: row.min_driver_linux for row in catalog.cuda_majors}
        self.lifts = {row.cuda: row.branches for row in catalog.forward_compat}
        self.today = catalog.date[:7]
        self.first_open_other = next(row.value for row in catalog.rules if row.id == "open-modules-first-driver-other")
        self._wheels: dict[tuple[str, ...], list[tuple[Any, int, bool]]] = {}

    def cudnn_of(self, wheel: Any) -> str:
        own = self.pins.get((wheel.torch, wheel.build, wheel.platform, wheel.channel))
        if own and own.cudnn:
            return str(own.cudnn)
        for test in (lambda row: self.cuda_of(row) == wheel.cuda, lambda row: True):
            known = [row.cudnn for row in self.catalog.torch_pins if row.torch == wheel.torch and row.cudnn and test(row)]
            if known:
                return str(max(known, key=number))
        return ""

    def cuda_of(self, row: Any) -> str:
        return next((each.cuda for each in self.catalog.torch_builds if (each.torch, each.build, each.platform, each.channel)
                     == (row.torch, row.build, row.platform, row.channel)), "")

    def cudnn_serves(self, version: str, cuda: str, sm: int) -> bool | None:
        if not version:
            return None
        major = cuda.split(".")[0]
        rows = [row for row in self.catalog.cudnn if row.cuda.split(".")[0] == major]
        near = [row for row in rows if minor(row.version) == minor(version)]
        if not near:
            same = sorted((row for row in rows if row.version.split(".")[0] == version.split(".")[0]), key=lambda row: number(row.version))
            older = [row for row in same if number(row.version) <= number(version)]
            near = older[-1:] or same[:1]
        if not near or all(row.min_sm is None for row in near):
            return None
        return any(row.min_sm <= sm and (not row.max_sm or sm <= row.max_sm or sm // 10 == row.max_sm // 10)
                   for row in near if row.min_sm is not None)

    def wheels(self, gpu: Any, platform: str, torch: str) -> list[tuple[Any, int, bool]]:
        """(wheel, 0 cubin / 1 PTX / 2 unknown, sure) of each wheel that has, or may have, code for the GPU."""
        place = (gpu.name, platform, torch)
        if place not in self._wheels:
            found = []
            for wheel in self.catalog.torch_builds:
                if minor(wheel.torch) != torch or wheel.platform != platform or wheel.channel != "pip" or not wheel.cuda:
                    continue
                served = self.cudnn_serves(self.cudnn_of(wheel), wheel.cuda, gpu.sm)
                if served is False:
                    continue
                arch = self.archs.get((wheel.torch, wheel.build, wheel.platform, wheel.channel))
                if arch is None:
                    found.append((wheel, 2, False))
                elif set(arch.sm) & set(self.capabilities[gpu.sm].runs):
                    found.append((wheel, 0, True))
                elif any(each <= gpu.sm for each in arch.ptx) and (
                        served or number(wheel.cuda) >= number(self.capabilities[gpu.sm].first_toolkit)):
                    found.append((wheel, 1, True))
            self._wheels[place] = found
        return self._wheels[place]

    def driver_rank(self, release: Any) -> tuple[Any, ...]:
        row = self.branches[release.branch]
        living = row.end_of_life[:7] >= self.today if row.end_of_life else row.kind not in ("legacy", "beta")
        if release.beta:
            group: tuple[Any, ...] = (5,)
        elif row.kind == "beta":
            group = (4, 0, -float(row.branch))
        elif not living:
            group = (3 if row.kind == "legacy" else 2, 0, -float(row.branch))
        elif row.kind in ("LTSB", "PB"):
            group = (0, 0, -int((row.end_of_life or "9999-12")[:7].replace("-", "")), -float(row.branch))
        else:
            group = (1, 0, -float(row.branch))
        return group, newest_first(release.version)

    def drivers(self, gpu: Any, system: str, arch: str, branch: str) -> Iterator[tuple[Any, str, str, bool]]:
        """(release, flavour, origin, sure) of every driver of the branch that can be had and serves the GPU."""
        row, generation = self.branches[branch], self.generations[gpu.architecture]
        if float(branch) < float(generation.first_branch) or (generation.last_branch and float(branch) > float(generation.last_branch)):
            return
        firsts = {each.split(".")[0]: each for each in (*gpu.first_in_branch, *([gpu.first_driver] if gpu.first_driver else []))}
        for release in self.catalog.driver_releases:
            if release.platform != "linux" or release.branch != branch:
                continue
            here = number(release.version)
            if generation.first_driver and here < number(generation.first_driver):
                continue
            sure = True
            if gpu.first_driver:
                if branch in firsts and here < number(firsts[branch]):
                    sure = False
                elif here < number(gpu.first_driver):
                    continue
            for offer in self.catalog.driver_offers:
                if offer.os != system or offer.arch != arch or branch in offer.except_branches:
                    continue
                if float(branch) < float(offer.first or 0) or (offer.last and float(branch) > float(offer.last)):
                    continue
                if offer.releases and release.version not in offer.releases:
                    continue
                for flavour in offer.flavours:
                    if flavour not in row.flavours:
                        continue
                    if flavour == "open":
                        if gpu.open_modules == "unsupported" or generation.open_modules == "unsupported":
                            continue
                        if generation.open_first_driver and here < number(generation.open_first_driver):
                            continue
                        if gpu.open_modules != "required" and gpu.gpu_class != "datacenter" and here < number(self.first_open_other):
                            continue
                    elif gpu.open_modules == "required" or generation.open_modules == "required":
                        continue
                    yield release, flavour, offer.origin, sure

    def best(self, gpu: Any, branch: str, system: Any, arch: str, torch: str) -> Best | None:
        """The best plan, None when there is none."""
        found: list[tuple[tuple[Any, ...], Best]] = []
        drivers = list(self.drivers(gpu, system.id, arch, branch))
        served = self.branches[branch].cuda
        for wheel, grade, wheel_sure in self.wheels(gpu, f"linux_{arch}", torch):
            if wheel.glibc and system.glibc and number(wheel.glibc) > number(system.glibc):
                continue
            sure_here = wheel_sure and bool(wheel.glibc and system.glibc)
            floor = self.floors.get(wheel.cuda) or self.floors[wheel.cuda.split(".")[0]]
            for release, flavour, origin, sure in drivers:
                above = number(release.version) >= number(floor)
                full = above and number(served) >= number(wheel.cuda)
                compat = not above and gpu.forward_compat and branch in self.lifts.get(wheel.cuda, ())
                if (not above and not compat) or (grade == 1 and not full):
                    continue
                python = max(wheel.pythons, key=number)
                score = (not (sure and sure_here), compat, newest_first(wheel.torch), grade, origin == "runfile",
                         not full, newest_first(wheel.cuda), self.driver_rank(release),
                         ("vendor", "distro", "runfile").index(origin), ("open", "proprietary").index(flavour))
                found.append((score, Best(wheel.torch, wheel.build, release.version, flavour, origin, python)))
        return min(found)[1] if found else None


def corners(catalog: Catalog) -> list[tuple[str, str, str, str, str]]:
    """Every (gpu, branch, system, arch, torch minor)."""
    systems = [(row.id, arch) for row in catalog.systems for arch in row.arches
               if row.family not in ("windows", "macos", "linux") and row.id != "wsl-ubuntu"]
    torches = sorted({minor(row.version) for row in catalog.torch_releases}, key=number)
    branches = [row.branch for row in catalog.driver_branches]
    made = [(gpu, branch, system, arch, torch) for gpu, branch, (system, arch), torch in
            itertools.product(GPUS, branches, systems, torches)]
    wanted = os.environ.get("PROVISION_CORNERS", "400")
    if wanted == "all":
        return made
    return random.Random(int(os.environ.get("PROVISION_SEED", "1"))).sample(made, int(wanted))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


def test_engine_and_slow_check_agree(catalog: Catalog) -> None:
    slow = Slow(catalog)
    gpus = {name: next(row for row in catalog.gpus if row.name == name) for name in GPUS}
    systems = {row.id: row for row in catalog.systems}
    fits = 0
    for gpu, branch, system, arch, torch in corners(catalog):
        spec = Spec(target=Target(system, arch), gpus=(gpu,), driver=DriverWish(f"=={branch}.*"), torch=f"=={torch}.*")
        outcome = solve(spec, catalog)
        expected = slow.best(gpus[gpu], branch, systems[system], arch, torch)
        got = None
        if isinstance(outcome, Plan):
            choices = outcome.choices
            got = Best(choices["torch"].split("+")[0], choices["cuda_build"], choices["driver"], choices["driver_flavour"],
                       choices["driver_source"], choices["python"])
            fits += 1
        assert got == expected, (gpu, branch, system, arch, torch)
    assert fits  # the sample holds both kinds


def test_every_gpu_alone_on_ubuntu(catalog: Catalog) -> None:
    """Each product that stands for its kind, with nothing else said: the engine's plan is the best over all branches and torches."""
    slow = Slow(catalog)
    system = next(row for row in catalog.systems if row.id == "ubuntu2204")
    torches = sorted({minor(row.version) for row in catalog.torch_releases}, key=number, reverse=True)
    for name in GPUS:
        gpu = next(row for row in catalog.gpus if row.name == name)
        outcome = solve(Spec(target=Target("ubuntu2204"), gpus=(name,)), catalog)
        newest = None
        for torch in torches:  # a plan that is sure comes before a newer one that is not
            if any(slow.best(gpu, branch, system, "x86_64", torch) for branch in slow.branches):
                newest = torch
                break
        if newest is None:
            assert not isinstance(outcome, Plan), name
        else:
            assert isinstance(outcome, Plan) and minor(outcome.choices["torch"].split("+")[0]) == newest, name
