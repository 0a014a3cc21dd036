"""Reading the catalogue: shipped tables, the user's overlay, and the compiled form that makes a start cheap.

The compiled form holds each table as marshalled plain tuples, in the user's cache. When it may be used:

- at once, when names, sizes, change times and inodes of all files it was made from are what they were (`signature`). A file
  changed within the last two seconds could change again without its times telling, so its content is part of its signature;
- else, when the content of all those files is what it was (a fresh checkout, a `touch`): they are read and hashed, not parsed;
- never, when its checksum is wrong, or it was written by another Python or another provision.

Racing processes each write a whole file of their own, under a name nobody else has, and move it into place; a cache that is
damaged or cannot be written costs time, never correctness.
"""

# pathlib costs more to import than the catalogue takes to load

from __future__ import annotations

import os
import sys

from provisioner import __version__, resources
from provisioner.errors import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from provisioner.catalog import model

_FORMAT = 3
_RECENT = 2_000_000_000  # nanoseconds; the coarsest clock of a file system in use (FAT) ticks every two seconds
#: name, size, time of the last change of content, of the last change of anything, inode, digest of the content if recent
Signature = tuple[tuple[str, int, int, int, int, str], ...]


def _files(folder: str) -> list[str]:
    """Every data file below `folder`, in a fixed order; links to folders are not followed."""
    found: list[str] = []
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.name.endswith((".yaml", ".csv")) and not entry.name.startswith(".") and entry.is_file():
                        found.append(entry.path)
        except OSError:
            continue
    return sorted(found)


def overlay_folder() -> str:
    """Where a user's own rows live: files of the same shape as the shipped ones."""
    return os.path.join(resources.user_data(), "catalog.d")


def _inputs(overlays: bool = True) -> list[str]:
    """Every file that decides what `load` gives."""
    here = os.path.dirname(os.path.abspath(__file__))
    return [*_files(resources.compat_data()), *(_files(overlay_folder()) if overlays else ()),
            *(os.path.join(here, name) for name in ("model.py", "load.py", "compile.py"))]


def signature(overlays: bool = True) -> Signature:
    """What all files that decide `load` look like from outside. Equal signatures mean equal catalogues; cheap, as a file is read
    only while it is new."""
    import time

    told = []
    recent = time.time_ns() - _RECENT
    for path in _inputs(overlays):
        try:
            state = os.stat(path)
            changed = max(state.st_mtime_ns, state.st_ctime_ns)
            content = "" if changed < recent else _digest([path])
        except OSError:
            continue
        told.append((path, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, content))
    return tuple(told)


