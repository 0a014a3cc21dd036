"""The catalogue as the solver wants it: value lists in order of preference, and sets of values as integers.

Everything here depends on the catalogue alone, so it is computed once and kept with the compiled catalogue (`precompute`
returns plain dicts, tuples, strings and integers, which marshal). Bit i of a mask stands for value i of its list.

The preference order inside each list is decided here, between the lists in `problem.py`:
- torch: newest first. `conservative` moves the newest minor to the end.
- wheels: newest torch, then newest CUDA build, then cpu.
- drivers: supported long-term and production branches, the longest life first; then supported feature branches; then ended
  branches, newest first; then betas. In a branch the newest release first. `conservative` puts long-term branches first.
- Pythons, toolkits, cuDNN, NCCL, companions: newest first.
"""

from __future__ import annotations

from provisioner.versions import Range, is_dotted, sort_key
from provisioner.versions import minor as minor
from provisioner.versions import number as version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Masks = dict[Any, int]

FORMAT = "10"  # goes up when the shapes below change


def tables(catalog: Any) -> dict[str, Any]:
    """The precomputed tables of a catalogue, from its cache where it has one. What counts as today is the catalogue's date, so
    that equal input gives equal output."""
    found: dict[str, Any] = catalog.extra("solver", precompute, FORMAT)
    return found


def precompute(catalog: Any) -> dict[str, Any]:
    """All tables; see the functions below for their shapes."""
    made: dict[str, Any] = {"date": catalog.date}
    made["runs"] = {row.sm: tuple(row.runs) for row in catalog.capabilities}
    made["integrated"] = {row.sm: row.integrated for row in catalog.capabilities}
    made |= _wheels(catalog, made)
    made["pythons"] = _pythons(made)
    made["drivers"] = {f"{platform}/{order}": _drivers(catalog, platform, order, made)
                       for platform in ("linux", "windows") for order in ("newest", "conservative")}
    made["toolkits"] = _toolkits(catalog)
    made["cudnn"] = _cudnn(catalog, made)
    made["nccl"] = _nccl(catalog)
    made["packages"] = _packages(catalog, made)
    return made


# -- wheels ------------------------------------------------------------------------------------------------------------

#: fields of a wheel, in the order of its tuple
WHEEL = ("torch", "build", "cuda", "platform", "channel", "toolkit", "label", "index_url", "glibc", "pythons", "default",
         "cudnn", "nccl", "triton", "libraries", "sm", "ptx", "file_pattern", "source", "confidence", "arch_source",
         "arch_confidence", "pin_source", "pin_confidence")
TORCH, BUILD, CUDA, PLATFORM, CHANNEL, TOOLKIT, LABEL, INDEX_URL, GLIBC, PYTHONS, DEFAULT, CUDNN, NCCL, TRITON = range(14)
SM, PTX, SOURCE, CONFIDENCE, ARCH_SOURCE, ARCH_CONFIDENCE, PIN_SOURCE, PIN_CONFIDENCE = 15, 16, 18, 19, 20, 21, 22, 23


