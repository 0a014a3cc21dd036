"""The script of a container plan in a bare Debian 12 root: no curl, no gnupg, no Python; uv brings the environment.

uv and what it seeds an environment with are real and come from the package index once; torch is a stub.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from place import ROOT
from render import repository
from render.test_chroot import CACHE, base, keys, said  # noqa: F401 - keys is a fixture

pytestmark = [pytest.mark.root, pytest.mark.chroot, pytest.mark.slow, pytest.mark.network]

SPEC = """spec: 1
name: image
target: {os: debian12, kind: container}
gpus: [RTX 4090]
torch: "2.7.1"
cuda: cu128
toolkit: match
python: "3.11"
installer: uv
"""


def index(folder: Path) -> None:
    """A simple index with uv and what it seeds an environment with, as the package index has them."""
    names = ("uv", "pip", "setuptools", "wheel", "packaging")
    wheels = CACHE / f"wheels-{'-'.join(names)}"
    if not (wheels / ".complete").exists():
        got = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(wheels), *names],
                             capture_output=True, text=True, check=False)
        if got.returncode:
            pytest.skip(f"the package index cannot be reached: {got.stderr[-300:]}")
        (wheels / ".complete").touch()
    for wheel in wheels.glob("*.whl"):
        place = folder / wheel.name.split("-")[0]
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, place)
        (place / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>\n')


@pytest.fixture
def machine(keys: dict[str, repository.Key], tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:  # noqa: F811
    """The root, and the variables that the script is given."""
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", str(base("debian12")), str(root)], check=True)
    (tmp_path / "spec.yaml").write_text(SPEC)
    for command in (["plan"], ["render", "--target", "debian12", "--out", "out"]):
        subprocess.run([sys.executable, "-m", "provisioner", *command], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
                       capture_output=True)
    shutil.copy(tmp_path / "out" / "install.sh", root / "root" / "install.sh")
    site = tmp_path / "site"
    repository.build(site / "repos" / "debian12" / "x86_64", tmp_path / "work", repository.toolkit("12.8.1"), keys["vendor"], keys["vendor"])
    index(site / "pypi")
    repository.wheel(site / "simple", "torch", "2.7.1+cu128")
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    try:
        if not (root / "dev" / "fd").exists():
            (root / "dev" / "fd").symlink_to("/proc/self/fd")
        subprocess.run(["chroot", str(root), "apt-get", "purge", "-y", "-qq", "curl"], check=True, capture_output=True)
        with repository.served(site) as url:
            yield root, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "PROVISION_CUDA_REPO_BASE": f"{url}/repos",
                         "PROVISION_CUDA_KEY_FINGERPRINT": keys["vendor"].fingerprint, "PROVISION_INDEX_URL": f"{url}/simple",
                         "PIP_INDEX_URL": f"{url}/pypi", "UV_DEFAULT_INDEX": f"{url}/pypi", "UV_PYTHON_DOWNLOADS": "never"}
    finally:
        subprocess.run(["umount", "--lazy", str(root / "proc")], check=True)
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=False)


def test_a_container_gets_toolkit_and_wheels_and_no_driver(machine: tuple[Path, dict[str, str]]) -> None:
    root, env = machine

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["chroot", str(root), "bash", "/root/install.sh", "--skip", "verify", *arguments], env=env, capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL)

    first = run()
    assert first.returncode == 0, said(first)
    told = subprocess.run(["chroot", str(root), "dpkg-query", "-W", "-f=${Package}\n"], check=True, capture_output=True, text=True).stdout.split()
    assert "cuda-toolkit-12-8" in told
    assert not [name for name in told if "nvidia" in name or name.startswith(("linux-headers", "cuda-drivers", "dkms"))]
    assert not (root / "etc/modprobe.d/blacklist-nouveau.conf").exists()
    policy = subprocess.run(["chroot", str(root), "apt-cache", "policy", "cuda-toolkit-12-8"], check=True, capture_output=True, text=True).stdout
    assert "12.8.1-1" in policy
    torch = subprocess.run(["chroot", str(root), "/opt/torch/bin/python", "-c", "import torch; print(torch.__version__)"], capture_output=True,
                           text=True, check=True).stdout
    assert torch.strip() == "2.7.1+cu128"

    second = run()
    assert second.returncode == 0, said(second)
    assert "nothing had to be changed" in second.stdout

    undone = run("--undo")
    assert undone.returncode == 0, said(undone)
    assert not (root / "opt/torch").exists()
    assert not (root / "var/lib/provision").exists()
