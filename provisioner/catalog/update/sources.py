"""The sources of an update, and what is asked of each."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from provisioner.catalog.model import DriverRelease, Nccl
from provisioner.catalog.sources import index, packages, redistrib, wheels
from provisioner.catalog.update import Group, Task, differs
from provisioner.catalog.update.fetch import Broken
from provisioner.catalog.update.places import NVIDIA, shown
from provisioner.versions import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from provisioner.catalog.sources.index import IndexFile
    from provisioner.catalog.update import _Asker
    from provisioner.catalog.update.places import Places

_JSON = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_MOST = 12  # new releases of one thing that are taken up in one go


class Source(NamedTuple):
    """A source."""

    id: str
    title: str
    shown: Callable[[Places], str]
    tasks: Callable[[_Asker], list[Task]]


def _new(asker: _Asker, known: set[str], found: dict[str, list[IndexFile]]) -> list[str]:
    """Releases that the catalogue lacks and that came after it: by the day of the upload, else by their number."""
    newest = max(known, key=number)
    told = []
    for version, files in found.items():
        uploaded = min((file.uploaded for file in files if file.uploaded), default="")
        if version not in known and not all(file.yanked for file in files) \
                and (uploaded > asker.catalog.date[:8] if uploaded else number(version) > number(newest)):
            told.append(version)
    return sorted(told, key=number)[-_MOST:]


# -- the package index -------------------------------------------------------------------------------------------------


def _package_tasks(asker: _Asker) -> list[Task]:
    names = ["torch", *sorted({row.package for row in asker.catalog.companions})]
    return [Task(name, lambda asker, name=name: _package(asker, name)) for name in names]  # type: ignore[misc]


def _package(asker: _Asker, name: str) -> list[Group]:
    """New releases of a package, and known ones that were yanked."""
    if not asker.where.packages:
        raise Broken("no package index is configured; set PIP_INDEX_URL")
    answer = asker.fetcher.get(f"{asker.where.packages}/{name}/", {"Accept": _JSON}, expect="json|html")
    files = index.listing(answer.text.decode("utf-8"), answer.type, answer.url)
    found = wheels.releases(files)
    if not found:
        raise Broken(f"{shown(answer.url)} lists no release of {name}")
    source = f"update-packages: {name}"
    groups = []
    if name == "torch":
        for version in _new(asker, {row.version for row in asker.catalog.torch_releases}, found):
            wanted = {platform: _requirements(asker, found[version], platform) for platform in ("linux_x86_64", "linux_aarch64")}
            row, builds, pins = wheels.torch_release(asker.catalog, version, found[version], wanted, source, asker.today)
            groups.append(Group("update-packages", f"torch {version}", (("torch_releases", row), *(("torch_builds", each) for each in builds),
                                                                       *(("torch_pins", each) for each in pins))))
        return groups
    known = {row.version: row for row in asker.catalog.companions if row.package == name}
    for version in _new(asker, set(known), found):
        metadata = _requirements(asker, found[version], "linux_x86_64")
        made = wheels.companion(asker.catalog, name, version, found[version], metadata, source, asker.today)
        if made is not None:
            groups.append(Group("update-packages", f"{name} {version}", (("companions", made),)))
    for version, held in known.items():
        if not held.yanked and found.get(version) and all(file.yanked for file in found[version]):
            yanked = held._replace(yanked=True, source=source, date=asker.today)
            groups.append(Group("update-packages", f"{name} {version} (yanked)", (("companions", yanked),)))
    return groups


def _requirements(asker: _Asker, files: list[IndexFile], platform: str) -> list[index.Requirement]:
    """Requirements of the wheel that speaks for a platform: from the index's own copy of the metadata, else out of the wheel."""
    file = wheels.sample(files, platform) or wheels.sample(files, "linux_x86_64")
    if file is None:
        return []
    answer = asker.fetcher.get(file.url + ".metadata", missing=True)
    if answer.status == 200:
        text = answer.text.decode("utf-8", "replace")
    else:
        def read(first: int, last: int) -> bytes:
            part = asker.fetcher.get(file.url, {"Range": f"bytes={first}-{last}"})
            if part.status != 206:
                raise Broken(f"{shown(file.url)} cannot be read in parts")
            return part.text

        text = index.metadata_of_wheel(read, file.size)
    if "\nName:" not in "\n" + text:
        raise Broken(f"{shown(file.url)}.metadata is no metadata")
    return index.requirements(text)


