"""Questions on torch: builds, GPU code, pinned libraries, and the packages built against it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from provisioner.catalog.cover import floor, full_branch
from provisioner.catalog.lint.engine import question
from provisioner.versions import Range, is_dotted, minor, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provisioner.catalog.load import Catalog

    Said = Iterator[tuple[str, Any, str]]

_PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64", "win_arm64", "macos_x86_64", "macos_arm64")
_TABLES = ("torch_builds", "torch_archs", "torch_pins")


def _place(row: Any) -> tuple[str, str, str, str]:
    return (row.torch, row.build, row.platform, row.channel)


@question("build-unknown")
def build_unknown(catalog: Catalog) -> Said:
    """Does every list of GPU code or pins belong to a build that exists, and every build to a release?"""
    builds = {_place(row) for row in catalog.torch_builds}
    releases = {row.version for row in catalog.torch_releases}
    for table in _TABLES[1:]:
        for row in getattr(catalog, table):
            if _place(row) not in builds:
                yield table, row, "there is no such build"
    for build in catalog.torch_builds:
        if build.torch not in releases:
            yield "torch_builds", build, f"there is no release {build.torch}"


@question("release-without-builds")
def release_without_builds(catalog: Catalog) -> Said:
    """Has every release a default build on Linux x86-64?"""
    default = {row.torch for row in catalog.torch_builds if row.default and row.platform == "linux_x86_64"}
    for row in catalog.torch_releases:
        if row.version not in default:
            yield "torch_releases", row, "no default build for Linux x86-64"


@question("build-name")
def build_name(catalog: Catalog) -> Said:
    """Does a build's name say its CUDA?"""
    for row in catalog.torch_builds:
        digits = row.cuda.replace(".", "")
        wanted = "cpu" if not row.cuda else f"cu{digits}" if row.channel == "pip" else f"cuda{digits}"
        if row.build != wanted:
            yield "torch_builds", row, f"a build for CUDA {row.cuda or 'none'} in {row.channel} is called {wanted}"


@question("build-form")
def build_form(catalog: Catalog) -> Said:
    """Are platform, channel, label, glibc and Pythons of a build well formed?"""
    for row in catalog.torch_builds:
        if row.platform not in _PLATFORMS:
            yield "torch_builds", row, f"{row.platform} is no platform"
        if row.channel not in ("pip", "conda-forge", "conda-pytorch"):
            yield "torch_builds", row, f"{row.channel} is no channel"
        if row.label not in ("", f"+{row.build}"):
            yield "torch_builds", row, f"the label {row.label} is not that of {row.build}"
        if bool(row.glibc) != row.platform.startswith("linux"):
            yield "torch_builds", row, f"glibc {row.glibc!r} on {row.platform}"
        if not row.pythons or list(row.pythons) != sorted(row.pythons, key=number) \
                or not all(re.fullmatch(r"3\.\d+", each) for each in row.pythons):
            yield "torch_builds", row, f"Pythons {row.pythons} are not in order"


@question("build-index")
def build_index(catalog: Catalog) -> Said:
    """Does the index URL of a pip build end with its name, and the file name tell its version, label and glibc?"""
    for row in catalog.torch_builds:
        if row.channel != "pip":
            if row.index_url or row.default:
                yield "torch_builds", row, "a conda build has no index URL and is no default of the package index"
            continue
        if not row.index_url.endswith("/" + row.build):
            yield "torch_builds", row, f"the index URL {row.index_url!r} is not that of {row.build}"
        if row.file_pattern and not row.file_pattern.startswith(f"torch-{row.torch}{row.label}-cp{{py}}-"):
            yield "torch_builds", row, f"the file name {row.file_pattern!r} is that of another wheel"
        tag = re.search(r"manylinux_(\d+)_(\d+)_", row.file_pattern)
        if tag and f"{tag[1]}.{tag[2]}" != row.glibc:
            yield "torch_builds", row, f"its file name says glibc {tag[1]}.{tag[2]}, the row {row.glibc}"


