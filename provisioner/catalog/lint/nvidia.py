"""Questions on toolkits, drivers, GPUs, cuDNN and NCCL."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from provisioner.catalog.lint.engine import question
from provisioner.versions import minor, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provisioner.catalog.load import Catalog

    Said = Iterator[tuple[str, Any, str]]


def _branch(version: str) -> str:
    return version.split(".", maxsplit=1)[0]


# -- toolkits ----------------------------------------------------------------------------------------------------------


@question("toolkit-driver-order")
def toolkit_driver_order(catalog: Catalog) -> Said:
    """Does no toolkit of a newer minor need an older driver than one of an older minor?"""
    for field in ("min_driver_linux", "min_driver_windows"):
        best: tuple[Any, ...] = ()
        rows = sorted(catalog.toolkits, key=lambda row: number(row.version))
        for row in rows:
            value = getattr(row, field)
            if not value:
                continue
            if best and number(value) < number(best[0]) and minor(row.version) != minor(best[1]):
                yield "toolkits", row, f"{field} {value} is below that of {best[1]} ({best[0]})"
            if not best or number(value) > number(best[0]):
                best = (value, row.version)


@question("toolkit-bundled-driver")
def toolkit_bundled_driver(catalog: Catalog) -> Said:
    """Does the driver inside an installer serve the toolkit it comes with?"""
    for row in catalog.toolkits:
        for system in ("linux", "windows"):
            lowest, bundled = getattr(row, f"min_driver_{system}"), getattr(row, f"bundled_{system}")
            if lowest and bundled and number(bundled) < number(lowest):
                yield "toolkits", row, f"it brings the {system} driver {bundled}, but needs {lowest}"


@question("toolkit-branch")
def toolkit_branch(catalog: Catalog) -> Said:
    """Is a toolkit's driver branch one we know, that serves its CUDA, and the one of the drivers it names?"""
    for row in catalog.toolkits:
        branch = catalog.row("driver_branches", row.branch)
        if branch is None:
            yield "toolkits", row, f"there is no driver branch {row.branch}"
        elif number(branch.cuda) < number(minor(row.version)):
            yield "toolkits", row, f"driver branch {row.branch} serves CUDA {branch.cuda} only"
        for field in ("min_driver_linux", "bundled_linux"):
            value = getattr(row, field)
            if value and number(_branch(value)) > number(row.branch):
                yield "toolkits", row, f"{field} {value} is of a newer branch than {row.branch}"


@question("toolkit-below-family")
def toolkit_below_family(catalog: Catalog) -> Said:
    """Is no toolkit's own driver below the floor of its family?"""
    for row in catalog.toolkits:
        family = catalog.row("cuda_majors", minor(row.version)) or catalog.row("cuda_majors", row.version.split(".")[0])
        if family is None:
            yield "toolkits", row, "its family has no driver floor"
            continue
        for system in ("linux", "windows"):
            own, lowest = getattr(row, f"min_driver_{system}"), getattr(family, f"min_driver_{system}")
            # the floor of a family was set after its first minor, which some older drivers still serve
            if own and number(own) < number(lowest) and row.version.split(".")[1] != "0":
                yield "toolkits", row, f"it needs the {system} driver {own}, below its family's {lowest}"


@question("toolkit-label")
def toolkit_label(catalog: Catalog) -> Said:
    """Does a toolkit's label begin with its version?"""
    for row in catalog.toolkits:
        if not re.fullmatch(rf"{re.escape(minor(row.version))}(\.\d+)?( GA| RC| Update \d+| Developer Preview)?", row.label):
            yield "toolkits", row, f"the label {row.label!r} is that of another release"
        if not re.fullmatch(r"\d+\.\d+\.\d+", row.version):
            yield "toolkits", row, "a toolkit's version has three parts"


@question("component-of-unknown-toolkit")
def component_toolkit(catalog: Catalog) -> Said:
    """Does every component belong to a toolkit we know?"""
    known = {row.version for row in catalog.toolkits}
    for row in catalog.components:
        if row.toolkit not in known:
            yield "components", row, f"there is no toolkit {row.toolkit}"


