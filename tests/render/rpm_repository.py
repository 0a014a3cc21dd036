"""A package repository for rpm systems laid out like NVIDIA's: stub packages of the true names, versions and dependencies, signed one by one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from render.repository import Key


class Rpm(NamedTuple):
    """A package without content but for a marker file."""

    name: str
    version: str
    release: str = "1"
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def driver(version: str) -> list[Rpm]:
    """The chain of one driver on EL: `nvidia-open` or `cuda-drivers`, each in exactly its version."""

    def exact(*names: str) -> tuple[str, ...]:
        return tuple(f"{name} = {version}" for name in names)

    return [
        Rpm("nvidia-open", version, "1", exact("nvidia-driver", "nvidia-driver-cuda", "kmod-nvidia-open-dkms")),
        Rpm("cuda-drivers", version, "1", exact("nvidia-driver", "nvidia-driver-cuda", "kmod-nvidia-latest-dkms")),
        Rpm("nvidia-driver", version, "1", exact("nvidia-driver-libs")),
        Rpm("nvidia-driver-libs", version),
        Rpm("nvidia-driver-cuda", version, "1", exact("nvidia-persistenced")),
        Rpm("nvidia-persistenced", version), Rpm("nvidia-fabricmanager", version),
        Rpm("kmod-nvidia-open-dkms", version, "1", ("dkms >= 3.1.8",), ("kmod-nvidia-latest-dkms",)),
        Rpm("kmod-nvidia-latest-dkms", version, "1", ("dkms >= 3.1.8",), ("kmod-nvidia-open-dkms",)),
    ]


LIBRARIES = [
    Rpm("cuda-toolkit-12-8", "12.8.1", "1", ("cuda-nvcc-12-8",)), Rpm("cuda-nvcc-12-8", "12.8.93"),
    # the trap: it drags a driver in
    Rpm("cuda-12-8", "12.8.1", "1", ("cuda-toolkit-12-8", "cuda-drivers >= 570")), Rpm("cuda", "12.8.1", "1", ("cuda-12-8",)),
    # the same NCCL for two CUDA releases; the newer sorts higher
    Rpm("libnccl", "2.32.3", "1+cuda12.9"), Rpm("libnccl", "2.32.3", "1+cuda13.4"),
    Rpm("libnccl-devel", "2.32.3", "1+cuda12.9", ("libnccl = 2.32.3-1+cuda12.9",)),
    Rpm("libnccl-devel", "2.32.3", "1+cuda13.4", ("libnccl = 2.32.3-1+cuda13.4",)),
]


def streams(name: str, found: dict[str, list[Rpm]]) -> str:
    """A modules document: packages of a stream are out of sight until it is enabled. The first stream is the default."""
    documents = []
    for stream, packages in found.items():
        artefacts = "\n".join(f"      - {each.name}-0:{each.version}-{each.release}.noarch" for each in packages)
        documents.append(f"---\ndocument: modulemd\nversion: 2\ndata:\n  name: {name}\n  stream: {stream}\n  version: 1\n  context: {len(stream):08x}\n"
                         "  arch: x86_64\n  summary: stub\n  description: stub\n  license:\n    module: [MIT]\n"
                         f"  profiles:\n    default:\n      rpms: [nvidia-driver]\n  artifacts:\n    rpms:\n{artefacts}\n...\n")
    default = next(iter(found))
    documents.append(f"---\ndocument: modulemd-defaults\nversion: 1\ndata:\n  module: {name}\n  stream: {default}\n...\n")
    return "".join(documents)


def chroot(root: Path, *command: str) -> str:
    """A command in a root that has the rpm tools."""
    done = subprocess.run(["chroot", str(root), *command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, (command, done.stdout[-1500:], done.stderr[-1500:])
    return done.stdout


def build(root: Path, folder: Path, packages: list[Rpm], signer: Key | None, modules: str = "") -> None:
    """Fill `folder` (outside the root) with the packages, signed by `signer` where one is given, and their index."""
    work = root / "rpmwork"
    shutil.rmtree(work, ignore_errors=True)
    (work / "specs").mkdir(parents=True)
    for number, each in enumerate(dict.fromkeys(packages)):
        lines = [f"Name: {each.name}", f"Version: {each.version}", f"Release: {each.release}", "Summary: stub", "License: MIT", "BuildArch: noarch",
                 *(f"Requires: {one}" for one in each.requires), *(f"Conflicts: {one}" for one in each.conflicts), "%description", "stub", "%files"]
        (work / "specs" / f"{number}.spec").write_text("\n".join(lines) + "\n")
    chroot(root, "sh", "-c", "rpmbuild -bb --define '_topdir /rpmwork' --define '_rpmdir /rpmwork/out' --define '_build_name_fmt %{NAME}-%{VERSION}-"
                             "%{RELEASE}.%{ARCH}.rpm' /rpmwork/specs/*.spec >/rpmwork/log 2>&1 || { tail -5 /rpmwork/log; exit 1; }")
    if signer:
        subprocess.run(["cp", "-a", str(signer.home), str(work / "gpg")], check=True)
        chroot(root, "sh", "-c", "chown -R 0:0 /rpmwork/gpg; rpmsign --addsign --define '_gpg_path /rpmwork/gpg' "
                                 f"--define '_gpg_name {signer.fingerprint}' --define '__gpg /usr/bin/gpg' /rpmwork/out/*.rpm >/dev/null")
    chroot(root, "createrepo_c", "-q", "/rpmwork/out")
    if modules:
        (work / "modules.yaml").write_text(modules)
        chroot(root, "modifyrepo_c", "--mdtype=modules", "/rpmwork/modules.yaml", "/rpmwork/out/repodata")
    if signer:
        chroot(root, "gpg", "--batch", "--yes", "--homedir", "/rpmwork/gpg", "--default-key", signer.fingerprint, "--detach-sign", "--armor",
               "/rpmwork/out/repodata/repomd.xml")
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(work / "out", folder, dirs_exist_ok=True)
    if signer:  # the agent takes its sockets away while it ends, so rm, which does not mind what is gone already
        chroot(root, "gpgconf", "--homedir", "/rpmwork/gpg", "--kill", "gpg-agent")
    subprocess.run(["rm", "-rf", str(work)], check=True)


def armoured(key: Key) -> bytes:
    """The public key as rpm reads it."""
    return subprocess.run(["gpg", "--batch", "--homedir", str(key.home), "--export", "--armor", key.fingerprint], check=True, capture_output=True).stdout
