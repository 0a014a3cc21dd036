"""A spec and a catalogue as variables and constraints.

The order of the variables is the preference order; this is the one place where it is written:

 1. `sure`: nothing rests on a fact that nobody has
 2. `compat`: no forward-compatibility package
    (`least-change` puts here: the host's driver, torch and Python, when host facts are given)
 3. `torch`: the newest (`conservative`: the newest minor last)
 4. `kernels`: GPU code built for every GPU, rather than PTX that the driver compiles
 5. `packaged`: a driver that comes as packages, rather than the vendor's run file
 6. `support`: the driver serves the wheel's CUDA in full, rather than by minor-version compatibility
 7. `wheel`: the newest CUDA build, cpu last
 8. `driver`: the branch that lives longest, its newest release (`tables._branch_rank`; `conservative`: long-term branches first)
 9. `branch` (follows from the driver), `origin` (vendor, distribution, run file), `flavour` (open, proprietary)
10. `python`: the newest (`least-change`: the system's own first)
11. `same`: a toolkit of the wheel's own CUDA minor; `toolkit`, `compiler`, `cudnn`, `nccl`: the newest
12. for each package: `pair NAME`, built for just this torch; `NAME`, the newest

`sure`, `compat`, `kernels`, `packaged`, `support`, `same` and the pairs are upper bounds ("at worst this"): the constraints allow
what is better wherever they allow what is worse, so the best world has them exact.

Every constraint names the line of the spec that asks for it (a requirement) and the fact that it rests on (`fact:KIND[:WHAT]`).
"""

from __future__ import annotations

from bisect import bisect_left

from provisioner.errors import Problem, ProblemList, nearest
from provisioner.records import Record
from provisioner.solver import tables as t
from provisioner.solver.cards import Card, cards
from provisioner.solver.machine import Machine, machine
from provisioner.solver.search import World
from provisioner.versions import Range, is_dotted
from provisioner.versions import number as version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPEN, PROPRIETARY, NO_MODULE = 1, 2, 4
VENDOR, DISTRO, RUNFILE, PREINSTALLED, NO_ORIGIN = 1, 2, 4, 8, 16
ORIGINS = ("vendor", "distro", "runfile", "preinstalled", "")
FLAVOURS = ("open", "proprietary", "")
CUBIN, PTX, UNKNOWN = 1, 2, 4


class Requirement(Record):
    """One line of the user's."""

    field: str
    value: Any
    line: int


