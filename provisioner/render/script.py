"""Filling a format's templates.

Every value that a template inserts is quoted for its shell unless the template says otherwise (`raw`, `comment`); a name that is
not defined is an error. So no text of a spec or a lock can become code.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound

from provisioner import __version__, resources
from provisioner.errors import Problem, nearest
from provisioner.render.steps import Step, build


class Raw(str):
    """Text that goes into the output as it is: a template's own, never a user's."""


def _comment(value: object) -> Raw:
    """A value inside a comment: one line, printable."""
    return Raw("".join(each if each.isprintable() else " " for each in str(value)))


def _version(value: object) -> Raw:
    """A version where no quotes can stand (an apt preferences file): digits, letters and dots only."""
    text = str(value)
    if not text or not all(each.isascii() and (each.isalnum() or each in ".-+~") for each in text):
        raise Problem("bad-version", f"{text!r} is not a driver version", todo="write the lock anew with `provision plan`")
    return Raw(text)


def _posix(value: object) -> str:
    """A value for a POSIX shell; lists become several words."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, (list, tuple)):
        return " ".join(_posix(each) for each in value)
    return shlex.quote(_printable(str(value)))


def _printable(text: str) -> str:
    """`text` when no character in it could end a line or a here-document. Raises Problem."""
    for each in text:
        if ord(each) < 32 or 0x7F <= ord(each) < 0xA0 or each in "\u2028\u2029":
            raise Problem("control-character", f"{text!r} has a control character", todo="remove it from the spec, then run `provision plan` again")
    return text


def _powershell(value: object) -> str:
    """A value for PowerShell: a single-quoted string."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, (list, tuple)):
        return ", ".join(_powershell(each) for each in value)
    text = _printable(str(value))
    for quote in "\u2018\u2019\u201a\u201b'":  # PowerShell takes typographic quotes for quotes
        text = text.replace(quote, quote * 2)
    return f"'{text}'"


_QUOTES = {"posix": _posix, "powershell": _powershell, "json": lambda value: value if isinstance(value, Raw) else json.dumps(value, ensure_ascii=False)}


def render(lock: dict[str, Any], target: str, as_format: str, lang: str = "en") -> dict[str, str]:
    """The files, by name. Raises Problem (status 2)."""
    from provisioner.render import formats

    known = formats()
    if as_format not in known:
        near = nearest(as_format, known)
        raise Problem("no-such-format", f"there is no format {as_format!r}" if lang != "zh" else f"没有格式 {as_format!r}",
                      todo=f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}")
    system = lock["artefacts"].get("system") or {}
    names = [str(lock["choices"]["os"]), *map(str, system.get("aliases") or [])]
    if target not in names:
        what = f"this lock is for {names[0]}, not for {target}" if lang != "zh" else f"此锁文件针对 {names[0]},而不是 {target}"
        raise Problem("other-target", what, because="driver, repository and package names were chosen for that system",
                      todo=f"render it with `--target {names[0]}`, or change `target` in the spec and run `provision plan` again")
    folder = os.path.join(resources.templates(), as_format)
    with open(os.path.join(folder, "format.yaml"), encoding="utf-8") as stream:
        about = yaml.safe_load(stream)
    targets = about.get("families")
    if targets and system.get("family") not in targets:
        raise Problem("format-target", f"the format {as_format} is not for {names[0]}",
                      todo=f"formats for it: {', '.join(_for_family(str(system.get('family')), known)) or 'none yet'}")
    quote = _QUOTES[about["quote"]]
    environment = Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined, finalize=quote, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
                              comment_start_string="{##", comment_end_string="##}")
    environment.filters |= {"raw": Raw, "comment": _comment, "raw_version": _version}
    environment.globals["is_zh"] = lang == "zh"
    steps = build(lock)
    manager = str(system.get("package_manager") or "none")
    values: dict[str, Any] = {"lock": lock, "steps": steps, "lang": lang, "manager": manager, "system": system, "tool": __version__,
              "part": lambda step: _part(environment, step, manager, values), "check_program": _check_program,
              "reboots": any(step.id == "reboot" for step in steps)}
    made: dict[str, str] = {}
    for name, template in about["files"].items():
        made[name] = environment.get_template(template).render(values)
    return made


def _for_family(family: str, known: list[str]) -> list[str]:
    found = []
    for name in known:
        with open(os.path.join(resources.templates(), name, "format.yaml"), encoding="utf-8") as stream:
            about = yaml.safe_load(stream)
        if not about.get("families") or family in about["families"]:
            found.append(name)
    return found


def _part(environment: Environment, step: Step, manager: str, values: dict[str, Any]) -> Raw:
    """The text of one step: the template for this package manager, else the general one."""
    for name in (f"steps/{step.id}.{manager}.j2", f"steps/{step.id}.j2"):
        try:
            template = environment.get_template(name)
        except TemplateNotFound as fault:
            if fault.name != name:
                raise
            continue
        return Raw(template.render(values | {"step": step, **step.values}).strip("\n"))
    raise Problem("step-not-supported", f"this format cannot do the step {step.id!r} with {manager}",
                  todo="render it as another format, or do that step by hand")


def _check_program() -> Raw:
    """The check that runs at the end, as text: the same for every format."""
    with open(os.path.join(resources.templates(), "check.py"), encoding="utf-8") as stream:
        return Raw(stream.read().rstrip("\n"))
