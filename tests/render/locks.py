"""Locks for the tests of rendering: written by hand in the shape that `plan` writes, so that a step can be tested without a solve."""

from __future__ import annotations

from typing import Any

REPOSITORIES = "https://developer.download.nvidia.com/compute/cuda/repos"


def debian12(**changes: Any) -> dict[str, Any]:
    """A Debian 12 host that gets everything: driver 580.126.09, toolkit 12.8, Fabric Manager, torch 2.7.1+cu128."""
    version = "580.126.09"
    artefacts: dict[str, Any] = {
        "system": {"id": "debian12", "name": "Debian 12", "family": "debian", "version": "12", "aliases": ["bookworm"],
                   "package_manager": "apt", "initramfs": "update-initramfs"},
        "kind": "host",
        "repository": {"url": f"{REPOSITORIES}/debian12/x86_64", "list_name": "cuda-debian12-x86_64",
                       "key_fingerprint": "EB693B3035CD5710E231E123A4B469963BF863CC", "origin": "vendor",
                       "keyring_url": f"{REPOSITORIES}/debian12/x86_64/cuda-keyring_1.1-1_all.deb", "keyring_sha256": "e7f2" + "0" * 60},
        "driver": {"action": "install", "origin": "vendor", "version": version, "branch": "580", "flavour": "open",
                   "packages": [{"name": "nvidia-open-580", "version": version}], "pin": None,
                   "prerequisites": ["ca-certificates", "curl", "gnupg", "kmod"], "headers": "linux-headers-$(uname -r)"},
        "fabric": {"packages": [{"name": "nvidia-fabricmanager", "version": version}]},
        "toolkit": {"version": "12.8", "packages": [{"name": "cuda-toolkit-12-8", "version": ""}], "origin": "vendor",
                    "home": "/usr/local/cuda-12.8"},
        "cudnn": None, "nccl": None, "compat": None,
        "python": {"version": "3.11", "packages": [{"name": "python3-venv", "version": ""}], "source": "system"},
        "environment": "/opt/torch", "installer": "pip", "index_url": "https://download.pytorch.org/whl/cu128",
        "extra_index_urls": [], "requirements": ["torch==2.7.1+cu128", "torchvision==0.22.1+cu128"], "conda": None,
    }
    artefacts |= changes.pop("artefacts", {})
    choices = {"os": "debian12", "arch": "x86_64", "gpus": ["sm_89"], "driver": version, "driver_branch": "580", "driver_flavour": "open",
               "driver_source": "vendor", "cuda": "12.8", "cuda_build": "cu128", "toolkit": "12.8", "cudnn": "9.7.1.26", "nccl": "2.26.2",
               "python": "3.11", "torch": "2.7.1+cu128", "index_url": artefacts["index_url"], "packages": {}} | changes.pop("choices", {})
    return {"lock": 1, "tool": "0.1.0", "catalog": {"version": "2026.11.30", "digest": "sha256:" + "0" * 64},
            "spec": {"digest": "sha256:" + "1" * 64, "name": changes.pop("name", "box"), "content": {}}, "choices": choices,
            "artefacts": artefacts, "because": [], "warnings": [], "steps": [], **changes}
