"""What a package index says, read: file listings, wheel names, METADATA. Pure: whoever fetches hands the text in.

A listing is the answer of the simple repository API, as JSON (PEP 691) or HTML (PEP 503). Wheel names follow the binary
distribution format: `name-version[-build]-python-abi-platform.whl`, each tag possibly several joined by dots.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

#: Systems as environment markers see them: platform of the catalogue -> marker values.
MARKERS: dict[str, dict[str, str]] = {
    name: {"platform_system": system, "sys_platform": short, "platform_machine": machine, "os_name": os_name}
    for name, system, short, machine, os_name in (
        ("linux_x86_64", "Linux", "linux", "x86_64", "posix"),
        ("linux_aarch64", "Linux", "linux", "aarch64", "posix"),
        ("win_amd64", "Windows", "win32", "AMD64", "nt"),
        ("win_arm64", "Windows", "win32", "ARM64", "nt"),
        ("macos_x86_64", "Darwin", "darwin", "x86_64", "posix"),
        ("macos_arm64", "Darwin", "darwin", "arm64", "posix"),
    )
}

#: glibc that the named manylinux profiles stand for (PEP 513, 571, 599).
_PROFILES = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}

#: The newest CPython minor that a stable-ABI wheel is taken to serve where Requires-Python names no end.
_NEWEST_PYTHON = 15


class IndexFile(NamedTuple):
    """A file in a listing."""

    filename: str
    url: str
    size: int  # bytes; 0 when the listing does not say
    uploaded: str  # ISO date; "" when the listing does not say
    requires_python: str
    yanked: bool


class Wheel(NamedTuple):
    """A wheel's name taken apart."""

    name: str  # as written, not normalised
    version: str
    build: str  # build number, "" when there is none
    pythons: tuple[str, ...]
    abis: tuple[str, ...]
    platforms: tuple[str, ...]


class Requirement(NamedTuple):
    """A line of Requires-Dist."""

    name: str  # lower case
    extras: tuple[str, ...]  # sorted
    specifier: str  # its parts sorted and joined by commas
    marker: str

    @property
    def label(self) -> str:
        """Name with extras: "cuda-toolkit[cublas,cudart]"."""
        return f"{self.name}[{','.join(self.extras)}]" if self.extras else self.name


def listing(text: str, content_type: str = "", base: str = "") -> list[IndexFile]:
    """The files of a listing; `base` is the page's own address, for relative links.

    Raises ValueError when the text has neither form."""
    if "json" in content_type or text.lstrip()[:1] == "{":
        return _listing_json(text, base)
    if "<" not in text:
        raise ValueError("neither a JSON nor an HTML listing")
    return _listing_html(text, base)


def _listing_json(text: str, base: str) -> list[IndexFile]:
    import json
    from urllib.parse import urljoin

    answer = json.loads(text)
    if not isinstance(answer, dict) or not isinstance(answer.get("files"), list):
        raise ValueError("a JSON listing without files")
    found = []
    for entry in answer["files"]:
        name, url = entry.get("filename"), entry.get("url")
        if not isinstance(name, str) or not isinstance(url, str):
            raise ValueError("a file without a name or an address")
        size, uploaded = int(entry.get("size") or 0), str(entry.get("upload-time") or "")[:10]
        needs, yanked = str(entry.get("requires-python") or ""), bool(entry.get("yanked"))
        found.append(IndexFile(name, urljoin(base, url), size, uploaded, needs, yanked))
    return found


