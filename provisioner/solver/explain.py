"""Why a plan's choices are what they are, and what differs between two locks."""

from __future__ import annotations

from provisioner.solver import tables as t
from provisioner.solver.cards import capability_name
from provisioner.solver.reasons import Teller, blame, place_text, wheel_name
from provisioner.solver.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.solver.plan import Plan
    from provisioner.solver.search import Constraint


def because(plan: Plan) -> list[dict[str, Any]]:
    """One entry a choice: {"choice", "text", "facts"}; the text says what forced or preferred it, and the next best."""
    return _Because(plan).entries()


class _Because:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.q, self.answer, self.lang = plan, plan.question, plan.answer, plan.lang
        self.world = plan.world

    def entries(self) -> list[dict[str, Any]]:
        """All entries, in the order in which they were decided."""
        choices = self.plan.choices
        made: list[dict[str, Any] | None] = [self._torch(), self._build()]
        if choices["driver"]:
            made += [self._driver(), self._flavour() if choices["driver_flavour"] else None, self._source()]
        made.append(self._python())
        if choices["toolkit"]:
            made.append(self._toolkit())
        made += [self._library(name) for name in ("cudnn", "nccl") if choices[name]]
        made += [self._package(plain) for plain in self.q.packages]
        return [each for each in made if each is not None]

    def _say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    def _entry(self, choice: str, parts: list[str], facts: list[dict[str, str]], following: str | None = "") -> dict[str, Any]:
        stop = "。" if self.lang == "zh" else ". "
        text = (("；" if self.lang == "zh" else "; ").join(part for part in parts if part) + stop)
        text = text if text.startswith("torch ") else text[:1].upper() + text[1:]
        if following is not None:
            text += self._say("next", value=following) if following else self._say("only")
        return {"choice": choice, "text": text.strip(), "facts": facts}

    def _where(self, field: str) -> str:
        requirement = self.q.requirements.get(field)
        return place_text(requirement, self.lang) if requirement else self._say("your-spec")

    def _one(self, variable: int, value: int | None = None) -> Constraint:
        return ((variable,), ((1 << (self.world[variable] if value is None else value),),), frozenset())

    def _barrier(self, variable: int, better: int, names: list[str]) -> tuple[str, list[dict[str, str]]]:
        """Why none of the better values of a variable was taken: facts, or what comes first in the preference order.
        `names` are the better values, the best first, as they are told."""
        q = self.q
        wanted: Constraint = ((variable,), ((better,),), frozenset())
        label = names[0] if len(names) == 1 or names[0] == names[-1] else f"{names[-1]} – {names[0]}"
        extra: list[Constraint] = [wanted]
        if q.world.holds(extra=extra):
            for earlier in range(variable):
                extra.append(self._one(earlier))
                if not q.world.holds(extra=extra):
                    return self._say("not-better-order", better=label, cost=self._cost(earlier)), []
            return "", []
        fields, groups = blame(q, extra)
        told = Teller(q, fields, groups, self.lang, extra).told()
        why = (("；" if self.lang == "zh" else "; ").join(dict.fromkeys(each.text for each in told if each.text))
               or "; ".join(f"{self._where(field)}: {field}" for field in fields))
        key = "not-better" if label == names[0] else "not-better-many"
        return (self._say(key, better=label, why=why) if why else ""), [each.as_fact() for each in told if each.table]

    def _cost(self, variable: int) -> str:
        name = self.q.world.names[variable]
        if name == "torch":
            return f"torch {self.answer.wheel[t.TORCH]}"
        if name == "wheel":
            return wheel_name(self.answer.wheel)
        if name == "driver":
            return self._say("cost-driver", driver=self.answer.driver)
        from provisioner.solver.words import WORDS

        return self._say("cost-" + name) if "cost-" + name in WORDS else name

    def _next(self, variable: int, values: Any, same: int = 0) -> str:
        """The value that comes next when this one is barred (with all that counts as the same)."""
        q = self.q
        barred = same or 1 << self.world[variable]
        best = q.world.best(extra=[((variable,), ((q.world.domains[variable] & ~barred,),), frozenset())])
        return str(values(best)) if best is not None else ""

    # -- choices

    def _torch(self) -> dict[str, Any]:
        q, answer = self.q, self.answer
        index = self.world[q.torch]
        asked = self._mask("torch", q.torch)
        better = asked & ((1 << index) - 1)
        wheel = answer.wheel
        parts: list[str] = []
        facts = [{"table": "torch_builds", "row": self._row(), "source": wheel[t.SOURCE], "confidence": wheel[t.CONFIDENCE]}]
        if asked == 1 << index:
            parts.append(self._say("only-asked", where=self._where("torch"), asked=q.requirements["torch"].value))
        elif better:
            names = [torch for place, torch in enumerate(q.torches) if better >> place & 1]
            text, more = self._barrier(q.torch, better, names)
            parts.append(text)
            facts += more
        elif "torch" in q.requirements:
            parts.append(self._say("best-asked", value=q.torches[index], where=self._where("torch"),
                                   asked=q.requirements["torch"].value))
        elif q.spec.prefer == "conservative":
            parts.append(self._say("conservative", newest=q.tables["torch"][0]))
        else:
            parts.append(self._say("best-torch", value=q.torches[index]))
        return self._entry("torch", parts, facts, self._next(q.torch, lambda best: q.torches[best[q.torch]]))

    def _row(self) -> str:
        wheel = self.answer.wheel
        return f"{wheel[t.TORCH]} {wheel[t.BUILD]} {wheel[t.PLATFORM]}"

    def _mask(self, field: str, variable: int) -> int:
        """Values of a variable that the user's line, and what has no line, allow."""
        mask = self.q.world.domains[variable]
        for variables, boxes, groups in self.q.world.constraints:
            if variables == (variable,) and (not groups or groups == {field}):
                union = 0
                for box in boxes:
                    union |= box[0]
                mask &= union
        return mask

    def _build(self) -> dict[str, Any]:
        q, _answer, wheel = self.q, self.answer, self.answer.wheel
        facts: list[dict[str, str]] = []
        parts: list[str] = []
        if not wheel[t.CUDA]:
            if q.cards == ():
                parts.append(self._say("cuda-cpu"))
            elif q.spec.cuda is not None:
                parts.append(self._say("cuda-asked-cpu", where=self._where("cuda")))
            else:
                parts.append(self._say("cuda-no-other", platform=wheel[t.PLATFORM]))
        else:
            arch = {"table": "torch_archs", "row": self._row(), "source": wheel[t.ARCH_SOURCE],
                    "confidence": wheel[t.ARCH_CONFIDENCE]}
            sms = ", ".join(dict.fromkeys(capability_name(card.sm) for card in q.cards or ()))
            if not q.cards:
                parts.append(self._say("cuda-none"))
            elif self.world[q.kernels] == 0:
                parts.append(self._say("cuda-cubin", wheel=wheel_name(wheel), sms=sms))
                facts.append(arch)
            elif self.world[q.kernels] == 1:
                parts.append(self._say("cuda-ptx", wheel=wheel_name(wheel), sms=sms))
                facts.append(arch)
            else:
                parts.append(self._say("kernels-unknown", wheel=wheel_name(wheel)))
        better = q.tables["wheel_torch"][wheel[t.TORCH]] & self._mask("cuda", q.wheel) & ((1 << self.world[q.wheel]) - 1)
        better &= q.tables["wheel_platform"].get(wheel[t.PLATFORM], 0) & q.tables["wheel_channel"].get(wheel[t.CHANNEL], 0)
        if better and wheel[t.CUDA]:
            names = [q.tables["wheels"][place][t.BUILD] for place in range(self.world[q.wheel]) if better >> place & 1]
            text, more = self._barrier(q.wheel, better, names)
            parts.append(text)
            facts += more
        same = q.tables["wheel_build"][wheel[t.BUILD]]
        following = self._next(q.wheel, lambda best: wheel_name(q.tables["wheels"][best[q.wheel]])[len("torch "):], same)
        return self._entry("cuda_build", parts, facts, following)

    def _driver(self) -> dict[str, Any]:
        q, answer = self.q, self.answer
        row = q.catalog.row("driver_branches", answer.branch)
        facts = [{"table": "driver_branches", "row": answer.branch, "source": row.source, "confidence": row.confidence}] if row else []
        parts: list[str] = []
        cuda = answer.wheel[t.CUDA]
        kept = answer.origin == "preinstalled"
        if kept:
            parts.append(self._say("driver-kept", driver=answer.driver, where=self._where("driver.version")))
        if row and cuda:
            floor = t.floor_of(q.drivers.table["floors"], cuda)
            key = "driver-compat" if self.world[q.compat] else "driver-minor" if self.world[q.support] else "driver-full"
            parts.append(self._say(key, branch=answer.branch, serves=row.cuda, cuda=cuda, floor=floor, package=answer.compat))
            major = cuda if cuda in q.drivers.table["floors"] else cuda.split(".", maxsplit=1)[0]
            low = q.catalog.row("cuda_majors", major)
            if low is not None and self.world[q.support]:
                facts.append({"table": "cuda_majors", "row": major, "source": low.source, "confidence": low.confidence})
        if row and not kept:
            kind = self._say(row.kind)
            index = 1 << self.world[q.driver]
            if index & q.drivers.table["ended"]:
                parts.append(self._say("driver-ended", kind=kind, end=row.end_of_life))
            elif row.end_of_life:
                parts.append(self._say("driver-life", kind=kind, end=row.end_of_life))
            else:
                parts.append(self._say("driver-life-open", kind=kind))
            parts.append(self._say("driver-newest", driver=answer.driver))
            own = q.drivers.table["branch"].get(answer.branch, 0)
            better = self._mask("driver.version", q.driver) & (index - 1) & ~own & ~q.drivers.table["ended"]
            if better:
                names = list(dict.fromkeys(q.drivers.branches[place] for place in range(self.world[q.driver]) if better >> place & 1))
                text, more = self._barrier(q.driver, better, names)
                parts.append(text)
                facts += more
        following = None if kept else self._next(q.driver, lambda best: self._driver_name(best[q.driver]))
        return self._entry("driver", parts, facts, following)

    def _driver_name(self, index: int) -> str:
        drivers = self.q.drivers
        return drivers.versions[index] if index < drivers.count else "-"

    def _flavour(self) -> dict[str, Any]:
        q, answer = self.q, self.answer
        cards = [card for card in q.cards or () if card.open_modules in ("required", "unsupported")]
        facts = []
        for card in q.cards or ():
            row = q.catalog.row("architectures", card.architecture)
            if row:
                fact = {"table": "architectures", "row": row.name, "source": row.source, "confidence": row.confidence}
                if fact not in facts:
                    facts.append(fact)
        if "driver.flavour" in q.requirements:
            text = self._say("only-asked", where=self._where("driver.flavour"), asked=q.spec.driver.flavour)
        elif cards:
            kind = cards[0].open_modules
            text = self._say("flavour-" + kind, cards=", ".join(card.name for card in cards if card.open_modules == kind))
        elif not q.cards:
            text = self._say("flavour-free")
        elif answer.flavour == "open":
            text = self._say("flavour-open")
        else:
            text = self._say("flavour-other")
        following = self._next(q.flavour, lambda best: ("open", "proprietary", "-")[best[q.flavour]])
        return self._entry("driver_flavour", [text], facts, following)

    def _source(self) -> dict[str, Any]:
        q, answer = self.q, self.answer
        here = q.machine
        if answer.origin == "preinstalled":
            return self._entry("driver_source", [self._say("source-kept")], [], None)
        if here.drivers == "windows":
            return self._entry("driver_source", [self._say("source-windows")], [], None)
        row = next((row for row in q.catalog.driver_offers if row.os == here.os and row.arch == here.arch and row.origin == answer.origin
                    and t.between(answer.branch, row.first, row.last)), None)
        facts = [{"table": "driver_offers", "row": f"{here.os} {here.arch} {answer.origin}", "source": row.source,
                  "confidence": row.confidence}] if row else []
        return self._entry("driver_source", [self._say("source-" + answer.origin, os=here.os)], facts,
                           self._next(q.origin, lambda best: ("vendor", "distro", "runfile", "preinstalled", "-")[best[q.origin]]))

    def _python(self) -> dict[str, Any]:
        q, answer = self.q, self.answer
        wheel = answer.wheel
        index = self.world[q.python]
        asked = self._mask("python", q.python)
        facts = [{"table": "torch_builds", "row": self._row(), "source": wheel[t.SOURCE], "confidence": wheel[t.CONFIDENCE]}]
        better = asked & ((1 << index) - 1) & self._wheel_pythons()
        parts = []
        if asked == 1 << index:
            parts.append(self._say("only-asked", where=self._where("python"), asked=q.spec.python))
        elif better:
            names = [python for place, python in enumerate(q.pythons) if better >> place & 1]
            text, more = self._barrier(q.python, better, names)
            parts.append(text)
            facts += more
        elif answer.python == q.machine.system.python and q.spec.prefer == "least-change":
            parts.append(self._say("python-own", value=answer.python))
        else:
            parts.append(self._say("python-newest", value=answer.python, torch=wheel[t.TORCH]))
        return self._entry("python", parts, facts, self._next(q.python, lambda best: q.pythons[best[q.python]]))

    def _wheel_pythons(self) -> int:
        return sum(1 << index for index, python in enumerate(self.q.pythons) if python in self.answer.wheel[t.PYTHONS])

    def _toolkit(self) -> dict[str, Any]:
        q, answer = self.q, self.answer
        row = q.catalog.row("toolkits", answer.toolkit)
        facts = [{"table": "toolkits", "row": answer.toolkit, "source": row.source, "confidence": row.confidence}] if row else []
        if q.spec.toolkit == "match":
            text = self._say("toolkit-match", cuda=answer.wheel[t.CUDA])
        else:
            text = self._say("toolkit-range", where=self._where("toolkit"), asked=q.spec.toolkit)
        if q.spec.installer in ("conda", "pixi"):
            text += self._say("toolkit-conda")
        versions = q.tables["toolkits"]["versions"]
        return self._entry("toolkit", [text], facts, self._next(q.toolkit, lambda best: versions[best[q.toolkit] - 1]))

    def _library(self, name: str) -> dict[str, Any]:
        q, wheel = self.q, self.answer.wheel
        variable = q.cudnn if name == "cudnn" else q.nccl
        if not self.world[variable]:
            fact = {"table": "torch_pins", "row": self._row(), "source": wheel[t.PIN_SOURCE], "confidence": wheel[t.PIN_CONFIDENCE]}
            return self._entry(name, [self._say("library-pinned", wheel=wheel_name(wheel))], [fact], None)
        rows = q.tables[name]["rows"]
        row = rows[self.world[variable] - 1]
        fact = {"table": name, "row": row[0], "source": row[-2], "confidence": row[-1]}
        return self._entry(name, [self._say("library-system", where=self._where(name))], [fact],
                           self._next(variable, lambda best: rows[best[variable] - 1][0]))

    def _package(self, plain: str) -> dict[str, Any]:
        q, answer, wheel = self.q, self.answer, self.answer.wheel
        name, _, variable = q.packages[plain]
        row = answer.release(plain)
        rows = q.tables["packages"][plain]["rows"]
        facts = [{"table": "companions", "row": f"{plain} {row[t.P_VERSION]}", "source": row[t.P_SOURCE],
                  "confidence": row[t.P_CONFIDENCE]}]
        index = self.world[variable]
        asked = self._mask(f"packages.{name}", variable)
        parts = []
        if asked == 1 << index:
            parts.append(self._say("only-asked", where=self._where(f"packages.{name}"), asked=q.requirements[f"packages.{name}"].value))
        if row[t.P_TORCH].startswith("=="):
            parts.append(self._say("package-built", version=row[t.P_VERSION], torch=row[t.P_TORCH].lstrip("=")))
        elif not parts:
            parts.append(self._say("package-newest", version=row[t.P_VERSION], torch=wheel[t.TORCH], python=answer.python))
        if not self._is_ready(plain):
            parts.append(self._say("package-build-it", version=row[t.P_VERSION]))
        return self._entry(name, parts, facts, self._next(variable, lambda best: rows[best[variable]][t.P_VERSION]))

    def _is_ready(self, plain: str) -> bool:
        return is_ready(self.answer, plain)


