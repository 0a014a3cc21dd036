"""`provision matrix`: which builds of torch work with a GPU, a driver, a CUDA, a system, a Python, and why the others do not.

`matrix` answers with data, `render_matrix` writes it down. Both are pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from provisioner.catalog import cover
from provisioner.catalog.table import render_matrix, span
from provisioner.errors import Problem, nearest
from provisioner.versions import Range, is_dotted, minor, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from provisioner.catalog import model
    from provisioner.catalog.load import Catalog

Fact = tuple[str, tuple[object, ...]]  # table, key


class Row(NamedTuple):
    """A build of torch that works with all that was asked."""

    torch: str
    build: str  # cu128, cpu; on conda-forge cuda129
    cuda: str  # X.Y, "" for cpu
    platform: str
    channel: str  # pip | conda-forge | conda-pytorch | jetpack
    works: str  # yes | ptx (compiled by the driver at the first start) | unknown (nobody knows)
    gpus: dict[str, str]  # each GPU asked for: cubin | ptx | unknown
    pythons: tuple[str, ...]
    driver: str  # with a driver asked for: full | minor | forward | unlisted (older than what lists the GPU) | unknown; else ""
    driver_min: str  # lowest driver for this build and these GPUs, "" for cpu
    driver_full: str  # oldest branch that serves its CUDA as its own or an older one, so that PTX works too
    driver_last: str  # last branch that serves all the GPUs, "" = still supported
    branches: tuple[str, ...]  # driver branches that serve it, on this system where one was asked for, oldest first
    flavours: tuple[str, ...]  # kernel modules that serve all the GPUs: open, proprietary
    glibc: str
    cudnn: str | None
    nccl: str | None
    triton: str | None
    torchvision: str
    torchaudio: str
    sm: tuple[int, ...] | None  # None: nobody knows
    ptx: tuple[int, ...] | None
    default: bool  # what the package index serves without an index URL
    index_url: str
    install: str  # for pip
    facts: tuple[Fact, ...]


class Left(NamedTuple):
    """A build that was asked about and does not work."""

    torch: str
    build: str
    platform: str
    channel: str
    reason: tuple[str, ...]  # a word of `_REASONS`, and what goes into its text
    facts: tuple[Fact, ...]


class Matrix(NamedTuple):
    """The answer."""

    catalog: Catalog
    asked: dict[str, Any]
    about: tuple[dict[str, Any], ...]  # what the catalogue says of the things asked for
    rows: tuple[Row, ...]
    left: tuple[Left, ...]
    nearest: tuple[Row, ...]  # when nothing works: the best without the wish for a torch, a CUDA, a Python
    why: bool


def matrix(
    catalog: Catalog, *, torch: str | None = None, gpu: str | None = None, driver: str | None = None, cuda: str | None = None,
    os: str | None = None, python: str | None = None, arch: str | None = None, every: bool = False, why: bool = False,
) -> Matrix:
    """Ask which builds of torch work.

    torch: a version, a series ("2.7"), a range, "latest". gpu: one, or several separated by commas, which all have to work.
    driver: a release, a branch ("535"), or a range of which the newest release counts. cuda: "12.4", "cu124", "cpu", a range.
    os: an id or alias of a system. every: every release, not just the newest of each minor that works. why: keep the sources.
    Raises Problem (status 2) for what nobody knows."""
    question = _Question(catalog, torch, gpu, driver, cuda, os, python, arch)
    rows, left = question.answer(every)
    near: list[Row] = []
    if not rows:
        for wishes in ((None, cuda, python), (torch, None, python), (None, None, python), (None, None, None)):
            if wishes == (torch, cuda, python):
                continue
            near = _Question(catalog, wishes[0], gpu, driver, wishes[1], os, wishes[2], arch).answer(False)[0][:2]
            if near:
                break
    asked = {name: value for name, value in (("torch", torch), ("gpu", gpu), ("driver", driver), ("cuda", cuda), ("os", os),
                                             ("python", python), ("arch", arch)) if value}
    return Matrix(catalog, asked, tuple(question.about()), tuple(rows), tuple(left), tuple(near), why)


class _Question:
    """What was asked, read."""

    def __init__(self, catalog: Catalog, torch: str | None, gpu: str | None, driver: str | None, cuda: str | None, os: str | None,
                 python: str | None, arch: str | None) -> None:
        self.catalog = catalog
        self.cards = [card for text in (gpu or "").split(",") if text.strip() for card in cover.cards(catalog, text.strip())]
        self.system = catalog.system(os) if os else None
        if self.system is not None and arch and self.system.arches and arch not in self.system.arches:
            raise Problem("matrix-arch", f"{self.system.id} does not exist for {arch}",
                          todo=f"it does for {', '.join(self.system.arches)}")
        self.wsl = self.system is not None and self.system.id.startswith("wsl")
        self.driver, self.driver_platform = _driver(catalog, driver) if driver else ("", "")
        if self.driver and self.wsl and driver:  # inside WSL the driver is Windows'
            self.driver_platform = "windows"
        self.releases = _releases(catalog, torch)
        self.label = torch.partition("+")[2] if torch else ""
        self.cuda = _cuda(catalog, cuda)
        self.python = _python(catalog, python)
        self.platforms = self._platforms(arch)
        self.capabilities = {card: catalog.row("capabilities", card.sm) for card in self.cards}
        self._drivers: dict[tuple[str, bool, bool], tuple[list[str], list[tuple[str, ...]], tuple[str, ...]]] = {}
        self._pairs: dict[tuple[str, str], str] = {}
        self.beside = cover.cudnn_beside(catalog)
        self.vision = {package: [row for row in catalog.companions if row.package == package and not row.yanked]
                       for package in ("torchvision", "torchaudio")}

    def _platforms(self, arch: str | None) -> set[str]:
        every = {"linux": {"x86_64": "linux_x86_64", "aarch64": "linux_aarch64"},
                 "windows": {"x86_64": "win_amd64", "aarch64": "win_arm64"},
                 "macos": {"x86_64": "macos_x86_64", "aarch64": "macos_arm64"}}
        family = self.system.family if self.system is not None else ""
        kinds = [family] if family in ("windows", "macos") else ["linux"] if family else list(every)
        if self.driver_platform == "linux":
            kinds = [kind for kind in kinds if kind == "linux"]
        elif self.driver_platform == "windows" and not self.wsl:
            kinds = [kind for kind in kinds if kind == "windows"]
        arches = [arch] if arch else list(self.system.arches) if self.system is not None and self.system.arches else ["x86_64", "aarch64"]
        return {every[kind][each] for kind in kinds for each in arches}

    # -- the answer

    def answer(self, every: bool) -> tuple[list[Row], list[Left]]:
        """What works, best first, and what does not."""
        rows: list[Row] = []
        left: list[Left] = []
        for build in self.catalog.torch_builds:
            if build.torch not in self.releases or build.platform not in self.platforms or not self._wanted(build):
                continue
            if self.python and self.python not in build.pythons:
                left.append(self._left(build, ("python", self.python, span(build.pythons)), (("torch_builds", _place(build)),)))
                continue
            made = self._judge(build)
            if isinstance(made, Row):
                rows.append(made)
            else:
                left.append(made)
        rows += self._jetpacks()
        if not every:
            old = {"conda-pytorch"} if len(self.releases) == len(self.catalog.torch_releases) else set()
            rows = _newest([row for row in rows if row.channel not in old])  # a channel that has ended, unless asked about a torch
            shown = {(minor(row.torch), row.build, row.platform, row.channel) for row in rows}
            left = [each for each in _newest(left) if (minor(each.torch), each.build, each.platform, each.channel) not in shown]
        return sorted(rows, key=_order), sorted(left, key=_order)

    def _wanted(self, build: model.TorchBuild) -> bool:
        if self.label and build.build != self.label:
            return False
        if self.cuda is not None:
            return build.cuda in self.cuda
        return bool(build.cuda) or not (self.cards or self.driver)  # whoever names a GPU or a driver wants them used

    def _left(self, build: model.TorchBuild, reason: tuple[str, ...], facts: tuple[Fact, ...]) -> Left:
        return Left(build.torch, build.build, build.platform, build.channel, reason, facts)

    def _judge(self, build: model.TorchBuild) -> Row | Left:
        """One build against the GPUs, the driver and the system."""
        catalog, place = self.catalog, _place(build)
        arch, pin = catalog.row("torch_archs", *place), catalog.row("torch_pins", *place)
        facts: list[Fact] = [("torch_builds", place)]
        if self.system is not None and build.glibc and self.system.glibc and number(build.glibc) > number(self.system.glibc):
            return self._left(build, ("glibc", build.glibc, self.system.id, self.system.glibc), (*facts, ("systems", (self.system.id,))))
        verdicts: dict[str, str] = {}
        platform = "windows" if build.platform.startswith("win") or self.wsl else "linux"
        if build.cuda:
            cudnn = cover.bundled_cudnn(catalog, build, self.beside) if self.cards else ""
            for card in self.cards:
                serves = cover.cudnn_serves(catalog.cudnn, cudnn, build.cuda, card.sm) if cudnn and card.sm else None
                judged = self._code(build, arch, card, serves)
                if not judged:
                    why = (("torch_archs", place),) if arch else ()
                    return self._left(build, ("code", card.name, _name(card.sm), _sms(arch)), (*facts, *why, *card.rows))
                verdicts[card.name] = judged
                if serves is False:
                    why = (("torch_pins", place),) if pin else ()
                    return self._left(build, ("cudnn", cudnn, card.name, _name(card.sm)), (*facts, *why, *card.rows))
        if arch:
            facts.append(("torch_archs", place))
        if pin:
            facts.append(("torch_pins", place))
        facts += [fact for card in self.cards for fact in card.rows]
        jit = "ptx" in verdicts.values()
        served = ""
        branches: list[str] = []
        flavours: tuple[str, ...] = ()
        lowest = full = last = ""
        if build.cuda:
            facts += [("cuda_majors", (each,)) for each in (build.cuda, build.cuda.split(".")[0]) if catalog.row("cuda_majors", each)]
            last = min((card.last_branch for card in self.cards if card.last_branch), key=number, default="")
            if self.driver:
                reason, served = self._on_driver(build, platform, jit)
                if reason:
                    branch = cover.branch_of(catalog, self.driver, platform)
                    return self._left(build, reason, (*facts, *((("driver_branches", (branch.branch,)),) if branch else ())))
            branches, reasons, flavours = self._serving(build.cuda, platform == "windows", jit)
            if not branches and not self.driver:
                return self._left(build, reasons[0] if reasons else ("no-driver", build.cuda), tuple(facts))
            if any(card.open_modules == "none" for card in self.cards):
                branches = []
            else:
                full = cover.full_branch(catalog, build.cuda)
                lowest = self._lowest(build.cuda, platform, branches)
        works = "unknown" if {"unknown", "unlisted"} & {*verdicts.values(), served} else "ptx" if jit else "yes"
        return Row(build.torch, build.build, build.cuda, build.platform, build.channel, works, verdicts, build.pythons, served, lowest,
                   full, last, tuple(branches), flavours, build.glibc, pin.cudnn if pin else None, pin.nccl if pin else None,
                   pin.triton if pin else None, self._pair("torchvision", build.torch), self._pair("torchaudio", build.torch),
                   arch.sm if arch else None if build.cuda else (), arch.ptx if arch else None if build.cuda else (), build.default,
                   build.index_url, _install(build), tuple(dict.fromkeys(facts)))

    def _lowest(self, cuda: str, platform: str, branches: list[str]) -> str:
        """The lowest driver: of the CUDA's floor, what the GPUs need, and the first branch that serves all of it."""
        firsts = [cover.floor(self.catalog, cuda, platform)]
        if platform == "linux":
            for card in self.cards:
                arch = self.catalog.row("architectures", card.architecture)
                firsts += [card.first_driver, arch.first_driver if arch else ""]
        if branches:
            branch = self.catalog.row("driver_branches", branches[0])
            if platform == "windows":
                firsts.append(branch.windows_numbers.partition("-")[0])
            elif not any(each and number(each)[0] >= number(branch.branch)[0] for each in firsts):
                firsts.append(branch.branch)
        return max((each for each in firsts if each), key=number, default="")

    def _code(self, build: model.TorchBuild, arch: model.TorchArch | None, card: cover.Card, cudnn: bool | None) -> str | None:
        """cubin, ptx or unknown; None when the build does not run on the GPU."""
        capability = self.capabilities[card]
        if capability is None:
            return "unknown"
        if card.open_modules == "none" or capability.integrated:  # a Jetson takes ordinary builds from JetPack 7 on
            fits = any(card.sm in row.sm and number(row.l4t) >= (38,) and row.cuda.split(".")[0] == build.cuda.split(".")[0]
                       for row in self.catalog.jetpacks)
            if not fits or build.platform != "linux_aarch64":
                return None
        judged = "unknown" if arch is None else cover.covers(arch.sm, arch.ptx, capability)
        return None if judged == "ptx" and not cover.ptx_carries(capability, build.cuda, cudnn) else judged

    def _on_driver(self, build: model.TorchBuild, platform: str, jit: bool) -> tuple[tuple[str, ...], str]:
        """Why the driver that was asked for does not serve a build, or how it does."""
        catalog, driver = self.catalog, self.driver
        for card in self.cards:
            if cover.driver_knows(catalog, card, driver, platform) is False:
                return ("driver-gpu", driver, card.name, card.last_branch, card.first_driver), ""
            if platform == "linux" and card.open_modules != "none" and not cover.flavours(catalog, card, driver):
                return ("driver-modules", driver, card.name), ""
        compat = bool(self.cards) and all(card.forward_compat for card in self.cards)
        served = cover.driver_serves(catalog, build.cuda, driver, platform, compat)
        if served == "no":
            return ("driver-cuda", driver, build.cuda, cover.floor(catalog, build.cuda, platform)), ""
        if jit and served != "full":
            return ("driver-ptx", driver, build.cuda, cover.full_branch(catalog, build.cuda)), ""
        unlisted = any(cover.driver_knows(catalog, card, driver, platform) is None for card in self.cards if card.open_modules != "none")
        return (), "unlisted" if unlisted else served or "unknown"

    def _serving(self, cuda: str, windows: bool, jit: bool) -> tuple[list[str], list[tuple[str, ...]], tuple[str, ...]]:
        """Driver branches that serve a CUDA and all the GPUs, on the system; why there is none; flavours of the newest."""
        place = (cuda, windows, jit)
        if place not in self._drivers:
            self._drivers[place] = self._find_serving(cuda, "windows" if windows else "linux", jit)
        return self._drivers[place]

    def _find_serving(self, cuda: str, platform: str, jit: bool) -> tuple[list[str], list[tuple[str, ...]], tuple[str, ...]]:
        catalog = self.catalog
        if any(card.open_modules == "none" for card in self.cards):
            return ["-"], [], ()  # a SoC's driver is part of its system
        names = " + ".join(card.name for card in self.cards)
        found: list[str] = []
        flavours: tuple[str, ...] = ()
        reasons: set[tuple[str, ...]] = set()
        offered = self._offered() if platform == "linux" else None
        for branch in sorted(catalog.driver_branches, key=lambda row: number(row.branch)):
            if platform == "windows" and not branch.windows_numbers:
                continue
            latest = branch.latest if platform == "linux" else _windows(branch)
            if cover.driver_serves(catalog, cuda, latest, platform) not in (("full",) if jit else ("full", "minor")):
                continue
            if any(cover.driver_knows(catalog, card, latest, platform) is False for card in self.cards):
                reasons.add(("gpu-branches", cuda, names))
                continue
            common: set[str] = set()
            if platform == "linux":
                common = set(branch.flavours).intersection(*(cover.flavours(catalog, card, latest) for card in self.cards))
                if not common:
                    reasons.add(("modules", names))
                    continue
                if offered is not None:
                    common &= offered.get(branch.branch, set())
                    if not common:
                        reasons.add(("not-offered", self.system.id if self.system is not None else "", cuda))
                        continue
            found.append(branch.branch)
            flavours = tuple(sorted(common))
        return found, sorted(reasons, key=lambda reason: ("not-offered", "modules", "gpu-branches").index(reason[0])), flavours

    def _offered(self) -> dict[str, set[str]] | None:
        """Branches that the system's sources offer, with their flavours; None where nobody says."""
        if self.system is None or self.wsl:
            return None
        rows = [row for row in self.catalog.driver_offers if row.os == self.system.id
                and f"linux_{row.arch}" in self.platforms]
        if not rows:
            return None
        found: dict[str, set[str]] = {}
        for row in rows:
            for branch in self.catalog.driver_branches:
                inside = number(row.first) <= number(branch.branch) and (not row.last or number(branch.branch) <= number(row.last))
                if inside and branch.branch not in row.except_branches:
                    found.setdefault(branch.branch, set()).update(set(row.flavours) & set(branch.flavours))
        return found

    def _pair(self, package: str, torch: str) -> str:
        if (package, torch) not in self._pairs:
            known = [row for row in self.vision[package] if row.pair == torch or row.torch == f"=={torch}"]
            wide = known or [row for row in self.vision[package]
                             if row.torch and not row.torch.startswith("==") and _inside(torch, row.torch)]
            self._pairs[package, torch] = max((row.version for row in wide), key=number, default="")
        return self._pairs[package, torch]

    def _jetpacks(self) -> list[Row]:
        """Wheels that a JetPack has of its own, for the Jetsons asked for."""
        found = []
        integrated = [card for card in self.cards if self.capabilities[card] is not None and self.capabilities[card].integrated]
        if not integrated or len(integrated) != len(self.cards) or self.driver:
            return []
        for pack in self.catalog.jetpacks:
            if any(card.sm not in pack.sm for card in integrated) or (self.system is not None and self.system.id != pack.os) \
                    or (self.python and self.python != pack.python) or (self.cuda is not None and pack.cuda not in self.cuda):
                continue
            build = "cu" + pack.cuda.replace(".", "")
            for torch in pack.torch:
                if torch in self.releases:
                    install = f"pip install torch=={torch} --index-url {pack.index_url}" if pack.index_url else ""
                    verdicts = {card.name: "cubin" for card in integrated}
                    facts = (("jetpacks", (pack.l4t,)), *(fact for card in integrated for fact in card.rows))
                    found.append(Row(torch, build, pack.cuda, f"jetpack-{pack.jetpack}", "jetpack", "yes", verdicts, (pack.python,),
                                     "", "", "", "", (), (), "", None, "", None, "", "", pack.sm, (), False, pack.index_url, install,
                                     facts))
        return found

    # -- about the things asked for

    def about(self) -> Iterator[dict[str, Any]]:
        """What the catalogue says of each."""
        catalog = self.catalog
        for card in self.cards:
            yield {"kind": "gpu", "name": card.name, "capability": _name(card.sm), "architecture": card.architecture,
                   "open_modules": card.open_modules, "first_driver": card.first_driver, "last_branch": card.last_branch,
                   "forward_compat": card.forward_compat, "facts": card.rows}
        if self.driver:
            platform = self.driver_platform or "linux"
            branch = cover.branch_of(catalog, self.driver, platform)
            if branch is not None:
                yield {"kind": "driver", "driver": self.driver, "branch": branch.branch, "type": branch.kind, "cuda": branch.cuda,
                       "end_of_life": branch.end_of_life, "flavours": branch.flavours, "architectures": branch.architectures,
                       "platform": self.driver_platform or "linux, windows", "facts": (("driver_branches", (branch.branch,)),)}
        for cuda in sorted(self.cuda or (), key=number):
            if cuda and len(self.cuda or ()) < 4:
                yield self._about_cuda(cuda)
        if self.system is not None:
            system = self.system
            offers = [row for row in catalog.driver_offers if row.os == system.id and (f"linux_{row.arch}" in self.platforms)]
            toolkits = [row for row in catalog.toolkit_offers if row.os == system.id and (f"linux_{row.arch}" in self.platforms)]
            yield {"kind": "os", "id": system.id, "name": system.name, "glibc": system.glibc, "kernel": system.kernel, "gcc": system.gcc,
                   "python": system.python, "pythons": system.pythons, "end_of_life": system.end_of_life,
                   "drivers": [{"origin": row.origin, "arch": row.arch, "first": row.first, "last": row.last,
                                "except": row.except_branches, "flavours": row.flavours} for row in offers],
                   "toolkits": [{"arch": row.arch, "first": row.first, "last": row.last, "missing": row.missing} for row in toolkits],
                   "facts": (("systems", (system.id,)), *(("driver_offers", (row.os, row.arch, row.origin, row.first)) for row in offers),
                             *(("toolkit_offers", (row.os, row.arch, row.first)) for row in toolkits))}

    def _about_cuda(self, cuda: str) -> dict[str, Any]:
        catalog = self.catalog
        toolkits = [row for row in catalog.toolkits if minor(row.version) == cuda]
        gcc = catalog.row("host_compilers", cuda, "gcc")
        family = catalog.row("cuda_majors", cuda) or catalog.row("cuda_majors", cuda.split(".")[0])
        lift = catalog.row("forward_compat", cuda)
        return {"kind": "cuda", "cuda": cuda, "full_branch": cover.full_branch(catalog, cuda),
                "min_driver_linux": cover.floor(catalog, cuda), "min_driver_windows": cover.floor(catalog, cuda, "windows"),
                "toolkits": {row.version: {"min_driver_linux": row.min_driver_linux, "min_driver_windows": row.min_driver_windows,
                                           "bundled_linux": row.bundled_linux} for row in toolkits},
                "compiles": [row.sm for row in catalog.capabilities if number(row.first_toolkit) <= number(cuda)
                             and (not row.last_toolkit or number(cuda) <= number(row.last_toolkit))],
                "gcc": gcc.last if gcc else None, "forward_compat": lift.branches if lift else (),
                "facts": (*((("cuda_majors", (family.major,)),) if family else ()), *(("toolkits", (row.version,)) for row in toolkits),
                          *((("host_compilers", (cuda, "gcc")),) if gcc else ()), *((("forward_compat", (cuda,)),) if lift else ()))}


