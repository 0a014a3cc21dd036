"""The same finite-domain problems given to several engines; a process of its own: `engines.py IN OUT FOLDER...`.

IN is a pickle of problems, each a dict: names, domains, constraints (as in `provisioner/solver/search.py`) and fields, the groups a
conflict may name. OUT gets JSON: engine -> what it did with each problem (see `measure_engine`). FOLDERs hold the engines. Every engine gets boxes and hands
back values; the time to write the boxes in its language counts in `whole`, and not in `loaded`.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import pickle
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from provisioner.solver.search import World

PATIENCE = 2.0  # seconds a question for an engine that may not end
World_ = tuple[int, ...]


def bits(mask: int) -> Iterator[int]:
    """Positions of the ones."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Ours:
    """The project's engine."""

    def __init__(self, problem: dict[str, Any]) -> None:
        self.world = World()
        self.world.names, self.world.domains, self.world.constraints = problem["names"], problem["domains"], problem["constraints"]
        self.fields: list[str] = problem["fields"]

    def best(self) -> World_ | None:
        """The best world."""
        return self.world.best()

    def conflict(self) -> list[str]:
        """A minimal conflict."""
        return self.world.conflict(self.fields)


def minimal(core: Iterable[str], fits: Callable[[list[str]], bool]) -> list[str]:
    """Leave out of a conflict what it does without, one after the other."""
    kept = list(core)
    for each in list(kept):
        rest = [name for name in kept if name != each]
        if not fits(rest):
            kept = rest
    return kept


class Pysat:
    """SAT, the optimum by assumptions: values and `at most` literals of each variable, one literal a box."""

    def __init__(self, problem: dict[str, Any]) -> None:
        self.solver = importlib.import_module("pysat.solvers").Solver(name="cadical153")
        self.fields: list[str] = problem["fields"]
        self.top = 0
        self.values: list[list[int]] = []  # literal of each value
        self.most: list[list[int]] = []  # literal of `this value or a better one`
        add = self.solver.add_clause
        for domain in problem["domains"]:
            size = domain.bit_length()
            value = [self._new() for _ in range(size)]
            most = [self._new() for _ in range(size)]
            add([most[-1]])
            add([-value[0], most[0]])
            add([value[0], -most[0]])
            for index in range(1, size):
                add([-most[index - 1], most[index]])
                add([-value[index], most[index]])
                add([-value[index], -most[index - 1]])
                add([value[index], most[index - 1], -most[index]])
            self.values.append(value)
            self.most.append(most)
        self.groups: dict[str, int] = {}
        sets: dict[tuple[int, int], int] = {}
        for variables, boxes, groups in problem["constraints"]:
            for group in groups:
                if group not in self.groups:
                    self.groups[group] = self._new()
            off = [-self.groups[group] for group in groups]
            if len(variables) == 1:
                union = 0
                for box in boxes:
                    union |= box[0]
                for out in bits(problem["domains"][variables[0]] & ~union):
                    add([*off, -self.values[variables[0]][out]])
                continue
            chosen = []
            for box in boxes:
                literal = self._new()
                chosen.append(literal)
                for variable, mask in zip(variables, box, strict=True):
                    outside = problem["domains"][variable] & ~mask
                    if not outside:
                        continue
                    held = sets.get((variable, mask))
                    if held is None:
                        held = sets[variable, mask] = self._new()
                        for out in bits(outside):
                            add([-held, -self.values[variable][out]])
                    add([-literal, held])
            add([*off, *chosen])

    def _new(self) -> int:
        self.top += 1
        return self.top

    def best(self) -> World_ | None:
        """Value after value, the best first, each proven by a call."""
        fixed = list(self.groups.values())
        if not self.solver.solve(assumptions=fixed):
            return None
        model = self.solver.get_model()
        found = []
        for value, most in zip(self.values, self.most, strict=True):
            now = next(index for index, literal in enumerate(value) if model[literal - 1] > 0)
            while now and self.solver.solve(assumptions=[*fixed, most[now - 1]]):
                model = self.solver.get_model()
                now = next(index for index, literal in enumerate(value) if model[literal - 1] > 0)
            found.append(now)
            fixed.append(value[now])
        return tuple(found)

    def conflict(self) -> list[str]:
        """The core of the assumptions, made minimal."""
        others = [literal for name, literal in self.groups.items() if name not in self.fields]
        names = {literal: name for name, literal in self.groups.items()}

        def fits(kept: list[str]) -> bool:
            return bool(self.solver.solve(assumptions=[*others, *(self.groups[name] for name in kept)]))

        asked = [name for name in self.fields if name in self.groups]
        if fits(asked):
            return []
        core = {names[literal] for literal in self.solver.get_core() or ()}
        return minimal([name for name in asked if name in core], fits)