@question("component-of-another-toolkit")
def component_other(catalog: Catalog) -> Said:
    """Do the parts that carry the toolkit's own number (compiler, runtime, NVRTC) carry it?"""
    for row in catalog.components:
        if row.component in ("cuda_nvcc", "cuda_cudart", "cuda_nvrtc", "cuda_cupti", "libnvjitlink") \
                and minor(row.version) != minor(row.toolkit):
            yield "components", row, f"{row.component} {row.version} is not of CUDA {minor(row.toolkit)}"


@question("component-order")
def component_order(catalog: Catalog) -> Said:
    """Does no component fall back to an older version in the next release of the same minor?"""
    series: dict[tuple[str, str], list[Any]] = {}
    for row in catalog.components:
        series.setdefault((minor(row.toolkit), row.component), []).append(row)
    for rows in series.values():
        rows.sort(key=lambda row: number(row.toolkit))
        for before, after in pairwise(rows):
            if number(after.version) < number(before.version):
                yield "components", after, f"{after.version} is older than the {before.version} of {before.toolkit}"


@question("host-compiler")
def host_compiler(catalog: Catalog) -> Said:
    """Are the compilers of a toolkit those of a known one, and does the newest allowed one never go back?"""
    known = {minor(row.version) for row in catalog.toolkits}
    best: dict[str, Any] = {}
    for row in sorted(catalog.host_compilers, key=lambda row: number(row.toolkit)):
        if row.toolkit not in known:
            yield "host_compilers", row, f"there is no toolkit {row.toolkit}"
        if row.compiler not in ("gcc", "clang", "msvc"):
            yield "host_compilers", row, f"{row.compiler} is no host compiler"
        before = best.get(row.compiler)
        if before is not None and row.last and number(row.last) < number(before.last):
            yield "host_compilers", row, f"{row.compiler} {row.last} is older than what CUDA {before.toolkit} takes ({before.last})"
        best[row.compiler] = row


# -- drivers -----------------------------------------------------------------------------------------------------------


@question("branch-cuda-order")
def branch_cuda_order(catalog: Catalog) -> Said:
    """Does no newer branch serve an older CUDA?"""
    rows = sorted(catalog.driver_branches, key=lambda row: number(row.branch))
    for before, after in pairwise(rows):
        if number(after.cuda) < number(before.cuda):
            yield "driver_branches", after, f"it serves CUDA {after.cuda}, but {before.branch} serves {before.cuda}"


@question("branch-kind")
def branch_kind(catalog: Catalog) -> Said:
    """Are the kind and the flavours of a branch well formed?"""
    for row in catalog.driver_branches:
        if row.kind not in ("LTSB", "PB", "NFB", "legacy", "beta"):
            yield "driver_branches", row, f"{row.kind!r} is no kind of branch"
        if not row.flavours or set(row.flavours) - {"open", "proprietary"}:
            yield "driver_branches", row, f"flavours {row.flavours}"


@question("branch-latest")
def branch_latest(catalog: Catalog) -> Said:
    """Is the latest release of a branch among its releases, and none of them newer?"""
    releases: dict[str, list[str]] = {}
    for release in catalog.driver_releases:
        if release.platform == "linux":
            releases.setdefault(release.branch, []).append(release.version)
    betas = {release.version for release in catalog.driver_releases if release.beta}
    for row in catalog.driver_branches:
        every = releases.get(row.branch, [])
        known = [version for version in every if version not in betas or version == row.latest] or every
        newest = max(known, key=number, default="")
        if row.latest and known and (row.latest not in known or number(newest) > number(row.latest)):
            yield "driver_branches", row, f"latest is {row.latest}; the newest known release is {newest}"


@question("release-of-another-branch")
def release_branch(catalog: Catalog) -> Said:
    """Does every driver release carry the number of its branch?"""
    branches = {row.branch: row for row in catalog.driver_branches}
    for row in catalog.driver_releases:
        branch, own = branches.get(row.branch), int(number(row.version)[0])
        if branch is None:
            yield "driver_releases", row, f"there is no driver branch {row.branch}"
        elif row.platform == "linux":
            if str(own) != row.branch:
                yield "driver_releases", row, f"{row.version} is not of branch {row.branch}"
        elif row.platform == "windows":
            first, _, last = branch.windows_numbers.partition("-")
            if first and not int(first) <= own <= int(last or first):
                yield "driver_releases", row, f"{row.version} is outside the branch's Windows numbers {branch.windows_numbers}"
        else:
            yield "driver_releases", row, f"{row.platform} is no platform of drivers"


