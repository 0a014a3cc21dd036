"""The first driver of a GPU, as NVIDIA's own changelog and the READMEs of six branches have it, and what follows from it.

Changelog: the one that comes with 550.163.01, "Added support for the following GPUs". READMEs: appendix A of 390.157, 418.226.00,
450.248.02, 460.106.00, 470.256.02, 535.261.03 and 550.163.01, which Debian's driver packages hold.
"""

from __future__ import annotations

import pytest

from provisioner.catalog import cover, load
from provisioner.catalog.load import Catalog
from provisioner.solver.plan import Plan, solve
from provisioner.spec.types import DriverWish, Spec, Target

CHANGELOG = {
    "NVIDIA GeForce RTX 2080 Ti": "410.57", "Tesla T4": "410.78", "NVIDIA GeForce GTX 1660 SUPER": "440.31",
    "NVIDIA A100-SXM4-40GB": "450.51", "NVIDIA A100-SXM4-80GB": "450.102.04", "NVIDIA A100 80GB PCIe": "470.57.02",
    "NVIDIA GeForce RTX 3090": "455.23.04", "NVIDIA GeForce RTX 3070": "455.38", "NVIDIA RTX A6000": "460.27.04",
    "NVIDIA A40": "460.32.03", "NVIDIA GeForce RTX 3060": "460.56", "NVIDIA A10G": "460.73.01", "NVIDIA A30": "460.73.01",
    "NVIDIA GeForce RTX 3080 Ti": "460.84", "NVIDIA A16": "470.57.02", "NVIDIA A2": "470.82.00",
    "NVIDIA GeForce RTX 3090 Ti": "470.129.06",
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load.load(overlays=False)


@pytest.mark.parametrize("name", CHANGELOG)
def test_first_driver_is_that_of_the_changelog(catalog: Catalog, name: str) -> None:
    (card,) = cover.cards(catalog, name)
    assert card.first_driver == CHANGELOG[name]


@pytest.mark.parametrize(("written", "first"), [("RTX 3060", "460.56"), ("RTX 3070", "455.38"), ("L20", "535.154.05")])
def test_ids_known_from_lists_alone_do_not_hide_the_first_driver(catalog: Catalog, written: str, first: str) -> None:
    """pci.ids knows more ids of these products, of which no README tells anything."""
    assert any(not gpu.first_driver for gpu in catalog.gpu(written))
    (card,) = cover.cards(catalog, written)
    assert card.first_driver == first


def test_a_later_id_of_a_product_is_later_and_the_product_is_not(catalog: Catalog) -> None:
    """10de:220a is an RTX 3080 that the README of 460.106.00 lacks and that of 470.256.02 has."""
    assert {gpu.first_driver for gpu in catalog.gpu("10de:220a")} == {"470.256.02"}
    (card,) = cover.cards(catalog, "RTX 3080")
    assert card.first_driver == "455.23.04"


@pytest.mark.parametrize(("name", "first"), [("Fermi", "195.36.24"), ("Kepler", "295.33"), ("Maxwell", "337.12"), ("Pascal", "367.27"),
                                              ("Volta", "384.98"), ("Blackwell", "570.86.15")])
def test_generations_begin_where_their_first_product_does(catalog: Catalog, name: str, first: str) -> None:
    """GTX 480, GTX 680, GTX 750, GTX 1080, V100 in the changelog; B200 in the README of the open modules."""
    row = catalog.row("architectures", name)
    assert (row.first_driver, row.first_branch) == (first, first.split(".")[0])


@pytest.mark.parametrize("name", ["GRID K1", "GRID K2", "GRID K340"])
def test_three_kepler_cards_ended_before_the_others(catalog: Catalog, name: str) -> None:
    """The README of 550 lists them under the 367.xx driver, the other Kepler cards under 470.xx."""
    assert {gpu.last_branch for gpu in catalog.gpus if gpu.name == name} == {"367"}
    (card,) = cover.cards(catalog, name)
    assert cover.driver_knows(catalog, card, "470.256.02") is False


def test_the_readme_of_550_agrees_on_the_last_branch(catalog: Catalog) -> None:
    """One product of each section."""
    for name, last in (("Tesla K80", "470"), ("GeForce GTX 780 Ti", "470"), ("GeForce GTX 480", "390"), ("Tesla M2090", "390")):
        assert {gpu.last_branch for gpu in catalog.gpu(name)} == {last}, name


@pytest.mark.parametrize(("gpu", "driver", "fits"), [
    ("RTX 3090", "450.80.02", False),  # new enough for CUDA 11, but of a branch before the card
    ("RTX 3060", "450.248.02", False),
    ("RTX 3080", "470.57.02", True),
    ("A100-SXM4-40GB", "450.80.02", True),
    ("A40", "450.248.02", False),
    ("A40", "460.32.03", True),
])
def test_a_driver_new_enough_for_cuda_can_be_too_old_for_the_card(catalog: Catalog, gpu: str, driver: str, fits: bool) -> None:
    spec = Spec(target=Target("ubuntu2004"), gpus=(gpu,), driver=DriverWish(version=driver, keep=True))
    assert isinstance(solve(spec, catalog), Plan) is fits
