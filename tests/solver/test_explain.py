"""What is said of a plan and of a refusal: sentences, facts, differences, locks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from provisioner.catalog.load import Catalog, load
from provisioner.solver import lock
from provisioner.solver.explain import diff
from provisioner.solver.plan import Plan, Refusal, solve
from provisioner.solver.words import WORDS
from provisioner.spec.load import load as load_spec


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


def outcome(catalog: Catalog, text: str, **options: Any) -> Plan | Refusal:
    return solve(load_spec("spec.yaml", text=("spec: 1\n" + text).encode()), catalog, **options)


def plan(catalog: Catalog, text: str, **options: Any) -> Plan:
    found = outcome(catalog, text, **options)
    assert isinstance(found, Plan)
    return found


def refusal(catalog: Catalog, text: str, **options: Any) -> dict[str, Any]:
    found = outcome(catalog, text, **options)
    assert isinstance(found, Refusal)
    return found.document()


def test_the_chain_of_a_refusal(catalog: Catalog) -> None:
    document = refusal(catalog, 'target: ubuntu2204\ngpus: [RTX 5090]\ntorch: "==2.6.*"\n')
    assert document["text"].startswith(
        "NVIDIA GeForce RTX 5090 is sm_120; the first wheels with kernels for it are torch 2.7.0 on cu128")
    assert document["text"].endswith("line 4 asks for torch ==2.6.*.")
    requirements = [entry for entry in document["conflict"] if entry["kind"] == "requirement"]
    assert [(entry["field"], entry["value"], entry["line"]) for entry in requirements] == [
        ("torch", "==2.6.*", 4), ("gpus[0]", "RTX 5090", 3)]
    facts = [entry for entry in document["conflict"] if entry["kind"] == "fact"]
    assert [fact["table"] for fact in facts] == ["torch_archs"] and facts[0]["source"]
    assert document["alternatives"][0]["change"] == [{"field": "torch", "from": "==2.6.*", "to": ">=2.7"}]


def test_the_floor_is_told_with_its_number(catalog: Catalog) -> None:
    document = refusal(catalog, 'target: ubuntu2004\ngpus: [RTX 3090]\ndriver: {version: "470.256.02", keep: true}\ncuda: cu121\n')
    assert "wheels of CUDA 12 need driver 525.60.13 or newer, and 470.256.02 is older" in document["text"]
    assert "line 4 keeps driver 470.256.02" in document["text"]
    kept = next(each for each in document["alternatives"] if each["change"][0]["field"] == "driver.version")
    assert kept["change"] == [{"field": "driver.version", "from": "470.256.02", "to": ">=525.60.13"},
                              {"field": "driver.keep", "from": True, "to": False}]


def test_the_same_in_chinese(catalog: Catalog) -> None:
    document = refusal(catalog, 'target: ubuntu2204\ngpus: [RTX 5090]\ntorch: "==2.6.*"\n', lang="zh")
    assert document["text"].startswith("NVIDIA GeForce RTX 5090 是 sm_120；最早含有它的内核的 wheel 是 torch 2.7.0（cu128）")


def test_every_sentence_has_the_same_blanks_in_both_languages() -> None:
    import string

    for key, (english, chinese) in WORDS.items():
        blanks = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (english, chinese)]
        assert blanks[0] == blanks[1], key


def test_a_scalar_driver_is_named_as_it_was_written(catalog: Catalog) -> None:
    document = refusal(catalog, 'target: ubuntu2404\ngpus: [GTX 980]\ndriver: ">=590"\n')
    assert {entry["field"] for entry in document["conflict"] if entry["kind"] == "requirement"} == {"driver", "gpus[0]"}
    assert document["alternatives"][0]["change"] == [{"field": "driver", "from": ">=590", "to": "==580.*"}]


def test_why_an_old_torch_and_an_old_branch(catalog: Catalog) -> None:
    found = plan(catalog, "target: ubuntu2204\ngpus: [GTX 1080 Ti]\n")
    told = {each["choice"]: each for each in found.because}
    assert "2.15.0 does not fit: NVIDIA GeForce GTX 1080 Ti is sm_61; the last wheels with kernels for it are torch 2.14.1 on cu126" \
        in told["torch"]["text"]
    assert "which drivers serve up to branch 580" in told["driver"]["text"]
    assert "proprietary kernel modules" in told["driver_flavour"]["text"]
    assert all(fact["source"] and fact["confidence"] for each in told.values() for fact in each["facts"])
    entry = found.why("driver")
    assert entry is not None and entry["facts"][0]["row"] == "580"


def test_full_support_is_said_to_come_first(catalog: Catalog) -> None:
    found = plan(catalog, 'target: ubuntu2404\ngpus: [RTX 4090]\ndriver: "==580.*"\ntorch: "==2.15.*"\n')
    entry = found.why("cuda_build")
    assert entry is not None and "cu132 would fit only at the cost of a driver that serves the wheel's CUDA in full" in entry["text"]
    assert "Next best: 2.15.0+cu132" in entry["text"]


def test_other_plans_are_the_next_best(catalog: Catalog) -> None:
    found = plan(catalog, 'target: ubuntu2404\ngpus: [RTX 4090]\npython: "3.13"\ntorch: "==2.15.*"\n', all_n=3)
    builds = [found.choices["cuda_build"], *(each["cuda_build"] for each in found.others)]
    assert len(found.others) == 2 and builds[0] == "cu132"
    assert len({json.dumps(each, sort_keys=True) for each in (found.choices, *found.others)}) == 3


def test_difference_of_two_locks_names_the_line(catalog: Catalog) -> None:
    one, other = 'target: ubuntu2404\ngpus: [RTX 4090]\ntorch: "==2.9.*"\n', 'target: ubuntu2404\ngpus: [RTX 4090]\ntorch: "==2.10.*"\n'
    locks = []
    for text in (one, other):
        spec = load_spec("spec.yaml", text=("spec: 1\n" + text).encode())
        found = solve(spec, catalog)
        assert isinstance(found, Plan)
        locks.append(lock.make(found, spec, "0"))
    changes = {each["choice"]: each for each in diff(locks[0], locks[1])}
    assert (changes["torch"]["from"].split("+")[0], changes["torch"]["to"].split("+")[0]) == ("2.9.1", "2.10.0")
    assert "because `torch` of the spec changed from ==2.9.* to ==2.10.*" in changes["torch"]["text"]
    assert diff(locks[0], locks[0]) == []
    assert json.loads(lock.dump(locks[0])) == locks[0]
    assert lock.dump(locks[0]).endswith("}\n")


def test_warnings_say_what_a_user_has_to_do(catalog: Catalog) -> None:
    codes = {each["code"]: each["text"] for each in plan(
        catalog, 'target: {os: rhel9, nvswitch: true}\ngpus: [NVIDIA B200]\ndriver: "==580.*"\n').warnings}
    assert "580." in codes["fabric"] and "nvlsm" in codes["nvlsm"]
    codes = {each["code"]: each["text"] for each in plan(
        catalog, 'target: {os: ubuntu2204, kind: wsl}\ngpus: [RTX 4090]\n').warnings}
    assert "Install no Linux driver inside WSL" in codes["wsl"]
    codes = {each["code"]: each["text"] for each in plan(
        catalog, 'target: ubuntu2204\ngpus: [A100]\ndriver: {version: "535.288.01", keep: true}\ncuda: cu130\n').warnings}
    assert "cuda-compat-13-0" in codes["compat"]
    codes = {each["code"]: each["text"] for each in plan(
        catalog, 'target: ubuntu2204\ngpus: [RTX 3090]\npackages: {numpy: "<2"}\n').warnings}
    assert "numpy" in codes["unchecked"]


def test_an_unlisted_product_is_not_sure(catalog: Catalog) -> None:
    found = plan(catalog, 'target: ubuntu2004\ngpus: [L4]\ndriver: {version: "525.60.13", keep: true}\n')
    assert [each["text"] for each in found.warnings if each["code"] == "unknown"] == [
        "This plan rests on something nobody has stated: the README of driver 525.60.13 does not list NVIDIA L4; the first that does is "
        "525.105.17."]
    free = plan(catalog, 'target: ubuntu2004\ngpus: [L4]\ndriver: "==525.*"\n')
    assert not [each for each in free.warnings if each["code"] == "unknown"]


def test_artefacts_of_a_lock(catalog: Catalog) -> None:
    spec = load_spec("spec.yaml", text=b"spec: 1\ntarget: debian12\ngpus: [RTX 4070 Ti]\ntoolkit: match\ntorch: '==2.9.*'\ncuda: cu128\n"
                                       b"packages: {torchvision: '*', numpy: '<2'}\ndriver: '==580.*'\n")
    found = solve(spec, catalog)
    assert isinstance(found, Plan)
    made = lock.make(found, spec, "0.1")["artefacts"]
    assert made["requirements"] == ["torch==2.9.1+cu128", "torchvision==0.24.1+cu128"] and made["plain_requirements"] == ["numpy<2"]
    assert made["index_url"] == "https://download.pytorch.org/whl/cu128"
    assert made["driver"]["packages"] and made["driver"]["packages"][0]["name"] == "nvidia-open-580"
    assert [each["name"] for each in made["toolkit"]["packages"]] == ["cuda-toolkit-12-8"]
    assert made["repository"]["url"].startswith("https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64")
    assert made["expect"] == {"torch": "2.9.1+cu128", "cuda": "12.8", "cudnn": found.choices["cudnn"], "sm": [89],
                              "arch_list": made["expect"]["arch_list"]}
    assert "sm_86" in made["expect"]["arch_list"]


def test_artefacts_of_conda_and_containers(catalog: Catalog) -> None:
    spec = load_spec("spec.yaml", text=b"spec: 1\ntarget: ubuntu2204\ngpus: [RTX 4090]\ninstaller: conda\npython: '3.12'\n")
    found = solve(spec, catalog)
    assert isinstance(found, Plan)
    made = lock.make(found, spec, "0")["artefacts"]
    assert made["requirements"] == [] and made["index_url"] is None
    assert made["conda"]["channels"] == ["conda-forge"] and "python=3.12" in made["conda"]["specs"]
    assert any(each.startswith("pytorch=") and "cuda" in each for each in made["conda"]["specs"])
    spec = load_spec("spec.yaml", text=b"spec: 1\ntarget: {os: ubuntu2204, kind: container}\ngpus: [A100]\n")
    found = solve(spec, catalog)
    assert isinstance(found, Plan)
    made = lock.make(found, spec, "0")["artefacts"]
    assert made["driver"] is None and made["fabric"] is None
    assert made["repository"] is None


def test_the_documented_order_is_the_order() -> None:
    import provisioner.solver.problem as problem

    page = (Path(__file__).parents[2] / "docs" / "solver.md").read_text("utf-8")
    documented = page.split("word for word; a test compares them -->\n", 1)[1].split("<!-- end of order -->", 1)[0]
    assert documented in (problem.__doc__ or "")


def test_the_variables_stand_in_the_documented_order(catalog: Catalog) -> None:
    names = plan(catalog, "target: ubuntu2204\ngpus: [RTX 4090]\npackages: {torchvision: '*'}\n").question.world.names
    assert names == ["sure", "compat", "torch", "kernels", "packaged", "support", "wheel", "driver", "branch", "origin", "flavour", "python",
                     "same", "toolkit", "compiler", "cudnn", "nccl", "pair torchvision", "torchvision"]


def test_a_driver_that_is_there_without_a_name(catalog: Catalog) -> None:
    found = plan(catalog, "target: ubuntu2204\ngpus: [RTX 4090]\ndriver: {source: preinstalled}\n")
    assert found.choices["driver"] is None and found.choices["driver_source"] == "preinstalled"
    assert any(each["code"] == "driver-there" and "580.65.06" in each["text"] for each in found.warnings)


def test_host_facts_are_kept_with_least_change(catalog: Catalog) -> None:
    facts = {"driver": "550.163.01", "python": "3.10", "torch": "2.5.1+cu121"}
    found = plan(catalog, "target: ubuntu2204\ngpus: [RTX 4090]\nprefer: least-change\n", facts=facts)
    choices = found.choices
    assert (choices["driver"], choices["python"], choices["torch"]) == ("550.163.01", "3.10", "2.5.1+cu121")
    found = plan(catalog, "target: ubuntu2204\ngpus: [RTX 5090]\nprefer: least-change\n", facts=facts)  # neither serves Blackwell
    assert found.choices["python"] == "3.10" and found.choices["torch"].startswith("2.14.1")  # the newest with cp310


@pytest.mark.parametrize("text", ["target: ubuntu2204\ngpus: [Tesla K40m]\ncuda: '>=11'\n",
                                  "target: windows\ngpus: [RTX 4090]\ntorch: ==2.9.1\ncuda: cu129\n",
                                  "target: ubuntu2204\ngpus: [RTX 4090]\ncuda: cu127\n",
                                  "target: ubuntu2204\ngpus: [RTX 4090]\ncuda: cpu\n"])
def test_ways_out_name_wheels_once(catalog: Catalog, text: str) -> None:
    """Neither `CUDA cu126` nor `CUDA None`."""
    said = [way["text"] for way in refusal(catalog, text)["alternatives"]]
    assert said and not [each for each in said if "CUDA c" in each or "None" in each]


def test_a_package_without_wheels_for_the_system_says_so(catalog: Catalog) -> None:
    document = refusal(catalog, "target: windows\ngpus: [RTX 4090]\npackages: {vllm: '*'}\n")
    assert "vllm has wheels for Linux alone, none for Windows" in [each.get("text") for each in document["conflict"]]
    assert not [way for way in document["alternatives"] if any(change["field"] == "toolkit" for change in way["change"])]