@question("build-default")
def build_default(catalog: Catalog) -> Said:
    """Has the package index at most one default build of a release and platform?"""
    seen: dict[tuple[str, str], str] = {}
    for row in catalog.torch_builds:
        if row.default and seen.setdefault((row.torch, row.platform), row.build) != row.build:
            yield "torch_builds", row, f"{seen[row.torch, row.platform]} is already the default"


@question("build-python")
def build_python(catalog: Catalog) -> Said:
    """Does the release's Requires-Python allow every Python that its builds are for?"""
    wanted = {row.version: Range(row.requires_python) for row in catalog.torch_releases}
    for row in catalog.torch_builds:
        for python in row.pythons:
            if row.torch in wanted and f"{python}.99" not in wanted[row.torch]:
                yield "torch_builds", row, f"Python {python} is outside {wanted[row.torch].text}"


@question("build-toolkit")
def build_toolkit(catalog: Catalog) -> Said:
    """Is the toolkit that a build was made with a release of its CUDA?"""
    known = {row.version for row in catalog.toolkits}
    for row in catalog.torch_builds:
        if row.toolkit and (row.toolkit not in known or minor(row.toolkit) != row.cuda):
            yield "torch_builds", row, f"there is no toolkit {row.toolkit} of CUDA {row.cuda}"


@question("build-before-toolkit")
def build_before_toolkit(catalog: Catalog) -> Said:
    """Is no release of torch older than the toolkit it was built with?"""
    released = {row.version: row.released for row in catalog.torch_releases}
    for row in catalog.torch_builds:
        toolkit = catalog.row("toolkits", row.toolkit) if row.toolkit and row.channel == "pip" else None
        if toolkit is not None and toolkit.released and released.get(row.torch):
            size = min(len(toolkit.released), len(released[row.torch]))
            if released[row.torch][:size] < toolkit.released[:size]:
                yield "torch_builds", row, f"torch {row.torch} is older than CUDA {row.toolkit} ({toolkit.released})"


@question("build-newer-than-drivers")
def build_newer_than_drivers(catalog: Catalog) -> Said:
    """Is there a driver that serves each build's CUDA, and a floor for it?"""
    cudas = {row.cuda for row in catalog.torch_builds if row.cuda}
    bad = {cuda for cuda in cudas if not full_branch(catalog, cuda) or not floor(catalog, cuda)}
    for row in catalog.torch_builds:
        if row.cuda in bad:
            yield "torch_builds", row, f"no driver row knows CUDA {row.cuda}"


@question("arch-cannot-compile")
def arch_cannot_compile(catalog: Catalog) -> Said:
    """Can the build's toolkit compile for every architecture that is listed?"""
    cuda = {_place(row): row.cuda for row in catalog.torch_builds}
    for row in catalog.torch_archs:
        for sm in (*row.sm, *row.ptx):
            capability, own = catalog.row("capabilities", sm), cuda.get(_place(row), "")
            if capability is None:
                yield "torch_archs", row, f"nobody knows sm_{sm}"
            elif own and (number(own) < number(capability.first_toolkit)
                          or (capability.last_toolkit and number(own) > number(capability.last_toolkit))):
                yield "torch_archs", row, f"CUDA {own} cannot compile for sm_{sm}"


@question("arch-form")
def arch_form(catalog: Catalog) -> Said:
    """Are lists of GPU code in order, not empty, and only those of CUDA builds?"""
    cuda = {_place(row): row.cuda for row in catalog.torch_builds}
    for row in catalog.torch_archs:
        if not row.sm or list(row.sm) != sorted(set(row.sm)) or list(row.ptx) != sorted(set(row.ptx)):
            yield "torch_archs", row, f"sm {row.sm}, PTX {row.ptx} are not in order"
        if cuda.get(_place(row)) == "":
            yield "torch_archs", row, "a CPU build has no GPU code"


