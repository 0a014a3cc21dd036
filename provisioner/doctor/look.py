"""What the doctor asks the catalogue: products by name, architecture lists, driver floors, wheels, and the numbers of a fix.

Every question has an answer that means "nobody knows", so that a text is still explained when the catalogue cannot be read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from provisioner import versions

if TYPE_CHECKING:
    from provisioner.catalog import load as loading
    from provisioner.catalog import model


class Product(NamedTuple):
    """A GPU product as far as the doctor needs it."""

    name: str
    sm: int
    architecture: str
    open_modules: str
    last_branch: str
    integrated: bool


@lru_cache(maxsize=1)
def catalog() -> loading.Catalog | None:
    """The catalogue, or None when it cannot be read."""
    from provisioner.catalog import load
    from provisioner.errors import Problem

    try:
        return load.load()
    except (Problem, OSError, ValueError, KeyError, ImportError):
        return None


def _products(held: loading.Catalog) -> dict[str, tuple[str, int, str, str, str, bool]]:
    from provisioner.catalog.names import fold_gpu

    generations = {row.name: row.last_branch for row in held.architectures}
    soc = {row.sm for row in held.capabilities if row.integrated}
    made: dict[str, tuple[str, int, str, str, str, bool]] = {}
    for row in held.gpus:
        entry = (row.name, row.sm or 0, row.architecture, row.open_modules, row.last_branch or generations.get(row.architecture, ""),
                 row.sm in soc)
        made.setdefault(fold_gpu(row.name), entry)
    for alias in held.gpu_aliases:
        found = made.get(fold_gpu(alias.name))
        if found:
            made.setdefault(alias.alias, found)
    return made


@lru_cache(maxsize=512)
def gpu(text: str) -> Product | None:
    """The product that a text names; longer names are tried without their last words ("RTX 3060 Laptop GPU / MIG 1g")."""
    held = catalog()
    if held is None:
        return None
    from provisioner.catalog.names import fold_gpu

    index = held.extra("doctor-gpus", _products, "1")
    words = re.split(r"[\s/]+", re.sub(r"[,;()]", " ", text).strip())
    while words:
        found = index.get(fold_gpu(" ".join(words)))
        if found is not None:
            return Product(*found)
        last = words.pop()
        if "-" in last.strip("-"):
            words.append(last.rsplit("-", 1)[0])
    return None


def rule(identifier: str) -> str:
    """A single number of the catalogue's table of rules."""
    held = catalog()
    row = held.row("rules", identifier) if held else None
    return row.value if row else ""


def releases() -> list[str]:
    """Stable torch releases, newest first."""
    held = catalog()
    if held is None:
        return []
    return sorted((row.version for row in held.torch_releases), key=versions.key, reverse=True)


@lru_cache(maxsize=1)
def builds() -> frozenset[str]:
    """Every CUDA build of torch that pip can get."""
    held = catalog()
    return frozenset(row.build for row in held.torch_builds if row.channel == "pip") if held else frozenset()


def wheels(version: str) -> list[model.TorchBuild]:
    """The pip builds of a torch release."""
    held = catalog()
    bare = version.split("+")[0]
    return [row for row in held.torch_builds if row.torch == bare and row.channel == "pip"] if held else []


def archs(version: str, build: str, platform: str) -> list[model.TorchArch]:
    """Architecture lists of the builds that a version and a build name; without a version those of all releases."""
    held = catalog()
    if held is None:
        return []
    bare = version.split("+")[0]
    known = bare in {row.version for row in held.torch_releases}
    if not build and known:
        defaults = [row.build for row in wheels(bare) if row.default and row.platform == platform]
        build = defaults[0] if defaults else ""
    if not build:
        return []
    return [row for row in held.torch_archs if row.build == build and row.platform == platform and row.channel == "pip"
            and (row.torch == bare or not known)]


def verdict(sm: int, row: model.TorchArch) -> str:
    """covered, below (the GPU is older than the list, or of a generation left out) or above."""
    held = catalog()
    known = held.row("capabilities", sm) if held else None
    runs = set(known.runs) if known else {sm}
    if runs & set(row.sm) or any(each <= sm for each in row.ptx):
        return "covered"
    listed = row.sm or row.ptx or (0,)
    return "above" if sm > max(listed) or (sm > min(listed) and living(sm)) else "below"


def living(sm: int) -> bool:
    """Whether the newest toolkits still compile for a capability."""
    held = catalog()
    known = held.row("capabilities", sm) if held else None
    return known is not None and not known.last_toolkit


def floor(major: str, cuda: str, windows: bool) -> str:
    """The lowest driver that runs the builds of a CUDA major."""
    held = catalog()
    if held is None:
        return ""
    row = held.row("cuda_majors", major) or held.row("cuda_majors", cuda)
    return "" if row is None else row.min_driver_windows if windows else row.min_driver_linux


def pair_wrong(package: str, version: str, torch: str) -> bool:
    """Whether a companion's release is known to belong to another torch."""
    held = catalog()
    row = held.row("companions", package, version) if held else None
    if row is None:
        return False
    wanted = row.torch or (f"=={row.pair}" if row.pair else "")
    if not wanted:
        return False
    try:
        return torch not in versions.Range(wanted)
    except ValueError:
        return False


class Choice(NamedTuple):
    """A torch build that would work."""

    torch: str
    build: str
    index_url: str
    pythons: tuple[str, ...]


