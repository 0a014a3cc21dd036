"""nvidia-smi in all its layouts, `-q`, `-L`, and GPU names anywhere in a text.

    | NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
    |   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
    | N/A   31C    P0              61W / 400W |      4MiB / 81920MiB |      0%      Default |
    GPU 0: NVIDIA H200 (UUID: GPU-...)
      MIG 3g.40gb     Device  0: (UUID: MIG-...)
"""

from __future__ import annotations

import re
from functools import cache

from provisioner.doctor.facts import Doc, Facts

LITERALS = ("gpu 0", "mib /", "compute m.", "persistence", "fabric", "product name", "geforce", "tesla", "quadro", "mig ")


@cache
def _c(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_NAME = (
    r"\b((?:NVIDIA )?(?:GeForce )?(?:RTX|GTX|GT|MX)[ -]?(?:PRO )?A?\d{3,4}(?! ?series)(?: ?(?:Ti|SUPER|D|Ada(?: Generation)?|Max-Q|"
        r"Blackwell|Laptop GPU|Laptop|Mobile|Ti SUPER|Workstation Edition|Server Edition)\b){0,3}"
    r"|(?:NVIDIA )?(?:GeForce )?(?:GTX )?TITAN(?: (?:X|Xp|V|RTX|Black|Z)\b)*"
    r"|(?:NVIDIA )?(?:Tesla|Quadro) ?(?:RTX )?[A-Z]{0,2}\d{2,4}[A-Zm]?(?:[ -](?:SXM2?|PCIE|\d\dGB)\b[-\w]*)*"
    r"|(?:NVIDIA )?(?:A|H|B|GB|GH|L|T|V|P|K)(?:100|200|300|800|10G|10M?|16|2|20|30|40S?|4|1000)(?:[ -](?:SXM\d?|PCIe|NVL|HBM3e?|HGX|"
        r"\d\dC?|\d{2,3}GB|80GB HBM3|PCIE|Superchip|480GB)\b[-\w]*)*(?![\w.])"
    r"|(?:NVIDIA )?(?:K80|K40m?|K20|M40|M60|P4|T4G?|V100S?|P100|GB10|L40S?|A6000|A5000|A4000|GH200)\b"
    r"|(?:NVIDIA )?(?:Jetson )?(?:AGX |Orin |Xavier )?(?:Orin|Xavier|Thor|Nano)(?: (?:NX|Nano|AGX))?\b)"
)
_LISTED = (
    ("gpu ", r"^(?:gpu models and configuration: ?)?gpu ?#?\d+(?::| =|,| is) ?\(?((?:nvidia|geforce|tesla|quadro|titan|"
        r"graphics device|rtx|gtx|a\d|h\d|l\d|b\d|gb|gh)[^(;,/|]{2,50}?)(?: \(uuid.*| \(|;|,| /|$|\|)"),
    ("gpu", r"gpu models and configuration: (?!gpu)((?:nvidia|geforce|tesla|quadro|titan|a\d|h\d|l\d)[^(;,/|]{2,50}?)$"),
    ("product name", r"product name ?: (\S.{2,50})$"),
    ("name", r"^(?:device )?name ?[:=] ?((?:nvidia|geforce|tesla|quadro|titan)[^,;|]{2,50})$"),
    ("with cuda capability", r"^(?:userwarning: )?(\S.{2,50}?) with cuda capability"),
    ("capability", r"found gpu\d+ (\S.{1,50}?) which is of (?:cuda|compute) capability"),
    ("gpu:", r"\bgpus?: ?(?:\d ?x ?)?((?:nvidia|geforce|tesla|quadro|titan|rtx|gtx|[ahltvpkbg]\d)[^(;,/|]{1,40}?)(?: \(|;|,|$|\|| /)"),
    ("get_device_name", r"get_device_name\([^)]{0,12}\)\)?[ :>=-]{0,6}['\"]?((?:nvidia|geforce|tesla|quadro|titan)[^'\"]{2,40})"),
)
_ROW = (
    r"^\|\s{1,4}(\d{1,2})\s{1,3}(\S.{2,32}?)\s{2,}(?:On|Off|N/A|TCC|WDDM|MCDM|ERR!)?\s{0,6}(?:WDDM|TCC)?\s{0,4}\|"
    r"\s{1,3}([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)"
)
_MEMORY = r"\|\s{1,6}(\d+)MiB /\s{1,6}(\d+)MiB \|\s{1,8}(\d{1,3}|N/A)%?\s{1,8}(\S.{0,14}?)\s\|"


def read(doc: Doc, facts: Facts) -> None:
    """GPU names (fact gpu; strength 3 listed by a program, 1 named in passing), memory, utilisation, modes."""
    for literal, pattern in _LISTED:
        for here in doc.find(literal)[:64]:
            found = _c(pattern).search(doc.lines[here].text)
            if found:
                facts.add("gpu", _tidy(found[1]), doc.lines[here], 3)
    for here in doc.find("|")[:400]:
        line = doc.lines[here]
        raw = line.raw.strip()
        row = _c(_ROW).match(raw)
        if row:
            facts.add("gpu", _tidy(row[2]), line, 3)
            facts.add("smi_index", row[1], line, 3)
        memory = _c(_MEMORY).search(raw)
        if memory:
            facts.add("smi_memory", f"{memory[1]} {memory[2]}", line, 3)
            facts.add("smi_util", memory[3], line, 3)
            facts.add("compute_mode", memory[4], line, 3)
    for here in doc.find("fabric")[:50]:
        if doc.lines[here].text.lower() == "fabric":
            for below in doc.lines[here + 1:here + 3]:
                state = _c(r"^(state|status) ?: (.{2,40})$").match(below.text)
                if state:
                    facts.add("fabric", state[2], below, 3)
    for here, each in enumerate(doc.lower[:4000]):
        if any(word in each for word in ("rtx", "gtx", "tesla", "quadro", "titan", "a100", "h100", "h200", "b200", "gb200", "gb10",
        "v100", "p100",
                                         "k80", "m40", "t4", "l4", "a10", "a6000", "a40", "b300", "gh200", "orin", "xavier", "thor",
                                         "geforce", "gt ", "mx", "p40", "p4", "l40", "k40", "b100", "h800", "a800", "h20", "a30")):
            for found in _c(_NAME).finditer(doc.lines[here].text):
                facts.add("gpu", _tidy(found[1]), doc.lines[here], 1)


def _tidy(name: str) -> str:
    return re.sub(r"\s?\.{2,}$|[.,;)]+$", "", " ".join(name.split())).strip()
