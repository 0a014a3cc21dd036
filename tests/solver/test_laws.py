"""Laws that hold for every spec, on specs made from seeds over the real catalogue.

PROVISION_LAWS says how many specs, PROVISION_SEED which.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from provisioner.catalog.load import Catalog, load
from provisioner.solver import lock
from provisioner.solver.alternatives import apply
from provisioner.solver.plan import Plan, Refusal, solve
from provisioner.spec.types import DriverWish, Spec, Target
from provisioner.versions import Range

COUNT = int(os.environ.get("PROVISION_LAWS", "150"))
SEED = int(os.environ.get("PROVISION_SEED", "1"))

GPUS = ("Tesla K80", "Tesla P100-PCIE-16GB", "GTX 1080 Ti", "V100", "T4", "RTX 2080 Ti", "A100", "RTX 3090", "L4", "RTX 4090",
        "NVIDIA H100 80GB HBM3", "B200", "RTX 5090", "sm_86", "8.9", "sm_120", "GeForce 940MX")
TORCH = ("==2.15.*", ">=2.10", "==2.6.*", "~=2.5.0", "2.7.1", "==2.1.2", "<2.4", "latest", "==2.99", "==1.13.1", ">=2.8,<2.11")
CUDA = ("cu118", "12.4", "cu126", "cu128", ">=12", ">=13", "<13", "cu131", "cpu", "cu130")
PYTHON = ("3.8", "3.10", "3.12", "3.13", ">=3.11", "3.15", "<3.10")
DRIVER = (DriverWish("470.256.02", keep=True), DriverWish("535.129.03", keep=True), DriverWish("580.65.06", keep=True),
          DriverWish("525.60.13", keep=True), DriverWish(">=570"), DriverWish("==550.*"), DriverWish("<590"),
          DriverWish(flavour="open"), DriverWish(flavour="proprietary"), DriverWish("==580.*", "open"), DriverWish(source="distro"),
          DriverWish("==570.*", "auto", "distro"), DriverWish("999.10", keep=True))
PACKAGES = (("torchvision", "*"), ("torchaudio", "*"), ("xformers", "*"), ("flash-attn", "*"), ("vllm", "==0.9.0"),
            ("torchvision", "==0.20.1"), ("bitsandbytes", "*"), ("deepspeed", "*"))
SYSTEMS = ("ubuntu2004", "ubuntu2204", "ubuntu2404", "ubuntu2604", "debian12", "debian13", "rhel7", "rhel8", "rhel9", "fedora44", "sles15",
           "amzn2023", "windows")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


def make(seed: int) -> Spec:
    dice = random.Random(seed)

    def maybe(chance: float, values: Any, other: Any = None) -> Any:
        return dice.choice(values) if dice.random() < chance else other

    os_name = dice.choice(SYSTEMS)
    target = Target(os_name, kind=maybe(0.15, ("container", "wsl"), "host") if os_name.startswith("ubuntu") else "host")
    packages = tuple(dict(dice.sample(PACKAGES, dice.choice((0, 0, 1, 2)))).items())
    return Spec(
        target=target, gpus=maybe(0.9, [tuple(dice.sample(GPUS, dice.choice((1, 1, 1, 2))))]), driver=maybe(0.4, DRIVER, DriverWish()),
        torch=maybe(0.5, TORCH), cuda=maybe(0.35, CUDA), python=maybe(0.3, PYTHON),
        toolkit=maybe(0.15, ("match", "12.4", ">=12.6"), "none"), cudnn=maybe(0.08, ("==9.*", "==8.*"), "bundled"),
        packages=packages, installer=maybe(0.1, ("conda",), "pip"),
        prefer=maybe(0.2, ("conservative", "least-change"), "newest"))


def outcomes(catalog: Catalog) -> list[tuple[Spec, Plan | Refusal]]:
    specs = [make(seed) for seed in range(SEED * 100_000, SEED * 100_000 + COUNT)]
    return [(spec, solve(spec, catalog)) for spec in specs]


@pytest.fixture(scope="module")
def solved(catalog: Catalog) -> list[tuple[Spec, Plan | Refusal]]:
    found = outcomes(catalog)
    assert any(isinstance(outcome, Plan) for _, outcome in found) and any(isinstance(outcome, Refusal) for _, outcome in found)
    return found


def without(spec: Spec, field: str, gpus: tuple[str, ...] | None = None) -> Spec:
    """The spec with one line taken out; `gpus`: the list that the field's number counts in."""
    if field.startswith("gpus["):
        text = (gpus or spec.gpus or ())[int(field[5:-1])]
        kept = tuple(each for each in spec.gpus or () if each != text)
        return spec._replace(gpus=kept or None)
    if field == "driver.version":
        return spec._replace(driver=spec.driver._replace(version=None, keep=False))
    if field.startswith("packages."):
        return spec._replace(packages=tuple(each for each in spec.packages if each[0] != field[9:]))
    return apply(spec, [{"field": field, "from": None, "to": None}])  # type: ignore[no-any-return]


def test_a_plan_keeps_what_was_asked_for(solved: list[tuple[Spec, Plan | Refusal]]) -> None:
    for spec, outcome in solved:
        if not isinstance(outcome, Plan):
            continue
        choices = outcome.choices
        torch = choices["torch"].split("+")[0]
        if spec.torch and spec.torch != "latest":
            assert torch in Range(spec.torch), spec
        if spec.python:
            assert choices["python"] in Range(spec.python), spec
        if spec.driver.keep:
            assert choices["driver"] == spec.driver.version, spec
        if spec.gpus:
            assert choices["cuda"], spec
        if spec.cuda == "cpu":
            assert choices["cuda_build"] == "cpu", spec
        if spec.target.kind != "host":
            assert choices["driver_source"] in (None, "preinstalled"), spec
        for name, wish in spec.packages:
            assert wish == "*" or choices["packages"][name].split("+")[0] in Range(wish), spec