class Clingo:
    """Answer sets; the best value first by its domain heuristic, so that the first answer is the optimum."""

    optimal = True
    PROGRAM = """
        1 {a(V,X): d(V,X)} 1 :- v(V).
        {on(G)} :- group(G).
        1 {b(C,B): x(C,B)} :- c(C), on(G): needs(C,G).
        s(S) :- a(V,X), of(S,V), in(S,X).
        :- b(C,B), m(B,S), not s(S).
        #heuristic a(V,X) : rank(V,X,L). [L,true]
        #show a/2.
    """

    def __init__(self, problem: dict[str, Any]) -> None:
        self.clingo = importlib.import_module("clingo")
        self.fields: list[str] = problem["fields"]
        self.size = len(problem["domains"])
        lines: list[str] = []
        rank = sum(domain.bit_length() for domain in problem["domains"])
        for variable, domain in enumerate(problem["domains"]):
            lines.append(f"v({variable}).")
            for value in range(domain.bit_length()):
                lines.append(f"d({variable},{value}).rank({variable},{value},{rank}).")
                rank -= 1
        groups: dict[str, int] = {}
        sets: dict[tuple[int, int], int] = {}
        boxes_made = 0
        for index, (variables, boxes, needs) in enumerate(problem["constraints"]):
            lines.append(f"c({index}).")
            for group in needs:
                number = groups.setdefault(group, len(groups))
                lines.append(f"needs({index},{number}).")
            for box in boxes:
                boxes_made += 1
                lines.append(f"x({index},{boxes_made}).")
                for variable, mask in zip(variables, box, strict=True):
                    if not problem["domains"][variable] & ~mask:
                        continue
                    number = sets.get((variable, mask), -1)
                    if number < 0:
                        number = sets[variable, mask] = len(sets)
                        lines.append(f"of({number},{variable}).")
                        lines += [f"in({number},{value})." for value in bits(mask & problem["domains"][variable])]
                    lines.append(f"m({boxes_made},{number}).")
        lines += [f"group({number})." for number in groups.values()]
        self.control = self.clingo.Control(["--heuristic=Domain", "--warn=none"])
        self.control.add("base", [], self.PROGRAM + "".join(lines))
        self.control.ground([("base", [])])
        function, number_of = self.clingo.Function, self.clingo.Number
        self.groups = {name: function("on", [number_of(number)]) for name, number in groups.items()}

    def best(self) -> World_ | None:
        """The first answer."""
        found = [-1] * self.size

        def note(model: Any) -> bool:
            for symbol in model.symbols(shown=True):
                found[symbol.arguments[0].number] = symbol.arguments[1].number
            return False

        ended = self.control.solve(assumptions=[(symbol, True) for symbol in self.groups.values()], on_model=note)
        return tuple(found) if ended.satisfiable else None

    def conflict(self) -> list[str]:
        """The core of the assumptions, made minimal."""
        atoms = self.control.symbolic_atoms
        others = [(symbol, True) for name, symbol in self.groups.items() if name not in self.fields]

        def fits(kept: list[str]) -> bool:
            return bool(self.control.solve(assumptions=[*others, *((self.groups[name], True) for name in kept)]).satisfiable)

        asked = [name for name in self.fields if name in self.groups]
        core: set[int] = set()
        with self.control.solve(assumptions=[*others, *((self.groups[name], True) for name in asked)], yield_=True) as handle:
            if handle.get().satisfiable:
                return []
            core = set(handle.core())
        return minimal([name for name in asked if atoms[self.groups[name]].literal in core], fits)


