"""The probe on this host: running it, reading what it saved, clearing it of names and addresses, and making a spec of it.

A document of the probe is {"probe": 1, "facts": {NAME: {"value": ...} | {"absent": true} | {"unknown": BECAUSE}}, ...}; see `payload.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner.errors import Problem

if TYPE_CHECKING:
    from provisioner.runner import Runner

PAYLOAD = str(Path(__file__).resolve().with_name("payload.py"))
LIMIT = 120.0  # seconds; the payload's own limits are far below, and it waits for nothing without one
LARGEST = 16 << 20  # bytes of a file of facts


def collect(python: str | None = None, runner: Runner | None = None) -> dict[str, Any]:
    """What this host is. `python`: the interpreter to look into, else the one a shell would run.

    Raises Problem when the probe gave no answer at all."""
    import sys

    from provisioner.runner import Runner

    command = [sys.executable, PAYLOAD, *(["--python", python] if python else [])]
    result = (runner or Runner()).run(command, limit=LIMIT)
    found = _document(result.out) if result.ok else None
    if found is None:
        raise Problem("probe", "the probe of this host gave no answer", because=result.reason() or "it printed no facts",
                      todo=f"run it by hand and look: {sys.executable} {PAYLOAD}")
    return found


def read_facts(path: str) -> dict[str, Any]:
    """The document that the probe, or `doctor --save`, wrote to a file. Raises Problem when the file holds none."""
    todo = "write one with `provision doctor --save FILE`, or run the probe's single file on that machine and keep what it prints"
    try:
        with open(path, "rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as fault:
        raise Problem("cannot-read", f"cannot read {path}", because=fault.strerror or str(fault), todo=todo) from None
    if len(data) > LARGEST:
        raise Problem("facts-file", f"{path} is no file of facts", because="it is larger than 16 MiB", todo=todo)
    found = _document(data.decode("utf-8-sig", "replace"))
    if found is None:
        raise Problem("facts-file", f"{path} is no file of facts", because="it is no JSON object with \"probe\": 1 and \"facts\"", todo=todo)
    return found


def _document(text: str) -> dict[str, Any] | None:
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("probe") != 1 or not isinstance(found.get("facts"), dict):
        return None
    if not all(isinstance(fact, dict) for fact in found["facts"].values()):
        return None
    return found


def value(facts: dict[str, Any], name: str) -> Any:
    """A fact's value; None when it is absent or unknown."""
    fact = (facts.get("facts") or {}).get(name)
    return fact.get("value") if isinstance(fact, dict) else None


# Clearing -----------------------------------------------------------------------------------------------------------------------------

_HOME = re.compile(r"(/home/|/Users/|/var/home/|/export/home/|/data/home/|[A-Za-z]:\\+Users\\+)([^/\\:;,\s\"']+)")
_KEPT = (  # everything that is no one's: (pattern, what stands there instead)
    (re.compile(r"\b(GPU|MIG|MIG-GPU)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"), r"\1-UUID"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "UUID"),
    (re.compile(r"(?i)\b(serial(?: ?number)?|board id|asset tag)(\s*[:=]\s*)\S+"), r"\1\2SERIAL"),
    (re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])"), "MAC"),
    (re.compile(r"(://)[^/@\s]+@"), r"\1"),
    (re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"), "MAIL"),
)
# A number of four parts is an address, unless something before it says that it is a version (nvidia-cudnn-cu12==9.10.2.21).
_FOUR = re.compile(r"(?<![\w.~<>+-])(?<![=~!<>]=)(?<!version )(?<!release )(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\w.-])")
_SIX = re.compile(r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_VERSIONS = frozenset(("packages", "version", "driver", "release", "libraries", "dkms"))
#: names of users and hosts that are many people's, and words of the facts themselves
_COMMON = frozenset(("root", "user", "ubuntu", "debian", "fedora", "centos", "rocky", "ec2-user", "admin", "nvidia", "cuda", "torch", "python", "docker",
                     "jetson", "localhost", "host", "home", "linux", "runner", "conda", "mambauser", "jovyan", "vscode", "gpu", "nobody", "test", "server"))


def redact(facts: dict[str, Any]) -> dict[str, Any]:
    """The same facts without serial numbers, UUIDs, names of the host and its users, addresses and home folders."""
    private = facts.get("private") if isinstance(facts.get("private"), dict) else {}
    names: dict[str, str] = {}
    for kind in ("host", "user"):
        name = str((private or {}).get(kind) or "")
        for each in {name, name.split(".")[0], name.rsplit("\\", 1)[-1]}:
            if len(each) > 1 and each.lower() not in _COMMON:
                names[each] = kind.upper()
    home = str((private or {}).get("home") or "")
    words = [(re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE), said)
             for name, said in sorted(names.items(), key=lambda each: -len(each[0]))]

    def clear(text: str, versions: bool) -> str:
        if len(home) > 1 and home not in ("/root",):
            text = text.replace(home, "/home/USER")
        text = _HOME.sub(r"\g<1>USER", text)
        for pattern, said in (*_KEPT, *words):
            text = pattern.sub(said, text)
        if not versions:
            text = _FOUR.sub(lambda found: "ADDRESS" if all(int(part) < 256 for part in found.groups()) else found[0], text)
        return _SIX.sub(_address, text)

    def walk(held: Any, versions: bool) -> Any:
        if isinstance(held, str):
            return clear(held, versions)
        if isinstance(held, list):
            return [walk(each, versions) for each in held]
        if isinstance(held, dict):
            return {clear(str(name), True): walk(each, versions or name in _VERSIONS) for name, each in held.items()}
        return held

    made = walk({name: held for name, held in facts.items() if name not in ("probe", "private")}, False)
    return {"probe": facts.get("probe", 1), **made, "redacted": True}


