"""Reading the catalogue: shipped tables, the user's overlay, and the compiled form that makes a start cheap.

The compiled form is a marshal of plain tuples in the user's cache. It is used only when the names, sizes and change times of
all files it was made from are what they were, so an edit is never answered from before. Racing processes each write a whole
file of their own and move it into place; a cache that is damaged or cannot be written costs time, never correctness.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from provisioner import resources
from provisioner.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from provisioner.catalog import model

_FORMAT = 2
Signature = tuple[tuple[str, int, int], ...]


def _files(folder: str) -> list[str]:
    """Every data file below `folder`, in a fixed order."""
    found: list[str] = []
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir():
                        pending.append(entry.path)
                    elif entry.name.endswith((".yaml", ".csv")):
                        found.append(entry.path)
        except OSError:
            continue
    return sorted(found)


def overlay_folder() -> str:
    """Where a user's own rows live: files of the same shape as the shipped ones."""
    return os.path.join(resources.user_data(), "catalog.d")


def signature() -> Signature:
    """Names, sizes and change times of all that decides what `load` gives. Cheap: no file is read."""
    here = os.path.dirname(os.path.abspath(__file__))
    told = []
    for path in [*_files(resources.compat_data()), *_files(overlay_folder()), os.path.join(here, "model.py"),
                 os.path.join(here, "load.py"), os.path.join(here, "compile.py")]:
        try:
            state = os.stat(path)
        except OSError:
            continue
        told.append((path, state.st_size, state.st_mtime_ns))
    return tuple(told)


class Catalog:
    """The tables, by name: each a tuple of rows, made when first asked for.

    version, date: the dataset's. digest: over every byte of its files and the overlay's."""

    torch_releases: tuple[model.TorchRelease, ...]
    torch_builds: tuple[model.TorchBuild, ...]
    torch_archs: tuple[model.TorchArch, ...]
    torch_pins: tuple[model.TorchPin, ...]
    companions: tuple[model.Companion, ...]
    companion_archs: tuple[model.CompanionArch, ...]
    toolkits: tuple[model.Toolkit, ...]
    cuda_majors: tuple[model.CudaMajor, ...]
    forward_compat: tuple[model.ForwardCompat, ...]
    capabilities: tuple[model.Capability, ...]
    architectures: tuple[model.Architecture, ...]
    gpus: tuple[model.Gpu, ...]
    gpu_aliases: tuple[model.GpuAlias, ...]
    driver_branches: tuple[model.DriverBranch, ...]
    driver_releases: tuple[model.DriverRelease, ...]
    components: tuple[model.Component, ...]
    host_compilers: tuple[model.HostCompiler, ...]
    cudnn: tuple[model.Cudnn, ...]
    nccl: tuple[model.Nccl, ...]
    systems: tuple[model.System, ...]
    keys: tuple[model.RepositoryKey, ...]
    driver_offers: tuple[model.DriverOffer, ...]
    toolkit_offers: tuple[model.ToolkitOffer, ...]
    package_names: tuple[model.PackageName, ...]
    jetpacks: tuple[model.JetPack, ...]
    rules: tuple[model.Rule, ...]
    sources: tuple[model.Source, ...]

    def __init__(self, compiled: dict[str, Any]) -> None:
        self._compiled = compiled
        self.version: str = compiled["version"]
        self.date: str = compiled["date"]
        self.digest: str = compiled["digest"]
        self.signature: Signature = compiled["signature"]
        self._indexes: dict[str, dict[tuple[object, ...], Any]] = {}
        self._overlaid: dict[str, frozenset[tuple[object, ...]]] = compiled["overlaid"]

    def __getattr__(self, name: str) -> Any:
        """A table, made into rows at its first use."""
        raw = self.__dict__.get("_compiled", {}).get("tables", {}).get(name)
        if raw is None:
            raise AttributeError(name)
        from provisioner.catalog.model import TABLES

        make = TABLES[name][0]._make  # type: ignore[attr-defined]
        rows = tuple([make(row) for row in raw])
        setattr(self, name, rows)
        return rows

    def row(self, table: str, *key: object) -> Any:
        """The row of `table` with that key, or None."""
        index = self._indexes.get(table)
        if index is None:
            from provisioner.catalog.model import TABLES

            fields = TABLES[table][1]
            index = {tuple(getattr(row, field) for field in fields): row for row in getattr(self, table)}
            self._indexes[table] = index
        return index.get(key)

    def from_overlay(self, table: str, row: Any) -> bool:
        """Whether that row came from the user's overlay."""
        keys = self._overlaid.get(table)
        if not keys:
            return False
        from provisioner.catalog.model import TABLES

        return tuple(getattr(row, field) for field in TABLES[table][1]) in keys

    @property
    def overlaid(self) -> bool:
        """Whether any row comes from a user's overlay."""
        return any(self._overlaid.values())

    def source(self, text: str) -> model.Source | None:
        """The source that a row's `source` field names."""
        found: model.Source | None = self.row("sources", text.partition(":")[0].strip())
        return found

    def cite(self, row: Any) -> str:
        """A row's source for people: title, address, detail."""
        identifier, _, detail = str(row.source).partition(":")
        source = self.row("sources", identifier.strip())
        if source is None:
            return str(row.source)
        told = f"{source.title} <{source.where}>" if source.where.startswith("http") else f"{source.title} ({source.where})"
        return f"{told}: {detail.strip()}" if detail.strip() else told

    def gpu(self, text: str) -> list[model.Gpu]:
        """The products that `text` can mean; see `provisioner.catalog.names`. Raises Problem with the nearest known ones."""
        from provisioner.catalog.names import find_gpu

        return find_gpu(self, text)

    def system(self, text: str) -> model.System:
        """The operating system of that id or alias. Raises Problem with the nearest known ones."""
        from provisioner.catalog.names import find_system

        return find_system(self, text)

    def extra(self, name: str, builder: Callable[[Catalog], Any], fingerprint: str) -> Any:
        """A table derived from the catalogue, kept beside the compiled form: `builder(self)` has to give something marshal
        can hold. `fingerprint` changes when the builder does."""
        found = self.__dict__.setdefault("_extras", {}).get(name)
        if found is not None:
            return found
        place = _place(f"extra-{name}")
        key = (self.signature, fingerprint, sys.version)
        value = _read(place, key)
        if value is None:
            value = builder(self)
            _write(place, key, value)
        self.__dict__["_extras"][name] = value
        return value


