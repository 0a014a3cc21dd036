"""What every test shares: a private cache and data folder, and honest skips for what a machine may lack."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def private_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the user's own catalogue overlay or cache."""
    kept = {name: os.environ.get(name) for name in ("PROVISION_CACHE_HOME", "PROVISION_DATA_HOME", "LC_ALL")}
    os.environ["PROVISION_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["PROVISION_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))
    os.environ["LC_ALL"] = "C.UTF-8"
    yield
    for name, value in kept.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def _network() -> bool:
    """Whether the package index answers to this machine's own pip."""
    if os.environ.get("PROVISION_TEST_OFFLINE"):
        return False
    asked = [sys.executable, "-m", "pip", "index", "versions", "six", "--disable-pip-version-check", "--timeout", "15"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say why a test cannot run here, once a reason."""
    reasons: dict[str, str | None] = {}

    def reason(marker: str) -> str | None:
        if marker not in reasons:
            reasons[marker] = _MISSING[marker]()
        return reasons[marker]

    for item in items:
        for marker in _MISSING:
            if item.get_closest_marker(marker) and (why := reason(marker)):
                item.add_marker(pytest.mark.skip(reason=why))


_MISSING = {
    "network": lambda: None if _network() else "the package index cannot be reached",
    "root": lambda: None if hasattr(os, "geteuid") and os.geteuid() == 0 else "needs root",
    "chroot": lambda: None if shutil.which("debootstrap") else "debootstrap is not installed",
    "gpu": lambda: None if Path("/dev/nvidiactl").exists() else "there is no NVIDIA GPU",
    "torch": lambda: None if importlib.util.find_spec("torch") else "torch is not installed",
    "browser": lambda: None if shutil.which("chromium") else "Chromium is not installed",
}
