"""From a spec to a plan, or to a refusal with ways out. The proof is data; words come from `reasons` and `explain`."""

from __future__ import annotations

from provisioner.solver.answer import Answer
from provisioner.solver.problem import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.solver.alternatives import Way


class Plan:
    """A consistent set of choices, the best one under the preference order."""

    def __init__(self, question: Question, world: tuple[int, ...], lang: str, others: list[tuple[int, ...]]) -> None:
        self.question, self.world, self.lang = question, world, lang
        self.answer = Answer(question, world)
        self.spec, self.catalog = question.spec, question.catalog
        self._others = others
        self._because: list[dict[str, Any]] | None = None

    @property
    def choices(self) -> dict[str, Any]:
        """The contract's `choices`."""
        return self.answer.choices()

    @property
    def others(self) -> list[dict[str, Any]]:
        """The choices of the next best plans, with `all_n` more than one."""
        return [Answer(self.question, world).choices() for world in self._others]

    @property
    def because(self) -> list[dict[str, Any]]:
        """The contract's `because`: one entry a choice, with the facts it rests on."""
        if self._because is None:
            from provisioner.solver.explain import because

            self._because = because(self)
        return self._because

    @property
    def warnings(self) -> list[dict[str, str]]:
        """The contract's `warnings`."""
        from provisioner.solver.caveats import caveats

        return caveats(self)

    def why(self, choice: str) -> dict[str, Any] | None:
        """The entry of one choice, None when there is no such choice."""
        return next((each for each in self.because if each["choice"] == choice), None)

    def document(self) -> dict[str, Any]:
        """The contract's document, but for `steps`, which rendering knows."""
        told: dict[str, Any] = {
            "status": "ok", "catalog": {"version": self.catalog.version, "digest": self.catalog.digest}, "choices": self.choices,
            "because": self.because, "warnings": self.warnings}
        if self._others:
            told["others"] = self.others
        return told


class Refusal:
    """No consistent set: the conflict, and the ways out."""

    def __init__(self, question: Question, lang: str) -> None:
        self.question, self.lang = question, lang
        self.spec, self.catalog = question.spec, question.catalog
        self._blame: tuple[list[str], list[str]] | None = None
        self._ways: list[Way] | None = None

    @property
    def blame(self) -> tuple[list[str], list[str]]:
        """Requirements and facts of a minimal conflict."""
        if self._blame is None:
            from provisioner.solver.reasons import blame

            self._blame = blame(self.question)
        return self._blame

    @property
    def ways(self) -> list[Way]:
        """The ways out, the cheapest first; each solves."""
        if self._ways is None:
            from provisioner.solver.alternatives import ways_out

            self._ways = ways_out(self.question)
        return self._ways

    def document(self) -> dict[str, Any]:
        """The contract's document, and `text`: the conflict as a short chain."""
        from provisioner.solver.reasons import Teller, requirement_text, unknown

        fields, facts = self.blame
        told = Teller(self.question, fields, facts, self.lang).told()
        requirements = [self.question.requirements[field] for field in fields]
        conflict: list[dict[str, Any]] = []
        for requirement in requirements:
            entry: dict[str, Any] = {"kind": "requirement", "field": requirement.field, "value": requirement.value,
                                     "text": requirement_text(self.question, requirement, self.lang)}
            if requirement.line:
                entry["line"] = requirement.line
            conflict.append(entry)
        if not facts and len(requirements) == 1:
            missing = unknown(self.question, requirements[0], self.lang)
            told = [missing] if missing else []
        conflict += [each.as_entry() for each in told]
        separator = "；" if self.lang == "zh" else "; "
        sentences = list(dict.fromkeys(each.text for each in told))
        for entry in conflict:
            if entry["kind"] != "requirement":
                continue
            card = next((card for card in self.question.cards or () if card.field == entry["field"]), None)
            if card is None or not any(card.name in sentence for sentence in sentences):  # else it is told already
                sentences.append(str(entry["text"]))
        text = separator.join(sentences)
        return {"status": "unsatisfiable", "catalog": {"version": self.catalog.version, "digest": self.catalog.digest},
                "text": text + ("。" if self.lang == "zh" else "."), "conflict": conflict,
                "alternatives": [way.document(self.lang) for way in self.ways]}


def solve(spec: Any, catalog: Any, *, all_n: int = 1, facts: dict[str, Any] | None = None, lang: str = "en") -> Plan | Refusal:
    """The best plan of a spec, or why there is none.

    all_n: how many plans to give, best first (`Plan.others`); two plans count as different when they differ in the wheel, the driver's
    branch, Python, the toolkit or a package. facts: what the host has, for `prefer: least-change`:
    {"driver": "535.129.03", "python": "3.10", "torch": "2.5.1+cu121"}, each as far as known.
    Raises ProblemList for bad input: names of systems or GPUs that nobody knows, ranges that nobody can read."""
    question = Question(spec, catalog, facts)
    world = question.world.best()
    if world is None:
        return Refusal(question, lang)
    others = question.world.different(all_n, question.telling)[1:] if all_n > 1 else []
    return Plan(question, world, lang, others)