def _listing_html(text: str, base: str) -> list[IndexFile]:
    from html.parser import HTMLParser
    from urllib.parse import unquote, urljoin, urlsplit

    found: list[IndexFile] = []

    class Anchors(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            target = given.get("href")
            if tag != "a" or not target:
                return
            url = urljoin(base, target.split("#", 1)[0])
            name = unquote(urlsplit(url).path.rsplit("/", 1)[-1])
            if name.endswith((".whl", ".tar.gz", ".zip")):
                needs = given.get("data-requires-python") or ""
                found.append(IndexFile(name, url, 0, "", needs, "data-yanked" in given))

    Anchors().feed(text)
    return found


def wheel(filename: str) -> Wheel | None:
    """The name taken apart, None when it is no wheel's."""
    if not filename.endswith(".whl"):
        return None
    parts = filename[:-4].split("-")
    if len(parts) not in (5, 6):
        return None
    pythons, abis, platforms = (tuple(part.split(".")) for part in parts[-3:])
    return Wheel(parts[0], parts[1], parts[2] if len(parts) == 6 else "", pythons, abis, platforms)


def version_of(file: IndexFile) -> str | None:
    """Version in a wheel's or source archive's name."""
    if (named := wheel(file.filename)) is not None:
        return named.version
    stem = re.sub(r"\.(tar\.gz|tar\.bz2|zip)$", "", file.filename)
    return stem.rsplit("-", 1)[1] if stem != file.filename and "-" in stem else None


def platform(tag: str) -> tuple[str, str] | None:
    """A platform tag as (platform of the catalogue, glibc): "manylinux_2_28_x86_64" -> ("linux_x86_64", "2.28").

    glibc is "" where the tag sets none. None for "any" and for systems the catalogue does not hold."""
    if (matched := re.fullmatch(r"manylinux_(\d+)_(\d+)_(x86_64|aarch64)", tag)) is not None:
        return f"linux_{matched[3]}", f"{matched[1]}.{matched[2]}"
    if (matched := re.fullmatch(r"(manylinux1|manylinux2010|manylinux2014|linux)_(x86_64|aarch64)", tag)) is not None:
        return f"linux_{matched[2]}", _PROFILES.get(matched[1], "")
    if (matched := re.fullmatch(r"macosx_\d+_\d+_(x86_64|arm64)", tag)) is not None:
        return f"macos_{matched[1]}", ""
    return (tag, "") if tag in ("win_amd64", "win_arm64") else None


def platforms(wheels: Iterable[Wheel]) -> dict[str, str]:
    """Platforms with a wheel, each with the lowest glibc among its tags; a wheel for "any" serves every platform."""
    from provisioner.versions import key

    found: dict[str, str] = {}
    for one in wheels:
        for tag in one.platforms:
            if tag == "any":
                for name in MARKERS:
                    found.setdefault(name, "")
            elif tag.startswith("macosx") and tag.endswith(("universal2", "universal")):
                found.setdefault("macos_arm64", "")
                found.setdefault("macos_x86_64", "")
            elif (known := platform(tag)) is not None:
                name, glibc = known
                if name not in found or (glibc and found[name] and key(glibc) < key(found[name])):
                    found[name] = glibc
    return found


def above_baseline(platforms: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Of `platforms` those that ask for a glibc above manylinux2014's, which torch's own oldest wheels need."""
    from provisioner.versions import key

    least = key(_PROFILES["manylinux2014"])
    return tuple((name, glibc) for name, glibc in sorted(platforms.items()) if glibc and least < key(glibc))


def pythons(wheels: Iterable[Wheel], requires_python: str = "", only: str = "") -> tuple[str, ...]:
    """CPython minors with a wheel of their own ("3.9", "3.10"), free-threaded ones left out; `only` one platform.

    () when every wheel is pure Python or has the stable ABI. Where only some have, the stable ABI counts up to the end
    that Requires-Python names."""
    minors: set[int] = set()
    stable: int | None = None
    for one in wheels:
        if only and only not in platforms([one]):
            continue
        for tag in one.pythons:
            if tag.startswith("py"):
                return ()
            matched = re.fullmatch(r"cp3(\d+)", tag)
            if matched is None or one.abis[0].endswith("t"):
                continue
            if one.abis == ("abi3",):
                stable = int(matched[1]) if stable is None else min(stable, int(matched[1]))
            else:
                minors.add(int(matched[1]))
    if minors and stable is not None:
        end = re.search(r"<\s*3\.(\d+)", requires_python)
        minors |= set(range(stable, int(end[1]) if end else _NEWEST_PYTHON + 1))
    return tuple(f"3.{minor}" for minor in sorted(minors))


def requirements(metadata: str) -> list[Requirement]:
    """The Requires-Dist lines of a METADATA file. Raises ValueError for a line nobody can read."""
    from email.parser import HeaderParser

    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Parsed

    found = []
    for line in HeaderParser().parsestr(metadata).get_all("Requires-Dist") or []:
        try:
            parsed = Parsed(line)
        except InvalidRequirement as error:
            raise ValueError(f"a requirement nobody can read: {line!r}") from error
        found.append(Requirement(parsed.name.lower().replace("_", "-"), tuple(sorted(parsed.extras)),
                                 ",".join(sorted(str(part) for part in parsed.specifier)), str(parsed.marker or "")))
    return found


def applies(requirement: Requirement, target: str, python: str) -> bool:
    """Whether it applies on that platform and Python without any extra."""
    if not requirement.marker:
        return True
    from packaging.markers import Marker

    environment = {**MARKERS[target], "python_version": python, "python_full_version": f"{python}.0", "extra": "",
                   "implementation_name": "cpython", "platform_python_implementation": "CPython"}
    return Marker(requirement.marker).evaluate(environment)


def library_pins(wanted: Iterable[Requirement], target: str, on: Iterable[str]) -> dict[str, str]:
    """Requirements on nvidia-*, cuda-* and triton that apply on the platform with any of the Pythons `on`."""
    some = tuple(on)
    libraries = [one for one in wanted if re.match(r"nvidia-|cuda-|triton$|pytorch-triton$", one.name)]
    return {one.label: one.specifier for one in libraries if any(applies(one, target, python) for python in some)}


class _Ranged(io.RawIOBase):
    """A remote file through `read(first, last)`, as far as the zip reader needs it."""

    _TAIL = 600_000  # the directory of a torch wheel takes this much

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        super().__init__()
        self._read, self._size, self._at = read, size, 0
        self._held: list[tuple[int, bytes]] = []

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, count: int = -1) -> bytes:
        first = self._at
        last = self._size if count < 0 else min(self._size, first + count)
        if first >= last:
            return b""
        self._at = last
        for start, held in self._held:
            if start <= first and last <= start + len(held):
                return held[first - start : last - start]
        start, stop = first, min(self._size, max(last, first + 65_536))
        if self._size - first < self._TAIL:
            start, stop = max(0, self._size - self._TAIL), self._size
        held = self._read(start, stop - 1)
        if len(held) != stop - start:
            raise ValueError("the server sent another range than asked for")
        self._held.append((start, held))
        return held[first - start : last - start]


def metadata_of_wheel(read: Callable[[int, int], bytes], size: int) -> str:
    """METADATA of a remote wheel without fetching the whole of it.

    `read(first, last)` answers the bytes first..last, both inclusive. Raises ValueError when it is no wheel."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(_Ranged(read, size)) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
            if len(names) != 1:
                raise ValueError("not exactly one METADATA")
            return archive.read(names[0]).decode("utf-8", "replace")
    except BadZipFile as error:
        raise ValueError(f"not a wheel: {error}") from error
