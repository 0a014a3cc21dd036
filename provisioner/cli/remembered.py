"""The answer to a `plan` that was asked before, without loading anything.

A plan is a pure function of the spec's bytes, the catalogue (shipped and the user's own), this version of the tool and the
options, so all of these are the key; every byte of it is stored in the entry and compared, so that neither a collision nor a
damaged file can give a stale answer. An entry that cannot be read is as good as none.
"""

from __future__ import annotations

import os
import sys

_FLAGS = ("--format", "--lang", "--lock")


def answer(arguments: list[str]) -> int | None:
    """Print the remembered answer and write its lock; the exit status, or None when there is none to give."""
    asked = _read(arguments)
    if asked is None:
        return None
    spec, form, lang, lock, no_lock = asked
    key = _key(spec, form, lang)
    if key is None:
        return None
    import marshal

    try:
        with open(_place(key), "rb") as stream:
            stored = marshal.load(stream)
        if stored[0] != key:
            return None
        _, status, out, lock_text = stored
    except (OSError, EOFError, ValueError, TypeError, IndexError):
        return None
    told = ""
    if lock_text and not no_lock:
        from provisioner.errors import Problem

        path = lock or os.path.join(os.path.dirname(spec), "provision.lock")
        from provisioner.cli.files import put_lock
        from provisioner.cli.text import say

        try:
            same = put_lock(path, lock_text)
        except Problem:
            return None  # the full path tells it properly
        told = say(lang, "unchanged" if same else "wrote", path=path)
    sys.stdout.write(out)
    if told and form == "text":
        sys.stderr.write(told + "\n")
    return int(status)


def remember(options: object, status: int, out: str, lock_text: str) -> None:
    """Keep the answer to a `plan` for the next time. `options` are the parsed ones."""
    spec, form, lang = str(options.spec), str(options.format), str(options.lang)  # type: ignore[attr-defined]
    key = _key(spec, form, lang)
    if key is None or (status == 0 and not lock_text):
        return
    import marshal

    from provisioner import resources

    resources.keep(_place(key), marshal.dumps((key, status, out, lock_text)))  # type: ignore[arg-type]


def _read(arguments: list[str]) -> tuple[str, str, str, str | None, bool] | None:
    """The options, when they are of the plain kind that is remembered: spec, format, language, lock, no lock."""
    spec, form, lang, lock, no_lock = None, "text", None, None, False
    rest = iter(arguments)
    for argument in rest:
        if argument == "--no-lock":
            no_lock = True
            continue
        flag, equals, value = argument.partition("=")
        if flag in _FLAGS:
            value = value if equals else next(rest, "")
            if flag == "--format":
                form = value
            elif flag == "--lang":
                lang = value
            else:
                lock = value
        elif argument.startswith("-") or spec is not None:
            return None
        else:
            spec = argument
    if form not in ("text", "json") or lang not in (None, "en", "zh") or (lock is not None and no_lock) or lock == "":
        return None
    from provisioner.cli.text import language

    return spec or "spec.yaml", form, language(lang), lock, no_lock


def _key(spec: str, form: str, lang: str) -> tuple[object, ...] | None:
    """All that the answer depends on, or None when it cannot be told."""
    from provisioner import __version__
    from provisioner.catalog.load import signature

    try:
        if not os.path.isfile(spec):
            return None
        with open(spec, "rb") as stream:
            text = stream.read((1 << 20) + 1)
        if len(text) > 1 << 20:
            return None
        catalog = signature()
    except OSError:
        return None
    look: object = None
    if form == "text" and sys.stdout.isatty():
        from provisioner.cli.output import coloured, columns

        look = (coloured(sys.stdout), columns())
    return (__version__, catalog, _own(), spec, text, form, lang, look, sys.version)


def _own() -> tuple[object, ...]:
    """What this code is: in a checkout the newest change of the deciding rooms, so that an edit is never answered from before."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    stamps = []
    for room in ("solver", "spec", "catalog", "render", "cli"):
        with os.scandir(os.path.join(here, room)) as entries:
            stamps += [(each.name, each.stat().st_mtime_ns, each.stat().st_size) for each in entries if each.name.endswith(".py")]
    return tuple(sorted(stamps))


def _place(key: tuple[object, ...]) -> str:
    import zlib

    from provisioner import resources

    return os.path.join(resources.user_cache(), "plans", f"{zlib.crc32(repr(key).encode()):08x}")
