"""NVIDIA's redistributable manifests, read: `redistrib_X.Y.Z.json` of the CUDA toolkit and of cuDNN. Pure.

A manifest looks like (shortened)::

    {"release_date": "2025-03-06", "release_label": "12.8.1", "release_product": "cuda",
     "cuda_cudart": {"name": "CUDA Runtime (cudart)", "version": "12.8.90", "linux-x86_64": {...}},
     "nvidia_driver": {"name": "NVIDIA Linux Driver", "version": "570.124.06", "linux-x86_64": {...}}}

cuDNN's has one product with `"cuda_variant": ["11", "12"]` and its platforms below, each with `cuda11`, `cuda12`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from provisioner.catalog.cover import floor
from provisioner.catalog.model import Component, Cudnn, Toolkit
from provisioner.versions import minor

if TYPE_CHECKING:
    from provisioner.catalog.load import Catalog

_PLATFORMS = {"linux-x86_64": "linux_x86_64", "linux-sbsa": "linux_aarch64", "windows-x86_64": "win_amd64"}


def versions(page: str) -> list[str]:
    """Releases that a folder's page lists, as the file names say them, each once."""
    return list(dict.fromkeys(re.findall(r"redistrib_(\d+(?:\.\d+){1,3})\.json", page)))


def manifest(text: str, product: str, version: str) -> dict[str, Any]:
    """A manifest as JSON. Raises ValueError when it is not that product's and that release's."""
    read = json.loads(text)
    if not isinstance(read, dict) or read.get("release_label") != version:
        raise ValueError(f"not the manifest of {product} {version}")
    if read.get("release_product", product) != product:
        raise ValueError(f"a manifest of {read.get('release_product')!r}, not of {product}")
    return read


def _date(read: dict[str, Any]) -> str:
    date = str(read.get("release_date") or "")
    if not re.fullmatch(r"20\d\d-\d\d-\d\d", date):
        raise ValueError(f"the release date {date!r} is none")
    return date


def toolkit(text: str, version: str, source: str, today: str) -> tuple[Toolkit, list[Component]]:
    """A toolkit's row and those of its components. Raises ValueError."""
    read = manifest(text, "cuda", version)
    parts = {name: str(part["version"]) for name, part in read.items() if isinstance(part, dict) and "version" in part}
    if "cuda_nvcc" not in parts and "cuda_cudart" not in parts:
        raise ValueError("a toolkit without compiler and runtime")
    for name, found in parts.items():
        if not re.fullmatch(r"[a-z0-9_]+", name) or not re.fullmatch(r"\d+(\.\d+)+", found):
            raise ValueError(f"the component {name!r} {found!r} is none")
    driver = parts.get("nvidia_driver", "")
    if not driver:
        raise ValueError("it names no driver, and so no driver branch")
    update = int(version.split(".")[2]) if version.count(".") == 2 else 0
    label = f"{minor(version)} Update {update}" if update else f"{minor(version)} GA"
    row = Toolkit(version, label, _date(read), driver.split(".", maxsplit=1)[0], None, None, driver, None, source, today, "measured")
    return row, [Component(version, name, found, source, today, "measured") for name, found in sorted(parts.items())]


def cudnn(text: str, version: str, catalog: Catalog, source: str, today: str) -> list[Cudnn]:
    """Rows of a cuDNN release, one a CUDA. What a manifest does not say (the GPUs it serves) is left open, the driver is the
    floor of that CUDA. Raises ValueError."""
    read = manifest(text, "cudnn", version)
    part = read.get("cudnn")
    if not isinstance(part, dict) or not re.fullmatch(r"\d+(\.\d+){2,3}", str(part.get("version"))):
        raise ValueError("a manifest of cuDNN without its version")
    cudas = [str(each) for each in part.get("cuda_variant") or ()]
    if not cudas or not all(re.fullmatch(r"\d+", each) for each in cudas):
        raise ValueError("it does not say for which CUDA it is")
    rows = []
    for cuda in cudas:
        platforms = sorted(name for folder, name in _PLATFORMS.items() if isinstance(part.get(folder), dict)
                           and (f"cuda{cuda}" in part[folder] or "relative_path" in part[folder]))
        rows.append(Cudnn(str(part["version"]), cuda, _date(read), floor(catalog, cuda) or None, None, None, None, tuple(platforms),
                          False, source, today, "measured"))
    return rows
