"""The smoke test that runs on the target, in the installed environment: standard library and torch only, one JSON document out.

Usage: python payload.py [--level quick|full|stress] [--limit SECONDS]

It says what it saw and judges nothing: `provisioner.verify.judge` holds the document against the lock. Each check has one of four
outcomes: `ok`, `wrong`, `skipped` (because of something said beside it) and `crashed` (the check itself failed). Everything that may
hang runs in a child process with a time limit. Written for Python 3.7 and newer, and for torch 1.10 and newer.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time

FORMAT = 1
#: Largest deviation from the double-precision product on the CPU, as a share of the largest value: TF32 and FP16 keep 10 bits.
TOLERANCE = {"float32": 5e-3, "float16": 2e-2, "bfloat16": 1e-1}
VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_HOME", "CUDA_PATH", "PYTHONPATH",
             "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NVML_BASED_CUDA_CHECK", "NVIDIA_VISIBLE_DEVICES", "NCCL_DEBUG",
             "NCCL_P2P_DISABLE", "CONDA_PREFIX", "VIRTUAL_ENV")


def first_line(path):
    """The first line of a file, or None."""
    try:
        with open(path) as stream:
            return stream.readline().strip()
    except (OSError, UnicodeDecodeError):
        return None


def driver():
    """The loaded driver, by the first source that answers, and which that was."""
    version = first_line("/sys/module/nvidia/version")
    if version:
        return {"version": version, "from": "/sys/module/nvidia/version"}
    line = first_line("/proc/driver/nvidia/version") or ""
    for word in line.split():
        if word.count(".") in (1, 2) and word.replace(".", "").isdigit():
            return {"version": word, "from": "/proc/driver/nvidia/version"}
    told = child(["-c", _NVML], 15)
    if told.get("version"):
        return {"version": told["version"], "from": "NVML"}
    return {"version": None, "from": None, "because": told.get("because") or "no nvidia kernel module is loaded and NVML does not answer"}


_NVML = r"""
import ctypes, json, sys
names = ["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1", "nvml.dll"]
for name in names:
    try:
        nvml = ctypes.CDLL(name)
        break
    except OSError as fault:
        because = str(fault)
else:
    print(json.dumps({"because": "NVML cannot be loaded: " + because}))
    sys.exit()
status = nvml.nvmlInit_v2()
if status:
    print(json.dumps({"because": "NVML says %d" % status, "status": status}))
    sys.exit()
