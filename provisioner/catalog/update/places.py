"""Where to ask: the client's own package index, PyTorch's wheel index, NVIDIA's downloads.

Every address can be set in the environment: `PROVISION_PACKAGE_INDEX`, `PROVISION_PYTORCH_INDEX`, `PROVISION_NVIDIA_DOWNLOADS`.
"""

from __future__ import annotations

import configparser
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

PYTORCH = "https://download.pytorch.org/whl"
NVIDIA = "https://developer.download.nvidia.com/compute"


class Places(NamedTuple):
    """Addresses without a slash at the end; "" where none is known."""

    packages: str
    pytorch: str
    nvidia: str
    certificates: str  # a file of certificate authorities, "" = the usual ones


def places(environment: dict[str, str] | None = None) -> Places:
    """What the environment and pip's configuration say."""
    told = dict(os.environ) if environment is None else environment
    settings = _pip_settings(told)
    packages = next((value for value in (told.get("PROVISION_PACKAGE_INDEX"), told.get("PIP_INDEX_URL"), told.get("UV_DEFAULT_INDEX"),
                                         told.get("UV_INDEX_URL"), settings.get("index-url")) if value), "") or _pip_default()
    certificates = next((value for value in (told.get("REQUESTS_CA_BUNDLE"), told.get("PIP_CERT"), told.get("SSL_CERT_FILE"),
                                             settings.get("cert")) if value and Path(value).exists()), "")
    return Places(packages.rstrip("/"), told.get("PROVISION_PYTORCH_INDEX", PYTORCH).rstrip("/"),
                  told.get("PROVISION_NVIDIA_DOWNLOADS", NVIDIA).rstrip("/"), certificates)


def _pip_settings(told: dict[str, str]) -> dict[str, str]:
    """`index-url` and `cert` of pip's files, the most specific last (pip's documentation, "Configuration")."""
    home = Path(told.get("HOME") or Path.home())
    files = [Path("/etc/pip.conf"), Path("/etc/xdg/pip/pip.conf"), home / ".pip" / "pip.conf",
             Path(told.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf", Path(sys.prefix) / "pip.conf"]
    if os.name == "nt":
        files = [Path(told.get("PROGRAMDATA", "C:/ProgramData")) / "pip" / "pip.ini", home / "pip" / "pip.ini",
                 Path(told.get("APPDATA") or home) / "pip" / "pip.ini", Path(sys.prefix) / "pip.ini"]
    if told.get("PIP_CONFIG_FILE"):
        files = [] if told["PIP_CONFIG_FILE"] == os.devnull else [*files, Path(told["PIP_CONFIG_FILE"])]
    found: dict[str, str] = {}
    for path in files:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, configparser.Error, UnicodeDecodeError):
            continue
        for name in ("index-url", "cert"):
            for spelled in (name, name.replace("-", "_")):
                if parser.has_option("global", spelled):
                    found[name] = parser.get("global", spelled).strip()
    return found


def _pip_default() -> str:
    """The index that the installed pip asks when nothing else is configured, read out of pip itself; "" without pip."""
    from importlib.util import find_spec

    try:
        found = find_spec("pip")
        folder = Path(found.origin).parent if found is not None and found.origin else None
        text = (folder / "_internal" / "models" / "index.py").read_text("utf-8") if folder else ""
    except (OSError, ValueError, ImportError, UnicodeDecodeError):
        return ""
    named = re.search(r'PyPI = PackageIndex\(\s*"(https://[^"]+)"', text)
    return named[1].rstrip("/") + "/simple" if named else ""


def shown(url: str) -> str:
    """An address without the name and password that it may carry."""
    return re.sub(r"//[^/@]*@", "//", url)
