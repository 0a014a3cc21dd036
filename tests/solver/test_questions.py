"""Questions people ask, with the right answers worked out from the sources, in the shape of spec and expectation.

`expect` holds: status (or a list), choices / not_choices {field: want}, conflict_fields [[a, b], [c]] (the conflict names a field
of each group), alternative [{field: want}] (some alternative's choices satisfy one), mentions, warns. A want is a PEP 440 range, an
exact text, null, or a list of these.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from provisioner.catalog.load import Catalog, load
from provisioner.solver.alternatives import apply
from provisioner.solver.plan import Plan, Refusal, solve
from provisioner.spec.load import load as load_spec

FOLDER = Path(__file__).parent / "questions"


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load(overlays=False)


def matches(want: Any, got: Any) -> bool:
    if isinstance(want, list):
        return any(matches(each, got) for each in want)
    if isinstance(got, list):
        return any(matches(want, each) for each in got)
    if want is None or got is None:
        return want is got
    want, got = str(want), str(got)
    bare = got if "+" in want else got.split("+")[0]
    if re.match(r"\s*[<>=!~]", want):
        try:
            return Version(bare) in SpecifierSet(want, prereleases=True)
        except (InvalidSpecifier, InvalidVersion):
            return False
    return want in (got, bare)


def pick(choices: dict[str, Any], field: str) -> Any:
    value: Any = choices
    for part in field.split(".", 1):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def misses(choices: dict[str, Any], wants: dict[str, Any]) -> list[str]:
    return [f"{field}: {pick(choices, field)!r}, wanted {want!r}" for field, want in wants.items()
            if not matches(want, pick(choices, field))]


def covers(one: str, other: str) -> bool:
    left, right = (re.findall(r"[^.\[\]]+", field) for field in (one, other))
    return left[:len(right)] == right[:len(left)]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_question(path: Path, catalog: Catalog) -> None:
    asked = yaml.safe_load(path.read_text("utf-8"))
    expect = asked["expect"]
    text = yaml.safe_dump(asked["spec"], sort_keys=False).encode()
    spec = load_spec(str(path), text=text)
    outcome = solve(spec, catalog)
    document = outcome.document()
    statuses = expect["status"] if isinstance(expect["status"], list) else [expect["status"]]
    assert document["status"] in statuses, document.get("text") or document["choices"]
    if isinstance(outcome, Plan):
        assert not misses(document["choices"], expect.get("choices", {}))
        for field, want in expect.get("not_choices", {}).items():
            assert not matches(want, pick(document["choices"], field)), field
        told = json.dumps([document["because"], document["warnings"]]).lower()
        if "mentions" in expect:
            assert any(word in told for word in expect["mentions"])
        if expect.get("warns"):
            assert document["warnings"]
        return
    assert isinstance(outcome, Refusal)
    fields = [entry["field"] for entry in document["conflict"] if entry["kind"] == "requirement"]
    for group in expect.get("conflict_fields", []):
        assert any(covers(want, field) for want in group for field in fields), f"{fields}, none of {group}"
    offered = [each["choices"] for each in document["alternatives"]]
    assert offered or expect.get("alternatives") == "none"
    if expect.get("alternative"):
        assert any(not misses(choices, want) for choices in offered for want in expect["alternative"]), offered
    for each in document["alternatives"]:  # put into the spec, each solves, and to what it says
        again = solve(apply(spec, each["change"]), catalog)
        assert isinstance(again, Plan) and again.choices == each["choices"]
