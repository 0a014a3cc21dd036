#!/usr/bin/env python3
# ruff: noqa: S110
# A check holds on where it can: what an old torch lacks is left out without a word.
"""The smoke test that runs in the installed environment: standard library and torch only, one JSON document on standard output.

This file stands alone. It is copied to the machine under test and run by the environment's own interpreter, which may be as old as
Python 3.6 and hold a torch from 1.10 to the newest, or none. It measures and never judges: `judge.py` compares with the lock.

    python payload.py [--level quick|full|stress] [--packages torchvision,xformers] [--patience F] [--load F]

The document: {"verify": 1, "level", "seconds", "python": {...}, "environment": {...}, "host": {...},
               "checks": [{"name", "outcome": "ran|skipped|crashed", "because", "seconds", "data"}]}
`because` is a word out of WHY for a skipped check, and what happened for a crashed one. A list `devices` in `data` has one entry a GPU
(or the CPU), each with its own `outcome`: one bad card does not hide the others.

How it holds out: the parent imports no torch and only waits. Checks run in a child, one after the other, each with a limit in
seconds; when the child dies (a segmentation fault) or hangs (a lost GPU), that check is `crashed` and a new child does the rest.

Tolerances: a product of n terms in floating point, summed in any order, lies within n u / (1 - n u) * sum|a||b| of the exact one
(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), u = 2^-24 for float32. The exact one is computed on the CPU in
float64. Convolutions may be computed by a transform (Winograd, FFT) whose error is a small multiple of that: 16 times is allowed.
For lower precision the inputs are rounded first, so that only the output's own rounding (2^-11 for float16, 2^-8 for bfloat16) and
that of partial sums is added: 4 times the output's unit is allowed.
"""

import functools
import importlib
import json
import os
import queue
import sys
import time
from typing import Any, Callable, Dict

LEVELS = ("quick", "full", "stress")
WHY = ("cpu-build", "no-device", "one-device", "no-torch", "no-driver", "not-linux", "too-old", "gpu-hangs", "not-available")
MARK = "\x1e@provision "  # before each line that a child says to its parent; what torch prints has no such mark
VARIABLES = ("CUDA_", "CUDNN_", "NVIDIA_", "NCCL_", "TORCH", "PYTORCH_", "PYTHON", "LD_", "OMP_", "MKL_", "CONDA_PREFIX", "VIRTUAL_ENV",
             "TRITON_", "SLURM_JOB_GPUS", "GLOO_")


Data = Dict[str, Any]


class Skip(Exception):
    """A check does not apply here, or cannot be made; the argument is one of WHY."""


# What the machine says, without torch ------------------------------------------------------------------------------------------------

def _text(path: str) -> "str | None":
    try:
        with open(path, "rb") as stream:
            return stream.read(65536).decode("utf-8", "replace").strip()
    except OSError:
        return None


def driver_module(_state: "State") -> Data:
    """The kernel module's version, as the kernel tells it."""
    if not sys.platform.startswith("linux"):
        raise Skip("not-linux")
    found: Data = {"module": _text("/sys/module/nvidia/version"), "proc": None, "flavour": None, "wsl": os.path.exists("/dev/dxg")}
    proc = _text("/proc/driver/nvidia/version")
    if proc:
        for word in proc.split("\n")[0].split():
            if word[:1].isdigit() and word.count(".") >= 1 and word.replace(".", "").isdigit():
                found["proc"] = word
                break
        found["flavour"] = "open" if "Open Kernel Module" in proc else "proprietary"
    found["nodes"] = sorted(name for name in os.listdir("/dev") if name.startswith("nvidia"))
    if not (found["module"] or found["proc"] or found["wsl"]):
        raise Skip("no-driver")
    return found


def pci(_state: "State") -> Data:
    """NVIDIA display and 3D controllers on the PCI bus, by device id; `present` tells whether the bus could be read."""
    folder = "/sys/bus/pci/devices"
    if not os.path.isdir(folder):
        raise Skip("not-available")
    found: "list[str]" = []
    for name in sorted(os.listdir(folder)):
        if _text(os.path.join(folder, name, "vendor")) == "0x10de" and (_text(os.path.join(folder, name, "class")) or "").startswith("0x03"):
            found.append((_text(os.path.join(folder, name, "device")) or "")[2:])
    return {"devices": found}


def _library(names: "list[str]") -> Any:
    import ctypes

    last = None
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as fault:
            last = fault
    raise Skip("no-driver") from last