@question("arch-missing")
def arch_missing(catalog: Catalog) -> Said:
    """Does every shipped release with CUDA builds have at least one list of GPU code on every platform it has them for?"""
    have = {(row.torch, row.platform) for row in catalog.torch_archs}
    told = set()
    for row in catalog.torch_builds:
        place = (row.torch, row.platform)
        if row.cuda and place not in have and place not in told and not catalog.from_overlay("torch_builds", row):
            told.add(place)
            yield "torch_builds", row, "no build of this release and platform has a list of GPU code"


@question("arch-dropped-and-back")
def arch_dropped(catalog: Catalog) -> Said:
    """Within one CUDA build and platform, does no architecture vanish for a single release and come back? A row that is so in
    truth names the issue that says so."""
    series: dict[tuple[str, str, str], list[Any]] = {}
    for row in catalog.torch_archs:
        series.setdefault((row.build, row.platform, row.channel), []).append(row)
    for rows in series.values():
        rows.sort(key=lambda row: number(row.torch))
        for before, here, after in zip(rows, rows[1:], rows[2:], strict=False):
            gone = set(before.sm) & set(after.sm) - set(here.sm)
            if gone and "issue" not in here.source:
                yield "torch_archs", here, f"sm_{min(gone)} is in {before.torch} and {after.torch}, but not here"


@question("pin-cudnn")
def pin_cudnn(catalog: Catalog) -> Said:
    """Does the cuDNN of a build exist, for the build's CUDA?"""
    known: dict[str, set[str]] = {}
    for row in catalog.cudnn:
        known.setdefault(row.version, set()).add(row.cuda.split(".")[0])
    oldest = min(known, key=number, default="0")
    cuda = {_place(row): row.cuda for row in catalog.torch_builds}
    for pin in catalog.torch_pins:
        major = cuda.get(_place(pin), "").split(".")[0]
        if pin.cudnn and number(pin.cudnn) >= number(oldest) and major not in known.get(pin.cudnn, ()):
            yield "torch_pins", pin, f"there is no cuDNN {pin.cudnn} for CUDA {major}"


@question("pin-nccl")
def pin_nccl(catalog: Catalog) -> Said:
    """Does the NCCL of a build exist, and has no Windows build one?"""
    known = {row.version for row in catalog.nccl}
    for row in catalog.torch_pins:
        if row.nccl and row.nccl not in known:
            yield "torch_pins", row, f"there is no NCCL {row.nccl}"
        if row.nccl and row.platform.startswith("win"):
            yield "torch_pins", row, "Windows builds have no NCCL"


@question("pin-contradiction")
def pin_contradiction(catalog: Catalog) -> Said:
    """Do the version fields of a row say what its requirements say?"""
    for row in catalog.torch_pins:
        for name, wanted in row.pins:
            field = next((each for each in ("cudnn", "nccl") if re.fullmatch(rf"nvidia-{each}-cu\d+", name)),
                         "triton" if name in ("triton", "pytorch-triton") else "")
            said = getattr(row, field) if field else None
            if said and said not in Range(wanted):
                yield "torch_pins", row, f"{field} is {said}, but it requires {name}{wanted}"


@question("pin-cuda")
def pin_cuda(catalog: Catalog) -> Said:
    """Are a build's requirements for its own CUDA major, and its runtime of its own CUDA minor?"""
    cuda = {_place(row): row.cuda for row in catalog.torch_builds}
    for row in catalog.torch_pins:
        own = cuda.get(_place(row), "")
        for name, wanted in row.pins:
            tail = re.search(r"-cu(\d\d)$", name)
            if own and tail and tail[1] != own.split(".")[0]:
                yield "torch_pins", row, f"{name} is not for CUDA {own}"
            runtime = name.startswith(("nvidia-cuda-runtime", "cuda-toolkit"))
            if own and runtime and wanted.startswith("==") and minor(wanted[2:]) != own:
                yield "torch_pins", row, f"{name}{wanted} is not of CUDA {own}"


