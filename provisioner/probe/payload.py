#!/usr/bin/env python3
"""The probe: what this host is, as one JSON document on standard output. Standard library only.

This file stands alone: it is copied to a machine where nothing is installed and run there by any Python from 3.6 on, as root or not.

    python3 payload.py [--python INTERPRETER] [--scale FACTOR]

The document: {"probe": 1, "seconds": 2.1, "private": {"host", "user", "home"}, "facts": {NAME: FACT}}, where a FACT is one of
{"value": ..., "from": SOURCE}, {"absent": true, "from": SOURCE} (looked, and there is none) or {"unknown": BECAUSE}.
`private` is there so that what is saved can be cleared of it (`provisioner.probe.collect.redact`).

It changes nothing, and it always ends: every program it asks has a limit in seconds (times --scale) and is killed with all it
started; one that hangs in the kernel is left behind. Whoever asks nvidia-smi, NVML or CUDA may load a kernel module or make a
device node, so what the host looks like before is read first. Programs that do not depend on each other are asked at the same time.
"""

import functools
import glob
import json
import os
import re
import sys
import threading
import time
from typing import Any, Callable

SCALE = 1.0
ROOT = ""  # before every absolute path that is read; tests set it
LIMITS = {"nvidia-smi": 10.0, "child": 10.0, "torch": 30.0, "small": 5.0}  # seconds
LONGEST = 6000  # characters of a text that are kept
VARIABLES = ("CUDA_", "CUDNN_", "NVIDIA_", "NCCL_", "TORCH", "PYTORCH_", "PYTHON", "LD_", "OMP_NUM_THREADS", "MKL_", "CONDA_PREFIX",
             "CONDA_DEFAULT_ENV", "VIRTUAL_ENV", "TRITON_", "SLURM_JOB_GPUS", "GLOO_", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_USER", "UV_INDEX",
             "UV_TORCH_BACKEND", "WSL_", "GPU_DEVICE_ORDINAL", "HIP_VISIBLE_DEVICES")
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
SHADOWING = ("libcudart", "libcudnn", "libnvJitLink", "libcublas", "libcusparse", "libnccl", "libcuda", "libnvidia-ml", "libstdc++")
PACKAGES = ("torch", "torchvision", "torchaudio", "triton", "numpy", "xformers", "flash-attn", "flash_attn", "bitsandbytes", "vllm", "deepspeed",
            "mkl", "transformers", "accelerate", "tensorflow")


class Unknown(Exception):
    """A fact cannot be found out; the argument says why."""


class Absent(Exception):
    """There is no such thing here; the argument is the source that tells."""


# Reading ------------------------------------------------------------------------------------------------------------------------------

def _read(path: str, most: int = 1 << 20) -> str:
    """A file's text. Raises Absent when there is none, Unknown when it cannot be read."""
    try:
        with open(ROOT + path, "rb") as stream:
            return stream.read(most).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        raise Absent(path)
    except OSError as fault:
        raise Unknown("%s: %s" % (path, fault.strerror or fault))


def _text(path: str) -> str:
    """A file's text, or nothing."""
    try:
        return _read(path)
    except (Absent, Unknown):
        return ""


def _exists(path: str) -> bool:
    return os.path.exists(ROOT + path)


def _glob(pattern: str) -> "list[str]":
    return sorted(each[len(ROOT):] for each in glob.glob(ROOT + pattern))


class Answer(object):
    """What a program said. outcome: done, missing, refused, timeout."""

    def __init__(self, outcome: str, status: "int | None" = None, out: str = "", err: str = "", because: str = "") -> None:
        self.outcome, self.status, self.out, self.err, self.because = outcome, status, out, err, because

    @property
    def ok(self) -> bool:
        return self.outcome == "done" and self.status == 0


def _run(command: "list[str]", limit: float, environment: "dict[str, str] | None" = None) -> "Answer":
    """Run a program for `limit` seconds at most. Its output goes into files, so that nothing can hold a pipe open."""
    import signal
    import subprocess
    import tempfile

    name = os.path.basename(command[0])
    made = dict(os.environ, LC_ALL="C", CUDA_CACHE_DISABLE="1", PYTHONDONTWRITEBYTECODE="1")
    made.update(environment or {})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=made, start_new_session=os.name == "posix")
        except FileNotFoundError:
            return Answer("missing", because="there is no %s" % name)
        except (OSError, ValueError) as fault:
            return Answer("refused", because="%s could not be started: %s" % (name, getattr(fault, "strerror", None) or fault))
        outcome = "done"
        try:
            child.wait(limit * SCALE)
        except subprocess.TimeoutExpired:
            outcome = "timeout"
            try:
                if os.name == "posix":
                    os.killpg(child.pid, signal.SIGKILL)
                else:
                    child.kill()
                child.wait(1)
            except (OSError, subprocess.TimeoutExpired):
                pass
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(1 << 20).decode("utf-8", "replace"))
    because = "%s did not answer within %g s" % (name, limit * SCALE) if outcome == "timeout" else ""
    return Answer(outcome, child.returncode if outcome == "done" else None, texts[0], texts[1], because)