# -- PyTorch's index ---------------------------------------------------------------------------------------------------


def _pytorch(asker: _Asker) -> list[Group]:
    answer = asker.fetcher.get(f"{asker.where.pytorch}/torch/", expect="html|json")
    files = index.listing(answer.text.decode("utf-8"), answer.type, answer.url)
    if not any(index.wheel(file.filename) for file in files):
        raise Broken(f"{shown(answer.url)} lists no wheels")
    found = [*(each for group in asker.groups for each in group.rows)]
    if asker.failed("update-packages"):  # what it said the last time holds
        found += [(table, row) for table in ("torch_releases", "torch_builds") for row in asker.before.get(table, ())
                  if row.source.startswith("update-packages")]
    new = {row.version for table, row in found if table == "torch_releases"}
    known = {row.version for row in asker.catalog.torch_releases}
    taken = {(table, row[:4]) for table, row in found if table == "torch_builds"}
    rows = [row for row in wheels.pytorch_builds(asker.catalog, files, known | new, "update-pytorch", asker.today)
            if ("torch_builds", row[:4]) not in taken]
    groups: dict[str, list[tuple[str, Any]]] = {}
    for row in rows:
        groups.setdefault(f"torch {row.torch} {row.build}", []).append(("torch_builds", row))
    return [Group("update-pytorch", name, tuple(made)) for name, made in groups.items()]


# -- NVIDIA ------------------------------------------------------------------------------------------------------------


def _redistrib(asker: _Asker, product: str) -> list[Group]:
    folder = f"{asker.where.nvidia}/{product}/redist/"
    answer = asker.fetcher.get(folder, expect="html")
    listed = redistrib.versions(answer.text.decode("utf-8", "replace"))
    if not listed:
        raise Broken(f"{shown(folder)} lists no manifests")
    if product == "cuda":
        known = {row.version for row in asker.catalog.toolkits}
    else:
        known = {part for row in asker.catalog.cudnn for part in (row.version, row.version.rpartition(".")[0])}
    oldest = min(known, key=number)
    groups = []
    for version in sorted((each for each in listed if each not in known and number(each) > number(oldest)), key=number)[-_MOST:]:
        text = asker.fetcher.get(f"{folder}redistrib_{version}.json", expect="json|text").text.decode("utf-8")
        source = f"update-{product}: redistrib_{version}.json"
        if product == "cuda":
            toolkit, components = redistrib.toolkit(text, version, source, asker.today)
            rows: list[tuple[str, Any]] = [("toolkits", toolkit), *(("components", each) for each in components)]
        else:
            rows = [("cudnn", each) for each in redistrib.cudnn(text, version, asker.catalog, source, asker.today)]
        groups.append(Group(f"update-{product}", f"{product} {version}", tuple(rows)))
    return groups


def _repository_tasks(asker: _Asker) -> list[Task]:
    """The repositories of the Debian-like systems that are supported longest."""
    systems = [row for row in asker.catalog.systems if row.family == "debian" and row.repository_x86_64.startswith(NVIDIA)
               and not row.id.startswith("wsl") and (not row.end_of_life or row.end_of_life > asker.today[:7])]
    systems.sort(key=lambda row: row.end_of_life, reverse=True)
    return [Task(row.id, lambda asker, row=row: _repository(asker, row)) for row in systems[:3]]  # type: ignore[misc]


