"""The torch tables against the package index itself: file names, upload days, Requires-Python, Requires-Dist.

Every release that the catalogue holds is compared, not a sample. The index is reached as pip reaches it on this machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from provisioner.catalog import load
from provisioner.catalog.model import TABLES
from provisioner.catalog.sources import index
from provisioner.versions import key, sort_key

pytestmark = [pytest.mark.network, pytest.mark.slow]

#: Companions whose wheels are on the index, and those that publish source archives, at times with a few wheels.
WHEELS = ("torchvision", "torchaudio", "torchtext", "triton", "xformers", "vllm", "bitsandbytes", "torchao")
SOURCES = ("flash-attn", "deepspeed")


class Index:
    """The package index as pip is configured to reach it."""

    def __init__(self) -> None:
        from pip._internal.models.index import PyPI
        from pip._vendor import requests

        told = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
        named = re.search(r"^(?:global|:env:|install)\.index-url='([^']+)'", told.stdout, re.MULTILINE)
        self.base = (named[1] if named else PyPI.simple_url).rstrip("/")
        self.session = requests.Session()
        self.session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=16, max_retries=3))
        self.files: dict[str, dict[str, list[index.IndexFile]]] = {}

    def _get(self, url: str, headers: dict[str, str]) -> Any:
        return self.session.get(url, headers=headers, timeout=60)

    def releases(self, package: str) -> dict[str, list[index.IndexFile]]:
        """Final releases, each with its files."""
        if package not in self.files:
            url = f"{self.base}/{package}/"
            answer = self._get(url, {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"})
            answer.raise_for_status()
            found: dict[str, list[index.IndexFile]] = {}
            for one in index.listing(answer.text, answer.headers.get("content-type", ""), url):
                version = index.version_of(one)
                if version and re.fullmatch(r"\d+(\.\d+)*(\.post\d+)?", version):
                    found.setdefault(version, []).append(one)
            self.files[package] = found
        return self.files[package]

    def metadata(self, file: index.IndexFile) -> str:
        """METADATA of a wheel: the index's own copy where it has one, else out of the wheel by ranges."""
        answer = self._get(f"{file.url}.metadata", {})
        if answer.status_code == 200:
            return str(answer.text)

        def read(first: int, last: int) -> bytes:
            part = self._get(file.url, {"Range": f"bytes={first}-{last}"})
            assert part.status_code == 206, f"{file.filename}: no ranges ({part.status_code})"
            return bytes(part.content)

        return index.metadata_of_wheel(read, file.size)

    def metadata_of(self, files: list[index.IndexFile]) -> list[str]:
        """The same for many, some at a time."""
        with ThreadPoolExecutor(12) as pool:
            return list(pool.map(self.metadata, files))


@pytest.fixture(scope="module")
def packages() -> Index:
    """One connection for all."""
    return Index()


@pytest.fixture(scope="module")
def catalog() -> load.Catalog:
    """The shipped tables alone."""
    return load.load(overlays=False)


class Tally:
    """Facts compared and those that differ."""

    def __init__(self) -> None:
        self.checked: dict[str, int] = {}
        self.wrong: list[str] = []

    def fact(self, table: str, what: str, ours: object, theirs: object) -> None:
        """One comparison."""
        self.checked[table] = self.checked.get(table, 0) + 1
        if ours != theirs:
            self.wrong.append(f"{table} {what}: catalogue {ours!r}, index {theirs!r}")


def facts(row: Any, table: str) -> int:
    """Fields of a row that say something beyond its key and provenance; of a list of pins each one."""
    told = 0
    for field in row._fields:
        value = getattr(row, field)
        if field in ("source", "date", "confidence", *TABLES[table][1]) or value is None:
            continue
        told += len(value) if field in ("pins", "requires") else 1
    return told


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest, catalog: load.Catalog) -> Iterator[Tally]:
    """Counts over the whole module; says at the end how much of the tables the index confirmed."""
    counted = Tally()
    yield counted
    total = sum(facts(row, table) for table in sorted(counted.checked) for row in getattr(catalog, table))
    checked = sum(counted.checked.values())
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        parts = ", ".join(f"{table} {count}" for table, count in sorted(counted.checked.items()))
        print(f"\nfacts checked against the package index: {checked} of {total} ({parts}); {len(counted.wrong)} differ")


