"""The ways out of a refusal: small changes of the spec, each of which solves, the cheapest for the user first.

A way out is a minimal set of lines that may not stay as they are (`World.repairs`), and for each of them the nearest value that
fits. Every one is put into the spec and solved again before it is offered, so none is a guess.
"""

from __future__ import annotations

from bisect import bisect_right

from provisioner.errors import ProblemList
from provisioner.records import Record
from provisioner.solver import tables as t
from provisioner.solver.words import say
from provisioner.versions import Range, sort_key
from provisioner.versions import number as version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.solver.answer import Answer
    from provisioner.solver.problem import Question
    from provisioner.solver.search import Constraint

#: What a change costs the user, the cheapest first: another package release, another wheel, Python, torch, driver, system, card.
COST = {"packages": 1, "cudnn": 2, "nccl": 2, "cuda": 3, "toolkit": 4, "python": 5, "torch": 6, "driver.flavour": 7, "driver.source": 7,
        "target.gcc": 8, "driver.version": 9, "driver": 9, "driver.keep": 0, "installer": 10, "target.glibc": 20, "target": 21,
        "gpus": 30}
_WITHOUT = 6.5  # doing without a package
_MOST = 6  # ways out that are told
_TRIES = 14  # specs that are solved for them


class Change(Record):
    """One line of the spec, before and after; `to` None takes it out."""

    field: str
    before: Any
    to: Any

    def document(self) -> dict[str, Any]:
        """As the contract spells it."""
        return {"field": self.field, "from": self.before, "to": self.to}


class Way(Record):
    """A way out: its changes, and the answer to the changed spec."""

    changes: tuple[Change, ...]
    answer: Answer
    far: float  # how far the new values lie from the old ones, less than one step of COST

    def cost(self) -> float:
        """See `COST`."""
        return self.far + sum(_WITHOUT if change.to is None and change.field.startswith("packages.") else
                              COST.get(change.field, COST.get(change.field.split(".")[0], 15)) for change in self.changes)

    def text(self, lang: str) -> str:
        """In words."""
        return say(lang, "and").join(_change_text(change, lang) for change in self.changes if change.field != "driver.keep")

    def document(self, lang: str) -> dict[str, Any]:
        """As the contract spells it."""
        return {"change": [change.document() for change in self.changes], "choices": self.answer.choices(), "text": self.text(lang)}


def _change_text(change: Change, lang: str) -> str:
    values: dict[str, Any] = {"from": change.before, "to": change.to}
    if change.field.startswith("packages."):
        key = "alt-package" if change.to is not None else "alt-package-out"
        return say(lang, key, package=change.field[len("packages."):], **values)
    if change.field == "toolkit" and change.before == "none":
        return say(lang, "alt-toolkit-build")
    if change.field == "cuda":
        values = {name: value if str(value).startswith(("cu", "cpu")) else f"CUDA {value}" for name, value in values.items()}
        return say(lang, "alt-cuda-cpu" if change.to == "cpu" else "alt-cuda" if change.to is not None else "alt-cuda-out", **values)
    if change.field == "gpus":
        values = {name: ", ".join(value or ()) for name, value in values.items()}
        return say(lang, "alt-gpus" if change.to else "alt-gpus-none", **values)
    name = "driver.version" if change.field == "driver" else "target" if change.field == "target.os" else change.field
    from provisioner.solver.words import WORDS

    if "alt-" + name in WORDS:
        return say(lang, "alt-" + name, **values)
    return say(lang, "alt-other", field=change.field, **values)


def ways_out(question: Question) -> list[Way]:
    """At most a handful of ways out, the cheapest first."""
    return _Finder(question).find()