def _wheels(catalog: Any, made: dict[str, Any]) -> dict[str, Any]:
    """`wheels` and every mask over them."""
    archs = {(row.torch, row.build, row.platform, row.channel): row for row in catalog.torch_archs}
    pins = {(row.torch, row.build, row.platform, row.channel): row for row in catalog.torch_pins}
    rows: list[tuple[Any, ...]] = []
    for row in catalog.torch_builds:
        if row.channel not in ("pip", "conda-forge"):
            continue
        place = (row.torch, row.build, row.platform, row.channel)
        arch, pin = archs.get(place), pins.get(place)
        rows.append((
            row.torch, row.build, row.cuda, row.platform, row.channel, row.toolkit, row.label, row.index_url, row.glibc,
            tuple(row.pythons), row.default, pin.cudnn if pin else None, pin.nccl if pin else None,
            pin.triton if pin else None, pin.libraries if pin else "", tuple(arch.sm) if arch else None,
            tuple(arch.ptx) if arch else None, row.file_pattern, row.source, row.confidence, arch.source if arch else "",
            arch.confidence if arch else "", pin.source if pin else "", pin.confidence if pin else ""))
    for jet in catalog.jetpacks:
        for torch in jet.torch:
            rows.append((
                torch, "cu" + jet.cuda.replace(".", ""), jet.cuda, "jetson-" + jet.l4t, "pip", jet.cuda, "", jet.index_url, "",
                (jet.python,), False, None, "", None, "bundled", tuple(jet.sm), (), "", jet.source, jet.confidence, jet.source,
                jet.confidence, jet.source, jet.confidence))
    rows.sort(key=lambda row: (sort_key(row[TORCH]), version_key(row[CUDA] or "0"), row[CHANNEL] == "pip", row[PLATFORM]),
              reverse=True)
    releases = sorted({row.version for row in catalog.torch_releases} | {row[TORCH] for row in rows}, key=sort_key, reverse=True)
    told: dict[str, Any] = {"wheels": tuple(rows), "torch": tuple(releases), "wheel_all": (1 << len(rows)) - 1}
    newest = minor(releases[0]) if releases else ""
    told["torch_conservative"] = tuple([each for each in releases if minor(each) != newest]
                                       + [each for each in releases if minor(each) == newest])
    by: dict[str, Masks] = {name: {} for name in ("torch", "build", "cuda", "platform", "channel", "python", "glibc", "cudnn")}
    for index, row in enumerate(rows):
        bit = 1 << index
        for name, value in (("torch", row[TORCH]), ("build", row[BUILD]), ("cuda", row[CUDA]), ("platform", row[PLATFORM]),
                            ("channel", row[CHANNEL]), ("glibc", row[GLIBC]), ("cudnn", row[CUDNN])):
            by[name][value] = by[name].get(value, 0) | bit
        for python in row[PYTHONS]:
            by["python"][python] = by["python"].get(python, 0) | bit
    told |= {"wheel_" + name: masks for name, masks in by.items()}
    firsts = {row.sm: row.first_toolkit for row in catalog.capabilities}
    cudnn = {sm: _cudnn_reach(catalog, rows, sm) for sm in made["runs"]}
    told["old_cudnn"] = {sm: without for sm, (_, without) in cudnn.items()}
    told["cover"] = {sm: _cover(rows, sm, runs, made["integrated"][sm], firsts[sm], cudnn[sm][0])
                     for sm, runs in made["runs"].items()}
    return told


def _cover(rows: list[tuple[Any, ...]], sm: int, runs: tuple[int, ...], integrated: bool, first: str,
           with_cudnn: int) -> tuple[int, int, int]:
    """Wheels with a cubin for a capability, with PTX alone, and those whose list nobody knows.

    PTX carries torch's own kernels to a newer GPU, but not the libraries beside them: it counts where the wheel's CUDA knows the
    capability (`first`: its first toolkit), or its cuDNN is known to."""
    cubin = ptx = unknown = 0
    for index, row in enumerate(rows):
        bit = 1 << index
        if not row[CUDA]:
            continue
        if row[SM] is None:
            unknown |= bit
        elif any(each in runs for each in row[SM]):
            cubin |= bit
        elif not integrated and any(each <= sm for each in row[PTX]) and (
                bit & with_cudnn or (first and version_key(first) <= version_key(row[CUDA]))):
            ptx |= bit
    return cubin, ptx, unknown


