"""Rules as data: their shape, how a rule file becomes its compiled form, and the cache of compiled rules.

A rule file (`rules/<code>.yaml`) holds `signs` (named patterns) and `looks_like`: pairs of a score and a condition over
signs and flags. `signs.yaml` holds patterns that several rules share; flags come from `infer`. Patterns are regular
expressions without regard to case over lines with single spaces; `.*` means at most 160 characters.
"""

# pathlib would slow every start:

from __future__ import annotations

import os
import re
import sys
from typing import Any, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "rules")
SHARED = os.path.join(HERE, "signs.yaml")
SHAPE = 7  # of the compiled form
LANGUAGES = ("en", "zh")
Expression = tuple[Any, ...]


class Sign(NamedTuple):
    """A named pattern. `literals`: lower-case texts of which one is in every match."""

    name: str
    pattern: str
    literals: tuple[str, ...]
    bare: tuple[str, ...]  # the same without spaces


class Step(NamedTuple):
    """Something to run or to do. `texts` by language, `commands` by system family ("" = any), `when`: only then."""

    texts: dict[str, str]
    commands: dict[str, str]
    when: Expression | None


class Rule(NamedTuple):
    """A cause class."""

    code: str
    titles: dict[str, str]
    severity: str
    maturity: str
    causes: dict[str, str]
    looks_like: tuple[tuple[int, Expression, str], ...]  # score, condition, severity ("" = the rule's)
    beats: tuple[str, ...]
    rules_out: tuple[str, ...]
    confirm: tuple[Step, ...]
    fix: tuple[Step, ...]
    undo: tuple[Step, ...]
    wrong: tuple[dict[str, str], ...]
    asks: tuple[dict[str, str], ...]
    sources: tuple[str, ...]
    shows: tuple[str, ...]

    def title(self, lang: str) -> str:
        """What is wrong, in a few words."""
        from provisioner.doctor.fill import fill

        return fill(self.titles[lang], {})

    def document(self, lang: str) -> dict[str, Any]:
        """The rule as a JSON object, its texts in one language."""
        from provisioner.doctor.fill import fill

        def steps(parts: tuple[Step, ...]) -> list[dict[str, Any]]:
            return [{"text": fill(each.texts[lang], {}), "commands": each.commands} for each in parts]

        return {"code": self.code, "title": self.title(lang), "severity": self.severity, "maturity": self.maturity,
                "cause": fill(self.causes[lang], {}), "confirm": steps(self.confirm), "fix": steps(self.fix), "undo": steps(self.undo),
                "wrong_fixes": [fill(each[lang], {}) for each in self.wrong], "asks": [fill(each[lang], {}) for each in self.asks],
                "sources": list(self.sources), "looks_like": list(self.shows)}


class RuleBook(NamedTuple):
    """All rules and all signs by name (a rule's own signs are called `code/name`), and the anchors of long logs."""

    rules: tuple[Rule, ...]
    signs: dict[str, Sign]
    anchors: tuple[str, ...]


class RuleError(ValueError):
    """A rule file that cannot be used."""


_TOKEN = re.compile(r"\s*(?:([a-z0-9][a-z0-9_./-]*)|([&|!()]))")


def parse(text: str) -> Expression:
    """A condition ("a & (b | !c)") as nested tuples: ("name", n), ("not", e), ("and", e...), ("or", e...)."""
    tokens: list[str] = []
    at = 0
    text = text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise RuleError(f"cannot read the condition {text!r} at {text[at:at + 20]!r}")
        tokens.append(found[1] or found[2])
        at = found.end()
    tokens.append("")

    def either() -> Expression:
        parts = [both()]
        while tokens[0] == "|":
            tokens.pop(0)
            parts.append(both())
        return parts[0] if len(parts) == 1 else ("or", *parts)

    def both() -> Expression:
        parts = [one()]
        while tokens[0] == "&":
            tokens.pop(0)
            parts.append(one())
        return parts[0] if len(parts) == 1 else ("and", *parts)

    def one() -> Expression:
        token = tokens.pop(0)
        if token == "!":
            return ("not", one())
        if token == "(":
            inner = either()
            if tokens.pop(0) != ")":
                raise RuleError(f"a bracket is not closed in {text!r}")
            return inner
        if not token or token in "&|)":
            raise RuleError(f"a name is missing in {text!r}")
        return ("name", token)

    tree = either()
    if tokens != [""]:
        raise RuleError(f"too much in {text!r}: {tokens[0]!r}")
    return tree


