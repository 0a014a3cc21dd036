# ruff: noqa: ARG002 - every fact is told by a method of one signature
"""Why something is impossible: which lines of the user's, and which facts, as data and as sentences.

`blame` finds a minimal set of requirements that exclude each other, all facts taken for granted, and then a minimal set of facts
that these requirements run into. `fact` tells one of them, with the numbers that matter here: it asks the solver what would come
without that fact, and tells what is wrong with that.
"""

from __future__ import annotations

from provisioner.solver import tables as t
from provisioner.solver.cards import Card, capability_name
from provisioner.solver.words import say
from provisioner.versions import Range
from provisioner.versions import number as version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from provisioner.solver.problem import Question, Requirement
    from provisioner.solver.search import Constraint

#: The order in which requirements are looked at: when several conflicts are minimal, the one of the earlier lines is told.
_ORDER = ("torch", "gpus", "cuda", "driver", "python", "packages", "toolkit", "cudnn", "nccl", "target.glibc", "target.gcc", "target",
          "installer")


def order_of(field: str) -> tuple[int, str]:
    """Where a requirement stands in `_ORDER`."""
    head = field if field in _ORDER else field.split("[")[0].split(".")[0]
    return (_ORDER.index(head) if head in _ORDER else len(_ORDER), field)


def blame(question: Question, extra: Sequence[Constraint] = ()) -> tuple[list[str], list[str]]:
    """Requirements (fields) and facts (groups) that together admit no world with `extra`; both minimal.

    Target, installer and toolkit are circumstances: without its line each has a default, which may fit less. A conflict is looked
    for with them in place, and each is named when there is none with its default instead (for the target: an ordinary machine)."""
    world = question.world
    defaults: dict[str, list[Constraint]] = {"target": [], "installer": [_only(question.wheel, question.tables["wheel_channel"]["pip"])]}
    if question.packages:
        defaults["toolkit"] = [_only(question.toolkit, 1)]
    fields = sorted((field for field in question.requirements if field not in defaults), key=order_of)
    found = world.conflict(fields, frozenset(), extra)
    rest = frozenset(fields) - frozenset(found)
    for name in [each for each in question.requirements if each in defaults]:
        if world.holds(rest | {name}, [*extra, *defaults[name]]):
            found.append(name)
        elif not defaults[name]:
            rest |= {name}
    return found, world.conflict(list(question.facts_used), rest, extra, smallest=False)


def _only(variable: int, values: int) -> Constraint:
    return (variable,), ((values,),), frozenset()


class Told:
    """A fact in words, with its row."""

    __slots__ = ("confidence", "row", "source", "table", "text")

    def __init__(self, text: str, table: str = "", row: str = "", source: str = "", confidence: str = "") -> None:
        self.text, self.table, self.row, self.source, self.confidence = text, table, row, source, confidence

    def as_fact(self) -> dict[str, str]:
        """As `because[].facts` has it."""
        return {"table": self.table, "row": self.row, "source": self.source, "confidence": self.confidence}

    def as_entry(self) -> dict[str, str]:
        """As `conflict` has it."""
        return {"kind": "fact", "text": self.text, "table": self.table, "row": self.row, "source": self.source,
                "confidence": self.confidence}


def wheel_name(wheel: tuple[Any, ...]) -> str:
    """torch 2.7.1+cu128"""
    return f"torch {wheel[t.TORCH]}+{wheel[t.BUILD]}"


def requirement_text(question: Question, requirement: Requirement, lang: str) -> str:
    """A line of the user's in words."""
    where = place_text(requirement, lang)
    field, value = requirement.field, requirement.value
    if field == "target":
        return say(lang, "asks-target", value=value)
    if field == "gpus":
        return say(lang, "asks-none", where=where)
    if field.startswith("gpus["):
        return say(lang, "asks-gpu", where=where, value=value)
    if field in ("driver.version", "driver") and question.spec.driver.keep:
        return say(lang, "asks-keep", where=where, value=value)
    return say(lang, "asks", where=where, field=field, value=value)


def place_text(requirement: Requirement, lang: str) -> str:
    """line 4, or `your spec`."""
    return say(lang, "line", line=requirement.line) if requirement.line else say(lang, "your-spec")