def _ranked(held: loading.Catalog) -> dict[str, list[tuple[str, str, str, tuple[str, ...], tuple[int, ...], str, str]]]:
    """For each platform the CUDA builds, best first: torch, build, index, Pythons, capabilities served, driver floors."""
    lists = {(row.torch, row.build, row.platform): row for row in held.torch_archs if row.channel == "pip"}
    served = {row.sm: set(row.runs) for row in held.capabilities}
    rows = [row for row in held.torch_builds if row.channel == "pip" and row.build.startswith("cu")]
    rows.sort(key=lambda row: (versions.key(row.torch), row.default, int(row.build[2:])), reverse=True)
    made: dict[str, list[tuple[str, str, str, tuple[str, ...], tuple[int, ...], str, str]]] = {}
    for row in rows:
        codes = lists.get((row.torch, row.build, row.platform))
        if codes is None:
            continue
        cards = tuple(sm for sm, runs in served.items() if runs & set(codes.sm) or any(each <= sm for each in codes.ptx))
        major = held.row("cuda_majors", row.build[2:-1]) or held.row("cuda_majors", row.cuda)
        floors = (major.min_driver_linux, major.min_driver_windows) if major else ("", "")
        made.setdefault(row.platform, []).append((row.torch, row.build, row.index_url, row.pythons, cards, *floors))
    return made


def choose(cards: list[int], platform: str, driver: str, python: str, major: int = 0) -> Choice | None:
    """The newest CUDA build with code for all GPUs, which the driver runs, with a wheel for the Python; unknown ones
    bind nothing. `major`: the highest CUDA major, 0 = any."""
    held = catalog()
    if held is None:
        return None
    minor = ".".join(python.split(".")[:2])
    have = versions.key(driver) if driver else ()
    for torch, build, index, pythons, served, linux, windows in held.extra("doctor-wheels", _ranked, "1").get(platform, ()):
        if (minor and pythons and minor not in pythons) or (major and int(build[2:-1]) > major):
            continue
        if any(sm not in served for sm in cards):
            continue
        lowest = windows if platform.startswith("win") else linux
        if have and lowest and have < versions.key(lowest)[:len(have)]:
            continue
        return Choice(torch, build, index, tuple(pythons))
    return None


def fill(made: dict[str, str], cards: list[int], names: list[str], platform: str, driver: str) -> None:
    """Add the numbers that a fix needs: indexes, releases, branches, compilers, keys."""
    held = catalog()
    if held is None:
        return
    if platform.startswith("macos"):
        platform = "linux_x86_64"
    python = made.get("python", "")
    plain = driver if versions.is_dotted(driver) else ""
    best = choose(cards, platform, plain, python) or choose(cards, platform, "", python) or choose(cards, platform, "", "") \
        or choose([], platform, "", "")
    if best:
        made.update(plan_torch=best.torch, plan_build=best.build, best_index=best.index_url)
        gpu_only = choose(cards, platform, "", "") or best
        made["new_index"] = made["old_index"] = gpu_only.index_url
        told = made.get("served_major", "")
        bound = int(told) if told else int(made["build"][2:-1]) - 1 if made.get("build", "").startswith("cu") else 0
        fit = choose(cards, platform, plain, "") if plain else choose(cards, platform, "", "", bound)
        made["fit_index"] = fit.index_url if fit else best.index_url
    current = made.get("torch", "").split("+")[0]
    same = [row for row in wheels(made.get("torch") or made.get("want_torch", "")) if row.platform == platform
            and (row.build == made.get("build") or (not made.get("build") and row.default))]
    made["same_index"] = same[0].index_url if same else made.get("best_index", "")
    made["torch_pin"] = f"=={current}" if same and current else ""
    if current:
        pairs = [row for row in held.companions if row.package == "torchvision" and not row.yanked
                 and (row.pair == current or row.torch == f"=={current}")]
        made["torchvision_pin"] = f"=={pairs[-1].version}" if pairs and made["torch_pin"] else ""
    wanted = wheels(made.get("want_torch", ""))
    pythons = sorted({each for row in wanted if row.platform == platform for each in row.pythons}, key=versions.key)
    if pythons:
        made["good_pythons"], made["good_python"] = f"{pythons[0]} - {pythons[-1]}", pythons[-1]
    build = made.get("build", "")
    if build.startswith("cu"):
        made["cuda_major"] = build[2:-1]
        made["floor"] = floor(build[2:-1], f"{build[2:-1]}.{build[-1]}", platform.startswith("win"))
    products = [each for each in (gpu(name) for name in names) if each is not None]
    last = sorted((each.last_branch for each in products if each.last_branch), key=versions.key)
    made["legacy_branch"] = last[0] if last else ""
    date = held.date
    branches = [row for row in held.driver_branches if row.kind in ("LTSB", "PB") and (not row.end_of_life or row.end_of_life > date)
                and (not last or versions.key(row.branch) <= versions.key(last[0]))]
    if branches:
        made["plan_branch"] = max((row.branch for row in branches), key=versions.key)
    elif last:
        made["plan_branch"] = last[0]
    intel = sorted({row.torch for row in held.torch_builds if row.platform == "macos_x86_64"}, key=versions.key)
    made["mac_last"] = intel[-1] if intel else ""
    compilers = [row for row in held.host_compilers if row.compiler == "gcc" and row.toolkit == made.get("nvcc")]
    made["gcc_fit"] = compilers[0].last if compilers else made.get("gcc_limit", "")
    key = held.row("keys", made.get("os", ""), "vendor")
    if key is not None:
        made["keyring_url"] = key.keyring_url
    system = held.row("systems", made.get("os", ""))
    if system is not None:
        made["repo_url"] = system.repository_x86_64
    jetpacks = [row for row in held.jetpacks if made.get("l4t") and row.l4t.lstrip("r").startswith(made["l4t"].lower().lstrip("r")[:2])]
    if jetpacks:
        made["jetson_index"] = jetpacks[-1].index_url
