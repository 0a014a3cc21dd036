"""What is saved names nobody and no address, and keeps versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from provisioner.errors import Problem
from provisioner.probe import collect


def cleared(*texts: str, **private: str) -> list[str]:
    document = {"probe": 1, "private": {"host": "deepthought.example.org", "user": "ada", "home": "/home/ada", **private},
                "facts": {"log": {"value": list(texts), "from": "dmesg"}}}
    made = collect.redact(document)
    assert "private" not in made
    return list(made["facts"]["log"]["value"])


@pytest.mark.parametrize(("text", "kept"), [
    ("GPU 0: NVIDIA H200 (UUID: GPU-1f2e3d4c-0000-4000-8000-0123456789ab)", "GPU 0: NVIDIA H200 (UUID: GPU-UUID)"),
    ("  MIG 1g.10gb Device 0: (UUID: MIG-1f2e3d4c-0000-4000-8000-0123456789ab)", "  MIG 1g.10gb Device 0: (UUID: MIG-UUID)"),
    ("Serial Number : 1653422012345", "Serial Number : SERIAL"),
    ("nvidia-persistenced[1]: deepthought started by ada", "nvidia-persistenced[1]: HOST started by USER"),
    ("deepthought.example.org kernel: NVRM", "HOST kernel: NVRM"),
    ("/home/ada/venv/lib:/home/bob/lib64", "/home/USER/venv/lib:/home/USER/lib64"),
    (r"C:\Users\Bob\torch", r"C:\Users\USER\torch"),
    ("peer 10.12.0.7 port 29500, MASTER_ADDR=192.168.1.20", "peer ADDRESS port 29500, MASTER_ADDR=ADDRESS"),
    ("eth0 00:16:3e:5e:6c:00 up", "eth0 MAC up"),
    ("listens on fe80::216:3eff:fe5e:6c00 and ::1", "listens on ADDRESS and ADDRESS"),
    ("https://ada:hunter2@index.example.org/simple", "https://index.example.org/simple"),
    ("write to ada.l@example.org", "write to MAIL"),
])
def test_what_is_taken_out(text: str, kept: str) -> None:
    assert cleared(text) == [kept]


@pytest.mark.parametrize("text", [
    "NVIDIA-SMI 550.144.03  Driver Version: 550.144.03  CUDA Version: 12.4", "nvidia-cudnn-cu12==9.10.2.21", "libcudnn.so.9.1.0",
    "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.", "00000000:01:00.0 Off", "at 12:30:45 today", "torch::cuda::init",
    "/usr/local/cuda-12.8/lib64", "adapter of the card", "torch 2.7.1+cu128", "cuDNN version 9.7.1.26 found",
])
def test_what_is_evidence_stays(text: str) -> None:
    assert cleared(text) == [text]


def test_a_user_named_like_the_system_does_not_take_its_name_away() -> None:
    assert cleared("OS: Ubuntu 24.04", user="ubuntu", home="/home/ubuntu") == ["OS: Ubuntu 24.04"]


def test_versions_of_four_parts_stay_under_their_names() -> None:
    made = collect.redact({"probe": 1, "facts": {"python": {"value": {"packages": {"nvidia-cudnn-cu12": "9.10.2.21"}}}}})
    assert made["facts"]["python"]["value"]["packages"] == {"nvidia-cudnn-cu12": "9.10.2.21"}


def test_clearing_twice_changes_nothing() -> None:
    once = collect.redact({"probe": 1, "private": {"user": "ada"}, "facts": {"log": {"value": ["ada at 10.0.0.1", "/home/ada/x"]}}})
    assert collect.redact(once) == once


@pytest.mark.parametrize("content", ["", "no JSON", "[]", "{}", '{"probe": 2, "facts": {}}', '{"probe": 1}', '{"probe": 1, "facts": {"os": 3}}', "[" * 100_000])
def test_a_file_that_is_none_is_a_problem(tmp_path: Any, content: str) -> None:
    path = tmp_path / "facts.json"
    path.write_text(content, "utf-8")
    with pytest.raises(Problem) as caught:
        collect.read_facts(str(path))
    assert caught.value.code == "facts-file"
    assert caught.value.todo


def test_no_file_is_a_problem(tmp_path: Any) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(Problem) as caught:
            collect.read_facts(str(path))
        assert caught.value.code == "cannot-read"


def test_a_file_of_facts_is_read(tmp_path: Any) -> None:
    path = tmp_path / "facts.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"probe": 1, "facts": {"root": {"value": True, "from": "geteuid"}}}).encode())
    assert collect.value(collect.read_facts(str(path)), "root") is True
