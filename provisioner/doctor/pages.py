"""Rules and reports for people: a rule's page in Markdown, a report on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from provisioner.doctor.fill import fill

if TYPE_CHECKING:
    from provisioner.doctor.engine import Fix, Report
    from provisioner.doctor.rule import Rule, Step

_WORDS = {
    "causes": ("Causes that `explain` and `doctor` name", "`explain` 与 `doctor` 可指出的原因"),
    "looks": ("What it looks like", "现象"), "why": ("Why it happens", "原因"), "confirm": ("How to confirm", "如何确认"),
    "change": ("What to change", "如何修复"), "undo": ("How to undo", "如何撤销"), "wrong": ("What does not help", "无效的做法"),
    "asks": ("What to look at when unsure", "不确定时请提供"), "read": ("Where to read", "出处"), "severity": ("Severity", "严重程度"),
    "maturity": ("Maturity", "成熟度"), "seen": ("seen", "证据"), "because": ("why", "原因"),
    "fix": ("fix", "修复"), "check": ("check", "确认"),
    "not": ("not", "勿做"), "back": ("undo", "撤销"), "ask": ("tell", "请提供"), "also": ("also possible", "其他可能"),
    "certain": ("certain", "确定"), "likely": ("likely", "很可能"), "possible": ("possible", "可能"), "error": ("error", "错误"),
    "warning": ("warning", "警告"), "info": ("info", "信息"), "stable": ("stable", "稳定"),
    "new": ("new", "新增"), "retired": ("retired", "停用"),
    "nothing": ("Nothing that is known matches. To go on:", "没有匹配到已知原因。下一步:"), "line": ("line", "第"),
}
_SYSTEMS = {"debian": "Debian, Ubuntu", "rhel": "RHEL, Rocky, Alma", "fedora": "Fedora", "suse": "SUSE", "windows": "Windows",
            "amazon": "Amazon Linux", "arch": "Arch", "linux": "Linux"}


def word(name: str, lang: str) -> str:
    """A word of the page in a language."""
    return _WORDS[name][1 if lang == "zh" else 0]


def page(rule: Rule, lang: str) -> str:
    """A rule's page as Markdown, headings as in every other page."""
    out = [f"# {rule.code}", "", rule.title(lang), "",
           f"{word('severity', lang)}: {word(rule.severity, lang)} · {word('maturity', lang)}: {word(rule.maturity, lang)}", "",
           f"## {word('looks', lang)}", ""]
    out += ["```", *rule.shows, "```"]
    out += ["", f"## {word('why', lang)}", "", fill(rule.causes[lang], {})]
    for name, parts in (("confirm", rule.confirm), ("change", rule.fix), ("undo", rule.undo)):
        if parts:
            out += ["", f"## {word(name, lang)}", "", *_steps(parts, lang)]
    if rule.wrong:
        out += ["", f"## {word('wrong', lang)}", "", *(f"- {fill(each[lang], {})}" for each in rule.wrong)]
    if rule.asks:
        out += ["", f"## {word('asks', lang)}", "", *(f"- {fill(each[lang], {})}" for each in rule.asks)]
    out += ["", f"## {word('read', lang)}", "", *(f"- {_source(each)}" for each in rule.sources), ""]
    return "\n".join(out)


def reference(lang: str) -> dict[str, str]:
    """The reference: a page for each rule, and a list of them (file name -> Markdown)."""
    from provisioner.doctor.rule import load

    rules = load()
    made = {f"{code}.md": page(rule, lang) for code, rule in rules.items()}
    rows = [f"- [{code}]({code}.md): {rule.title(lang)}" for code, rule in rules.items()]
    made["README.md"] = "\n".join([f"# {word('causes', lang)}", "", *rows, ""])
    return made


def _source(identifier: str) -> str:
    """A source's title and address: one of the catalogue's, else one of the rules' own."""
    from provisioner.doctor import look
    from provisioner.doctor.rule import own_sources

    held = look.catalog()
    row = held.row("sources", identifier) if held else None
    title, where = (row.title, row.where) if row else own_sources().get(identifier, (identifier, ""))
    return f"{title}: {where}"


