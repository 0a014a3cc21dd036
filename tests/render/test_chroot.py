"""The rendered Debian 12 script, run by real bash and real apt in a real Debian 12 root filesystem.

The repository is a local one laid out like NVIDIA's and signed by a key of its own; the wheels are stubs in a local index. Everything
else comes from Debian's archive. There is no kernel in such a root, so the reboot and the GPU check are left out, as they are when an
image is built.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

from render import repository

pytestmark = [pytest.mark.root, pytest.mark.chroot, pytest.mark.slow]

SPEC = """spec: 1
name: chroot
target: debian12
gpus: [RTX 4090]
driver: "580.126.09"
torch: "2.7.1"
cuda: cu128
toolkit: match
python: "3.11"
"""
INCLUDE = "ca-certificates,curl,kmod,pciutils,build-essential"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "provision-tests"


@pytest.fixture(scope="module")
def base() -> Path:
    """A fresh Debian 12 root, made once and kept."""
    folder = CACHE / f"debian12-{hashlib.sha256(INCLUDE.encode()).hexdigest()[:8]}"
    if not (folder / ".complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", f"--include={INCLUDE}", "bookworm", str(folder)], capture_output=True,
                              text=True, check=False)
        if made.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"debootstrap cannot make a root here: {made.stdout[-200:]}{made.stderr[-200:]}")
        shutil.copy("/etc/resolv.conf", folder / "etc" / "resolv.conf")
        (folder / ".complete").touch()
    return folder


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, repository.Key]:
    folder = tmp_path_factory.mktemp("keys")
    return {name: repository.make_key(folder, name) for name in ("vendor", "stranger")}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script as a user gets it: plan, then render."""
    folder = tmp_path_factory.mktemp("plan")
    (folder / "spec.yaml").write_text(SPEC)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for command in (["plan"], ["render", "--target", "debian12", "--out", "out"]):
        subprocess.run([sys.executable, "-m", "provisioner", *command], cwd=folder, env=env, check=True, capture_output=True)
    return (folder / "out" / "install.sh").read_text()