class Question:
    """The world of a spec, with what is needed to read its answers."""

    def __init__(self, spec: Any, catalog: Any, facts: dict[str, Any] | None = None) -> None:
        """Raises ProblemList for what is bad input: systems, GPUs and ranges that nobody can read."""
        self.spec, self.catalog, self.facts = spec, catalog, facts or {}
        self.tables = t.tables(catalog)
        self.machine: Machine = machine(spec, catalog)
        self.cards: tuple[Card, ...] | None = cards(spec, catalog)
        self.world = World()
        self.requirements: dict[str, Requirement] = {}
        self.facts_used: dict[str, None] = {}
        self.unchecked: list[str] = []  # packages that the catalogue does not know
        order = "conservative" if spec.prefer == "conservative" else "newest"
        self.torches: tuple[str, ...] = self.tables["torch_conservative" if order == "conservative" else "torch"]
        self.drivers = Drivers(self.tables["drivers"][f"{self.machine.drivers}/{order}"], catalog, self.machine.drivers,
                               exact_driver(spec.driver.version))
        self.jetpacks: list[Any] = []
        self._variables()
        self._torch()
        self._platform()
        self._support()
        self._gpus()
        self._driver()
        self._python()
        self._toolkit()
        self._libraries()
        self._packages()
        self._keep()

    # -- the variables, in order of preference -----------------------------------------------------------------------

    def _variables(self) -> None:
        add, tables = self.world.variable, self.tables
        self.sure = add("sure", 2)
        self.compat = add("compat", 2)
        self.kept: dict[str, int] = {}
        if self.spec.prefer == "least-change":
            self.kept = {name: add("kept " + name, 2) for name in ("driver", "torch", "python") if self.facts.get(name)}
        self.torch = add("torch", len(self.torches))
        self.kernels = add("kernels", 3)
        self.packaged = add("packaged", 2)
        self.support = add("support", 2)
        self.wheel = add("wheel", len(tables["wheels"]))
        self.driver = add("driver", self.drivers.count + 1)
        self.branch = add("branch", len(self.drivers.groups))
        self.origin = add("origin", 5)
        self.flavour = add("flavour", 3)
        self.pythons = list(tables["pythons"])
        own = self.machine.system.python
        if self.spec.prefer == "least-change" and own in self.pythons:
            self.pythons.remove(own)
            self.pythons.insert(0, own)
        self.python = add("python", len(self.pythons))
        self.same = add("same", 2)
        self.toolkit = add("toolkit", len(tables["toolkits"]["versions"]) + 1)
        self.compiler = add("compiler", 2)
        self.cudnn = add("cudnn", len(tables["cudnn"]["rows"]) + 1)
        self.nccl = add("nccl", len(tables["nccl"]["rows"]) + 1)
        self._rule((self.driver, self.branch), [(mask, 1 << index) for index, mask in enumerate(self.drivers.groups)])
        self.packages: dict[str, tuple[str, int, int]] = {}  # canonical name -> as written, pair, releases
        for name, _ in self.spec.packages:
            plain = t.canonical(name)
            if plain in tables["packages"] and plain not in self.packages and plain != "torch":
                self.packages[plain] = (name, add("pair " + plain, 2), add(plain, len(tables["packages"][plain]["rows"])))

    @property
    def telling(self) -> list[int]:
        """The variables in which two plans have to differ to count as different."""
        return [self.wheel, self.branch, self.python, self.toolkit, *(variable for _, _, variable in self.packages.values())]

    def _rule(self, variables: tuple[int, ...], boxes: Any, requirement: str | tuple[str, ...] = "", fact: str = "") -> None:
        """Add a constraint that holds while all the lines that it takes, and the fact, are there."""
        groups = [requirement] if isinstance(requirement, str) else list(requirement)
        groups = [group for group in groups if group]
        if fact:
            groups.append("fact:" + fact)
            self.facts_used["fact:" + fact] = None
        self.world.require(variables, boxes, groups)

    def _ask(self, field: str, value: Any, *places: str) -> str:
        """Note a requirement of the user's; its group."""
        if field not in self.requirements:
            line = 0
            for name in (field, *places):
                place = self.spec.place(name)
                if place:
                    line = place.line
                    break
            shown = field
            if field == "driver.version" and self.spec.place("driver") and not self.spec.place("driver.version"):
                shown = "driver"  # written as one value
            self.requirements[field] = Requirement(shown, value, line)
        return field

    def _range(self, field: str, text: str) -> Range:
        try:
            return Range(text)
        except ValueError:
            place = self.spec.place(field)
            raise ProblemList([Problem("spec-range", f"{field}: {text!r} is not a version range", file=self.spec.file,
                                       line=place.line if place else 0, column=place.column if place else 0,
                                       todo='write it like ">=2.5,<2.8" or "2.7.1"')]) from None

    @property
    def target(self) -> str:
        """The group of the machine as a whole."""
        target = self.spec.target
        return self._ask("target", target.os if target.kind == "host" and self.spec.place("target.os") is None else
                         f"{target.os} {self.machine.arch}" + (f" {self.machine.kind}" if self.machine.kind != "host" else ""),
                         "target.os")

    # -- torch and its builds ----------------------------------------------------------------------------------------

    def _torch(self) -> None:
        spec, tables = self.spec, self.tables
        masks = tables["wheel_torch"]
        self._rule((self.torch, self.wheel), [(1 << index, masks[torch]) for index, torch in enumerate(self.torches)
                                              if torch in masks], "", "builds")
        if spec.torch is not None and spec.torch != "*":
            group = self._ask("torch", spec.torch)
            if spec.torch == "latest":
                wanted = 1 << self.torches.index(tables["torch"][0]) if self.torches else 0
                self._rule((self.torch,), [(wanted,)], group)
            else:
                text, _, label = spec.torch.partition("+")
                found = self._range("torch", series(text))
                self._rule((self.torch,), [(sum(1 << index for index, torch in enumerate(self.torches) if torch in found),)],
                           group)
                if label:
                    self._rule((self.wheel,), [(self._cuda_mask(label),)], group)
        if spec.cuda is not None:
            self._rule((self.wheel,), [(self._cuda_mask(spec.cuda),)], self._ask("cuda", spec.cuda))
        pip, forge = tables["wheel_channel"].get("pip", 0), tables["wheel_channel"].get("conda-forge", 0)
        if spec.installer in ("conda", "pixi"):  # without that line, what pip installs would do as well
            self._rule((self.wheel,), [(forge,)], self._ask("installer", spec.installer), "channel")
        else:
            self._rule((self.wheel,), [(pip,)])

    def _cuda_mask(self, text: str) -> int:
        """Wheels of a CUDA wish: "12.4", "cu124", a range, cpu."""
        masks: dict[str, int] = self.tables["wheel_cuda"]
        if text.strip().lower() == "cpu":
            return masks.get("", 0)
        wanted = self._range("cuda", series(tag_to_cuda(text)))
        return sum(mask for cuda, mask in masks.items() if cuda and cuda in wanted)

    def _platform(self) -> None:
        here, tables = self.machine, self.tables
        platforms: dict[str, int] = tables["wheel_platform"]
        if here.kind == "jetson":
            self.jetpacks = self._jetpacks()
            mask = 0
            for row in self.jetpacks:
                mask |= self._jetpack_wheels(row)
            jetsons = sum(found for platform, found in platforms.items() if platform.startswith("jetson-"))
            self._rule((self.wheel,), [(mask | jetsons | platforms.get("linux_aarch64", 0),)])
            self._rule((self.wheel,), [(mask,)], self.target, "jetpack")
            return
        own = platforms.get(here.platform, 0)
        windows = self.catalog.row("rules", "wsl-min-windows-build") if self.spec.target.windows and here.kind == "wsl" else None
        if windows is not None and version_key(self.spec.target.windows) < version_key(windows.value):
            self._rule((self.wheel,), [(tables["wheel_cuda"].get("", 0),)],
                       self._ask("target.windows", self.spec.target.windows), "windows-build")
        self._rule((self.wheel,), [(own | platforms.get("linux_x86_64", 0),)])  # what another machine would have is that of a PC
        if here.platform != "linux_x86_64":
            self._rule((self.wheel,), [(own,)], self.target, "platform")
        if here.platform.startswith("linux"):
            own = self.spec.target.glibc is not None
            group = self._ask("target.glibc", self.spec.target.glibc) if own else self.target
            fits = unknown = 0
            have = version_key(here.glibc) if here.glibc else None
            for glibc, mask in tables["wheel_glibc"].items():
                if not glibc or have is None:
                    unknown |= mask
                elif version_key(glibc) <= have:
                    fits |= mask
            everything = self._all(self.wheel)
            others = everything & ~sum(mask for platform, mask in platforms.items() if platform.startswith("linux"))
            self._rule((self.sure, self.wheel), [(3, fits | others), (2, unknown)], group, "glibc")

    def _jetpacks(self) -> list[Any]:
        target = self.spec.target
        rows = list(self.catalog.jetpacks)
        if target.l4t:
            rows = [row for row in rows if same_release(target.l4t, row.l4t)]
        if target.jetpack:
            rows = [row for row in rows if same_release(target.jetpack, row.jetpack)]
        if not target.l4t and not target.jetpack and self.machine.system.family != "linux":
            rows = [row for row in rows if row.os == self.machine.os]
        return rows

    def _jetpack_wheels(self, row: Any) -> int:
        """Wheels that a JetPack runs: its own, and from JetPack 7 the ordinary ones that its CUDA serves."""
        platforms: dict[str, int] = self.tables["wheel_platform"]
        mask = platforms.get("jetson-" + row.l4t, 0)
        if version_key(row.l4t) >= (38,):
            cudas = sum(found for cuda, found in self.tables["wheel_cuda"].items()
                        if cuda and cuda.split(".")[0] == row.cuda.split(".")[0])
            mask |= platforms.get("linux_aarch64", 0) & cudas & self.tables["wheel_python"].get(row.python, -1)
        return mask

    def _all(self, variable: int) -> int:
        return self.world.domains[variable]

    # -- drivers and what they serve ---------------------------------------------------------------------------------

    def _support(self) -> None:
        tables, drivers = self.tables, self.drivers
        everything = self._all(self.driver)
        everything_wheels = self._all(self.wheel)
        own = sum(mask for platform, mask in tables["wheel_platform"].items() if platform.startswith("jetson-"))
        cudas = [version_key(row.cuda) for row in self.jetpacks if version_key(row.l4t) >= (38,)]  # those with ordinary wheels
        boxes: list[tuple[int, ...]] = []
        for cuda, wheels in tables["wheel_cuda"].items():
            if not cuda:
                boxes.append((3, 3, wheels, everything))
                continue
            if self.machine.kind == "jetson":  # the driver is part of L4T, and so are its limits
                full = own if cudas and version_key(cuda) > min(cudas) else everything_wheels
                boxes += [(3, 3, wheels & full, drivers.none), (3, 2, wheels & ~full, drivers.none)]
                continue
            full = drivers.full(cuda)
            boxes.append((3, 3, wheels, full))
            floor = drivers.floor(cuda) & ~full
            if floor:
                boxes.append((3, 2, wheels, floor))
            compat = drivers.compat(cuda) & ~full & ~floor
            if compat:
                boxes.append((2, 2, wheels, compat))
        self._rule((self.compat, self.support, self.wheel, self.driver), boxes, "", "support")
        eligible = self.cards and all(card.forward_compat for card in self.cards) and self.machine.drivers == "linux"
        if not eligible:
            group = next((card.field for card in self.cards or () if not card.forward_compat), "")
            self._rule((self.compat,), [(1,)], group, "forward-compat" if group else "")

    def _gpus(self) -> None:
        tables, drivers = self.tables, self.drivers
        cpu = tables["wheel_cuda"].get("", 0)
        everything = self._all(self.wheel)
        if self.cards is None:
            self._rule((self.kernels,), [(CUBIN,)])
            return
        if not self.cards:
            self._rule((self.wheel,), [(cpu,)], self._ask("gpus", []))
            self._rule((self.kernels,), [(CUBIN,)])
            return
        for index, card in enumerate(self.cards):
            group = self._ask(card.field, card.text, "gpus")
            self._rule((self.wheel,), [(everything & ~cpu,)], group)
            if card.sm is None or card.sm not in tables["cover"]:
                self._rule((self.sure, self.kernels), [(2, UNKNOWN)], group, f"kernels:{index}")
            else:
                self._kernels(index, card, group)
                self._rule((self.wheel,), [(everything & ~tables["old_cudnn"][card.sm],)], group, f"bundled-cudnn:{index}")
            if self.machine.kind == "jetson" or card.open_modules == "none":
                if self.machine.kind != "jetson":  # a SoC has its own driver: none of these serves it
                    own = sum(tables["wheel_platform"].get(each, 0) for each in tables["wheel_platform"]
                              if each.startswith("jetson-"))
                    self._rule((self.wheel,), [(own,)], group, f"soc:{index}")
                continue
            none = drivers.none
            self._rule((self.driver,), [(drivers.architecture(card.architecture) | none,)], group, f"generation:{index}")
            if card.first_driver and self.machine.drivers == "linux":
                listed, maybe = drivers.listed(card)
                self._rule((self.sure, self.driver), [(3, listed | none), (2, maybe)], group, f"listed:{index}")
            if self.machine.drivers == "linux":
                with_open, with_proprietary = drivers.modules(card)
                self._rule((self.driver, self.flavour),
                           [(with_open, OPEN), (with_proprietary, PROPRIETARY), (self._all(self.driver), NO_MODULE)],
                           group, f"modules:{index}")

    def _kernels(self, index: int, card: Card, group: str) -> None:
        cubin, ptx, unknown = self.tables["cover"][card.sm]
        cpu = self.tables["wheel_cuda"].get("", 0)
        self._rule((self.sure, self.kernels, self.wheel),
                   [(3, 7, cubin | cpu), (3, PTX | UNKNOWN, ptx), (2, UNKNOWN, unknown)], group, f"kernels:{index}")
        if ptx:
            boxes = [(self._all(self.wheel) & ~ptx, self._all(self.driver))]
            boxes += [(ptx & wheels, self.drivers.full(cuda)) for cuda, wheels in self.tables["wheel_cuda"].items()
                      if cuda and ptx & wheels]
            self._rule((self.wheel, self.driver), boxes, group, f"ptx:{index}")

    def _driver(self) -> None:
        spec, here, drivers = self.spec, self.machine, self.drivers
        wish, none = spec.driver, drivers.none
        real = self._all(self.driver) & ~none
        cpu = self.tables["wheel_cuda"].get("", 0)
        self._rule((self.driver, self.origin), [(real, 15), (none, NO_ORIGIN)])
        present = wish.keep or wish.source == "preinstalled"
        asked = wish.version not in (None, "*", "") or present
        if not asked or (self.cards == () and not present):
            self._rule((self.wheel, self.driver), [(cpu, none), (self._all(self.wheel) & ~cpu, real if here.kind != "jetson"
                                                                 else none)])
        elif here.kind == "jetson":
            self._rule((self.driver,), [(none,)])
        else:
            self._rule((self.driver,), [(real,)], self._ask("driver.version", wish.version, "driver"))
        if wish.version not in (None, "*", "") and not (self.cards == () and not present) and here.kind != "jetson":
            group = self._ask("driver.version", wish.version, "driver")
            known = exact_driver(wish.version)
            mask = drivers.one(known) if known else drivers.mask(self._range("driver.version", driver_range(wish.version)))
            if not present:
                mask &= ~drivers.extra  # nobody can install a release that nobody knows
            self._rule((self.driver,), [(mask,)], group)
        if here.installs_driver and here.drivers == "linux" and not present:
            self._rule((self.driver, self.flavour), [(drivers.flavoured("open"), OPEN),
                                                     (drivers.flavoured("proprietary"), PROPRIETARY), (none, NO_MODULE)],
                       "", "branch-flavour")
            boxes = [(none, NO_ORIGIN, NO_MODULE)]
            for number, origin in enumerate(ORIGINS[:3]):
                with_open, with_proprietary = drivers.offers(here.os, here.arch, origin)
                boxes += [(with_open, 1 << number, OPEN), (with_proprietary, 1 << number, PROPRIETARY)]
            self._rule((self.driver, self.origin, self.flavour), boxes, self.target, "driver-offer")
            self._rule((self.origin,), [(31 & ~PREINSTALLED,)])
        elif here.drivers == "windows" or here.kind == "jetson" or (not present and not here.installs_driver):
            self._rule((self.flavour,), [(NO_MODULE,)])
            self._rule((self.origin,), [(VENDOR | NO_ORIGIN if here.installs_driver and not present else
                                         PREINSTALLED | NO_ORIGIN,)])
        else:  # a driver that is there already, on the host or on the container's host
            self._rule((self.driver, self.flavour), [(drivers.flavoured("open"), OPEN),
                                                     (drivers.flavoured("proprietary"), PROPRIETARY), (none, NO_MODULE)],
                       "", "branch-flavour")
            self._rule((self.origin,), [(PREINSTALLED | NO_ORIGIN,)])
        self._rule((self.packaged, self.origin), [(3, 31 & ~RUNFILE), (2, RUNFILE)])
        if wish.flavour != "auto" and here.drivers == "linux" and here.kind != "jetson":
            self._rule((self.flavour,), [(OPEN if wish.flavour == "open" else PROPRIETARY | 0, ), (NO_MODULE,)] if
                       self.cards == () or (not here.installs_driver and not present) else
                       [(OPEN if wish.flavour == "open" else PROPRIETARY,)], self._ask("driver.flavour", wish.flavour))
        if wish.source not in ("auto", "preinstalled") and not present and here.installs_driver and here.drivers == "linux":
            self._rule((self.origin,), [(1 << ORIGINS.index(wish.source) | (NO_ORIGIN if self.cards == () else 0),)],
                       self._ask("driver.source", wish.source))

    # -- Python, toolkit, libraries ----------------------------------------------------------------------------------

    def _python(self) -> None:
        masks = self.tables["wheel_python"]
        self._rule((self.python, self.wheel), [(1 << index, masks[python]) for index, python in enumerate(self.pythons)],
                   "", "wheel-python")
        if self.spec.python not in (None, "*"):
            wanted = self._range("python", series(t.minor(self.spec.python) if is_dotted(self.spec.python) else self.spec.python))
            mask = sum(1 << index for index, python in enumerate(self.pythons)
                       if python in wanted or (f"{python}.99" in wanted and f"{python}.0" in wanted))
            self._rule((self.python,), [(mask,)], self._ask("python", self.spec.python))

    def _toolkit(self) -> None:
        spec, here, table = self.spec, self.machine, self.tables["toolkits"]
        if spec.toolkit == "none":
            self._rule((self.toolkit,), [(1,)])
            self._rule((self.compiler,), [(1,)])
            self._rule((self.same,), [(1,)])
            return
        group = self._ask("toolkit", spec.toolkit)
        real = self._all(self.toolkit) & ~1
        cudas = self.tables["wheel_cuda"]
        cpu = cudas.get("", 0)
        same = [(3, wheels, table["minor"].get(cuda, 0)) for cuda, wheels in cudas.items() if cuda and cuda in table["minor"]]
        if spec.toolkit == "match":
            self._rule((self.same, self.wheel, self.toolkit), same, group)
        else:
            wanted = self._range("toolkit", series(tag_to_cuda(spec.toolkit)))
            mask = sum(2 << index for index, version in enumerate(table["versions"])
                       if version in wanted or t.minor(version) in wanted)
            self._rule((self.toolkit,), [(mask,)], group)
            self._rule((self.same, self.wheel, self.toolkit), [*same, (3, cpu, real), (2, self._all(self.wheel), real)], group)
            boxes = [(cpu, real)] + [(wheels, table["major"].get(cuda.split(".")[0], 0)) for cuda, wheels in cudas.items() if cuda]
            self._rule((self.wheel, self.toolkit), boxes, group, "toolkit-major")
        for index, card in enumerate(self.cards or ()):
            if card.sm in table["sm"]:
                self._rule((self.toolkit,), [(table["sm"][card.sm],)], (card.field, group), f"compiles:{index}")
        if spec.installer in ("conda", "pixi"):
            self._rule((self.compiler,), [(1,)])
            return
        offers = table["offers"]
        if here.system.family == "windows":
            offered = real
        elif here.kind == "wsl":
            offered = offers.get(("wsl-ubuntu", here.arch), 0) if here.system.family == "debian" else 0
        else:
            offered = offers.get((here.os, here.arch), 0)
        self._rule((self.toolkit,), [(offered,)], (self.target, group), "toolkit-offer")
        major = here.gcc.split(".", maxsplit=1)[0]
        fits = table["gcc"].get(major, 0) | (real & ~table["gcc_known"])
        if here.system.family in ("windows", "macos") or not major:
            self._rule((self.compiler,), [(1,)])
        elif spec.target.gcc is not None:
            self._rule((self.compiler, self.toolkit), [(1, fits)], (self._ask("target.gcc", spec.target.gcc), group), "gcc")
        else:
            self._rule((self.compiler, self.toolkit), [(3, fits), (2, real)], (self.target, group), "gcc")

    def _libraries(self) -> None:
        spec, here = self.spec, self.machine
        for name, wish, variable in (("cudnn", spec.cudnn, self.cudnn), ("nccl", spec.nccl, self.nccl)):
            table = self.tables[name]
            if wish == "bundled":
                self._rule((variable,), [(1,)])
                continue
            group = self._ask(name, wish)
            wanted = self._range(name, series(wish))
            mask = sum(2 << index for index, row in enumerate(table["rows"]) if row[0] in wanted)
            self._rule((variable,), [(mask,)], group)
            boxes = []
            for cuda, wheels in self.tables["wheel_cuda"].items():
                if cuda:
                    masks = table["cuda"]
                    boxes.append((wheels, masks.get(cuda.split(".", maxsplit=1)[0], 0) | masks.get(cuda, 0)))
            self._rule((self.wheel, variable), boxes, group, f"{name}-cuda")
            if name == "cudnn":
                for index, card in enumerate(self.cards or ()):
                    if card.sm in table["sm"]:
                        self._rule((variable,), [(table["sm"][card.sm],)], (card.field, group), f"system-cudnn:{index}")
            if here.system.family in ("windows", "macos") and name == "nccl":
                self._rule((variable,), [(0,)], (self.target, group), "nccl-platform")

    # -- packages ----------------------------------------------------------------------------------------------------

    def _packages(self) -> None:
        seen: set[str] = set()
        for name, wish in self.spec.packages:
            plain = t.canonical(name)
            if plain not in self.packages or plain in seen:
                if plain != "torch" and plain not in seen:
                    self.unchecked.append(name)
                continue
            seen.add(plain)
            self._package(plain, wish)
        for plain, (_, _, variable) in self.packages.items():
            self._pins(plain, variable)

    def buildable(self, plain: str) -> bool:
        """Whether the plan's toolkit may build a package: not on a system for which none of its releases ever had a wheel."""
        systems = self.tables["packages"][plain]["systems"]
        return self.spec.toolkit != "none" and (not systems or self.machine.platform.split("_")[0] in systems or self.machine.kind == "jetson")

    def loads(self, plain: str) -> int:
        """Releases of a package whose ready wheels the system's glibc can load; all where nobody knows it."""
        here, rows = self.machine, self.tables["packages"][plain]["rows"]
        platform = "linux_aarch64" if here.kind == "jetson" else here.platform
        have = version_key(here.glibc) if here.glibc else None
        return sum(1 << index for index, row in enumerate(rows)
                   if have is None or version_key(dict(row[t.P_GLIBC]).get(platform, "0")) <= have)

    def _package(self, plain: str, wish: str) -> None:
        name, pair, variable = self.packages[plain]
        table = self.tables["packages"][plain]
        rows = table["rows"]
        field = f"packages.{name}"
        group = self._ask(field, wish)
        everything = self._all(variable)
        if wish not in ("*", ""):
            wanted = self._range(field, wish)
            self._rule((variable,), [(sum(1 << index for index, row in enumerate(rows) if row[0] in wanted),)], group)
        toolkits = self._all(self.toolkit)
        if not self.buildable(plain):
            self._rule((self.wheel, variable), table["ready"], group, f"package-wheel:{plain}")
            self._rule((self.python, variable), [(self._repython(mask), releases) for mask, releases in table["python"]],
                       group, f"package-python:{plain}")
        else:
            boxes = [(toolkits, wheels, releases) for wheels, releases in table["ready"]]
            boxes += [(toolkits & ~1, wheels, releases) for wheels, releases in table["accepts"]]
            self._rule((self.toolkit, self.wheel, variable), boxes, group, f"package-wheel:{plain}")
            self._rule((self.python, variable), [(self._repython(mask), releases) for mask, releases in
                                                 (*table["python"], *table["source_python"])], group, f"package-python:{plain}")
        loads = self.loads(plain)
        if loads != everything:
            own = self.spec.target.glibc is not None
            places = (group, self._ask("target.glibc", self.spec.target.glibc) if own else self.target)
            built = [(toolkits & ~1, everything)] if self.buildable(plain) else []
            self._rule((self.toolkit, variable), [(toolkits, loads), *built], places, f"package-glibc:{plain}")
        self._rule((pair, self.wheel, variable),
                   [*((3, wheels, releases) for wheels, releases in table["pair"]), (2, self._all(self.wheel), everything)])
        for index, card in enumerate(self.cards or ()):
            if card.sm is not None and table["limits"]:
                self._limits(plain, variable, table, index, card)

    def _limits(self, plain: str, variable: int, table: dict[str, Any], index: int, card: Card) -> None:
        """GPUs that the package's own kernels serve."""
        sm = card.sm or 0
        everything = self._all(self.wheel)
        bad: dict[int, int] = {}  # wheels -> releases
        for low, high, build, _, _, releases in table["limits"]:
            if sm < low or (high and sm > high):
                wheels = self.tables["wheel_build"].get(build, 0) if build else everything
                if wheels:
                    bad[wheels] = bad.get(wheels, 0) | releases
        for wheels, releases in bad.items():
            self._rule((self.wheel, variable), [(everything & ~wheels, self._all(variable)),
                                                (everything, self._all(variable) & ~releases)],
                       (card.field, f"packages.{self.packages[plain][0]}"), f"package-gpu:{plain}:{index}")

    def _pins(self, plain: str, variable: int) -> None:
        """Other packages that releases of this one pin."""
        pins = self.tables["packages"][plain]["pins"]
        for other, (name, _, others) in self.packages.items():
            if other in pins:
                self._rule((variable, others), pins[other], (f"packages.{self.packages[plain][0]}", f"packages.{name}"),
                           f"package-pins:{plain}:{other}")

    def _repython(self, mask: int) -> int:
        """A mask over the catalogue's Pythons in the order of this question's."""
        if tuple(self.pythons) == self.tables["pythons"]:
            return mask
        order = self.tables["pythons"]
        return sum(1 << index for index, python in enumerate(self.pythons) if mask >> order.index(python) & 1)

    # -- least change ------------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        for name, kept in self.kept.items():
            value = str(self.facts[name])
            if name == "driver":
                variable, mask = self.driver, self.drivers.mask(Range(value))
            elif name == "torch":
                variable = self.wheel
                plain, _, label = value.partition("+")
                mask = self.tables["wheel_torch"].get(plain, 0)
                if label and label in self.tables["wheel_build"]:
                    mask &= self.tables["wheel_build"][label]
            else:
                variable, mask = self.python, sum(1 << i for i, each in enumerate(self.pythons) if each == t.minor(value))
            self._rule((kept, variable), [(3, mask), (2, self._all(variable))] if mask else [(2, self._all(variable))])


