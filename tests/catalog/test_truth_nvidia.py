"""The tables of cuDNN, NCCL and toolkit components against the package index itself: every release and every pin, no sample."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner.catalog import load
from provisioner.catalog.sources import index
from provisioner.versions import key

sys.path.insert(0, str(Path(__file__).parent))
from test_truth_torch import Index, Tally, facts, wheels_of

pytestmark = pytest.mark.network

MAJORS = ("11", "12", "13")
#: What a component is called as a wheel, where it is not its redistributable name without "lib" and "cuda_".
WHEEL_NAMES = {"runtime": "cuda_cudart", "cccl": "cuda_cccl"}


@pytest.fixture(scope="module")
def packages() -> Index:
    """One connection for all."""
    return Index()


@pytest.fixture(scope="module")
def catalog() -> load.Catalog:
    """The shipped tables alone."""
    return load.load(overlays=False)


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest, catalog: load.Catalog) -> Iterator[Tally]:
    """Counts over the whole module; says at the end how much of the tables the index confirmed."""
    counted = Tally()
    yield counted
    total = sum(facts(row, table) for table in counted.checked for row in getattr(catalog, table))
    checked = sum(counted.checked.values())
    parts = ", ".join(f"{table} {count}" for table, count in sorted(counted.checked.items()))
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\nfacts checked against the package index: {checked} of {total} ({parts}); {len(counted.wrong)} differ")


def offered(packages: Index, package: str) -> dict[str, list[index.IndexFile]]:
    """Releases with wheels that were not withdrawn; a .post release repacks the same library."""
    return {version: live for version, files in packages.releases(package).items()
            if ".post" not in version and (live := [file for file in files if not file.yanked])}


@pytest.mark.parametrize("major", MAJORS)
def test_cudnn_wheels_are_exactly_those_of_the_index(major: str, packages: Index, catalog: load.Catalog, tally: Tally) -> None:
    """Versions in both directions; platforms; the upload day where the row knows no other."""
    theirs = offered(packages, f"nvidia-cudnn-cu{major}")
    ours = {row.version: row for row in catalog.cudnn if row.cuda.split(".")[0] == major}
    newest = max(ours, key=key)
    known = {version for version in theirs if key(version) <= key(newest)}
    before = len(tally.wrong)
    for version in sorted(known | set(ours), key=key):
        row = ours.get(version)
        tally.fact("cudnn", f"{version} for CUDA {major} is a wheel", row.wheel if row else None, version in known)
        if row is None or version not in known:
            continue
        platforms = set(index.platforms(wheels_of(theirs[version])))
        if row.source.startswith("cudnn-wheels"):
            tally.fact("cudnn", f"{version} for CUDA {major}: platforms", set(row.platforms), platforms)
        else:
            tally.fact("cudnn", f"{version} for CUDA {major}: platforms beyond the manifest's", platforms - set(row.platforms), set())
        first = min(file.uploaded for file in theirs[version])
        tally.fact("cudnn", f"{version} for CUDA {major}: not uploaded before its release", True, (row.released or "") <= first)
    assert not tally.wrong[before:]


@pytest.mark.parametrize("major", MAJORS)
def test_nccl_wheels_are_exactly_those_of_the_index(major: str, packages: Index, catalog: load.Catalog, tally: Tally) -> None:
    """Versions in both directions; no wheel for anything but Linux."""
    theirs = offered(packages, f"nvidia-nccl-cu{major}")
    newest = max((row.version for row in catalog.nccl), key=key)
    known = {version for version in theirs if key(version) <= key(newest)}
    ours = {row.version for row in catalog.nccl}
    before = len(tally.wrong)
    for version in sorted(known | ours, key=key):
        row = catalog.row("nccl", version)
        tally.fact("nccl", f"{version} has a wheel for CUDA {major}", row is not None and major in row.wheels, version in known)
    assert not tally.wrong[before:]
    assert {platform.split("_")[0] for files in theirs.values() for platform in index.platforms(wheels_of(files))} == {"linux"}


def test_every_pin_of_the_toolkit_metapackage_is_a_component(packages: Index, catalog: load.Catalog, tally: Tally) -> None:
    """`cuda-toolkit[all]` names the wheel of each component. That of 12.5.1 was published with the pins of 12.5.0."""
    ours: dict[str, dict[str, str]] = {}
    for row in catalog.components:
        ours.setdefault(row.toolkit, {})[row.component] = row.version
    theirs = offered(packages, "cuda-toolkit")
    newest = max(ours, key=key)
    releases = [version for version in theirs if key(version) <= key(newest) or version.startswith(newest)]
    files = [next(file for file in theirs[version] if file.filename.endswith(".whl")) for version in releases]
    before = len(tally.wrong)
    for version, metadata in zip(releases, packages.metadata_of(files), strict=True):
        toolkit = ".".join(version.split(".")[:3])
        held = ours.get("12.5.0" if toolkit == "12.5.1" else toolkit, {})
        pins = 0
        for name, pin in re.findall(r"^Requires-Dist: nvidia-([a-z0-9-]+?)(?:-cu1\d)?[=>]=([\d.]+?)(?:\.\*)?(?:,<\d+)?;.*extra == 'all'$",
                                    metadata, re.MULTILINE):
            bare = name.removeprefix("cuda-").replace("-", "_")
            place = next((each for each in (WHEEL_NAMES.get(bare, ""), f"cuda_{bare}", f"lib{bare}", bare) if each in held), name)
            tally.fact("components", f"{toolkit} {place}", held.get(place), pin)
            pins += 1
        assert pins > 12, f"cuda-toolkit {version}: {pins} pins read"
    assert len(releases) > 40
    assert not tally.wrong[before:]