@question("branch-architectures")
def branch_architectures(catalog: Catalog) -> Said:
    """Do branches and GPU generations agree on who serves whom?"""
    known = {row.name: row for row in catalog.architectures}
    named = {name for row in catalog.driver_branches for name in row.architectures}
    for row in catalog.driver_branches:
        for name in row.architectures:
            if name not in known:
                yield "driver_branches", row, f"there is no GPU generation {name}"
        for name, arch in known.items():
            inside = number(arch.first_branch) <= number(row.branch) and \
                (not arch.last_branch or number(row.branch) <= number(arch.last_branch))
            if name in named and inside != (name in row.architectures):
                yield "driver_branches", row, f"{name} is served from {arch.first_branch} to {arch.last_branch or 'now'}, says its own row"


@question("architecture-open")
def architecture_open(catalog: Catalog) -> Said:
    """Is there a first open driver exactly for the generations that open modules serve, and of a branch that has them?"""
    for row in catalog.architectures:
        if row.open_modules not in ("unsupported", "supported", "required"):
            yield "architectures", row, f"open_modules {row.open_modules!r}"
        if (row.open_modules == "unsupported") == bool(row.open_first_driver):
            yield "architectures", row, f"open modules are {row.open_modules}, the first open driver is {row.open_first_driver or 'none'}"
        if row.open_first_driver:
            branch = catalog.row("driver_branches", _branch(row.open_first_driver))
            if branch is not None and "open" not in branch.flavours:
                yield "architectures", row, f"driver branch {branch.branch} has no open modules"
        if row.first_driver and _branch(row.first_driver) != row.first_branch:
            yield "architectures", row, f"the first driver {row.first_driver} is not of the first branch {row.first_branch}"


@question("family-floor")
def family_floor(catalog: Catalog) -> Said:
    """Is a family's floor of a branch that serves the family's first release, and known as a release?"""
    known = {number(row.version) for row in catalog.driver_releases if row.platform == "linux"}
    for row in catalog.cuda_majors:
        branch = catalog.row("driver_branches", _branch(row.min_driver_linux))
        lowest = row.major if "." in row.major else f"{row.major}.0"
        if branch is None or number(branch.cuda) < number(lowest):
            yield "cuda_majors", row, f"the driver {row.min_driver_linux} does not serve CUDA {lowest}"
        own = number(row.min_driver_linux)
        if not any(each[:len(own)] == own for each in known):  # a floor may leave out the last part of a release's number
            yield "cuda_majors", row, f"there is no driver {row.min_driver_linux}"


@question("forward-compat")
def forward_compat(catalog: Catalog) -> Said:
    """Is a compatibility package named after its CUDA, and does it lift only older branches that we know?"""
    for row in catalog.forward_compat:
        if row.package != f"cuda-compat-{row.cuda.replace('.', '-')}":
            yield "forward_compat", row, f"the package of CUDA {row.cuda} is not {row.package}"
        for name in row.branches:
            branch = catalog.row("driver_branches", name)
            if branch is None:
                yield "forward_compat", row, f"there is no driver branch {name}"
            elif number(branch.cuda) >= number(row.cuda):
                yield "forward_compat", row, f"branch {name} serves CUDA {branch.cuda} without it"


# -- GPUs --------------------------------------------------------------------------------------------------------------


@question("capability-without-toolkit")
def capability_toolkit(catalog: Catalog) -> Said:
    """Does every capability have toolkits that compile for it?"""
    known = {minor(row.version) for row in catalog.toolkits}
    oldest = min(known, key=number)
    for row in catalog.capabilities:
        for field in ("first_toolkit", "last_toolkit", "deprecated_from"):
            value = getattr(row, field)
            if (not value and field == "first_toolkit") or (value and value not in known and number(value) >= number(oldest)):
                yield "capabilities", row, f"{field}: there is no toolkit {value or 'at all'}"