def nvml(_state: "State") -> Data:
    """The driver's management library: versions and GPUs. A number in `error` is NVML's own."""
    import ctypes

    windows = os.environ.get("SystemRoot", "C:\\Windows")
    library = _library(["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"] if os.name == "posix" else
                       [os.path.join(windows, "System32", "nvml.dll")])
    status = library.nvmlInit_v2()
    if status:
        return {"error": status}
    found: Data = {"error": 0, "driver": None, "cuda": None, "gpus": []}
    buffer = ctypes.create_string_buffer(96)
    if library.nvmlSystemGetDriverVersion(buffer, 96) == 0:
        found["driver"] = buffer.value.decode("ascii", "replace")
    number = ctypes.c_int()
    if hasattr(library, "nvmlSystemGetCudaDriverVersion") and library.nvmlSystemGetCudaDriverVersion(ctypes.byref(number)) == 0:
        found["cuda"] = "%d.%d" % (number.value // 1000, number.value % 1000 // 10)
    count = ctypes.c_uint()
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value):
        handle = ctypes.c_void_p()
        gpu: Data = {"index": index, "name": None, "capability": None}
        gpu["error"] = library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
        if gpu["error"] == 0:
            if library.nvmlDeviceGetName(handle, buffer, 96) == 0:
                gpu["name"] = buffer.value.decode("utf-8", "replace")
            major, minor = ctypes.c_int(), ctypes.c_int()
            if hasattr(library, "nvmlDeviceGetCudaComputeCapability") and \
                    library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor)) == 0:
                gpu["capability"] = [major.value, minor.value]
        found["gpus"].append(gpu)
    library.nvmlShutdown()
    return found


def driver_api(_state: "State") -> Data:
    """The driver's CUDA library, asked directly: its CUDA version, and whether it initialises. `error` is CUDA's own number."""
    import ctypes

    library = _library(["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"] if os.name == "posix" else ["nvcuda.dll"])
    number, count = ctypes.c_int(), ctypes.c_int()
    found: Data = {"error": library.cuInit(0), "cuda": None, "count": None}
    if library.cuDriverGetVersion(ctypes.byref(number)) == 0:
        found["cuda"] = "%d.%d" % (number.value // 1000, number.value % 1000 // 10)
    if found["error"] == 0 and library.cuDeviceGetCount(ctypes.byref(count)) == 0:
        found["count"] = count.value
    return found


# torch -------------------------------------------------------------------------------------------------------------------------------

class State(object):
    """What the checks of one child share."""

    def __init__(self, level: str, packages: "list[str]") -> None:
        self.level, self.packages = level, packages
        self._torch: Any = None

    def torch(self) -> Any:
        """The module. Raises Skip when it cannot be imported; the check `torch` says why."""
        if self._torch is None:
            try:
                torch = importlib.import_module("torch")
            except BaseException:
                raise Skip("no-torch") from None
            self._torch = torch
            torch.manual_seed(20)
            for holder in ("cuda.matmul", "cudnn"):
                target = torch.backends
                for part in holder.split("."):
                    target = getattr(target, part, None)
                try:
                    target.allow_tf32 = False
                except Exception:
                    pass
        return self._torch

    def gpus(self) -> "list[int]":
        """Indices of the GPUs that torch can use. Raises Skip."""
        torch = self.torch()
        if not _built_for_gpu(torch):
            raise Skip("cpu-build")
        if not torch.cuda.is_available() or torch.cuda.device_count() == 0:
            raise Skip("no-device")
        return list(range(torch.cuda.device_count()))

    def places(self) -> "list[str]":
        """Every GPU, or the CPU where the build is for it."""
        torch = self.torch()
        return ["cuda:%d" % index for index in self.gpus()] if _built_for_gpu(torch) else ["cpu"]

    def each(self, act: "Callable[[str], Data]") -> Data:
        """What `act(place)` tells for each device; one that fails does not stop the next."""
        told: "list[Data]" = []
        for place in self.places():
            entry: Data = {"device": str(place), "outcome": "ran", "because": ""}
            begun = time.time()
            try:
                entry.update(act(place))
            except Skip as skip:
                entry.update(outcome="skipped", because=str(skip))
            except Exception as fault:
                entry.update(outcome="crashed", because=_said(fault))
            entry["seconds"] = round(time.time() - begun, 3)
            told.append(entry)
        return {"devices": told}


def _built_for_gpu(torch: Any) -> bool:
    return bool(getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None))


def _said(fault: BaseException) -> str:
    return ("%s: %s" % (type(fault).__name__, str(fault).strip()))[:1500]