def _cudnn_reach(catalog: Any, rows: list[tuple[Any, ...]], sm: int) -> tuple[int, int]:
    """Wheels whose bundled cuDNN is known to serve a capability, and those whose is known not to."""
    beside: dict[tuple[str, str], str] = {}  # where nobody knows a wheel's cuDNN, that of another platform's speaks for it
    for row in rows:
        if row[CUDNN]:
            for place in ((row[TORCH], row[CUDA]), (row[TORCH], "")):
                if place not in beside or version_key(beside[place]) < version_key(row[CUDNN]):
                    beside[place] = row[CUDNN]
    serves, found = 0, 0
    known: dict[tuple[str, str], bool | None] = {}
    for index, row in enumerate(rows):
        version = row[CUDNN] or beside.get((row[TORCH], row[CUDA])) or beside.get((row[TORCH], "")) or ""
        if not row[CUDA] or not version or row[PLATFORM].startswith("jetson-"):
            continue
        place = (version, row[CUDA])
        if place not in known:
            known[place] = cudnn_serves(catalog.cudnn, version, row[CUDA], sm)
        if known[place] is False:
            found |= 1 << index
        elif known[place]:
            serves |= 1 << index
    return serves, found


def cudnn_serves(releases: Any, version: str, cuda: str, sm: int) -> bool | None:
    """Whether a cuDNN serves a capability; None when nobody knows. The nearest release of the same X.Y speaks for one that has
    no row of its own (wheels carry builds that other channels never had)."""
    family = [row for row in releases if minor(row.version) == minor(version)
              and (row.cuda == cuda or row.cuda == cuda.split(".", maxsplit=1)[0] or row.cuda.split(".")[0] == cuda.split(".")[0])]
    if not family:
        same = [row for row in releases if row.version.split(".")[0] == version.split(".")[0]
                and row.cuda.split(".")[0] == cuda.split(".")[0]]
        older = [row for row in same if version_key(row.version) <= version_key(version)]
        family = sorted(older or same, key=lambda row: version_key(row.version))[-1 if older else 0:][:1]
    answers = {None if row.min_sm is None else row.min_sm <= sm and _reaches(row.max_sm, sm) for row in family}
    if True in answers:
        return True
    return False if answers == {False} else None


def _reaches(highest: int | None, sm: int) -> bool:
    """Whether a library with code up to `highest` has code that a capability runs: of the same major a lower minor will do."""
    return not highest or sm <= highest or sm // 10 == highest // 10