def names(tree: Expression) -> set[str]:
    """The names in a condition."""
    if tree[0] == "name":
        return {tree[1]}
    return set().union(*(names(each) for each in tree[1:]))


def _bounded(pattern: str) -> str:
    """The pattern with `.*` bounded, so that no text makes it slow."""
    return pattern.replace(".*", ".{0,160}?")


def literals(pattern: str) -> tuple[str, ...]:
    """Lower-case texts of which at least one is in every match of a pattern; the choice whose shortest text is longest."""
    from re import _constants as c  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]

    best: list[tuple[str, ...]] = []

    def walk(tree: Any) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        run = ""

        def flush() -> None:
            nonlocal run
            if run.strip():
                found.append((run.lower(),))
            run = ""

        for code, value in tree:
            if code is c.LITERAL:
                run += chr(value)
                continue
            flush()
            if code is c.SUBPATTERN:
                found += walk(value[3])
            elif code is c.BRANCH:
                options = [max(walk(each), key=_worth, default=()) for each in value[1]]
                if all(options):
                    found.append(tuple(text for option in options for text in option))
            elif code in (c.MAX_REPEAT, c.MIN_REPEAT) and value[0] > 0:
                found += walk(value[2])
        flush()
        return found

    best = walk(parser.parse(pattern, re.IGNORECASE))
    return max(best, key=_worth, default=())


def _worth(option: tuple[str, ...]) -> float:
    return min((len(text) for text in option), default=0) - 0.1 * len(option)


def _texts(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(value.get(lang), str) for lang in LANGUAGES):
        raise RuleError(f"{where}: a text in {' and '.join(LANGUAGES)} is wanted, not {value!r}")
    return {lang: " ".join(value[lang].split()) for lang in LANGUAGES}


def _steps(value: Any, where: str, local: dict[str, Sign]) -> tuple[Step, ...]:
    made = []
    for each in value or ():
        run = each.get("run", {})
        commands = {"": run} if isinstance(run, str) else dict(run)
        made.append(Step(_texts(each, where), {family: text.strip("\n") for family, text in commands.items()},
                         _resolve(parse(each["when"]), local) if "when" in each else None))
    return tuple(made)


def _resolve(tree: Expression, local: dict[str, Sign]) -> Expression:
    if tree[0] == "name":
        return ("name", local[tree[1]].name) if tree[1] in local else tree
    return (tree[0], *(_resolve(each, local) for each in tree[1:]))


def _sign(name: str, pattern: Any) -> Sign:
    if not isinstance(pattern, str):
        raise RuleError(f"{name}: a pattern is a text, not {pattern!r}")
    bounded = _bounded(pattern)
    re.compile(bounded, re.IGNORECASE)
    found = literals(bounded)
    if not found or any(len(text) < 2 and text.isascii() for text in found):
        raise RuleError(f"{name}: every match of {pattern!r} has to hold some literal text")
    return Sign(name, bounded, found, tuple(text.replace(" ", "") for text in found))


def build(rules: dict[str, Any], shared: dict[str, Any], readers: tuple[str, ...] = ()) -> RuleBook:
    """The compiled form of rule files (code -> content) and of the shared signs. Raises RuleError with the place."""
    signs = {name: _sign(name, pattern) for name, pattern in shared.items()}
    made = []
    for code, content in sorted(rules.items()):
        if content.get("code") != code:
            raise RuleError(f"{code}: the file's name and its code {content.get('code')!r} differ")
        local = {name: _sign(f"{code}/{name}", pattern) for name, pattern in (content.get("signs") or {}).items()}
        signs.update({sign.name: sign for sign in local.values()})
        looks = []
        for each in content["looks_like"]:
            tree = _resolve(parse(each[1]), local)
            looks.append((int(each[0]), tree, str(each[2]) if len(each) > 2 else ""))
        made.append(Rule(
            code, _texts(content["title"], code), content["severity"], content["maturity"], _texts(content["cause"], code),
            tuple(looks), tuple(content.get("beats") or ()), tuple(content.get("rules_out") or ()), _steps(content.get("confirm"), code, local),
            _steps(content["fix"], code, local), _steps(content.get("undo"), code, local),
            tuple(_texts(each, code) for each in content.get("wrong") or ()),
            tuple(_texts(each, code) for each in content.get("asks") or ()), tuple(content.get("sources") or ()),
            tuple(content.get("shows") or ())))
    return RuleBook(tuple(made), signs, _cover([sign.literals for sign in signs.values()] + [(each,) for each in readers]))