def _cudnn(torch: Any) -> "tuple[str | None, str]":
    try:
        number = torch.backends.cudnn.version()
    except Exception as fault:  # "cuDNN version incompatibility: compiled against (8, 5, 0) but found runtime (8, 4, 0)"
        return None, _said(fault)
    if number is None:
        return None, ""
    # 8907 is 8.9.7; from 9 on five digits: 90701 is 9.7.1
    major, rest = divmod(number, 10000) if number >= 90000 else divmod(number, 1000)
    return "%d.%d.%d" % (major, rest // 100, rest % 100), ""


def _nccl(torch: Any) -> "str | None":
    try:
        found = torch.cuda.nccl.version()
    except Exception:
        return None
    if isinstance(found, int):  # 2708 and, from 2.9 on, 21003
        found = (found // 1000, found % 1000 // 100, found % 100) if found < 10000 else (found // 10000, found % 10000 // 100, found % 100)
    return ".".join(str(each) for each in found[:3])


def torch_build(state: "State") -> Data:
    """Which torch this is: version, CUDA, cuDNN, NCCL, GPU code, where it lies, and whether it can be imported at all."""
    import warnings

    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            importlib.import_module("torch")
    except BaseException as fault:
        return {"imported": False, "error": _said(fault), "searched": [each for each in sys.path if each][:20]}
    torch = state.torch()
    cudnn, cudnn_error = _cudnn(torch)
    try:
        archs = str(torch._C._cuda_getArchFlags()).split()
    except Exception:
        archs = list(torch.cuda.get_arch_list()) if hasattr(torch.cuda, "get_arch_list") else []
    return {"imported": True, "version": str(torch.__version__), "cuda": getattr(torch.version, "cuda", None),
            "hip": getattr(torch.version, "hip", None), "cudnn": cudnn, "cudnn_error": cudnn_error, "nccl": _nccl(torch),
            "git": getattr(torch.version, "git_version", None), "debug": bool(getattr(torch.version, "debug", False)), "arch_list": archs,
            "file": os.path.dirname(getattr(torch, "__file__", "") or ""), "warnings": [str(each.message)[:400] for each in told][:5]}


def _distributions() -> "dict[str, str]":
    try:
        metadata: Any = importlib.import_module("importlib.metadata")
    except ImportError:  # Python 3.7 and older
        return {each.project_name: each.version for each in importlib.import_module("pkg_resources").working_set}
    found: "dict[str, str]" = {}
    for each in metadata.distributions():
        name = each.metadata["Name"]
        if name and name not in found:  # the first on the path is the one that gets imported
            found[name] = each.version
    return found


def _canonical(name: str) -> str:
    name = name.lower().replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name


def packages(state: "State") -> Data:
    """Versions of the packages asked for, and of those that torch leans on; whether the ones asked for can be imported."""
    found = {_canonical(name): version for name, version in _distributions().items()}
    told: Data = {}
    for name in state.packages:
        key = _canonical(name)
        entry: Data = {"version": found.get(key), "imported": None, "error": ""}
        if entry["version"] is not None:
            try:
                state.torch()
                module = importlib.import_module(_module(name))
                entry["imported"] = True
                if key == "torchvision":  # its compiled part loads late: torch of another version shows only here
                    boxes = state.torch().tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 1.9, 2.0], [5.0, 5.0, 6.0, 6.0]])
                    kept = module.ops.nms(boxes, state.torch().tensor([0.5, 0.9, 0.1]), 0.5).tolist()
                    if kept != [1, 2]:
                        entry.update(imported=False, error="nms gave %r, not [1, 2]" % (kept,))
            except Skip:
                entry["error"] = "torch cannot be imported"
            except Exception as fault:
                entry.update(imported=False, error=_said(fault))
        told[name] = entry
    beside = {name: version for name, version in found.items()
              if name.startswith(("nvidia-", "cuda-", "torch", "triton", "pytorch")) or name in ("numpy", "flash-attn", "xformers")}
    return {"packages": told, "beside": beside}


def _module(name: str) -> str:
    """The module that a distribution brings; its own list first, then the usual spelling."""
    try:
        metadata: Any = importlib.import_module("importlib.metadata")
        listed = (metadata.distribution(name).read_text("top_level.txt") or "").split()
        plain = [each for each in listed if not each.startswith("_") and "/" not in each]
        wanted = name.replace("-", "_")
        if plain:
            return wanted if wanted in plain else plain[0]
    except Exception:
        pass
    return name.replace("-", "_")