def _steps(parts: tuple[Step, ...], lang: str) -> list[str]:
    out = []
    for number, step in enumerate(parts, 1):
        out.append(f"{number}. {fill(step.texts[lang], {})}")
        for family, command in step.commands.items():
            label = [f"   {_SYSTEMS.get(family, family)}:"] if family else []
            out += ["", *label, "   ```", *(f"   {line}" for line in fill(command, {}).split("\n")), "   ```"]
        out.append("")
    return out[:-1] if out and not out[-1] else out


def columns(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


_CLOSING = frozenset("。，；：、）》”！？,;:).!?")


def _fold(text: str, indent: int, limit: int = 100) -> list[str]:
    """A text in lines of at most `limit` columns; Chinese may break anywhere."""
    pieces: list[str] = []
    held = ""
    for each in text:
        if not held and pieces and each in _CLOSING and not pieces[-1].endswith(" "):
            pieces[-1] += each  # closing marks do not begin a line
            continue
        held += each
        if each == " " or ord(each) > 0x2e7f:
            pieces.append(held)
            held = ""
    lines, line = [], ""
    for piece in [*pieces, held]:
        if line and columns(line + piece.rstrip()) > limit - indent:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return [*lines, line.rstrip()] if line.strip() else lines


def report_text(report: Report, lang: str, paint: Callable[[str, str], str]) -> str:
    """The findings, the first in full, the others in short; what to ask for when nothing matched."""
    if not report.findings:
        if report.mode != "explain" or not report.asks:
            return ""
        return "\n".join([word("nothing", lang), *(f"  - {each}" for each in report.asks)]) + "\n"
    colours = {"error": "red", "warning": "yellow", "info": "green"}
    out: list[str] = []
    margin = 9

    def block(name: str, lines: list[str]) -> None:
        label = word(name, lang)
        for at, line in enumerate(lines):
            lead = paint("dim", label) + " " * (margin - 2 - columns(label)) if at == 0 else " " * (margin - 2)
            out.append(f"  {lead}{line}".rstrip())

    def steps(parts: tuple[Fix, ...], numbered: bool) -> list[str]:
        lines = []
        for number, step in enumerate(parts, 1):
            lead = f"{number}. " if numbered and len(parts) > 1 else ""
            folded = _fold(step.text, margin + len(lead))
            lines += [(lead if at == 0 else " " * len(lead)) + each for at, each in enumerate(folded)]
            lines += [" " * len(lead) + paint("cyan", f"$ {each}" if not each.startswith("#") else each)
                      for each in (step.command.split("\n") if step.command else [])]
        return lines

    for place, each in enumerate(report.findings):
        colour = colours[each.severity]
        if place == 1:
            out += [paint("bold", word("also", lang)), ""]
        out.append(f"{paint(colour, word(each.severity, lang))} {paint('bold', each.code)} ({word(each.confidence, lang)})")
        out += [f"  {line}" for line in _fold(each.title, 2)]
        if place == 0:
            out.append("")
        quotes = []
        for line in each.evidence[:4 if place == 0 else 1]:
            text = line.text if len(line.text) <= 140 else line.text[:137] + "..."
            quotes.append(f"{line.source.replace(chr(92), '/').rsplit('/', 1)[-1]}:{line.number}: {text}")
        block("seen", quotes)
        if place > 0:
            out.append("")
            continue
        block("because", _fold(each.cause, margin))
        block("fix", steps(each.fix, True))
        block("check", steps(each.confirm, False))
        block("not", [line for wrong in each.wrong for line in _fold(wrong, margin)])
        block("back", steps(each.undo, False))
        if each.confidence != "certain":
            block("ask", [line for ask in each.asks for line in _fold(ask, margin)])
        out.append("")
    return "\n".join(out)
