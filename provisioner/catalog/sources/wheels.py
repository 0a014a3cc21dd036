"""From what an index lists to rows: new releases of torch and of the packages built against it. Pure.

What a listing and its metadata do not say is taken from the newest release that the catalogue holds (the form of file names,
which CUDA builds a companion has) and then marked `derived`, or left open (the GPU code of a build).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from provisioner.catalog.model import Companion, TorchBuild, TorchPin, TorchRelease
from provisioner.catalog.sources import index
from provisioner.versions import minor, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from provisioner.catalog.load import Catalog
    from provisioner.catalog.sources.index import IndexFile, Requirement, Wheel

_FINAL = re.compile(r"\d+(\.\d+)*(\.post\d+)?")


def releases(files: Iterable[IndexFile]) -> dict[str, list[IndexFile]]:
    """Final releases of a listing, each with its files; local labels are left aside."""
    found: dict[str, list[IndexFile]] = {}
    for file in files:
        version = (index.version_of(file) or "").partition("+")[0]
        if _FINAL.fullmatch(version):
            found.setdefault(version, []).append(file)
    return found


def _wheels(files: Iterable[IndexFile]) -> list[Wheel]:
    return [named for file in files if (named := index.wheel(file.filename)) is not None]


def _uploaded(files: Iterable[IndexFile]) -> str:
    return min((file.uploaded for file in files if file.uploaded), default="")


def sample(files: list[IndexFile], platform: str) -> IndexFile | None:
    """A wheel for a platform whose metadata speaks for all: the one for the newest Python."""
    found = [(tuple(number(each) for each in index.pythons([named])), file) for file in files
             if (named := index.wheel(file.filename)) is not None and platform in index.platforms([named])
             and not any(abi.endswith("t") for abi in named.abis)]
    return max(found, key=lambda each: each[0])[1] if found else None


def _address(catalog: Catalog, build: str) -> str:
    """PyTorch's index of a build."""
    return str(catalog.row("rules", "torch-index-url").value).format(build=build)


def cuda_of(wanted: Iterable[Requirement]) -> tuple[str, str]:
    """CUDA of a build and its toolkit, as its requirements tell: ("12.8", ""), ("13.2", "13.2.2"); ("", "") when it names none."""
    for one in wanted:
        exact = one.specifier.removeprefix("==")
        if one.specifier.startswith("==") and re.fullmatch(r"nvidia-cuda-runtime(-cu\d+)?", one.name):
            return minor(exact), ""
        if one.specifier.startswith("==") and one.name == "cuda-toolkit":
            return minor(exact), exact if exact.count(".") == 2 else ""
    return "", ""


def torch_release(catalog: Catalog, version: str, files: list[IndexFile], requirements: dict[str, list[Requirement]], source: str,
                  today: str) -> tuple[TorchRelease, list[TorchBuild], list[TorchPin]]:
    """A new release on the package index: its row, its default builds, their pins. `requirements`: by platform.

    Raises ValueError when a platform's build cannot be told."""
    requires = next((file.requires_python for file in files if file.requires_python), "")
    released = _uploaded(files)
    if not requires or not released:
        raise ValueError(f"the index does not say when torch {version} was released, or for which Pythons")
    row = TorchRelease(version, released, requires, None, source, today, "measured")
    builds, pins = [], []
    named = _wheels(files)
    for platform, glibc in sorted(index.platforms(named).items()):
        model = max((each for each in catalog.torch_builds if each.default and each.platform == platform and each.channel == "pip"),
                    key=lambda each: number(each.torch), default=None)
        pythons = index.pythons(named, requires, platform)
        wanted = [one for one in requirements.get(platform, ()) if any(index.applies(one, platform, each) for each in pythons)]
        cuda, toolkit = cuda_of(wanted)
        if model is None or not pythons or (platform == "linux_x86_64" and not cuda):
            raise ValueError(f"nobody can tell which build torch {version} is for {platform}")
        build = "cu" + cuda.replace(".", "") if cuda else "cpu"
        label = f"+{build}" if model.label else ""
        pattern = model.file_pattern.replace(f"torch-{model.torch}{model.label}-", f"torch-{version}{label}-")
        builds.append(TorchBuild(version, build, platform, "pip", cuda, toolkit or (None if cuda else ""), pythons, glibc, label,
                                 _address(catalog, build), True, pattern, source, today, "measured"))
        if cuda:
            pinned = index.library_pins(requirements.get(platform, ()), platform, pythons)

            def exact(pattern: str, pinned: dict[str, str] = pinned) -> str | None:
                """The version that a requirement names."""
                return next((wanted[2:] for name, wanted in pinned.items() if re.fullmatch(pattern, name) and wanted.startswith("==")), None)

            pins.append(TorchPin(version, build, platform, "pip", "pinned", exact(r"nvidia-cudnn-cu\d+"), exact(r"nvidia-nccl-cu\d+"),
                                 exact("triton"), tuple(pinned.items()), source, today, "measured"))
    return row, builds, pins


