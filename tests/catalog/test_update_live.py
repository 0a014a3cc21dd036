"""The package index part of an update against the client's own index: what it would have taken up is what was taken up by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.catalog.load import Catalog, load
from provisioner.catalog.update import FILE, _Asker, accept, update
from provisioner.catalog.update.fetch import Fetcher
from provisioner.catalog.update.places import places
from provisioner.catalog.update.sources import _package

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


def without(catalog: Catalog, torch: str, torchvision: str) -> Catalog:
    """The catalogue as it was before a release."""
    tables = {name: [row for row in getattr(catalog, name) if getattr(row, "torch", row[0]) != torch]
              for name in ("torch_releases", "torch_builds", "torch_archs", "torch_pins")}
    tables["companions"] = [row for row in catalog.companions if (row.package, row.version) != ("torchvision", torchvision)]
    older = catalog.replaced(**tables)
    older.date = min(row.released for row in catalog.torch_releases if row.version == torch)
    return older


def test_the_newest_release_is_read_as_it_was_by_hand(catalog: Catalog) -> None:
    torch = catalog.torch_releases[-1].version
    vision = max((row for row in catalog.companions if row.package == "torchvision" and not row.yanked), key=lambda row: row.released)
    older = without(catalog, torch, vision.version)
    where = places()
    asker = _Asker(older, {}, where, Fetcher(where.certificates), "2026-11-30")
    groups = [*_package(asker, "torch"), *_package(asker, "torchvision")]
    rows = [each for group in groups for each in group.rows]
    release = next(row for table, row in rows if table == "torch_releases" and row.version == torch)
    held = catalog.row("torch_releases", torch)
    assert (release.released, release.requires_python) == (held.released, held.requires_python)
    builds = {row.platform: row for table, row in rows if table == "torch_builds" and row.torch == torch}
    ours = {row.platform: row for row in catalog.torch_builds if row.torch == torch and row.default and row.channel == "pip"}
    assert set(builds) == set(ours)
    for platform, row in builds.items():
        held = ours[platform]
        assert row._replace(source="", date="", confidence="", toolkit=None, file_pattern="") == \
            held._replace(source="", date="", confidence="", toolkit=None, file_pattern=""), platform
    for table, row in rows:
        if table == "torch_pins":
            held = catalog.row("torch_pins", *row[:4])
            assert (dict(row.pins), row.cudnn, row.nccl) == (dict(held.pins), held.cudnn, held.nccl)
    made = next((row for table, row in rows if table == "companions" and row.version == vision.version), None)
    assert made is not None
    assert (made.torch, made.requires_python, made.pythons, made.platforms) == \
        (vision.torch, vision.requires_python, vision.pythons, vision.platforms)
    taken, refused = accept(older, groups)
    assert refused == [] and len(taken) == len(groups)


def test_the_index_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVISION_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("PROVISION_PYTORCH_INDEX", "http://127.0.0.1:9")
    monkeypatch.setenv("PROVISION_NVIDIA_DOWNLOADS", "http://127.0.0.1:9")
    report = update(check=True)
    state = {each.id: each.state for each in report.asked}
    assert state["update-packages"] == "ok", report.asked
    assert set(state.values()) == {"ok", "offline"}
    assert not (tmp_path / "catalog.d" / FILE).exists()