def devices(state: "State") -> Data:
    """The GPUs that torch sees, or what keeps it from seeing any."""
    import warnings

    torch = state.torch()
    if not _built_for_gpu(torch):
        raise Skip("cpu-build")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        available, error = bool(torch.cuda.is_available()), ""
        if not available:
            try:
                torch.cuda.init()
            except Exception as fault:
                error = _said(fault)
        found = []
        for index in range(torch.cuda.device_count() if available else 0):
            held = torch.cuda.get_device_properties(index)
            found.append({"index": index, "name": str(held.name), "capability": [held.major, held.minor], "memory": int(held.total_memory)})
    return {"available": available, "error": error, "gpus": found, "warnings": [str(each.message)[:600] for each in told][:5]}


# Computing ---------------------------------------------------------------------------------------------------------------------------

def _synchronise(torch: Any, place: str) -> None:
    if str(place).startswith("cuda"):
        torch.cuda.synchronize(torch.device(place))


def _size(full: int) -> int:
    return max(64, int(full * LOAD))


def kernel(state: "State") -> Data:
    """The smallest kernel: counted numbers plus one, exact. Without code for the GPU, this is where it shows."""
    torch = state.torch()

    def act(place: str) -> Data:
        x = torch.arange(1000, dtype=torch.float32).to(place)
        y = (x + 1).cpu()
        return {"wrong": int((y != torch.arange(1, 1001, dtype=torch.float32)).sum().item())}
    return state.each(act)


def _worst(got: Any, exact: Any, allowed: Any) -> float:
    """The largest deviation in units of what is allowed there: above 1 is wrong. Not-a-number counts as infinite."""
    return _finite(float(((got.double().cpu() - exact).abs() / allowed).max().item()))


def _finite(number: float) -> float:
    """The number; 1e30 for what JSON cannot hold."""
    return number if number == number and abs(number) < 1e30 else 1e30


def _product(torch: Any, size: int, kind: Any) -> "tuple[Any, Any, Any, Any]":
    """A product's factors in `kind`, the exact result, and the deviation allowed in each place."""
    generator = torch.Generator().manual_seed(size)
    a = (torch.rand(size, size, generator=generator) - 0.5).to(kind)
    b = (torch.rand(size, size, generator=generator) - 0.5).to(kind)
    exact, weight = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    unit = size * 2.0 ** -24
    allowed = unit / (1 - unit) * weight
    rounding = {torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8}.get(kind)
    if rounding is not None:
        allowed = allowed + 4 * rounding * (exact.abs() + weight / size ** 0.5)
    return a, b, exact, allowed


def matmul(state: "State") -> Data:
    """Matrix products in float32, without TF32: random ones within the bound, and one of small whole numbers, which has to be exact."""
    torch = state.torch()
    a, b, exact, allowed = _product(torch, 256, torch.float32)
    size = 512 if state.level == "quick" else 2048  # whole numbers up to 4: every partial sum is below 2^24, so float32 holds it
    generator = torch.Generator().manual_seed(4)
    c, d = (torch.randint(-4, 5, (size, size), generator=generator).float() for _ in range(2))
    whole = c @ d

    def act(place: str) -> Data:
        return {"deviation": _worst(a.to(place) @ b.to(place), exact, allowed),
                "wrong": int(((c.to(place) @ d.to(place)).cpu() != whole).sum().item())}
    return dict(state.each(act), size=256, exact_size=size, tolerance="n u / (1 - n u) * |A||B|, u = 2^-24; whole numbers: none")


def convolution(state: "State") -> Data:
    """A convolution in float32 against the CPU's in float64; on a GPU this is cuDNN."""
    torch = state.torch()
    generator = torch.Generator().manual_seed(3)
    channels = 16 if state.level == "quick" else 64
    x = torch.rand(4, channels, 32, 32, generator=generator) - 0.5
    w = torch.rand(channels, channels, 3, 3, generator=generator) - 0.5
    exact = torch.nn.functional.conv2d(x.double(), w.double(), padding=1)
    weight = torch.nn.functional.conv2d(x.double().abs(), w.double().abs(), padding=1)
    allowed = 16 * channels * 9 * 2.0 ** -24 * weight

    def act(place: str) -> Data:
        got = torch.nn.functional.conv2d(x.to(place), w.to(place), padding=1)
        used = bool(str(place).startswith("cuda") and torch.backends.cudnn.is_acceptable(x.to(place)))
        return {"deviation": _worst(got, exact, allowed), "cudnn": used}
    return dict(state.each(act), channels=channels, tolerance="16 n u * conv(|x|, |w|), u = 2^-24")


