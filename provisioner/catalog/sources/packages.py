"""The package list of a Debian repository (`Packages`), read: which drivers and which NCCL it offers. Pure.

Paragraphs of `Field: value` lines, parted by empty lines::

    Package: cuda-drivers-570
    Version: 570.124.06-0ubuntu1
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from provisioner.versions import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DRIVER = re.compile(r"(?:cuda-drivers|nvidia-driver|nvidia-open)(?:-\d{3})?(?:-server)?(?:-open)?")
_VERSION = re.compile(r"(?:\d+:)?(\d{3}\.\d{2,3}(?:\.\d{2})?)-")
_NCCL = re.compile(r"(\d+\.\d+\.\d+)-\d+\+cuda(\d+\.\d+)")


def entries(text: str) -> Iterator[tuple[str, str]]:
    """(package, version) of every paragraph. Raises ValueError when it is no package list."""
    name = version = ""
    seen = False
    for line in (*text.splitlines(), ""):
        field, colon, value = line.partition(":")
        if not line.strip():
            if name and version:
                seen = True
                yield name, version
            name = version = ""
        elif line[0] in " \t":
            continue
        elif not colon or not re.fullmatch(r"[A-Za-z0-9-]+", field):
            raise ValueError(f"not a package list: {line[:60]!r}")
        elif field == "Package":
            name = value.strip()
        elif field == "Version":
            version = value.strip()
    if not seen:
        raise ValueError("a package list without packages")


def drivers(packages: Iterable[tuple[str, str]]) -> list[str]:
    """Driver releases among them, oldest first."""
    found = {matched[1] for name, version in packages if _DRIVER.fullmatch(name) and (matched := _VERSION.match(version))}
    return sorted(found, key=number)


def nccl(packages: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """NCCL releases among them, each with the CUDA versions it is built for."""
    found: dict[str, set[str]] = {}
    for name, version in packages:
        if name == "libnccl2" and (matched := _NCCL.fullmatch(version)):
            found.setdefault(matched[1], set()).add(matched[2])
    return {version: sorted(cudas, key=number) for version, cudas in sorted(found.items(), key=lambda each: number(each[0]))}
