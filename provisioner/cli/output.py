"""How results look on a terminal: colour where it is one, columns, wrapped text. Nothing here decides anything."""

from __future__ import annotations

import os
import sys

from provisioner.cli.text import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def coloured(stream: TextIO) -> bool:
    """Whether `stream` gets colour: a terminal, and neither NO_COLOR nor TERM=dumb (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Paint:
    """Wraps words in a style, or leaves them as they are."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.on else text


def width(text: str) -> int:
    """Columns that `text` takes on a terminal: a wide (CJK) character takes two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def columns() -> int:
    """Columns to fill: the terminal's, at most 110; 100 when there is none."""
    if not sys.stdout.isatty():
        return 100
    return max(50, min(110, os.get_terminal_size(sys.stdout.fileno()).columns))


def fold(text: str, first: str = "", rest: str | None = None, limit: int | None = None) -> str:
    """`text` broken into lines of at most `limit` columns, the first behind `first`, the others behind `rest`."""
    rest = " " * width(first) if rest is None else rest
    limit = limit or columns()
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line, used, empty = (first, width(first), True) if not lines else (rest, width(rest), True)
        for word in _words(paragraph):
            size = width(word.rstrip(" "))
            if not empty and used + size > limit:
                lines.append(line.rstrip())
                line, used, empty = rest, width(rest), True
            line, used, empty = line + word, used + width(word), False
        lines.append(line.rstrip())
    return "\n".join(lines)


def _words(text: str) -> list[str]:
    """Pieces that a line may break after: words with their trailing space, single wide characters."""
    pieces: list[str] = []
    word = ""
    for each in text:
        word += each
        if each == " " or ord(each) > 0x2E7F:
            pieces.append(word)
            word = ""
    return [*pieces, word] if word else pieces


def pad(text: str, size: int) -> str:
    """`text` filled up with spaces to `size` columns."""
    return text + " " * (size - width(text))


def json_text(document: Any) -> str:
    """A document as every `--format json` prints it."""
    import json

    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def plan_text(document: dict[str, Any], name: str, lang: str, paint: Paint, spec: str) -> str:
    """A plan for people."""
    choices = document["choices"]
    head = f"{say(lang, 'plan')}{': ' + name if name else ''}  {paint('green', say(lang, 'fits'))}"
    rows: list[tuple[str, str, str]] = [("target", f"{choices['os']} {choices['arch']}", "")]
    gpus = choices.get("gpus") or []
    rows.append(("gpus", ", ".join(gpus) or say(lang, "none"), ""))
    if choices.get("driver"):
        detail = " · ".join(str(choices[key]) for key in ("driver_flavour", "driver_source") if choices.get(key))
        rows.append(("driver", str(choices["driver"]), detail))
    rows.append(("torch", str(choices.get("torch")), f"CUDA {choices['cuda']}" if choices.get("cuda") else "CPU"))
    rows.append(("python", str(choices.get("python")), ""))
    for key in ("cudnn", "nccl"):
        if choices.get(key):
            rows.append((key, str(choices[key]), ""))
    if choices.get("toolkit"):
        rows.append(("toolkit", str(choices["toolkit"]), ""))
    for package, version in (choices.get("packages") or {}).items():
        rows.append((package, str(version), ""))
    if choices.get("index_url"):
        rows.append(("index", str(choices["index_url"]), ""))
    labels = [say(lang, key) if key in _LABELS else key for key, _, _ in rows]
    size = max(width(label) for label in labels) + 2
    wide = max((width(value) for _, value, detail in rows if detail), default=0) + 2
    lines = [paint("bold", head), ""]
    for label, (_, value, detail) in zip(labels, rows, strict=True):
        lines.append(f"  {paint('cyan', pad(label, size))}{pad(value, wide) + paint('dim', detail) if detail else value}")
    lines += _why(document, lang, paint)
    lines += _warnings(document, lang, paint)
    if document.get("steps"):
        lines += ["", paint("bold", say(lang, "steps"))]
        lines += [fold(str(step), f"  {number:2}. ") for number, step in enumerate(document["steps"], 1)]
    if document.get("others"):
        lines += ["", paint("bold", say(lang, "others"))]
        lines += [f"  {number}. {_choices_line(other)}" for number, other in enumerate(document["others"], 2)]
    lines += ["", f"{say(lang, 'next')}: {say(lang, 'next-render', os=choices['os'], spec=spec)}"]
    return "\n".join(lines) + "\n"


_LABELS = {"target", "gpus", "driver", "torch", "python", "cudnn", "nccl", "toolkit", "index"}