def _place(name: str) -> str:
    return os.path.join(resources.user_cache(), f"{name}.{sys.implementation.cache_tag}.bin")


def _read(place: str, key: object) -> Any:
    import marshal

    try:
        with open(place, "rb") as stream:
            stored = marshal.loads(stream.read())
        return stored[2] if stored[0] == _FORMAT and stored[1] == key else None
    except (OSError, EOFError, ValueError, TypeError, IndexError, KeyError):
        return None


def _write(place: str, key: object, value: object) -> None:
    import marshal

    temporary = f"{place}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(temporary, "wb") as stream:
            stream.write(marshal.dumps((_FORMAT, key, value)))
        os.replace(temporary, place)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass


_loaded: tuple[Signature, Catalog] | None = None


def load(overlays: bool = True) -> Catalog:
    """The catalogue, with the user's overlay unless `overlays` is false.

    Raises Problem (status 2) naming file and line when a file is not of the right shape."""
    global _loaded
    now = signature()
    if overlays and _loaded and _loaded[0] == now:
        return _loaded[1]
    key = (now, sys.version)
    compiled = _read(_place("catalog"), key) if overlays else None
    if compiled is None:
        from provisioner.catalog.compile import compile_tables

        compiled = compile_tables(resources.compat_data(), overlay_folder() if overlays else None)
        compiled["signature"] = now
        if overlays and signature() == now:  # a file that changed meanwhile would be answered from before
            _write(_place("catalog"), key, compiled)
    catalog = Catalog(compiled)
    if overlays:
        _loaded = (now, catalog)
    return catalog


__all__ = ["Catalog", "Problem", "Signature", "load", "overlay_folder", "signature"]
