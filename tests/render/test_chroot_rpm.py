"""The rendered scripts for dnf and zypper systems, run by real dnf and real zypper against local signed repositories.

The root is Debian's, because dnf and zypper are packaged there; what says that it is an EL 9 or a SLES 15 is its os-release. So these
tests are about the package managers: streams, exact versions, holds, keys, undo. The reboot and the GPU check are left out.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from place import ROOT
from render import repository, rpm_repository
from render.test_chroot import CACHE, base, keys, said  # noqa: F401 - keys is a fixture

pytestmark = [pytest.mark.root, pytest.mark.chroot, pytest.mark.slow]

VERSION, NEWER = "580.126.09", "620.70.06"
KEPT = "570.211.01"
SPEC = """spec: 1
name: chroot
target: {{os: {target}, nvswitch: true}}
gpus: ["NVIDIA H100 80GB HBM3"]
driver: {driver}
torch: "2.7.1"
cuda: cu128
toolkit: match
nccl: "2.32.3"
python: "3.11"
"""
MANAGERS = {
    "dnf": ("rhel9", 'ID="rocky"\nVERSION_ID="9.6"\n', "dnf dnf-plugins-core rpm createrepo-c gnupg python3-gpg"),
    "zypper": ("sles15", 'ID="sles"\nVERSION_ID="15.7"\n', "zypper rpm createrepo-c gnupg"),
}
KEPT_PARTS = ("nvidia-driver", "nvidia-driver-cuda", "nvidia-persistenced", "nvidia-driver-libs")
SYSTEM = [rpm_repository.Rpm(name, "1") for name in
          ("ca-certificates", "pciutils", "kmod", "gcc", "make", "epel-release", "kernel-default-devel", "python3.11", "python311")]


def tools(manager: str) -> Path:
    """A root with the package manager in it, made once and kept."""
    packages = MANAGERS[manager][2]
    debian = base("debian12")
    folder = CACHE / f"{manager}-{hashlib.sha256((packages + debian.name).encode()).hexdigest()[:8]}"
    if not (folder / ".complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", str(debian), str(folder)], check=True)
        (folder / ".complete").unlink()
        got = subprocess.run(["chroot", str(folder), "sh", "-c",
                              f"apt-get update -qq && apt-get install -y --no-install-recommends python3-venv {packages} && apt-get clean"],
                             capture_output=True, text=True, check=False,
                             env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"})
        if got.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"the root cannot get {packages}: {got.stderr[-300:]}")
        (folder / "etc" / "rpm").mkdir(exist_ok=True)
        (folder / "etc" / "rpm" / "macros").write_text("%_dbpath /var/lib/rpm\n")  # Debian keeps it in the home
        (folder / ".complete").touch()
    return folder


class Machine:
    """A root filesystem with a package manager, and the addresses it is given."""

    def __init__(self, manager: str, root: Path, url: str, fingerprint: str) -> None:
        self.manager, self.root, self.url, self.fingerprint = manager, root, url, fingerprint

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "PROVISION_CUDA_REPO_BASE": f"{self.url}/repos",
               "PROVISION_CUDA_KEY_FINGERPRINT": self.fingerprint, "PROVISION_INDEX_URL": f"{self.url}/simple",
               "PROVISION_ASSUME_REBOOTED": "1"}
        return subprocess.run(["chroot", str(self.root), "bash", "/root/install.sh", "--skip", "verify", *arguments], env=env,
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def upgrade(self) -> None:
        """Everything, as an administrator does it some day."""
        rpm_repository.chroot(self.root, *{"dnf": ("dnf", "-y", "upgrade"), "zypper": ("zypper", "--non-interactive", "update")}[self.manager])

    def packages(self) -> dict[str, str]:
        told = rpm_repository.chroot(self.root, "rpm", "-qa", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\n")
        return dict(line.split() for line in told.splitlines() if not line.startswith("gpg-pubkey"))

    def keys(self) -> list[str]:
        return rpm_repository.chroot(self.root, "rpm", "-qa", "gpg-pubkey*").split()

    def files(self) -> dict[str, tuple[str, float]]:
        """Every file that matters: its content and when it was changed."""
        found = {}
        for part in ("etc", "opt", "usr/local"):
            for path in sorted((self.root / part).rglob("*")):
                name = str(path.relative_to(self.root))
                if path.is_file() and not path.is_symlink() and name not in ("etc/ld.so.cache", "etc/mtab"):
                    found[name] = (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime)
        return found


@pytest.fixture
def machine(keys: dict[str, repository.Key], tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:  # noqa: F811
    """A copy of the root of a manager with its script in it, beside a repository signed by the key that the test names."""
    manager, signer, keyring, *kept = request.param
    target, release, _ = MANAGERS[manager]
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", str(tools(manager)), str(root)], check=True)
    (root / "etc" / "os-release").unlink()
    (root / "etc" / "os-release").write_text(release)
    plan = tmp_path / "plan"
    plan.mkdir()
    (plan / "spec.yaml").write_text(SPEC.format(target=target, driver=f"{{version: {KEPT}, keep: true}}" if kept else VERSION))
    for command in (["plan"], ["render", "--target", target, "--out", "out"]):
        subprocess.run([sys.executable, "-m", "provisioner", *command], cwd=plan, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path),
                       "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    shutil.copy(plan / "out" / "install.sh", root / "root" / "install.sh")
    site = tmp_path / "site"
    old, new = rpm_repository.driver(VERSION), rpm_repository.driver(NEWER)
    modules = rpm_repository.streams("nvidia-driver", {"620-open": new, "580-open": old}) if manager == "dnf" else ""
    vendor = site / "repos" / target / "x86_64"
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    try:
        if not (root / "dev" / "fd").exists():
            (root / "dev" / "fd").symlink_to("/proc/self/fd")
        rpm_repository.build(root, vendor, [*old, *new, *rpm_repository.LIBRARIES], keys[signer], modules)
        (vendor / "D42D0685.pub").write_bytes(rpm_repository.armoured(keys[keyring]))
        there = [rpm_repository.Rpm("filesystem", "1")]  # a machine has packages; zypper fails on an empty database
        if kept:
            there += [each._replace(requires=()) for each in rpm_repository.driver(KEPT) if each.name in KEPT_PARTS]
        rpm_repository.build(root, root / "there", there, None)
        rpm_repository.chroot(root, "sh", "-c", "rpm -i /there/*.rpm")
        rpm_repository.build(root, site / "system", SYSTEM, None)
        rpm_repository.build(root, site / "crb", [rpm_repository.Rpm("dkms", "3.2.0")], None)
        repository.wheel(site / "simple", "torch", "2.7.1+cu128")
        with repository.served(site) as url:
            entry = "[{0}]\nname={0}\nbaseurl={1}/{0}\nenabled={2}\ngpgcheck=0\nrepo_gpgcheck=0\n"
            if manager == "dnf":
                (root / "etc/yum.repos.d").mkdir(exist_ok=True)
                (root / "etc/yum.repos.d/system.repo").write_text(entry.format("system", url, 1) + entry.format("crb", url, 0))
                (root / "etc/dnf/vars").mkdir(exist_ok=True)
                (root / "etc/dnf/vars/releasever").write_text("9\n")
                (root / "etc/dnf/dnf.conf").write_text("[main]\ngpgcheck=1\nbest=True\nmodule_platform_id=platform:el9\n")
                (root / "etc/dnf/plugins/local.conf").write_text("[main]\nenabled = false\n")
            else:
                (root / "etc/zypp/repos.d").mkdir(parents=True, exist_ok=True)
                (root / "etc/zypp/repos.d/system.repo").write_text(entry.format("system", url, 1) + entry.format("crb", url, 1))
            yield Machine(manager, root, url, keys["vendor"].fingerprint)
    finally:
        subprocess.run(["umount", "--lazy", str(root / "proc")], check=True)
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=False)


@pytest.mark.parametrize("machine", [("dnf", "vendor", "vendor"), ("zypper", "vendor", "vendor")], ids=["dnf", "zypper"], indirect=True)
def test_install_twice_then_undo(machine: Machine) -> None:
    before_packages, before_files, before_keys = machine.packages(), machine.files(), machine.keys()

    dry = machine.run("--dry-run")
    assert dry.returncode == 0, said(dry)
    assert (machine.packages(), machine.files()) == (before_packages, before_files)

    first = machine.run()
    assert first.returncode == 0, said(first)
    packages = machine.packages()
    for name in ("nvidia-open", "nvidia-driver", "nvidia-driver-cuda", "kmod-nvidia-open-dkms", "nvidia-fabricmanager"):  # although a newer one is there
        assert packages[name] == f"{VERSION}-1", name
    assert packages["cuda-toolkit-12-8"] == "12.8.1-1"
    assert packages["libnccl"] == packages["libnccl-devel"] == "2.32.3-1+cuda12.9"  # not the one for CUDA 13
    assert not packages.keys() & {"cuda", "cuda-12-8", "cuda-drivers", "kmod-nvidia-latest-dkms"}

    if machine.manager == "dnf":  # without the stream and the repository of DKMS none of this is in sight
        assert "580-open" in rpm_repository.chroot(machine.root, "dnf", "module", "list", "--enabled", "nvidia-driver")
        assert "crb" in rpm_repository.chroot(machine.root, "dnf", "repolist", "--enabled")
        assert packages["epel-release"] == "1-1"

    files = machine.files()
    second = machine.run()
    assert second.returncode == 0, said(second)
    assert "nothing had to be changed" in second.stdout
    assert machine.packages() == packages
    assert machine.files() == files

    machine.upgrade()
    held = machine.packages()
    assert {name: held[name] for name in held if "nvidia" in name} == {name: packages[name] for name in packages if "nvidia" in name}

    undone = machine.run("--undo")
    assert undone.returncode == 0, said(undone)
    assert machine.packages() == before_packages
    assert machine.keys() == before_keys
    after = machine.files()
    assert not {name for name in after.keys() ^ before_files.keys() if "provision" in name or "nouveau" in name or name.startswith("opt/")}
    if machine.manager == "dnf":
        assert "crb" not in rpm_repository.chroot(machine.root, "dnf", "repolist", "--enabled")
        assert not rpm_repository.chroot(machine.root, "dnf", "-q", "versionlock", "list").strip()
    else:
        assert "nvidia" not in rpm_repository.chroot(machine.root, "zypper", "locks")


@pytest.mark.parametrize("machine", [(manager, "vendor", "vendor", "kept") for manager in MANAGERS], ids=list(MANAGERS), indirect=True)
def test_a_kept_driver_stays(machine: Machine) -> None:
    """The toolkit comes from a repository that holds newer drivers; neither it nor a later upgrade touches the one that is there."""
    first = machine.run()
    assert first.returncode == 0, said(first)
    machine.upgrade()
    packages = machine.packages()
    assert packages["cuda-toolkit-12-8"] == "12.8.1-1"
    assert {name: packages[name] for name in packages if "nvidia" in name} == dict.fromkeys(KEPT_PARTS, f"{KEPT}-1")
    assert "nothing had to be changed" in machine.run().stdout
    undone = machine.run("--undo")
    assert undone.returncode == 0, said(undone)
    packages = machine.packages()
    assert {name: packages[name] for name in packages if "nvidia" in name or "cuda" in name} == dict.fromkeys(KEPT_PARTS, f"{KEPT}-1")


@pytest.mark.parametrize("machine", [(manager, "stranger", keyring) for manager in MANAGERS for keyring in ("vendor", "stranger")],
                         ids=[f"{manager}-{keyring}" for manager in MANAGERS for keyring in ("vendor", "stranger")], indirect=True)
def test_a_repository_signed_by_another_key_is_refused(machine: Machine) -> None:
    """Packages signed by a stranger behind the right key: the package manager refuses. A stranger's key: the fingerprint refuses."""
    told = machine.run()
    assert told.returncode == 4, said(told)
    assert not [name for name in machine.packages() if "nvidia" in name or "cuda" in name]