def _free(torch: Any, place: str) -> int:
    if hasattr(torch.cuda, "mem_get_info"):
        return int(torch.cuda.mem_get_info(torch.device(place))[0])
    return int(torch.cuda.get_device_properties(torch.device(place)).total_memory // 2)


def memory(state: "State") -> Data:
    """Memory taken, written with a pattern and read back: a tenth of what is free, half, or four fifths, by level."""
    torch = state.torch()
    share = {"quick": 0.1, "full": 0.5, "stress": 0.8}[state.level]
    state.gpus()

    def act(place: str) -> Data:
        free = _free(torch, place)
        words = int(min(free * share, (1 << 30) if state.level == "quick" else free) // 8)
        block = torch.arange(words, device=place, dtype=torch.int64)
        wrong = 0
        piece = 1 << 24
        for begin in range(0, words, piece):
            part = block[begin:begin + piece]
            wrong += int((part - begin != torch.arange(part.numel(), device=place, dtype=torch.int64)).sum().item())
        del block
        torch.cuda.empty_cache()
        return {"free": int(free), "bytes": words * 8, "wrong": wrong}
    return state.each(act)


def half(state: "State") -> Data:
    """Products in float16 and, where the GPU has it (sm_80 and newer), bfloat16, against the CPU's in float64."""
    torch = state.torch()
    state.gpus()
    for name in ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"):
        try:
            setattr(torch.backends.cuda.matmul, name, False)
        except Exception:
            pass
    prepared = {name: _product(torch, 512, kind) for name, kind in (("float16", torch.float16), ("bfloat16", torch.bfloat16))}

    def act(place: str) -> Data:
        told = {}
        for name, (a, b, exact, allowed) in prepared.items():
            if name == "bfloat16" and torch.cuda.get_device_capability(torch.device(place))[0] < 8:
                continue
            told[name] = _worst(a.to(place) @ b.to(place), exact, allowed)
        return {"deviation": max(told.values()), "kinds": told}
    return dict(state.each(act), tolerance="n u |A||B| + 4 r (|C| + |A||B| / sqrt n), u = 2^-24, r = 2^-11 or 2^-8")


def training(state: "State") -> Data:
    """Forty steps of a small network with autocast on a GPU: the loss has to fall below a tenth, all gradients finite."""
    torch = state.torch()

    def act(place: str) -> Data:
        torch.manual_seed(7)
        gpu = str(place).startswith("cuda")
        model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)).to(place)
        x = torch.rand(512, 16, generator=torch.Generator().manual_seed(8)).to(place)
        y = x.sum(1, keepdim=True) - 8
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        scaler: Any = None
        if gpu:
            scaler = torch.amp.GradScaler("cuda") if hasattr(getattr(torch, "amp", None), "GradScaler") else torch.cuda.amp.GradScaler()
        losses, finite = [], True
        for _ in range(40):
            optimizer.zero_grad()
            if gpu:
                with torch.autocast("cuda", dtype=torch.float16):
                    out = model(x)
                loss = torch.nn.functional.mse_loss(out.float(), y)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                loss = torch.nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
            losses.append(_finite(float(loss.item())))
        for each in model.parameters():
            finite = finite and bool(torch.isfinite(each).all().item())
        return {"first": losses[0], "last": losses[-1], "finite": finite, "autocast": gpu}
    return state.each(act)


class Numbers(object):
    """A data set of counted rows, at module level so that workers of any start method find it."""

    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> Any:
        return importlib.import_module("torch").full((1024,), float(index))


def workers(state: "State") -> Data:
    """A DataLoader with two worker processes: every row arrives once, through shared memory."""
    torch = state.torch()
    seen: "list[int]" = []
    loader = importlib.import_module("torch.utils.data").DataLoader(Numbers(), batch_size=16, num_workers=2, pin_memory=torch.cuda.is_available())
    for batch in loader:
        seen.extend(int(each) for each in batch[:, 0].tolist())
    shared = None
    if hasattr(os, "statvfs") and os.path.isdir("/dev/shm"):
        held = os.statvfs("/dev/shm")
        shared = held.f_frsize * held.f_blocks
    return {"rows": len(seen), "complete": sorted(seen) == list(range(256)), "shm": shared}


def peer_copies(state: "State") -> Data:
    """Copies from each GPU to each other one, compared with what was sent: an IOMMU in the way shows here as wrong bytes."""
    torch = state.torch()
    found = state.gpus()
    if len(found) < 2:
        raise Skip("one-device")
    pairs = []
    sent = torch.arange(1 << 22, dtype=torch.int32)
    for one in found:
        source = sent.to("cuda:%d" % one)
        for two in found:
            if one != two:
                entry: Data = {"from": one, "to": two, "outcome": "ran", "because": "", "wrong": 0}
                try:
                    entry["peer"] = bool(torch.cuda.can_device_access_peer(one, two)) if hasattr(torch.cuda, "can_device_access_peer") else None
                    entry["wrong"] = int((source.to("cuda:%d" % two).cpu() != sent).sum().item())
                except Exception as fault:
                    entry.update(outcome="crashed", because=_said(fault))
                pairs.append(entry)
    return {"pairs": pairs}


