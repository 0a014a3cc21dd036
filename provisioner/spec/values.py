"""What a well-formed value is. Whether it exists is for the catalogue and the solver to say."""

from __future__ import annotations

from provisioner.versions import Range, is_dotted

TEXT_LIMIT = 300
KINDS = ("host", "container", "wsl", "jetson")
ARCHES = ("x86_64", "aarch64")
FLAVOURS = ("auto", "open", "proprietary")
SOURCES = ("auto", "vendor", "distro", "runfile", "preinstalled")
INSTALLERS = ("pip", "uv", "conda", "pixi")
PREFERENCES = ("newest", "conservative", "least-change")
#: Spellings of the same architecture that people and systems use.
ARCH_ALIASES = {"amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64", "arm64": "aarch64", "sbsa": "aarch64"}


def is_version(text: str) -> bool:
    """Dotted numbers: "2.35"."""
    return 0 < len(text) <= 60 and is_dotted(text) and "+" not in text


def is_range(text: str) -> bool:
    """A PEP 440 range, an exact version, or `*`."""
    if not 0 < len(text) <= TEXT_LIMIT:
        return False
    try:
        Range(text)
    except ValueError:
        return False
    return True


def is_torch(text: str) -> bool:
    """A range or `latest`."""
    return text == "latest" or is_range(text)


def is_cuda(text: str) -> bool:
    """ "12.4", "cu124", "cpu", or a range."""
    if text == "cpu":
        return True
    if text.startswith("cu"):
        return text[2:].isascii() and text[2:].isdigit() and 2 <= len(text[2:]) <= 4
    return is_range(text)


def is_toolkit(text: str) -> bool:
    """none, match, or a range."""
    return text in ("none", "match") or is_range(text)


def is_bundled(text: str) -> bool:
    """bundled, or a range."""
    return text == "bundled" or is_range(text)


def is_package(text: str) -> bool:
    """A distribution's name as PEP 508 has it."""
    return 0 < len(text) <= 100 and text.isascii() and all(each.isalnum() or each in "-_." for each in text) \
        and text[0].isalnum() and text[-1].isalnum()


def is_path(text: str) -> bool:
    """An absolute path on Linux or Windows, or one below the home folder."""
    return text[:1] in ("/", "~") or (text[1:3] in (":\\", ":/") and text[:1].isalpha())


def package_key(name: str) -> str:
    """A distribution's name in its canonical spelling (PEP 503)."""
    folded = name.lower().replace("_", "-").replace(".", "-")
    while "--" in folded:
        folded = folded.replace("--", "-")
    return folded