#: requirement -> component of the toolkit; those not named here are versioned apart from it
_COMPONENTS = {"cuda-runtime": "cuda_cudart", "cuda-nvrtc": "cuda_nvrtc", "cuda-cupti": "cuda_cupti", "cublas": "libcublas",
               "cufft": "libcufft", "curand": "libcurand", "cusolver": "libcusolver", "cusparse": "libcusparse",
               "nvjitlink": "libnvjitlink", "cufile": "libcufile", "nvtx": "cuda_nvtx"}


@question("pin-component")
def pin_component(catalog: Catalog) -> Said:
    """Is every pinned part of CUDA one that some toolkit of that major holds (torch 2.0 took cuFFT from a later minor)?"""
    held: dict[tuple[str, str], set[str]] = {}
    for row in catalog.components:
        held.setdefault((row.toolkit.split(".")[0], row.component), set()).add(row.version)
    cuda = {_place(row): row.cuda for row in catalog.torch_builds}
    for pin in catalog.torch_pins:
        for name, wanted in pin.pins:
            part = re.fullmatch(r"nvidia-(.+)-cu\d\d", name)
            component = _COMPONENTS.get(part[1]) if part else None
            known = held.get((cuda.get(_place(pin), "").split(".")[0], component or ""), set())
            if known and wanted.startswith("==") and wanted[2:] not in known and not _close(wanted[2:], known):
                yield "torch_pins", pin, f"{name}{wanted} is in no toolkit of its CUDA major"


def _close(version: str, known: set[str]) -> bool:
    """Wheels of a part may be patched between toolkits: the same version but for its last number counts."""
    return any(number(version)[:-1] == number(each)[:-1] for each in known)


@question("pin-form")
def pin_form(catalog: Catalog) -> Said:
    """Does a row that pins say what, and one that bundles pin none of it?"""
    for row in catalog.torch_pins:
        if row.libraries not in ("pinned", "bundled", "partly-pinned"):
            yield "torch_pins", row, f"libraries {row.libraries!r} is none of pinned, bundled, partly-pinned"
        named = any(name.startswith(("nvidia-", "cuda-toolkit")) for name, _ in row.pins)
        if row.channel == "pip" and row.libraries == "bundled" and named:
            yield "torch_pins", row, "it bundles its libraries and pins them too"
        if row.channel == "pip" and row.libraries == "pinned" and not named and row.confidence != "derived":
            yield "torch_pins", row, "it pins its libraries and names none"
        for name, wanted in row.pins:
            if not _range(wanted):
                yield "torch_pins", row, f"{name}{wanted} is no requirement"


def _range(text: str) -> bool:
    try:
        Range(text)
    except ValueError:
        return False
    return True


# -- companions --------------------------------------------------------------------------------------------------------


@question("companion-form")
def companion_form(catalog: Catalog) -> Said:
    """Are ranges, platforms and builds of a companion well formed?"""
    for row in catalog.companions:
        for field, text in (("torch", row.torch), ("requires_python", row.requires_python), *row.requires):
            if not _range(text):
                yield "companions", row, f"{field} {text!r} is no version range"
        for platform in row.platforms:
            if platform not in _PLATFORMS:
                yield "companions", row, f"{platform} is no platform"
        for platform, glibc in row.glibc:
            if platform not in row.platforms or not platform.startswith("linux") or not is_dotted(glibc):
                yield "companions", row, f"glibc {glibc!r} on {platform}"
        for build in row.builds:
            if not re.fullmatch(r"\*|cpu|cu\d{2,3}", build):
                yield "companions", row, f"{build} is no CUDA build"
        if row.builds and not row.platforms:
            yield "companions", row, "it has wheels for CUDA builds, but for no platform"