# -- reading what was asked --------------------------------------------------------------------------------------------


def _place(build: model.TorchBuild) -> tuple[str, str, str, str]:
    return (build.torch, build.build, build.platform, build.channel)


def _range(field: str, text: str) -> Range:
    try:
        return Range(text)
    except ValueError:
        raise Problem("matrix-range", f"{field}: {text!r} is neither a version nor a range",
                      todo='write it like "2.7", "2.7.1" or ">=2.5,<2.8"') from None


def _inside(version: str, text: str) -> bool:
    try:
        return version in Range(text)
    except ValueError:
        return False


def _releases(catalog: Catalog, text: str | None) -> set[str]:
    """Releases of torch that were asked for."""
    known = [row.version for row in catalog.torch_releases]
    if text is None or text.strip() in ("", "*"):
        return set(known)
    plain = text.partition("+")[0].strip()
    if plain == "latest":
        return {max(known, key=number)}
    wanted = _range("torch", f"=={plain}.*" if is_dotted(plain) and plain.count(".") < 2 else plain)
    found = {version for version in known if version in wanted}
    if not found:
        near = sorted({minor(version) for version in known}, key=number)
        raise Problem("matrix-torch", f"no torch release is {text}", todo=f"did you mean {' or '.join(_nearest(plain, known))}? "
                      f"Known are {near[0]} to {near[-1]}")
    return found


