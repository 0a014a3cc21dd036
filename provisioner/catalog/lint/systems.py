"""Questions on operating systems, repositories, offers and package names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from provisioner.catalog.lint.engine import question
from provisioner.versions import minor, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provisioner.catalog.load import Catalog

    Said = Iterator[tuple[str, Any, str]]

_PLACES = {"branch", "version", "cuda_dash", "cuda", "cuda_major", "kernel", "py"}


@question("system-form")
def system_form(catalog: Catalog) -> Said:
    """Are a system's versions and words well formed, and its own Python among its Pythons?"""
    for row in catalog.systems:
        for field in ("glibc", "gcc", "kernel"):
            value = getattr(row, field)
            if value and not re.fullmatch(r"\d+(\.\d+)*", value):
                yield "systems", row, f"{field} {value!r}"
        if row.python and row.python not in row.pythons:
            yield "systems", row, f"its python3 is {row.python}, which is not among its Pythons"
        if list(row.pythons) != sorted(row.pythons, key=number):
            yield "systems", row, f"Pythons {row.pythons} are not in order"
        if not set(row.arches) <= {"x86_64", "aarch64"} or not row.arches:
            yield "systems", row, f"architectures {row.arches}"
        if row.package_manager not in ("apt", "dnf", "yum", "tdnf", "zypper", "pacman", "none"):
            yield "systems", row, f"{row.package_manager!r} is no package manager"


@question("system-repository")
def system_repository(catalog: Catalog) -> Said:
    """Is a system's repository the folder of its own name, and only for an architecture that it has?"""
    for row in catalog.systems:
        for arch, folders in (("x86_64", ("x86_64",)), ("aarch64", ("sbsa", "aarch64", "arm64"))):
            url = getattr(row, f"repository_{arch}")
            if not url:
                continue
            parts = url.rstrip("/").split("/")
            if parts[-1] not in folders or parts[-2] != row.id:
                yield "systems", row, f"repository_{arch} {url} is another system's"
            if arch not in row.arches:
                yield "systems", row, f"it has a repository for {arch}, but does not exist for it"


@question("system-alias")
def system_alias(catalog: Catalog) -> Said:
    """Does every name of a system mean just one?"""
    seen: dict[str, str] = {}
    for row in catalog.systems:
        for name in (row.id, *row.aliases):
            folded = name.lower().replace("-", "").replace(".", "").replace("_", "").replace(" ", "")
            if seen.setdefault(folded, row.id) != row.id:
                yield "systems", row, f"{name!r} is also a name of {seen[folded]}"


@question("key-form")
def key_form(catalog: Catalog) -> Said:
    """Are fingerprints and digests whole, and is a key's file named after its fingerprint?"""
    for row in catalog.keys:
        if row.fingerprint and not re.fullmatch(r"[0-9A-F]{40}", row.fingerprint):
            yield "keys", row, f"the fingerprint {row.fingerprint!r} has not 40 hexadecimal digits"
        named = re.fullmatch(r"([0-9A-Fa-f]{8})\.pub", row.file)
        if row.fingerprint and named and not row.fingerprint.endswith(named[1].upper()):
            yield "keys", row, f"the file {row.file} is that of another key"
        for field in ("keyring_sha256", "keyring_sha256_aarch64"):
            value = getattr(row, field)
            if value and not re.fullmatch(r"[0-9a-f]{64}", value):
                yield "keys", row, f"{field} has not 64 hexadecimal digits"


@question("key-address")
def key_address(catalog: Catalog) -> Said:
    """Does a vendor key come from the folder of its own system?"""
    systems = {row.id for row in catalog.systems}
    for row in catalog.keys:
        if row.os not in systems and row.os not in ("", "*"):
            yield "keys", row, f"there is no system {row.os}"
        folder = re.search(r"/repos/([^/]+)/", row.keyring_url)
        if folder and row.origin == "vendor" and folder[1] != row.os:
            yield "keys", row, f"{row.keyring_url} is the folder of {folder[1]}"


@question("key-missing")
def key_missing(catalog: Catalog) -> Said:
    """Is there a key for every system with a vendor repository?"""
    have = {row.os for row in catalog.keys if row.origin == "vendor"}
    for row in catalog.systems:
        if (row.repository_x86_64 or row.repository_aarch64) and row.id not in have and row.id not in ("windows",):
            yield "systems", row, "it has a vendor repository, but no key for it"