def companion(catalog: Catalog, package: str, version: str, files: list[IndexFile], requirements: list[Requirement], source: str,
              today: str) -> Companion | None:
    """A new release of a companion; None for one that has no wheels where the releases before it had some."""
    known = [row for row in catalog.companions if row.package == package]
    model = max(known, key=lambda row: number(row.version.replace(".post", ".")), default=None)
    if model is None:
        return None
    named = _wheels(files)
    if not named and model.platforms:
        return None
    requires = next((file.requires_python for file in files if file.requires_python), "")
    packages = {row.package for row in catalog.companions}
    applied = [one for one in requirements if index.applies(one, "linux_x86_64", _python(requires, named))]
    torch = next((one.specifier for one in applied if one.name == "torch"), "")
    others = {one.name: one.specifier for one in applied if one.name in packages and one.name not in ("triton", package) and one.specifier}
    tags = index.platforms(named) if model.platforms else {}
    platforms = tuple(sorted(tags))
    glibc = index.above_baseline(tags)
    return Companion(package, version, _uploaded(files), torch, "", requires, index.pythons(named, requires, "linux_x86_64"), platforms, glibc,
                     model.builds if platforms else (), model.label, tuple(sorted(others.items())), all(file.yanked for file in files),
                     source, today, "measured" if not model.builds or model.builds == ("*",) else "derived")


def _python(requires: str, named: list[Wheel]) -> str:
    """A Python that a release is for."""
    own = index.pythons(named, requires, "linux_x86_64")
    if own:
        return own[-1]
    least = re.search(r">=\s*3\.(\d+)", requires)
    return f"3.{max(int(least[1]) if least else 9, 9)}"


def pytorch_builds(catalog: Catalog, files: Iterable[IndexFile], known: set[str], source: str, today: str) -> list[TorchBuild]:
    """Builds on PyTorch's own index that the catalogue lacks, and Pythons that known ones gained. `known`: releases of torch."""
    found: dict[tuple[str, str, str], list[Wheel]] = {}
    for file in files:
        named = index.wheel(file.filename)
        version, _, build = (named.version.replace("%2B", "+") if named else "").partition("+")
        if named is None or version not in known or not re.fullmatch(r"cpu|cu\d{3}", build):
            continue
        for platform in index.platforms([named]):
            found.setdefault((version, build, platform), []).append(named)
    rows = []
    for (version, build, platform), wheels in sorted(found.items()):
        held = catalog.row("torch_builds", version, build, platform, "pip")
        pythons = index.pythons(wheels, "", platform)
        if held is not None:
            more = sorted({*held.pythons, *pythons}, key=number)
            if tuple(more) != held.pythons:
                rows.append(held._replace(pythons=tuple(more), source=source, date=today, confidence="measured"))
            continue
        same = [row for row in catalog.torch_builds if row.platform == platform and row.channel == "pip"]
        model = max(same, key=lambda row: number(row.torch), default=None)
        glibc = index.platforms(wheels)[platform] or (model.glibc if model else "")
        cuda = f"{build[2:-1]}.{build[-1]}" if build != "cpu" else ""
        tag = next((tag for one in wheels for tag in one.platforms), "")
        rows.append(TorchBuild(version, build, platform, "pip", cuda, "" if not cuda else None, pythons, glibc, f"+{build}",
                               _address(catalog, build), False, f"torch-{version}+{build}-cp{{py}}-cp{{py}}-{tag}.whl",
                               source, today, "measured"))
    return rows