class Resolvelib:
    """pip's resolver: a package a variable, and one a constraint whose releases are the boxes.

    The packages of one candidate first, then the variables in order, then boxes: the order that asks least of it."""

    conflict = None

    def __init__(self, problem: dict[str, Any]) -> None:
        self.lib = importlib.import_module("resolvelib")
        self.problem = problem
        everything = {f"v{index}": domain for index, domain in enumerate(problem["domains"])}
        self.boxes: dict[str, tuple[tuple[int, ...], Any]] = {}
        self.about: dict[str, list[str]] = {}
        for index, (variables, boxes, _) in enumerate(problem["constraints"]):
            if len(variables) == 1:
                union = 0
                for box in boxes:
                    union |= box[0]
                everything[f"v{variables[0]}"] &= union
                continue
            name = f"c{index}"
            self.boxes[name] = (variables, boxes)
            everything[name] = (1 << len(boxes)) - 1
            for variable in variables:
                self.about.setdefault(f"v{variable}", []).append(name)
        self.root = list(everything.items())

    def best(self) -> World_ | None:
        """Its answer, or None; TimeoutError when it does not end in time."""
        outer, until = self, time.perf_counter() + PATIENCE

        class Provider(self.lib.AbstractProvider):  # type: ignore[misc, name-defined]
            def identify(self, requirement_or_candidate: tuple[str, int]) -> str:
                return requirement_or_candidate[0]

            def get_preference(self, identifier: str, resolutions: Any, candidates: Any, information: Any,  # noqa: ARG002
                               backtrack_causes: Any) -> tuple[bool, bool, int]:  # noqa: ARG002
                if time.perf_counter() > until:
                    raise TimeoutError
                mask = -1
                for each in information[identifier]:
                    mask &= each.requirement[1]
                return bool(mask & (mask - 1)), identifier[0] == "c", int(identifier[1:])

            def find_matches(self, identifier: str, requirements: Any, incompatibilities: Any) -> list[tuple[str, int]]:
                mask = -1
                for _, allowed in requirements[identifier]:
                    mask &= allowed
                for _, barred in incompatibilities[identifier]:
                    mask &= ~barred
                return [(identifier, 1 << each) for each in bits(mask)]

            def is_satisfied_by(self, requirement: tuple[str, int], candidate: tuple[str, int]) -> bool:
                return bool(requirement[1] & candidate[1])

            def get_dependencies(self, candidate: tuple[str, int]) -> list[tuple[str, int]]:
                name, value = candidate
                if name[0] == "c":
                    variables, boxes = outer.boxes[name]
                    box = boxes[value.bit_length() - 1]
                    return [(f"v{variable}", mask) for variable, mask in zip(variables, box, strict=True)]
                needs = []
                for constraint in outer.about.get(name, ()):
                    variables, boxes = outer.boxes[constraint]
                    position = variables.index(int(name[1:]))
                    needs.append((constraint, sum(1 << index for index, box in enumerate(boxes) if box[position] & value)))
                return needs

        try:
            found = self.lib.Resolver(Provider(), self.lib.BaseReporter()).resolve(self.root, max_rounds=10**6).mapping
        except self.lib.ResolutionImpossible:
            return None
        return tuple(found[f"v{index}"][1].bit_length() - 1 for index in range(len(self.problem["domains"])))


