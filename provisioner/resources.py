"""Where the shipped data is, in a checkout and in an installed wheel, and where a user's own files go.

This is the only module that knows `compat_data/` and `templates/` by place.
"""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def _folder(name: str) -> str:
    """The folder `name`: beside the package in a checkout, below `_data` in an installed wheel."""
    installed = os.path.join(_HERE, "_data", name)
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(_HERE), name)


def compat_data() -> str:
    """The folder of the compatibility catalogue."""
    return _folder("compat_data")


def templates() -> str:
    """The folder of the output formats."""
    return _folder("templates")


def _user(variable: str, windows: str, fallback: str) -> str:
    base = os.environ.get(variable) or (os.environ.get(windows) if os.name == "nt" else None)
    return os.path.join(base or os.path.join(os.path.expanduser("~"), fallback), "provision")


def user_data() -> str:
    """The user's data folder (catalogue overlays): `$PROVISION_DATA_HOME`, else below `$XDG_DATA_HOME`. It may not exist."""
    return os.environ.get("PROVISION_DATA_HOME") or _user("XDG_DATA_HOME", "LOCALAPPDATA", os.path.join(".local", "share"))


def keep(place: str, content: bytes) -> None:
    """Put a file into the cache whole, under a name nobody else has until it is; where nothing can be written, nothing is."""
    temporary = f"{place}.{os.urandom(8).hex()}.tmp"
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(temporary, "xb") as stream:
            stream.write(content)
        os.replace(temporary, place)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass


def user_cache() -> str:
    """The user's cache folder (compiled catalogue, solved plans): `$PROVISION_CACHE_HOME`, else below `$XDG_CACHE_HOME`."""
    return os.environ.get("PROVISION_CACHE_HOME") or _user("XDG_CACHE_HOME", "LOCALAPPDATA", ".cache")
