"""From pasted texts to ranked findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from provisioner.doctor import infer, plan, readers, rule
from provisioner.doctor.clean import Anchors, Line, read
from provisioner.doctor.facts import Doc, Facts
from provisioner.doctor.fill import fill

_PLAIN = ("error", "nvidia", "cuda", "nvrm")
CERTAIN = 85  # from this score the evidence names this cause and no other
LEAST = 25  # a score below this is no finding
MOST = 6  # findings given


class Fix(NamedTuple):
    """What to do: a sentence and the command for it ("" when there is none)."""

    text: str
    command: str


class Finding(NamedTuple):
    """One cause that the evidence speaks for."""

    code: str
    title: str
    severity: str
    confidence: str
    score: int
    evidence: tuple[Line, ...]
    cause: str
    fix: tuple[Fix, ...]
    asks: tuple[str, ...]
    confirm: tuple[Fix, ...]
    wrong: tuple[str, ...]
    undo: tuple[Fix, ...]
    maturity: str

    def as_dict(self) -> dict[str, Any]:
        """The finding as in the contract, with what it holds beyond it."""
        return {
            "code": self.code, "title": self.title, "severity": self.severity, "confidence": self.confidence,
            "evidence": [{"source": each.source, "line": each.number, "text": each.text[:400]} for each in self.evidence],
            "cause": self.cause, "fix": [each._asdict() for each in self.fix], "asks": list(self.asks),
            "confirm": [each._asdict() for each in self.confirm], "wrong_fixes": list(self.wrong),
            "undo": [each._asdict() for each in self.undo], "maturity": self.maturity,
        }


class Report(NamedTuple):
    """All findings, the most likely first, what was read out of the texts, and what to ask for when that is too little."""

    findings: tuple[Finding, ...]
    facts: dict[str, list[str]]
    asks: tuple[str, ...]
    mode: str

    @property
    def status(self) -> int:
        """The exit status: explain 0 found / 4 nothing matched; doctor 0 nothing wrong / 4 something is."""
        if self.mode == "explain":
            return 0 if self.findings else 4
        return 4 if any(each.severity != "info" for each in self.findings) else 0

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"findings": [each.as_dict() for each in self.findings], "facts": self.facts, "asks": list(self.asks)}


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class Evidence:
    """Answers by name whether a sign is seen or a flag holds, with the lines that show it."""

    def __init__(self, doc: Doc, facts: Facts, book: rule.RuleBook) -> None:
        self.doc, self.facts, self.book = doc, facts, book
        self._seen: dict[str, list[Line]] = {}
        self.flags = infer.flags(doc, facts)

    def lines(self, name: str) -> list[Line] | None:
        """The lines that show `name`, None when it does not hold."""
        if name in self.flags:
            return self.flags[name]
        if name not in self._seen:
            sign = self.book.signs.get(name)
            self._seen[name] = self._look(sign) if sign is not None else []
        return self._seen[name] or None

    def _look(self, sign: rule.Sign) -> list[Line]:
        doc = self.doc
        found: list[Line] = []
        bare = doc.bare
        if not any(literal in bare for literal in sign.bare):
            return found
        for literal in sign.literals:
            for here in doc.find(literal)[:300]:
                if _regex(sign.pattern).search(doc.lines[here].text):
                    found.append(doc.lines[here])
        if found or len(doc.lines) < 2 or len(doc.blob) > 300_000:
            return found
        most = 40 if len(doc.lines) < 200 else 6
        for view, starts in doc.joined():
            for literal in sign.literals:
                at = view.find(literal) if len(literal) > 6 and literal in view else -1
                tries = 0
                while at >= 0 and tries < most:
                    tries += 1
                    low = max(0, at - 240)
                    match = _regex(sign.pattern).search(view, low, at + len(literal) + 240)
                    if match is not None:
                        first, last = doc.at(starts, match.start()), doc.at(starts, max(match.start(), match.end() - 1))
                        if first != last and last - first <= 3:
                            return doc.lines[first:last + 1]
                    at = view.find(literal, at + 1)
        return []

    def holds(self, tree: rule.Expression) -> list[Line] | None:
        """The lines that make a condition true, None when it is not."""
        kind = tree[0]
        if kind == "name":
            return self.lines(tree[1])
        if kind == "not":
            return None if self.holds(tree[1]) is not None else []
        if kind == "and":
            together: list[Line] = []
            for each in tree[1:]:
                lines = self.holds(each)
                if lines is None:
                    return None
                together += lines[:3]
            return together
        for each in tree[1:]:
            lines = self.holds(each)
            if lines is not None:
                return lines
        return None


def diagnose(texts: Iterable[tuple[str, object]], mode: str = "explain", lang: str = "en") -> Report:
    """Name the causes that some texts speak for.

    `texts`: (name of the source, str | bytes | stream | iterable of lines). `mode`: "explain" or "doctor"."""
    book = rule.book()
    anchors = Anchors(book.anchors, _PLAIN)
    lines: list[Line] = []
    for name, data in texts:
        lines += read(name, data, anchors)
    doc = Doc(lines)
    return judge(doc, readers.read(doc), mode, lang)


def judge(doc: Doc, facts: Facts, mode: str, lang: str) -> Report:
    """The findings for texts whose facts are read."""
    book = rule.book()
    evidence = Evidence(doc, facts, book)
    found: dict[str, tuple[float, str, list[Line], rule.Rule]] = {}
    for each in book.rules:
        best: tuple[int, str, list[Line]] | None = None
        more = 0
        for score, tree, severity in each.looks_like:
            lines = evidence.holds(tree)
            if lines is None:
                continue
            more += 1
            if best is None or score > best[0]:
                best = (score, severity or each.severity, lines)
        if best is not None and best[0] >= LEAST:
            found[each.code] = (best[0] + min(3.0, more - 1.0), best[1], best[2], each)
    for code, (height, _severity, _lines, each) in sorted(found.items(), key=lambda item: -item[1][0]):
        for other in each.beats:  # a root cause goes before its symptoms when their evidence weighs about the same
            if other in found and height >= 50 and height <= found[other][0] < height + 6 and code not in found[other][3].beats:
                found[other] = (height - 1, *found[other][1:])
    for code, (height, _severity, _lines, each) in sorted(found.items(), key=lambda item: -item[1][0]):
        if code in found and height >= CERTAIN:  # what a certain cause makes untrue would only send the reader astray
            found = {other: held for other, held in found.items() if other not in each.rules_out or held[0] > height}
    wrong = [code for code, (_, severity, _, _) in found.items() if severity != "info"]
    if wrong:
        found = {code: held for code, held in found.items() if code != "plan-feasible"}
    ranked = sorted(found.values(), key=lambda held: (-held[0], held[3].code))
    if ranked:
        floor = max(LEAST, ranked[0][0] - 55)
        ranked = [held for held in ranked if held[0] >= floor][:MOST]
    values = infer.values(doc, facts, evidence.flags) if ranked else {}
    findings: list[Finding] = []
    for height, severity, lines, each in ranked:
        held = {**evidence.flags, "wsl": []} if evidence.lines("wsl") else evidence.flags
        choices = plan.solve(each.code, facts, held, values) if not findings else None
        findings.append(_finding(each, height, severity, lines, evidence, values, choices, lang))
    read_out = {name: [fact.value for fact in held][:12] for name, held in sorted(facts.known.items())}
    return Report(tuple(findings), read_out, tuple(_asks(facts, doc, lang)) if not findings else (), mode)


def _finding(each: rule.Rule, score: float, severity: str, lines: list[Line], evidence: Evidence, values: dict[str, str],
             choices: dict[str, Any] | None, lang: str) -> Finding:
    family = values.get("family", "")
    quoted = {(line.source, line.number): line for line in lines if line.text}
    shown = tuple(sorted(list(quoted.values())[:6], key=lambda line: (line.source, line.number)))
    confidence = "certain" if score >= CERTAIN else "likely" if score >= 60 else "possible"

    def steps(parts: tuple[rule.Step, ...]) -> tuple[Fix, ...]:
        made = []
        for step in parts:
            if step.when is not None and evidence.holds(step.when) is None:
                continue
            command = _command(step.commands, family, values)
            made.append(Fix(fill(step.texts[lang], values), command))
        return tuple(made)

    fixes = steps(each.fix)
    if choices is not None:
        fixes = (Fix(*plan.step(choices, values, lang)), *fixes)
    return Finding(each.code, fill(each.titles[lang], values), severity, confidence, round(score), shown, fill(each.causes[lang], values),
                   fixes, tuple(fill(ask[lang], values) for ask in each.asks), steps(each.confirm),
                   tuple(fill(wrong[lang], values) for wrong in each.wrong), steps(each.undo), each.maturity)


_NAMES = {"debian": "Debian, Ubuntu", "rhel": "RHEL, Rocky, Alma", "fedora": "Fedora", "suse": "SUSE", "windows": "Windows",
          "amazon": "Amazon Linux", "arch": "Arch", "linux": "Linux", "": ""}


_KIN = {"fedora": ("fedora", "rhel"), "amazon": ("amazon", "rhel"), "azure": ("rhel",), "rhel": ("rhel", "fedora")}


def _command(commands: dict[str, str], family: str, values: dict[str, str]) -> str:
    """The command for the family of the machine at hand; for an unknown one all of them, each under its name."""
    if not commands:
        return ""
    kin = _KIN.get(family, (family,))
    for each in (*kin, *(() if family in ("windows", "macos") else ("linux",)), ""):
        if each in commands and (family or len(commands) == 1 or each == ""):
            return fill(commands[each], values)
    return "\n".join(f"# {_NAMES.get(name, name)}\n{fill(text, values)}" for name, text in commands.items())


def _asks(facts: Facts, doc: Doc, lang: str) -> list[str]:
    """What to run or paste next when nothing matched."""
    texts = {
        "trace": ("Paste the whole error, from the first line that says Traceback or Error to the last line.",
                  "请粘贴完整的报错,从第一行 Traceback 或 Error 到最后一行。"),
        "env": ("Paste the output of `python -m torch.utils.collect_env` (or of `pip list`).",
                "请粘贴 `python -m torch.utils.collect_env`(或 `pip list`)的输出。"),
        "smi": ("Paste the output of `nvidia-smi`, whatever it says.", "请粘贴 `nvidia-smi` 的输出,无论其内容是什么。"),
        "host": ("On the machine itself, run `provision doctor`.", "请在该机器上运行 `provision doctor`。"),
    }
    wanted = ["trace"] if not doc.find("traceback") else []
    wanted += [] if facts.first("torch") else ["env"]
    wanted += [] if facts.first("driver") else ["smi"]
    return [texts[name][1 if lang == "zh" else 0] for name in [*wanted, "host"]]


def format_text(report: Report, lang: str, paint: Callable[[str, str], str]) -> str:
    """The report for people, "" when there is nothing to say. `paint(style, text)` colours: bold, dim, red, green, yellow, cyan."""
    from provisioner.doctor.pages import report_text

    return report_text(report, lang, paint)