def _choices_line(choices: dict[str, Any]) -> str:
    parts = [f"torch {choices.get('torch')}", f"Python {choices.get('python')}"]
    if choices.get("driver"):
        parts.append(" ".join(str(choices[key]) for key in ("driver", "driver_flavour", "driver_source") if choices.get(key)))
    parts += [f"{package} {version}" for package, version in (choices.get("packages") or {}).items()]
    if choices.get("toolkit"):
        parts.append(f"toolkit {choices['toolkit']}")
    return " · ".join(parts)


def _why(document: dict[str, Any], lang: str, paint: Paint) -> list[str]:
    because = document.get("because") or []
    if not because:
        return []
    size = max(width(str(each["choice"])) for each in because) + 2
    lines = ["", paint("bold", say(lang, "why"))]
    return lines + [fold(each["text"], f"  {paint('cyan', pad(str(each['choice']), size))}", " " * (size + 2))
                    if not paint.on else _fold_painted(each, size, paint) for each in because]


def _fold_painted(each: dict[str, Any], size: int, paint: Paint) -> str:
    label = pad(str(each["choice"]), size)
    folded = fold(each["text"], "  " + label, " " * (size + 2))
    return "  " + paint("cyan", label) + folded[2 + len(label):]


def _warnings(document: dict[str, Any], lang: str, paint: Paint) -> list[str]:
    warnings = document.get("warnings") or []
    if not warnings:
        return []
    lines = ["", paint("bold", say(lang, "warnings"))]
    return lines + [paint("yellow", fold(each["text"], "  ! ")) for each in warnings]


def why_text(document: dict[str, Any], paint: Paint) -> str:
    """The reasons of one choice with their facts and sources."""
    lines: list[str] = []
    for each in document["because"]:
        lines += [paint("bold", str(each["choice"])), fold(each["text"], "  ")]
        for fact in each.get("facts") or []:
            told = f"{fact.get('table')} {fact.get('row')}: {fact.get('source')} ({fact.get('confidence')})"
            lines.append(paint("dim", fold(told, "    - ")))
    return "\n".join(lines) + "\n"


def refusal_text(document: dict[str, Any], lang: str, paint: Paint, spec: str) -> str:
    """A refusal for people: the chain, the conflict entries, the ways out."""
    lines = [paint("red", paint("bold", say(lang, "refused")) if not paint.on else say(lang, "refused")), ""]
    if document.get("text"):
        lines += [fold(document["text"], "  "), ""]
    colon = "：" if lang == "zh" else ":"
    lines.append(paint("bold", say(lang, "conflict") + colon))
    for each in document.get("conflict") or []:
        if each.get("kind") == "requirement":
            where = say(lang, "line", line=each["line"]) if each.get("line") else say(lang, "your-spec")
            text = each.get("text") or f"{each.get('field')}: {each.get('value')}"
            lines.append(fold(text, "  - " if where in text else f"  - [{where}] "))
        else:
            lines.append(fold(str(each.get("text")), "  - "))
            if each.get("source"):
                lines.append(paint("dim", fold(f"{say(lang, 'source')}{colon} {each['source']}".replace("： ", "："), "    ")))
    alternatives = document.get("alternatives") or []
    if alternatives:
        lines += ["", paint("bold", say(lang, "alternatives") + colon)]
        for number, each in enumerate(alternatives, 1):
            change = "; ".join(change_text(part) for part in each["change"])
            lines.append(fold(each.get("text") or change, f"  {number}. "))
            lines.append(paint("dim", fold("→ " + _choices_line(each["choices"]), "     ")))
        lines += ["", say(lang, "take", spec=spec)]
    return "\n".join(lines) + "\n"


def change_text(change: dict[str, Any]) -> str:
    """One change of a spec: `torch: ==2.6.* -> >=2.7`."""
    return f"{change['field']}: {_plain(change.get('from'))} → {_plain(change.get('to'))}"


def _plain(value: object) -> str:
    if value is None:
        return "-"
    return ", ".join(_plain(each) for each in value) if isinstance(value, list) else str(value)


def problem_text(problem: Any, lang: str, paint: Paint) -> str:
    """A problem for people, on standard error."""
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)
    lines = [fold(problem.what, f"{place + ': ' if place else ''}{paint('red', say(lang, 'error'))}: ", "  ")]
    if problem.because:
        lines.append(fold(problem.because, f"  {say(lang, 'because')}: "))
    if problem.todo:
        lines.append(fold(problem.todo, f"  {say(lang, 'todo')}: "))
    return "\n".join(lines) + "\n"