class Resolvo:
    """conda's resolver: packages for variables and boxes, values and boxes as versions, the best value the newest.

    It weighs all packages against each other in an order of its own, so that only whether there is an answer has to agree. The
    constraints are the channel; loaded, the channel's file is written already."""

    conflict = None

    def __init__(self, problem: dict[str, Any]) -> None:
        self.lib = importlib.import_module("rattler")
        self.failure = importlib.import_module("rattler.exceptions").SolverError
        self.size = len(problem["domains"])
        domains = list(problem["domains"])
        for variables, boxes, _ in problem["constraints"]:
            if len(variables) == 1:
                domains[variables[0]] &= sum(1 << bit for bit in {each for box in boxes for each in bits(box[0])})
        packages: dict[str, dict[str, Any]] = {}
        self.specs = [f"v{variable}" for variable in range(self.size)]

        def add(name: str, version: int, depends: list[str]) -> None:
            packages[f"{name}-{version}-0.conda"] = {
                "name": name, "version": str(version), "build": "0", "build_number": 0, "depends": depends, "subdir": "noarch",
                "md5": "0" * 32, "sha256": "0" * 64, "size": 1}

        self.empty = not all(domains)
        for variable, domain in enumerate(domains):
            for value in bits(domain):
                add(f"v{variable}", 9999 - value, [])
        for index, (variables, boxes, _) in enumerate(problem["constraints"]):
            if len(variables) == 1:
                continue
            self.specs.append(f"c{index}")
            for number, box in enumerate(boxes):
                needs = [f"v{variable} {self.versions(mask & domains[variable])}" for variable, mask in
                         zip(variables, box, strict=True) if domains[variable] & ~mask]
                if all(mask & domains[variable] for variable, mask in zip(variables, box, strict=True)):
                    add(f"c{index}", 9999 - number, needs)
        self.folder = tempfile.TemporaryDirectory(prefix="bench-")
        place = Path(self.folder.name) / "repodata.json"
        place.write_text(json.dumps({"info": {"subdir": "noarch"}, "packages": {}, "packages.conda": packages,
                                     "repodata_version": 1}), "utf-8")
        self.data = self.lib.SparseRepoData(self.lib.Channel("x"), "noarch", place)

    @staticmethod
    def versions(mask: int) -> str:
        """A set of values as a version range: runs of neighbours."""
        runs: list[list[int]] = []
        for value in bits(mask):
            if runs and runs[-1][1] == value - 1:
                runs[-1][1] = value
            else:
                runs.append([value, value])
        return "|".join(f"{9999 - last}" if first == last else f">={9999 - last},<={9999 - first}" for first, last in runs)

    def best(self) -> World_ | None:
        """Its answer."""
        if self.empty:
            return None

        async def ask() -> Any:
            return await self.lib.solve_with_sparse_repodata([self.lib.MatchSpec(each) for each in self.specs], [self.data])

        try:
            found = {each.name.normalized: 9999 - int(str(each.version)) for each in asyncio.run(ask())}
        except self.failure as error:
            if "Cannot solve" not in str(error):
                raise
            return None
        return tuple(found[f"v{index}"] for index in range(self.size))


def seconds(ask: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Median time of a few calls and the last answer; a slow call is made once."""
    spent, answer = [], None
    for _ in range(rounds):
        started = time.perf_counter()
        answer = ask()
        spent.append(time.perf_counter() - started)
        if spent[-1] > 0.3:
            break
    return statistics.median(spent), answer


def measure_engine(made: Any, problems: list[dict[str, Any]], rounds: int) -> list[dict[str, Any]]:
    """For each problem: answer, whole and loaded seconds, and for one without an answer its conflict, with the same two times."""
    told = []
    for problem in problems:
        row: dict[str, Any] = {}
        try:
            row["whole"], row["answer"] = seconds(lambda problem=problem: made(problem).best(), rounds)  # type: ignore[misc]
        except TimeoutError:
            told.append({"late": True})
            continue
        ready = made(problem)
        row["loaded"] = seconds(ready.best, rounds)[0]
        if row["answer"] is None and made.conflict:
            row["conflict whole"], row["conflict"] = seconds(
                lambda problem=problem: made(problem).conflict(), rounds)  # type: ignore[misc]
            row["conflict loaded"] = seconds(ready.conflict, rounds)[0]
        told.append(row)
    return told


ENGINES: dict[str, tuple[str, Any]] = {"ours": ("", Ours), "PySAT": ("pysat.solvers", Pysat), "clingo": ("clingo", Clingo),
                                       "resolvelib": ("resolvelib", Resolvelib),
                                       "resolvo": ("rattler", Resolvo)}


def main(source: str, target: str, *folders: str) -> None:
    """Measure every engine that can be imported."""
    sys.path += folders
    problems = pickle.loads(Path(source).read_bytes())
    told: dict[str, Any] = {}
    for name, (module, made) in ENGINES.items():
        try:
            if module:
                importlib.import_module(module)
        except ImportError as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
            continue
        told[name] = measure_engine(made, problems, 9 if name == "ours" else 3)
    Path(target).write_text(json.dumps(told), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