def wheels_of(files: list[index.IndexFile]) -> list[index.Wheel]:
    """Names of the wheels among them."""
    return [named for one in files if (named := index.wheel(one.filename)) is not None]


def by_version(versions: Any) -> list[str]:
    """In version order."""
    return sorted(versions, key=sort_key)


def test_every_torch_release_of_the_index_is_known(packages: Index, catalog: load.Catalog, tally: Tally) -> None:
    """No release between our oldest and our newest is missing or invented; upload day and Requires-Python are the index's."""
    ours = {row.version: row for row in catalog.torch_releases}
    oldest, newest = by_version(ours)[0], by_version(ours)[-1]
    theirs = packages.releases("torch")
    assert by_version(ours) == by_version(v for v in theirs if key(oldest) <= key(v) <= key(newest))
    before = len(tally.wrong)
    for version, row in ours.items():
        files = theirs[version]
        tally.fact("torch_releases", f"{version} released", row.released, min(one.uploaded for one in files))
        tally.fact("torch_releases", f"{version} requires_python", {row.requires_python}, {one.requires_python for one in files})
    assert tally.wrong[before:] == []


def test_default_wheels_have_our_pythons_and_glibc(packages: Index, catalog: load.Catalog, tally: Tally) -> None:
    """A default build for exactly the platforms with a wheel; Pythons and glibc as its file names say."""
    before = len(tally.wrong)
    defaults = {(row.torch, row.platform): row for row in catalog.torch_builds if row.default and row.channel == "pip"}
    for release in catalog.torch_releases:
        wheels = wheels_of(packages.releases("torch")[release.version])
        found = index.platforms(wheels)
        assert {platform for torch, platform in defaults if torch == release.version} == set(found), release.version
        for platform, glibc in found.items():
            row = defaults[release.version, platform]
            what = f"{release.version} {row.build} {platform}"
            tally.fact("torch_builds", f"{what} pythons", row.pythons, index.pythons(wheels, release.requires_python, platform))
            # A manylinux1 tag (glibc 2.5) is a promise these wheels do not keep: their symbols go up to GLIBC_2.17.
            tally.fact("torch_builds", f"{what} glibc", row.glibc, "2.17" if glibc == "2.5" else glibc)
    assert tally.wrong[before:] == []


def test_default_wheels_require_our_pins(packages: Index, catalog: load.Catalog, tally: Tally) -> None:
    """Requires-Dist of the default wheel, markers resolved, is the row's pins; CPU builds require no library."""
    before = len(tally.wrong)
    pins = {(row.torch, row.build, row.platform): row for row in catalog.torch_pins if row.channel == "pip"}
    rows = [row for row in catalog.torch_builds if row.default and row.channel == "pip" and row.platform in index.MARKERS]
    chosen = []
    for row in rows:
        files = packages.releases("torch")[row.torch]
        chosen.append(next(one for one in files if row.platform in index.platforms(wheels_of([one]))))
    for row, text in zip(rows, packages.metadata_of(chosen), strict=True):
        theirs = index.library_pins(index.requirements(text), row.platform, row.pythons)
        ours = pins.get((row.torch, row.build, row.platform))
        what = f"{row.torch} {row.build} {row.platform}"
        assert (ours is not None) == (row.build != "cpu"), what
        tally.fact("torch_pins", f"{what} requirements", sorted(theirs), sorted(name for name, _ in ours.pins) if ours else [])
        for name, specifier in theirs.items():
            tally.fact("torch_pins", f"{what} {name}", dict(ours.pins).get(name) if ours else None, specifier)
        if ours is None or not theirs:
            continue
        for field in ("cudnn", "nccl", "triton"):
            exact = [value.lstrip("=~") for name, value in theirs.items()
                     if (name == field or name.startswith(f"nvidia-{field}-")) and re.match(r"[=~]=", value)]
            if exact:
                tally.fact("torch_pins", f"{what} {field}", getattr(ours, field), exact[0])
    assert tally.wrong[before:] == []


