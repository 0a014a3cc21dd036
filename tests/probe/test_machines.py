"""Machines as the probe tells them, each with what the doctor and `init` should make of it.

`machines/*.json` are documents of the probe with `about` and `expect` beside: the first finding, the exit status, parts of the spec."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from provisioner.catalog.load import load as load_catalog
from provisioner.cli.host import _knows
from provisioner.doctor import engine, live
from provisioner.probe import collect
from provisioner.solver.plan import Plan, Refusal, solve
from provisioner.spec import load as spec

MACHINES = sorted((Path(__file__).parent / "machines").glob("*.json"))
Machine = dict[str, Any]


@pytest.fixture(params=MACHINES, ids=lambda path: path.stem)
def machine(request: pytest.FixtureRequest) -> Machine:
    held: Machine = json.loads(request.param.read_text("utf-8"))
    return held


def codes(report: engine.Report) -> list[str]:
    return [each.code for each in report.findings]


def test_there_are_enough() -> None:
    assert len(MACHINES) >= 12


def test_the_doctor_names_the_cause_first(machine: Machine) -> None:
    report = live.diagnose_facts(machine)
    assert codes(report)[:1] == machine["expect"]["findings"][:1]
    assert report.status == machine["expect"]["status"]


def test_what_is_well_has_no_error(machine: Machine) -> None:
    if machine["expect"]["status"] == 0:
        assert [each.code for each in live.diagnose_facts(machine).findings if each.severity != "info"] == []


def test_evidence_is_lines_a_program_prints(machine: Machine) -> None:
    for finding in live.diagnose_facts(machine).findings:
        for line in finding.evidence:
            assert line.source == "probe"
            assert line.number > 0
            assert "{'" not in line.text


def test_a_saved_bundle_says_the_same(machine: Machine) -> None:
    document = {**machine, "private": {"host": "deepthought", "user": "ada", "home": "/home/ada"}}
    saved = json.dumps(collect.redact(document), indent=1).encode()
    from_file = engine.diagnose([("bundle.json", saved.splitlines(keepends=True))], "doctor")
    ours, theirs = live.diagnose_facts(document), from_file
    assert [(each.code, each.score, each.severity) for each in theirs.findings] == [(each.code, each.score, each.severity) for each in ours.findings]
    assert theirs.status == ours.status


def test_both_languages(machine: Machine) -> None:
    assert codes(live.diagnose_facts(machine, "zh")) == codes(live.diagnose_facts(machine))


def test_the_spec_of_a_machine(machine: Machine) -> None:
    plain = collect.to_plain(machine, knows=_knows)
    expected = machine["expect"]["spec"]
    found = {
        "os": plain["target"]["os"], "kind": plain["target"].get("kind", "host"), "nvswitch": plain["target"].get("nvswitch"),
        "gpus": plain.get("gpus"), "driver": (plain.get("driver") or {}).get("version"), "torch": plain.get("torch"), "cuda": plain.get("cuda"),
    }
    assert {name: found[name] for name in expected} == expected


def test_the_spec_is_read_back_and_solved(machine: Machine) -> None:
    made = spec.load("facts", text=json.dumps(collect.to_plain(machine, knows=_knows)).encode())
    again = spec.load("spec.yaml", text=spec.write(made).encode())
    assert spec.normal(again) == spec.normal(made)
    assert isinstance(solve(again, load_catalog()), (Plan, Refusal))


@pytest.mark.parametrize("name", ["healthy-rtx4090", "wsl-rtx3060"])
def test_what_works_is_a_plan_that_keeps_it(name: str) -> None:
    machine = json.loads((MACHINES[0].parent / f"{name}.json").read_text("utf-8"))
    answer = solve(spec.load("facts", text=json.dumps(collect.to_plain(machine, knows=_knows)).encode()), load_catalog())
    assert isinstance(answer, Plan)
    assert answer.choices["driver"] == machine["expect"]["spec"]["driver"]
    assert answer.choices["torch"].split("+")[0] == collect.value(machine, "torch")["version"].split("+")[0]
    assert answer.choices["cuda"] == collect.value(machine, "torch")["cuda"]


def test_a_system_that_the_catalogue_does_not_know_is_linux() -> None:
    facts = {"probe": 1, "facts": {"os": {"value": {"id": "ubuntu", "version_id": "33.10"}}, "glibc": {"value": "2.50"}, "arch": {"value": "x86_64"}}}
    assert collect.to_plain(facts, knows=_knows)["target"] == {"os": "linux", "arch": "x86_64", "kind": "host", "glibc": "2.50"}


@pytest.mark.parametrize(("told", "target"), [
    ({"id": "ubuntu", "version_id": "22.04"}, "ubuntu2204"), ({"id": "debian", "version_id": "12"}, "debian12"),
    ({"id": "rocky", "version_id": "9.4", "id_like": "rhel centos fedora"}, "rhel9"), ({"id": "amzn", "version_id": "2023"}, "amzn2023"),
    ({"id": "linuxmint", "version_id": "22.1", "id_like": "ubuntu debian", "ubuntu_codename": "noble"}, "noble"),
    ({"id": "sles", "version_id": "15.6"}, "sles15"), ({"id": "opensuse-leap", "version_id": "15.6"}, "opensuse15"), ({"id": "arch"}, "arch"),
    ({"id": "manjaro", "id_like": "arch"}, "arch"), ({"id": "azurelinux", "version_id": "3.0"}, "azl3"), ({"id": "nixos", "version_id": "25.05"}, "linux"),
    ({}, "linux"),
])
def test_systems_by_their_os_release(told: dict[str, str], target: str) -> None:
    assert collect.system({"facts": {"os": {"value": told}}}) == target
    assert load_catalog().system(target).id


def test_a_gpu_that_nobody_knows_is_written_by_its_capability() -> None:
    facts = {"facts": {"smi_gpus": {"value": [{"name": "NVIDIA GeForce RTX 9999", "compute_cap": "8.9"}]}, "pci": {"value": []}}}
    assert collect.to_plain(facts, knows=lambda kind, text: kind == "os")["gpus"] == ["sm_89"]


def test_where_nobody_can_tell_the_spec_names_no_gpus() -> None:
    assert "gpus" not in collect.to_plain({"facts": {"pci": {"unknown": "there is no /sys"}}})


def test_a_large_bundle_is_read_whole() -> None:
    machine = json.loads((MACHINES[0].parent / "nouveau-active.json").read_text("utf-8"))
    machine["facts"]["packages"]["value"] += [f"libnvidia-extra-{number} 550.144.03-0ubuntu1" for number in range(5_000)]
    saved = json.dumps(collect.redact(machine), indent=1)
    assert saved.startswith('{\n "probe": 1,')
    report = engine.diagnose([("bundle.json", saved.encode().splitlines(keepends=True))], "doctor")
    assert codes(report) == codes(live.diagnose_facts(machine))
