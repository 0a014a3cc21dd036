"""Reading a spec: every problem in one pass, each with its line and column; and writing one."""

from __future__ import annotations

import os

from provisioner.errors import Problem, ProblemList, nearest
from provisioner.spec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.spec.nodes import Mapping, Node
    from provisioner.spec.types import Spec

LIMIT = 1 << 20
PATIENCE = 20.0  # seconds that a pipe may stay silent


def load(path: str, *, text: bytes | None = None, lang: str = "en") -> Spec:
    """The spec in the file `path`, or in `text` under that name.

    Raises ProblemList with everything that is wrong, each with file, line and column."""
    from provisioner.spec import plain, quick

    content = _decode(_bytes(path, lang) if text is None else text, path, lang)
    simple = plain.read(content)
    if simple is not None:
        spec = quick.read(simple, path)
        if spec is not None:
            return spec

    from provisioner.spec import tree

    root, problems = tree.read(content, path, lang)
    if root is None or tree.is_null(root):
        if not problems:
            problems = [Problem("spec-empty", say(lang, "empty"), todo=say(lang, "empty-todo"), file=path, line=1)]
        raise ProblemList(problems)
    if not problems:
        spec = quick.read(root, path)
        if spec is not None:
            return spec
    problems += slow(root, path, lang)
    if problems:
        raise ProblemList(sorted(problems, key=lambda each: (each.line, each.column)))
    raise ProblemList([Problem("spec-shape", say(lang, "not-mapping"), file=path, line=1)])


def _bytes(path: str, lang: str) -> bytes:
    """The file's bytes. Raises ProblemList."""
    import stat

    def refuse(name: str, todo: str = "", because: str = "") -> ProblemList:
        return ProblemList([Problem(f"spec-{name}", say(lang, name, path=path), todo=todo, because=because, file=path)])

    try:
        mode = os.stat(path).st_mode
    except OSError as fault:
        if isinstance(fault, FileNotFoundError):
            raise refuse("missing-file", _near_files(path, lang)) from None
        raise refuse("unreadable", because=fault.strerror or str(fault)) from None
    except ValueError:  # a NUL in the name
        raise refuse("missing-file") from None
    if stat.S_ISDIR(mode):
        raise refuse("folder", say(lang, "folder-todo"))
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise refuse("not-regular")
    try:
        if stat.S_ISFIFO(mode):
            content = _from_pipe(path)
            if content is None:
                raise refuse("pipe")
            return content
        with open(path, "rb") as stream:
            return stream.read(LIMIT + 1)
    except OSError as fault:
        raise refuse("unreadable", because=fault.strerror or str(fault)) from None


def _from_pipe(path: str) -> bytes | None:
    """What comes through a pipe, None when nobody writes: `provision plan <(generate)` is fine, a forgotten one must not hang us."""
    import select

    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as stream:
        if not select.select([handle], [], [], PATIENCE)[0]:
            return None
        os.set_blocking(handle, True)
        return stream.read(LIMIT + 1)


def _near_files(path: str, lang: str) -> str:
    folder = os.path.dirname(path) or "."
    try:
        known = [name for name in os.listdir(folder) if name.endswith((".yaml", ".yml"))]
    except OSError:
        known = []
    near = nearest(os.path.basename(path), known)
    if near:
        return say(lang, "near-files", names=", ".join(os.path.join(os.path.dirname(path), name) for name in near))
    return say(lang, "missing-todo")


def _decode(content: bytes, path: str, lang: str) -> str:
    """The text of the bytes. Raises ProblemList."""
    if len(content) > LIMIT:
        raise ProblemList([Problem("spec-too-big", say(lang, "too-big"), todo=say(lang, "too-big-todo"), file=path)])
    try:
        text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as fault:
        raise ProblemList([Problem(
            "spec-encoding", say(lang, "encoding", byte=fault.start + 1), todo=say(lang, "encoding-todo"), file=path,
            line=content[:fault.start].count(b"\n") + 1)]) from None
    if not text.isprintable():
        for number, line in enumerate(text.split("\n"), 1):
            for column, each in enumerate(line, 1):
                code = ord(each)
                if each not in "\t\r" and (code < 32 or 0x7F <= code < 0xA0 or code in (0xFFFE, 0xFFFF) or 0xD800 <= code < 0xE000):
                    raise ProblemList([Problem(
                        "spec-control", say(lang, "control", char=f"U+{code:04X}"), todo=say(lang, "control-todo"), file=path,
                        line=number, column=column)])
    return text


# The slow way: pydantic's report, told in our words ------------------------------------------------------------------------------