class Drivers:
    """Driver releases of one platform, with one more when the spec names a release that the catalogue does not know."""

    def __init__(self, table: dict[str, Any], catalog: Any, platform: str, exact: str) -> None:
        self.table, self.catalog, self.platform = table, catalog, platform
        known: int = table["count"]
        self.versions: tuple[str, ...] = table["versions"]
        self.branches: tuple[str, ...] = table["branches"]
        self.extra, self.unknown = 0, ""
        if exact and table["index"].get(exact) is None:
            self.extra, self.unknown = 1 << known, exact
            self.versions += (exact,)
            self.branches += (self._branch_of(exact),)
        self.count = len(self.versions)
        self.none = 1 << self.count
        self._key = version_key(exact) if self.extra else ()
        #: masks of the releases of each branch, the last those of no driver
        self.groups: list[int] = [*table["branch"].values(), *([self.extra] if self.extra else []), self.none]
        self._row = next((row for row in catalog.driver_branches if row.branch == self.branches[-1]), None) if self.extra else None

    def _branch_of(self, version: str) -> str:
        """The branch that a number belongs to: by Linux numbering its own, by Windows numbering the one whose numbers hold it,
        else the nearest below."""
        number = float(version.split(".", 1)[0])
        rows = sorted(self.catalog.driver_branches, key=lambda row: float(row.branch))
        best = ""
        for row in rows:
            if self.platform == "windows" and row.windows_numbers:
                first, _, last = row.windows_numbers.partition("-")
                if float(first) <= number <= float(last or first):
                    return str(row.branch)
                low = float(first)
            else:
                low = float(row.branch)
            if low <= number:
                best = row.branch
        return best

    def mask(self, wanted: Range) -> int:
        """Releases in a range."""
        quick = self._bounds(wanted.text)
        if quick is None:
            return sum(1 << index for index, version in enumerate(self.versions) if version in wanted)
        return quick | (self.extra if self.extra and self.versions[-1] in wanted else 0)

    def _bounds(self, text: str) -> int | None:
        """The same for bounds and whole series, without looking at every release; None for other ranges."""
        ascending, suffixes = self.table["ascending"], self.table["at_least"]
        mask: int = suffixes[0] if suffixes else 0
        for clause in text.split(","):
            clause = clause.strip()
            operator = clause.rstrip("0123456789.*")
            number = clause[len(operator):]
            whole = number.endswith(".*")
            number = number[:-2] if whole else number
            if operator not in (">=", "<", "==") or whole != (operator == "==") or not number or not is_dotted(number) \
                    or number.endswith(".0"):
                return None
            low = version_key(number)
            least: int = suffixes[bisect_left(ascending, low)]
            if operator == "==":
                least &= ~suffixes[bisect_left(ascending, (*low[:-1], low[-1] + 1))]
            mask &= ~least if operator == "<" else least
        return mask

    def one(self, version: str) -> int:
        """The release of just this spelling; without it the one that is the same number."""
        index = self.table["index"].get(version)
        if index is not None:
            return 1 << int(index)
        return self.extra or self.mask(Range("==" + version))

    def full(self, cuda: str) -> int:
        """Releases that serve a CUDA version as their own or an older one."""
        found: int = self.table["full"].get(cuda, 0)
        if self.extra and self._row and self._row.cuda and version_key(self._row.cuda) >= version_key(cuda) \
                and self._key >= version_key(t.floor_of(self.table["floors"], cuda) or "0"):
            found |= self.extra
        return found

    def floor(self, cuda: str) -> int:
        """Releases that serve it at least by minor-version compatibility."""
        found: int = self.table["floor"].get(cuda, 0)
        low = t.floor_of(self.table["floors"], cuda)
        if self.extra and low and self._key >= version_key(low):
            found |= self.extra
        return found

    def compat(self, cuda: str) -> int:
        """Releases that a forward-compatibility package lifts to it."""
        found: int = self.table["compat"].get(cuda, 0)
        if self.extra and self._row is not None:
            same = self.table["branch"].get(self._row.branch, 0)
            if same & found:
                found |= self.extra
        return found

    def architecture(self, name: str) -> int:
        """Releases that serve a generation of GPUs."""
        found: int = self.table["arch"].get(name, (self.none - 1, 0, 0))[0]
        return found | (self.extra if self.extra and self._serves(name) else 0)

    def _serves(self, name: str) -> bool:
        row = next((each for each in self.catalog.architectures if each.name == name), None)
        if row is None:
            return True
        if not t.between(self.branches[-1] or "0", row.first_branch, row.last_branch):
            return False
        return self.platform == "windows" or not row.first_driver or self._key >= version_key(row.first_driver)

    def listed(self, card: Card) -> tuple[int, int]:
        """Releases that list a product, and older ones of a branch that lists it later, which may serve it or not.

        A product works on releases before the one whose README lists it more often than not (a README is no formal minimum), but
        nobody says so; a branch that never lists it, before the first that does, is taken not to."""
        mask = t.at_least(self.table, card.first_driver)
        maybe = 0
        for version in {card.first_driver, *card.first_in_branch}:
            branch = self.table["branch"].get(version.split(".", 1)[0], 0)
            early = branch & ~t.at_least(self.table, version)
            mask &= ~early
            maybe |= early
        if self.extra:
            own = [version for version in (card.first_driver, *card.first_in_branch) if version.split(".", 1)[0] == self.branches[-1]]
            if own and self._key < version_key(own[0]):
                maybe |= self.extra
            elif self._key >= version_key(card.first_driver):
                mask |= self.extra
        return mask, maybe

    def modules(self, card: Card) -> tuple[int, int]:
        """Releases whose open, and whose proprietary modules serve a card."""
        _, with_open, with_proprietary = self.table["arch"].get(card.architecture, (0, self.none - 1, self.none - 1))
        first = "" if card.early_open or card.open_modules == "required" else self.table["open_other"]
        if first:
            with_open &= t.at_least(self.table, first)
        if self.extra:
            row = next((each for each in self.catalog.architectures if each.name == card.architecture), None)
            if row is None or (row.open_modules != "unsupported" and (
                    not row.open_first_driver or self._key >= version_key(row.open_first_driver)) and (
                    not first or self._key >= version_key(first))):
                with_open |= self.extra
            with_proprietary |= self.extra
        if card.open_modules == "unsupported":
            with_open = 0
        elif card.open_modules == "required":
            with_proprietary = 0
        return with_open, with_proprietary

    def flavoured(self, flavour: str) -> int:
        """Releases that exist with these kernel modules."""
        found: int = self.table["flavour"][flavour]
        return found | (self.extra if self._row is not None and flavour in self._row.flavours else 0)

    def offers(self, os: str, arch: str, origin: str) -> tuple[int, int]:
        """Releases that a source offers on a system, with open and with proprietary modules."""
        found: tuple[int, int] = self.table["offers"].get((os, arch, origin), (0, 0))
        return found


