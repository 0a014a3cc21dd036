"""The solver: against other engines on the real catalogue's problem, growth with the catalogue, hosts per second.

The questions are those of `tests/solver/questions`. What the other engines get and how is in `engines.py`.
"""

from __future__ import annotations

import json
import math
import pickle
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from common import ROOT, Table, environment

from provisioner.catalog.load import Catalog
from provisioner.catalog.load import load as load_catalog
from provisioner.solver import tables
from provisioner.solver.plan import Plan, Refusal, solve
from provisioner.solver.problem import Question
from provisioner.solver.search import World
from provisioner.spec.load import load as load_spec

PEERS = {"PySAT": "python-sat", "clingo": "clingo", "resolvelib": "resolvelib", "resolvo": "py-rattler"}
GROWING = ("torch_releases", "torch_builds", "torch_archs", "torch_pins", "driver_releases", "toolkits", "cudnn", "nccl",
             "companions")


def questions() -> list[Any]:
    """Specs of the questions that the tests hold, by name."""
    found = []
    for path in sorted((ROOT / "tests" / "solver" / "questions").glob("*.yaml")):
        asked = yaml.safe_load(path.read_text("utf-8"))["spec"]
        found.append(load_spec(str(path), text=yaml.safe_dump(asked, sort_keys=False).encode()))
    return found


def clock(ask: Callable[[], object], rounds: int) -> float:
    """Median seconds of a call."""
    spent = []
    for _ in range(rounds):
        started = time.perf_counter()
        ask()
        spent.append(time.perf_counter() - started)
    return statistics.median(spent)


def measure(quick: bool) -> list[Table]:
    """All tables of the solver."""
    catalog, specs = load_catalog(overlays=False), questions()
    return [*engines(specs[::10] if quick else specs[::2], catalog), own(specs, catalog, 3 if quick else 9),
            growth(specs[::6] if quick else specs[::2], catalog, (1, 10) if quick else (1, 10, 100)), hosts(catalog, quick)]


# -- other engines -----------------------------------------------------------------------------------------------------


def engines(specs: list[Any], catalog: Any) -> list[Table]:
    """The same problems to every engine that can be had, in one process of an environment that holds them."""
    made = [(name, environment(f"engine-{package}", [package])) for name, package in PEERS.items()]
    folders = [str(next((found.parent / "lib").glob("python*/site-packages"))) for _, found in made if found]
    problems = []
    for spec in specs:
        question = Question(spec, catalog)
        world = question.world
        problems.append({"names": world.names, "domains": world.domains, "constraints": world.constraints,
                         "fields": list(question.requirements)})
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        source, target = Path(name) / "problems.pickle", Path(name) / "told.json"
        source.write_bytes(pickle.dumps(problems))
        subprocess.run([sys.executable, str(Path(__file__).with_name("engines.py")), str(source), str(target), *folders], check=True)
        engines_told: dict[str, list[dict[str, Any]]] = json.loads(target.read_text("utf-8"))
    mine = engines_told["ours"]
    rows: list[tuple[str, ...]] = []
    for engine, answers in engines_told.items():
        pairs = [(own, other) for own, other in zip(mine, answers, strict=True) if "late" not in other]
        late = len(mine) - len(pairs)
        feasible = sum((own["answer"] is None) == (other["answer"] is None) for own, other in pairs)
        same = sum(own["answer"] == other["answer"] for own, other in pairs)
        conflicts = [right(problem, other["conflict"]) for problem, other in zip(problems, answers, strict=True)
                     if other.get("conflict") is not None]
        rows.append((engine, f"{feasible} of {len(mine)}" + (f", {late} out of time" if late else ""), f"{same} of {len(mine)}",
                     ratio(pairs, "whole", "whole"), ratio(pairs, "loaded", "whole"),
                     f"{sum(conflicts)} of {len(conflicts)}" if conflicts else "-",
                     ratio(pairs, "conflict whole", "conflict whole"), ratio(pairs, "conflict loaded", "conflict whole")))
    impossible = sum(row["answer"] is None for row in mine)
    note = (f"{len(mine)} questions, {impossible} of them without an answer, as variables and boxes. Medians of the ratio, question by "
            "question, to ours; in brackets the largest. `from boxes`: from our constraints to the answer, with the time to tell the "
            "engine the problem; `loaded`: the engine holds the problem already and may remember what it learned, against the same "
            "time of ours. Most of PySAT's and clingo's time from boxes goes into writing clauses and facts in Python, which a program that "
            "keeps its model pays once; below 1 in a loaded column they are faster than ours. A conflict is right when it is one and "
            "minimal. resolvelib tells no minimal conflicts"
            + ("; resolvo knows newest first but no order among packages, so that its answers need not be the optimum." if
               "resolvo" in engines_told else "."))
    return [Table("Solve and conflict, against other engines", (
        "engine", "feasible or not agrees", "optimum agrees", "solve, from boxes", "solve, loaded", "conflict right",
        "conflict, from boxes", "conflict, loaded"), rows, note)]


