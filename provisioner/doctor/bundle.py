"""JSON as evidence: the facts of a probe, a saved bundle, or the document of the smoke test, said in lines that the readers know.

    {"torch": {"version": "2.8.0+cu128"}}  ->  PyTorch version: 2.8.0+cu128

Each line's number is its place among the values, and its text starts as a program would print it; values nobody could find out
are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from provisioner.doctor.clean import LONGEST, Line, line

# The end of a dotted path (lower case; list indices as [n]), and how a program says the same. {v} is the value, {i} the index.
_SAID: tuple[tuple[str, str], ...] = tuple((pattern, said) for pattern, said in (
    (r"driver(?:\.|_)?(?:kernel_|loaded_)?(?:module|version|proc)?(?:\.(?:version|value|module))?$", "Driver Version: {v}"),
    (r"(?:nvml|user_?space|library)(?:_|\.)?version$", "NVML library version: {v}"),
    (r"(?:^|\.)torch(?:\.version|\.__version__|_version)?(?:\.value)?$", "PyTorch version: {v}"),
    (r"torch\.(?:version\.)?cuda(?:_version|_build)?$|built_cuda$", "CUDA used to build PyTorch: {v}"),
    (r"(?:cuda_available|is_available)$", "Is CUDA available: {v}"),
    (r"device_count$", "torch.cuda.device_count(): {v}"),
    (r"(?:gpus?|devices|cards)\[(\d+)\](?:\.(?:name|product))?$", "GPU {i}: {v}"),
    (r"(?:capability|compute_cap(?:ability)?|\.sm)$", "compute capability {v}"),
    (r"arch_list$", "torch.cuda.get_arch_list() {v}"),
    (r"(?:^|\.)python(?:\.version|_version)?(?:\.value)?$", "Python version: {v}"),
    (r"kernel(?:\.release|\.version|_release)?(?:\.value)?$", "kernel: {v}"),
    (r"(?:^|\.)(?:os|system|distribution)(?:\.(?:name|pretty_name|id|version))?(?:\.value)?$", "OS: {v}"),
    (r"(?:arch|architecture|machine)(?:\.value)?$", "Architecture: {v}"),
    (r"glibc(?:\.version)?(?:\.value)?$", "Libc version: glibc-{v}"),
    (r"fabric(?:\.state)?$", "Fabric state: {v}"),
    (r"compute_mode$", "Compute mode: {v}"),
    (r"nvcc(?:\.version)?$", "nvcc: release {v}"),
))
_TRUE = (  # a path whose value is true, and what a program prints then
    (r"secure_?boot(?:\.enabled|\.value)?$", "SecureBoot enabled"),
    (r"nouveau(?:\.loaded|\.active|\.value)?$", "lsmod: nouveau loaded"),
    (r"nova(?:_core)?(?:\.loaded|\.active|\.value)?$", "Kernel driver in use: nova_core"),
    (r"wsl(?:\.value)?$", "microsoft-standard WSL2"),
)
_VARIABLE = re.compile(r"(?:^|\.)([A-Z][A-Z0-9_]{3,})$")


def lines(document: Any, source: str) -> list[Line]:
    """The document's values as lines."""
    from provisioner.doctor import probed

    if probed.is_probe(document):
        return probed.lines(document, source)
    made: list[Line] = []
    for number, text in enumerate(_told("", document), 1):
        for piece in text.split("\n"):
            found = line(source, number, piece[:LONGEST])
            if found is not None and found.text:
                made.append(found)
    return made


def _told(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _told(f"{path}.{name}" if path else str(name), each)
        return
    if isinstance(value, list) and value and all(isinstance(each, str) and each.startswith(("sm_", "compute_")) for each in value):
        yield _say(path, "[" + ", ".join(f"'{each}'" for each in value) + "]")
        return
    if isinstance(value, list) and len(value) == 2 and all(isinstance(each, int) for each in value) and "capab" in path:
        yield _say(path, f"{value[0]}.{value[1]}")
        return
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from _told(f"{path}[{at}]", each)
        return
    if value is None or value == "":
        return
    if isinstance(value, str) and "\n" in value:  # a program's own output
        yield value
        return
    if value is True:
        for pattern, said in _TRUE:
            if re.search(pattern, path.lower()):
                yield said
                return
    yield _say(path, str(value))


def _say(path: str, value: str) -> str:
    variable = _VARIABLE.search(path)
    if variable:
        return f"{variable[1]}={value}"
    for pattern, said in _SAID:
        found = re.search(pattern, path.lower())
        if found:
            return said.format(v=value, i=found[1] if found.re.groups else "")
    return f"{path}: {value}"