def _which(name: str) -> "list[str]":
    """Every program of that name on PATH, the one that a shell runs first."""
    found = []
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for end in ("", ".exe") if os.name == "nt" else ("",):
            path = os.path.join(folder, name + end)
            if folder and os.path.isfile(path) and os.access(path, os.X_OK) and path not in found:
                found.append(path)
    return found


def _last(answer: "Answer") -> str:
    """Why a program's answer is none, in one line."""
    if answer.because:
        return answer.because
    lines = [each.strip() for each in (answer.out + "\n" + answer.err).splitlines() if each.strip()]
    return (lines[-1][:300] if lines else "") or "it ended with status %s" % answer.status


# The system ---------------------------------------------------------------------------------------------------------------------------

def _os() -> "tuple[Any, str]":
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        text = _text(path)
        if text:
            pairs = dict(re.findall(r"^([A-Z_]+)=[\"']?(.*?)[\"']?\s*$", text, re.MULTILINE))
            wanted = ("ID", "VERSION_ID", "ID_LIKE", "PRETTY_NAME", "VERSION_CODENAME", "UBUNTU_CODENAME")
            return {name.lower(): pairs[name] for name in wanted if name in pairs}, path
    import platform
    system = platform.system()
    if system in ("Windows", "Darwin"):
        version = platform.version() if system == "Windows" else platform.mac_ver()[0]
        return {"id": "windows" if system == "Windows" else "macos", "version_id": platform.release() if system == "Windows" else version,
                "pretty_name": "%s %s" % ("Windows" if system == "Windows" else "macOS", platform.release() if system == "Windows" else version),
                "build": version}, "platform"
    raise Absent("/etc/os-release")


def _kernel() -> "tuple[Any, str]":
    text = _text("/proc/sys/kernel/osrelease").strip()
    if text:
        return text, "/proc/sys/kernel/osrelease"
    import platform
    return platform.release(), "uname"


def _arch() -> "tuple[Any, str]":
    import platform
    return {"AMD64": "x86_64", "amd64": "x86_64", "arm64": "aarch64", "ARM64": "aarch64"}.get(platform.machine(), platform.machine()), "uname"


def _glibc() -> "tuple[Any, str]":
    try:
        said = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        said = ""
    found = re.search(r"glibc (\d+\.\d+)", said)
    if found:
        return found.group(1), "confstr"
    raise Absent("confstr")


def _wsl() -> "tuple[Any, str]":
    text = _text("/proc/sys/kernel/osrelease") + _text("/proc/version")
    if "microsoft" in text.lower() and (_exists("/dev/dxg") or _exists("/usr/lib/wsl") or "wsl" in text.lower()):
        return (2 if "WSL2" in text or _exists("/dev/dxg") else 1), "/proc/version"
    raise Absent("/proc/version")


def _container() -> "tuple[Any, str]":
    for path, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/.singularity.d", "apptainer")):
        if _exists(path):
            return kind, path
    said = re.search(r"(?:^|\0)container=([\w-]+)", _text("/proc/1/environ"))
    if said:
        return said.group(1), "/proc/1/environ"
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes", "KUBERNETES_SERVICE_HOST"
    found = re.search(r"(kubepods|docker|libpod|lxc|containerd)", _text("/proc/1/cgroup"))
    if found:
        return {"kubepods": "kubernetes", "libpod": "podman"}.get(found.group(1), found.group(1)), "/proc/1/cgroup"
    raise Absent("/.dockerenv, /proc/1/cgroup")


def _jetson() -> "tuple[Any, str]":
    text = _text("/etc/nv_tegra_release")
    found = re.search(r"R(\d+) \(release\), REVISION: ([\d.]+)", text)
    model = _text("/proc/device-tree/model").strip("\0\n ")
    if found or "jetson" in model.lower():
        return {"l4t": "%s.%s" % found.groups() if found else "", "model": model}, "/etc/nv_tegra_release"
    raise Absent("/etc/nv_tegra_release")


def _secure_boot() -> "tuple[Any, str]":
    for path in _glob("/sys/firmware/efi/efivars/SecureBoot-*"):
        try:
            with open(ROOT + path, "rb") as stream:
                data = stream.read(16)
            if len(data) >= 5:
                return bool(data[4]), path.split("-")[0]
        except OSError:
            pass
    if not _exists("/sys/firmware/efi") and os.name == "posix":
        raise Absent("/sys/firmware/efi")
    answer = _run(["mokutil", "--sb-state"], LIMITS["small"])
    if "SecureBoot" in answer.out:
        return "enabled" in answer.out, "mokutil"
    raise Unknown(_last(answer))


# The GPUs, without any program of NVIDIA's ----------------------------------------------------------------------------------------------

