"""The rules are whole, and each names its own texts and leaves its look-alikes alone."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from provisioner.catalog import load
from provisioner.doctor import engine, infer, pages, rule
from provisioner.doctor.fill import fill

HERE = Path(__file__).parent
CODES = sorted(path.stem for path in Path(rule.FOLDER).glob("*.yaml"))


@cache
def files() -> tuple[dict[str, Any], dict[str, Any]]:
    return rule.read_files()


def cases(kind: str) -> list[Any]:
    made = []
    for path in sorted((HERE / "rules").glob("*.yaml")):
        for number, text in enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))[kind]):
            made.append(pytest.param(path.stem, text, id=f"{path.stem}-{number}"))
    return made


@pytest.mark.parametrize(("code", "text"), cases("must_match"))
def test_names_its_own_texts_first(code: str, text: str) -> None:
    found = [each.code for each in engine.diagnose([("stdin", text)], "doctor").findings]
    assert found[:1] == [code], found


@pytest.mark.parametrize(("code", "text"), cases("must_not_match"))
def test_leaves_look_alikes_alone(code: str, text: str) -> None:
    found = [each.code for each in engine.diagnose([("stdin", text)], "doctor").findings]
    assert code not in found


def test_every_rule_has_cases_of_both_kinds() -> None:
    assert sorted(path.stem for path in (HERE / "rules").glob("*.yaml")) == CODES
    for path in (HERE / "rules").glob("*.yaml"):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert content["must_match"] and content["must_not_match"], path.name


@pytest.mark.parametrize("code", CODES)
def test_the_page_is_whole(code: str) -> None:
    content = files()[0][code]
    assert content["severity"] in ("error", "warning", "info")
    assert content["maturity"] in ("stable", "new", "retired")
    assert content["looks_like"] and content["confirm"] and content["fix"] and content["sources"]
    assert {"title", "cause", "undo", "wrong", "asks", "shows"} <= set(content)
    built = next(each for each in rule.book().rules if each.code == code)
    steps = (*built.fix, *built.confirm, *built.undo)
    for texts in (built.titles, built.causes, *(step.texts for step in steps), *built.wrong, *built.asks):
        assert re.search(r"[\u4e00-\u9fff]", texts["zh"]), texts
        assert not re.search(r"[\u4e00-\u9fff]", texts["en"]), texts


@pytest.mark.parametrize("code", CODES)
def test_sources_are_known_and_on_the_page(code: str) -> None:
    for lang in rule.LANGUAGES:
        text = rule.page(rule.load()[code], lang)
        for each in rule.load()[code].sources:
            row = load.load().row("sources", each)
            title, where = (row.title, row.where) if row else rule.own_sources()[each]
            assert f"- {title}: {where}" in text
        assert rule.load()[code].shows and rule.load()[code].shows[0] in text


@pytest.mark.parametrize("code", CODES)
def test_conditions_name_only_what_exists_and_every_sign_is_used(code: str) -> None:
    rules, shared = files()
    content = rules[code]
    local = set(content.get("signs") or {})
    named: set[str] = set()
    for look in content["looks_like"]:
        named |= rule.names(rule.parse(look[1]))
    for part in ("fix", "confirm", "undo"):
        for step in content.get(part) or []:
            if "when" in step:
                named |= rule.names(rule.parse(step["when"]))
    assert named - local - set(shared) - set(infer.FLAGS) == set()
    assert local - named == set()
    assert set(content.get("beats") or []) <= set(rules)
    assert set(content.get("rules_out") or []) <= set(rules) - {code}


def test_every_shared_sign_and_flag_is_used_or_known() -> None:
    rules, shared = files()
    named: set[str] = set()
    for content in rules.values():
        for look in content["looks_like"]:
            named |= rule.names(rule.parse(look[1]))
        for part in ("fix", "confirm", "undo"):
            for step in content.get(part) or []:
                if "when" in step:
                    named |= rule.names(rule.parse(step["when"]))
    assert set(shared) - named == set()


@pytest.mark.parametrize("lang", rule.LANGUAGES)
def test_the_reference_on_disk_is_what_the_rules_say(lang: str) -> None:
    """`make docs` writes it anew."""
    folder = HERE.parent.parent / "docs" / "rules" / lang
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")} == pages.reference(lang)


def test_every_own_source_is_cited_and_in_no_second_home() -> None:
    cited = {each for made in rule.load().values() for each in made.sources}
    assert set(rule.own_sources()) <= cited
    assert [each for each in rule.own_sources() if load.load().row("sources", each)] == []


def test_patterns_cannot_run_away() -> None:
    """No unbounded repeat inside a repeat, and no bare `.+`."""
    for sign in rule.book().signs.values():
        assert not re.search(r"\)[*+]\)?[*+]|\.\+(?!\?)", sign.pattern), sign


def test_a_pattern_without_literal_text_is_refused() -> None:
    with pytest.raises(rule.RuleError):
        rule.build({}, {"any": r"\d+"})


def test_literals_are_in_every_match() -> None:
    assert rule.literals("no kernel image|cudaErrorNo\\w+") == ("no kernel image", "cudaerrorno")
    assert rule.literals("(?:abc)?defgh") == ("defgh",)


def test_values_unknown_to_a_text_are_left_out() -> None:
    assert fill("wheel[[ of {torch}]] on {gpu}", {"torch": "", "gpu": ""}) == "wheel on <gpu>"
    assert fill("wheel[[ of {torch}]]", {"torch": "2.7.1"}) == "wheel of 2.7.1"


def test_a_left_out_part_leaves_the_space_between_latin_and_chinese() -> None:
    text = "该 torch[[({torch})]]没有的符号"
    assert fill(text, {}) == "该 torch 没有的符号"
    assert fill(text, {"torch": "2.7.1"}) == "该 torch(2.7.1)没有的符号"


@pytest.mark.parametrize(("text", "first", "untrue"), [
    ("Kernel driver in use: nouveau\nNVRM: No NVIDIA graphics adapter probed!\nNVIDIA-SMI has failed because it couldn't communicate",
     "nouveau-or-nova-active", {"no-nvidia-gpu", "driver-missing", "dkms-build-failed-new-kernel"}),
    ("CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 301.12 MiB is free. "
     "Process 12 has 71.02 GiB memory in use. Including non-PyTorch memory, this process has 7.81 GiB memory in use. Of the "
     "allocated memory 7.20 GiB is allocated by PyTorch, and 112.31 MiB is reserved by PyTorch but unallocated.",
     "oom-other-process", {"oom-genuine", "oom-fragmentation"}),
])
def test_a_certain_cause_rules_out_what_cannot_be_beside_it(text: str, first: str, untrue: set[str]) -> None:
    codes = [each.code for each in engine.diagnose([("x", text)]).findings]
    assert codes[0] == first
    assert not untrue & set(codes)


def test_a_healthy_mac_is_not_ill() -> None:
    """torch has one build for a Mac, and it has no CUDA."""
    text = "PyTorch version: 2.5.1\nCUDA used to build PyTorch: None\nOS: macOS 15.1 (arm64)\nIs CUDA available: False\n"
    assert [each.code for each in engine.diagnose([("x", text)]).findings if each.severity != "info"] == []


def test_a_closing_mark_does_not_begin_a_line() -> None:
    for width in range(60, 100):
        lines = pages._fold("构建" * (width // 4) + "的。" + "另一个,再一个;以及(最后)" * 6, 100 - width)
        assert [line for line in lines if line[0] in "。,;)"] == []