# -- spellings ---------------------------------------------------------------------------------------------------------


def exact_driver(version: str | None) -> str:
    """The release that a driver wish names, "" when it is a range."""
    text = (version or "").strip()
    if text.startswith("==") and not text.startswith("==="):
        text = text[2:].strip()
    return text if "." in text and is_dotted(text) else ""


def series(text: str, parts: int = 2) -> str:
    """A bare version of at most `parts` numbers stands for its whole series: "2.5" -> "==2.5.*", "12" -> "==12.*"."""
    plain = text.strip()
    if is_dotted(plain) and "+" not in plain and len(plain.split(".")) <= parts:
        return f"=={plain}.*"
    return plain


def driver_range(text: str) -> str:
    """A driver range in which a bare branch means the whole branch: "535" -> "==535.*", "<=535" -> "<536", ">535" -> ">=536"."""
    told = []
    for clause in text.split(","):
        clause = clause.strip()
        operator = clause.rstrip("0123456789. *")
        number = clause[len(operator):].strip()
        if number.isdigit() and operator.strip() in ("", "==", "!=", "<=", ">"):
            plain = operator.strip() or "=="
            clause = {"==": f"=={number}.*", "!=": f"!={number}.*", "<=": f"<{int(number) + 1}", ">": f">={int(number) + 1}"}[plain]
        told.append(clause)
    return ",".join(told)


