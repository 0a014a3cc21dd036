"""Each linter finds the fault it is for, planted in the real catalogue; the real catalogue has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provisioner.catalog.lint import QUESTIONS, facts, lint
from provisioner.catalog.lint.engine import key_of
from provisioner.catalog.load import Catalog, load

Planted = tuple[Catalog, str, tuple[object, ...]]  # the catalogue with the fault, and the row that has to be named
_LINUX = {"platform": "linux_x86_64", "channel": "pip"}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


def change(table: str, where: dict[str, Any], **fields: Any) -> Callable[[Catalog], Planted]:
    """Other values in the first row that is as `where` says."""

    def plant(catalog: Catalog) -> Planted:
        rows = list(getattr(catalog, table))
        index = next(index for index, row in enumerate(rows) if all(getattr(row, name) == value for name, value in where.items()))
        rows[index] = rows[index]._replace(**fields)
        return catalog.replaced(**{table: rows}), table, key_of(table, rows[index])

    return plant


def copy(table: str, where: dict[str, Any], **fields: Any) -> Callable[[Catalog], Planted]:
    """One more row: a copy with other values."""

    def plant(catalog: Catalog) -> Planted:
        rows = list(getattr(catalog, table))
        row = next(row for row in rows if all(getattr(row, name) == value for name, value in where.items()))
        rows.append(row._replace(**fields))
        return catalog.replaced(**{table: rows}), table, key_of(table, rows[-1])

    return plant


def drop(table: str, where: dict[str, Any], about: str, key: tuple[object, ...]) -> Callable[[Catalog], Planted]:
    """Rows taken away, which another row, `key` of the table `about`, then misses."""

    def plant(catalog: Catalog) -> Planted:
        rows = [row for row in getattr(catalog, table) if any(getattr(row, name) != value for name, value in where.items())]
        assert len(rows) < len(getattr(catalog, table))
        return catalog.replaced(**{table: rows}), about, key

    return plant


def pins(torch: str, build: str, name: str, wanted: str | None) -> Callable[[Catalog], Planted]:
    """Another requirement in a row of pins; None takes it away."""

    def plant(catalog: Catalog) -> Planted:
        where = {"torch": torch, "build": build, **_LINUX}
        row = catalog.row("torch_pins", torch, build, "linux_x86_64", "pip")
        made = tuple((each, wanted if each == name else old) for each, old in row.pins if each != name or wanted is not None)
        return change("torch_pins", where, pins=made if made != row.pins else (*made, (name, wanted or "")))(catalog)

    return plant


_BUILD = {"torch": "2.7.1", "build": "cu128", **_LINUX}
_GPU = {"name": "NVIDIA GeForce RTX 4090"}

PLANTS: dict[str, Callable[[Catalog], Planted]] = {
    # general
    "source-unknown": change("toolkits", {"version": "12.8.1"}, source="hearsay"),
    "date-form": change("torch_releases", {"version": "2.7.1"}, released="2025-13-04"),
    "date-future": change("torch_releases", {"version": "2.15.0"}, released="2027-01-01"),
    "life-order": change("driver_branches", {"branch": "570"}, end_of_life="2024-01"),
    "date-order": change("torch_releases", {"version": "2.7.1"}, released="2024-01-01"),
    "address": change("keys", {"os": "ubuntu2204"}, keyring_url="http://developer.download.nvidia.com/key.deb"),
    "address-of-another-architecture": change("systems", {"id": "ubuntu2204"}, repository_aarch64="https://x.example/ubuntu2204/x86_64"),
    "blank": change("driver_releases", {"version": "570.124.06"}, branch="570 "),
    "driver-spelling": change("cuda_majors", {"major": "11"}, min_driver_linux="450.80.2"),
    "interval": change("architectures", {"name": "Pascal"}, last_branch="300"),
    "overlap": copy("toolkit_offers", {"os": "ubuntu2204", "arch": "x86_64"}, first="12.0"),
    # torch
    "build-unknown": copy("torch_archs", _BUILD, build="cu127"),
    "release-without-builds": drop("torch_builds", {"torch": "2.7.1", "default": True, **_LINUX}, "torch_releases", ("2.7.1",)),
    "build-name": change("torch_builds", _BUILD, cuda="12.7"),
    "build-form": change("torch_builds", _BUILD, pythons=("3.10", "3.9")),
    "build-index": change("torch_builds", _BUILD, index_url="https://download.pytorch.org/whl/cu126"),
    "build-default": change("torch_builds", _BUILD, default=True),
    "build-python": change("torch_builds", _BUILD, pythons=("3.8", "3.9")),
    "build-toolkit": change("torch_builds", _BUILD, toolkit="12.6.3"),
    "build-before-toolkit": change("torch_builds", {"torch": "2.7.0", "build": "cu128", **_LINUX}, toolkit="12.8.2"),
    "build-newer-than-drivers": copy("torch_builds", _BUILD, build="cu199", cuda="19.9"),
    "arch-cannot-compile": change("torch_archs", {"torch": "2.7.1", "build": "cu126", **_LINUX}, sm=(50, 60, 70, 75, 80, 86, 90, 120)),
    "arch-form": change("torch_archs", _BUILD, sm=(80, 75)),
    "arch-missing": drop("torch_archs", {"torch": "2.7.1", "platform": "linux_x86_64"}, "torch_builds",
                         ("2.7.1", "cu118", "linux_x86_64", "pip")),
    "arch-dropped-and-back": change("torch_archs", {"torch": "2.5.0", "build": "cu124", **_LINUX}, sm=(50, 60, 70, 75, 86, 90)),
    "pin-cudnn": change("torch_pins", _BUILD, cudnn="9.7.1.99"),
    "pin-nccl": change("torch_pins", _BUILD, nccl="2.26.99"),
    "pin-contradiction": pins("2.7.1", "cu128", "nvidia-nccl-cu12", "==2.25.1"),
    "pin-cuda": pins("2.7.1", "cu128", "nvidia-cuda-runtime-cu12", "==12.6.77"),
    "pin-component": pins("2.7.1", "cu128", "nvidia-cublas-cu12", "==12.8.77.1"),
    "pin-form": pins("2.7.1", "cu128", "nvidia-nccl-cu12", "at least 2"),
    "companion-form": change("companions", {"package": "torchvision", "version": "0.22.1"}, platforms=("linux_amd64",)),
    "companion-torch": change("companions", {"package": "torchvision", "version": "0.22.1"}, torch="==2.7.9"),
    "companion-pair": change("companions", {"package": "torchvision", "version": "0.22.1"}, torch="==2.6.0"),
    "companion-before-torch": change("companions", {"package": "torchvision", "version": "0.22.1"}, released="2024-01-01"),
    "companion-requires": change("companions", {"package": "vllm", "version": "0.9.0"}, requires=(("torchvision", "==0.21.7"),)),
    "companion-arch": copy("companion_archs", {"package": "flash-attn"}, first="99.0", package="flash-attention"),
    "rule-release": change("rules", {"id": "torch-last-cuda12-release"}, value="2.14.9"),
    # toolkits
    "toolkit-driver-order": change("toolkits", {"version": "12.8.0"}, min_driver_linux="530.30.02"),
    "toolkit-bundled-driver": change("toolkits", {"version": "12.8.1"}, bundled_linux="570.26"),
    "toolkit-branch": change("toolkits", {"version": "12.8.1"}, branch="550"),
    "toolkit-below-family": change("toolkits", {"version": "12.1.0"}, min_driver_linux="510.39.01"),
    "toolkit-label": change("toolkits", {"version": "12.8.1"}, label="12.9 Update 1"),
    "component-of-unknown-toolkit": copy("components", {"toolkit": "12.8.1"}, toolkit="12.8.9"),
    "component-of-another-toolkit": change("components", {"toolkit": "12.8.1", "component": "cuda_nvcc"}, version="12.6.85"),
    "component-order": change("components", {"toolkit": "12.8.1", "component": "libcublas"}, version="12.6.4.1"),
    "host-compiler": change("host_compilers", {"toolkit": "12.8", "compiler": "gcc"}, last="9"),
    # drivers
    "branch-cuda-order": change("driver_branches", {"branch": "580"}, cuda="12.1"),
    "branch-kind": change("driver_branches", {"branch": "580"}, kind="production"),
    "branch-latest": change("driver_branches", {"branch": "550"}, latest="550.54.14"),
    "release-of-another-branch": change("driver_releases", {"version": "570.124.06", "platform": "linux"}, branch="575"),
    "branch-architectures": change("driver_branches", {"branch": "590"}, architectures=("Pascal", "Turing", "Ampere", "Ada", "Hopper",
                                                                                     "Blackwell", "Blackwell Ultra")),
    "architecture-open": change("architectures", {"name": "Blackwell"}, open_first_driver=""),
    "family-floor": change("cuda_majors", {"major": "12"}, min_driver_linux="470.57.02"),
    "forward-compat": change("forward_compat", {"cuda": "12.8"}, branches=("535", "570")),
    # GPUs
    "capability-without-toolkit": change("capabilities", {"sm": 120}, first_toolkit="12.7"),
    "capability-runs": change("capabilities", {"sm": 90}, runs=(80, 90)),
    "gpu-capability": change("gpus", _GPU, sm=99),
    "gpu-contradiction": copy("gpus", _GPU, name="NVIDIA GeForce RTX 4090 Blue", sm=86),
    "gpu-form": change("gpus", _GPU, pci_id="0x2684"),
    "gpu-drivers": change("gpus", _GPU, first_driver="470.57.02"),
    "gpu-first-driver": change("gpus", _GPU, first_driver="535.43.02"),
    "gpu-modules": change("gpus", {"name": "NVIDIA GeForce GTX 1080 Ti"}, open_modules="supported"),
    "gpu-alias": copy("gpu_aliases", {}, alias="rtx4090", name="NVIDIA GeForce RTX 3090"),
    # libraries
    "cudnn": change("cudnn", {"version": "9.7.1.26", "cuda": "12"}, min_driver_linux="470.57.02"),
    "cudnn-gpus-order": change("cudnn", {"version": "9.8.0.87", "cuda": "12"}, max_sm=90),
    "nccl": change("nccl", {"version": "2.26.2"}, sm=(99,)),
    # systems
    "system-form": change("systems", {"id": "ubuntu2204"}, python="3.9"),
    "system-repository": change("systems", {"id": "ubuntu2204"}, repository_x86_64="https://x.example/repos/ubuntu2404/x86_64"),
    "system-alias": change("systems", {"id": "ubuntu2404"}, aliases=("jammy",)),
    "key-form": change("keys", {"os": "ubuntu2204"}, fingerprint="A4B469963BF863CC"),
    "key-address": change("keys", {"os": "ubuntu2204"}, keyring_url="https://x.example/repos/ubuntu2404/x86_64/k.deb"),
    "key-missing": drop("keys", {"os": "ubuntu2204"}, "systems", ("ubuntu2204",)),
    "offer-system": copy("driver_offers", {"os": "ubuntu2204", "origin": "vendor", "arch": "x86_64"}, os="ubuntu2210"),
    "offer-branches": change("driver_offers", {"os": "ubuntu2204", "origin": "vendor", "arch": "x86_64"}, first="512"),
    "offer-toolkits": change("toolkit_offers", {"os": "ubuntu2204", "arch": "x86_64"}, first="12.7"),
    "package-name": change("package_names", {"family": "debian", "thing": "toolkit"}, pattern="cuda-toolkit-{cuda-dash}"),
    "package-missing": drop("package_names", {"family": "debian", "origin": "vendor", "thing": "headers"}, "systems", ("ubuntu2204",)),
    "jetpack": change("jetpacks", {"l4t": "36.4.3"}, sm=(89,)),
}


def test_the_catalogue_has_no_findings(catalog: Catalog) -> None:
    assert [each.text for each in lint(catalog).findings] == []


@pytest.mark.parametrize("name", sorted(PLANTS))
def test_a_planted_fault_is_found(catalog: Catalog, name: str) -> None:
    planted, table, key = PLANTS[name](catalog)
    found = lint(planted, only=(name,)).findings
    assert (table, key) in {(each.table, each.key) for each in found}, [each.text for each in found]


def test_every_question_has_a_planted_fault(catalog: Catalog) -> None:
    lint(catalog, only=("none",))
    assert set(PLANTS) == set(QUESTIONS)


def test_facts_are_what_a_row_says(catalog: Catalog) -> None:
    row = catalog.row("cuda_majors", "12")
    assert facts(row, "cuda_majors") == 2  # two drivers; the key and the provenance are none
    assert facts(row._replace(min_driver_windows=""), "cuda_majors") == 1
    pin = catalog.row("torch_pins", "2.7.1", "cu128", "linux_x86_64", "pip")
    assert facts(pin, "torch_pins") == 4 + len(pin.pins)  # how, cuDNN, NCCL, triton, and each requirement
    assert facts(catalog.sources[0], "sources") == 0
    assert facts(catalog.rules[0], "rules") == 1  # its value; the text explains it


def test_the_catalogue_is_large(catalog: Catalog) -> None:
    report = lint(catalog, only=("none",))
    assert report.facts > 10_000
    assert set(report.document()) == {"facts", "rows", "tables", "questions", "findings"}