def _address(found: re.Match[str]) -> str:
    """ADDRESS for an IPv6 address; times (12:30:45) and PCI addresses (0000:01:00) are none."""
    import ipaddress

    text = found[0]
    if ("::" not in text and text.count(":") != 7) or not text.strip(":"):
        return text
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return text
    return "ADDRESS"


# A spec ---------------------------------------------------------------------------------------------------------------------------------

_RHEL = ("rhel", "rocky", "almalinux", "centos", "ol", "oraclelinux", "scientific", "eurolinux")


def system(facts: dict[str, Any]) -> str:
    """The operating system as a target is written ("ubuntu2404"), "linux" for one without a number or a name."""
    told = value(facts, "os") or {}
    name, version = str(told.get("id") or "").lower(), str(told.get("version_id") or "")
    major = version.split(".")[0]
    if name in ("windows", "macos", "arch"):
        return name
    if name == "ubuntu" and version:
        return "ubuntu" + version.replace(".", "")
    if name == "debian" and major:
        return "debian" + major
    if name in _RHEL and major:
        return "rhel" + major
    if name == "fedora" and major:
        return "fedora" + major
    if name == "amzn" and major:
        return "amzn" + major
    if name in ("sles", "sled", "sle_hpc", "sles_sap") and major:
        return "sles" + major
    if name in ("opensuse-leap", "opensuse") and major:
        return "opensuse" + major
    if name == "azurelinux" and major:
        return "azl" + major
    if name == "kylin":
        found = re.search(r"\d+", version)
        return "kylin" + found[0] if found else "linux"
    like = str(told.get("id_like") or "").split()
    if told.get("ubuntu_codename"):  # Mint, Pop!_OS and the like say which Ubuntu they are
        return str(told["ubuntu_codename"])
    if "arch" in like:
        return "arch"
    if any(each in ("rhel", "centos") for each in like) and major.isdigit() and name != "fedora" and int(major) < 20:
        return "rhel" + major
    return "linux"


def cards(facts: dict[str, Any]) -> list[tuple[str, str, str]] | None:
    """Each GPU as (name, capability "8.9", PCI id "10de:2684"), "" for what nobody told; None when nobody can tell whether there is one."""
    ids = [f"10de:{each.get('device')}" for each in value(facts, "pci") or [] if each.get("vendor") == "10de" and str(each.get("class"))[:2] == "03"]
    if not ids:
        shown = [re.search(r"\[03[0-9a-f]{2}\].*\[10de:([0-9a-f]{4})\]", str(each)) for each in value(facts, "lspci") or []]
        ids = [f"10de:{each[1]}" for each in shown if each]
    for name, capability in (("smi_gpus", "compute_cap"), ("nvml", "capability"), ("torch", "capability")):
        held = value(facts, name)
        listed = held.get("gpus") if isinstance(held, dict) else held
        named = [each for each in listed or [] if isinstance(each, dict) and each.get("name")]
        if named:
            same = ids if len(ids) == len(named) else [""] * len(named)
            others = (value(facts, "nvml") or {}).get("gpus") or []
            told = others if len(others) == len(named) else [{}] * len(named)
            return [(str(each["name"]), str(each.get(capability) or other.get("capability") or ""), pci)
                    for each, other, pci in zip(named, told, same, strict=True)]
    if ids:
        return [("", "", pci) for pci in ids]
    if value(facts, "pci") is None or value(facts, "wsl") or value(facts, "jetson"):
        return None
    return []