def _digest(paths: list[str]) -> str:
    """Hash of the names and contents of files. Raises OSError."""
    import hashlib

    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as stream:
            text = stream.read()
        digest.update(f"{path}\0{len(text)}\0".encode("utf-8", "surrogateescape") + text)
    return digest.hexdigest()


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
        self._code: str = compiled["code"]
        self._indexes: dict[str, dict[tuple[object, ...], Any]] = {}
        self._overlaid: dict[str, frozenset[tuple[object, ...]]] = compiled["overlaid"]

    def __getattr__(self, name: str) -> Any:
        """A table, made into rows at its first use."""
        stored = self.__dict__.get("_compiled", {}).get("tables", {}).get(name)
        if stored is None:
            raise AttributeError(name)
        import marshal

        from provisioner.catalog.model import TABLES

        make = TABLES[name][0]._make  # type: ignore[attr-defined]
        rows = tuple([make(row) for row in marshal.loads(stored)])
        setattr(self, name, rows)
        return rows

    def replaced(self, **tables: Any) -> Catalog:
        """The same catalogue with other rows in some tables: what a linter or an update looks at before anything is kept.

        Its digest stays that of the files; nothing derived from it is cached."""
        import marshal

        made = Catalog({**self._compiled, "digest": "", "tables": {
            **self._compiled["tables"], **{name: marshal.dumps([tuple(row) for row in rows]) for name, rows in tables.items()}}})
        made.digest = self.digest
        return made

    def with_rows(self, rows: dict[str, list[Any]]) -> Catalog:
        """The same catalogue with more rows, which replace those of the same key and count as an overlay's."""
        from provisioner.catalog.model import TABLES

        tables, overlaid = {}, dict(self._overlaid)
        for table, more in rows.items():
            fields = TABLES[table][1]
            held = {tuple(getattr(row, field) for field in fields): row for row in getattr(self, table)}
            added = {tuple(getattr(row, field) for field in fields): row for row in more}
            tables[table] = list({**held, **added}.values())
            overlaid[table] = frozenset(overlaid.get(table, frozenset()) | set(added))
        made = self.replaced(**tables)
        made._overlaid = overlaid
        return made

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
        can hold. It is built anew when the catalogue, the file the builder is in, or `fingerprint` changes."""
        found = self.__dict__.setdefault("_extras", {}).get(name)
        if found is not None:
            return found
        cached = bool(self._compiled["digest"])
        place = _place(f"extra-{name}")
        key = (self.digest, self._code, fingerprint, _builder(builder), *_SELF)
        value = _read(place, key) if cached else None
        if value is None:
            value = builder(self)
            if cached:
                _write(place, key, value)
        self.__dict__["_extras"][name] = value
        return value


_SELF = (__version__, sys.version)


def _builder(builder: Callable[[Catalog], Any]) -> tuple[object, ...]:
    """Which version of a builder's file this is."""
    path = builder.__code__.co_filename if hasattr(builder, "__code__") else ""
    try:
        state = os.stat(path)
    except OSError:
        return (path,)
    return (path, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


def _place(name: str) -> str:
    """A file of the cache. Two installations of provision do not push each other out."""
    from binascii import crc32

    whose = crc32(resources.compat_data().encode("utf-8", "surrogateescape"))
    return os.path.join(resources.user_cache(), f"{name}.{whose:08x}.{sys.implementation.cache_tag}.bin")


def _stored(place: str) -> tuple[Any, Any] | None:
    """The key and the value in a cache file; None when there is none, or not a whole one."""
    import marshal
    from binascii import crc32

    try:
        with open(place, "rb") as stream:
            text = stream.read()
        if len(text) < 8 or crc32(memoryview(text)[4:]) != int.from_bytes(text[:4], "little") or text[4] != _FORMAT:
            return None
        key, value = marshal.loads(memoryview(text)[8:])
    except (OSError, EOFError, ValueError, TypeError):
        return None
    return key, value


def _read(place: str, key: object) -> Any:
    """The value that was stored under `key`, or None."""
    found = _stored(place)
    return found[1] if found is not None and found[0] == key else None


def _write(place: str, key: object, value: object) -> None:
    """Store a value; where nothing can be written, nothing is."""
    import marshal
    from binascii import crc32

    body = bytes((_FORMAT, 0, 0, 0)) + marshal.dumps((key, value))  # type: ignore[arg-type]
    resources.keep(place, crc32(body).to_bytes(4, "little") + body)


_loaded: dict[bool, tuple[Signature, Catalog]] = {}


def load(overlays: bool = True) -> Catalog:
    """The catalogue, with the user's overlay unless `overlays` is false.

    Raises Problem (status 2) naming file and line when a file is not of the right shape."""
    now = signature(overlays)
    held = _loaded.get(overlays)
    if held is not None and held[0] == now:
        return held[1]
    catalog = Catalog(_compiled(overlays, now))
    _loaded[overlays] = (now, catalog)
    return catalog


def _compiled(overlays: bool, now: Signature) -> dict[str, Any]:
    place = _place("catalog" if overlays else "catalog-shipped")
    found = _stored(place)
    if found is not None and not (isinstance(found[0], tuple) and len(found[0]) == 4 and found[0][2:] == _SELF):
        found = None
    if found is not None and found[0][0] == now:
        return found[1]  # type: ignore[no-any-return]
    for _ in range(5):  # a file that changes while it is read is read again
        try:
            content = _digest(_inputs(overlays))
        except OSError:  # gone or forbidden: the compiler says which
            content = ""
        if found is not None and content and found[0][1] == content:
            compiled = found[1]
        else:
            from provisioner.catalog.compile import compile_tables

            compiled = compile_tables(resources.compat_data(), overlay_folder() if overlays else None)
        after = signature(overlays)
        if after == now:
            if content:
                _write(place, (now, content, *_SELF), compiled)
            break
        now = after
    return compiled  # type: ignore[no-any-return]


__all__ = ["Catalog", "Problem", "Signature", "load", "overlay_folder", "signature"]
