"""What runs what: GPU code on GPUs, CUDA on drivers, drivers on GPUs. Pure questions to the tables, one home for each rule.

Every answer that nobody can give is None, which is neither yes nor no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from provisioner.catalog.names import first_drivers
from provisioner.versions import minor, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from provisioner.catalog import model
    from provisioner.catalog.load import Catalog


# -- GPU code ----------------------------------------------------------------------------------------------------------


def covers(sm: Iterable[int], ptx: Iterable[int], capability: model.Capability, jit: bool = True) -> str | None:
    """How code of a build runs on a GPU: "cubin" (as it is), "ptx" (compiled by the driver at the first start), None (not at all).

    A cubin runs on the same major with an equal or higher minor, never across majors (`capabilities.runs`; CUDA C++ programming
    guide, binary compatibility); PTX on anything equal or newer, if the driver may compile it (`jit`). Generic builds' PTX is
    of no use to an integrated GPU: its userland differs."""
    if any(each in capability.runs for each in sm):
        return "cubin"
    if jit and not capability.integrated and any(each <= capability.sm for each in ptx):
        return "ptx"
    return None


def cudnn_serves(releases: Iterable[model.Cudnn], version: str, cuda: str, sm: int) -> bool | None:
    """Whether a cuDNN for a CUDA serves a capability. The releases of the same X.Y speak for one that has no row of its own (wheels
    carry builds that other channels never had), else the nearest older one of the same major."""
    major = cuda.split(".", maxsplit=1)[0]
    same = [row for row in releases if row.cuda.split(".")[0] == major]
    family = [row for row in same if minor(row.version) == minor(version)]
    if not family:
        kin = sorted((row for row in same if row.version.split(".")[0] == version.split(".", maxsplit=1)[0]),
                     key=lambda row: number(row.version))
        older = [row for row in kin if number(row.version) <= number(version)]
        family = older[-1:] or kin[:1]
    answers = {None if row.min_sm is None else row.min_sm <= sm and _reaches(row.max_sm, sm) for row in family}
    return True if True in answers else False if answers == {False} else None


def _reaches(highest: int | None, sm: int) -> bool:
    """Whether a library with code up to `highest` has code that a capability runs: of the same major a lower minor will do."""
    return not highest or sm <= highest or sm // 10 == highest // 10


def cudnn_beside(catalog: Catalog) -> dict[tuple[str, str], str]:
    """The newest known cuDNN of any build of a (torch, CUDA), and of a (torch, "")."""
    cuda = {(row.torch, row.build, row.platform, row.channel): row.cuda for row in catalog.torch_builds}
    found: dict[tuple[str, str], str] = {}
    for pin in catalog.torch_pins:
        if pin.cudnn:
            for place in ((pin.torch, cuda.get((pin.torch, pin.build, pin.platform, pin.channel), "")), (pin.torch, "")):
                if place not in found or number(found[place]) < number(pin.cudnn):
                    found[place] = pin.cudnn
    return found


def bundled_cudnn(catalog: Catalog, build: model.TorchBuild, beside: dict[tuple[str, str], str]) -> str:
    """The cuDNN that comes with a build. Where nobody knows it, that of the same torch on another platform (`cudnn_beside`) speaks for
    it; "" when there is none either."""
    pin = catalog.row("torch_pins", build.torch, build.build, build.platform, build.channel)
    if pin is not None and pin.cudnn:
        return str(pin.cudnn)
    return beside.get((build.torch, build.cuda)) or beside.get((build.torch, "")) or ""


def ptx_carries(capability: model.Capability, cuda: str, cudnn: bool | None) -> bool:
    """Whether PTX makes a build work on a newer GPU: it carries torch's own kernels there, but not the libraries beside them, so the
    build's CUDA has to know the GPU, or its cuDNN has to (`cudnn_serves`)."""
    return cudnn is True or bool(capability.first_toolkit and number(capability.first_toolkit) <= number(cuda))


# -- drivers -----------------------------------------------------------------------------------------------------------


def branch_of(catalog: Catalog, driver: str, platform: str = "linux") -> model.DriverBranch | None:
    """The branch a driver belongs to: by its number on Linux; on Windows the one whose numbers hold it; else the nearest below."""
    own = int(number(driver)[0])
    best = None
    for row in sorted(catalog.driver_branches, key=lambda each: number(each.branch)):
        low = int(row.branch)
        if platform == "windows" and row.windows_numbers:
            first, _, last = row.windows_numbers.partition("-")
            if int(first) <= own <= int(last or first):
                return row
            low = int(first)
        if low <= own:
            best = row
    return best


def floor(catalog: Catalog, cuda: str, platform: str = "linux") -> str:
    """The lowest driver that runs wheels of a CUDA version: its family's, by minor-version compatibility (CUDA 11 and newer), or
    its own (CUDA 10). "" when nobody knows."""
    row = catalog.row("cuda_majors", minor(cuda)) or catalog.row("cuda_majors", cuda.split(".", maxsplit=1)[0])
    return "" if row is None else str(row.min_driver_windows if platform == "windows" else row.min_driver_linux)


def full_branch(catalog: Catalog, cuda: str) -> str:
    """The oldest driver branch whose own CUDA is at least that, "" when there is none."""
    rows = [row for row in catalog.driver_branches if row.cuda and number(row.cuda) >= number(minor(cuda))]
    return min((row.branch for row in rows), key=number, default="")