def _nearest(text: str, known: Iterable[str]) -> list[str]:
    """Versions nearest to a number, or to a spelling."""
    digits = "".join(each if each.isdigit() or each == "." else " " for each in text).split()
    if not digits:
        return nearest(text, list(known)) or [max(known, key=number)]
    wanted = number(digits[0])

    def far(version: str) -> tuple[int, ...]:
        own = number(version)
        size = max(len(own), len(wanted))
        return tuple(abs(a - b) for a, b in zip(own + (0,) * (size - len(own)), wanted + (0,) * (size - len(wanted)), strict=True))

    return sorted(known, key=far)[:2]


def _cuda(catalog: Catalog, text: str | None) -> set[str] | None:
    """CUDA versions of builds that were asked for; {""} for cpu, None when nothing was."""
    if text is None or text.strip() in ("", "*"):
        return None
    word = text.strip().lower()
    if word in ("cpu", "none"):
        return {""}
    for prefix in ("cuda", "cu"):
        digits = word[len(prefix):]
        if word.startswith(prefix) and digits.isdigit() and len(digits) > 1:
            word = f"{digits[:-1]}.{digits[-1]}"
    known = {row.cuda for row in catalog.torch_builds if row.cuda}
    if is_dotted(word) and word.count(".") == 2:  # a toolkit release: its builds are those of its minor
        word = minor(word)
    wanted = _range("cuda", f"=={word}.*" if is_dotted(word) and word.count(".") < 2 else word)
    found = {cuda for cuda in known if cuda in wanted}
    toolkits = {minor(row.version) for row in catalog.toolkits}
    if not found and not any(cuda in wanted for cuda in toolkits):
        raise Problem("matrix-cuda", f"nobody knows CUDA {text}", todo=f"did you mean {' or '.join(_nearest(word, toolkits))}?")
    return found or {cuda for cuda in toolkits if cuda in wanted}