class Teller:
    """Tells facts of one conflict."""

    def __init__(self, question: Question, fields: Sequence[str], facts: Sequence[str], lang: str,
                 extra: Sequence[Constraint] = ()) -> None:
        self.question, self.fields, self.facts, self.lang, self.extra = question, list(fields), list(facts), lang, list(extra)
        everything = frozenset(question.requirements) | frozenset(question.facts_used)
        self.off = everything.difference(self.fields, self.facts)

    def told(self) -> list[Told]:
        """Every fact, in words. That each build is of some torch goes without saying where there is more to tell."""
        groups = [group for group in self.facts if group != "fact:builds"] or self.facts
        found = [self.fact(group) for group in groups]
        plain = [each for each in found if each.text]
        if "cuda" in self.fields and any(field.startswith("gpus[") for field in self.fields) and not self.facts:
            plain.append(self._unused())
        return plain

    def _unused(self) -> Told:
        """A CPU build was asked for beside a GPU."""
        cards = self.question.cards or ()
        card = next((each for each in cards if each.field in self.fields), cards[0])
        return Told(self._say("needs-cuda", card=card.name), "gpus", card.name, card.source, card.confidence)

    def _builds(self, rest: str, answer: Any) -> Told:
        q = self.question
        torch = q.torches[answer.world[q.torch]] if answer else ""
        mine = [row for row in self._wheels(self._domain()) if row[t.TORCH] == torch]
        if not mine:
            return Told(self._say("unknown-none", field="torch", value=torch), "torch_builds", torch, "torch-metadata", "measured")
        builds = ", ".join(dict.fromkeys(row[t.BUILD] for row in reversed(mine)))
        return Told(self._say("builds", torch=torch, platform=q.machine.platform, builds=builds), "torch_builds", torch,
                    mine[0][t.SOURCE], mine[0][t.CONFIDENCE])

    def fact(self, group: str) -> Told:
        """One fact: what would come without it, and what is wrong with that."""
        from provisioner.solver.answer import Answer

        world = self.question.world.best(frozenset({group}), self.extra)  # with all the other lines, where they allow it
        if world is None:
            world = self.question.world.best(self.off | {group}, self.extra)
        answer = Answer(self.question, world) if world is not None else None
        kind, _, rest = group[len("fact:"):].partition(":")
        method = getattr(self, "_" + kind.replace("-", "_"))
        found: Told = method(rest, answer)
        return found

    def _card(self, rest: str) -> Card:
        assert self.question.cards is not None
        return self.question.cards[int(rest)]

    def _say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    # -- wheels

    def _domain(self) -> int:
        """Wheels of this machine and channel."""
        q = self.question
        tables = q.tables
        channel = "conda-forge" if q.spec.installer in ("conda", "pixi") else "pip"
        mask: int = tables["wheel_channel"].get(channel, 0)
        if q.machine.kind == "jetson":
            return mask & sum(int(found) for name, found in tables["wheel_platform"].items() if name.startswith("jetson-"))
        return mask & int(tables["wheel_platform"].get(q.machine.platform, 0))

    def _wheels(self, mask: int) -> list[tuple[Any, ...]]:
        """The wheels of a mask, the newest first."""
        rows = self.question.tables["wheels"]
        found = []
        while mask:
            bit = mask & -mask
            found.append(rows[bit.bit_length() - 1])
            mask ^= bit
        return found

    def _kernels(self, rest: str, answer: Any) -> Told:
        card, tables = self._card(rest), self.question.tables
        sm = capability_name(card.sm)
        if card.sm is None or card.sm not in tables["cover"]:
            return Told(self._say("kernels-unknown", wheel=card.name), "gpus", card.name, card.source, card.confidence)
        cubin, ptx, _ = tables["cover"][card.sm]
        here = self._wheels((cubin | ptx) & self._domain())
        wheel = answer.wheel if answer and answer.wheel[t.CUDA] else None
        if wheel and (not here or wheel[t.PLATFORM] != here[0][t.PLATFORM]):
            here = [row for row in self._wheels(cubin | ptx) if row[t.PLATFORM] == wheel[t.PLATFORM]
                    and row[t.CHANNEL] == wheel[t.CHANNEL]]
        source = (wheel[t.ARCH_SOURCE], wheel[t.ARCH_CONFIDENCE]) if wheel else (card.source, card.confidence)
        row = f"{wheel[t.TORCH]} {wheel[t.BUILD]} {wheel[t.PLATFORM]}" if wheel else sm
        if not here:
            text = self._say("kernels-none", who=self._who(card), platform=self.question.machine.platform)
            return Told(text, "torch_archs", row, *source)
        newest, oldest = here[0][t.TORCH], here[-1][t.TORCH]
        first = " / ".join(dict.fromkeys(each[t.BUILD] for each in here if each[t.TORCH] == oldest))
        last = " / ".join(dict.fromkeys(each[t.BUILD] for each in here if each[t.TORCH] == newest))
        values = {"who": self._who(card), "first": oldest, "last": newest}
        if wheel:
            asked = version_key(wheel[t.TORCH])
            same = [each[t.BUILD] for each in here if each[t.TORCH] == wheel[t.TORCH]]
            if asked < version_key(oldest):
                text = self._say("kernels-first", builds=first, **values)
            elif asked > version_key(newest):
                text = self._say("kernels-last", builds=last, **values)
            elif same:
                text = self._say("kernels-builds", torch=wheel[t.TORCH], builds=", ".join(dict.fromkeys(same)), **values)
            else:
                text = self._say("kernels-span", **values)
            if wheel[t.SM] is not None:
                text += self._say("kernels-here", wheel=wheel_name(wheel), sms=", ".join(
                    [f"sm_{each}" for each in wheel[t.SM]] + [f"compute_{each}" for each in wheel[t.PTX]]))
        else:
            text = self._say("kernels-span", **values)
        return Told(text, "torch_archs", row, *source)

    def _who(self, card: Card) -> str:
        """NVIDIA GeForce RTX 5090 is sm_120, or sm_120 where that is what the spec says."""
        sm = capability_name(card.sm)
        return sm if card.name == sm else self._say("is", card=card.name, sm=sm)

    def _ptx(self, rest: str, answer: Any) -> Told:
        card = self._card(rest)
        wheel = answer.wheel
        branch = next((row.branch for row in self.question.catalog.driver_branches
                       if row.cuda and version_key(row.cuda) >= version_key(wheel[t.CUDA])), "")
        text = self._say("ptx", wheel=wheel_name(wheel), card=card.name, sm=capability_name(card.sm), cuda=wheel[t.CUDA], branch=branch)
        row = self.question.catalog.row("driver_branches", branch)
        return Told(text, "driver_branches", branch, row.source if row else "", row.confidence if row else "")

    def _bundled_cudnn(self, rest: str, answer: Any) -> Told:
        card, tables = self._card(rest), self.question.tables
        cubin, ptx, _ = tables["cover"][card.sm]
        left = self._wheels((cubin | ptx) & self._domain() & ~tables["old_cudnn"][card.sm])
        wheel = answer.wheel
        newer = left and version_key(left[-1][t.TORCH]) > version_key(wheel[t.TORCH])
        text = self._say("bundled-cudnn-new" if newer else "bundled-cudnn", wheel=wheel_name(wheel), cudnn=wheel[t.CUDNN] or "?",
                         sm=capability_name(card.sm), card=card.name,
                         last=left[0][t.TORCH] if left else "-")
        return Told(text, "cudnn", str(wheel[t.CUDNN]), wheel[t.PIN_SOURCE], wheel[t.PIN_CONFIDENCE])

    def _platform(self, rest: str, answer: Any) -> Told:
        here = self._wheels(self._domain())
        platform = self.question.machine.platform
        wheel = answer.wheel if answer else here[0]
        asks_cuda = any(field.startswith(("gpus[", "cuda")) for field in self.fields)
        if asks_cuda and not any(each[t.CUDA] for each in here):
            return Told(self._say("platform-none", platform=platform), "torch_builds", platform, wheel[t.SOURCE], wheel[t.CONFIDENCE])
        mine = [each for each in here if each[t.TORCH] == wheel[t.TORCH]]
        if mine and wheel[t.CUDA] and not any(each[t.CUDA] for each in mine):
            with_cuda = [each for each in here if each[t.CUDA]]
            text = self._say("platform-cuda", platform=platform, first=with_cuda[-1][t.TORCH], last=with_cuda[0][t.TORCH])
            return Told(text, "torch_builds", f"{with_cuda[-1][t.TORCH]} {with_cuda[-1][t.BUILD]} {platform}", with_cuda[-1][t.SOURCE],
                        with_cuda[-1][t.CONFIDENCE])
        if mine and not any(each[t.BUILD] == wheel[t.BUILD] for each in mine) and "cuda" in self.fields:
            builds = ", ".join(dict.fromkeys(each[t.BUILD] for each in reversed(mine)))
            return Told(self._say("builds", torch=wheel[t.TORCH], platform=platform, builds=builds), "torch_builds",
                        f"{wheel[t.TORCH]} {platform}", mine[0][t.SOURCE], mine[0][t.CONFIDENCE])
        if mine and len(self.facts) > 1:
            return Told("")  # it has that torch; the other facts tell what is wrong with its wheels
        span = self._say("platform-span", first=here[-1][t.TORCH], last=here[0][t.TORCH]) if here else ""
        text = self._say("platform", torch=wheel[t.TORCH], platform=platform, span=span)
        nearest = here[0] if here else wheel
        return Told(text, "torch_builds", f"{nearest[t.TORCH]} {nearest[t.BUILD]} {platform}", nearest[t.SOURCE], nearest[t.CONFIDENCE])

    def _channel(self, rest: str, answer: Any) -> Told:
        here = self._wheels(self._domain())
        platform = self.question.machine.platform
        if not here:
            return Told(self._say("platform", torch="-", platform=platform, span=""), "torch_builds", platform)
        return Told(self._say("channel", first=here[-1][t.TORCH], last=here[0][t.TORCH], platform=platform), "torch_builds",
                    f"{here[0][t.TORCH]} {platform} conda-forge", here[0][t.SOURCE], here[0][t.CONFIDENCE])

    def _glibc(self, rest: str, answer: Any) -> Told:
        wheel, here = answer.wheel, self.question.machine
        text = self._say("glibc", wheel=wheel_name(wheel), needs=wheel[t.GLIBC] or "?", os=here.os, have=here.glibc or "?")
        return Told(text, "torch_builds", f"{wheel[t.TORCH]} {wheel[t.BUILD]} {wheel[t.PLATFORM]}", wheel[t.SOURCE], wheel[t.CONFIDENCE])

    def _jetpack(self, rest: str, answer: Any) -> Told:
        rows = self.question.jetpacks
        if not rows:
            return Told(self._say("jetpack-none", os=self.question.machine.os), "jetpacks")
        torches = sorted({each for row in rows for each in row.torch}, key=version_key)
        text = self._say("jetpack", os=self.question.machine.os, torches=", ".join(torches) or "-",
                         pythons=" / ".join(sorted({row.python for row in rows}, key=version_key)))
        return Told(text, "jetpacks", ", ".join(row.l4t for row in rows), rows[-1].source, rows[-1].confidence)

    def _soc(self, rest: str, answer: Any) -> Told:
        card = self._card(rest)
        return Told(self._say("soc", card=card.name), "gpus", card.name, card.source, card.confidence)

    def _wheel_python(self, rest: str, answer: Any) -> Told:
        wheel = answer.wheel
        mine = [row for row in self._wheels(self._domain()) if row[t.TORCH] == wheel[t.TORCH]] or [wheel]
        pythons = sorted({each for row in mine for each in row[t.PYTHONS]}, key=version_key)
        text = self._say("wheel-python", torch=wheel[t.TORCH], first=pythons[0], last=pythons[-1])
        return Told(text, "torch_builds", f"{wheel[t.TORCH]} {wheel[t.BUILD]} {wheel[t.PLATFORM]}", wheel[t.SOURCE], wheel[t.CONFIDENCE])

    # -- drivers

    def _support(self, rest: str, answer: Any) -> Told:
        drivers = self.question.drivers
        cuda = answer.wheel[t.CUDA] if answer else ""
        floor = t.floor_of(drivers.table["floors"], cuda)
        major = cuda if cuda in drivers.table["floors"] else cuda.split(".", maxsplit=1)[0]
        row = self.question.catalog.row("cuda_majors", major)
        key = "support-have" if answer and answer.driver and floor and version_key(answer.driver) < version_key(floor) else "support"
        text = self._say(key, cuda=major if major in drivers.table["floors"] else cuda, floor=floor or "?",
                         driver=answer.driver if answer else "")
        return Told(text, "cuda_majors", major, row.source if row else "", row.confidence if row else "")

    def _forward_compat(self, rest: str, answer: Any) -> Told:
        card = next((each for each in self.question.cards or () if not each.forward_compat), None)
        row = next(iter(self.question.catalog.forward_compat), None)
        return Told(self._say("forward-compat", card=card.name if card else ""), "forward_compat", row.cuda if row else "",
                    row.source if row else "", row.confidence if row else "")

    def _generation(self, rest: str, answer: Any) -> Told:
        card = self._card(rest)
        row = self.question.catalog.row("architectures", card.architecture)
        last = row.last_branch and answer and answer.branch and float(answer.branch) > float(row.last_branch)
        if row.last_branch and not (answer and answer.branch):
            last = True
        text = self._say("generation-last" if last else "generation-first", card=card.name, architecture=card.architecture,
                         last=row.last_branch, first=row.first_driver or row.first_branch)
        return Told(text, "architectures", row.name, row.source, row.confidence)

    def _listed(self, rest: str, answer: Any) -> Told:
        card = self._card(rest)
        branch = answer.branch if answer else ""
        own = next((each for each in card.first_in_branch if each.split(".")[0] == branch), "")
        if own and own != card.first_driver:
            text = self._say("listed-branch", branch=branch, card=card.name, first=own)
        else:
            text = self._say("listed", card=card.name, first=card.first_driver)
        return Told(text, "gpus", card.name, card.source, card.confidence)

    def _modules(self, rest: str, answer: Any) -> Told:
        card = self._card(rest)
        row = self.question.catalog.row("architectures", card.architecture)
        if card.open_modules in ("unsupported", "required"):
            text = self._say("modules-" + card.open_modules, card=card.name, architecture=card.architecture)
        else:
            text = self._say("modules-flavour", driver=answer.driver if answer else "?", flavour=answer.flavour if answer else "?",
                             card=card.name)
        return Told(text, "architectures", card.architecture, row.source if row else card.source,
                    row.confidence if row else card.confidence)

    def _branch_flavour(self, rest: str, answer: Any) -> Told:
        drivers, wish = self.question.drivers, self.question.spec.driver
        flavour = wish.flavour if wish.flavour != "auto" else "open"
        branch = answer.branch if answer else drivers.branches[-1]
        row = self.question.catalog.row("driver_branches", branch)
        having = ", ".join(row.flavours) if row else "?"
        return Told(self._say("branch-flavour", branch=branch, having=having, flavour=flavour), "driver_branches", branch,
                    row.source if row else "", row.confidence if row else "")

    def _driver_offer(self, rest: str, answer: Any) -> Told:
        here, wish = self.question.machine, self.question.spec.driver
        origin = self._say(wish.source) if wish.source in ("vendor", "distro", "runfile") else self._say("any-origin")
        asked = wish.version if "driver.version" in self.fields and wish.version else ""
        driver = asked or (answer.branch + ".*" if answer and answer.branch else "?")
        flavour = answer.flavour if answer else wish.flavour
        text = self._say("driver-offer", origin=origin, driver=driver, flavour=flavour, os=here.os, arch=here.arch)
        rows = [row for row in self.question.catalog.driver_offers if row.os == here.os and row.arch == here.arch
                and wish.source in (row.origin, "auto")]
        return Told(text, "driver_offers", f"{here.os} {here.arch}" + (f" {rows[0].origin}" if rows else ""),
                    rows[0].source if rows else "", rows[0].confidence if rows else "")

    # -- toolkit and libraries

    def _toolkit_major(self, rest: str, answer: Any) -> Told:
        wheel = answer.wheel
        row = self.question.catalog.row("toolkits", answer.toolkit)
        return Told(self._say("toolkit-major", wheel=wheel_name(wheel), cuda=wheel[t.CUDA], toolkit=answer.toolkit), "toolkits",
                    answer.toolkit, row.source if row else "", row.confidence if row else "")

    def _compiles(self, rest: str, answer: Any) -> Told:
        card = self._card(rest)
        row = self.question.catalog.row("capabilities", card.sm)
        newest = self.question.tables["toolkits"]["versions"][0]
        return Told(self._say("compiles", first=row.first_toolkit, last=row.last_toolkit or t.minor(newest), card=card.name,
                              sm=capability_name(card.sm)), "capabilities", str(card.sm), row.source, row.confidence)

    def _toolkit_offer(self, rest: str, answer: Any) -> Told:
        here = self.question.machine
        os = "wsl-ubuntu" if here.kind == "wsl" else here.os
        rows = [row for row in self.question.catalog.toolkit_offers if row.os == os and row.arch == here.arch]
        if not rows:
            return Told(self._say("toolkit-offer-none", os=os, arch=here.arch), "toolkit_offers", f"{os} {here.arch}")
        newest = t.minor(self.question.tables["toolkits"]["versions"][0])
        span = ", ".join(f"{row.first} – {row.last or newest}" for row in rows)
        return Told(self._say("toolkit-offer", os=os, arch=here.arch, span=span,
                              toolkit=t.minor(answer.toolkit) if answer and answer.toolkit else self.question.spec.toolkit),
                    "toolkit_offers", f"{os} {here.arch}", rows[0].source, rows[0].confidence)

    def _gcc(self, rest: str, answer: Any) -> Told:
        toolkit = t.minor(answer.toolkit) if answer and answer.toolkit else ""
        row = self.question.catalog.row("host_compilers", toolkit, "gcc")
        return Told(self._say("gcc", toolkit=toolkit or "?", last=row.last if row else "?", gcc=self.question.machine.gcc),
                    "host_compilers", f"{toolkit} gcc", row.source if row else "", row.confidence if row else "")

    def _cudnn_cuda(self, rest: str, answer: Any) -> Told:
        version, cuda = answer.library("cudnn"), answer.wheel[t.CUDA]
        rows = [row for row in self.question.catalog.cudnn if row.version == version]
        return Told(self._say("cudnn-cuda", version=version, cudas=", ".join(row.cuda for row in rows), cuda=cuda), "cudnn", str(version),
                    rows[0].source if rows else "", rows[0].confidence if rows else "")

    def _system_cudnn(self, rest: str, answer: Any) -> Told:
        card = self._card(rest)
        index = answer.world[self.question.cudnn]
        row = self.question.tables["cudnn"]["rows"][index - 1] if index else ("?", "", 0, 0, (), "", "", "")
        return Told(self._say("system-cudnn", version=row[0], low=row[2], high=row[3], card=card.name, sm=capability_name(card.sm)),
                    "cudnn", f"{row[0]} {row[1]}", row[6], row[7])

    def _nccl_cuda(self, rest: str, answer: Any) -> Told:
        version = answer.library("nccl")
        row = self.question.catalog.row("nccl", version)
        return Told(self._say("nccl-cuda", version=version, cuda=answer.wheel[t.CUDA]), "nccl", str(version), row.source if row else "",
                    row.confidence if row else "")

    def _nccl_platform(self, rest: str, answer: Any) -> Told:
        return Told(self._say("nccl-platform", os=self.question.machine.os), "nccl", "", "", "")

    def _windows_build(self, rest: str, answer: Any) -> Told:
        rule = self.question.catalog.row("rules", "wsl-min-windows-build")
        return Told(self._say("windows-build", needs=rule.value if rule else "?", have=self.question.spec.target.windows), "rules",
                    "wsl-min-windows-build", rule.source if rule else "", rule.confidence if rule else "")

    # -- packages

    def _package_wheel(self, rest: str, answer: Any) -> Told:
        name = self.question.packages[rest][0]
        wheel = answer.wheel
        table = self.question.tables["packages"][rest]
        wish = dict(self.question.spec.packages)[name]
        place = next((index for index, each in enumerate(table["rows"]) if wish in ("*", "") or each[0] in Range(wish)),
                     answer.world[self.question.packages[rest][2]])
        row, bit = table["rows"][place], 1 << place
        index = 1 << answer.world[self.question.wheel]
        accepts = any(bit & releases and index & wheels for wheels, releases in table["accepts"])
        system = self.question.machine.platform.split("_")[0]
        if table["systems"] and system not in table["systems"] and self.question.machine.kind != "jetson":
            text = self._say("package-system", package=name, system=_SYSTEMS.get(system, system),
                             systems=" / ".join(_SYSTEMS.get(each, each) for each in table["systems"]))
        elif not accepts:
            text = self._say("package-pair", package=name, version=row[t.P_VERSION], torch=row[t.P_TORCH] or "?")
        elif not any(bit & releases for _, releases in table["ready"]):
            text = self._say("package-source", package=f"{name} {row[t.P_VERSION]}", wheel=wheel_name(wheel))
        else:
            text = self._say("package-wheel", package=name, version=row[t.P_VERSION], wheel=f"{wheel_name(wheel)} ({wheel[t.PLATFORM]})")
        return Told(text, "companions", f"{rest} {row[t.P_VERSION]}", row[t.P_SOURCE], row[t.P_CONFIDENCE])

    def _package_glibc(self, rest: str, answer: Any) -> Told:
        q = self.question
        here, row = q.machine, answer.release(rest)
        platform = "linux_aarch64" if here.kind == "jetson" else here.platform
        text = self._say("package-glibc", package=q.packages[rest][0], version=row[t.P_VERSION],
                         needs=dict(row[t.P_GLIBC]).get(platform, "?"), os=here.os, have=here.glibc or "?")
        return Told(text, "companions", f"{rest} {row[t.P_VERSION]}", row[t.P_SOURCE], row[t.P_CONFIDENCE])

    def _package_python(self, rest: str, answer: Any) -> Told:
        row = answer.release(rest)
        text = self._say("package-python", package=self.question.packages[rest][0], version=row[t.P_VERSION], python=answer.python)
        return Told(text, "companions", f"{rest} {row[t.P_VERSION]}", row[t.P_SOURCE], row[t.P_CONFIDENCE])

    def _package_gpu(self, rest: str, answer: Any) -> Told:
        plain, _, index = rest.partition(":")
        card = self._card(index)
        row = answer.release(plain)
        bit = 1 << answer.world[self.question.packages[plain][2]]
        limit = next((each for each in self.question.tables["packages"][plain]["limits"]
                      if each[5] & bit and each[2] in ("", answer.wheel[t.BUILD])
                      and ((card.sm or 0) < each[0] or (each[1] and (card.sm or 0) > each[1]))), None)
        low, high, source, confidence = (limit[0], limit[1], limit[3], limit[4]) if limit else (0, 0, "", "")
        text = self._say("package-gpu", package=self.question.packages[plain][0], version=row[t.P_VERSION], low=low,
                         high=self._say("package-gpu-high", high=high) if high else "", card=card.name, sm=capability_name(card.sm))
        return Told(text, "companion_archs", plain, source, confidence)

    def _package_pins(self, rest: str, answer: Any) -> Told:
        plain, _, other = rest.partition(":")
        row = answer.release(plain)
        pin = next((text for name, text in row[t.P_REQUIRES] if t.canonical(name) == other), "")
        text = self._say("package-pins", package=plain, version=row[t.P_VERSION], other=other, pin=pin)
        return Told(text, "companions", f"{plain} {row[t.P_VERSION]}", row[t.P_SOURCE], row[t.P_CONFIDENCE])


