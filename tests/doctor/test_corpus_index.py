"""The corpus of pasted inputs: index and files agree, every cause class is covered, nothing personal is in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
PARTS = {"open": HERE / "corpus", "aside": HERE / "corpus_aside"}
MIN_INPUTS, MIN_PER_CLASS, MIN_CLEAN = 300, 4, 110

# One slug a root cause; an input's code is one of these.
CLASSES = frozenset(
    {
        "cpu-only-wheel", "conda-cpu-build", "aarch64-cpu-wheel", "jetson-wheel", "wrong-python-env",
        "driver-missing", "no-nvidia-gpu", "driver-too-old-for-wheel", "driver-lib-mismatch-no-reboot",
        "driver-libs-inside-container", "dkms-build-failed-new-kernel", "secure-boot-unsigned-module",
        "nouveau-or-nova-active", "open-module-flavour-mismatch", "legacy-driver-branch-needed", "bios-bar-above4g",
        "xid-79-fallen-off-bus", "gsp-firmware-timeout", "nvidia-uvm-not-usable", "fabric-manager-not-ready",
        "mig-config", "visible-devices-mask", "device-ordinal-out-of-range", "device-busy", "arch-too-new-for-wheel",
        "arch-too-old-for-wheel", "arch-warning-benign", "extension-arch-missing", "container-runtime-missing",
        "container-gpu-not-requested", "container-snap-docker", "container-cgroup-reload",
        "container-compat-lib-shadow", "wsl-driver-misconfig", "runtime-lib-not-on-path", "ld-library-path-shadow",
        "cudnn-version-mix", "handle-create-no-memory", "mkl-symbol-removed", "ext-abi-mismatch",
        "torchvision-mismatch", "nccl-version-mix", "nccl-p2p-hang", "shm-too-small", "nvcc-torch-mismatch",
        "nvcc-missing", "host-gcc-too-new", "triton-toolchain", "pip-no-wheel-python", "pip-no-wheel-platform",
        "pip-wrong-index", "glibc-or-libstdcxx-too-old", "numpy2-abi", "torch-min-version-security", "oom-genuine",
        "oom-fragmentation", "oom-other-process", "apt-repo-key", "apt-unmet-deps-mixed-repos",
        "apt-driver-branch-transitional", "dnf-driver-packaging", "win-dll-load-failure", "dataloader-bound",
        "device-mix", "fork-after-cuda-init", "plan-feasible",
    }
)
PERSONAL = {
    "mail address": re.compile(r"[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}"),
    "UUID": re.compile(r"(?:GPU|MIG)-(?!0{8}-0{4}-0{4}-0{4}-0{12}\b)[0-9a-f]{8}-[0-9a-f]{4}-", re.I),
    "board serial": re.compile(r"Serial Number\s*:\s*(?!0+\b|N/A|\[)\d{6,}"),
    "public address": re.compile(r"(?<![\d.])(?!10\.|127\.|0\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|224\.)"
                                 r"(?:2[0-4]\d|25[0-5]|1?\d?\d)(?:\.(?:2[0-4]\d|25[0-5]|1?\d?\d)){3}(?=:\d{2,5}\b)"),
    "home folder of a person": re.compile(r"/home/(?!(?:user|ubuntu|jovyan|runner)\b)[A-Za-z]\w*"),
}
# Hosts that may be named; whatever else looks like a web address is either one of these or under .example.
HOSTS = re.compile(r"https?://([A-Za-z0-9.-]+)")
ALLOWED = (
    "nvidia.com", "nvidia.github.io", "pytorch.org", "github.com", "nvd.nist.gov", "docker.com", "python.org",
    "ubuntu.com", "microsoft.com", "aka.ms",
)
REGISTRIES = re.compile(
    "py" r"pi\.org|python" r"hosted\.org|deb\.deb" r"ian\.org|registry\.npm" r"js\.org|ana" r"conda\.(?:org|com)"
)


def index(part: str) -> dict[str, Any]:
    document = yaml.safe_load((PARTS[part] / "index.yaml").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def texts() -> list[tuple[Path, str]]:
    return [(p, p.read_bytes().decode("utf-8")) for folder in PARTS.values() for p in sorted(folder.rglob("*.txt"))]


@pytest.mark.parametrize("part", PARTS)
def test_index_and_files_agree(part: str) -> None:
    document = index(part)
    named = [row["file"] for row in [*document["rows"], *document.get("clean", [])]]
    assert len(named) == len(set(named))
    assert set(named) == {p.relative_to(PARTS[part]).as_posix() for p in PARTS[part].rglob("*.txt")}


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_whole(part: str) -> None:
    for row in index(part)["rows"]:
        assert row["code"] in CLASSES, row
        assert row["file"].split("/")[0] == row["code"], row
        assert set(row["also"]) <= CLASSES - {row["code"]}, row
        assert row["kind"] in ("explain", "doctor"), row
        assert row["split"] == part, row
        assert row["lang"] and row["source"], row


def test_every_class_is_covered_on_both_sides() -> None:
    counts = dict.fromkeys(CLASSES, 0)
    for part in PARTS:
        codes = [row["code"] for row in index(part)["rows"]]
        assert set(codes) == CLASSES, f"{part}: without {sorted(CLASSES - set(codes))}"
        for code in codes:
            counts[code] += 1
    assert {code: n for code, n in counts.items() if n < MIN_PER_CLASS} == {}
    assert sum(counts.values()) >= MIN_INPUTS
    assert len(index("open")["clean"]) >= MIN_CLEAN


def test_inputs_are_distinct() -> None:
    seen: dict[str, Path] = {}
    for path, text in texts():
        key = " ".join(text.split())
        if not key:  # the blank clean texts differ in their spaces alone
            continue
        assert key not in seen, f"{path} repeats {seen.get(key)}"
        seen[key] = path


@pytest.mark.parametrize("what", PERSONAL)
def test_nothing_personal(what: str) -> None:
    found = {p.name: m.group() for p, text in texts() if (m := PERSONAL[what].search(text))}
    assert found == {}


def test_no_registry_and_no_foreign_host() -> None:
    for path, text in texts():
        assert not REGISTRIES.search(text), path
        for host in HOSTS.findall(text):
            ok = host in ("localhost", "127.0.0.1") or host.endswith(".example")
            assert ok or any(host == a or host.endswith("." + a) for a in ALLOWED), f"{path}: {host}"
