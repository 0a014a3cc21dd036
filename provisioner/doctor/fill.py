"""Filling values into the texts of rules."""

from __future__ import annotations

import re

_OPTIONAL = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
_LATIN_THEN_HAN = re.compile(r"[A-Za-z0-9][\u4e00-\u9fff]")
_SLOT = re.compile(r"\{([a-z_0-9]+)\}")
#: how an unknown value is written in a command
_UNKNOWN = {
    "built_dash": "<X-Y>", "built_cuda": "<X.Y>", "plan_branch": "<branch>", "legacy_branch": "<branch>", "driver_branch": "<branch>",
    "driver": "<version>", "best_index": "https://download.pytorch.org/whl/<cuXYZ>", "same_index": "https://download.pytorch.org/whl/<cuXYZ>",
    "fit_index": "https://download.pytorch.org/whl/<cuXYZ>", "new_index": "https://download.pytorch.org/whl/<cuXYZ>",
    "old_index": "https://download.pytorch.org/whl/<cuXYZ>", "want_torch": "<version>", "good_python": "<3.N>", "gcc_fit": "<N>",
    "mac_last": "<version>", "keyring_url": "<address of cuda-keyring for this system>", "repo_url": "<address of the repository>",
    "sm_dot": "<X.Y>", "torch_pin": "", "torchvision_pin": "", "jetson_index": "<address for this JetPack>",
}


def fill(text: str, values: dict[str, str]) -> str:
    """`{name}` becomes its value, else `<name>`; a part in `[[...]]` is left out when one of its values is unknown."""

    def optional(found: re.Match[str]) -> str:
        if all(values.get(name) for name in _SLOT.findall(found[1])):
            return found[1]
        around = found.string[max(0, found.start() - 1):found.start()] + found.string[found.end():found.end() + 1]
        return " " if _LATIN_THEN_HAN.fullmatch(around) else ""  # the part stood for the space between the scripts

    text = _OPTIONAL.sub(optional, text)
    return _SLOT.sub(lambda found: values.get(found[1]) or _UNKNOWN.get(found[1], f"<{found[1].replace('_', '-')}>"), text)