def is_ready(answer: Any, plain: str) -> bool:
    """Whether a package's chosen release has a ready wheel for the chosen torch."""
    q = answer.question
    release, wheel = 1 << answer.world[q.packages[plain][2]], 1 << answer.world[q.wheel]
    return bool(release & q.loads(plain)) and any(release & releases and wheel & wheels for wheels, releases in q.tables["packages"][plain]["ready"])


# -- differences ---------------------------------------------------------------------------------------------------------


def diff(old: dict[str, Any], new: dict[str, Any], lang: str = "en") -> list[dict[str, Any]]:
    """What differs between two locks: {"choice", "from", "to", "text", "facts"}, in the order of the choices; [] when nothing."""
    before, after = _flat(old.get("choices") or {}), _flat(new.get("choices") or {})
    reasons = {each["choice"]: each for each in new.get("because") or []}
    told = []
    spec_changes = _spec_changes(old, new, lang)
    old_catalog, new_catalog = ((lock.get("catalog") or {}).get("version", "?") for lock in (old, new))
    same_catalog = (old.get("catalog") or {}).get("digest") == (new.get("catalog") or {}).get("digest")
    for name in [*after, *(name for name in before if name not in after)]:
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        key = "diff-added" if one is None else "diff-removed" if other is None else "diff-changed"
        text = say(lang, key, choice=name, to=_plain(other), **{"from": _plain(one)})
        reason = reasons.get(name.split(".", 1)[-1]) or reasons.get({"cuda": "cuda_build", "index_url": "cuda_build",
                                                                     "driver_branch": "driver"}.get(name, name))
        parts = [text, *spec_changes]
        if not spec_changes and not same_catalog:
            parts.append(say(lang, "diff-catalog", why=reason["text"] if reason else "", **{"from": old_catalog, "to": new_catalog}))
        elif reason:
            parts.append(say(lang, "diff-why", why=reason["text"]))
        told.append({"choice": name, "from": one, "to": other, "text": say(lang, "and").join(parts),
                     "facts": reason["facts"] if reason else []})
    return told


def _flat(choices: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in choices.items() if name != "packages"}
    for name, value in (choices.get("packages") or {}).items():
        told[f"packages.{name}"] = value
    return told


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    return ", ".join(str(each) for each in value) or "-" if isinstance(value, list) else str(value)


def _spec_changes(old: dict[str, Any], new: dict[str, Any], lang: str) -> list[str]:
    one, other = ((lock.get("spec") or {}).get("content") or {} for lock in (old, new))
    told = []
    for field in [*other, *(field for field in one if field not in other)]:
        if one.get(field) != other.get(field) and field not in ("name", "environment"):
            told.append(say(lang, "diff-spec", field=field, to=_plain_spec(other.get(field)), **{"from": _plain_spec(one.get(field))}))
    return told


def _plain_spec(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(part)}" for name, part in value.items()) or "-"
    return _plain(value)
