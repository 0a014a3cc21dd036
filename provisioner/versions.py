"""Versions: the vendor's spelling is kept, the parsed form is compared.

Driver, CUDA, cuDNN and NCCL versions are dotted numbers: `key` compares them without importing anything. Ranges are PEP 440
specifiers: `Range` reads the simple ones itself and leaves everything else to `packaging`, whose answers a test holds it to.
"""

from __future__ import annotations

Key = tuple[int, ...]


def key(version: str) -> Key:
    """A dotted number as a tuple that compares right: "450.80.02" -> (450, 80, 2). Local labels (+cu128) are left aside.

    Raises ValueError when it is not one."""
    numbers = [int(part) for part in version.split("+", 1)[0].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:  # PEP 440: 2.7 == 2.7.0
        numbers.pop()
    return tuple(numbers)


def number(version: str) -> Key:
    """Like `key`, for spellings with other parts too: those count as 0."""
    try:
        return key(version)
    except ValueError:
        return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def minor(version: str) -> str:
    """12.8.1 -> 12.8"""
    return ".".join(version.split(".")[:2])


def is_dotted(version: str) -> bool:
    """Whether `key` can read it."""
    return all(part.isascii() and part.isdigit() for part in version.split("+", 1)[0].split("."))


def sort_key(version: str) -> tuple[object, ...]:
    """A key for any PEP 440 version (post-releases and pre-releases too); versions nobody can parse sort first."""
    if is_dotted(version):
        return (1, _Sortable(version))
    return (1, _Sortable(version)) if _parsed(version) is not None else (0, version)


class _Sortable:
    """Compares by the parsed version."""

    __slots__ = ("_plain", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = key(text) if is_dotted(text) else None

    def __lt__(self, other: _Sortable) -> bool:
        if self._plain is not None and other._plain is not None:
            return self._plain < other._plain
        return bool(_parsed(self.text) < _parsed(other.text))  # type: ignore[operator]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Sortable) and not self < other and not other < self

    def __hash__(self) -> int:
        return hash(self._plain)


def _parsed(text: str) -> object | None:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        return None


class Range:
    """A PEP 440 range, or an exact version, as text. `"2.7.1"` means that version, whatever label it carries; `"*"` anything.

    Raises ValueError when it is neither."""

    __slots__ = ("_clauses", "_set", "text")

    def __init__(self, text: str) -> None:
        self.text = text = text.strip()
        self._set: object | None = None
        self._clauses: list[tuple[str, Key]] | None = []
        if text in ("", "*"):
            return
        if text[0].isdigit():
            text = "==" + text
        for clause in text.split(","):
            read = _simple(clause.strip())
            if read is None:
                self._clauses = None
                break
            self._clauses.append(read)
        if self._clauses is None:
            from packaging.specifiers import InvalidSpecifier, SpecifierSet

            try:
                self._set = SpecifierSet(text, prereleases=True)
            except InvalidSpecifier:
                raise ValueError(f"{self.text!r} is not a version range") from None

    def __contains__(self, version: str) -> bool:
        if self._clauses is not None:
            if is_dotted(version):
                found = key(version)
                return all(_holds(operator, wanted, found) for operator, wanted in self._clauses)
            from packaging.specifiers import SpecifierSet

            text = "==" + self.text if self.text[:1].isdigit() else "" if self.text == "*" else self.text
            self._set, self._clauses = SpecifierSet(text, prereleases=True), None
        from packaging.version import InvalidVersion

        try:
            return bool(self._set.contains(version))  # type: ignore[union-attr]
        except InvalidVersion:
            return False

    def __repr__(self) -> str:
        return f"Range({self.text!r})"


_OPERATORS = ("~=", "==", "!=", ">=", "<=", ">", "<")


def _simple(clause: str) -> tuple[str, Key] | None:
    """One clause over dotted numbers, or None when it is of another kind. `==2.6.*` becomes ("=*", (2, 6))."""
    for operator in _OPERATORS:
        if clause.startswith(operator):
            wanted = clause[len(operator):].strip()
            break
    else:
        return None
    if wanted.endswith(".*") and operator in ("==", "!="):
        wanted = wanted[:-2]
        if not is_dotted(wanted) or "+" in wanted:
            return None
        return ("=*" if operator == "==" else "!*", tuple(int(part) for part in wanted.split(".")))
    if not is_dotted(wanted) or "+" in wanted:
        return None
    if operator == "~=":
        parts = tuple(int(part) for part in wanted.split("."))
        return ("~=", parts) if len(parts) > 1 else None
    return (operator, key(wanted))


def _padded(found: Key, length: int) -> Key:
    return (found + (0,) * length)[:length]


def _strip(parts: Key) -> Key:
    while len(parts) > 1 and parts[-1] == 0:
        parts = parts[:-1]
    return parts


def _holds(operator: str, wanted: Key, found: Key) -> bool:
    if operator == "=*":
        return _padded(found, len(wanted)) == wanted
    if operator == "!*":
        return _padded(found, len(wanted)) != wanted
    if operator == "~=":
        return found >= _strip(wanted) and _padded(found, len(wanted) - 1) == wanted[:-1]
    if operator == "==":
        return found == wanted
    if operator == "!=":
        return found != wanted
    if operator == ">=":
        return found >= wanted
    if operator == "<=":
        return found <= wanted
    return found > wanted if operator == ">" else found < wanted