def _repository(asker: _Asker, system: Any) -> list[Group]:
    url = asker.where.nvidia + system.repository_x86_64.removeprefix(NVIDIA)
    answer = asker.fetcher.get(f"{url}/Packages.gz", missing=True)
    if answer.status == 404:
        answer = asker.fetcher.get(f"{url}/Packages")
    entries = list(packages.entries(_unpacked(answer.text, asker.fetcher.size).decode("utf-8", "replace")))
    catalog, source = asker.catalog, f"update-repositories: {system.id}"
    groups: dict[str, list[tuple[str, Any]]] = {}
    seen = {(table, row[:2]) for group in asker.groups for table, row in group.rows}
    for version in packages.drivers(entries):
        branch = catalog.row("driver_branches", version.split(".")[0])
        if branch is None:
            if number(version) > number(max((row.branch for row in catalog.driver_branches), key=number)):
                note = f"driver {version} in the repository of {system.id} is of a branch that the catalogue does not know yet"
                asker.notes += [note] if note not in asker.notes else []
            continue
        release = DriverRelease(version, branch.branch, "linux", None, False, source, asker.today, "measured")
        if differs_not_only_in_date(asker, release) and ("driver_releases", release[:2]) not in seen:
            group = groups.setdefault(f"driver branch {branch.branch}", [])
            group.append(("driver_releases", release))
            held = next((row for table, row in group if table == "driver_branches"), branch)
            if number(version) > number(held.latest):
                group[:] = [each for each in group if each[0] != "driver_branches"]
                group.append(("driver_branches", held._replace(latest=version, source=source, date=asker.today, confidence="measured")))
    for version, cudas in packages.nccl(entries).items():
        row = catalog.row("nccl", version)
        majors = {cuda.split(".")[0] for cuda in cudas}
        if row is None:
            row = Nccl(version, None, tuple(sorted(majors, key=int)), tuple(cudas), (), (), source, asker.today, "measured")
        else:
            row = row._replace(cudas=tuple(sorted({*row.cudas, *majors}, key=number)), source=source, date=asker.today,
                               suffixes=tuple(sorted({*row.suffixes, *cudas}, key=number)), confidence="measured")
        if differs(catalog, "nccl", row) and number(version) > (2, 4) and not any(table == "nccl" and each[0] == version
                                                                            for group in asker.groups for table, each in group.rows):
            groups[f"nccl {version}"] = [("nccl", row)]
    return [Group("update-repositories", name, tuple(rows)) for name, rows in groups.items()]


def differs_not_only_in_date(asker: _Asker, release: DriverRelease) -> bool:
    """Whether a driver release is unknown: a known one has a date or a beta mark that a package list lacks."""
    return asker.catalog.row("driver_releases", release.version, release.platform) is None


def _unpacked(text: bytes, limit: int) -> bytes:
    """A .gz under a size limit; what is not packed as it is."""
    if text[:2] != b"\x1f\x8b":
        return text
    unpack = zlib.decompressobj(31)
    try:
        told = unpack.decompress(text, limit + 1)
    except zlib.error:
        raise Broken("a package list is damaged") from None
    if len(told) > limit:
        raise Broken(f"a package list is larger than {limit >> 20} MiB")
    if not unpack.eof:
        raise Broken("a package list ends early")
    return told


SOURCES = (
    Source("update-packages", "Package index: listings and metadata, read by provision update", lambda where: shown(where.packages),
           _package_tasks),
    Source("update-pytorch", "Index of PyTorch's wheels, read by provision update", lambda where: shown(where.pytorch),
           lambda _: [Task("PyTorch's index", _pytorch)]),
    Source("update-cuda", "redistrib_*.json manifests of the CUDA toolkit, read by provision update",
           lambda where: shown(where.nvidia) + "/cuda/redist", lambda _: [Task("CUDA", lambda asker: _redistrib(asker, "cuda"))]),
    Source("update-cudnn", "redistrib_*.json manifests of cuDNN, read by provision update",
           lambda where: shown(where.nvidia) + "/cudnn/redist", lambda _: [Task("cuDNN", lambda asker: _redistrib(asker, "cudnn"))]),
    Source("update-repositories", "Package lists of NVIDIA's repositories, read by provision update",
           lambda where: shown(where.nvidia) + "/cuda/repos", _repository_tasks),
)
