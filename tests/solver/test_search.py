"""The engine against brute force, on thousands of small worlds made from seeds."""

from __future__ import annotations

import itertools
import os
import random

import pytest

from provisioner.solver.search import World, quickxplain

#: how many worlds a test tries; the long run sets PROVISION_WORLDS and PROVISION_SEED
WORLDS = int(os.environ.get("PROVISION_WORLDS", "1500"))
SEED = int(os.environ.get("PROVISION_SEED", "1"))
Allowed = list[tuple[tuple[int, ...], set[tuple[int, ...]], frozenset[str]]]


def make(seed: int) -> tuple[World, list[int], Allowed, list[str]]:
    """A small world, and the same as explicit sets of allowed tuples."""
    dice = random.Random(seed)
    world, sizes = World(), [dice.randint(1, 4) for _ in range(dice.randint(2, 5))]
    for index, size in enumerate(sizes):
        world.variable(f"v{index}", size)
    groups = [f"g{index}" for index in range(dice.randint(1, 6))]
    plain: Allowed = []
    for _ in range(dice.randint(1, 9)):
        variables = tuple(dice.sample(range(len(sizes)), min(dice.randint(1, 3), len(sizes))))
        boxes = [tuple(dice.randrange(1, 1 << sizes[each]) for each in variables) for _ in range(dice.randint(1, 4))]
        names = frozenset(dice.sample(groups, dice.randint(0, min(2, len(groups)))))
        world.require(variables, boxes, names)
        tuples = {values for values in itertools.product(*(range(sizes[each]) for each in variables))
                  if any(all(box[i] >> value & 1 for i, value in enumerate(values)) for box in boxes)}
        plain.append((variables, tuples, names))
    return world, sizes, plain, groups


def all_worlds(sizes: list[int], plain: Allowed, off: frozenset[str] = frozenset()) -> list[tuple[int, ...]]:
    """Every world in order of preference, found by trying all."""
    return [world for world in itertools.product(*(range(size) for size in sizes))
            if all(tuple(world[each] for each in variables) in tuples
                   for variables, tuples, names in plain if off.isdisjoint(names))]


@pytest.fixture(scope="module")
def made() -> list[tuple[World, list[int], Allowed, list[str]]]:
    return [make(seed) for seed in range(SEED * 1_000_000, SEED * 1_000_000 + WORLDS)]


def test_worlds_are_all_found_best_first(made: list[tuple[World, list[int], Allowed, list[str]]]) -> None:
    for world, sizes, plain, _ in made:
        assert list(world.worlds()) == all_worlds(sizes, plain)


def test_best_and_holds_agree_with_trying_all(made: list[tuple[World, list[int], Allowed, list[str]]]) -> None:
    for world, sizes, plain, groups in made:
        for off in (frozenset(), frozenset(groups[:1]), frozenset(groups[1:])):
            expected = all_worlds(sizes, plain, off)
            assert world.best(off) == (expected[0] if expected else None)
            assert world.holds(off) == bool(expected)


def test_conflicts_are_conflicts_and_minimal(made: list[tuple[World, list[int], Allowed, list[str]]]) -> None:
    seen = 0
    for world, sizes, plain, groups in made:
        if all_worlds(sizes, plain):
            continue
        conflict = world.conflict(groups)
        everything = frozenset(groups)
        for found in (conflict, world.conflict(groups, smallest=False)):
            assert not all_worlds(sizes, plain, everything.difference(found))
            for name in found:
                assert all_worlds(sizes, plain, everything.difference(found) | {name})
        if len(conflict) > 2:  # then there is none of one or two
            for few in itertools.chain(itertools.combinations(groups, 1), itertools.combinations(groups, 2)):
                assert all_worlds(sizes, plain, everything.difference(few))
        seen += bool(conflict)
    assert seen > WORLDS / 50


def test_repairs_are_all_and_minimal(made: list[tuple[World, list[int], Allowed, list[str]]]) -> None:
    for world, sizes, plain, groups in made:
        expected: list[tuple[str, ...]] = []
        for count in range(3):
            for few in itertools.combinations(groups, count):
                if not any(set(each) <= set(few) for each in expected) and all_worlds(sizes, plain, frozenset(few)):
                    expected.append(few)
        assert world.repairs(groups, 2) == expected


def test_different_worlds_are_the_best_of_their_kind(made: list[tuple[World, list[int], Allowed, list[str]]]) -> None:
    for world, sizes, plain, _ in made:
        by = list(range(0, len(sizes), 2))
        expected: list[tuple[int, ...]] = []
        for each in all_worlds(sizes, plain):
            if all(any(each[i] != other[i] for i in by) for other in expected):
                expected.append(each)
        assert world.different(5, by) == expected[:5]


def test_quickxplain_finds_the_only_conflict() -> None:
    names = [f"n{index}" for index in range(40)]
    assert quickxplain(names, lambda kept: not {"n3", "n17", "n38"} <= set(kept)) == ["n3", "n17", "n38"]


def test_a_world_without_variables_is_one() -> None:
    assert World().best() == ()
