"""The judge: documents of the smoke test, each with a lock and what has to be found wrong (`cases/*.json`)."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from place import ROOT

from provisioner.verify import judge as room
from provisioner.verify.judge import format_text, judge
from provisioner.verify.words import _WORDS

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
RULES = {path.stem for path in (ROOT / "provisioner" / "doctor" / "rules").glob("*.yaml")}


def plain(_style: str, text: str) -> str:
    return text


def case(name: str) -> dict[str, Any]:
    held: dict[str, Any] = json.loads((Path(__file__).parent / "cases" / f"{name}.json").read_text("utf-8"))
    return held


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case(path: Path) -> None:
    held = json.loads(path.read_text("utf-8"))
    verdict = judge(held["document"], held["lock"])
    assert verdict.status == held["status"]
    found = [[each.name, each.outcome, each.see] for each in verdict.outcomes if each.outcome in ("wrong", "crashed")]
    assert held["wrong"] is None or found == held["wrong"]
    assert {each.see for each in verdict.outcomes} - {""} <= RULES
    for each in verdict.outcomes:
        assert each.outcome in ("ok", "wrong", "crashed", "skipped")
        assert "{" not in each.text + each.todo


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_all_formats_tell_the_same(path: Path) -> None:
    held = json.loads(path.read_text("utf-8"))
    verdict = judge(held["document"], held["lock"])
    count = verdict.count()
    suite = xml.fromstring(verdict.junit())
    assert (int(suite.get("tests", 0)), int(suite.get("failures", 0)), int(suite.get("errors", 0))) == (
        len(verdict.outcomes), count["wrong"], count["crashed"])
    assert len(suite.findall("testcase/failure")) == count["wrong"]
    document = json.loads(json.dumps(verdict.document()))
    assert (document["status"] == "ok") == (verdict.status == 0) == (suite.find("testcase/failure") is None
                                                                    and suite.find("testcase/error") is None)
    text = format_text(verdict, "en", plain)
    assert all(each.text in text for each in verdict.outcomes)
    chinese = format_text(judge(held["document"], held["lock"], "zh"), "zh", plain)
    assert [line[2:4] for line in chinese.splitlines() if re.match(r"  (通过|错误|崩溃|跳过) ", line)] == [
        {"ok": "通过", "wrong": "错误", "crashed": "崩溃", "skipped": "跳过"}[each.outcome] for each in verdict.outcomes]


def test_a_host_without_a_gpu_is_told_exactly_that() -> None:
    held = case("no-gpu")
    verdict = judge(held["document"], held["lock"])
    assert [each.text for each in verdict.outcomes if each.name == "driver"] == ["this host has no NVIDIA GPU"]
    assert [each.text for each in judge(held["document"], held["lock"], "zh").outcomes if each.name == "driver"] == ["本机没有 NVIDIA GPU"]


def test_the_whole_text() -> None:
    held = case("one-card-computes-wrong")
    assert format_text(judge(held["document"], held["lock"]), "en", plain) == """\
verify (quick): 18 ok, 1 wrong, 0 crashed, 0 skipped

  ok       python       Python 3.12.3, as locked (/opt/torch/bin/python)
  ok       torch        torch 2.7.1+cu128, as locked
  ok       torch-build  built for CUDA 12.8, as locked
  ok       cudnn        cuDNN 9.7.1, as locked
  ok       nccl         NCCL 2.26.2, as locked
  ok       packages     torchvision 0.22.1+cu128, as locked, and it can be imported
  ok       driver       driver 570.124.06 is loaded, as locked
  ok       nvml         the driver's library agrees with the module
  ok       driver-api   CUDA 12.8 by the driver
  ok       devices      torch sees NVIDIA H100 80GB HBM3 (sm_90), NVIDIA H100 80GB HBM3 (sm_90)
  ok       gpu-code     NVIDIA H100 80GB HBM3 (sm_90) has kernels in this torch (sm_90 code)
  ok       kernel       cuda:0: a kernel ran and counted right
  ok       kernel       cuda:1: a kernel ran and counted right
  ok       matmul       cuda:0: matrix products are right
  wrong    matmul       cuda:1: 3 values are wrong
                        to do: try another driver release and another slot: a GPU that computes wrong is broken or overheats
  ok       convolution  cuda:0: a convolution is right
  ok       convolution  cuda:1: a convolution is right
  ok       memory       cuda:0: 1024 MiB written and read back
  ok       memory       cuda:1: 1024 MiB written and read back

The environment does not do what the lock promises.
"""


_any: Any = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=5), st.floats(allow_nan=False)),
                         lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
                         max_leaves=6)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(CASES), st.data())
def test_no_document_brings_it_down(path: Path, data: Any) -> None:
    """One part of a document replaced by anything: a verdict comes out in every format, and never a better one by accident of shape."""
    held = json.loads(path.read_text("utf-8"))
    document = held["document"]
    if document.get("checks"):
        check = data.draw(st.sampled_from(document["checks"]))
        key = data.draw(st.sampled_from(["name", "outcome", "because", "data"]))
        if key == "data" and check.get("data"):
            check["data"][data.draw(st.sampled_from(sorted(check["data"])))] = data.draw(_any)
        else:
            check[key] = data.draw(_any)
    else:
        document = data.draw(_any)
    verdict = judge(document, held["lock"])
    assert verdict.status in (0, 4)
    xml.fromstring(verdict.junit())
    format_text(verdict, "zh", plain)
    json.dumps(verdict.document())


@pytest.mark.parametrize("document", [None, [], "", 5, {}, {"verify": 2}, {"verify": 1}, {"verify": 1, "checks": {}}])
def test_what_is_no_document_is_no_pass(document: Any) -> None:
    assert judge(document, case("two-h100")["lock"]).status == 4


def test_a_document_without_checks_is_no_pass() -> None:
    assert judge({"verify": 1, "level": "quick", "checks": []}, case("two-h100")["lock"]).status == 4


@pytest.mark.parametrize("name", ["torch", "devices", "kernel", "matmul", "convolution"])
def test_a_check_that_is_missing_is_no_pass(name: str) -> None:
    held = case("two-h100")
    held["document"]["checks"] = [each for each in held["document"]["checks"] if each["name"] != name]
    assert judge(held["document"], held["lock"]).status == 4


def test_every_text_has_both_languages() -> None:
    for name, (english, chinese) in _WORDS.items():
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", chinese)), name


def test_the_rules_it_points_to_exist() -> None:
    assert {code for _, code in room._ERRORS} | set(room._NVML.values()) | set(room._CUDA.values()) <= RULES