_SYSTEMS = {"linux": "Linux", "win": "Windows", "macos": "macOS"}


def unknown(question: Question, requirement: Requirement, lang: str) -> Told | None:
    """What to say of a requirement that nothing in the catalogue fits, whatever the rest of the spec."""
    from provisioner.solver.problem import near_versions, tag_to_cuda

    field, value, tables = requirement.field, str(requirement.value), question.tables
    if field == "torch":
        known: tuple[str, ...] = tuple(torch for torch in tables["torch"] if torch in tables["wheel_torch"])
    elif field == "cuda":
        value = tag_to_cuda(value)
        known = tuple(cuda for cuda in tables["wheel_cuda"] if cuda)
    elif field == "python":
        known = tuple(question.pythons)
    elif field in ("driver.version", "driver"):
        known = tuple(version for version in question.drivers.versions if version != question.drivers.unknown)
    elif field in ("cudnn", "nccl"):
        known = tuple(row[0] for row in tables[field]["rows"])
    elif field == "toolkit":
        known = tuple(tables["toolkits"]["versions"])
    elif field.startswith("packages."):
        known = tuple(row[0] for row in tables["packages"][t.canonical(field[len("packages."):])]["rows"])
    else:
        return None
    near = list(dict.fromkeys(near_versions(value, known)))
    if field == "cuda":
        near = ["cu" + each.replace(".", "") for each in near]
    name = field.split(".", 1)[1] if field.startswith("packages.") else "driver" if field == "driver.version" else field
    key = "unknown" if near else "unknown-none"
    return Told(say(lang, key, field=name, value=requirement.value, near=", ".join(near)), _TABLES.get(field, "companions"), "",
                "provision: what the catalogue holds", "derived")


_TABLES = {"torch": "torch_releases", "cuda": "torch_builds", "python": "torch_builds", "driver": "driver_releases",
           "driver.version": "driver_releases", "cudnn": "cudnn", "nccl": "nccl", "toolkit": "toolkits"}
