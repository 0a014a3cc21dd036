"""Python tracebacks: which package the deepest frame before an error lies in, so that torch's own faults and those of
extensions are told apart.

      File "/venv/lib/python3.11/site-packages/flash_attn/flash_attn_interface.py", line 96, in _flash_attn_forward
    RuntimeError: CUDA error: no kernel image is available for execution on the device
"""

from __future__ import annotations

import re

from provisioner.doctor.facts import Doc, Facts

LITERALS = ('file "', "site-packages", "traceback", "error:")

_FRAME = re.compile(r"file \"?([^\"]{1,300}?)\"?, line \d+", re.IGNORECASE)
_PACKAGE = re.compile(r"(?:site|dist)-packages[\\/]([\w-]+)|[\\/](torch|torchvision|flash_attn|xformers)[\\/]", re.IGNORECASE)
_ERROR = re.compile(r"^(?:[\w.]*\.)?([A-Z]\w*(?:Error|Exception|Warning)): ?(.{0,200})")


def read(doc: Doc, facts: Facts) -> None:
    """Facts `frame_package` (packages of the frames, the deepest last) and `raised` (error classes)."""
    for here in doc.find('file "')[-200:] or doc.find(", line ")[-100:]:
        found = _FRAME.search(doc.lines[here].text)
        package = _PACKAGE.search(found[1]) if found else None
        if package:
            facts.add("frame_package", (package[1] or package[2]).lower().replace("-", "_"), doc.lines[here], 2)
    for here in doc.find("error")[-100:]:
        found = _ERROR.match(doc.lines[here].text)
        if found:
            facts.add("raised", found[1], doc.lines[here], 2)