@question("companion-torch")
def companion_torch(catalog: Catalog) -> Said:
    """Is there a torch that each companion takes, and is the one it was built for among them?"""
    known = [row.version for row in catalog.torch_releases]
    for row in catalog.companions:
        if row.yanked:
            continue
        wanted = Range(row.torch) if _range(row.torch) else Range("*")
        if row.pair and (row.pair not in known or row.pair not in wanted):
            yield "companions", row, f"it was built for torch {row.pair}, which {'is unknown' if row.pair not in known else 'it refuses'}"
        exact = re.fullmatch(r"==([\d.]+)", row.torch)
        if exact and exact[1] not in known and number(exact[1]) >= number(min(known, key=number)):
            yield "companions", row, f"it wants torch {exact[1]}, which is unknown"


@question("companion-pair")
def companion_pair(catalog: Catalog) -> Said:
    """Do torchvision and torchaudio follow the published pairs (torch 2.N with torchvision 0.(N+15) and torchaudio 2.N)?"""
    last = {name: catalog.row("rules", name) for name in ("torchaudio-last-lockstep-release",)}
    audio = last["torchaudio-last-lockstep-release"]
    for row in catalog.companions:
        torch = row.torch[2:] if row.torch.startswith("==") else ""
        if not torch or not is_dotted(torch) or not is_dotted(row.version):
            continue
        major, low = number(torch + ".0.0.0")[0], int(torch.split(".")[1])
        if row.package == "torchvision":
            wanted = f"0.{low + 15}" if major == 2 else f"0.{low + 1}"
        elif row.package == "torchaudio" and (audio is None or number(row.version) <= number(audio.value)):
            wanted = f"2.{low}" if major == 2 else f"0.{low}"
            if major == 1 and low == 13:
                wanted = "0.13"
        else:
            continue
        if minor(row.version) != wanted:
            yield "companions", row, f"the published pair of torch {torch} is {row.package} {wanted}"


@question("companion-before-torch")
def companion_before_torch(catalog: Catalog) -> Said:
    """Is no companion older than the one torch it takes?"""
    released = {row.version: row.released for row in catalog.torch_releases}
    for row in catalog.companions:
        torch = row.pair or (row.torch[2:] if row.torch.startswith("==") else "")
        if row.released and released.get(torch) and row.released[:7] < released[torch][:7]:
            yield "companions", row, f"released {row.released}, before torch {torch} ({released[torch]})"


@question("companion-requires")
def companion_requires(catalog: Catalog) -> Said:
    """Is there a release of every other companion that one pins?"""
    known: dict[str, list[str]] = {}
    for row in catalog.companions:
        known.setdefault(row.package, []).append(row.version)
    for row in catalog.companions:
        for name, wanted in row.requires:
            releases = known.get(name, [])
            exact = wanted[2:] if wanted.startswith("==") and "*" not in wanted else ""
            if releases and exact and is_dotted(exact) and number(exact) >= min(number(each) for each in releases) \
                    and not any(each in Range(wanted) for each in releases):
                yield "companions", row, f"it requires {name}{wanted}, of which no release is known"


@question("companion-arch")
def companion_arch(catalog: Catalog) -> Said:
    """Does every statement on a companion's GPUs name a known package, capability and build?"""
    packages = {row.package for row in catalog.companions}
    known = {row.sm for row in catalog.capabilities}
    for row in catalog.companion_archs:
        if row.package not in packages:
            yield "companion_archs", row, f"there is no package {row.package}"
        for sm in (row.min_sm, row.max_sm):
            if sm and sm not in known:
                yield "companion_archs", row, f"nobody knows sm_{sm}"


@question("rule-release")
def rule_release(catalog: Catalog) -> Said:
    """Does every rule on a first or last release of torch name one that exists?"""
    known = {row.version for row in catalog.torch_releases}
    for row in catalog.rules:
        if re.fullmatch(r"(torch|conda-pytorch|numpy2)-(?=.*(first|last)).*(release|torch)(-windows)?", row.id) and row.value not in known:
            yield "rules", row, f"there is no torch {row.value}"