def tag_to_cuda(text: str) -> str:
    """cu124, cuda124 -> 12.4; anything else as it is."""
    word = text.strip().lower()
    for prefix in ("cuda", "cu"):
        digits = word[len(prefix):]
        if word.startswith(prefix) and digits.isdigit() and len(digits) >= 2:
            return f"{digits[:-1]}.{digits[-1]}"
    return text


def same_release(asked: str, row: str) -> bool:
    """Whether a release number is the same, or a shorter one that covers it: "36" covers "36.4.3", "5.1.2" is within "5.1"."""
    one, other = asked.lower().lstrip("r").split("."), row.lower().lstrip("r").split(".")
    count = min(len(one), len(other))
    return one[:count] == other[:count]


def near_versions(asked: str, known: tuple[str, ...], count: int = 3) -> list[str]:
    """Known versions nearest to what a wish names."""
    digits = "".join(each if each.isdigit() or each == "." else " " for each in asked).split()
    if not digits:
        return nearest(asked, known, count)
    wanted = version_key(digits[0])
    ranked = sorted(known, key=lambda each: _distance(version_key(each), wanted))
    return ranked[:count]


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    size = max(len(one), len(other))
    left, right = one + (0,) * (size - len(one)), other + (0,) * (size - len(other))
    return tuple(abs(a - b) for a, b in zip(left, right, strict=True))
