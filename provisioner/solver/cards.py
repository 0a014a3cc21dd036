"""Which GPUs a spec names: products, capabilities and PCI ids as what the rules need to know of them."""

from __future__ import annotations

from provisioner.errors import Problem, ProblemList, nearest
from provisioner.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Card(Record):
    """One kind of GPU in the machine."""

    field: str  # gpus[0]: the first entry that names it
    text: str  # as the user wrote it
    number: int
    name: str  # product, or sm_89
    sm: int | None
    architecture: str
    open_modules: str  # unsupported | supported | required | none (a SoC with its own driver)
    first_driver: str  # first release that lists the product, "" when that is no question
    first_in_branch: tuple[str, ...]
    nvswitch: bool
    forward_compat: bool
    early_open: bool  # whether the open modules served it from their first driver on, as they did data-centre GPUs
    integrated: bool
    product: bool  # a product, not a bare capability
    source: str
    confidence: str
    others: tuple[int, ...] = ()  # capabilities of other chips sold under the same name


def capability_of(text: str) -> int | None:
    """sm_89, sm89, compute_89, 8.9 -> 89; None when it is not a capability."""
    word = text.strip().lower()
    for prefix in ("sm_", "sm", "compute_"):
        if word.startswith(prefix) and word[len(prefix):].rstrip("af").isdigit():
            return int(word[len(prefix):].rstrip("af"))
    major, dot, low = word.partition(".")
    if dot and major.isdigit() and len(low) == 1 and low.isdigit():
        return int(major) * 10 + int(low)
    return None


def capability_name(sm: int | None) -> str:
    """89 -> sm_89"""
    return "unknown" if sm is None else f"sm_{sm}"


def cards(spec: Any, catalog: Any) -> tuple[Card, ...] | None:
    """The GPUs of a spec, each kind once; None when nothing is said of them.

    Raises ProblemList with every name that the catalogue does not know."""
    if spec.gpus is None:
        return None
    remembered: dict[str, list[Card]] = catalog.__dict__.setdefault("_solver_cards", {})  # a fleet asks for few names many times
    found: dict[tuple[Any, ...], Card] = {}
    problems: list[Problem] = []
    for index, text in enumerate(spec.gpus):
        field = f"gpus[{index}]"
        try:
            made = remembered.get(text)
            if made is None:
                made = remembered[text] = _cards(field, str(text), catalog)
        except Problem as problem:
            place = spec.place(field) or spec.place("gpus")
            problem.file = spec.file
            if place:
                problem.line, problem.column = place.line, place.column
            problems.append(problem)
            continue
        for card in made:
            place_of = (card.name, card.sm, card.architecture)
            known = found.get(place_of)
            found[place_of] = known._replace(number=known.number + 1) if known else card._replace(field=field)
    if problems:
        raise ProblemList(problems)
    return tuple(found.values())


def _cards(field: str, text: str, catalog: Any) -> list[Card]:
    sm = capability_of(text)
    if sm is not None:
        return [_of_capability(field, text, sm, catalog)]
    rows = list(catalog.gpu(text))
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        groups.setdefault((row.sm, row.architecture), []).append(row)
    if len(groups) > 1:  # a name of several chips: the newest is meant more often than not, and the plan says so
        sms = sorted({place[0] for place in groups if place[0] is not None}, reverse=True)
        if sms:
            newest = next(each for place, each in groups.items() if place[0] == sms[0])
            return [_of_rows(field, text, newest, catalog)._replace(others=tuple(sms[1:]))]
    return [_of_rows(field, text, each, catalog) for each in groups.values()]


def _of_rows(field: str, text: str, rows: list[Any], catalog: Any) -> Card:
    from provisioner.catalog.names import first_drivers

    first = rows[0]
    lowest, in_branches = first_drivers(rows)
    open_modules = {row.open_modules for row in rows}
    integrated = bool(_capability(catalog, first.sm) and _capability(catalog, first.sm).integrated)
    return Card(field, text, 1, first.name, first.sm, first.architecture,
                first.open_modules if len(open_modules) == 1 else "supported", lowest, in_branches if lowest else (),
                all(row.nvswitch for row in rows), all(row.forward_compat for row in rows),
                all(row.gpu_class == "datacenter" for row in rows), integrated, True, first.source,
                first.confidence)


def _capability(catalog: Any, sm: int | None) -> Any:
    return next((row for row in catalog.capabilities if row.sm == sm), None)


def _of_capability(field: str, text: str, sm: int, catalog: Any) -> Card:
    row = _capability(catalog, sm)
    if row is None:
        known = [capability_name(each.sm) for each in catalog.capabilities]
        near = nearest(f"sm_{sm}", known)
        raise Problem("spec-unknown-gpu", f"no GPU has the compute capability {text!r}",
                      todo=f"did you mean {', '.join(near)}?" if near else "")
    arch = next((each for each in catalog.architectures if each.name == row.architecture), None)
    return Card(field, text, 1, capability_name(sm), sm, row.architecture, arch.open_modules if arch else "supported", "", (),
                False, False, True, row.integrated, False, row.source, row.confidence)