@question("capability-runs")
def capability_runs(catalog: Catalog) -> Said:
    """Does a GPU run its own code, and else only code of its own major and no higher minor?"""
    known = {row.sm: row.integrated for row in catalog.capabilities}
    for row in catalog.capabilities:  # an integrated one may have been given another number by a later CUDA
        bad = [sm for sm in row.runs if sm not in known or sm > row.sm
               or (sm // 10 != row.sm // 10 and not (row.integrated and known[sm]))]
        if row.sm not in row.runs or bad:
            yield "capabilities", row, f"it is said to run {row.runs}"
        if catalog.row("architectures", row.architecture) is None:
            yield "capabilities", row, f"there is no GPU generation {row.architecture}"


@question("gpu-capability")
def gpu_capability(catalog: Catalog) -> Said:
    """Has every GPU a capability we know, of its own generation?"""
    generation = {row.sm: row.architecture for row in catalog.capabilities}
    for row in catalog.gpus:
        if row.sm is not None and row.sm not in generation:
            yield "gpus", row, f"no toolkit and no table knows sm_{row.sm}"
        elif row.sm is not None and generation[row.sm].split()[0] not in row.architecture.split():
            yield "gpus", row, f"sm_{row.sm} is {generation[row.sm]}, not {row.architecture}"
        if row.architecture and catalog.row("architectures", row.architecture) is None:
            yield "gpus", row, f"there is no GPU generation {row.architecture}"


@question("gpu-contradiction")
def gpu_contradiction(catalog: Catalog) -> Said:
    """Do no two rows give one PCI id, or one chip, different capabilities?"""
    seen: dict[tuple[str, str], Any] = {}
    for row in catalog.gpus:
        if row.sm is None:
            continue
        for kind, value in (("PCI id", row.pci_id), ("chip", row.chip)):
            other = seen.setdefault((kind, value), row) if value else row
            if other.sm != row.sm:
                yield "gpus", row, f"{kind} {value} is sm_{row.sm} here and sm_{other.sm} in {other.name}"


@question("gpu-form")
def gpu_form(catalog: Catalog) -> Said:
    """Are PCI ids and subsystems written the way they are looked up?"""
    for row in catalog.gpus:
        if row.pci_id and not re.fullmatch(r"[0-9a-f]{4}", row.pci_id):
            yield "gpus", row, f"PCI id {row.pci_id!r}"
        for subsystem in row.subsystems:
            if not re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", subsystem):
                yield "gpus", row, f"subsystem {subsystem!r}"
        if row.open_modules not in ("unsupported", "supported", "required", "none"):
            yield "gpus", row, f"open_modules {row.open_modules!r}"


@question("gpu-drivers")
def gpu_drivers(catalog: Catalog) -> Said:
    """Do a GPU's drivers lie within those of its generation?"""
    for row in catalog.gpus:
        arch = catalog.row("architectures", row.architecture)
        if arch is None:
            continue
        if arch.last_branch and row.open_modules != "none" and (not row.last_branch or number(row.last_branch) > number(arch.last_branch)):
            yield "gpus", row, f"its last branch is {row.last_branch or 'open'}, that of {arch.name} {arch.last_branch}"
        elif row.last_branch and not arch.last_branch:
            yield "gpus", row, f"its last branch is {row.last_branch}, but {arch.name} is still served"
        for version in ((row.first_driver,) if row.first_driver else ()) + row.first_in_branch:
            if number(_branch(version)) < number(arch.first_branch):
                yield "gpus", row, f"the driver {version} is older than {arch.name}'s first branch {arch.first_branch}"
            elif arch.last_branch and number(_branch(version)) > number(arch.last_branch):
                yield "gpus", row, f"the driver {version} is newer than {arch.name}'s last branch {arch.last_branch}"


@question("gpu-first-driver")
def gpu_first_driver(catalog: Catalog) -> Said:
    """Is the first driver that lists a GPU the first of those that do, one a branch?"""
    for row in catalog.gpus:
        branches = [_branch(version) for version in row.first_in_branch]
        if len(set(branches)) != len(branches):
            yield "gpus", row, "first_in_branch names a branch twice"
        if row.first_driver and row.first_in_branch and min(row.first_in_branch, key=number) != row.first_driver:
            yield "gpus", row, f"first_driver is {row.first_driver}, the first of its branches is {min(row.first_in_branch, key=number)}"


@question("gpu-modules")
def gpu_modules(catalog: Catalog) -> Said:
    """Does a GPU need the kernel modules that its generation needs, or, where both serve it, the open ones?"""
    for row in catalog.gpus:
        arch = catalog.row("architectures", row.architecture)
        allowed = (arch.open_modules, "none", "required" if arch.open_modules == "supported" else "none") if arch else ()
        if arch is not None and row.open_modules not in allowed:
            yield "gpus", row, f"open modules are {row.open_modules} here and {arch.open_modules} for {arch.name}"


@question("gpu-alias")
def gpu_alias(catalog: Catalog) -> Said:
    """Does every alias lead to a product, in the folded form in which it is looked up, and hide no product of that very name?"""
    from provisioner.catalog.names import fold_gpu

    names = {row.name for row in catalog.gpus}
    folded: dict[str, set[str]] = {}
    for name in names:
        folded.setdefault(fold_gpu(name), set()).add(name)
    for row in catalog.gpu_aliases:
        if row.name not in names:
            yield "gpu_aliases", row, f"there is no product {row.name!r}"
        if row.alias != row.alias.lower().replace(" ", "").replace("-", ""):
            yield "gpu_aliases", row, "an alias has no blanks, hyphens or capitals"
        if row.alias in folded and row.name not in folded[row.alias]:
            yield "gpu_aliases", row, f"{' and '.join(sorted(folded[row.alias]))} is called that"


# -- libraries ---------------------------------------------------------------------------------------------------------


@question("cudnn")
def cudnn(catalog: Catalog) -> Said:
    """Is every cuDNN for a CUDA and for GPUs that we know, with a driver that serves that CUDA?"""
    majors = {row.version.split(".")[0] for row in catalog.toolkits}
    known = {row.sm for row in catalog.capabilities}
    for row in catalog.cudnn:
        if row.cuda.split(".")[0] not in majors:
            yield "cudnn", row, f"there is no CUDA {row.cuda}"
        if not re.fullmatch(r"\d+\.\d+\.\d+(\.\d+)?", row.version):
            yield "cudnn", row, "a cuDNN version has three or four parts"
        for sm in (row.min_sm, row.max_sm):
            if sm and sm not in known:
                yield "cudnn", row, f"nobody knows sm_{sm}"
        branch = catalog.row("driver_branches", _branch(row.min_driver_linux or ""))
        if row.min_driver_linux and (branch is None or number(branch.cuda)[0] < number(row.cuda)[0]):
            yield "cudnn", row, f"the driver {row.min_driver_linux} does not serve CUDA {row.cuda}"


@question("cudnn-gpus-order")
def cudnn_gpus_order(catalog: Catalog) -> Said:
    """Within a major and a CUDA, does no newer cuDNN take back a new GPU or serve an older one again?"""
    series: dict[tuple[str, str], list[Any]] = {}
    for row in catalog.cudnn:
        series.setdefault((row.version.split(".")[0], row.cuda), []).append(row)
    for rows in series.values():
        rows.sort(key=lambda row: number(row.version))
        for before, after in pairwise(rows):
            if before.min_sm and after.min_sm and after.min_sm < before.min_sm:
                yield "cudnn", after, f"it serves sm_{after.min_sm}, which {before.version} no longer did"
            if before.max_sm and after.max_sm and after.max_sm < before.max_sm:
                yield "cudnn", after, f"it ends at sm_{after.max_sm}, but {before.version} served sm_{before.max_sm}"


@question("nccl")
def nccl(catalog: Catalog) -> Said:
    """Are NCCL's CUDA versions and GPUs ones that we know?"""
    known = {row.sm for row in catalog.capabilities}
    newest = max((row.version for row in catalog.toolkits), key=number)
    for row in catalog.nccl:
        if set(row.sm) - known:
            yield "nccl", row, f"nobody knows sm_{min(set(row.sm) - known)}"
        for cuda in (*row.cudas, *row.suffixes, *row.wheels):
            if number(cuda)[:1] > number(newest)[:1] or not re.fullmatch(r"\d+(\.\d+)?", cuda):
                yield "nccl", row, f"there is no CUDA {cuda}"
        missing = set(row.wheels) - {cuda.split(".")[0] for cuda in row.cudas}
        if missing:
            yield "nccl", row, f"it has a wheel for CUDA {min(missing)}, which is not among its CUDA versions"