def _python(catalog: Catalog, text: str | None) -> str:
    if text is None or text.strip() in ("", "*"):
        return ""
    plain = text.strip().lower().removeprefix("python").removeprefix("cp").strip()
    if plain.isdigit() and len(plain) > 1:  # 311, cp311
        plain = f"{plain[0]}.{plain[1:]}"
    known = sorted({python for row in catalog.torch_builds for python in row.pythons}, key=number)
    if not is_dotted(plain) or minor(plain) not in known:
        raise Problem("matrix-python", f"no build of torch is for Python {text}",
                      todo=f"did you mean {' or '.join(_nearest(plain, known))}? Known are {known[0]} to {known[-1]}")
    return minor(plain)


def _driver(catalog: Catalog, text: str) -> tuple[str, str]:
    """A driver release, and the platform that its number is of where it is of one alone."""
    word = text.strip().lower().lstrip("rv").removeprefix("==")
    if word.isdigit():  # a branch stands for its newest release
        branch = catalog.row("driver_branches", word)
        if branch is None:
            raise Problem("matrix-driver", f"there is no driver branch {text}",
                          todo=f"did you mean {' or '.join(_nearest(word, [row.branch for row in catalog.driver_branches]))}?")
        return str(branch.latest), "linux"
    if is_dotted(word):
        known = {row.platform for row in catalog.driver_releases if row.version == word}
        if len(known) == 1:
            return word, known.pop()
        if catalog.row("driver_branches", word.split(".")[0]) is None and word.count(".") == 1:
            return word, "windows"  # its branches on Windows span several numbers, on Linux each is one
        return word, "linux" if word.count(".") > 1 else ""
    wanted = _range("driver", word)
    found = [row.version for row in catalog.driver_releases if row.platform == "linux" and not row.beta and row.version in wanted]
    if not found:
        raise Problem("matrix-driver", f"no driver release is {text}", todo="write a release (535.129.03) or a branch (535)")
    return max(found, key=number), "linux"