def to_plain(facts: dict[str, Any], knows: Callable[[str, str], bool] | None = None) -> dict[str, Any]:
    """A spec of this host as plain data: what it is, its GPUs, the driver that is loaded (kept), and torch as it is installed.

    `knows("os" | "gpu", text)` tells whether the catalogue knows a name; what it does not is written another way."""
    known = knows or (lambda _kind, _text: True)
    jetson = value(facts, "jetson")
    kind = "jetson" if jetson else "wsl" if value(facts, "wsl") else "container" if value(facts, "container") else "host"
    name = system(facts)
    name = name if known("os", name) else "linux"
    found = cards(facts)
    listed: list[str] = []
    for product, capability, pci in found or []:
        ways = [each for each in (product, pci) if each and known("gpu", each)]
        ways += [f"sm_{capability.replace('.', '')}"] if capability else []
        listed += ways[:1] or [product or pci]
    bridges = [each for each in value(facts, "pci") or [] if each.get("class") == "0680" and each.get("vendor") == "10de"]
    linux, host = name not in ("windows", "macos"), kind == "host"
    target = {
        "os": name, "arch": str(value(facts, "arch") or "x86_64"), "kind": kind, "glibc": value(facts, "glibc") if linux else None,
        "kernel": _kernel(value(facts, "kernel")) if linux and host else None, "secure_boot": value(facts, "secure_boot") if linux and host else None,
        "l4t": (jetson or {}).get("l4t") or None, "nvswitch": True if bridges and host else None}
    made: dict[str, Any] = {"spec": 1, "target": {field: held for field, held in target.items() if held is not None}}
    if found is not None:
        made["gpus"] = listed
    driver = loaded_driver(facts)
    if driver and listed:
        made["driver"] = {"version": driver, "keep": True}
    torch, python = value(facts, "torch") or {}, value(facts, "python") or {}
    if not torch.get("version"):
        return made
    cuda = _label(torch)
    if _release(torch):
        made["torch"] = _release(torch)
    if cuda and (cuda != "cpu" or found == []):  # a CPU build beside a GPU is what a new plan should mend
        made["cuda"] = cuda
    if python.get("version"):
        made["python"] = ".".join(str(python["version"]).split(".")[:2])
    have = python.get("packages") or {}
    packages = {each: str(have[each]).split("+")[0] for each in ("torchvision", "torchaudio") if each in have}
    if packages:
        made["packages"] = packages
    prefix = str(python.get("prefix") or "")
    if prefix.startswith("/") and (python.get("virtual") or python.get("conda")):
        made["environment"] = prefix
    if python.get("conda"):
        made["installer"] = "conda"
    return made


def loaded_driver(facts: dict[str, Any]) -> str:
    """The version of the driver in use, "" when there is none: the module's, else what nvidia-smi or NVML say (WSL, Windows)."""
    module = value(facts, "driver")
    if module:
        return str(module)
    for gpu in value(facts, "smi_gpus") or []:
        if re.fullmatch(r"\d{3}\.\d+(?:\.\d+)?", str(gpu.get("driver_version"))):
            return str(gpu["driver_version"])
    return str((value(facts, "nvml") or {}).get("driver") or "")


def _kernel(release: Any) -> str | None:
    found = re.match(r"\d+\.\d+", str(release or ""))
    return found[0] if found else None


def _release(torch: dict[str, Any]) -> str | None:
    """The release as the package index has it; none for a nightly or a build of one's own."""
    version = str(torch.get("version") or "").split("+")[0]
    return version if re.fullmatch(r"\d+\.\d+(?:\.\d+)?", version) else None


def _label(torch: dict[str, Any]) -> str | None:
    cuda = torch.get("cuda")
    if cuda:
        return "cu" + str(cuda).replace(".", "")
    return "cpu" if torch.get("version") else None