def speed(state: "State") -> Data:
    """How fast: float32 and float16 products in TFLOP/s, copies to and from the GPU in GB/s. Told, never judged."""
    torch = state.torch()
    state.gpus()

    def timed(place: str, act: "Callable[[], Any]", times: int) -> float:
        act()
        _synchronise(torch, place)
        begun = time.time()
        for _ in range(times):
            act()
        _synchronise(torch, place)
        return (time.time() - begun) / times

    def act(place: str) -> Data:
        told = {}
        size = _size(4096)
        for name, kind in (("float32", torch.float32), ("float16", torch.float16)):
            a = torch.rand(size, size, device=place).to(kind)
            told[name + "_tflops"] = round(2.0 * size ** 3 / timed(place, functools.partial(torch.matmul, a, a), 10) / 1e12, 2)
        host = torch.rand(_size(1 << 26))
        pinned = host.pin_memory() if hasattr(host, "pin_memory") else host
        there = pinned.to(place)
        told["to_gpu_gbs"] = round(pinned.numel() * 4 / timed(place, lambda: there.copy_(pinned), 5) / 1e9, 2)
        told["from_gpu_gbs"] = round(pinned.numel() * 4 / timed(place, lambda: pinned.copy_(there), 5) / 1e9, 2)
        return told
    return state.each(act)


def burn(state: "State") -> Data:
    """The same large product again and again for half a minute a GPU: every result has to have the same bits."""
    torch = state.torch()
    state.gpus()

    def act(place: str) -> Data:
        size = _size(4096)
        a = torch.rand(size, size, generator=torch.Generator().manual_seed(5)).to(place)
        first, rounds, wrong = a @ a, 0, 0
        _synchronise(torch, place)
        end = time.time() + 30 * LOAD
        while time.time() < end or not rounds:
            for _ in range(5):
                wrong += int((a @ a != first).sum().item())
                rounds += 1
        return {"rounds": rounds, "wrong": wrong}
    return state.each(act)


def all_reduce(state: "State") -> Data:
    """NCCL's all_reduce over all GPUs, one process a GPU: exact sums, and the bus bandwidth for 256 MiB."""
    import subprocess
    import tempfile

    torch = state.torch()
    found = state.gpus()
    if not torch.distributed.is_available() or not torch.distributed.is_nccl_available():
        raise Skip("not-available")
    told: "list[Data]" = []
    with tempfile.TemporaryDirectory() as folder:
        meeting = "file://" + os.path.join(folder, "meet").replace("\\", "/")
        running = []
        for rank in found:  # into files: a full pipe of one rank would hold all the others up
            out, err = (open(os.path.join(folder, "%s%d" % (name, rank)), "w+b") for name in ("out", "err"))
            command = [sys.executable, os.path.abspath(__file__), "--load", str(LOAD), "--rank", str(rank), str(len(found)), meeting]
            running.append((subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL), out, err))
        for rank, (each, out, err) in enumerate(running):
            each.wait()
            entry: Data = {"rank": rank, "outcome": "crashed", "because": ""}
            for stream in (out, err):
                stream.seek(0)
            for line in out.read().decode("utf-8", "replace").split("\n"):
                if line.startswith(MARK):
                    entry.update(json.loads(line[len(MARK):]), outcome="ran")
            if entry["outcome"] == "crashed":
                lines = [line for line in err.read().decode("utf-8", "replace").split("\n") if line.strip()]
                entry["because"] = (lines[-1] if lines else "ended with status %s" % each.returncode)[:1500]
            out.close()
            err.close()
            told.append(entry)
    return {"world": len(found), "ranks": told}


def _rank(rank: int, world: int, meeting: str) -> None:
    """One process of `all_reduce`."""
    torch = importlib.import_module("torch")
    group = importlib.import_module("torch.distributed")

    torch.cuda.set_device(rank)
    group.init_process_group("nccl", init_method=meeting, rank=rank, world_size=world)
    wanted, wrong = world * (world + 1) / 2.0, 0
    for size in (1, 1000, 1 << 20):
        x = torch.full((size,), float(rank + 1), device="cuda:%d" % rank)
        group.all_reduce(x)
        wrong += int((x != wanted).sum().item())
    x = torch.ones(_size(1 << 26), device="cuda:%d" % rank)
    group.all_reduce(x)
    torch.cuda.synchronize()
    begun = time.time()
    for _ in range(5):
        group.all_reduce(x)
    torch.cuda.synchronize()
    seconds = (time.time() - begun) / 5
    _say({"wrong": wrong, "bus_gbs": round(x.numel() * 4 * 2 * (world - 1) / world / seconds / 1e9, 2)})
    group.destroy_process_group()


