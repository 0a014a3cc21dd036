"""A package repository laid out like NVIDIA's: flat, signed, with stub packages of the true names, versions and dependencies."""

from __future__ import annotations

import hashlib
import http.server
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple


class Stub(NamedTuple):
    """A package without content but for a marker file."""

    name: str
    version: str
    depends: str = ""
    conflicts: str = ""


def driver(branch: str, version: str) -> list[Stub]:
    """The chain of one driver on Debian: `nvidia-open-580` up to branch 580, plain `nvidia-open` from 590."""
    revision = f"{version}-1"
    suffix = f"-{branch}" if int(branch) < 590 else ""
    exact = f"(= {revision})"
    return [
        Stub(f"nvidia-open{suffix}", revision, f"nvidia-driver {exact}, nvidia-driver-cuda {exact}, nvidia-kernel-open-dkms {exact}"),
        Stub(f"cuda-drivers{suffix}", revision, f"nvidia-driver {exact}, nvidia-driver-cuda {exact}, nvidia-kernel-dkms {exact}"),
        # glx-alternative-nvidia is Debian's own, in contrib
        Stub("nvidia-driver", revision, f"nvidia-kernel-open-dkms {exact} | nvidia-kernel-dkms {exact}, libnvidia-gl {exact}, glx-alternative-nvidia"),
        # nvidia-installer-cleanup is Debian's own, of contrib: without that component nothing of this can be installed
        Stub("nvidia-driver-cuda", revision, f"nvidia-installer-cleanup, libcuda1 {exact}, nvidia-persistenced {exact}"),
        Stub("nvidia-kernel-open-dkms", revision, "", "nvidia-kernel-dkms"),
        Stub("nvidia-kernel-dkms", revision, "", "nvidia-kernel-open-dkms"),
        Stub("libnvidia-gl", revision), Stub("libcuda1", revision), Stub("nvidia-persistenced", revision),
        Stub("nvidia-fabricmanager", revision),
    ]


def toolkit(version: str) -> list[Stub]:
    """A toolkit, and the trap beside it: `cuda` drags a driver in."""
    dash = version[:4].replace(".", "-")
    return [
        Stub(f"cuda-toolkit-{dash}", f"{version}-1", f"cuda-nvcc-{dash}, cuda-cudart-{dash}"), Stub(f"cuda-nvcc-{dash}", f"{version}-1"),
        Stub(f"cuda-cudart-{dash}", f"{version}-1"),
        Stub(f"cuda-{dash}", f"{version}-1", f"cuda-toolkit-{dash}, cuda-drivers (>= 570)"), Stub("cuda", f"{version}-1", f"cuda-{dash}"),
    ]


def nccl(version: str) -> list[Stub]:
    """One NCCL release as the repositories hold it: a build for each of several CUDA releases, which apt takes for ever newer versions."""
    return [stub for cuda in ("11.8", "12.2", "12.8", "12.9", "13.0", "13.2", "13.4")
            for stub in (Stub("libnccl2", f"{version}-1+cuda{cuda}"),
                         Stub("libnccl-dev", f"{version}-1+cuda{cuda}", f"libnccl2 (= {version}-1+cuda{cuda})"))]


class Key(NamedTuple):
    """A signing key: its home, fingerprint and public part."""

    home: Path
    fingerprint: str
    public: bytes


def make_key(folder: Path, name: str) -> Key:
    """A new key that signs without a passphrase."""
    home = folder / f"gpg-{name}"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--batch", "--homedir", str(home)]
    subprocess.run([*gpg, "--passphrase", "", "--quick-gen-key", f"{name} <{name}@example.org>", "rsa3072", "sign", "never"], check=True,
                   capture_output=True)
    listed = subprocess.run([*gpg, "--list-keys", "--with-colons"], check=True, capture_output=True, text=True).stdout
    fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))
    public = subprocess.run([*gpg, "--export", fingerprint], check=True, capture_output=True).stdout
    return Key(home, fingerprint, public)


def _deb(folder: Path, stub: Stub, files: dict[str, bytes], work: Path) -> None:
    tree = work / f"{stub.name}_{stub.version}"
    (tree / "DEBIAN").mkdir(parents=True)
    fields = [f"Package: {stub.name}", f"Version: {stub.version}", "Architecture: all", "Maintainer: Tests <tests@example.org>",
              "Description: stub", *([f"Depends: {stub.depends}"] if stub.depends else []),
              *([f"Conflicts: {stub.conflicts}"] if stub.conflicts else [])]
    (tree / "DEBIAN" / "control").write_text("\n".join(fields) + "\n")
    for name, content in ({f"usr/share/doc/{stub.name}/stub": stub.version.encode()} | files).items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(folder / f"{stub.name}_{stub.version}_all.deb")], check=True,
                   capture_output=True)


def build(folder: Path, work: Path, packages: list[Stub], signer: Key, keyring: Key) -> None:
    """Fill `folder` with the packages, the keyring package (with `keyring`'s key) and indexes signed by `signer`."""
    folder.mkdir(parents=True)
    work.mkdir(parents=True, exist_ok=True)
    for stub in packages:
        _deb(folder, stub, {}, work)
    _deb(folder, Stub("cuda-keyring", "1.1-1"), {"usr/share/keyrings/cuda-archive-keyring.gpg": keyring.public}, work)
    (folder / "cuda-keyring_1.1-1_all.deb").touch()
    index = subprocess.run(["dpkg-scanpackages", "--multiversion", "."], cwd=folder, check=True, capture_output=True).stdout
    (folder / "Packages").write_bytes(index)
    digest = hashlib.sha256(index).hexdigest()
    release = ("Origin: NVIDIA\nLabel: NVIDIA CUDA\nArchitecture: x86_64\nDate: Tue, 01 Dec 2026 00:00:00 UTC\n"
               f"SHA256:\n {digest} {len(index)} Packages\n")
    (folder / "Release").write_text(release)
    gpg = ["gpg", "--batch", "--yes", "--homedir", str(signer.home), "--default-key", signer.fingerprint]
    subprocess.run([*gpg, "--clearsign", "--output", "InRelease", "Release"], cwd=folder, check=True, capture_output=True)
    subprocess.run([*gpg, "--detach-sign", "--armor", "--output", "Release.gpg", "Release"], cwd=folder, check=True, capture_output=True)


def wheel(folder: Path, name: str, version: str) -> None:
    """A pure-Python stub wheel in a simple index below `folder`."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {f"{name}/__init__.py": f"__version__ = {version!r}\n", f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in files.items():
            archive.writestr(each, text)
    shown = path.name.replace("+", "%2B")
    (place / "index.html").write_text(f'<a href="{shown}">{path.name}</a>\n')


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder over HTTP on the loopback address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