def _pythons(made: dict[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(made["wheel_python"], key=version_key, reverse=True))


# -- drivers -----------------------------------------------------------------------------------------------------------

def _life(row: Any, date: str) -> int:
    """0 = ended, 1 = supported."""
    return int((not row.end_of_life and row.kind not in ("legacy", "beta")) or (bool(row.end_of_life)
               and row.end_of_life[:7] >= date[:7]))


def _branch_rank(row: Any, date: str, order: str) -> tuple[Any, ...]:
    """Smaller is better."""
    number = -float(row.branch)
    if row.kind == "beta":
        return (4, 0, number)
    if not _life(row, date):
        return (3 if row.kind == "legacy" else 2, 0, number)
    if row.kind in ("LTSB", "PB"):
        life = -int((row.end_of_life or "9999-12")[:7].replace("-", ""))
        return (0, int(order == "conservative" and row.kind != "LTSB"), life, number)
    return (1, 0, number)


def _drivers(catalog: Any, platform: str, order: str, made: dict[str, Any]) -> dict[str, Any]:
    """Releases of one platform in order of preference, and masks over them. One more value, the last, is `no driver`."""
    date = made["date"]
    branches = {row.branch: row for row in catalog.driver_branches}
    rows = [row for row in catalog.driver_releases if row.platform == platform and row.branch in branches]
    rows.sort(key=lambda row: version_key(row.version), reverse=True)
    rows.sort(key=lambda row: ((5,) if row.beta else _branch_rank(branches[row.branch], date, order)))
    versions = tuple(row.version for row in rows)
    count = len(rows)
    told: dict[str, Any] = {"versions": versions, "branches": tuple(row.branch for row in rows), "count": count,
                            "beta": tuple(row.beta for row in rows)}
    told["branch"] = _group(row.branch for row in rows)
    told["index"] = {version: index for index, version in enumerate(versions)}
    ascending = sorted(range(count), key=lambda index: version_key(versions[index]))
    suffixes, mask = [0] * (count + 1), 0
    for position in range(count - 1, -1, -1):
        mask |= 1 << ascending[position]
        suffixes[position] = mask
    told["ranked"] = tuple(ascending)
    told["ascending"] = tuple(version_key(versions[index]) for index in ascending)
    told["at_least"] = tuple(suffixes)
    cudas = sorted({row[CUDA] for row in made["wheels"] if row[CUDA]}, key=version_key)
    floors = {row.major: getattr(row, f"min_driver_{platform}") for row in catalog.cuda_majors}
    told["floors"] = floors
    told["full"] = {cuda: sum(told["branch"].get(row.branch, 0) for row in branches.values()
                              if row.cuda and version_key(row.cuda) >= version_key(cuda)) for cuda in cudas}
    for cuda in cudas:  # early releases of a branch can lie below the floor of the major
        told["full"][cuda] &= at_least(told, floor_of(floors, cuda)) if floor_of(floors, cuda) else -1
    told["floor"] = {cuda: at_least(told, floor_of(floors, cuda)) if floor_of(floors, cuda) else told["full"][cuda]
                     for cuda in cudas}
    lifts = {row.cuda: row.branches for row in catalog.forward_compat} if platform == "linux" else {}
    told["compat"] = {cuda: sum(told["branch"].get(each, 0) for each in lifts.get(cuda, ())) & ~told["full"][cuda]
                      for cuda in cudas}
    told["flavour"] = {flavour: sum(told["branch"].get(row.branch, 0) for row in branches.values() if flavour in row.flavours)
                       for flavour in ("open", "proprietary")}
    told["arch"] = {}
    for arch in catalog.architectures:
        mask = sum(told["branch"].get(branch, 0) for branch in branches
                   if between(branch, arch.first_branch, arch.last_branch))
        if platform == "linux" and arch.first_driver:
            mask &= at_least(told, arch.first_driver)
        first_open = at_least(told, arch.open_first_driver) if arch.open_first_driver and platform == "linux" else 0
        told["arch"][arch.name] = (mask, mask & first_open if arch.open_modules != "unsupported" else 0,
                                   mask if arch.open_modules != "required" else 0)
    told["offers"] = _offers(catalog, told) if platform == "linux" else {}
    rule = catalog.row("rules", "open-modules-first-driver-other")
    told["open_other"] = rule.value if rule else ""
    told["ended"] = sum(told["branch"].get(row.branch, 0) for row in branches.values() if not _life(row, date))
    return told


def _group(values: Any) -> Masks:
    found: Masks = {}
    for index, value in enumerate(values):
        found[value] = found.get(value, 0) | 1 << index
    return found


def at_least(drivers: dict[str, Any], version: str) -> int:
    """Mask of the releases from `version` on."""
    from bisect import bisect_left

    found: int = drivers["at_least"][bisect_left(drivers["ascending"], version_key(version))]
    return found


def between(branch: str, first: str, last: str) -> bool:
    """Whether a branch number lies in an interval; an empty end is open."""
    number = float(branch)
    return (not first or float(first) <= number) and (not last or number <= float(last))


def floor_of(floors: dict[str, str], cuda: str) -> str:
    """The lowest driver for wheels of a CUDA version under minor-version compatibility, "" when no row says."""
    return floors.get(cuda) or floors.get(cuda.split(".", maxsplit=1)[0]) or ""


def _offers(catalog: Any, told: dict[str, Any]) -> dict[tuple[str, str, str], tuple[int, int]]:
    """(os, arch, origin) -> masks of the releases on offer with open and with proprietary modules."""
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in catalog.driver_offers:
        mask = sum(mask for branch, mask in told["branch"].items()
                   if between(branch, row.first, row.last) and branch not in row.except_branches)
        if row.releases:
            mask &= sum(1 << told["index"][each] for each in row.releases if each in told["index"])
        place = (row.os, row.arch, row.origin)
        old_open, old_proprietary = found.get(place, (0, 0))
        found[place] = (old_open | (mask & told["flavour"]["open"] if "open" in row.flavours else 0),
                        old_proprietary | (mask & told["flavour"]["proprietary"] if "proprietary" in row.flavours else 0))
    return found


# -- toolkits and libraries of the system --------------------------------------------------------------------------------


def _toolkits(catalog: Any) -> dict[str, Any]:
    """Releases newest first; value 0 is `no toolkit`, release i is value i + 1."""
    rows = sorted(catalog.toolkits, key=lambda row: version_key(row.version), reverse=True)
    versions = tuple(row.version for row in rows)
    told: dict[str, Any] = {"versions": versions}

    def mask(test: Any) -> int:
        return sum(2 << index for index, version in enumerate(versions) if test(minor(version)))

    told["minor"] = {each: mask(lambda xy, each=each: xy == each) for each in {minor(version) for version in versions}}
    told["major"] = {each: mask(lambda xy, each=each: xy.split(".")[0] == each) for each in {v.split(".")[0] for v in versions}}
    told["sm"] = {row.sm: mask(lambda xy, row=row: version_key(row.first_toolkit) <= version_key(xy)
                               and (not row.last_toolkit or version_key(xy) <= version_key(row.last_toolkit)))
                  for row in catalog.capabilities if row.first_toolkit}
    told["offers"] = {}
    for row in catalog.toolkit_offers:
        place = (row.os, row.arch)
        told["offers"][place] = told["offers"].get(place, 0) | mask(
            lambda xy, row=row: (not row.first or version_key(row.first) <= version_key(xy))
            and (not row.last or version_key(xy) <= version_key(row.last)) and xy not in row.missing)
    compilers = {row.toolkit: (row.first, row.last) for row in catalog.host_compilers if row.compiler == "gcc"}
    told["gcc_known"] = mask(lambda xy: xy in compilers)
    told["gcc_last"] = {xy: last for xy, (first, last) in compilers.items()}
    told["gcc"] = {str(major): mask(lambda xy, major=major: xy in compilers and (
        not compilers[xy][0] or int(compilers[xy][0].split(".")[0]) <= major) and (
        not compilers[xy][1] or major <= int(compilers[xy][1].split(".")[0]))) for major in range(4, 21)}
    return told


def _cudnn(catalog: Any, made: dict[str, Any]) -> dict[str, Any]:
    """Releases newest first; value 0 is the bundled one."""
    rows = sorted(catalog.cudnn, key=lambda row: (version_key(row.version), version_key(row.cuda)), reverse=True)
    told: dict[str, Any] = {"rows": tuple((row.version, row.cuda, row.min_sm, row.max_sm, tuple(row.platforms),
                                           row.min_driver_linux or "", row.source, row.confidence) for row in rows)}
    told["sm"] = {sm: sum(2 << index for index, row in enumerate(rows) if (row.min_sm is None or row.min_sm <= sm)
                          and _reaches(row.max_sm, sm)) for sm in made["runs"]}
    told["cuda"] = _shift(_group(row.cuda for row in rows))
    return told


def _nccl(catalog: Any) -> dict[str, Any]:
    """Releases newest first; value 0 is the bundled one."""
    rows = sorted(catalog.nccl, key=lambda row: version_key(row.version), reverse=True)
    majors = {each.split(".", maxsplit=1)[0] for row in rows for each in row.cudas}
    return {"rows": tuple((row.version, row.source, row.confidence) for row in rows),
            "cuda": {major: sum(2 << index for index, row in enumerate(rows)
                                if major in {each.split(".", maxsplit=1)[0] for each in row.cudas}) for major in majors}}


def _shift(masks: Masks) -> Masks:
    return {name: mask << 1 for name, mask in masks.items()}


# -- companions --------------------------------------------------------------------------------------------------------


def canonical(name: str) -> str:
    """PEP 503 name of a package."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def _packages(catalog: Any, made: dict[str, Any]) -> dict[str, Any]:
    """package -> its releases newest first, each with the wheels and Pythons it goes with."""
    by_name: dict[str, list[Any]] = {}
    for row in catalog.companions:
        if not row.yanked:
            by_name.setdefault(canonical(row.package), []).append(row)
    archs: dict[str, list[Any]] = {}
    for row in catalog.companion_archs:
        archs.setdefault(canonical(row.package), []).append(row)
    flash = _flash_wheels(catalog)
    torch_masks = _TorchMasks(made)
    dates = {row.version: row.released for row in catalog.torch_releases}
    told = {name: _package(name, rows, archs.get(name, []), made, torch_masks, flash, dates) for name, rows in by_name.items()}
    for package in told.values():
        package["pins"] = _pins(package["rows"], told)
    return told


def _pins(rows: tuple[tuple[Any, ...], ...], packages: dict[str, dict[str, Any]]) -> dict[str, tuple[tuple[int, int], ...]]:
    """other package -> boxes: (mask of the releases with one pin, mask of what it allows of the other)."""
    found: dict[str, dict[str, int]] = {}
    names = {canonical(name) for row in rows for name, _ in row[P_REQUIRES]}
    for index, row in enumerate(rows):
        pins = {canonical(name): text for name, text in row[P_REQUIRES]}
        for other in names & packages.keys():
            masks = found.setdefault(other, {})
            text = pins.get(other, "*")
            masks[text] = masks.get(text, 0) | 1 << index
    told = {}
    for other, masks in found.items():
        boxes = []
        for text, releases in masks.items():
            wanted = Range(text)
            boxes.append((releases, sum(1 << index for index, row in enumerate(packages[other]["rows"]) if row[P_VERSION] in wanted)))
        told[other] = tuple(boxes)
    return told


class _TorchMasks:
    """Masks of the wheels whose torch is in a range, remembered."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made = made
        self.known: dict[str, int] = {"": made["wheel_all"]}

    def __call__(self, text: str) -> int:
        if text not in self.known:
            wanted = Range(text)
            self.known[text] = sum(mask for torch, mask in self.made["wheel_torch"].items() if torch in wanted)
        return self.known[text]


#: fields of a companion's release
P_VERSION, P_LABEL, P_REQUIRES, P_SOURCE, P_CONFIDENCE, P_FILE, P_TORCH, P_PAIR, P_GLIBC = range(9)


def _package(name: str, rows: list[Any], archs: list[Any], made: dict[str, Any], torch_masks: _TorchMasks,
             flash: list[Any], dates: dict[str, str]) -> dict[str, Any]:
    """`rows` (fields above, newest first) and boxes: (mask of what it goes with, mask of the releases)."""
    rows = sorted(rows, key=lambda row: sort_key(row.version), reverse=True)
    pythons: tuple[str, ...] = made["pythons"]
    tied = any(row.pair or row.torch.startswith("==") for row in rows)  # its releases are each for one torch
    told: list[tuple[Any, ...]] = []
    columns: dict[str, list[int]] = {each: [] for each in ("ready", "accepts", "pair", "python", "source_python")}
    for row in rows:
        accepts = torch_masks(row.torch)
        ready, wheel_pythons, file = _ready(row, made), row.pythons, ""
        if name == "triton":  # torch pins its triton
            accepts &= sum(1 << index for index, wheel in enumerate(made["wheels"]) if wheel[TRITON] == row.version)
        if name == "flash-attn" and not row.platforms:
            ready, wheel_pythons, file = _flash_ready(row, flash, made)
        requires_python = Range(row.requires_python)
        columns["ready"].append(ready & accepts)
        columns["accepts"].append(accepts & made["wheel_channel"].get("pip", 0))
        if row.pair:
            pair = torch_masks("==" + row.pair)
        elif tied and not row.torch.startswith("=="):  # what it was built for is not known, but not what came later
            pair = sum(mask for torch, mask in made["wheel_torch"].items() if dates.get(torch, "") <= row.released)
        else:
            pair = accepts
        columns["pair"].append(accepts & pair)
        columns["python"].append(sum(1 << index for index, python in enumerate(pythons) if _python_fits(python, requires_python)
                                     and (not wheel_pythons or python in wheel_pythons)))
        columns["source_python"].append(sum(1 << index for index, python in enumerate(pythons)
                                            if _python_fits(python, requires_python)))
        told.append((row.version, row.label, tuple(row.requires), row.source, row.confidence, file, row.torch, row.pair, tuple(row.glibc)))
    found: dict[str, Any] = {each: _boxes(masks) for each, masks in columns.items()}
    found["rows"] = tuple(told)
    found["systems"] = tuple(sorted({platform.split("_")[0] for row in rows for platform in row.platforms}))
    found["limits"] = tuple(
        (each.min_sm, each.max_sm, each.build, each.source, each.confidence,
         sum(1 << index for index, row in enumerate(rows) if _within(row.version, each.first, each.last))) for each in archs)
    return found


def _boxes(masks: list[int]) -> tuple[tuple[int, int], ...]:
    """Values with the same mask share a box; those with an empty one have none."""
    groups: dict[int, int] = {}
    for index, mask in enumerate(masks):
        if mask:
            groups[mask] = groups.get(mask, 0) | 1 << index
    return tuple(groups.items())


def _python_fits(python: str, wanted: Range) -> bool:
    """Whether some release of a Python series fits: its first or a late one."""
    return python in wanted or f"{python}.99" in wanted


def _within(version: str, first: str, last: str) -> bool:
    one = sort_key(version)
    return not (first and one < sort_key(first)) and not (last and sort_key(last) < one)


def _ready(row: Any, made: dict[str, Any]) -> int:
    """Wheels of torch for whose platform and CUDA build the release has a wheel."""
    platforms = sum(made["wheel_platform"].get(each, 0) for each in row.platforms)
    if "linux_aarch64" in row.platforms:
        platforms |= sum(mask for platform, mask in made["wheel_platform"].items() if platform.startswith("jetson-"))
    if not row.builds or "*" in row.builds:
        return int(platforms)
    builds = sum(made["wheel_build"].get(each, 0) for each in row.builds)
    return int(platforms & (builds | made["wheel_channel"].get("conda-forge", 0)))


def _flash_wheels(catalog: Any) -> list[Any]:
    """Ready wheels that flash-attn's release pages hold: (first version, torch minors, CUDA majors, Pythons), by version."""
    found = []
    for rule in catalog.rules:
        if not rule.id.startswith("flash-attn-wheels-"):
            continue
        tag = rule.id.rsplit("-", 1)[1]
        parts = [part.strip().split(" ", 1) for part in rule.value.split(";")]
        value = {head: [each.strip() for each in tail.split(",")] for head, tail in parts}
        torches = {minor(each) for each in value["torch"] if is_dotted(each)}
        majors = {each.split(".")[0] for each in value["CUDA"]}
        found.append((sort_key("2.8.3.post1") if tag == "main" else sort_key(tag), torches, majors, tuple(value["Python"])))
    return sorted(found, key=lambda each: each[0])


def _flash_ready(row: Any, flash: list[Any], made: dict[str, Any]) -> tuple[int, tuple[str, ...], str]:
    known = [each for each in flash if not sort_key(row.version) < each[0]]
    if not known:
        return 0, (), ""
    _, torches, majors, pythons = known[-1]
    mask = sum(1 << index for index, wheel in enumerate(made["wheels"])
               if wheel[PLATFORM] == "linux_x86_64" and wheel[CHANNEL] == "pip" and minor(wheel[TORCH]) in torches
               and wheel[CUDA].split(".")[0] in majors)
    return mask, pythons, "release-page"