def _windows(branch: model.DriverBranch) -> str:
    """A Windows number of a branch: its highest."""
    return (branch.windows_numbers.rpartition("-")[2] or branch.branch) + ".99"


def _newest(rows: list[Any]) -> list[Any]:
    """Of each torch minor, build, platform and channel the newest release."""
    best: dict[tuple[str, ...], Any] = {}
    for row in rows:
        place = (minor(row.torch), row.build, row.platform, row.channel)
        if place not in best or number(row.torch) > number(best[place].torch):
            best[place] = row
    return list(best.values())


_CHANNELS = ("pip", "jetpack", "conda-forge", "conda-pytorch")
_PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64", "win_arm64", "macos_arm64", "macos_x86_64")


def _order(row: Any) -> tuple[Any, ...]:
    """Newest torch first, then what is sure, then newest CUDA, cpu last."""
    digits = row.build.lstrip("cuda")
    works = ("yes", "ptx", "unknown").index(getattr(row, "works", "yes"))
    cuda = -int(digits) if digits.isdigit() else 0
    return (tuple(-part for part in (*number(row.torch), 0, 0, 0)[:4]), works, _CHANNELS.index(row.channel), cuda, row.build,
            _PLATFORMS.index(row.platform) if row.platform in _PLATFORMS else 9)


def _install(build: model.TorchBuild) -> str:
    """The pip command. Before 2.0 PyTorch's index held torch alone, and only the label kept pip from the package index's build."""
    if build.channel != "pip":
        return ""
    if build.default:
        return f"pip install torch=={build.torch}"
    if number(build.torch) >= (2,):
        return f"pip install torch=={build.torch} --index-url {build.index_url}"
    return f"pip install torch=={build.torch}{build.label} --extra-index-url {build.index_url}"


def _name(sm: int | None) -> str:
    return "unknown" if sm is None else f"sm_{sm}"


def _sms(arch: model.TorchArch | None) -> str:
    if arch is None:
        return ""
    return " ".join([*map(str, arch.sm), *(f"{each}+PTX" for each in arch.ptx)])


__all__ = ["Left", "Matrix", "Row", "matrix", "render_matrix"]
