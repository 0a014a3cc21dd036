"""Exact search over small finite domains. Knows nothing of CUDA.

A variable has values 0..n-1, the best first. A set of values is an integer whose bit i stands for value i. A constraint is a
union of boxes: each box gives one set a variable, and an assignment is allowed when some box holds all of its values. Tables,
functions and "not this combination" all are unions of few boxes, so that one pass over the boxes makes a constraint
arc-consistent, whatever the number of its variables.

The variables stand in the order of preference: a world is better than another when the first variable in which they differ has
the better value. Depth-first search in that order finds the best world first, and so proves it best.

Every constraint names the groups that it rests on (a line of the user's, a fact). It holds while all of them are switched on:
that is how conflicts and repairs are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Box = tuple[int, ...]
Constraint = tuple[tuple[int, ...], tuple[Box, ...], frozenset[str]]  # variables, boxes, groups


class World:
    """Variables, constraints, and the questions one may ask of them."""

    __slots__ = ("constraints", "domains", "names")

    def __init__(self) -> None:
        self.names: list[str] = []
        self.domains: list[int] = []
        self.constraints: list[Constraint] = []

    def variable(self, name: str, size: int) -> int:
        """Add a variable of `size` values, the least important so far; its index."""
        self.names.append(name)
        self.domains.append((1 << size) - 1)
        return len(self.names) - 1

    def require(self, variables: Sequence[int], boxes: Iterable[Box], groups: Iterable[str] = ()) -> None:
        """Add a constraint. With one variable its boxes may be given as one."""
        self.constraints.append((tuple(variables), tuple(boxes), frozenset(groups)))

    def only(self, variable: int, values: int, groups: Iterable[str] = ()) -> None:
        """The variable takes one of these values."""
        self.constraints.append(((variable,), ((values,),), frozenset(groups)))

    # -- questions ---------------------------------------------------------------------------------------------------

    def best(self, off: frozenset[str] = frozenset(), extra: Sequence[Constraint] = ()) -> tuple[int, ...] | None:
        """The best world as one value a variable, or None when there is none. Groups in `off` are switched off."""
        return next(self.worlds(off, extra), None)

    def worlds(self, off: frozenset[str] = frozenset(), extra: Sequence[Constraint] = ()) -> Iterator[tuple[int, ...]]:
        """All worlds, the best first."""
        ground = self._ground(off, extra)
        if ground is not None:
            for domains in _search(*ground, 0):
                yield tuple(values.bit_length() - 1 for values in domains)

    def different(self, count: int, by: Sequence[int]) -> list[tuple[int, ...]]:
        """The best `count` worlds of which no two agree in all of the variables `by`."""
        found: list[tuple[int, ...]] = []
        barred: list[Constraint] = []
        while len(found) < count:
            world = self.best(extra=barred)
            if world is None:
                break
            found.append(world)
            barred.append(self.other_than(world, by))
        return found

    def other_than(self, world: Sequence[int], by: Sequence[int]) -> Constraint:
        """The constraint that at least one of the variables `by` differs from `world`."""
        boxes = []
        for changed in by:
            boxes.append(tuple(self.domains[each] & ~(1 << world[each]) if each == changed else self.domains[each]
                               for each in by))
        return tuple(by), tuple(boxes), frozenset()

    def domain(self, variable: int, off: frozenset[str] = frozenset(), extra: Sequence[Constraint] = ()) -> int:
        """Values of a variable that propagation leaves: every value of every world is among them, 0 when it proves there is none."""
        ground = self._ground(off, extra)
        return 0 if ground is None else ground[0][variable]

    def holds(self, off: frozenset[str] = frozenset(), extra: Sequence[Constraint] = ()) -> bool:
        """Whether there is a world; quicker than `best`, smallest domain first."""
        ground = self._ground(off, extra)
        return ground is not None and _exists(*ground)

    def conflict(self, groups: Sequence[str], off: frozenset[str] = frozenset(),
                 extra: Sequence[Constraint] = (), smallest: bool = True) -> list[str]:
        """A minimal set of `groups` that has no world together: without any one of them there is one.

        All other groups not in `off` are taken for granted. Of several minimal sets a smallest is given when it has at most
        two members, else the one that QuickXplain (Junker 2004) finds, which prefers the groups named last. `smallest` false leaves
        the search for a smallest one out: minimal still, and quicker where the groups are many.
        Call it only when there is no world with all of them."""
        everything = frozenset(groups)

        def fits(kept: Iterable[str]) -> bool:
            return self.holds(off | everything.difference(kept), extra)

        if not fits(()):
            return []
        if smallest:
            for name in groups:
                if not fits((name,)):
                    return [name]
        found = quickxplain(list(groups), fits)
        if smallest and len(found) > 2:
            for index, one in enumerate(groups):
                for other in groups[index + 1:]:
                    if not fits((one, other)):
                        return [one, other]
        return [name for name in groups if name in found]

    def repairs(self, groups: Sequence[str], most: int, off: frozenset[str] = frozenset(),
                extra: Sequence[Constraint] = ()) -> list[tuple[str, ...]]:
        """The minimal sets of at most `most` groups without which there is a world, the smallest first."""
        found: list[tuple[str, ...]] = []
        layer: list[tuple[str, ...]] = [()]
        for _ in range(most + 1):
            following: list[tuple[str, ...]] = []
            for dropped in layer:
                if any(set(each) <= set(dropped) for each in found):
                    continue
                if self.holds(off.union(dropped), extra):
                    found.append(dropped)
                    continue
                after = groups.index(dropped[-1]) + 1 if dropped else 0
                following += [(*dropped, name) for name in groups[after:]]
            layer = following
        return found

    def _ground(self, off: frozenset[str], extra: Sequence[Constraint]) -> tuple[
            list[int], list[tuple[tuple[int, ...], tuple[Box, ...]]], list[list[int]]] | None:
        """Domains after the first propagation, constraints of several variables, and who watches which variable."""
        domains = list(self.domains)
        active: list[tuple[tuple[int, ...], tuple[Box, ...]]] = []
        watched: list[list[int]] = [[] for _ in domains]
        for source in (self.constraints, extra):
            for variables, boxes, groups in source:
                if off and not off.isdisjoint(groups):
                    continue
                if len(variables) == 1:
                    union = 0
                    for box in boxes:
                        union |= box[0]
                    domains[variables[0]] &= union
                else:
                    for each in variables:
                        watched[each].append(len(active))
                    active.append((variables, boxes))
        if not all(domains) or not _propagate(domains, active, watched, set(range(len(active)))):
            return None
        return domains, active, watched


def _propagate(domains: list[int], active: list[tuple[tuple[int, ...], tuple[Box, ...]]], watched: list[list[int]],
               queue: set[int]) -> bool:
    """Narrow the domains to a fixed point; False when one runs empty."""
    while queue:
        index = queue.pop()
        variables, boxes = active[index]
        if len(variables) == 2:
            one, other = variables
            old_one, old_other = domains[one], domains[other]
            new_one = new_other = 0
            for left, right in boxes:
                if old_one & left and old_other & right:
                    new_one |= left
                    new_other |= right
            new_one &= old_one
            new_other &= old_other
            if not new_one or not new_other:
                return False
            if new_one != old_one:
                domains[one] = new_one
                queue.update(watched[one])
            if new_other != old_other:
                domains[other] = new_other
                queue.update(watched[other])
        else:
            old = [domains[each] for each in variables]
            new = [0] * len(old)
            for box in boxes:
                for values, allowed in zip(old, box):  # noqa: B905 - the same length by construction
                    if not values & allowed:
                        break
                else:
                    new = [gathered | allowed for gathered, allowed in zip(new, box)]  # noqa: B905
            for position, each in enumerate(variables):
                values = new[position] & old[position]
                if not values:
                    return False
                if values != old[position]:
                    domains[each] = values
                    queue.update(watched[each])
        queue.discard(index)
    return True


def _search(domains: list[int], active: list[tuple[tuple[int, ...], tuple[Box, ...]]], watched: list[list[int]],
            depth: int) -> Iterator[list[int]]:
    while depth < len(domains) and not domains[depth] & (domains[depth] - 1):
        depth += 1
    if depth == len(domains):
        yield domains
        return
    left = domains[depth]
    while left:
        value = left & -left
        left ^= value
        narrowed = list(domains)
        narrowed[depth] = value
        if _propagate(narrowed, active, watched, set(watched[depth])):
            yield from _search(narrowed, active, watched, depth + 1)


def _exists(domains: list[int], active: list[tuple[tuple[int, ...], tuple[Box, ...]]], watched: list[list[int]]) -> bool:
    smallest, size = -1, 0
    for index, values in enumerate(domains):
        if values & (values - 1):
            count = bin(values).count("1")
            if smallest < 0 or count < size:
                smallest, size = index, count
    if smallest < 0:
        return True
    left = domains[smallest]
    while left:
        value = left & -left
        left ^= value
        narrowed = list(domains)
        narrowed[smallest] = value
        if _propagate(narrowed, active, watched, set(watched[smallest])) and _exists(narrowed, active, watched):
            return True
    return False


def quickxplain(names: list[str], fits: Callable[[Iterable[str]], bool]) -> list[str]:
    """A minimal part of `names` that does not fit; the whole must not, nothing must."""

    def explain(ground: list[str], changed: bool, rest: list[str]) -> list[str]:
        if changed and not fits(ground):
            return []
        if len(rest) == 1:
            return rest
        middle = len(rest) // 2
        first, second = rest[:middle], rest[middle:]
        late = explain(ground + first, bool(first), second)
        early = explain(ground + late, bool(late), first)
        return early + late

    return explain([], False, names)