def test_equal_input_gives_equal_bytes(catalog: Catalog, solved: list[tuple[Spec, Plan | Refusal]]) -> None:
    fresh = load(overlays=False)
    fresh = fresh if fresh.digest == catalog.digest else catalog  # somebody is editing the tables right now
    for spec, outcome in solved:
        again = solve(spec, fresh)
        assert type(again) is type(outcome)
        if isinstance(outcome, Plan) and isinstance(again, Plan):
            assert lock.dump(lock.make(outcome, spec, "0")) == lock.dump(lock.make(again, spec, "0"))
        else:
            assert outcome.document() == again.document()


def test_the_order_of_the_file_does_not_matter(catalog: Catalog, solved: list[tuple[Spec, Plan | Refusal]]) -> None:
    for spec, outcome in solved:
        turned = spec._replace(gpus=tuple(reversed(spec.gpus)) if spec.gpus else spec.gpus, packages=tuple(reversed(spec.packages)))
        again = solve(turned, catalog)
        assert type(again) is type(outcome), spec
        if isinstance(outcome, Plan) and isinstance(again, Plan):
            one, other = outcome.choices, again.choices
            assert sorted(one.pop("gpus")) == sorted(other.pop("gpus"))
            if len(spec.packages) < 2:  # the newest release of the first package comes before that of the second
                assert one == other, spec
            else:
                assert one["torch"] == other["torch"] and one["driver"] == other["driver"], spec


def test_loosening_never_makes_worse(catalog: Catalog, solved: list[tuple[Spec, Plan | Refusal]]) -> None:
    for spec, outcome in solved:
        if not isinstance(outcome, Plan) or spec.driver.keep:
            continue
        for field in outcome.question.requirements:
            if field in ("target", "toolkit", "cudnn", "gpus", "installer") or field.startswith(("packages", "gpus")):
                continue
            if field.startswith("driver") and not outcome.choices["cuda"]:
                continue  # a CPU build has no driver unless one was asked for
            looser = solve(without(spec, field), catalog)
            assert isinstance(looser, Plan), (spec, field)
            if looser.question.world.names == outcome.question.world.names:
                assert looser.world <= outcome.world, (spec, field)


def test_pinning_what_was_chosen_changes_nothing(catalog: Catalog, solved: list[tuple[Spec, Plan | Refusal]]) -> None:
    for spec, outcome in solved:
        if isinstance(outcome, Plan):
            choices = outcome.choices
            pinned = spec._replace(torch="==" + choices["torch"].split("+")[0], python=choices["python"])
            again = solve(pinned, catalog)
            assert isinstance(again, Plan) and again.choices == choices, spec


def test_a_conflict_is_one_and_minimal(catalog: Catalog, solved: list[tuple[Spec, Plan | Refusal]]) -> None:
    for spec, outcome in solved:
        if isinstance(outcome, Plan):
            continue
        fields, _ = outcome.blame
        # lines whose absence is a choice of its own: pip, and no toolkit for packages that come as source
        circumstances = ("target", "installer", "toolkit") if spec.packages else ("target", "installer")
        bare = spec
        for field in outcome.question.requirements:
            if field not in fields and field not in circumstances:
                bare = without(bare, field, spec.gpus)
        assert isinstance(solve(bare, catalog), Refusal), (spec, fields)
        for field in fields:
            if field not in circumstances:
                assert isinstance(solve(without(bare, field, spec.gpus), catalog), Plan), (spec, fields, field)
        document = outcome.document()
        assert [entry["field"] for entry in document["conflict"] if entry["kind"] == "requirement"] == fields
        for entry in document["conflict"]:
            assert entry["text"] and "{" not in entry["text"]


def test_every_alternative_solves_to_what_it_says(catalog: Catalog, solved: list[tuple[Spec, Plan | Refusal]]) -> None:
    for spec, outcome in solved:
        if isinstance(outcome, Plan):
            continue
        document = outcome.document()
        assert document["alternatives"], spec
        for each in document["alternatives"]:
            again = solve(apply(spec, each["change"]), catalog)
            assert isinstance(again, Plan) and again.choices == each["choices"], (spec, each)
        software = spec._replace(torch=None, cuda=None, python=None, driver=DriverWish(), toolkit="none", cudnn="bundled", nccl="bundled",
                                 packages=(), installer="pip")
        if isinstance(solve(software, catalog), Plan):
            assert any(not change["field"].startswith(("gpus", "target")) for each in document["alternatives"]
                       for change in each["change"]), spec
            assert any(all(not change["field"].startswith(("gpus", "target")) or change["field"] == "target.gcc"
                           for change in each["change"]) for each in document["alternatives"]), spec


def test_both_languages_say_everything(catalog: Catalog, solved: list[tuple[Spec, Plan | Refusal]]) -> None:
    for spec, outcome in solved[:60]:
        document = solve(spec, catalog, lang="zh").document()
        texts = [each["text"] for each in (*document.get("because", ()), *document.get("warnings", ()), *document.get("alternatives", ()))]
        for text in texts + ([document["text"]] if isinstance(outcome, Refusal) else []):
            assert any(ord(each) > 0x2E7F for each in text), text