def _cover(groups: list[tuple[str, ...]]) -> tuple[str, ...]:
    """A small set of words such that each literal holds one (without its digits), found greedily."""
    wanted = {re.sub(r"[^\x20-\x7e]|\d", "\n", text) for group in groups for text in group}
    wanted = {max(text.split("\n"), key=len).strip() for text in wanted}
    wanted.discard("")
    chosen: list[str] = []
    left = {text for text in wanted if len(text) >= 3}
    while left:
        counts: dict[str, int] = {}
        for text in left:
            for part in {text, *(word for word in re.split(r"[^a-z_]+", text) if len(word) >= 4)}:
                counts[part] = counts.get(part, 0) + 1
        word = min(counts, key=lambda part: (-counts[part], -len(part), part))
        chosen.append(word)
        left = {text for text in left if word not in text}
    return tuple(chosen)


def read_files() -> tuple[dict[str, Any], dict[str, Any]]:
    """The rule files and the shared signs as written."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    rules = {}
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".yaml"):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as stream:
                rules[name[:-5]] = yaml.load(stream, loader)
    with open(SHARED, encoding="utf-8") as stream:
        shared = yaml.load(stream, loader)
    return rules, shared


_BOOK: RuleBook | None = None


def book() -> RuleBook:
    """All rules and signs, out of the cache when the files have not changed since."""
    global _BOOK
    if _BOOK is None:
        _BOOK = _load()
    return _BOOK


def load() -> dict[str, Rule]:
    """All rules by code, in the order of their codes."""
    return {each.code: each for each in book().rules}


def own_sources() -> dict[str, tuple[str, str]]:
    """The sources that only rules cite: title and address by id."""
    import yaml

    with open(os.path.join(HERE, "sources.yaml"), encoding="utf-8") as stream:
        return {name: (title, where) for name, (title, where) in yaml.safe_load(stream).items()}


def page(rule: Rule, lang: str) -> str:
    """The rule's page as Markdown: what it looks like, why it happens, how to confirm, what to change, how to undo."""
    from provisioner.doctor.pages import page as make

    return make(rule, lang)


def _stamp() -> str:
    with os.scandir(FOLDER) as entries:
        files = sorted(entry.path for entry in entries if entry.name.endswith(".yaml"))
    states = [os.stat(path) for path in [FOLDER, SHARED, __file__, *files]]
    return f"{SHAPE} {sys.version} {HERE} {len(files)} " + " ".join(f"{state.st_mtime_ns}:{state.st_size}" for state in states)


def _load() -> RuleBook:
    import marshal

    from provisioner import resources
    from provisioner.doctor import readers

    stamp = _stamp()
    path = os.path.join(resources.user_cache(), "rules.bin")
    try:
        with open(path, "rb") as stream:
            held = marshal.load(stream)
        if held[0] == stamp:
            return _thaw(held[1])
    except (OSError, ValueError, EOFError, TypeError, IndexError):
        pass
    made = build(*read_files(), readers.LITERALS)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}", "wb") as stream:
            marshal.dump((stamp, _freeze(made)), stream)
        os.replace(f"{path}.{os.getpid()}", path)
    except OSError:
        pass  # a cache: the next run builds it again
    return made


_STEPS = (8, 9, 10)  # the fields of a rule that hold steps


def _freeze(made: RuleBook) -> tuple[Any, ...]:
    rules = tuple(tuple(tuple(map(tuple, value)) if at in _STEPS else value for at, value in enumerate(each)) for each in made.rules)
    return rules, {name: tuple(sign) for name, sign in made.signs.items()}, made.anchors


def _thaw(held: tuple[Any, ...]) -> RuleBook:
    rules = tuple(Rule._make(tuple(map(Step._make, part)) if at in _STEPS else part for at, part in enumerate(value))
                  for value in held[0])
    return RuleBook(rules, {name: Sign._make(sign) for name, sign in held[1].items()}, held[2])