text = ctypes.create_string_buffer(96)
nvml.nvmlSystemGetDriverVersion(text, 96)
print(json.dumps({"version": text.value.decode()}))
"""


def child(arguments, limit):
    """The JSON object that a child interpreter prints last; {"because": ...} when it prints none."""
    try:
        ended = subprocess.run([sys.executable] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               timeout=limit)
    except subprocess.TimeoutExpired:
        return {"because": "no answer in %d s" % limit, "hung": True}
    except OSError as fault:
        return {"because": str(fault)}
    lines = ended.stdout.decode("utf-8", "replace").strip().splitlines()
    try:
        told = json.loads(lines[-1]) if lines else None
    except ValueError:
        told = None
    if isinstance(told, dict):
        return told
    words = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    if ended.returncode < 0:
        return {"because": "the process was ended by signal %d" % -ended.returncode, "stderr": words[-5:]}
    return {"because": words[-1] if words else "exit status %d" % ended.returncode, "stderr": words[-5:]}


# What follows runs in the child ---------------------------------------------------------------------------------------------------


class Checks:
    """Collects outcomes."""

    def __init__(self):
        self.rows = []

    def run(self, name, function, *arguments):
        """Run one check; its own failure is an outcome too."""
        started = time.time()
        try:
            outcome, detail, data = function(*arguments)
        except Exception as fault:  # whatever it is belongs into the document
            outcome, detail, data = "crashed", "%s: %s" % (type(fault).__name__, fault), {}
        self.rows.append({"id": name, "outcome": outcome, "detail": detail, "data": data, "seconds": round(time.time() - started, 3)})
        return outcome == "ok"


def inner(level):
    """Import torch and test it; the document's torch part."""
    told = {"torch": None, "gpus": [], "checks": []}
    checks = Checks()
    try:
        import torch
    except BaseException as fault:
        told["import_error"] = "%s: %s" % (type(fault).__name__, fault)
        return told
    cudnn = None
    try:
        if torch.backends.cudnn.is_available():
            cudnn = torch.backends.cudnn.version()
    except Exception as fault:
        told["cudnn_error"] = "%s: %s" % (type(fault).__name__, fault)
    told["torch"] = {"version": torch.__version__, "cuda": torch.version.cuda, "git": getattr(torch.version, "git_version", None),
                     "cudnn": cudnn, "file": getattr(torch, "__file__", None), "hip": getattr(torch.version, "hip", None)}
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = bool(torch.cuda.is_available())
        if available:
            try:
                torch.cuda.init()
            except Exception as fault:
                told["init_error"] = "%s: %s" % (type(fault).__name__, fault)
    told["warnings"] = sorted({str(each.message) for each in caught})[:10]
    told["available"] = available
    checks.run("cpu-matmul", matmul, torch, "cpu", "float32")
    if available and "init_error" not in told:
        try:
            told["arch_list"] = list(torch.cuda.get_arch_list())
        except Exception:
            told["arch_list"] = None
        try:
            told["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
        except Exception:
            told["nccl"] = None
        for index in range(torch.cuda.device_count()):
            device = "cuda:%d" % index
            major, minor = torch.cuda.get_device_capability(index)
            properties = torch.cuda.get_device_properties(index)
            told["gpus"].append({"index": index, "name": torch.cuda.get_device_name(index), "sm": major * 10 + minor,
                                 "memory": properties.total_memory})
            if checks.run(device + "-matmul", matmul, torch, device, "float32"):
                checks.run(device + "-convolution", convolution, torch, device)
                if level != "quick":
                    for kind in ("float16", "bfloat16"):
                        checks.run("%s-matmul-%s" % (device, kind), matmul, torch, device, kind)
                    checks.run(device + "-memory", memory, torch, device)
                    checks.run(device + "-training", training, torch, device)
        if level == "stress" and len(told["gpus"]) > 1:
            checks.run("peer-copies", peers, torch, len(told["gpus"]))
    if level != "quick":
        checks.run("data-loader", loader, torch)
    told["checks"] = checks.rows
    return told


def matmul(torch, device, kind):
    """A product against the double-precision one on the CPU."""
    generator = torch.Generator().manual_seed(1)
    left, right = torch.randn(192, 160, generator=generator), torch.randn(160, 96, generator=generator)
    wanted = left.double() @ right.double()
    dtype = getattr(torch, kind)
    found = (left.to(device, dtype) @ right.to(device, dtype)).double().cpu()
    return compare(found, wanted, TOLERANCE[kind])


def convolution(torch, device):
    """A convolution (cuDNN) against the CPU's."""
    generator = torch.Generator().manual_seed(2)
    image, kernel = torch.randn(2, 3, 24, 24, generator=generator), torch.randn(4, 3, 3, 3, generator=generator)
    wanted = torch.nn.functional.conv2d(image.double(), kernel.double(), padding=1)
    found = torch.nn.functional.conv2d(image.to(device), kernel.to(device), padding=1).double().cpu()
    return compare(found, wanted, TOLERANCE["float32"])


def compare(found, wanted, tolerance):
    """Whether two tensors agree, by the largest deviation as a share of the largest value."""
    off = float((found - wanted).abs().max() / wanted.abs().max())
    data = {"off": off, "tolerance": tolerance}
    if not off <= tolerance:  # NaN too
        return "wrong", "off by %.2g of the largest value, %.2g is allowed" % (off, tolerance), data
    return "ok", "off by %.2g at most" % off, data


def memory(torch, device):
    """Take and give back half a gigabyte."""
    block = torch.empty(512 * 1024 * 1024, dtype=torch.uint8, device=device)
    block.fill_(7)
    right = int(block[-1]) == 7
    del block
    return ("ok" if right else "wrong"), "512 MiB written and read", {}


def training(torch, device):
    """Some steps of a small model with automatic mixed precision: the loss has to fall."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.randn(256, 16, device=device)
    targets = inputs.sum(1, keepdim=True)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=device != "cpu"):
            loss = ((model(inputs) - targets) ** 2).float().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return ("ok" if losses[-1] < losses[0] else "wrong"), "loss %.3g, then %.3g" % (losses[0], losses[-1]), {}


def peers(torch, count):
    """Copies from each GPU to the next arrive whole."""
    for index in range(count):
        source = torch.arange(1 << 20, device="cuda:%d" % index)
        if not bool((source.to("cuda:%d" % ((index + 1) % count)).cpu() == source.cpu()).all()):
            return "wrong", "a copy from GPU %d to GPU %d is damaged: peer-to-peer (ACS, IOMMU)" % (index, (index + 1) % count), {}
    return "ok", "%d copies" % count, {}


def loader(torch):
    """A DataLoader with two workers, which needs shared memory."""
    data = torch.utils.data.TensorDataset(torch.arange(64).float())
    batches = list(torch.utils.data.DataLoader(data, batch_size=8, num_workers=2))
    total = float(sum(batch[0].sum() for batch in batches))
    return ("ok" if total == 2016.0 else "wrong"), "64 items by two workers", {}


def main(arguments):
    """Print the document; the exit status says only whether there is one."""
    level, limit = "quick", 0
    for place, argument in enumerate(arguments):
        if argument == "--level":
            level = arguments[place + 1]
        elif argument == "--limit":
            limit = int(arguments[place + 1])
        elif argument == "--inner":
            print(json.dumps(inner(arguments[place + 1])))
            return 0
    told = {"payload": FORMAT, "level": level, "python": platform.python_version(), "executable": sys.executable,
            "system": platform.system(), "machine": platform.machine(),
            "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
            "devices": sorted(name for name in (os.listdir("/dev") if os.path.isdir("/dev") else []) if name.startswith(("nvidia", "dxg"))),
            "driver": driver()}
    told.update(child([os.path.abspath(__file__), "--inner", level], limit or {"quick": 120, "full": 300, "stress": 900}.get(level, 120)))
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