def ratio(pairs: list[tuple[dict[str, Any], dict[str, Any]]], theirs: str, ours: str) -> str:
    """Median and largest of the ratios."""
    found = [other[theirs] / own[ours] for own, other in pairs if theirs in other and ours in own]
    return f"{statistics.median(found):.3g} ({max(found):.3g})" if found else "-"


def right(problem: dict[str, Any], conflict: list[str]) -> bool:
    """Whether a conflict is one, and minimal."""
    world = World()
    world.names, world.domains, world.constraints = problem["names"], problem["domains"], problem["constraints"]
    fields = frozenset(problem["fields"])
    return not world.holds(fields.difference(conflict)) and all(
        world.holds(fields.difference(conflict) | {each}) for each in conflict)


# -- our own time ------------------------------------------------------------------------------------------------------


def told(spec: Any, catalog: Any) -> dict[str, Any]:
    """The whole answer."""
    return solve(spec, catalog).document()


def own(specs: list[Any], catalog: Any, rounds: int) -> Table:
    """What a question costs here, part by part."""
    reference = clock(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 15)
    parts: dict[str, list[float]] = {"spec to variables and constraints": [], "best world": []}
    fits: list[float] = []
    fails: list[float] = []
    full: list[float] = []
    refused: list[float] = []
    for spec in specs:
        question = Question(spec, catalog)
        parts["spec to variables and constraints"].append(clock(partial(Question, spec, catalog), rounds))
        parts["best world"].append(clock(question.world.best, rounds))
        feasible = question.world.best() is not None
        (fits if feasible else fails).append(clock(partial(solve, spec, catalog), rounds))
        (full if feasible else refused).append(clock(partial(told, spec, catalog), 3))
    measured = [*parts.items(), ("solve, feasible", fits), ("solve, infeasible", fails),
                ("plan with reasons and warnings", full), ("conflict with ways out, told", refused)]
    rows: list[tuple[str, ...]] = [(name, str(len(values)), f"{statistics.median(values) / reference:.4f}", f"{max(values) / reference:.4f}",
             f"{statistics.median(values) * 1000:.2f}") for name, values in measured]
    return Table("What a question costs in a running process", ("part", "questions", "median, × `python -c pass`",
                                                                "largest, × `python -c pass`", "median ms on this machine"), rows,
                 f"Infeasible to feasible, medians of solve: {statistics.median(fails) / statistics.median(fits):.2f}.")


# -- growth ------------------------------------------------------------------------------------------------------------


def clone(version: str | None, number: int) -> str | None:
    """Another point release of the same series: 2.7.1 -> 2.7.1001; what has no third number stays."""
    found = re.match(r"\d+(?:\.\d+){2,}", version or "")
    if not found or version is None or not number:
        return version
    head, _, last = found.group().rpartition(".")
    return f"{head}.{int(last) + 1000 * number}{version[found.end():]}"


def pinned(text: str, number: int) -> str:
    """A range, its exact releases cloned."""
    return re.sub(r"(?<===)\d+\.\d+\.\d+(?![\d.*])", lambda found: str(clone(found.group(), number)), text)


class Multiplied(Catalog):
    """A catalogue with `times` point releases for each it has: torch and its wheels, drivers, toolkits, cuDNN, NCCL, packages."""

    def __init__(self, catalog: Catalog, times: int, packages: set[str]) -> None:
        super().__init__(catalog._compiled)
        fields = {"torch": clone, "version": clone, "pair": clone, "triton": clone}
        for table in GROWING:
            rows = [row for row in getattr(catalog, table) if table != "companions" or tables.canonical(row.package) in packages]
            found = list(rows)
            for number in range(1, times):
                for row in rows:
                    changed: dict[str, Any] = {field: change(getattr(row, field), number) for field, change in fields.items() if field in row._fields}
                    if table == "companions":
                        changed["torch"] = pinned(row.torch, number)
                        changed["requires"] = tuple((name, pinned(text, number)) for name, text in row.requires)
                    new = row._replace(**changed)
                    if any(new[index] != row[index] for index in range(len(row))):
                        found.append(new)
            self.__dict__[table] = tuple(found)
        self.__dict__["_extras"] = {"solver": tables.precompute(self)}


