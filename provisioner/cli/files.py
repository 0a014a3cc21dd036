"""Files that commands read and write: whole or not at all."""

from __future__ import annotations

import os

from provisioner.errors import Problem

LOCK = "provision.lock"


def write(path: str, text: str, *, mode: int | None = None) -> None:
    """Write `text` to `path` in one step: either the whole new file is there, or the old one untouched.

    Raises Problem when the folder or the disk does not let us."""
    folder = os.path.dirname(path) or "."
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}.tmp")
    if os.path.isdir(path):
        raise Problem("cannot-write", f"{path} is a folder", todo="name a file")
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe cannot be replaced: write into it
        try:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as fault:
            raise cannot("write", path, fault) from None
        return
    if os.path.islink(path):
        path = os.path.realpath(path)
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        elif os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except OSError as fault:
        raise cannot("write", path, fault) from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def cannot(verb: str, path: str, fault: OSError) -> Problem:
    """The problem for a file that cannot be read or written."""
    advice = {
        13: "look at the permissions of the file and its folder, or name another place",
        30: "the file system is mounted read-only: name another place",
        28: "the disk is full: make room, then run the same command again; nothing was changed",
        2: "look at the spelling; the folder has to exist",
    }.get(fault.errno or 0, "")
    return Problem(f"cannot-{verb}", f"cannot {verb} {path}", because=fault.strerror or str(fault), todo=advice, file="")


def read(path: str, limit: int | None = None) -> bytes:
    """The bytes of a regular file, a pipe, or standard input (`-`). Raises Problem."""
    import sys

    try:
        if path == "-":
            return sys.stdin.buffer.read() if limit is None else sys.stdin.buffer.read(limit + 1)
        if os.path.isdir(path):
            raise Problem("cannot-read", f"{path} is a folder", todo="name a file in it")
        with open(path, "rb") as stream:
            return stream.read() if limit is None else stream.read(limit + 1)
    except OSError as fault:
        raise cannot("read", path, fault) from None


def make_folder(path: str) -> None:
    """Make a folder and those above it. Raises Problem."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as fault:
        raise cannot("write", path, fault) from None


def holds(path: str, text: str) -> bool:
    """Whether the file is there and is exactly `text`."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read(len(text) + 1) == text
    except (OSError, UnicodeDecodeError):
        return False


def put_lock(path: str, text: str) -> bool:
    """Write a lock unless it is there already, and note it for the commands that follow; whether it was there. Raises Problem."""
    same = holds(path, text)
    if not same:
        write(path, text)
    remember_lock(path)
    return same


def remember_lock(path: str) -> None:
    """Note which lock the last `plan` run in this working folder wrote, so that `render` and `verify` find it."""
    from provisioner import resources

    try:
        folder = os.path.join(resources.user_cache(), "last-lock")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, _slug(os.getcwd())), "w", encoding="utf-8") as stream:
            stream.write(os.path.abspath(path))
    except OSError:
        pass  # a convenience: without it the user names the lock


def find_lock(named: str | None) -> str:
    """The lock that a command works with: the one named; else ./provision.lock or what the last `plan` run in this folder
    wrote, whichever is newer. Raises Problem when there is none."""
    if named:
        return named
    from provisioner import resources

    here = [LOCK] if os.path.isfile(LOCK) else []
    try:
        with open(os.path.join(resources.user_cache(), "last-lock", _slug(os.getcwd())), encoding="utf-8") as stream:
            last = stream.read()
        if os.path.isfile(last):
            here.append(os.path.relpath(last) if last.startswith(os.getcwd()) else last)
    except (OSError, UnicodeDecodeError):
        pass
    if not here:
        raise Problem("no-lock", "no-lock", todo="no-lock-todo")
    return max(here, key=lambda path: os.stat(path).st_mtime_ns)


def _slug(path: str) -> str:
    import zlib

    raw = os.fsencode(path)
    return f"{zlib.crc32(raw):08x}-{len(raw)}"


def read_lock(path: str) -> dict[str, object]:
    """A lock as written by `plan`. Raises Problem when it is not one."""
    import json

    try:
        document = json.loads(read(path))
    except (ValueError, RecursionError) as fault:
        raise Problem("not-a-lock", f"{path} is not a provision.lock", because=str(fault)[:200],
                      todo="write it anew with `provision plan`", file=path) from None
    if not isinstance(document, dict) or document.get("lock") != 1 or not isinstance(document.get("choices"), dict) \
            or not isinstance(document.get("artefacts"), dict):
        version = document.get("lock") if isinstance(document, dict) else None
        because = f"its format is {version!r}, this provision reads format 1" if version not in (None, 1) else "it lacks a lock's keys"
        raise Problem("not-a-lock", f"{path} is not a provision.lock", because=because,
                      todo="write it anew with `provision plan`", file=path)
    return document