#: Words that people write for a key or a value of the format and that spelling alone does not bring near.
_MEANT = {
    "pytorch": "torch", "os": "target", "system": "target", "machine": "target", "host": "target", "platform": "target",
    "gpu": "gpus", "cards": "gpus", "devices": "gpus", "cuda_version": "cuda", "cuda-version": "cuda", "wheel": "cuda",
    "python_version": "python", "version": "spec", "nvidia_driver": "driver", "nvidia-driver": "driver", "venv": "environment",
    "env": "environment", "path": "environment", "prefix": "environment", "manager": "installer", "package_manager": "installer",
    "extras": "packages", "companions": "packages", "dependencies": "packages", "nvcc": "toolkit", "cuda_toolkit": "toolkit",
    "preference": "prefer", "distribution": "os", "distro": "os", "id": "os", "libc": "glibc", "compiler": "gcc",
    "secureboot": "secure_boot",
    # values
    "mamba": "conda", "miniconda": "conda", "conda-forge": "conda", "anaconda": "conda", "micromamba": "conda", "docker": "container",
    "podman": "container", "wsl2": "wsl", "bare-metal": "host", "baremetal": "host", "vm": "host", "kernel-open": "open",
    "closed": "proprietary", "legacy": "proprietary", "nvidia": "vendor", "repository": "vendor", "latest": "newest",
    "stable": "conservative", "minimal": "least-change"}


def slow(root: Node, path: str, lang: str) -> list[Problem]:
    """Everything that pydantic finds wrong with the tree."""
    from pydantic import ValidationError

    from provisioner.spec import model, tree

    if not isinstance(root, tree.Mapping):
        return [Problem("spec-not-mapping", say(lang, "not-mapping"), todo=say(lang, "empty-todo"), file=path, line=root.line,
                        column=root.column)]
    try:
        model.SpecModel.model_validate(tree.plain(root))
    except ValidationError as fault:
        told: list[Problem] = []
        seen: set[tuple[object, ...]] = set()
        for error in fault.errors(include_url=False):
            problem = _problem(error, root, path, lang)
            if problem is not None and (key := (problem.line, problem.column, problem.code)) not in seen:
                seen.add(key)
                told.append(problem)
        return told
    return []