class _Finder:
    def __init__(self, question: Question) -> None:
        self.question, self.tries = question, 0
        self.found: list[Way] = []
        self.base: list[Constraint] = []
        self.far: dict[tuple[str, str], float] = {}
        self.seen: set[tuple[tuple[str, str], ...]] = set()

    def find(self) -> list[Way]:
        world, fields = self.question.world, list(self.question.requirements)
        soft = sorted((field for field in fields if not field.startswith(("gpus", "target")) or field == "target.gcc"), key=_cost_of)
        repairs: list[tuple[str, ...]] = []
        if world.holds(frozenset(soft)):  # software alone mends it
            for most in (2, 3, len(soft)):
                repairs = world.repairs(soft, most)
                if repairs or most >= len(soft):
                    break
        for repair in sorted(repairs, key=lambda each: sum(_cost_of(field) for field in each))[:8]:
            self._software(repair)
        if self.question.spec.toolkit == "none" and any(field.startswith("packages.") for repair in repairs for field in repair):
            self._offer([Change("toolkit", "none", "match")])  # so that they are built
        if soft and not self.found:
            self._strip(soft)
        if self.question.spec.cuda == "cpu" and self.question.spec.gpus:
            self._offer([Change("gpus", list(self.question.spec.gpus), [])])
        if len(self.found) < _MOST:
            self._machines()
        if len(self.found) < _MOST:
            self._cards()
        if not self.found:
            self._last()
        return sorted(self.found, key=lambda way: (way.cost(), len(way.changes)))[:_MOST]

    def _offer(self, changes: list[Change]) -> Answer | None:
        """Solve the changed spec; keep the way when it does."""
        from provisioner.solver.answer import Answer
        from provisioner.solver.problem import Question

        place = tuple(changes)
        key = tuple((change.field, str(change.to)) for change in place)
        if not changes or key in self.seen or self.tries >= _TRIES:
            return None
        self.seen.add(key)
        self.tries += 1
        try:
            question = Question(apply(self.question.spec, [change.document() for change in changes]), self.question.catalog,
                                self.question.facts)
        except (ProblemList, ValueError):
            return None
        world = question.world.best()
        if world is None:
            return None
        answer = Answer(question, world)
        self.found.append(Way(place, answer, min(0.9, sum(self.far.get((change.field, str(change.to)), 0.0) for change in place))))
        return answer

    # -- software

    def _software(self, repair: tuple[str, ...]) -> None:
        """Offer the nearest values for a set of lines; what is known for certain and needs no compatibility package, if there is."""
        q = self.question
        certain: list[Constraint] = [((variable,), ((1,),), frozenset()) for variable in (q.sure, q.compat)]
        self.base = certain if q.world.holds(frozenset(repair), certain) else []
        if repair == ("cuda",):
            self._near_cuda()
        if "torch" in repair:
            for torch in self._near_torches(repair):
                self._with(repair, [torch])
            return
        if "driver.version" in repair:
            for driver in self._near_drivers(repair):
                self._with(repair, [driver])
            return
        self._with(repair, [])

    def _strip(self, soft: list[str]) -> None:
        """When no small change of software was found: take out all of its lines, and put back those that may stay."""
        spec = self.question.spec
        changes: dict[str, list[Change]] = {}
        for field in soft:
            if field == "driver.version":
                name = field if spec.place(field) or not spec.place("driver") else "driver"
                changes[field] = [Change(name, spec.driver.version, None)]
                if spec.driver.keep:
                    changes[field].append(Change("driver.keep", True, False))
            elif field.startswith(("packages.", "driver.", "target.")):
                head, _, rest = field.partition(".")
                before = dict(spec.packages)[rest] if head == "packages" else getattr(getattr(spec, head), rest)
                changes[field] = [Change(field, before, None)]
            else:
                changes[field] = [Change(field, getattr(spec, field), None)]
        for field in sorted(soft, key=_cost_of, reverse=True):  # what is dearest to change stays if it can
            if self._solves([each for other in soft if other != field and other in changes for each in changes[other]]):
                del changes[field]
        self._offer([each for field in changes for each in changes[field]])

    def _solves(self, changes: list[Change]) -> bool:
        from provisioner.solver.problem import Question

        spec = apply(self.question.spec, [change.document() for change in changes])
        return Question(spec, self.question.catalog, self.question.facts).world.holds()

    def _with(self, repair: tuple[str, ...], fixed: list[tuple[str, Change, Constraint]]) -> None:
        """Find a value for each line, the dearest lines first, and offer them together."""
        q = self.question
        off = frozenset(repair)
        extra = [*self.base, *(constraint for _, _, constraint in fixed)]
        changes = {field: [change] for field, change, _ in fixed}
        if "driver.version" in repair and "driver.version" not in changes:
            nearest = self._near_drivers(repair, extra)
            if not nearest:
                return
            field, driver, within = nearest[0]
            changes[field] = [driver]
            extra.append(within)
        for field in sorted(repair, key=_cost_of, reverse=True):
            if field in changes:
                continue
            made = self._value(field, off, extra)
            if made is None:
                return
            change, constraint = made
            changes[field] = [change]
            if constraint:
                extra.append(constraint)
        told = [change for field in repair for change in changes[field]]
        if "driver.version" in repair and q.spec.driver.keep:
            told.append(Change("driver.keep", True, False))
        self._offer(told)

    def _value(self, field: str, off: frozenset[str], extra: list[Constraint]) -> tuple[Change, Constraint | None] | None:
        """The nearest value of one line that fits with what is fixed already."""
        from provisioner.solver.answer import Answer

        q = self.question
        world, spec = q.world, q.spec
        if field == "python":
            return self._near_python(off, extra)
        if field in ("toolkit", "cudnn", "nccl"):
            variable = {"toolkit": q.toolkit, "cudnn": q.cudnn, "nccl": q.nccl}[field]
            before = getattr(spec, field)
            free = self._freed(field, before)
            best = free.world.best(off - {field}, extra)
            if best is None:
                return Change(field, before, "none" if field == "toolkit" else "bundled"), None
            answer = Answer(free, best)
            value = answer.toolkit if field == "toolkit" else str(answer.library(field))
            text = t.minor(value) if field == "toolkit" else f"=={value.split('.', maxsplit=1)[0]}.*"
            if field != "toolkit":  # the whole major where its newest fits, else the minor that does
                rows = [row[0] for row in q.tables[field]["rows"]]
                major = [row for row in rows if row in Range(text)]
                text = text if major and value == major[0] else f"=={t.minor(value)}.*"
            return Change(field, before, text), ((variable,), ((1 << best[variable],),), frozenset())
        best = world.best(off, extra)
        if best is None:
            return None
        answer = Answer(q, best)
        if field == "cuda":
            build = str(answer.wheel[t.BUILD])
            same = q.tables["wheel_build"][build]
            text = build if not build.startswith("cuda") else answer.wheel[t.CUDA]
            self.far["cuda", text] = 0.3  # the preferred one comes after the nearest
            return Change("cuda", spec.cuda, text), ((q.wheel,), ((same,),), frozenset())
        if field == "driver.flavour":
            return Change(field, spec.driver.flavour, answer.flavour or "auto"), None
        if field == "driver.source":
            return Change(field, spec.driver.source, answer.origin or "auto"), ((q.origin,), ((1 << best[q.origin],),), frozenset())
        if field == "installer":
            return Change(field, spec.installer, "pip"), None
        if field == "target.gcc":
            last = q.tables["toolkits"]["gcc_last"].get(t.minor(answer.toolkit)) if answer.toolkit else None
            return (Change(field, spec.target.gcc, last), None) if last else None
        if field.startswith("packages."):
            return self._package(field, off, extra)
        return None

    def _freed(self, field: str, before: Any) -> Question:
        """The same question with any release for one line: its rules stay, its range goes."""
        from provisioner.solver.problem import Question

        spec = apply(self.question.spec, [{"field": field, "from": before, "to": "*"}])
        return Question(spec, self.question.catalog, self.question.facts)

    def _package(self, field: str, off: frozenset[str], extra: list[Constraint]) -> tuple[Change, Constraint | None] | None:
        """Another release of a package, or none."""
        from provisioner.solver.answer import Answer

        q = self.question
        name = field[len("packages."):]
        plain = t.canonical(name)
        before = dict(q.spec.packages)[name]
        free = self._freed(field, before)
        best = free.world.best(off - {field}, extra)
        if best is None:
            return Change(field, before, None), None
        _, _, variable = free.packages[plain]
        version = Answer(free, best).release(plain)[t.P_VERSION]
        return Change(field, before, f"=={version}"), ((variable,), ((1 << best[variable],),), frozenset())

    def _near_torches(self, repair: tuple[str, ...]) -> list[tuple[str, Change, Constraint]]:
        """The nearest torch above, and the nearest below, what was asked for."""
        q = self.question
        off = frozenset(repair)
        asked = str(q.spec.torch)
        wanted = [torch for torch in q.torches if _within(torch, asked, q)]
        nearest: list[str] = []
        order = sorted((torch for torch in q.torches if torch not in wanted), key=sort_key)
        if wanted:
            high = max(wanted, key=sort_key)
        else:
            from provisioner.solver.problem import near_versions

            nearest = near_versions(asked, tuple(q.torches), len(q.torches)) or list(q.torches)
            high = nearest[0]
        above = [torch for torch in order if sort_key(high) < sort_key(torch)]
        below = [torch for torch in reversed(order) if not sort_key(high) < sort_key(torch)]
        exact = asked.lstrip("=").split("+")[0]
        pinned = "." in exact and exact.replace(".", "").isdigit() and len(exact.split(".")) > 2
        found: list[tuple[str, Change, Constraint]] = []
        for line, up in ((above, True), (below, False)):
            for steps, torch in enumerate(line):
                constraint: Constraint = ((q.torch,), ((1 << q.torches.index(torch),),), frozenset())
                if q.world.holds(off, [*self.base, constraint]):
                    text = f"=={torch}" if pinned else f">={_short(torch)}" if up else f"<={torch}"
                    if up and not pinned:
                        ok = sum(1 << index for index, each in enumerate(q.torches) if not sort_key(each) < sort_key(torch))
                        constraint = ((q.torch,), ((ok,),), frozenset())
                    elif not pinned:
                        ok = sum(1 << index for index, each in enumerate(q.torches) if not sort_key(torch) < sort_key(each))
                        constraint = ((q.torch,), ((ok,),), frozenset())
                    self.far["torch", text] = (steps if wanted else nearest.index(torch)) / 100
                    found.append(("torch", Change("torch", q.spec.torch, text), constraint))
                    break
        return found

    def _near_cuda(self) -> None:
        """The wheel whose CUDA is nearest to what was asked for, beside the one that would be preferred."""
        from provisioner.solver.problem import near_versions, tag_to_cuda

        q = self.question
        if q.spec.cuda in (None, "cpu"):
            return
        masks: dict[str, int] = q.tables["wheel_cuda"]
        known = tuple(sorted((cuda for cuda in masks if cuda), key=version_key))
        asked = near_versions(tag_to_cuda(str(q.spec.cuda)), known, 1)
        here = known.index(asked[0]) if asked else len(known) - 1
        for cuda in sorted(known, key=lambda each: abs(known.index(each) - here)):
            constraint: Constraint = ((q.wheel,), ((masks[cuda],),), frozenset())
            if q.world.holds(frozenset({"cuda"}), [*self.base, constraint]):
                best = q.world.best(frozenset({"cuda"}), [*self.base, constraint])
                assert best is not None
                build = str(q.tables["wheels"][best[q.wheel]][t.BUILD])
                self._offer([Change("cuda", q.spec.cuda, cuda if build.startswith("cuda") else build)])
                return

    def _near_python(self, off: frozenset[str], extra: list[Constraint]) -> tuple[Change, Constraint | None] | None:
        q = self.question
        from provisioner.solver.problem import near_versions

        for python in near_versions(str(q.spec.python), tuple(q.pythons), len(q.pythons)):
            constraint: Constraint = ((q.python,), ((1 << q.pythons.index(python),),), frozenset())
            if q.world.holds(off, [*extra, constraint]):
                return Change("python", q.spec.python, python), constraint
        return None

    def _near_drivers(self, repair: tuple[str, ...], extra: list[Constraint] | None = None) -> list[tuple[str, Change, Constraint]]:
        """The lowest driver above, and the highest below, what was asked for."""
        from provisioner.solver.problem import driver_range, exact_driver

        q = self.question
        off = frozenset(repair)
        asked = str(q.spec.driver.version or "")
        named = exact_driver(asked)
        drivers = q.drivers
        matching = drivers.one(named) if named else drivers.mask(Range(driver_range(asked))) if asked else 0
        ranked: tuple[int, ...] = drivers.table["ranked"]
        inside = [index for index in ranked if matching >> index & 1]
        digits = "".join(each for each in asked.split(",")[0] if each.isdigit() or each == ".").strip(".")
        edge = version_key(drivers.versions[inside[-1]] if inside else named or digits or "0")
        cut = bisect_right(drivers.table["ascending"], edge)
        above = [index for index in ranked[cut:] if not matching >> index & 1]
        ended = drivers.table["ended"]
        below = sorted((index for index in reversed(ranked[:cut]) if not matching >> index & 1), key=lambda index: ended >> index & 1)
        field = "driver.version" if q.spec.place("driver.version") or not q.spec.place("driver") else "driver"
        free = off | {"driver.version"}
        extra = extra or self.base
        found: list[tuple[str, Change, Constraint]] = []
        for line, up in ((above, True), (below, False)):
            mask = sum(1 << index for index in line)
            within: Constraint = ((q.driver,), ((mask,),), frozenset())
            left = q.world.domain(q.driver, free, [*(extra or []), within]) if mask else 0
            index = next((each for each in line if left >> each & 1 and q.world.holds(free, [*(extra or []), (
                (q.driver,), ((1 << each,),), frozenset())])), None)
            if index is None or (not up and found and matching and 1 << index & ended):
                continue
            version = drivers.versions[index]
            if up:
                text = f">={version}"
                ok = sum(1 << each for each in line if version_key(drivers.versions[each]) >= version_key(version))
            else:
                branch = drivers.branches[index]
                ok = drivers.table["branch"].get(branch, 0) & mask
                text = f"=={version.split('.', maxsplit=1)[0]}.*"
            found.append(("driver.version", Change(field, q.spec.driver.version, text), ((q.driver,), ((ok,),), frozenset())))
        return found

    # -- another machine

    def _machines(self) -> None:
        """Another system: of the same family first, the nearest version first."""
        q = self.question
        fields = [field for field in q.requirements if field.startswith("target") and field != "target.gcc"]
        if q.machine.kind == "host" and q.spec.place("target.os") and any(
                card.open_modules == "none" or card.integrated for card in q.cards or ()):
            self._offer([Change("target.kind", q.spec.target.kind, "jetson")])
        if "target.windows" in fields:
            rule = q.catalog.row("rules", "wsl-min-windows-build")
            if rule is not None and self._offer([Change("target.windows", q.spec.target.windows, rule.value)]):
                return
        if not fields or not q.world.holds(frozenset(fields)):
            return
        here = q.machine
        written = "target.os" if q.spec.place("target.os") else "target"
        if here.kind == "jetson":
            for row in sorted(q.catalog.jetpacks, key=lambda row: version_key(row.l4t)):
                if row.os != here.os or q.spec.target.l4t or q.spec.target.jetpack:
                    change = [Change(written, q.spec.target.os, row.os)] if row.os != here.os else []
                    if q.spec.target.l4t:
                        change.append(Change("target.l4t", q.spec.target.l4t, row.l4t))
                    if q.spec.target.jetpack:
                        change.append(Change("target.jetpack", q.spec.target.jetpack, row.jetpack))
                    if self._offer(change):
                        return
            return
        if "target.glibc" in q.requirements:
            best = q.world.best(frozenset({"target.glibc"}))
            if best is not None:
                needs = q.tables["wheels"][best[q.wheel]][t.GLIBC]
                if self._offer([Change("target.glibc", q.spec.target.glibc, needs)]):
                    return
        own = here.system
        popular = ("ubuntu2404", "ubuntu2204", "debian12", "rhel9", "windows")
        rows = [row for row in q.catalog.systems if row.id not in (own.id, "wsl-ubuntu")
                and (row.family not in ("windows", "macos", "linux") or row.id in popular)]
        rows = [row for row in rows if not row.arches or here.arch in row.arches]
        date = q.tables["date"]

        def nearness(row: Any) -> tuple[Any, ...]:
            ended = bool(row.end_of_life) and row.end_of_life[:7] < date[:7]
            same = row.family == own.family and row.name.split()[0] == own.name.split()[0]
            older = bool(same and row.version and own.version and version_key(row.version) < version_key(own.version))
            distance = abs(_number(row.version) - _number(own.version)) if same else 0
            return (not same, ended, older, distance, popular.index(row.id) if row.id in popular else 9, row.id)

        count = 0
        drop = [Change("target.glibc", q.spec.target.glibc, None)] if q.spec.target.glibc is not None else []
        for row in sorted(rows, key=nearness)[:6]:
            if self._offer([Change(written, q.spec.target.os, row.id), *drop]):
                count += 1
                if count == 2 or nearness(row)[0]:
                    return

    # -- other cards

    def _cards(self) -> None:
        """Two environments: each kind of GPU, or group of kinds, on its own."""
        q = self.question
        fields = [field for field in q.requirements if field.startswith("gpus[")]
        if len(fields) < 2:
            return
        names = list(q.spec.gpus or ())
        for dropped in q.world.repairs(fields, 2)[:3]:
            gone = {card.text for card in q.cards or () if card.field in dropped}
            kept = [name for name in names if name not in gone]
            if kept:
                self._offer([Change("gpus", names, kept)])

    def _last(self) -> None:
        """When nothing else helps: without a GPU, with everything that contradicts that taken out."""
        q, spec = self.question, self.question.spec
        changes: list[Change] = [Change("gpus", list(spec.gpus), [])] if spec.gpus else []
        steps: list[list[Change]] = [[]]
        if spec.cuda not in (None, "cpu"):
            steps.append([Change("cuda", spec.cuda, None)])
        for name in ("toolkit", "cudnn", "nccl"):
            if getattr(spec, name) not in ("none", "bundled"):
                steps[-1].append(Change(name, getattr(spec, name), "none" if name == "toolkit" else "bundled"))
        if spec.torch is not None:
            steps.append([Change("torch", spec.torch, None)])
        if spec.python is not None:
            steps.append([Change("python", spec.python, None)])
        if spec.driver.version is not None and not spec.driver.keep:
            steps.append([Change("driver.version" if spec.place("driver.version") else "driver", spec.driver.version, None)])
        for name, wish in spec.packages:
            steps.append([Change(f"packages.{name}", wish, None)])
        if spec.installer in ("conda", "pixi"):
            steps.append([Change("installer", spec.installer, "pip")])
        if q.machine.system.family != "debian":
            steps.append([Change("target.os" if spec.place("target.os") else "target", spec.target.os, "ubuntu2404")])
        self.tries = 0
        for step in steps:
            changes = changes + step
            if self._offer(changes):
                return