# name, function, lowest level, limit in seconds, whether it wakes a GPU. The first CUDA call may wait for the driver to
# bring the GPU up, and the first kernel of a GPU that the wheel serves by PTX alone for minutes of compiling.
CHECKS = (
    ("driver-module", driver_module, 0, 15, False), ("pci", pci, 0, 15, False), ("nvml", nvml, 0, 30, True),
    ("driver-api", driver_api, 0, 60, True), ("torch", torch_build, 0, 180, False), ("packages", packages, 0, 180, False),
    ("devices", devices, 0, 120, True), ("kernel", kernel, 0, 600, True), ("matmul", matmul, 0, 300, True),
    ("convolution", convolution, 0, 300, True), ("memory", memory, 0, 120, True), ("half", half, 1, 120, True),
    ("training", training, 1, 120, True), ("workers", workers, 1, 120, False), ("peer-copies", peer_copies, 1, 180, True),
    ("speed", speed, 1, 180, True), ("burn", burn, 2, 900, True), ("all-reduce", all_reduce, 2, 300, True),
)
PATIENCE = 1.0  # factor on every limit
LOAD = 1.0  # factor on the size of `speed`, `burn` and `all-reduce`


# Parent and child --------------------------------------------------------------------------------------------------------------------

def _say(told: Data) -> None:
    sys.stdout.write("\n" + MARK + json.dumps(told) + "\n")
    sys.stdout.flush()


def _child(names: "list[str]", level: str, packages_asked: "list[str]") -> None:
    """Run checks one by one and tell the parent of each beginning and end."""
    state = State(level, packages_asked)
    known = {name: act for name, act, _, _, _ in CHECKS}
    for name in names:
        _say({"begin": name})
        entry: Data = {"end": name, "outcome": "ran", "because": "", "data": {}}
        begun = time.time()
        try:
            entry["data"] = known[name](state)
        except Skip as skip:
            entry.update(outcome="skipped", because=str(skip))
        except BaseException as fault:
            entry.update(outcome="crashed", because=_said(fault))
        entry["seconds"] = round(time.time() - begun, 3)
        _say(entry)
        if "CUDA error" in json.dumps(entry):  # the context may be lost: the rest gets a fresh process
            return


class _Reader(object):
    """Reads a child's pipe in a thread, so that waiting has a limit everywhere."""

    def __init__(self, pipe: Any) -> None:
        import threading

        self.lines = queue.Queue()  # type: queue.Queue[bytes | None]
        self.pipe = pipe
        thread = threading.Thread(target=self._drain)
        thread.daemon = True
        thread.start()

    def _drain(self) -> None:
        try:
            for line in iter(self.pipe.readline, b""):
                self.lines.put(line)
        except (OSError, ValueError):
            pass
        self.lines.put(None)

    def next(self, seconds: float) -> "bytes | None":
        """The next line, None at the end. Raises queue.Empty when nothing comes in time."""
        return self.lines.get(timeout=max(seconds, 0.01))


def _kill(child: Any) -> None:
    import signal
    try:
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    except OSError:
        pass
    end = time.time() + 2
    while child.poll() is None and time.time() < end:  # one that hangs in the kernel stays: it is not waited for
        time.sleep(0.02)


def _run(level: str, packages_asked: "list[str]") -> "list[Data]":
    """Every check of the level, each with its limit."""
    rank = LEVELS.index(level)
    waiting = [each for each in CHECKS if each[2] <= rank]
    told: "dict[str, Data]" = {}
    hung = False
    while waiting:
        if hung:
            for each in [each for each in waiting if each[4]]:
                told[each[0]] = {"name": each[0], "outcome": "skipped", "because": "gpu-hangs", "seconds": 0.0, "data": {}}
            waiting = [each for each in waiting if not each[4]]
            if not waiting:
                break
        limits = {each[0]: each[3] * PATIENCE for each in waiting}
        ended, fate = _one_child([each[0] for each in waiting], limits, level, packages_asked)
        for entry in ended:
            told[entry["name"]] = entry
        if fate is not None:
            told[fate["name"]] = fate
            hung = fate.pop("hung") and any(each[0] == fate["name"] and each[4] for each in waiting) or hung
        left = [each for each in waiting if each[0] not in told]
        if len(left) == len(waiting):  # it could not even begin
            for each in left:
                told[each[0]] = {"name": each[0], "outcome": "crashed", "because": "no process could be started", "seconds": 0.0, "data": {}}
            left = []
        waiting = left
    return [told[each[0]] for each in CHECKS if each[0] in told]


