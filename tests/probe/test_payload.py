"""The payload as it runs on a host: alone, with programs that answer, hang, fail or print nonsense."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provisioner.probe import collect, payload

TABLE = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
|   0  NVIDIA GeForce GTX 1080    Off  | 00000000:01:00.0 Off |                  N/A |
"""
# As R470 answers: a query that names one unknown field is refused as a whole.
R470 = f"""#!/bin/sh
case "$*" in
  "") cat <<'END'
{TABLE}END
  ;;
  *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2;;
  *fabric*) echo 'Field "fabric.state" is not a valid field to query.'; exit 2;;
  *index,name*) echo '0, NVIDIA GeForce GTX 1080, 470.82.01, 00000000:01:00.0, 8119';;
  *persistence_mode*) echo 'Disabled, Default';;
  *) echo '[N/A], [N/A]';;
esac
"""


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    path.chmod(0o755)


def probe(tmp_path: Path, *arguments: str, path: str = "", interpreter: str = sys.executable, **variables: str) -> dict[str, Any]:
    """The document of the payload, as a lone file in an empty folder."""
    folder = tmp_path / "alone"
    folder.mkdir(exist_ok=True)
    shutil.copy(payload.__file__, folder / "probe.py")
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"], **variables}
    done = subprocess.run([interpreter, "-I", str(folder / "probe.py"), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [each.name for each in folder.iterdir()] == ["probe.py"]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_fact_is_a_value_or_absent_or_unknown(tmp_path: Path) -> None:
    document = probe(tmp_path, "--python", sys.executable)
    assert document["probe"] == 1
    assert {name for name, _ in payload.FIRST} | {name for name, _ in payload.THEN} | {"smi", "smi_gpus", "nvml", "cuda", "python", "torch", "root"} \
        <= set(document["facts"])
    for name, fact in document["facts"].items():
        kinds = [kind for kind in ("value", "absent", "unknown") if kind in fact]
        assert len(kinds) == 1, name
        assert fact.get("from") or fact.get("unknown"), name


def test_the_kernel_and_the_interpreter_are_these(tmp_path: Path) -> None:
    facts = probe(tmp_path, "--python", sys.executable)["facts"]
    assert facts["kernel"]["value"] == os.uname().release
    assert facts["python"]["value"]["version"] == ".".join(map(str, sys.version_info[:3]))


def test_r470_does_not_lose_the_gpu_over_a_field_it_does_not_know(tmp_path: Path) -> None:
    program(tmp_path / "bin", "nvidia-smi", R470)
    facts = probe(tmp_path, path=str(tmp_path / "bin"))["facts"]
    gpu = facts["smi_gpus"]["value"][0]
    assert (gpu["name"], gpu["driver_version"], gpu["compute_mode"]) == ("NVIDIA GeForce GTX 1080", "470.82.01", "Default")
    assert "compute_cap" not in gpu
    assert "470.82.01" in facts["smi"]["value"]["output"]


def test_a_hanging_nvidia_smi_costs_its_limit_and_nothing_else(tmp_path: Path) -> None:
    program(tmp_path / "bin", "nvidia-smi", "#!/bin/sh\nsleep 600 &\nsleep 600\n")
    document = probe(tmp_path, "--scale", "0.05", path=str(tmp_path / "bin"))
    for name in ("smi", "smi_gpus"):
        assert "did not answer within" in document["facts"][name]["unknown"]
    assert document["facts"]["os"]["value"]
    assert document["facts"]["kernel"]["value"]


def test_one_that_hangs_only_on_a_query_keeps_what_it_said(tmp_path: Path) -> None:
    program(tmp_path / "bin", "nvidia-smi", R470.replace("*persistence_mode*) echo 'Disabled, Default'", "*persistence_mode*) sleep 600"))
    facts = probe(tmp_path, "--scale", "0.1", path=str(tmp_path / "bin"))["facts"]
    assert facts["smi_gpus"]["value"][0]["name"] == "NVIDIA GeForce GTX 1080"


@pytest.mark.parametrize(("said", "status"), [
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9), ("No devices were found", 6),
    ("Failed to initialize NVML: Driver/library version mismatch", 18)])
def test_a_failing_nvidia_smi_is_quoted(tmp_path: Path, said: str, status: int) -> None:
    program(tmp_path / "bin", "nvidia-smi", f'#!/bin/sh\necho "{said}"\nexit {status}\n')
    facts = probe(tmp_path, path=str(tmp_path / "bin"))["facts"]
    assert facts["smi"]["value"] == {"status": status, "output": said + "\n"}
    assert facts["smi_gpus"]["unknown"] == said


@pytest.mark.parametrize("text", ["#!/bin/sh\nkill -SEGV $$\n", "#!/bin/sh\nhead -c 3000000 /dev/urandom\n", "#!/no/such/interpreter\n", "#!/bin/sh\n", ""])
def test_programs_gone_mad_are_no_fault(tmp_path: Path, text: str) -> None:
    for name in ("nvidia-smi", "lspci", "dkms", "modinfo", "nvcc", "gcc", "mokutil", "dmesg", "rpm", "dpkg-query", "systemctl"):
        program(tmp_path / "bin", name, text)
    facts = probe(tmp_path, path=str(tmp_path / "bin"))["facts"]
    assert facts["kernel"]["value"] == os.uname().release


def test_a_python_that_is_none_is_unknown(tmp_path: Path) -> None:
    facts = probe(tmp_path, "--python", str(tmp_path / "no" / "python"))["facts"]
    assert "unknown" in facts["python"]
    assert "unknown" in facts["torch"]


def test_a_torch_that_crashes_or_hangs_is_told(tmp_path: Path) -> None:
    for body, said in (("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by signal 11"), ("import time; time.sleep(600)", "did not answer")):
        folder = tmp_path / "packages" / "torch"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(body, "utf-8")
        python = tmp_path / "bin" / "python"
        program(tmp_path / "bin", "python", f'#!/bin/sh\nPYTHONPATH={tmp_path / "packages"} exec {sys.executable} "$@"\n')
        facts = probe(tmp_path, "--python", str(python), "--scale", "0.2")["facts"]
        assert said in facts["torch"]["unknown"]


def test_a_torch_that_cannot_be_imported_brings_its_traceback(tmp_path: Path) -> None:
    folder = tmp_path / "packages" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4')", "utf-8")
    program(tmp_path / "bin", "python", f'#!/bin/sh\nPYTHONPATH={tmp_path / "packages"} exec {sys.executable} "$@"\n')
    facts = probe(tmp_path, "--python", str(tmp_path / "bin" / "python"))["facts"]
    assert "__nvJitLinkComplete_12_4" in facts["torch"]["value"]["import_error"]
    assert "version" not in facts["torch"]["value"]


@pytest.mark.torch
def test_the_torch_that_is_installed(tmp_path: Path) -> None:
    import torch

    facts = probe(tmp_path, "--python", sys.executable)["facts"]
    told = facts["torch"]["value"]
    assert (told["version"], told["cuda"], told["available"]) == (torch.__version__, torch.version.cuda, torch.cuda.is_available())
    assert facts["python"]["value"]["torch"][0][0] == torch.__version__


def test_the_folders_of_ld_library_path(tmp_path: Path) -> None:
    for folder, names in (("lib64", ("libcudart.so.12", "libcudnn_ops.so.9", "libfoo.so")), ("stubs", ("libcuda.so",))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_bytes(b"")
    value = f"{tmp_path}/lib64:{tmp_path}/stubs:{tmp_path}/gone"
    facts = probe(tmp_path, LD_LIBRARY_PATH=value)["facts"]
    assert facts["shadows"]["value"] == [
        {"folder": f"{tmp_path}/lib64", "kind": "", "libraries": ["libcudart.so.12", "libcudnn_ops.so.9"]},
        {"folder": f"{tmp_path}/stubs", "kind": "stubs", "libraries": ["libcuda.so"]},
        {"folder": f"{tmp_path}/gone", "missing": True, "libraries": []}]


def test_variables_without_secrets(tmp_path: Path) -> None:
    held = probe(tmp_path, CUDA_VISIBLE_DEVICES="1", NVIDIA_API_KEY="nvapi-1", PIP_INDEX_URL="https://ada:pw@index.example.org/simple",
                 HOME_ADDRESS="x")["facts"]["variables"]["value"]
    assert held["CUDA_VISIBLE_DEVICES"] == "1"
    assert held["PIP_INDEX_URL"] == "https://index.example.org/simple"
    assert not {"NVIDIA_API_KEY", "HOME_ADDRESS"} & set(held)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root filesystem of files."""
    monkeypatch.setattr(payload, "ROOT", str(tmp_path))
    return tmp_path


def write(root: Path, path: str, text: str | bytes) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(("text", "version", "flavour"), [
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.144.03  Mon Dec 30 17:44:08 UTC 2024\nGCC version:  gcc 13\n", "550.144.03", "proprietary"),
    ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder@U16)\n", "570.124.06", "open")])
def test_the_loaded_module(root: Path, text: str, version: str, flavour: str) -> None:
    write(root, "/proc/driver/nvidia/version", text)
    assert payload._driver()[0] == version
    assert payload._flavour()[0] == flavour


def test_the_bus(root: Path) -> None:
    for address, kind, vendor, device in (("0000:01:00.0", "0x030200", "0x10de", "0x2330"), ("0000:c1:00.0", "0x068000", "0x10de", "0x22a3"),
                                          ("0000:00:02.0", "0x030000", "0x1a03", "0x2000"), ("0000:00:1f.0", "0x060100", "0x8086", "0xa1c8")):
        for name, text in (("class", kind), ("vendor", vendor), ("device", device)):
            write(root, f"/sys/bus/pci/devices/{address}/{name}", text + "\n")
    (root / "drivers" / "nouveau").mkdir(parents=True)
    (root / "sys/bus/pci/devices/0000:01:00.0/driver").symlink_to(root / "drivers" / "nouveau")
    found = {each["address"]: (each["class"], each["vendor"], each["device"], each["driver"]) for each in payload._pci()[0]}
    assert found == {"0000:01:00.0": ("0302", "10de", "2330", "nouveau"), "0000:c1:00.0": ("0680", "10de", "22a3", ""),
                     "0000:00:02.0": ("0300", "1a03", "2000", "")}


@pytest.mark.parametrize(("path", "text", "kind"), [
    ("/.dockerenv", "", "docker"), ("/run/.containerenv", "", "podman"), ("/proc/1/cgroup", "12:memory:/kubepods/burstable/pod1\n", "kubernetes")])
def test_containers(root: Path, path: str, text: str, kind: str) -> None:
    write(root, path, text)
    assert payload._container()[0] == kind


def test_no_container(root: Path) -> None:
    write(root, "/proc/1/cgroup", "0::/init.scope\n")
    with pytest.raises(payload.Absent):
        payload._container()


def test_wsl(root: Path) -> None:
    write(root, "/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    assert payload._wsl()[0] == 2


@pytest.mark.parametrize(("data", "on"), [(b"\x06\0\0\0\x01", True), (b"\x06\0\0\0\0", False)])
def test_secure_boot_by_its_variable(root: Path, data: bytes, on: bool) -> None:
    write(root, "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", data)
    assert payload._secure_boot()[0] is on


def test_jetson(root: Path) -> None:
    write(root, "/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8\n")
    write(root, "/proc/device-tree/model", "NVIDIA Jetson Orin Nano Developer Kit\0")
    assert payload._jetson()[0] == {"l4t": "36.4.3", "model": "NVIDIA Jetson Orin Nano Developer Kit"}


def test_toolkits(root: Path) -> None:
    write(root, "/usr/local/cuda-12.8/version.json", json.dumps({"cuda": {"name": "CUDA SDK", "version": "12.8.20250303"}}))
    write(root, "/usr/local/cuda-12.8/bin/nvcc", "")
    write(root, "/usr/local/cuda-10.2/version.txt", "CUDA Version 10.2.89\n")
    found = {each["path"]: (each["version"], each["nvcc"]) for each in payload._toolkits()[0]}
    assert found == {"/usr/local/cuda-12.8": ("12.8.20250303", True), "/usr/local/cuda-10.2": ("10.2.89", False)}


def test_nouveau_kept_out(root: Path) -> None:
    write(root, "/etc/modprobe.d/nv.conf", "# text\nblacklist nouveau\noptions nouveau modeset=0\n")
    write(root, "/etc/modprobe.d/other.conf", "# blacklist nouveau\n")
    assert payload._blacklist()[0] == ["/etc/modprobe.d/nv.conf"]


@pytest.mark.parametrize(("path", "text", "size"), [
    ("/sys/fs/cgroup/memory.max", "17179869184\n", 17179869184), ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n", 1073741824)])
def test_memory_of_the_control_group(root: Path, path: str, text: str, size: int) -> None:
    write(root, path, text)
    assert payload._cgroup()[0] == size


def test_no_memory_limit(root: Path) -> None:
    write(root, "/sys/fs/cgroup/memory.max", "max\n")
    with pytest.raises(payload.Absent):
        payload._cgroup()


def test_collect_runs_the_payload() -> None:
    facts = collect.collect(python=sys.executable)
    assert collect.value(facts, "kernel") == os.uname().release


@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.9"])
def test_old_interpreters_can_read_it(version: str) -> None:
    """Its grammar is Python 3.6's."""
    import ast

    ast.parse(Path(payload.__file__).read_text("utf-8"), feature_version=(3, int(version[2:])))