def _cost_of(field: str) -> int:
    return COST.get(field, COST.get(field.split("[")[0].split(".")[0], 15))


def _number(version: str) -> float:
    parts = [int(part) for part in version.split(".") if part.isdigit()]
    return float(parts[0]) + (parts[1] / 100 if len(parts) > 1 else 0.0) if parts else 0.0


def _short(version: str) -> str:
    """2.7.0 -> 2.7: the first of its series stands for it."""
    return version[:-2] if version.count(".") == 2 and version.endswith(".0") else version


def _within(torch: str, asked: str, question: Question) -> bool:
    from provisioner.solver.problem import series

    if asked == "latest":
        return bool(torch == question.tables["torch"][0])
    return torch in Range(series(asked.partition("+")[0]))


# -- putting changes into a spec -----------------------------------------------------------------------------------------


def apply(spec: Any, changes: list[dict[str, Any]]) -> Any:
    """A spec with changes put in: {"field": dotted path, "from": anything, "to": the new value, or None to take it out}.

    Raises ValueError for a field that no spec has."""
    for change in changes:
        spec = _apply(spec, str(change["field"]), change["to"])
    return spec


_DEFAULTS = {"toolkit": "none", "cudnn": "bundled", "nccl": "bundled", "installer": "pip", "prefer": "newest"}


def _apply(spec: Any, field: str, to: Any) -> Any:
    head, _, rest = field.partition(".")
    if head == "packages":
        packages = [(name, wish) for name, wish in spec.packages if name != rest or to is not None]
        return spec._replace(packages=tuple((name, str(to)) if name == rest else (name, wish) for name, wish in packages))
    if head == "driver":
        if not rest:
            return spec._replace(driver=spec.driver._replace(version=to))
        defaults = {"version": None, "flavour": "auto", "source": "auto", "keep": False}
        return spec._replace(driver=spec.driver._replace(**{rest: defaults[rest] if to is None else to}))
    if head == "target":
        return spec._replace(target=spec.target._replace(**{rest or "os": to}))
    if head == "gpus":
        return spec._replace(gpus=None if to is None else tuple(to))
    if head not in spec._fields:
        raise ValueError(field)
    return spec._replace(**{head: _DEFAULTS.get(head) if to is None else to})
