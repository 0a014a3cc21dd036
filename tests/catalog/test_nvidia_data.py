"""Right values of the NVIDIA tables, each with the public source it was read in. The tables are not asked what they hold:
every value here was copied out of the named source by hand."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.catalog import load

NOTES = "CUDA Toolkit Release Notes 13.2 Update 2 and 13.4 Update 1, tables of driver versions"
COMPAT = "CUDA Compatibility guide, 615 edition"
RELEASES = "Supported Drivers and CUDA Toolkit Versions, 615 and 620 editions"
MATRIX = "CUDA Toolkit, Driver, and Architecture Matrix"
PTXAS = "ptxas --help of each toolkit, as CUDA.jl measured it"
README = "README of open-gpu-kernel-modules, table of GPUs"
PCI = "pci.ids and the driver README, appendix A"
CUDNN = "cuDNN support matrices"
NCCL_SOURCE = "makefiles/common.mk of the NCCL tag"
MANIFEST = "redistrib_X.Y.Z.json"
GUIDE = "CUDA Installation Guide for Linux"
WINDOWS = "CUDA Installation Guide for Windows, table of compilers"
INSTALLERS = "names of the CUDA installers, which carry the driver"
HEADERS = "host_config.h of the toolkit, as spack and nixpkgs have it"
DEBIAN = "descriptions of Debian's driver packages"

#: (table, key, {field: value}, source)
ROWS: tuple[tuple[str, tuple[Any, ...], dict[str, Any], str], ...] = (
    # the row of a release and the driver inside its installer are two things
    ("toolkits", ("12.8.0",), {"min_driver_linux": "570.26", "min_driver_windows": "570.65"}, NOTES),
    ("toolkits", ("12.8.0",), {"bundled_linux": "570.86.10", "bundled_windows": "571.96"}, INSTALLERS),
    ("toolkits", ("12.2.1",), {"min_driver_linux": "535.86.09", "bundled_linux": "535.86.10"}, NOTES),
    ("toolkits", ("11.7.1",), {"min_driver_linux": "515.48.07", "bundled_linux": "515.65.01", "bundled_windows": "516.94"}, NOTES),
    ("toolkits", ("11.8.0",), {"min_driver_windows": "520.06", "bundled_windows": "522.06", "branch": "520"}, NOTES),
    ("toolkits", ("10.1.243",), {"min_driver_linux": "418.39", "bundled_linux": "418.87.00", "bundled_windows": "426.00"}, NOTES),
    ("toolkits", ("13.0.0",), {"min_driver_linux": "580.65.06", "bundled_windows": "", "released": "2025-08-04"}, NOTES),
    ("toolkits", ("13.4.1",), {"label": "13.4 GA", "bundled_linux": "", "branch": "615"}, NOTES),
    ("toolkits", ("12.8.2",), {"min_driver_linux": None, "min_driver_windows": None}, NOTES),
    ("toolkits", ("12.7.0",), {}, "no CUDA 12.7 in the CUDA Toolkit Archive"),
    # floors are point releases, not bare branches
    ("cuda_majors", ("11",), {"min_driver_linux": "450.80.02", "min_driver_windows": "452.39"}, NOTES),
    ("cuda_majors", ("12",), {"min_driver_linux": "525.60.13", "min_driver_windows": "528.33"}, NOTES),
    ("cuda_majors", ("13",), {"min_driver_linux": "580.65.06"}, NOTES),
    ("cuda_majors", ("10.2",), {"min_driver_linux": "440.33", "min_driver_windows": "441.22"}, NOTES),
    ("rules", ("cuda-11.0-min-driver-linux",), {"value": "450.36.06"}, NOTES),
    ("rules", ("cuda-12.0.0-min-driver-windows",), {"value": "527.41"}, NOTES),
    ("forward_compat", ("12.8",), {"branches": ("535",)}, COMPAT),
    ("forward_compat", ("13.0",), {"branches": ("535", "570")}, COMPAT),
    ("forward_compat", ("13.4",), {"branches": ("535", "570", "580", "590", "595", "610"), "package": "cuda-compat-13-4"}, COMPAT),
    ("rules", ("cuda-compat-error-device",), {"value": "804"}, COMPAT),
    ("rules", ("cuda-compat-error-mismatch",), {"value": "803"}, COMPAT),
    # branches
    ("driver_branches", ("580",), {"kind": "LTSB", "cuda": "13.0", "end_of_life": "2028-06", "windows_numbers": "580-582"}, RELEASES),
    ("driver_branches", ("535",), {"kind": "LTSB", "cuda": "12.2", "end_of_life": "2026-06"}, RELEASES),
    ("driver_branches", ("565",), {"cuda": "12.7", "kind": "NFB"}, "nvidia-smi of 565 prints CUDA 12.7"),
    ("driver_branches", ("560",), {"kind": "NFB", "cuda": "12.6"}, RELEASES),
    ("driver_branches", ("430",), {"cuda": "10.1"}, "nvidia-smi of 430.40 and later"),
    ("driver_branches", ("610",), {"end_of_life": "2026-08", "cuda": "13.3"}, RELEASES),
    ("driver_branches", ("620",), {"kind": "LTSB", "cuda": "13.5", "flavours": ("open",)}, "driver guide of 620: open modules alone"),
    ("driver_branches", ("510",), {"flavours": ("proprietary",)}, "open modules begin with 515.43.04"),
    ("driver_branches", ("470",), {"last_kernel": "6.8", "latest": "470.256.02"}, DEBIAN),
    ("driver_branches", ("580",), {"last_kernel": "7.1"}, "highlights of 580.159.04: build fixed for Linux 7.1"),
    ("architectures", ("Kepler",), {"last_branch": "470", "open_modules": "unsupported"}, "NVIDIA Legacy GPUs"),
    ("architectures", ("Pascal",), {"last_branch": "580", "open_modules": "unsupported"}, MATRIX),
    ("architectures", ("Volta",), {"last_branch": "580"}, MATRIX),
    ("architectures", ("Turing",), {"last_branch": "", "open_first_driver": "515.43.04", "open_modules": "supported"}, README),
    ("architectures", ("Blackwell",), {"open_modules": "required", "first_branch": "570"}, README),
    ("architectures", ("Blackwell Ultra",), {"first_driver": "580.82.07"}, README),
    # capabilities
    ("capabilities", (90,), {"first_toolkit": "11.8", "last_toolkit": ""}, PTXAS),
    ("capabilities", (86,), {"first_toolkit": "11.1", "runs": (80, 86)}, PTXAS),
    ("capabilities", (89,), {"first_toolkit": "11.8", "runs": (80, 86, 89)}, PTXAS),
    ("capabilities", (120,), {"first_toolkit": "12.8", "runs": (120,)}, PTXAS),
    ("capabilities", (121,), {"first_toolkit": "12.9", "runs": (120, 121), "integrated": False}, PTXAS),
    ("capabilities", (70,), {"last_toolkit": "12.9", "deprecated_from": "12.8"}, NOTES),
    ("capabilities", (72,), {"last_toolkit": "12.9", "integrated": True}, PTXAS),
    ("capabilities", (37,), {"last_toolkit": "11.8"}, PTXAS),
    ("capabilities", (30,), {"last_toolkit": "10.2"}, PTXAS),
    ("capabilities", (101,), {"first_toolkit": "12.8", "last_toolkit": "12.9"}, PTXAS),
    ("capabilities", (110,), {"first_toolkit": "13.0"}, PTXAS),
    # host compilers
    ("host_compilers", ("12.4", "gcc"), {"first": "6", "last": "13"}, HEADERS),
    ("host_compilers", ("12.8", "gcc"), {"last": "14"}, HEADERS),
    ("host_compilers", ("11.8", "gcc"), {"last": "11"}, HEADERS),
    ("host_compilers", ("13.0", "gcc"), {"last": "15"}, GUIDE),
    ("host_compilers", ("13.0", "clang"), {"first": "7", "last": "20"}, GUIDE),
    ("host_compilers", ("13.4", "gcc"), {"last": "16"}, GUIDE),
    ("host_compilers", ("12.9", "msvc"), {"first": "1920", "last": "1949"}, WINDOWS),
    ("host_compilers", ("12.8", "msvc"), {"first": "1910"}, WINDOWS),
    ("host_compilers", ("13.2", "msvc"), {"last": "1959"}, WINDOWS),
    # components
    ("components", ("12.6.3", "libcublas"), {"version": "12.6.4.1"}, MANIFEST),
    ("components", ("12.4.1", "cuda_nvcc"), {"version": "12.4.131"}, MANIFEST),
    ("components", ("12.1.1", "cuda_cudart"), {"version": "12.1.105"}, MANIFEST),
    ("components", ("11.8.0", "libcublas"), {"version": "11.11.3.6"}, MANIFEST),
    ("components", ("13.4.2", "cccl"), {"version": "13.3.4.3.1"}, MANIFEST),
    # cuDNN, NCCL
    ("cudnn", ("9.10.2.21", "12"), {"min_sm": 50, "min_driver_linux": "525.60.13", "min_driver_windows": "527.41"}, CUDNN),
    ("cudnn", ("9.10.2.21", "11"), {"min_sm": 50, "max_sm": 90, "min_driver_linux": "450.80.02"}, CUDNN),
    ("cudnn", ("9.11.0.98", "12"), {"min_sm": 75}, "cuDNN 9.11.0 release notes"),
    ("cudnn", ("9.17.0.29", "13"), {"min_sm": 75, "min_driver_linux": "580.65.06", "min_driver_windows": None}, CUDNN),
    ("cudnn", ("8.5.0.96", "11"), {"min_sm": 35, "released": "2022-08-09"}, CUDNN),
    ("cudnn", ("8.9.7.29", "12"), {"min_sm": 50, "max_sm": 90, "released": "2023-12-05"}, MANIFEST),
    ("cudnn", ("9.25.0.15", "12"), {"wheel": False}, "wheels withdrawn from the package index"),
    ("cudnn", ("8.9.5.29", "12"), {"platforms": ("win_amd64",)}, "package metadata of nvidia-cudnn-cu12"),
    ("nccl", ("2.21.5",), {"cudas": ("11", "12"), "suffixes": ("12.4",), "released": "2024-04-02"}, NCCL_SOURCE),
    ("nccl", ("2.28.3",), {"sm": (60, 61, 70, 75, 80, 90, 100, 110, 120)}, NCCL_SOURCE),
    ("nccl", ("2.25.1",), {"sm": (35, 50, 60, 61, 70, 80, 90, 100, 120)}, NCCL_SOURCE),
    ("nccl", ("2.27.7",), {"wheels": ("12", "13")}, "package metadata of nvidia-nccl-cu13"),
    ("nccl", ("2.26.6",), {"wheels": (), "cudas": ()}, "a tag without a build"),
    ("rules", ("cuda-error-system-not-ready",), {"value": "802"}, "CUDA driver API: CUDA_ERROR_SYSTEM_NOT_READY"),
)

#: (PCI id, {field: value}, source)
GPUS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("2684", {"name": "NVIDIA GeForce RTX 4090", "sm": 89, "architecture": "Ada", "open_modules": "supported"}, PCI),
    ("2b85", {"name": "NVIDIA GeForce RTX 5090", "sm": 120, "open_modules": "required", "first_driver": "570.86.16"}, README),
    ("2e12", {"name": "NVIDIA GB10", "sm": 121, "first_driver": "580.119.02", "forward_compat": False}, README),
    ("2330", {"name": "NVIDIA H100 80GB HBM3", "sm": 90, "nvswitch": True, "forward_compat": True}, README),
    ("2331", {"name": "NVIDIA H100 PCIe", "sm": 90, "nvswitch": False, "first_driver": "520.56.06"}, README),
    ("2321", {"name": "NVIDIA H100 NVL", "nvswitch": False, "first_driver": "535.104.05"}, README),
    ("2342", {"sm": 90, "architecture": "Grace Hopper", "open_modules": "required", "nvswitch": False, "first_driver": "535.129.03"},
     README),
    ("20b2", {"name": "NVIDIA A100-SXM4-80GB", "sm": 80, "nvswitch": True}, PCI),
    ("20b5", {"name": "NVIDIA A100 80GB PCIe", "sm": 80, "nvswitch": False}, PCI),
    ("1db1", {"name": "Tesla V100-SXM2-16GB", "sm": 70, "nvswitch": False, "open_modules": "unsupported"}, PCI),
    ("1eb8", {"name": "Tesla T4", "sm": 75, "forward_compat": True, "gpu_class": "datacenter"}, PCI),
    ("102d", {"name": "Tesla K80", "sm": 37, "last_branch": "470"}, PCI),
    ("1b06", {"name": "NVIDIA GeForce GTX 1080 Ti", "sm": 61, "last_branch": "580", "forward_compat": False}, PCI),
    ("3182", {"name": "NVIDIA B300 SXM6 AC", "sm": 103, "first_driver": "580.82.07", "nvswitch": True}, README),
    ("2901", {"name": "NVIDIA B200", "sm": 100, "nvswitch": True, "open_modules": "required"}, README),
    ("2230", {"name": "NVIDIA RTX A6000", "sm": 86, "gpu_class": "workstation", "forward_compat": False}, PCI),
    ("1cb6", {"name": "Quadro P620", "sm": 61}, PCI),
)


@pytest.fixture(scope="module")
def catalog() -> load.Catalog:
    """The shipped tables alone."""
    return load.load(overlays=False)


@pytest.mark.parametrize(("table", "key", "fields", "source"), ROWS, ids=[f"{row[0]} {' '.join(map(str, row[1]))}" for row in ROWS])
def test_a_row_says_what_its_source_says(catalog: load.Catalog, table: str, key: tuple[Any, ...], fields: dict[str, Any],
                                         source: str) -> None:
    row = catalog.row(table, *key)
    if not fields:
        assert row is None, source
        return
    assert row is not None, source
    assert {field: getattr(row, field) for field in fields} == fields, source


@pytest.mark.parametrize(("pci_id", "fields", "source"), GPUS, ids=[row[0] for row in GPUS])
def test_a_gpu_is_what_its_source_says(catalog: load.Catalog, pci_id: str, fields: dict[str, Any], source: str) -> None:
    rows = [row for row in catalog.gpus if row.pci_id == pci_id and row.name == fields.get("name", row.name)]
    assert rows, source
    for row in rows:
        assert {field: getattr(row, field) for field in fields} == fields, source


def test_cudnn_ends_and_begins_where_the_support_matrices_say(catalog: load.Catalog) -> None:
    """First for CUDA 12: 8.8.0; first for 13: 9.12.0; last for 11: 9.10.2; last for 10.2: 8.7.0 (cuDNN manifests)."""
    from provisioner.versions import key

    spans: dict[str, list[str]] = {}
    for row in catalog.cudnn:
        spans.setdefault(row.cuda.split(".")[0], []).append(row.version)
    assert min(spans["12"], key=key).startswith("8.8.0.")
    assert min(spans["13"], key=key).startswith("9.12.0.")
    assert max(spans["11"], key=key).startswith("9.10.2.")
    assert max(spans["10"], key=key).startswith("8.7.0.")


def test_each_minor_of_cuda_13_has_one_branch(catalog: load.Catalog) -> None:
    """13.0 R580, 13.1 R590, 13.2 R595, 13.3 R610, 13.4 R615, 13.5 R620 (release notes)."""
    found = {(".".join(row.version.split(".")[:2]), row.branch) for row in catalog.toolkits if row.version.startswith("13.")}
    assert found == {("13.0", "580"), ("13.1", "590"), ("13.2", "595"), ("13.3", "610"), ("13.4", "615"), ("13.5", "620")}


def test_no_geforce_card_may_use_a_compatibility_package(catalog: load.Catalog) -> None:
    """GeForce, TITAN and mining cards give error 804 (CUDA Compatibility guide)."""
    assert not [row.name for row in catalog.gpus if row.forward_compat and row.gpu_class in ("geforce", "mining", "workstation")]


def test_only_sxm_boards_sit_on_nvswitch(catalog: load.Catalog) -> None:
    """PCIe and NVL cards and Grace modules do not (Fabric Manager start-up logic of NVIDIA's driver container)."""
    boards = [row for row in catalog.gpus if row.nvswitch]
    assert len({row.name for row in boards}) > 12
    assert not [row.name for row in boards if "PCI" in row.name or "NVL" in row.name or row.name.startswith("NVIDIA G")]


def test_cubins_never_run_across_majors(catalog: load.Catalog) -> None:
    """The binary-compatibility rule of the CUDA C++ Programming Guide; 10.1 and 11.0 are two numbers of one chip."""
    for row in catalog.capabilities:
        assert row.sm in row.runs
        assert {each // 10 for each in row.runs} - {row.sm // 10} <= ({10} if row.sm == 110 else set())
        assert max(row.runs) == row.sm