@pytest.mark.parametrize("package", WHEELS)
def test_companion_wheels(package: str, packages: Index, catalog: load.Catalog, tally: Tally) -> None:
    """Every release we hold: upload day, Requires-Python, yanked, Pythons, platforms, torch and companions it requires."""
    before = len(tally.wrong)
    known = {row.package for row in catalog.companions}
    rows = [row for row in catalog.companions if row.package == package]
    theirs = packages.releases(package)
    oldest, newest = by_version(row.version for row in rows)[0], by_version(row.version for row in rows)[-1]
    between = {version for version, files in theirs.items() if wheels_of(files)
               and not sort_key(version) < sort_key(oldest) and not sort_key(newest) < sort_key(version)}
    missing = between - {row.version for row in rows}
    if package == "bitsandbytes":
        missing -= {"0.36.0"}  # this wheel was uploaded without its libraries
    assert missing == set() and {row.version for row in rows} <= set(theirs)
    chosen = []
    for row in rows:
        files = theirs[row.version]
        wheels = [one for one in files if one.filename.endswith(".whl")]
        chosen.append(next((one for one in wheels if "linux" in one.filename and "x86_64" in one.filename), wheels[0]))
    for row, text in zip(rows, packages.metadata_of(chosen), strict=True):
        files, what = theirs[row.version], f"{package} {row.version}"
        wheels = wheels_of(files)
        tally.fact("companions", f"{what} released", row.released, min(one.uploaded for one in files))
        tally.fact("companions", f"{what} requires_python", row.requires_python,
                   next((one.requires_python for one in files if one.requires_python), ""))
        tally.fact("companions", f"{what} yanked", row.yanked, all(one.yanked for one in files))
        tally.fact("companions", f"{what} pythons", row.pythons, index.pythons(wheels, row.requires_python))
        if package != "bitsandbytes" or "any" not in {tag for one in wheels for tag in one.platforms}:
            tally.fact("companions", f"{what} platforms", set(row.platforms), set(index.platforms(wheels)))
            tally.fact("companions", f"{what} glibc", row.glibc, index.above_baseline(index.platforms(wheels)))
        python = row.pythons[-1] if row.pythons else "3.12" if row.requires_python.startswith(">=3.1") else "3.10"
        applied = {one.name: one.specifier for one in index.requirements(text) if index.applies(one, "linux_x86_64", python)}
        if row.source.startswith("companion-metadata"):  # else the specifier has a source of its own
            tally.fact("companions", f"{what} torch", row.torch, applied.get("torch", ""))
        tally.fact("companions", f"{what} requires", dict(row.requires),
                   {name: value for name, value in applied.items() if name in known and name != package})
    assert tally.wrong[before:] == []


@pytest.mark.parametrize("package", SOURCES)
def test_companion_sources(package: str, packages: Index, catalog: load.Catalog, tally: Tally) -> None:
    """A platform and a Python only where there is a wheel for it; what they require is told by the archives alone."""
    before = len(tally.wrong)
    rows = [row for row in catalog.companions if row.package == package]
    theirs = packages.releases(package)
    for row in rows:
        files, what = theirs[row.version], f"{package} {row.version}"
        tally.fact("companions", f"{what} released", row.released, min(one.uploaded for one in files))
        tally.fact("companions", f"{what} requires_python", row.requires_python,
                   next((one.requires_python for one in files if one.requires_python), ""))
        tally.fact("companions", f"{what} yanked", row.yanked, all(one.yanked for one in files))
        wheels = wheels_of(files)
        tally.fact("companions", f"{what} platforms", set(row.platforms), set(index.platforms(wheels)))
        tally.fact("companions", f"{what} pythons", row.pythons, index.pythons(wheels, row.requires_python))
    assert tally.wrong[before:] == []