def _one_child(names: "list[str]", limits: "dict[str, float]", level: str, packages_asked: "list[str]") -> "tuple[list[Data], Data | None]":
    """Run checks in a child until it ends: the entries of the finished ones, and of the one it died or hung in (or None)."""
    import subprocess
    import tempfile

    command = [sys.executable, "-u", os.path.abspath(__file__), "--child", ",".join(names), "--level", level,
               "--packages", ",".join(packages_asked), "--load", str(LOAD)]
    ended: "list[Data]" = []
    now, begun = None, time.time()
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                     start_new_session=os.name == "posix")
        except OSError as fault:
            return [], {"name": names[0], "outcome": "crashed", "because": _said(fault), "seconds": 0.0, "data": {}, "hung": False}
        reader = _Reader(child.stdout)
        try:
            while True:
                limit = limits[now] if now else 60.0 * PATIENCE
                try:
                    line = reader.next(begun + limit - time.time())
                except queue.Empty:
                    _kill(child)
                    return ended, {"name": now or names[0], "outcome": "crashed", "because": "no answer within %d s" % limit,
                                   "seconds": round(time.time() - begun, 3), "data": {}, "hung": True}
                if line is None:
                    end = time.time() + 5
                    while child.poll() is None and time.time() < end:
                        time.sleep(0.005)
                    break
                text = line.decode("utf-8", "replace")
                if not text.startswith(MARK):
                    continue
                entry = json.loads(text[len(MARK):])
                begun = time.time()
                if "begin" in entry:
                    now = entry["begin"]
                else:
                    ended.append({"name": entry["end"], "outcome": entry["outcome"], "because": entry["because"], "seconds": entry["seconds"],
                                  "data": entry["data"]})
                    now = None
        finally:
            _kill(child)
        if now is None and len(ended) == len(names):
            return ended, None
        if now is None and ended and "CUDA error" in json.dumps(ended[-1]):
            return ended, None
        errors.seek(0)
        lines = [each.strip() for each in errors.read(1 << 20).decode("utf-8", "replace").split("\n") if each.strip()]
    how = "killed by signal %d" % -child.returncode if (child.returncode or 0) < 0 else "ended with status %s" % child.returncode
    name = now or names[len(ended)]
    return ended, {"name": name, "outcome": "crashed", "because": (how + (": " + lines[-1] if lines else ""))[:1500],
                   "seconds": round(time.time() - begun, 3), "data": {}, "hung": False}


def document(level: str, packages_asked: "list[str]") -> Data:
    """The whole document."""
    import platform

    begun = time.time()
    release = platform.uname()
    checks = _run(level, packages_asked)
    return {
        "verify": 1, "level": level,
        "python": {"version": platform.python_version(), "executable": sys.executable, "prefix": sys.prefix,
                   "virtual": sys.prefix != getattr(sys, "base_prefix", sys.prefix), "implementation": platform.python_implementation()},
        "environment": {name: value[:1000] for name, value in sorted(os.environ.items()) if name.startswith(VARIABLES)},
        "host": {"system": release[0], "release": release[2], "machine": release[4], "libc": "-".join(platform.libc_ver())},
        "checks": checks, "seconds": round(time.time() - begun, 3),
    }


def _options(arguments: "list[str]") -> "dict[str, Any] | None":
    found: Data = {"level": "quick", "packages": "", "patience": "1", "load": "1", "child": "", "rank": []}
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--rank" and len(waiting) >= 3:
            found["rank"] = [int(waiting.pop(0)), int(waiting.pop(0)), waiting.pop(0)]
        elif word in ("--level", "--packages", "--patience", "--load", "--child") and waiting:
            found[word[2:]] = waiting.pop(0)
        else:
            return None
    return found if found["level"] in LEVELS else None


def main(arguments: "list[str]") -> int:
    """Run by hand or by `provision verify`; the exit status is 0 when a document was printed, 2 for wrong options."""
    global PATIENCE, LOAD
    options = _options(arguments)
    if options is None:
        sys.stderr.write("usage: payload.py [--level quick|full|stress] [--packages A,B]\n")
        return 2
    # The folder of this file is no place to import from.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each or ".") != here]
    PATIENCE, LOAD = float(options["patience"]), float(options["load"])
    asked = [each for each in options["packages"].split(",") if each]
    if options["rank"]:
        _rank(*options["rank"])
    elif options["child"]:
        _child(options["child"].split(","), options["level"], asked)
    else:
        sys.stdout.write(json.dumps(document(options["level"], asked), sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