def _pci() -> "tuple[Any, str]":
    """Display controllers, and NVIDIA's bridges (NVSwitch), out of sysfs."""
    root = "/sys/bus/pci/devices"
    if not _exists(root):
        raise Unknown("there is no %s" % root)
    found = []
    for path in _glob(root + "/*"):
        kind, vendor = _text(path + "/class").strip()[2:6], _text(path + "/vendor").strip()[2:]
        if kind[:2] == "03" or (kind == "0680" and vendor == "10de"):
            try:
                bound = os.path.basename(os.readlink(ROOT + path + "/driver"))
            except OSError:
                bound = ""
            found.append({"address": os.path.basename(path), "class": kind, "vendor": vendor, "device": _text(path + "/device").strip()[2:],
                          "driver": bound, "numa": _text(path + "/numa_node").strip()})
    return found, root


def _lspci() -> "tuple[Any, str]":
    """The display controllers' lines of lspci: names, kernel driver in use."""
    answer = _run(["lspci", "-nnk"], LIMITS["small"])
    if not answer.ok:
        answer = _run(["lspci"], LIMITS["small"])
    if not answer.ok:
        raise Unknown(_last(answer))
    kept, on = [], False
    for line in answer.out.splitlines():
        if line[:1].strip():
            on = bool(re.search(r"VGA|3D controller|Display controller|NVIDIA", line))
        if on and (line[:1].strip() or "driver in use" in line):
            kept.append(line.strip())
    return kept, "lspci"


def _modules() -> "tuple[Any, str]":
    names = ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia_peermem", "nvidia_fs", "nouveau", "nova_core", "nova_drm", "dxgkrnl", "nvgpu",
             "amdgpu", "vfio_pci")
    if not _exists("/proc/modules") and not _exists("/sys/module"):
        raise Unknown("there is no /proc/modules")
    loaded = {line.split(" ", 1)[0] for line in _text("/proc/modules").splitlines()}
    return [name for name in names if name in loaded or (not loaded and _exists("/sys/module/" + name))], "/proc/modules"


def _driver() -> "tuple[Any, str]":
    """The loaded module's version."""
    text = _text("/sys/module/nvidia/version").strip()
    if text:
        return text, "/sys/module/nvidia/version"
    found = re.search(r"Kernel Module(?:\s+for \S+)?\s+(\d[\d.]+)", _text("/proc/driver/nvidia/version"))
    if found:
        return found.group(1), "/proc/driver/nvidia/version"
    raise Absent("/sys/module/nvidia/version")


def _driver_text() -> "tuple[Any, str]":
    return _read("/proc/driver/nvidia/version").splitlines()[0].strip(), "/proc/driver/nvidia/version"


def _flavour() -> "tuple[Any, str]":
    text = _read("/proc/driver/nvidia/version")
    return "open" if "Open Kernel Module" in text else "proprietary", "/proc/driver/nvidia/version"


def _module_file() -> "tuple[Any, str]":
    """The module that the running kernel would load."""
    answer = _run(["modinfo", "nvidia"], LIMITS["small"])
    if answer.outcome == "missing":
        answer = _run(["/sbin/modinfo", "nvidia"], LIMITS["small"])
    if answer.outcome == "done" and not answer.ok and "not found" in answer.err:
        raise Absent("modinfo")
    if not answer.ok:
        raise Unknown(_last(answer))
    pairs = dict(re.findall(r"^(version|license|signer|vermagic|filename):\s+(.*?)\s*$", answer.out, re.MULTILINE))
    return pairs, "modinfo"


def _dkms() -> "tuple[Any, str]":
    answer = _run(["dkms", "status"], LIMITS["small"])
    if answer.outcome == "missing":
        raise Absent("dkms")
    if not answer.ok:
        raise Unknown(_last(answer))
    return [line.strip() for line in answer.out.splitlines() if "nvidia" in line.lower()], "dkms status"


def _headers() -> "tuple[Any, str]":
    path = "/lib/modules/%s/build" % _kernel()[0]
    if _exists(path + "/Makefile"):
        return True, path
    raise Absent(path)


def _blacklist() -> "tuple[Any, str]":
    """Files that keep nouveau from loading."""
    found = []
    for pattern in ("/etc/modprobe.d/*.conf", "/lib/modprobe.d/*.conf", "/usr/lib/modprobe.d/*.conf"):
        found += [path for path in _glob(pattern) if re.search(r"^\s*(?:blacklist|alias|install)\s+nouveau", _text(path), re.MULTILINE)]
    if not found:
        raise Absent("/etc/modprobe.d")
    return found, "/etc/modprobe.d"


def _nodes() -> "tuple[Any, str]":
    import stat
    if not _exists("/dev"):
        raise Unknown("there is no /dev")
    found = {}
    for path in _glob("/dev/nvidia*") + _glob("/dev/nvidia-caps/*") + _glob("/dev/dxg") + _glob("/dev/nvgpu*") + _glob("/dev/nvhost-gpu"):
        try:
            held = os.stat(ROOT + path)
        except OSError:
            continue
        if not stat.S_ISDIR(held.st_mode):
            found[path] = {"mode": stat.filemode(held.st_mode), "usable": os.access(ROOT + path, os.R_OK | os.W_OK)}
    return found, "/dev"