def _place(root: Node, location: tuple[Any, ...]) -> tuple[Node, tuple[str, ...], int, int]:
    """The node at a pydantic location, the dotted path to it, and where its key or item stands."""
    from provisioner.spec import tree

    node: Node = root
    path: list[str] = []
    line, column = root.line, root.column
    for part in location:
        if isinstance(node, tree.Mapping) and part in node.items:
            key = node.keys[part]
            node, line, column = node.items[part], key.line, key.column
            path.append(str(part))
        elif isinstance(node, tree.Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            line, column = node.line, node.column
            path.append(str(part))
        elif part in ("[key]",):
            continue
    return node, tuple(path), line, column


def _dotted(path: tuple[str, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if part.isdigit() else f".{part}" if text else part
    return text


def _shown(node: Node) -> str:
    from provisioner.spec import tree

    if isinstance(node, tree.Scalar):
        return repr(node.text) if len(node.text) <= 60 else repr(node.text[:57] + "...")
    return "a list" if isinstance(node, tree.Sequence) else "a mapping"


def _near(word: str, known: list[str]) -> list[str]:
    meant = _MEANT.get(word.lower(), "")
    return [meant] if meant in known else nearest(word, known)


def _problem(error: Any, root: Mapping, file: str, lang: str) -> Problem | None:
    """One of pydantic's errors as ours; None when it speaks of the other branch of an either-or."""
    from provisioner.spec import model, tree

    kind, location = str(error["type"]), tuple(error["loc"])
    branches = [part for part in location if isinstance(part, str) and part.startswith(
        ("function-", "literal", "list[", "constrained", "str", "TargetModel", "DriverModel"))]
    clean = tuple(part for part in location if part not in branches)
    node, path, line, column = _place(root, clean)
    if isinstance(node, tree.Scalar) and node.text == tree.REFUSED:
        return None  # told already, for what it is
    key = _dotted(path)
    # `target`, `driver` and `gpus` take a text or a collection: keep the report of the branch that the user meant.
    if branches:
        top, _, _, _ = _place(root, clean[:1])
        wants_mapping = any("TargetModel" in part or "DriverModel" in part for part in branches)
        wants_list = any(part.startswith("list[") for part in branches)
        if isinstance(top, tree.Mapping) != wants_mapping and clean[:1] != ("gpus",):
            return None
        if clean[:1] == ("gpus",) and isinstance(top, tree.Sequence) != wants_list:
            return None

    def made(name: str, todo: str = "", what: str = "", **values: object) -> Problem:
        return Problem(f"spec-{name}", what or say(lang, name, **values), todo=todo, file=file, line=line, column=column)

    if kind == "extra_forbidden":
        owners: dict[str, Any] = {"target": model.TargetModel, "driver": model.DriverModel}
        known = list(owners.get(str(clean[0]) if len(clean) > 1 else "", model.SpecModel).model_fields)
        name = str(clean[-1])
        if name == "<<":
            return made("merge", say(lang, "alias-todo"))
        near = _near(name, known)
        todo = say(lang, "mean", names=" / ".join(near)) if near else say(lang, "known", names=", ".join(known))
        return made("unknown-key", todo, key=key)
    if kind == "missing":
        missing = str(clean[-1])
        todo = say(lang, f"missing-{missing}") if missing in ("target", "spec", "os") else ""
        return made("missing", todo, key=_dotted((*path, missing)))
    if kind == "literal_error":
        if path == ("spec",):
            return made("version", value=_shown(node))
        if clean[:1] == ("gpus",):
            text = node.text if isinstance(node, tree.Scalar) else ""
            return made("list", say(lang, "list-todo", value=text), key=key)
        known = [each.strip().strip("'") for each in str(error["ctx"]["expected"]).replace(" or ", ", ").split(",")]
        near = _near(node.text, known) if isinstance(node, tree.Scalar) else []
        todo = say(lang, "mean", names=" / ".join(near)) if near else say(lang, "known", names=", ".join(known))
        return made("choice", todo, key=key, value=_shown(node))
    if kind == "empty-value" or (isinstance(node, tree.Scalar) and tree.is_null(node) and "type" in kind):
        return made("empty-value", say(lang, "empty-value-todo"), key=key)
    if kind in ("range", "dotted"):
        return made(kind, say(lang, f"{kind}-todo"), key=key, value=_shown(node))
    if kind == "cuda":
        return made("cuda", say(lang, "cuda-todo"), value=_shown(node))
    if kind == "keep":
        return made("keep", say(lang, "keep-todo"))
    if kind in ("package", "package-torch", "package-twice"):
        name = str(error["ctx"]["name"])
        if isinstance(node, tree.Mapping) and name in node.keys:
            line, column = node.keys[name].line, node.keys[name].column
            value = node.items[name]
            if kind == "package-torch":
                return made(kind, say(lang, "package-torch-todo", value=value.text if isinstance(value, tree.Scalar) else "*"))
        return made(kind, value=repr(name))
    if kind == "long":
        from provisioner.spec.values import TEXT_LIMIT

        return made("long", key=key, limit=TEXT_LIMIT)
    if kind == "control":
        return made("control", say(lang, "control-todo"), char=key)
    if kind == "path":
        return made("path")
    shape = {"string_type": "text", "bool_type": "bool", "list_type": "list", "dict_type": "mapping", "model_type": "mapping",
            "model_attributes_type": "mapping"}.get(kind)
    if shape == "list" and isinstance(node, tree.Scalar):
        return made("list", say(lang, "list-todo", value=node.text), key=key)
    if shape == "text" and path in (("target",), ("driver",)):
        return made("text-or-mapping", key=key)
    if shape:
        return made(shape, key=key)
    return made("other", what=f"{key}: {error['msg']}")


# Schema and canonical form -----------------------------------------------------------------------------------------------------------

def schema_text() -> str:
    """The JSON schema of the spec, as text."""
    import json

    from provisioner.spec.model import SpecModel

    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **SpecModel.model_json_schema()}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def normal(spec: Spec) -> dict[str, Any]:
    """The spec's content in one canonical form: what was left out is left out, order and spelling of the file do not matter."""
    from provisioner.spec.types import DriverWish, Spec, Target
    from provisioner.spec.values import package_key

    plain: dict[str, Any] = {"spec": 1}
    value: Any
    for field, value in zip(Spec._fields, spec, strict=True):
        if field in ("where", "file") or value == Spec._field_defaults.get(field, ...):
            continue
        if isinstance(value, Target):
            plain[field] = {key: part for key, part in zip(Target._fields, value, strict=True) if part is not None}
        elif isinstance(value, DriverWish):
            plain[field] = {key: part for key, part in zip(DriverWish._fields, value, strict=True)
                            if part != DriverWish._field_defaults[key]}
        elif field == "packages":
            plain[field] = {package_key(name): wish for name, wish in sorted(value)}
        else:
            plain[field] = list(value) if isinstance(value, tuple) else value
    return plain


def digest(spec: Spec) -> str:
    """`sha256:` and the digest of the canonical form."""
    import hashlib
    import json

    return "sha256:" + hashlib.sha256(json.dumps(normal(spec), sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def write(spec: Spec, lang: str = "en") -> str:
    """A commented spec file with that content."""
    from provisioner.spec import write as room

    return room.write(spec, lang)


def edit(text: str, changes: list[dict[str, Any]]) -> str:
    """`text` with each change {"field": dotted path, "to": value or None} made; comments and everything else stay as they are.

    Raises Problem when a change cannot be written."""
    from provisioner.spec import edit as room

    return room.edit(text, changes)
