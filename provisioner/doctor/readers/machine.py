"""What a machine says of itself: the system's name, WSL, containers, Jetson, Windows, the shell prompt of a container.

    Linux version 5.15.153.1-microsoft-standard-WSL2
    # R35 (release), REVISION: 4.1
"""

from __future__ import annotations

import re

from provisioner.doctor.facts import Doc, Facts

LITERALS = ("microsoft-standard", "tegra", "ubuntu", "debian", "rocky", "fedora", "windows", "docker", "podman")

_SYSTEMS = (  # words, system id with {0}
    (r"\bubuntu[ -]?(\d\d)[.]?(\d\d)\b", "ubuntu{0}{1}"), (r"\b(focal)\b", "ubuntu2004"), (r"\b(jammy)\b", "ubuntu2204"),
    (r"\b(noble)\b", "ubuntu2404"), (r"\bdebian(?: gnu/linux)? ?(\d\d)\b", "debian{0}"), (r"\b(bookworm)\b", "debian12"),
    (r"\b(bullseye)\b", "debian11"), (r"\b(trixie)\b", "debian13"),
    (r"\b(?:red hat enterprise linux|rhel|centos(?: linux| stream)?|rocky(?: linux)?|alma ?linux|oracle linux)(?: server)?(?: release|"
        r" version)? ?(\d{1,2})\b", "rhel{0}"),
    (r"\.el(\d{1,2})(?:_\d+)?\b", "rhel{0}"), (r"\bfedora(?: linux| release)? ?(\d\d)\b", "fedora{0}"), (r"\.fc(\d\d)\b", "fedora{0}"),
    (r"\bamazon linux ?(2023)\b", "amzn2023"), (r"\bamzn2023\b", "amzn2023"), (r"\bamazon linux ?2\b", "amzn2"),
    (r"\b(?:sles|suse linux enterprise(?: server)?) ?(\d\d)\b", "sles{0}"), (r"\bopensuse(?: leap)? ?(\d\d)\b", "opensuse{0}"),
    (r"\bazure ?linux ?3\b|\bazl3\b", "azl3"), (r"\barch ?linux\b|\bmanjaro\b|\bendeavouros\b", "arch"), (r"\blinux mint 2[12]\b",
     "ubuntu2204"),
    (r"\bnixos\b", "linux"), (r"\bpop!?_os ?(\d\d)\.(\d\d)", "ubuntu{0}{1}"), (r"\bmacos\b|\bdarwin\b|macosx_|\bsw_vers\b", "macos"),
)
_WORDS = ("ubuntu", "debian", "red hat", "rhel", "centos", "rocky", "alma", "oracle", ".el", "fedora", ".fc", "amazon", "amzn",
"sles", "suse",
          "azl", "azure", "arch", "manjaro", "nixos", "pop", "macos", "darwin", "sw_vers", "focal", "jammy", "noble", "bookworm",
          "bullseye", "trixie", "mint", "endeavour")
_WINDOWS = re.compile(r"[A-Za-z]:\\|\\(?:site-packages|torch|lib|scripts|envs)\\|\.dll\b|winerror|win_amd64|\bwindows (?:1[01]|"
    r"server)\b|msc v\.\d+"
                      r"|powershell|python\.exe|pip\.exe|%cuda_path%|cmd\.exe", re.IGNORECASE)
_FAMILY = re.compile(r"\b(?:apt(?:-get)?|dpkg) |\bupdate-initramfs", re.IGNORECASE)


def read(doc: Doc, facts: Facts) -> None:
    """Facts system (an id of the catalogue's systems), platform (windows, linux, macos)."""
    for word in _WORDS:
        for here in doc.find(word)[:20]:
            line = doc.lines[here]
            for pattern, name in _SYSTEMS:
                found = re.search(pattern, line.text, re.IGNORECASE)
                if found:
                    facts.add("system", name.format(*found.groups("")) if "{" in name else name, line, 2)
    for line in doc.lines[:3000]:
        if _WINDOWS.search(line.text) and "wsl" not in line.text.lower():
            facts.add("platform", "windows", line, 2)
            break
    for literal in ("apt ", "apt-get", "dpkg", "dnf ", "yum ", "zypper", "pacman"):
        at = doc.find(literal)
        if at:
            facts.add("package_manager", literal.strip().replace("apt-get", "apt").replace("dpkg", "apt"), doc.lines[at[0]], 1)