@question("offer-system")
def offer_system(catalog: Catalog) -> Said:
    """Is everything offered for a system and an architecture that exist, by the vendor only where it has a repository?"""
    systems = {row.id: row for row in catalog.systems}
    for table in ("driver_offers", "toolkit_offers"):
        for row in getattr(catalog, table):
            system = systems.get(row.os)
            if system is None:
                yield table, row, f"there is no system {row.os}"
            elif row.arch not in system.arches:
                yield table, row, f"{row.os} does not exist for {row.arch}"
            elif (table == "toolkit_offers" or row.origin == "vendor") and system.family != "windows" \
                    and not getattr(system, f"repository_{row.arch}"):
                yield table, row, f"the vendor has no repository for {row.os} on {row.arch}"


@question("offer-branches")
def offer_branches(catalog: Catalog) -> Said:
    """Are offered branches, flavours and releases ones that exist?"""
    branches = {row.branch: row for row in catalog.driver_branches}
    releases = {row.version: row.branch for row in catalog.driver_releases}
    for row in catalog.driver_offers:
        if row.origin not in ("vendor", "distro", "runfile"):
            yield "driver_offers", row, f"{row.origin!r} is no origin"
        for branch in (row.first, row.last, *row.except_branches):
            if branch and branch not in branches:
                yield "driver_offers", row, f"there is no driver branch {branch}"
        within = [each for name, each in branches.items() if number(row.first) <= number(name)
                  and (not row.last or number(name) <= number(row.last)) and name not in row.except_branches]
        for flavour in row.flavours:
            if not any(flavour in each.flavours for each in within):
                yield "driver_offers", row, f"none of its branches has {flavour} modules"
        for release in row.releases:
            branch = releases.get(release, "")
            if not branch or number(branch) < number(row.first) or (row.last and number(branch) > number(row.last)):
                yield "driver_offers", row, f"the release {release} is {'of another branch' if branch else 'unknown'}"


@question("offer-toolkits")
def offer_toolkits(catalog: Catalog) -> Said:
    """Are offered toolkits ones that exist?"""
    known = {minor(row.version) for row in catalog.toolkits} | {row.version for row in catalog.toolkits}
    for row in catalog.toolkit_offers:
        for cuda in (row.first, row.last, *row.missing):
            if cuda and cuda not in known and number(cuda) >= (10,):
                yield "toolkit_offers", row, f"there is no toolkit {cuda}"


@question("package-name")
def package_name(catalog: Catalog) -> Said:
    """Do package names belong to a family and a system that exist, with placeholders that get filled?"""
    families = {row.family for row in catalog.systems}
    systems = {row.id: row for row in catalog.systems}
    for row in catalog.package_names:
        if row.family not in families:
            yield "package_names", row, f"there is no family {row.family}"
        if row.os and (row.os not in systems or systems[row.os].family != row.family):
            yield "package_names", row, f"{row.os} is no system of the family {row.family}"
        if row.origin not in ("vendor", "distro", "runfile"):
            yield "package_names", row, f"{row.origin!r} is no origin"
        unknown = set(re.findall(r"\{([^}]*)\}", row.pattern)) - _PLACES
        if unknown or not re.fullmatch(r"[A-Za-z0-9.+_:*={}@/ -]*", row.pattern):
            yield "package_names", row, f"the pattern {row.pattern!r} cannot be filled"


@question("package-missing")
def package_missing(catalog: Catalog) -> Said:
    """Does every family with a vendor repository have names for drivers, toolkit and headers?"""
    have = {(row.family, row.thing) for row in catalog.package_names if row.origin == "vendor"}
    for row in catalog.systems:
        if not (row.repository_x86_64 or row.repository_aarch64) or row.family == "windows":
            continue
        wanted = [("toolkit",), ("driver-open", "driver-proprietary"), ("headers",)]
        for things in wanted[:1] if row.id.startswith("wsl") else wanted:
            if not any((row.family, thing) in have for thing in things):
                yield "systems", row, f"the family {row.family} has no package name for {' or '.join(things)}"


@question("jetpack")
def jetpack(catalog: Catalog) -> Said:
    """Does a JetPack run on systems, GPUs and torch releases that exist?"""
    systems = {row.id for row in catalog.systems}
    releases = {row.version for row in catalog.torch_releases}
    for row in catalog.jetpacks:
        if row.os not in systems:
            yield "jetpacks", row, f"there is no system {row.os}"
        for sm in row.sm:
            capability = catalog.row("capabilities", sm)
            if capability is None or not capability.integrated:
                yield "jetpacks", row, f"sm_{sm} is no Jetson's"
        for torch in row.torch:
            if torch not in releases:
                yield "jetpacks", row, f"there is no torch {torch}"
        if not re.fullmatch(r"3\.\d+", row.python) or not re.fullmatch(r"\d+\.\d+", row.cuda):
            yield "jetpacks", row, f"Python {row.python!r}, CUDA {row.cuda!r}"
