"""Installed packages: pip list, pip freeze, collect_env's "[pip3]", conda list; and what pip says about versions.

    [pip3] nvidia-nccl-cu12==2.27.3
    torch              2.4.0
    pytorch      2.1.0   py3.10_cpu_0   pytorch
    ERROR: Could not find a version that satisfies the requirement torch==1.7.1 (from versions: 1.8.1, 1.9.0)
"""

from __future__ import annotations

import re

from provisioner.doctor.facts import Doc, Facts

LITERALS = ("[pip", "[conda]", "from versions", "nvidia-", "pytorch ", "cpuonly")

_TAGGED = re.compile(r"^\[(?:pip3?|conda)\] ([A-Za-z][\w.-]+)(?:==|\s+)(\d\S*)(?: (\S+))?(?: (\S+))?")
_COLUMNS = re.compile(r"^([A-Za-z][\w.-]{1,50}) (\d+(?:\.\w+)+(?:[+.]\S*)?)(?: (\S+))?(?: (\S+))?$")
_FROZEN = re.compile(r"^([A-Za-z][\w.-]{1,50})==(\d\S*)$")
_OFFERED = re.compile(r"\(from versions: ([^)]{0,3000})\)?")


def read(doc: Doc, facts: Facts) -> None:
    """Fact `pkg` as "name version", conda builds as `conda_build` ("name version build"), `offered` versions."""
    for line in doc.lines[:6000]:
        text = line.text
        if text[:1] == "[":
            found = _TAGGED.match(text)
        elif "==" in text:
            found = _FROZEN.match(text)
        elif text[:1].isalpha() and len(text) < 120:
            found = _COLUMNS.match(text)
        else:
            continue
        if found is None:
            continue
        groups = found.groups()
        name, version = groups[0].lower().replace("_", "-"), groups[1]
        facts.add("pkg", f"{name} {version}", line, 3)
        if len(groups) > 2 and groups[2] and re.search(r"py\d|cuda|cpu|_\d+$|^h[0-9a-f]{7}", groups[2]):
            facts.add("conda_build", f"{name} {version} {groups[2]}", line, 3)
        if name in ("torch", "pytorch"):
            facts.add("torch", version, line, 2)
        elif name in ("torchvision", "torchaudio", "numpy"):
            facts.add(name, version, line, 3)
    for here in doc.find("from versions")[:20]:
        found = _OFFERED.search(doc.lines[here].text)
        if found:
            facts.add("offered", found[1], doc.lines[here], 3)
