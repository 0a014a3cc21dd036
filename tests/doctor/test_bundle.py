"""JSON evidence is judged as the same machine's text would be."""

from __future__ import annotations

import json

from provisioner.doctor import engine, live

HOST = {
    "os": {"name": "Ubuntu 24.04.3 LTS"}, "kernel": "6.8.0-60-generic", "driver": {"version": "550.163.01"},
    "gpus": [{"name": "NVIDIA GeForce GTX 1050", "capability": [6, 1]}],
    "torch": {"version": "2.8.0+cu128", "cuda": "12.8", "arch_list": ["sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"],
              "cuda_available": True},
    "python": {"version": "3.12.3"},
}


def test_facts_of_a_probe_are_judged() -> None:
    report = live.diagnose_facts(HOST)
    assert [each.code for each in report.findings][:1] == ["arch-too-old-for-wheel"]
    assert report.status == 4
    assert any("GTX 1050" in line.text or "6.1" in line.text for line in report.findings[0].evidence)


def test_a_saved_bundle_says_the_same() -> None:
    saved = json.dumps(HOST, indent=1)
    from_file = engine.diagnose([("bundle.json", saved)], "doctor")
    assert [each.code for each in from_file.findings] == [each.code for each in live.diagnose_facts(HOST).findings]


def test_a_healthy_host_is_nothing_wrong() -> None:
    host = {**HOST, "gpus": [{"name": "NVIDIA GeForce RTX 4090", "capability": [8, 9]}], "driver": {"version": "570.124.06"}}
    report = live.diagnose_facts(host)
    assert [each.code for each in report.findings] == ["plan-feasible"]
    assert report.status == 0


def test_flags_and_raw_output_count() -> None:
    host = {"secure_boot": True, "nvidia_smi": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nMake sure"}
    assert [each.code for each in live.diagnose_facts(host).findings][:1] == ["secure-boot-unsigned-module"]


def test_variables_of_the_environment() -> None:
    host = {"environment": {"CUDA_VISIBLE_DEVICES": "-1"}, "torch": {"version": "2.7.1+cu128", "cuda_available": False}}
    assert [each.code for each in live.diagnose_facts(host).findings][:1] == ["visible-devices-mask"]


def test_json_that_is_none_is_text() -> None:
    assert engine.diagnose([("x", "{ not json: RuntimeError: Numpy is not available }")]).findings[0].code == "numpy2-abi"
