"""Known truths about what runs what, each from the vendor's documentation, put to the shipped tables."""

from __future__ import annotations

import pytest

from provisioner.catalog import cover
from provisioner.catalog.load import Catalog, load


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


# CUDA C++ programming guide, binary compatibility: same major, equal or higher minor; PTX forward only.
@pytest.mark.parametrize(("sm", "ptx", "gpu", "expected"), [
    ((80, 86), (), 86, "cubin"),
    ((80, 86), (), 89, "cubin"),  # sm_86 code on an RTX 4090
    ((80,), (), 90, None),  # never across majors
    ((50, 60, 70, 80, 90), (), 120, None),
    ((50, 60, 70, 80, 90), (90,), 120, "ptx"),
    ((75, 80, 86, 90, 100, 120), (120,), 61, None),  # Pascal with a CUDA 13 build
    ((61,), (), 60, None),  # never to a lower minor
    ((60,), (), 61, "cubin"),
    ((37, 50), (), 35, None),
    ((75,), (), 70, None),  # Turing code on Volta
    ((100,), (), 103, "cubin"),
    ((100, 120), (), 110, None),  # Thor
    ((80, 86), (), 87, None),  # Orin: the cautious reading
    ((80,), (80,), 87, None),  # generic PTX on an integrated GPU
])
def test_gpu_code(catalog: Catalog, sm: tuple[int, ...], ptx: tuple[int, ...], gpu: int, expected: str | None) -> None:
    assert cover.covers(sm, ptx, catalog.row("capabilities", gpu)) == expected


def test_ptx_needs_a_driver_that_may_compile_it(catalog: Catalog) -> None:
    assert cover.covers((90,), (90,), catalog.row("capabilities", 120), jit=False) is None


# CUDA Compatibility guide and release notes, tables 2 and 3.
@pytest.mark.parametrize(("cuda", "driver", "platform", "compat", "expected"), [
    ("12.4", "550.54.14", "linux", False, "full"),
    ("12.4", "535.129.03", "linux", False, "minor"),
    ("12.4", "525.60.13", "linux", False, "minor"),
    ("12.4", "525.60.12", "linux", False, "no"),
    ("12.1", "520.61.05", "linux", True, "no"),
    ("11.8", "450.80.02", "linux", False, "minor"),
    ("11.8", "450.80.1", "linux", False, "no"),
    ("11.8", "470.256.02", "linux", False, "minor"),
    ("11.8", "535.129.03", "linux", False, "full"),
    ("13.0", "575.64.05", "linux", False, "no"),
    ("13.0", "570.211.01", "linux", True, "forward"),  # cuda-compat-13-0 on a data-centre GPU
    ("13.0", "570.211.01", "linux", False, "no"),
    ("13.0", "580.65.06", "linux", False, "full"),
    ("13.2", "580.65.06", "linux", False, "minor"),
    ("10.2", "440.33", "linux", False, "full"),
    ("10.2", "418.226.00", "linux", False, "no"),  # no minor-version compatibility before CUDA 11
    ("12.4", "528.33", "windows", False, "minor"),
    ("12.4", "527.41", "windows", False, "no"),
    ("12.8", "572.16", "windows", False, "full"),  # Windows numbers 571-573 are branch 570
    ("12.4", "999.10", "linux", False, "full"),
])
def test_cuda_on_drivers(catalog: Catalog, cuda: str, driver: str, platform: str, compat: bool, expected: str) -> None:
    assert cover.driver_serves(catalog, cuda, driver, platform, compat) == expected


@pytest.mark.parametrize(("gpu", "driver", "expected"), [
    ("GTX 1080 Ti", "580.65.06", True),
    ("GTX 1080 Ti", "590.48.01", False),  # Pascal ends with 580
    ("Tesla K80", "470.256.02", True),
    ("Tesla K80", "495.46", False),
    ("RTX 4090", "515.105.01", False),
    ("RTX 4090", "525.60.13", None),  # served, but first listed in 525.78.01
    ("RTX 4090", "525.78.01", True),
    ("RTX 5090", "565.77", False),
    ("RTX 5090", "570.211.01", True),
    ("sm_75", "620.70.06", True),
])
def test_drivers_on_gpus(catalog: Catalog, gpu: str, driver: str, expected: bool | None) -> None:
    assert [cover.driver_knows(catalog, card, driver) for card in cover.cards(catalog, gpu)] == [expected]


@pytest.mark.parametrize(("gpu", "driver", "expected"), [
    ("RTX 5090", "580.65.06", ("open",)),
    ("GTX 1080 Ti", "580.65.06", ("proprietary",)),
    ("A100-SXM4-80GB", "550.54.14", ("open", "proprietary")),
    ("A100-SXM4-80GB", "470.256.02", ("proprietary",)),
    ("RTX 3090", "550.54.14", ("proprietary",)),  # open modules served GeForce in full from 555 on
    ("RTX 3090", "560.35.05", ("open", "proprietary")),
    ("sm_70", "620.70.06", ()),  # 620 has open modules alone, Volta wants the others
])
def test_kernel_modules(catalog: Catalog, gpu: str, driver: str, expected: tuple[str, ...]) -> None:
    assert {cover.flavours(catalog, card, driver) for card in cover.cards(catalog, gpu)} == {expected}


def test_a_k80_ends_with_cudnn_8(catalog: Catalog) -> None:
    assert cover.cudnn_serves(catalog.cudnn, "8.7.0.84", "11.8", 37) is True
    assert cover.cudnn_serves(catalog.cudnn, "9.1.0.70", "11.8", 37) is False
    assert cover.cudnn_serves(catalog.cudnn, "9.1.0.70", "12.4", 89) is True


def test_family_floors(catalog: Catalog) -> None:
    assert cover.floor(catalog, "12.8.1") == "525.60.13"
    assert cover.floor(catalog, "10.1") == "418.39"
    assert cover.floor(catalog, "11.8", "windows") == "452.39"
    assert cover.floor(catalog, "99.0") == ""
    assert cover.full_branch(catalog, "12.4") == "550"