def _libraries() -> "tuple[Any, str]":
    """Where the driver's libraries lie, and the version in their files' names."""
    places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib64/nvidia", "/usr/lib/nvidia", "/usr/lib/wsl/lib",
              "/run/opengl-driver/lib", "/usr/local/nvidia/lib64", "/usr/lib/aarch64-linux-gnu/nvidia", "/usr/lib/aarch64-linux-gnu/tegra"]
    found: "dict[str, list[str]]" = {}
    for name in ("libcuda.so", "libnvidia-ml.so"):
        for place in places:
            for path in _glob("%s/%s.*" % (place, name)):
                real = os.path.basename(os.path.realpath(ROOT + path))
                version = re.search(r"\.so\.(\d{3}\.\d+(?:\.\d+)?)$", real)
                entry = "%s -> %s" % (path, real) if path.endswith(".so.1") else path
                if entry not in found.setdefault(name, []) and (version or path.endswith(".so.1")):
                    found[name].append(entry)
    found = {name: paths for name, paths in found.items() if paths}
    if not found:
        raise Absent("the system's library folders")
    return found, "the system's library folders"


def _packages() -> "tuple[Any, str]":
    """The system's packages of NVIDIA, "name version"."""
    queries = ((["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package} ${Version}\n"], True), (["rpm", "-qa", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\n"], False))
    for command, marked in queries:
        answer = _run(command, LIMITS["child"])
        if answer.outcome == "missing":
            continue
        if answer.outcome != "done":
            raise Unknown(_last(answer))
        kept = []
        for line in answer.out.splitlines():
            if marked:
                if not line.startswith(("ii", "hi")):
                    continue
                line = line[3:].strip()
            if re.match(r"(?:lib)?nvidia-|nvidia|libcuda|cuda-|kmod-nvidia|akmod-nvidia|libcudnn|libnccl|datacenter-gpu|nvlsm", line):
                kept.append(line.strip())
        return sorted(kept)[:200], command[0]
    raise Absent("dpkg, rpm")


# The driver's own programs --------------------------------------------------------------------------------------------------------------

def _smi_program() -> "str | None":
    found = _which("nvidia-smi")
    if found:
        return found[0]
    for path in ("/usr/lib/wsl/lib/nvidia-smi", "/usr/bin/nvidia-smi", "C:\\Windows\\System32\\nvidia-smi.exe"):
        if os.path.isfile(path):
            return path
    return None


def _smi(told: "Facts") -> None:
    """nvidia-smi. Each group of fields is asked for by itself: a driver that does not know one refuses the whole query."""
    program = _smi_program()
    if program is None:
        for name in ("smi", "smi_gpus"):
            told.absent(name, "PATH")
        return
    answer = _run([program], LIMITS["nvidia-smi"])
    if answer.outcome != "done":
        for name in ("smi", "smi_gpus"):
            told.unknown(name, answer.because)
        return
    told.value("smi", {"status": answer.status, "output": (answer.out + answer.err)[:LONGEST]}, program)
    if not answer.ok:
        told.unknown("smi_gpus", _last(answer))
        return
    gpus: "list[dict[str, str]]" = []
    base = ("index", "name", "driver_version", "pci.bus_id", "memory.total")
    groups = (base, ("compute_cap",), ("persistence_mode", "compute_mode"), ("mig.mode.current",), ("memory.used", "utilization.gpu"),
              ("fabric.state", "fabric.status"), ("ecc.errors.uncorrected.volatile.total",), ("pcie.link.gen.current", "pcie.link.width.current"))
    for fields in groups:
        answer = _run([program, "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"], LIMITS["nvidia-smi"])
        if answer.outcome != "done":
            if fields is base:
                told.unknown("smi_gpus", answer.because)
                return
            break  # it hangs now: what is known stays known
        if not answer.ok:
            if fields is base:
                told.unknown("smi_gpus", _last(answer))
                return
            continue
        rows = [[cell.strip() for cell in line.split(",")] for line in answer.out.splitlines() if line.strip()]
        if fields is base:
            gpus = [dict(zip(fields, row)) for row in rows if len(row) == len(fields)]
            continue
        for gpu, row in zip(gpus, rows):
            if len(row) == len(fields):
                gpu.update({name: cell for name, cell in zip(fields, row) if cell not in ("", "[N/A]", "[Not Supported]", "N/A")})
    told.value("smi_gpus", gpus, program)
    if any(gpu.get("mig.mode.current") == "Enabled" for gpu in gpus):
        answer = _run([program, "-L"], LIMITS["nvidia-smi"])
        told.value("mig", [line.strip() for line in answer.out.splitlines() if "MIG" in line], program + " -L")
    if len(gpus) > 1:
        answer = _run([program, "topo", "-m"], LIMITS["nvidia-smi"])
        if answer.ok:
            told.value("topology", answer.out[:LONGEST], program + " topo -m")


NVML = r"""
import ctypes, json, sys
told = {}
try:
    library = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
except OSError as fault:
    print(json.dumps({"missing": str(fault)}))
    sys.exit()
def said(status):
    library.nvmlErrorString.restype = ctypes.c_char_p
    return library.nvmlErrorString(status).decode("utf-8", "replace")
def text(function, *arguments):
    held = ctypes.create_string_buffer(96)
    return held.value.decode("utf-8", "replace") if function(*(arguments + (held, 96))) == 0 else None
status = library.nvmlInit_v2()
if status:
    told["error"] = said(status)
    told["status"] = status
else:
    told["driver"] = text(library.nvmlSystemGetDriverVersion)
    version = ctypes.c_int()
    try:
        if library.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(version)) == 0:
            told["cuda"] = "%d.%d" % (version.value // 1000, version.value % 1000 // 10)
    except AttributeError:
        pass
    count, told["gpus"] = ctypes.c_uint(), []
    status = library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value if not status else 0):
        device, gpu = ctypes.c_void_p(), {}
        status = library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        if status:
            gpu["error"] = said(status)
        else:
            gpu["name"] = text(library.nvmlDeviceGetName, device)
            major, minor = ctypes.c_int(), ctypes.c_int()
            try:
                if library.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)) == 0:
                    gpu["capability"] = "%d.%d" % (major.value, minor.value)
            except AttributeError:
                pass
        told["gpus"].append(gpu)
print(json.dumps(told))
"""
CUDA = r"""
import ctypes, json, sys
try:
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
except OSError as fault:
    print(json.dumps({"missing": str(fault)}))
    sys.exit()
told = {}
version = ctypes.c_int()
if library.cuDriverGetVersion(ctypes.byref(version)) == 0:
    told["version"] = "%d.%d" % (version.value // 1000, version.value % 1000 // 10)
try:
    status = library.cuInit(0)
    told["init"] = status
    name = ctypes.c_char_p()
    if status and library.cuGetErrorString(status, ctypes.byref(name)) == 0 and name.value:
        told["error"] = name.value.decode("utf-8", "replace")
    count = ctypes.c_int()
    if not status and library.cuDeviceGetCount(ctypes.byref(count)) == 0:
        told["count"] = count.value
except AttributeError:
    pass
try:
    path = [line.split()[-1] for line in open("/proc/self/maps") if "libcuda.so" in line]
    told["file"] = path[0] if path else ""
except OSError:
    pass
print(json.dumps(told))
"""
TORCH = r"""
import json, sys, warnings
if sys.path and sys.path[0] == "":
    sys.path.pop(0)
held = sys.stdout
sys.stdout = sys.stderr
told = {}
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    try:
        import torch
        told["version"] = str(torch.__version__)
        told["cuda"] = torch.version.cuda
        told["file"] = torch.__file__
        told["available"] = bool(torch.cuda.is_available())
        if told["cuda"]:
            try:
                told["arch_list"] = list(torch.cuda.get_arch_list())
            except Exception:
                pass
            if not told.get("arch_list"):
                try:
                    told["arch_list"] = str(torch._C._cuda_getArchFlags() or "").split()
                except Exception:
                    pass
            told["count"] = torch.cuda.device_count()
            try:
                told["cudnn"] = torch.backends.cudnn.version()
            except Exception as fault:
                told["cudnn_error"] = "%s: %s" % (type(fault).__name__, fault)
            if told["available"]:
                told["gpus"] = [{"name": torch.cuda.get_device_name(i), "capability": "%d.%d" % torch.cuda.get_device_capability(i)}
                                for i in range(told["count"])]
            elif told["count"]:
                try:
                    torch.cuda.init()
                except Exception as fault:
                    told["init_error"] = "%s: %s" % (type(fault).__name__, fault)
    except BaseException as fault:
        import traceback
        told["import_error" if "version" not in told else "error"] = traceback.format_exc()[-3000:]
told["warnings"] = sorted({" ".join(str(each.message).split())[:600] for each in warned if "cuda" in str(each.message).lower()})
held.write("\n" + json.dumps(told) + "\n")
"""
PYTHON = r"""
import json, os, platform, site, sys
if sys.path and sys.path[0] == "":
    sys.path.pop(0)
told = {"version": platform.python_version(), "executable": sys.executable, "prefix": sys.prefix, "platform": platform.platform(),
        "virtual": sys.prefix != getattr(sys, "base_prefix", sys.prefix), "conda": os.path.isdir(os.path.join(sys.prefix, "conda-meta")),
        "user_site": site.getusersitepackages() if hasattr(site, "getusersitepackages") else "", "packages": {}, "torch": []}
try:
    from importlib import metadata
    for each in metadata.distributions():
        name = (each.metadata["Name"] or "").lower().replace("_", "-")
        if name in WANTED or name.startswith(("nvidia-", "torch")):
            told["packages"].setdefault(name, each.version)
            if name == "torch":
                told["torch"].append([each.version, str(each.locate_file(""))])
except ImportError:
    import pkg_resources
    for each in pkg_resources.working_set:
        if each.key in WANTED or each.key.startswith(("nvidia-", "torch")):
            told["packages"].setdefault(each.key, each.version)
            if each.key == "torch":
                told["torch"].append([each.version, each.location])
print(json.dumps(told))
"""


def _ask(python: str, program: str, limit: float) -> "dict[str, Any]":
    """The JSON object that a small Python program prints in a child. Raises Unknown."""
    answer = _run([python, "-c", program], limit)
    lines = answer.out.strip().splitlines()
    try:
        told = json.loads(lines[-1]) if lines and answer.outcome == "done" else None
    except ValueError:
        told = None
    if isinstance(told, dict):
        return told
    if answer.outcome == "done" and (answer.status or 0) < 0:
        raise Unknown("it was killed by signal %d" % -(answer.status or 0))
    raise Unknown(_last(answer))


def _nvml() -> "tuple[Any, str]":
    told = _ask(sys.executable, NVML, LIMITS["child"])
    if "missing" in told:
        raise Absent(told["missing"])
    return told, "NVML"


def _cuda() -> "tuple[Any, str]":
    told = _ask(sys.executable, CUDA, LIMITS["child"])
    if "missing" in told:
        raise Absent(told["missing"])
    return told, "libcuda"


# Fabric, toolkits, Python ----------------------------------------------------------------------------------------------------------------

def _fabric() -> "tuple[Any, str]":
    """Fabric Manager: its service's state and its version."""
    told = {}
    for program in ("/usr/bin/nv-fabricmanager", "nv-fabricmanager"):
        answer = _run([program, "--version"], LIMITS["small"])
        if answer.outcome == "done":
            found = re.search(r"(\d{3}\.\d+(?:\.\d+)?)", answer.out + answer.err)
            told["version"] = found.group(1) if found else ""
            break
    answer = _run(["systemctl", "show", "nvidia-fabricmanager", "--property=LoadState,ActiveState,SubState,Result"], LIMITS["small"])
    if answer.ok:
        pairs = dict(line.split("=", 1) for line in answer.out.splitlines() if "=" in line)
        if pairs.get("LoadState") not in ("not-found", None):
            told["service"] = pairs.get("ActiveState", "")
            told["result"] = pairs.get("Result", "")
    elif answer.outcome != "done" and "version" in told:
        told["service"] = "unknown"
    if not told:
        raise Absent("systemctl, nv-fabricmanager")
    return told, "systemctl"


def _toolkits() -> "tuple[Any, str]":
    found = []
    for path in _glob("/usr/local/cuda*") + _glob("/opt/cuda*") + _glob("/usr/lib/cuda"):
        if not os.path.isdir(ROOT + path):
            continue
        version = ""
        try:
            version = str(json.loads(_text(path + "/version.json"))["cuda"]["version"])
        except (ValueError, KeyError, TypeError):
            said = re.search(r"(\d+\.\d+(?:\.\d+)?)", _text(path + "/version.txt"))
            version = said.group(1) if said else ""
        found.append({"path": path, "real": os.path.realpath(ROOT + path)[len(ROOT):], "version": version, "nvcc": _exists(path + "/bin/nvcc")})
    if not found:
        raise Absent("/usr/local/cuda*")
    return found, "/usr/local"


def _nvcc() -> "tuple[Any, str]":
    paths = _which("nvcc")
    if not paths:
        raise Absent("PATH")
    answer = _run([paths[0], "--version"], LIMITS["small"])
    found = re.search(r"release (\d+\.\d+)", answer.out)
    if not found:
        raise Unknown(_last(answer))
    return {"release": found.group(1), "paths": paths}, "nvcc --version"


def _gcc() -> "tuple[Any, str]":
    if not _which("gcc"):
        raise Absent("PATH")
    answer = _run(["gcc", "--version"], LIMITS["small"])
    if not answer.ok:
        raise Unknown(_last(answer))
    return answer.out.splitlines()[0].strip(), "gcc --version"


def _shadows() -> "tuple[Any, str]":
    """CUDA libraries in the folders of LD_LIBRARY_PATH: what they hide is what torch brings itself."""
    value = os.environ.get("LD_LIBRARY_PATH")
    if not value:
        raise Absent("LD_LIBRARY_PATH")
    found = []
    for folder in value.split(":"):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            found.append({"folder": folder, "missing": True, "libraries": []})
            continue
        held = sorted(name for name in names if name.startswith(SHADOWING) and ".so" in name)
        kind = "stubs" if folder.rstrip("/").endswith("/stubs") else "compat" if folder.rstrip("/").endswith("/compat") else ""
        found.append({"folder": folder, "kind": kind, "libraries": held[:40]})
    return found, "LD_LIBRARY_PATH"


def _shell_python() -> "tuple[Any, str]":
    """The interpreters that a shell runs for `python` and `python3`, and where `pip` belongs to."""
    found = {name: paths[0] for name, paths in ((name, _which(name)) for name in ("python", "python3", "pip", "uv", "conda", "pixi")) if paths}
    if not found:
        raise Absent("PATH")
    return found, "PATH"


def _pythons() -> "tuple[Any, str]":
    found: "dict[str, str]" = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            version = re.match(r"python(3\.\d+)$", name)
            if version and os.access(os.path.join(folder, name), os.X_OK):
                found.setdefault(version.group(1), os.path.join(folder, name))
    return found, "PATH"


def _variables() -> "tuple[Any, str]":
    kept = {name: re.sub(r"://[^/@\s]+@", "://", value)[:2000] for name, value in sorted(os.environ.items())
            if name.startswith(VARIABLES) and not SECRET.search(name)}
    return kept, "environment"


# Limits ---------------------------------------------------------------------------------------------------------------------------------

def _shm() -> "tuple[Any, str]":
    try:
        held = os.statvfs(ROOT + "/dev/shm")
    except (OSError, AttributeError) as fault:
        raise Absent("/dev/shm (%s)" % fault.__class__.__name__)
    return {"size": held.f_frsize * held.f_blocks, "free": held.f_frsize * held.f_bavail}, "/dev/shm"


def _ulimits() -> "tuple[Any, str]":
    try:
        import resource
    except ImportError:
        raise Absent("resource")
    told = {}
    for name in ("MEMLOCK", "NOFILE", "NPROC", "STACK", "CORE", "AS"):
        kind = getattr(resource, "RLIMIT_" + name, None)
        if kind is not None:
            soft = resource.getrlimit(kind)[0]
            told[name.lower()] = "unlimited" if soft == resource.RLIM_INFINITY else soft
    return told, "getrlimit"


def _memory() -> "tuple[Any, str]":
    found = re.search(r"MemTotal:\s+(\d+) kB", _read("/proc/meminfo"))
    if not found:
        raise Unknown("/proc/meminfo has no MemTotal")
    return int(found.group(1)) * 1024, "/proc/meminfo"


def _cgroup() -> "tuple[Any, str]":
    """The memory limit of this control group, bytes."""
    own = re.search(r"^0::(\S*)", _text("/proc/self/cgroup"), re.MULTILINE)
    places = ["/sys/fs/cgroup%s/memory.max" % own.group(1).rstrip("/")] if own else []
    for path in [*places, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]:
        text = _text(path).strip()
        if text.isdigit() and int(text) < 1 << 60:
            return int(text), path
        if text:
            raise Absent(path)
    raise Absent("/sys/fs/cgroup")


def _iommu() -> "tuple[Any, str]":
    """IOMMU groups, what the kernel's command line says of it, and, as root, whether PCIe switches send peer traffic upwards (ACS)."""
    told = {"groups": len(_glob("/sys/kernel/iommu_groups/*")),
            "cmdline": [word for word in _text("/proc/cmdline").split()
                        if re.match(r"(?:intel_iommu|amd_iommu|iommu|pcie_acs|pci|pcie_aspm|nouveau|modprobe|rd\.driver|module_blacklist|nvidia|nomodeset)", word)]}
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        answer = _run(["lspci", "-vvv"], LIMITS["small"])
        if answer.ok:
            told["acs_redirects"] = len(re.findall(r"ACSCtl:.*ReqRedir\+", answer.out))
    return told, "/sys/kernel/iommu_groups"


def _log() -> "tuple[Any, str]":
    """What the kernel said about the GPUs since it started, the last lines."""
    answer = _run(["dmesg"], LIMITS["small"])
    source = "dmesg"
    if not answer.ok:
        first = answer
        answer = _run(["journalctl", "-k", "-b", "--no-pager", "-o", "cat", "-n", "20000"], LIMITS["small"])
        source = "journalctl -k"
        if not answer.ok or not answer.out.strip():
            raise Unknown(_last(first))
    wanted = re.compile(r"NVRM|Xid|nvidia|nouveau|nova_core|fallen off|Loading of (?:unsigned )?module|Lockdown.*module|dxgk|module verification", re.IGNORECASE)
    kept = [re.sub(r"^\[\s*[\d.]+\]\s*", "", line)[:400] for line in answer.out.splitlines() if wanted.search(line)]
    return kept[:10] + kept[10:][-50:], source


def _reboot() -> "tuple[Any, str]":
    for path in ("/run/reboot-required", "/var/run/reboot-required"):
        if _exists(path):
            return True, path
    raise Absent("/run/reboot-required")


# All together ---------------------------------------------------------------------------------------------------------------------------

class Facts(object):
    """The facts found so far."""

    def __init__(self) -> None:
        self.held: "dict[str, dict[str, Any]]" = {}

    def value(self, name: str, value: Any, source: str) -> None:
        """Note a value."""
        self.held[name] = {"value": value, "from": source}

    def absent(self, name: str, source: str) -> None:
        """Note that there is none."""
        self.held[name] = {"absent": True, "from": source}

    def unknown(self, name: str, because: str) -> None:
        """Note that nobody can tell."""
        self.held[name] = {"unknown": because or "no reason was given"}

    def find(self, name: str, act: "Callable[[], tuple[Any, str]]") -> None:
        """Find a fact out. Never raises."""
        try:
            value, source = act()
            self.value(name, value, source)
        except Absent as told:
            self.absent(name, str(told))
        except Unknown as told:
            self.unknown(name, str(told))
        except Exception as fault:  # a host that is stranger than this file knows
            self.unknown(name, "%s: %s" % (type(fault).__name__, str(fault)[:300]))


# What the host looks like before any program is asked that may change it, then all the rest at the same time.
FIRST = (("os", _os), ("kernel", _kernel), ("arch", _arch), ("glibc", _glibc), ("wsl", _wsl), ("container", _container), ("jetson", _jetson), ("pci", _pci),
         ("modules", _modules), ("driver", _driver), ("driver_text", _driver_text), ("flavour", _flavour), ("nodes", _nodes), ("libraries", _libraries),
         ("headers", _headers), ("nouveau_blacklist", _blacklist), ("toolkits", _toolkits), ("shadows", _shadows), ("programs", _shell_python),
         ("pythons", _pythons), ("variables", _variables), ("shm", _shm), ("ulimits", _ulimits), ("memory", _memory), ("memory_limit", _cgroup),
         ("reboot_required", _reboot))
THEN = (("secure_boot", _secure_boot), ("lspci", _lspci), ("module_file", _module_file), ("dkms", _dkms), ("packages", _packages), ("nvcc", _nvcc),
        ("gcc", _gcc), ("fabric_manager", _fabric), ("iommu", _iommu), ("log", _log))


def _interpreter(asked: str) -> str:
    """The interpreter that is looked into: the one asked for, else what a shell would run, else this one."""
    if asked:
        return asked
    for name in ("python", "python3"):
        found = _which(name)
        if found:
            return found[0]
    return sys.executable


def _python_facts(told: "Facts", python: str) -> None:
    """The interpreter, the packages in it, and what torch says of itself; torch is imported in a child of its own."""
    def look() -> "tuple[Any, str]":
        return _ask(python, "WANTED = %r\n%s" % (tuple(PACKAGES), PYTHON), LIMITS["child"]), python

    told.find("python", look)
    held = told.held["python"].get("value")
    if held is None:
        told.unknown("torch", told.held["python"].get("unknown", ""))
        return
    if not held["torch"]:
        found = _run([python, "-c", "import sys; sys.path[:1] = []; import importlib.util as u; sys.exit(3 if u.find_spec('torch') is None else 0)"],
                     LIMITS["child"])
        if found.status == 3:
            told.absent("torch", python)
            return
    told.find("torch", lambda: (_ask(python, TORCH, LIMITS["torch"]), python))


def document(python: str = "") -> "dict[str, Any]":
    """The whole document."""
    begun = time.time()
    told = Facts()
    for name, act in FIRST:
        told.find(name, act)
    # nvidia-smi, NVML and CUDA are asked one after the other: a hanging driver should not be asked by several at once.
    jobs: "list[Callable[[], object]]" = [functools.partial(told.find, name, act) for name, act in THEN]

    def driver() -> None:
        _smi(told)
        told.find("nvml", _nvml)
        if "did not answer" in told.held["nvml"].get("unknown", ""):
            told.unknown("cuda", "not asked, since NVML hangs")
        else:
            told.find("cuda", _cuda)

    jobs += [driver, lambda: _python_facts(told, _interpreter(python))]
    threads = [threading.Thread(target=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    import getpass
    import platform
    private = {"host": platform.node(), "home": os.path.expanduser("~"), "user": ""}
    try:
        private["user"] = getpass.getuser()
    except Exception:  # no such user in the password file
        pass
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    told.value("root", root, "geteuid")
    return {"probe": 1, "seconds": round(time.time() - begun, 2), "private": private, "facts": {name: told.held[name] for name in sorted(told.held)}}


def main(arguments: "list[str]") -> int:
    """Run by hand, over ssh, or by `provision`; the exit status is 0, or 2 for wrong options."""
    global SCALE
    python, waiting = "", list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--python" and waiting:
            python = waiting.pop(0)
        elif word == "--scale" and waiting:
            SCALE = float(waiting.pop(0))
        else:
            sys.stderr.write("usage: payload.py [--python INTERPRETER] [--scale FACTOR]\n")
            return 2
    sys.stdout.write(json.dumps(document(python)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