def growth(specs: list[Any], catalog: Catalog, sizes: tuple[int, ...]) -> Table:
    """Solve time with the catalogue multiplied."""
    packages = {tables.canonical(name) for spec in specs for name, _ in spec.packages} | {"triton"}
    rows: list[tuple[str, ...]] = []
    before: tuple[int, float, float] | None = None
    first: tuple[float, float] | None = None
    for times in sizes:
        large = Multiplied(catalog, times, packages)
        made = large.__dict__["_extras"]["solver"]
        asked = [(spec, Question(spec, large)) for spec in specs]
        search = statistics.median(clock(question.world.best, 3) for _, question in asked)
        whole = statistics.median(clock(partial(solve, spec, large), 3) for spec, _ in asked)
        first = first or (search, whole)
        exponents = ["-", "-"]
        if before:
            exponents = [f"{math.log(now / old) / math.log(times / before[0]):.2f}"
                         for now, old in ((search, before[1]), (whole, before[2]))]
        rows.append((f"{times} ×", str(len(made["wheels"])), str(made["drivers"]["linux/newest"]["count"]),
                     f"{search / first[0]:.2f}", exponents[0], f"{whole / first[1]:.2f}", exponents[1]))
        before = (times, search, whole)
        del large, made, asked
    return Table("Growth with the catalogue", ("catalogue", "wheels", "Linux drivers", "best world, × first row", "exponent",
                                               "spec to plan, × first row", "exponent"), rows,
                 f"Medians over {len(specs)} questions. Every release of torch (with its wheels), driver, toolkit, cuDNN, NCCL and of "
                 "the packages asked for gets further point releases; the tables are computed beforehand, as in a compiled catalogue. "
                 "Exponents are to the row before.")


# -- hosts -------------------------------------------------------------------------------------------------------------


def hosts(catalog: Any, quick: bool) -> Table:
    """Hosts per second: a fleet of few kinds, and one in which no two are alike."""
    gpus = ("RTX 4090", "A100", "H100", "L4", "V100", "T4", "RTX 3090", "L40S", "RTX 5090", "B200", "A10", "GTX 1080 Ti")
    systems = ("ubuntu2204", "ubuntu2404", "rhel9", "debian12", "rhel8")
    torches = ("*", ">=2.6", "==2.5.*", ">=2.4,<2.8", "==2.7.*", "==2.8.*")
    drivers = [row.version for row in catalog.driver_releases if row.platform == "linux" and 535 <= float(row.branch) <= 580]
    kinds = []
    for number, text in enumerate(f"target: {system}\ngpus: [{gpu}]\ntorch: \"{torch}\"\ndriver: {{keep: true, version: \"{driver}\"}}\n"
                                  for driver in drivers for system in systems for torch in torches for gpu in gpus):
        kinds.append((number, text))
    step = max(1, len(kinds) // 5000)
    kinds = kinds[::step]

    def spec(number: int, text: str) -> Any:
        return load_spec("host.yaml", text=f"spec: 1\nname: host-{number}\n{text}".encode())

    def fleet(of: list[Any]) -> tuple[float, int, int]:
        """Hosts a second through solve with a cache by kind, the kinds, and how many kinds have a plan."""
        known: dict[Any, Plan | Refusal] = {}
        started = time.perf_counter()
        for each in of:
            key = each._replace(name="", file="", where=())
            outcome = known.get(key)
            if outcome is None:
                outcome = known[key] = solve(each, catalog)
                if isinstance(outcome, Plan):
                    _ = outcome.choices
        return len(of) / (time.perf_counter() - started), len(known), sum(isinstance(each, Plan) for each in known.values())

    count = 2000 if quick else 10000
    few = kinds[::max(1, len(kinds) // 150)][:150]
    alike = [spec(number, few[number % len(few)][1]) for number in range(count)]
    different = [spec(number, text) for number, text in kinds[:300 if quick else 5000]]
    document = solve(different[0], catalog).document()
    reference = clock(lambda: json.dumps(document), 200)
    rows: list[tuple[str, ...]] = []
    for name, group in (("few kinds", alike), ("no two alike", different)):
        rate, number, planned = max(fleet(group) for _ in range(3))
        rows.append((name, str(len(group)), str(number), str(planned), f"{1 / rate / reference:.2f}", f"{rate:,.0f}"))
    return Table("Hosts per second", ("fleet", "hosts", "kinds", "kinds with a plan", "a host, × `json.dumps` of a plan",
                                      "hosts a second on this machine"), rows,
                 "Specs in memory, grouped by all they say but their name; each kind is solved once and its choices read. Best of three.")