class Machine:
    """A root filesystem and the addresses it is given."""

    def __init__(self, root: Path, url: str, fingerprint: str) -> None:
        self.root, self.url, self.fingerprint = root, url, fingerprint

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "PROVISION_CUDA_REPO_BASE": f"{self.url}/repos",
               "PROVISION_CUDA_KEY_FINGERPRINT": self.fingerprint, "PROVISION_INDEX_URL": f"{self.url}/simple",
               "PROVISION_ASSUME_REBOOTED": "1"}
        return subprocess.run(["chroot", str(self.root), "bash", "/root/install.sh", "--skip", "verify", *arguments], env=env,
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def packages(self) -> dict[str, str]:
        told = subprocess.run(["chroot", str(self.root), "dpkg-query", "-W", "-f=${db:Status-Abbrev} ${Package} ${Version}\n"], check=True,
                              capture_output=True, text=True).stdout
        return {line.split()[1]: line.split()[2] for line in told.splitlines() if line[1] == "i"}

    def held(self) -> list[str]:
        return subprocess.run(["chroot", str(self.root), "apt-mark", "showhold"], check=True, capture_output=True, text=True).stdout.split()

    def files(self) -> dict[str, tuple[str, float]]:
        """Every file that matters: its content and when it was changed."""
        found = {}
        for part in ("etc", "opt", "usr/share/keyrings", "usr/share/doc/nvidia-driver", "usr/local"):
            for path in sorted((self.root / part).rglob("*")):
                name = str(path.relative_to(self.root))
                if path.is_file() and not path.is_symlink() and name not in ("etc/ld.so.cache", "etc/mtab"):
                    found[name] = (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime)
        return found


@pytest.fixture
def machine(base: Path, keys: dict[str, repository.Key], script: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A copy of the root with the script in it, beside a repository signed by the key that the test names."""
    signer, keyring = getattr(request, "param", ("vendor", "vendor"))
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(root)], check=True)
    (root / "root" / "install.sh").write_text(script)
    site = tmp_path / "site"
    stubs = repository.driver("580", "580.126.09") + repository.driver("580", "580.178.04") + repository.driver("620", "620.70.06") \
        + repository.TOOLKIT
    unique = list({(stub.name, stub.version): stub for stub in stubs}.values())
    repository.build(site / "repos" / "debian12" / "x86_64", tmp_path / "work", unique, keys[signer], keys[keyring])
    repository.wheel(site / "simple", "torch", "2.7.1+cu128")
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)  # every machine has one, and bash uses it
    try:
        if not (root / "dev" / "fd").exists():
            (root / "dev" / "fd").symlink_to("/proc/self/fd")
        with repository.served(site) as url:
            yield Machine(root, url, keys["vendor"].fingerprint)
    finally:
        subprocess.run(["umount", "--lazy", str(root / "proc")], check=True)
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=False)


def said(told: subprocess.CompletedProcess[str]) -> str:
    return told.stdout[-3000:] + told.stderr[-3000:]


def test_install_twice_then_undo(machine: Machine) -> None:
    before_packages, before_files = machine.packages(), machine.files()

    dry = machine.run("--dry-run")
    assert dry.returncode == 0, said(dry)
    assert machine.packages() == before_packages
    assert machine.files() == before_files

    first = machine.run()
    assert first.returncode == 0, said(first)
    packages = machine.packages()
    # the driver asked for, all of it in that one version, although the repository holds newer ones
    for name in ("nvidia-open-580", "nvidia-driver", "nvidia-driver-cuda", "nvidia-kernel-open-dkms", "libcuda1"):
        assert packages[name] == "580.126.09-1", name
    assert packages["cuda-toolkit-12-8"] == "12.8.1-1"
    assert not packages.keys() & {"cuda", "cuda-12-8", "cuda-drivers", "cuda-drivers-580", "nvidia-kernel-dkms", "cuda-keyring"}
    assert "nvidia-open-580" in machine.held()
    assert "blacklist nouveau" in (machine.root / "etc/modprobe.d/blacklist-nouveau.conf").read_text()
    assert "CUDA_HOME=/usr/local/cuda-12.8" in (machine.root / "etc/profile.d/provision-cuda.sh").read_text()
    freeze = subprocess.run(["chroot", str(machine.root), "/opt/torch/bin/python", "-m", "pip", "freeze"], capture_output=True, text=True,
                            check=True).stdout
    assert "torch==2.7.1+cu128" in freeze

    files = machine.files()
    second = machine.run()
    assert second.returncode == 0, said(second)
    assert "nothing had to be changed" in second.stdout
    assert machine.packages() == packages
    assert machine.files() == files

    undone = machine.run("--undo")
    assert undone.returncode == 0, said(undone)
    assert machine.packages() == before_packages
    after = machine.files()
    ours = {name for name in after.keys() ^ before_files.keys() if "provision" in name or "nouveau" in name or name.startswith("opt/")}
    assert not ours
    assert machine.held() == []


@pytest.mark.parametrize(("machine", "words"), [(("stranger", "vendor"), "apt refuses the repository"),
                                                (("stranger", "stranger"), "expected")], indirect=["machine"])
def test_a_repository_signed_by_another_key_is_refused(machine: Machine, words: str) -> None:
    """Signed by a stranger behind the right keyring: apt refuses. A keyring with a stranger's key: the fingerprint refuses."""
    told = machine.run()
    assert told.returncode == 4, said(told)
    assert words in told.stderr
    assert not [name for name in machine.packages() if name.startswith(("nvidia", "cuda", "libcuda"))]
    assert not list((machine.root / "etc/apt/sources.list.d").glob("provision*"))
    assert not (machine.root / "usr/share/keyrings/provision-nvidia-cuda.gpg").exists()


def test_the_wrong_system_is_refused(machine: Machine) -> None:
    release = machine.root / "etc" / "os-release"
    text = release.read_text()
    release.unlink()
    release.write_text(text.replace('VERSION_ID="12"', 'VERSION_ID="13"'))
    told = machine.run()
    assert told.returncode == 2
    assert "this script is for debian12" in told.stderr


def test_an_interrupted_run_is_taken_up_again(machine: Machine) -> None:
    """Stopped after the repository, the next run does the rest."""
    part = machine.run("--only", "install-prerequisites", "--only", "add-repository")
    assert part.returncode == 0, said(part)
    assert "nvidia-open-580" not in machine.packages()
    rest = machine.run()
    assert rest.returncode == 0, said(rest)
    assert "already done: Add NVIDIA's repository" in rest.stdout
    assert machine.packages()["nvidia-open-580"] == "580.126.09-1"