def driver_serves(catalog: Catalog, cuda: str, driver: str, platform: str = "linux", forward_compat: bool = False) -> str | None:
    """How a driver serves a CUDA version: "full" (its own or an older one), "minor" (minor-version compatibility: everything but
    PTX), "forward" (with the package cuda-compat, where all GPUs allow it), "no"; None when nobody knows.

    Sources: the CUDA Compatibility guide; numbers are those of the tables driver_branches, cuda_majors, forward_compat."""
    branch = branch_of(catalog, driver, platform)
    if branch is None:
        lowest = floor(catalog, cuda, platform)
        return ("no" if number(driver) < number(lowest) else "minor") if lowest else None
    lowest = floor(catalog, cuda, platform)
    if branch.cuda and number(branch.cuda) >= number(minor(cuda)):
        return "full"
    if lowest and number(driver) >= number(lowest):
        return "minor"
    lift = catalog.row("forward_compat", minor(cuda))
    if forward_compat and platform == "linux" and lift is not None and branch.branch in lift.branches:
        return "forward"
    return "no" if lowest else None


# -- GPUs --------------------------------------------------------------------------------------------------------------


class Card(NamedTuple):
    """A kind of GPU as these questions need it: a product, or any GPU of a capability."""

    name: str
    sm: int | None
    architecture: str
    open_modules: str  # unsupported | supported | required | none (a SoC with its own driver)
    first_driver: str  # "" where nobody says
    first_in_branch: tuple[str, ...]
    last_branch: str  # "" = still supported
    forward_compat: bool
    early_open: bool  # whether open modules served it from their first driver on, as they did data-centre GPUs
    rows: tuple[tuple[str, tuple[object, ...]], ...]  # (table, key) of what this rests on


def cards(catalog: Catalog, text: str) -> list[Card]:
    """The GPUs that a text can mean, each kind once. Raises Problem when nobody knows any."""
    from provisioner.catalog.names import capability

    sm = capability(text)
    if sm is not None:
        catalog.gpu(text)  # an unknown capability is a Problem
        row = catalog.row("capabilities", sm)
        arch = catalog.row("architectures", row.architecture)
        return [Card(f"sm_{sm}", sm, row.architecture, arch.open_modules if arch else "supported", "", (),
                     arch.last_branch if arch else "", False, True, (("capabilities", (sm,)), ("architectures", (row.architecture,))))]
    groups: dict[tuple[int | None, str], list[model.Gpu]] = {}
    for gpu in catalog.gpu(text):
        groups.setdefault((gpu.sm, gpu.architecture), []).append(gpu)
    known = {place: rows for place, rows in groups.items() if place[0] is not None} or groups
    return [_card(catalog, rows) for rows in known.values()]


def _card(catalog: Catalog, rows: list[model.Gpu]) -> Card:
    """One card of rows that differ only in PCI ids: the earliest driver of any is the card's."""
    first, arch = rows[0], catalog.row("architectures", rows[0].architecture)
    earliest, in_branches = first_drivers(rows)
    open_modules = {row.open_modules for row in rows}
    return Card(first.name, first.sm, first.architecture, first.open_modules if len(open_modules) == 1 else "supported",
                earliest, in_branches,
                first.last_branch or (arch.last_branch if arch else ""), all(row.forward_compat for row in rows),
                all(row.gpu_class == "datacenter" for row in rows),
                (("gpus", (first.name, first.pci_id, first.subsystems)), ("capabilities", (first.sm,)),
                 ("architectures", (first.architecture,))))


def driver_knows(catalog: Catalog, card: Card, driver: str, platform: str = "linux") -> bool | None:
    """Whether a driver release serves a GPU.

    Its generation's interval of branches decides, and a branch older than the first that lists the product is taken not to. A
    release older than the one of its own branch that lists it is None: many served it all the same."""
    branch = branch_of(catalog, driver, platform)
    arch = catalog.row("architectures", card.architecture)
    if branch is None or arch is None or card.open_modules == "none":
        return None
    own = number(branch.branch)
    if own < number(arch.first_branch) or (card.last_branch and own > number(card.last_branch)):
        return False
    if platform == "windows":
        return True
    if arch.first_driver and number(driver) < number(arch.first_driver):
        return False
    if card.first_driver and own < number(card.first_driver)[:1]:
        return False
    if card.first_driver and number(driver) < number(card.first_driver):
        return None
    listed = [version for version in card.first_in_branch if version.split(".", 1)[0] == branch.branch]
    return True if not listed or number(driver) >= number(listed[0]) else None


def flavours(catalog: Catalog, card: Card, driver: str) -> tuple[str, ...]:
    """Kernel-module flavours of a Linux driver release that serve a GPU: open, proprietary."""
    later = catalog.row("rules", "open-modules-first-driver-other")
    branch = branch_of(catalog, driver)
    arch = catalog.row("architectures", card.architecture)
    if branch is None or arch is None:
        return ()
    found = []
    if "open" in branch.flavours and card.open_modules != "unsupported" and arch.open_first_driver \
            and number(driver) >= number(arch.open_first_driver) \
            and (card.early_open or later is None or number(driver) >= number(later.value)):
        found.append("open")
    if "proprietary" in branch.flavours and card.open_modules != "required":
        found.append("proprietary")
    return tuple(found)
