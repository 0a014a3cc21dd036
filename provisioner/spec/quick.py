"""The fast way: a valid spec straight from the tree, without pydantic. Anything unusual gives None, and the slow way tells why."""

from __future__ import annotations

from provisioner.spec import values
from provisioner.spec.nodes import Mapping, Scalar, Sequence, is_null
from provisioner.spec.types import DriverWish, Place, Spec, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from provisioner.spec.nodes import Node


class _Unusual(Exception):
    """Not a plain valid spec."""


def read(root: Node, file: str) -> Spec | None:
    """The spec, or None when the slow way has to look at it."""
    if not isinstance(root, Mapping):
        return None
    try:
        return _spec(root, file)
    except _Unusual:
        return None


def where(root: Mapping) -> tuple[tuple[str, Place], ...]:
    """The place of every value that the user wrote, by dotted path; list items as `gpus[0]`."""
    found: list[tuple[str, Place]] = []

    def walk(node: Node, path: str, place: Place) -> None:
        if path:
            found.append((path, place))
        if isinstance(node, Mapping):
            for key, value in node.items.items():
                mark = node.keys[key]
                walk(value, f"{path}.{key}" if path else key, Place(mark.line, mark.column))
        elif isinstance(node, Sequence):
            for number, item in enumerate(node.items):
                walk(item, f"{path}[{number}]", Place(item.line, item.column))

    walk(root, "", Place(1, 1))
    return tuple(found)


_TOP = {"spec", "name", "target", "gpus", "driver", "torch", "cuda", "python", "toolkit", "cudnn", "nccl", "packages", "installer",
        "environment", "prefer"}
_TARGET = {"os", "arch", "kind", "glibc", "kernel", "secure_boot", "gcc", "l4t", "jetpack", "windows", "nvswitch"}
_DRIVER = {"version", "flavour", "source", "keep"}


def _spec(root: Mapping, file: str) -> Spec:
    items = root.items
    if not items.keys() <= _TOP or _text(items.get("spec")) != "1":
        raise _Unusual
    target = items.get("target")
    if isinstance(target, Mapping):
        made = _target(target)
    else:
        made = shorthand(_short(target))
    return Spec(
        target=made, name=_name(items.get("name")), gpus=_gpus(items.get("gpus")), driver=_driver(items.get("driver")),
        torch=_optional(items, "torch", values.is_torch), cuda=_optional(items, "cuda", values.is_cuda),
        python=_optional(items, "python", values.is_range), toolkit=_given(items, "toolkit", values.is_toolkit, "none"),
        cudnn=_given(items, "cudnn", values.is_bundled, "bundled"), nccl=_given(items, "nccl", values.is_bundled, "bundled"),
        packages=_packages(items.get("packages")), installer=_choice(items, "installer", values.INSTALLERS, "pip"),
        environment=_environment(items), prefer=_choice(items, "prefer", values.PREFERENCES, "newest"), where=where(root), file=file)


def shorthand(os: str) -> Target:
    """`target: ubuntu2204`; `wsl-ubuntu` and `wsl-<system>` alone mean that system inside WSL."""
    if os == "wsl-ubuntu":
        return Target("ubuntu2204", kind="wsl")
    return Target(os[4:], kind="wsl") if os.startswith("wsl-") and len(os) > 4 else Target(os)


def _text(node: Node | None) -> str:
    """A scalar's text; not null, true or false."""
    if not isinstance(node, Scalar) or is_null(node) or (node.plain and node.text in _BOOLS):
        raise _Unusual
    return node.text


_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def _short(node: Node | None) -> str:
    text = _text(node)
    if not text.strip() or len(text) > values.TEXT_LIMIT or any(ord(each) < 32 for each in text):
        raise _Unusual
    return text


def _name(node: Node | None) -> str:
    if node is None or (isinstance(node, Scalar) and not node.plain and node.text == ""):
        return ""
    return _short(node)


def _bool(node: Node | None) -> bool:
    if isinstance(node, Scalar) and node.plain and node.text in _BOOLS:
        return _BOOLS[node.text]
    raise _Unusual


def _well(node: Node | None, test: object) -> str:
    text = _text(node)
    if not test(text):  # type: ignore[operator]
        raise _Unusual
    return text


def _optional(items: dict[str, Node], key: str, test: object) -> str | None:
    node = items.get(key)
    return None if node is None or is_null(node) else _well(node, test)


def _given(items: dict[str, Node], key: str, test: object, default: str) -> str:
    return _well(items[key], test) if key in items else default


def _choice(items: dict[str, Node], key: str, known: tuple[str, ...], default: str) -> str:
    if key not in items:
        return default
    text = _text(items[key])
    if text not in known:
        raise _Unusual
    return text


def _environment(items: dict[str, Node]) -> str:
    if "environment" not in items:
        return "/opt/torch"
    text = _short(items["environment"])
    if not values.is_path(text):
        raise _Unusual
    return text


def _target(node: Mapping) -> Target:
    items = node.items
    if not items.keys() <= _TARGET:
        raise _Unusual
    arch = _text(items["arch"]) if "arch" in items else "x86_64"
    arch = values.ARCH_ALIASES.get(arch, arch)
    if arch not in values.ARCHES:
        raise _Unusual
    flags = {key: None if key not in items or is_null(items[key]) else _bool(items[key]) for key in ("secure_boot", "nvswitch")}
    versions = {key: _optional(items, key, values.is_version) for key in ("glibc", "kernel", "gcc", "l4t", "jetpack", "windows")}
    base = shorthand(_short(items.get("os")))
    kind = _choice(items, "kind", values.KINDS, base.kind)
    return Target(base.os, arch, kind, secure_boot=flags["secure_boot"], nvswitch=flags["nvswitch"], **versions)


def _gpus(node: Node | None) -> tuple[str, ...] | None:
    if node is None or is_null(node):
        return None
    if isinstance(node, Sequence):
        return tuple(_short(item) for item in node.items)
    if _text(node) == "none":
        return ()
    raise _Unusual


def _driver(node: Node | None) -> DriverWish:
    if node is None or is_null(node):
        return DriverWish()
    if not isinstance(node, Mapping):
        return DriverWish(_well(node, values.is_range))
    items = node.items
    if not items.keys() <= _DRIVER:
        raise _Unusual
    version = _optional(items, "version", values.is_range)
    keep = _bool(items["keep"]) if "keep" in items else False
    if keep and not (version and values.is_version(version)):
        raise _Unusual
    return DriverWish(version, _choice(items, "flavour", values.FLAVOURS, "auto"), _choice(items, "source", values.SOURCES, "auto"), keep)


def _packages(node: Node | None) -> tuple[tuple[str, str], ...]:
    if node is None:
        return ()
    if not isinstance(node, Mapping):
        raise _Unusual
    made: list[tuple[str, str]] = []
    seen: set[str] = set()
    for name, value in node.items.items():
        if not values.is_package(name) or (key := values.package_key(name)) == "torch" or key in seen:
            raise _Unusual
        seen.add(key)
        made.append((name, _well(value, values.is_range)))
    return tuple(made)
