"""The rendered script, run by real bash and real apt in real root filesystems of Debian 12 and Debian 13.

The repository is a local one laid out like NVIDIA's and signed by a key of its own; the wheels are stubs in a local index. Everything
else comes from Debian's archive. There is no kernel in such a root, so the reboot and the GPU check are left out, as they are when an
image is built. Debian 13 differs where it matters here: sources in deb822 form, signatures checked by sqv, Python 3.13, and driver
packages without a branch in their names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from place import ROOT
from render import repository

pytestmark = [pytest.mark.root, pytest.mark.chroot, pytest.mark.slow]


class System(NamedTuple):
    """What the tests ask for on a system, and what they expect."""

    suite: str
    python: str
    torch: str
    cuda: str
    driver: str
    other: str  # another release on offer
    asked: str  # the driver's package
    toolkit: str
    nccl: str  # as Debian spells it: the build for the nearest CUDA of the same major
    sources: tuple[str, str]  # how the system itself lists its archive: file, content

    def spec(self, name: str, driver: str) -> str:
        """The spec that a user writes."""
        return (f"spec: 1\nname: chroot\ntarget: {name}\ngpus: [RTX 4090]\ndriver: '{driver}'\ntorch: {self.torch}\ncuda: {self.cuda}\n"
                f"toolkit: match\nnccl: '{self.nccl.split('-')[0]}'\npython: '{self.python}'\n")

    @property
    def release(self) -> str:
        """Package and version of the toolkit, for instance cuda-toolkit-12-8."""
        return f"cuda-toolkit-{self.toolkit[:4].replace('.', '-')}"


SYSTEMS = {
    "debian12": System("bookworm", "3.11", "2.7.1", "cu128", "580.126.09", "580.105.08", "nvidia-open-580", "12.8.1", "2.26.2-1+cuda12.8",
                       ("sources.list", "deb @MIRROR@ bookworm main\n"
                        "deb [arch=amd64] @MIRROR@ bookworm-updates main\n")),
    "debian13": System("trixie", "3.13", "2.12.0", "cu132", "610.57.04", "610.43.03", "nvidia-open", "13.2.1", "2.30.4-1+cuda13.2",
                       ("sources.list.d/debian.sources", "Types: deb\nURIs: @MIRROR@\nSuites: trixie trixie-updates\n"
                        "Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")),
}
INCLUDE = "ca-certificates,curl,kmod,pciutils,build-essential"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "provision-tests"


@cache
def base(name: str) -> Path:
    """A fresh root of a system, made once and kept."""
    folder = CACHE / f"{name}-{hashlib.sha256(INCLUDE.encode()).hexdigest()[:8]}"
    if not (folder / ".complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", f"--include={INCLUDE}", SYSTEMS[name].suite, str(folder)],
                              capture_output=True, text=True, check=False)
        if made.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"debootstrap cannot make a root here: {made.stdout[-200:]}{made.stderr[-200:]}")
        shutil.copy("/etc/resolv.conf", folder / "etc" / "resolv.conf")
        (folder / ".complete").touch()
    return folder


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, repository.Key]]:
    folder = tmp_path_factory.mktemp("keys")
    made = {name: repository.make_key(folder, name) for name in ("vendor", "stranger")}
    yield made
    for key in made.values():  # gpg leaves an agent behind for each home
        subprocess.run(["gpgconf", "--homedir", str(key.home), "--kill", "gpg-agent"], check=False)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """The script for a system and a driver as a user gets it: plan, then render."""

    @cache
    def made(name: str, driver: str) -> str:
        folder = tmp_path_factory.mktemp("plan")
        (folder / "spec.yaml").write_text(SYSTEMS[name].spec(name, driver))
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        for command in (["plan"], ["render", "--target", name, "--out", "out"]):
            told = subprocess.run([sys.executable, "-m", "provisioner", *command], cwd=folder, env=env, check=False, capture_output=True, text=True)
            assert told.returncode == 0, told.stdout + told.stderr
        return (folder / "out" / "install.sh").read_text()

    return made


class Machine:
    """A root filesystem and the addresses it is given."""

    def __init__(self, name: str, root: Path, url: str, fingerprint: str, sources: str) -> None:
        self.name, self.root, self.url, self.fingerprint, self.sources = name, root, url, fingerprint, sources
        self.system = SYSTEMS[name]

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

    def components(self) -> set[str]:
        """Components of Debian's archive that apt knows."""
        told = subprocess.run(["chroot", str(self.root), "apt-get", "indextargets", "--no-release-info", "--format", "$(RELEASE) $(COMPONENT)",
                               "Created-By: Packages"], check=True, capture_output=True, text=True).stdout
        return {line for line in told.splitlines() if line.startswith(self.system.suite)}

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
def machine(keys: dict[str, repository.Key], script: Callable[[str, str], str], tmp_path: Path,
            request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A copy of a root with the script in it, beside a repository signed by the key that the test names."""
    name, signer, keyring = getattr(request, "param", ("debian12", "vendor", "vendor"))
    system = SYSTEMS[name]
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", str(base(name)), str(root)], check=True)
    listed = root / "etc/apt/sources.list"
    mirror = listed.read_text().split()[1]  # debootstrap's own: "deb MIRROR SUITE main"
    listed.unlink()
    content = system.sources[1].replace("@MIRROR@", mirror)
    (root / "etc/apt" / system.sources[0]).write_text(content)
    (root / "root" / "install.sh").write_text(script(name, system.driver))
    site = tmp_path / "site"
    stubs = [stub for version in (system.driver, system.other, "580.178.04", "620.70.06") for stub in repository.driver(version[:3], version)]
    stubs += repository.toolkit(system.toolkit) + repository.nccl(system.nccl.split("-")[0])
    unique = list({(stub.name, stub.version): stub for stub in stubs}.values())
    repository.build(site / "repos" / name / "x86_64", tmp_path / "work", unique, keys[signer], keys[keyring])
    repository.wheel(site / "simple", "torch", f"{system.torch}+{system.cuda}")
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)  # every machine has one, and bash uses it
    try:
        if not (root / "dev" / "fd").exists():
            (root / "dev" / "fd").symlink_to("/proc/self/fd")
        with repository.served(site) as url:
            yield Machine(name, root, url, keys["vendor"].fingerprint, content)
    finally:
        subprocess.run(["umount", "--lazy", str(root / "proc")], check=True)
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=False)


def said(told: subprocess.CompletedProcess[str]) -> str:
    return told.stdout[-3000:] + told.stderr[-3000:]


BOTH = pytest.mark.parametrize("machine", [(name, "vendor", "vendor") for name in SYSTEMS], indirect=True, ids=list(SYSTEMS))


@BOTH
def test_install_twice_then_undo(machine: Machine) -> None:
    system = machine.system
    before_packages, before_files = machine.packages(), machine.files()

    dry = machine.run("--dry-run")
    assert dry.returncode == 0, said(dry)
    assert machine.packages() == before_packages
    assert machine.files() == before_files

    first = machine.run()
    assert first.returncode == 0, said(first)
    packages = machine.packages()
    # the driver asked for, all of it in that one version, although the repository holds newer ones
    for name in (system.asked, "nvidia-driver", "nvidia-driver-cuda", "nvidia-kernel-open-dkms", "libcuda1"):
        assert packages[name] == f"{system.driver}-1", name
    assert packages[system.release] == f"{system.toolkit}-1"
    # of several builds the one for this CUDA, not the newest; headers of the same
    assert packages["libnccl2"] == packages["libnccl-dev"] == system.nccl
    # a dependency in contrib, which the system as installed does not list
    assert "glx-alternative-nvidia" in packages
    suites = {line.split()[0] for line in machine.components()}
    assert suites == {system.suite, f"{system.suite}-updates"}
    assert machine.components() == {f"{suite} {component}" for suite in suites for component in ("main", "contrib")}
    assert not packages.keys() & {"cuda", "cuda-drivers", "cuda-drivers-580", "nvidia-kernel-dkms", "cuda-keyring"}
    assert system.asked in machine.held()
    assert "blacklist nouveau" in (machine.root / "etc/modprobe.d/blacklist-nouveau.conf").read_text()
    assert f"CUDA_HOME=/usr/local/cuda-{system.toolkit[:4]}" in (machine.root / "etc/profile.d/provision-cuda.sh").read_text()
    freeze = subprocess.run(["chroot", str(machine.root), "/opt/torch/bin/python", "-m", "pip", "freeze"], capture_output=True, text=True,
                            check=True).stdout
    assert f"torch=={system.torch}+{system.cuda}" in freeze
    told = subprocess.run(["chroot", str(machine.root), "apt-get", "update"], capture_output=True, text=True, check=False)
    assert "configured multiple times" not in told.stdout + told.stderr

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
    assert machine.components() == {f"{suite} main" for suite in suites}
    assert (machine.root / "etc/apt" / system.sources[0]).read_text() == machine.sources


def test_contrib_that_is_on_is_left_alone(machine: Machine) -> None:
    """Nothing is listed twice, and --undo takes back only what this script did."""
    path = machine.root / "etc/apt/sources.list"
    path.write_text(path.read_text().replace(" main", " main contrib"))
    on, text = machine.components(), path.read_text()
    told = machine.run("--only", "enable-components")
    assert told.returncode == 0, said(told)
    assert machine.components() == on
    assert not list((machine.root / "etc/apt/sources.list.d").iterdir())
    undone = machine.run("--undo")
    assert undone.returncode == 0, said(undone)
    assert machine.components() == on
    assert path.read_text() == text


@BOTH
def test_another_lock_moves_a_driver_that_is_held(machine: Machine, script: Callable[[str, str], str]) -> None:
    """The machine follows the spec: an older release in place of the newer one, all of it, held again, and undone as one."""
    system = machine.system
    before = machine.packages()
    assert machine.run().returncode == 0
    (machine.root / "root" / "install.sh").write_text(script(machine.name, system.other))
    moved = machine.run()
    assert moved.returncode == 0, said(moved)
    packages = machine.packages()
    for name in (system.asked, "nvidia-driver", "nvidia-driver-cuda", "nvidia-kernel-open-dkms", "libcuda1"):
        assert packages[name] == f"{system.other}-1", name
    assert system.asked in machine.held()
    assert "nothing had to be changed" in machine.run().stdout
    undone = machine.run("--undo")
    assert undone.returncode == 0, said(undone)
    assert machine.packages() == before


@pytest.mark.parametrize(("machine", "words"), [
    ((name, "stranger", keyring), words) for name in SYSTEMS
    for keyring, words in (("vendor", "apt refuses the repository"), ("stranger", "expected"))], indirect=["machine"])
def test_a_repository_signed_by_another_key_is_refused(machine: Machine, words: str) -> None:
    """Signed by a stranger behind the right keyring: apt refuses. A keyring with a stranger's key: the fingerprint refuses."""
    told = machine.run()
    assert told.returncode == 4, said(told)
    assert words in told.stderr
    assert not [name for name in machine.packages() if name.startswith(("nvidia", "cuda", "libcuda"))]
    assert not list((machine.root / "etc/apt/sources.list.d").glob("provision-nvidia*"))
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
    part = machine.run("--only", "enable-components", "--only", "install-prerequisites", "--only", "add-repository")
    assert part.returncode == 0, said(part)
    assert "nvidia-open-580" not in machine.packages()
    rest = machine.run()
    assert rest.returncode == 0, said(rest)
    assert "already done: Add NVIDIA's repository" in rest.stdout
    assert machine.packages()["nvidia-open-580"] == "580.126.09-1"


