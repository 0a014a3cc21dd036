"""The facts of a probe in the words of the programs that would have told them, for the readers and the rules.

Only what may be evidence is said. A host where CUDA starts is not charged with what its log holds from before, or with a tool that is
missing; a host without an NVIDIA GPU is not charged with a missing driver.

    {"secure_boot": {"value": true}}  ->  SecureBoot enabled
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from provisioner.doctor.clean import LONGEST, Line, line

_VENDORS = {"10de": "NVIDIA Corporation", "8086": "Intel Corporation", "1002": "Advanced Micro Devices, Inc. [AMD/ATI]", "1a03": "ASPEED Technology, Inc.",
            "102b": "Matrox Electronics Systems Ltd.", "15ad": "VMware", "1234": "QXL (QEMU)", "1b36": "Red Hat, Inc.", "1af4": "Red Hat, Inc. Virtio",
            "1013": "Cirrus Logic", "1414": "Microsoft Corporation Hyper-V", "80ee": "InnoTek"}
_CLASSES = {"0300": "VGA compatible controller", "0302": "3D controller", "0380": "Display controller"}
_FAULT = re.compile(r"\bXid\b|fail|error|fallen|reject|timeout|timed out|lost|unable|denied|not supported|mismatch", re.IGNORECASE)
_OF_DRIVER = re.compile(r"(?:lib)?nvidia-(?:driver|compute|dkms|kernel|utils|open|fabric)|kmod-nvidia|akmod-nvidia|cuda-drivers|cuda-compat")
_HARMLESS = re.compile(r"module verification failed|taint", re.IGNORECASE)


def is_probe(document: Any) -> bool:
    """Whether a JSON document is one of the probe."""
    return isinstance(document, dict) and document.get("probe") == 1 and isinstance(document.get("facts"), dict)


def lines(document: dict[str, Any], source: str) -> list[Line]:
    """The document's facts as lines, numbered from 1."""
    made: list[Line] = []
    for number, text in enumerate(_Host(document["facts"]).told(), 1):
        found = line(source, number, str(text)[:LONGEST])
        if found is not None and found.text:
            made.append(found)
    return made


class _Host:
    """The facts, and what follows from them for what is worth saying."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.pci = [each for each in self.list("pci") if isinstance(each, dict)]
        self.smi = self.map("smi")
        self.nvml = self.map("nvml")
        self.cuda = self.map("cuda")
        self.torch = self.map("torch")
        self.container, self.wsl, self.jetson = self.value("container"), self.value("wsl"), self.value("jetson")
        self.driver = str(self.value("driver") or "")
        self.on_bus = [each for each in self.pci if each.get("vendor") == "10de" and str(each.get("class"))[:2] == "03"]
        told = [each for each in self.list("lspci") if re.search("nvidia", str(each), re.IGNORECASE)]
        works = self.cuda.get("init") == 0 and self.cuda.get("count") != 0
        #: CUDA starts on this host
        self.works = works and self.torch.get("available") is not False
        #: device nodes that this user may not use
        self.refused = {path: str(held.get("mode")) for path, held in self.map("nodes").items() if isinstance(held, dict) and held.get("usable") is False
                        and re.fullmatch(r"/dev/(?:nvidia(?:\d+|ctl|-uvm)|dxg)", path)}
        #: there is an NVIDIA GPU: True, False, or None when nobody can tell
        self.gpu: bool | None = None
        if self.on_bus or told or self.list("smi_gpus") or self.nvml.get("gpus") or self.jetson or self.wsl or self.smi.get("status") == 0:
            self.gpu = True
        elif isinstance(self.value("pci"), list):
            self.gpu = False
        # What of the driver was ever installed here.
        self.installed = bool(self.driver or self.smi or self.list("dkms") or any(re.search(r"driver|dkms|kmod", str(each)) for each in self.list("packages")))

    def value(self, name: str) -> Any:
        fact = self.facts.get(name)
        return fact.get("value") if isinstance(fact, dict) else None

    def list(self, name: str) -> list[Any]:
        held = self.value(name)
        return held if isinstance(held, list) else []

    def map(self, name: str) -> dict[str, Any]:
        held = self.value(name)
        return held if isinstance(held, dict) else {}

    def absent(self, name: str) -> bool:
        fact = self.facts.get(name)
        return isinstance(fact, dict) and bool(fact.get("absent"))

    def because(self, name: str) -> str:
        fact = self.facts.get(name)
        return str(fact.get("unknown") or "") if isinstance(fact, dict) else ""

    def told(self) -> Iterator[str]:
        yield from self._system()
        yield from self._bus()
        if self.gpu is not False:
            yield from self._driver()
            yield from self._module()
            yield from self._nodes()
            yield from self._fabric()
        yield from self._tools()
        yield from self._python()

    def _system(self) -> Iterator[str]:
        system = self.map("os")
        if system:
            yield f"OS: {system.get('pretty_name') or system.get('id')}"
        if self.value("kernel"):
            yield f"kernel: {self.value('kernel')}"
        if self.value("arch"):
            yield f"Architecture: {self.value('arch')}"
        if self.value("glibc"):
            yield f"Libc version: glibc-{self.value('glibc')}"
        if self.wsl:
            yield f"WSL {self.wsl}"
        if self.container and not self.works and self.gpu is not False:
            yield f"This is inside a container ({self.container})."
            if any(re.fullmatch(r"/dev/nvidia\d+", path) for path in self.map("nodes")):
                yield f"GPUs were passed in, as with --gpus all: {' '.join(sorted(self.map('nodes'))[:8])}"
        if isinstance(self.jetson, dict):
            yield f"{self.jetson.get('model') or 'Jetson'}" + (f", L4T {self.jetson['l4t']}" if self.jetson.get("l4t") else "")
        if self.value("secure_boot") is True:
            yield "SecureBoot enabled"

    def _bus(self) -> Iterator[str]:
        if self.wsl:  # its devices are Microsoft's, whatever GPU Windows has
            return
        listed = [str(each) for each in self.list("lspci")]
        if listed:
            for each in listed:
                # What drives a card that is no NVIDIA GPU is nobody's fault.
                if "driver in use" not in each or self.gpu:
                    yield each
        for held in self.pci if not listed else []:
            kind, vendor = _CLASSES.get(str(held.get("class"))), str(held.get("vendor"))
            if kind:
                yield f"{held.get('address')} {kind}: {_VENDORS.get(vendor, 'vendor ' + vendor)} [{vendor}:{held.get('device')}]"
        if self.gpu is False:
            yield "There is no NVIDIA GPU in this machine: no NVIDIA GPU found among its PCI devices"
        modules = self.list("modules")
        for card in self.on_bus:
            if card.get("driver") in ("nouveau", "nova_core", "NovaCore") and not listed:
                yield f"Kernel driver in use: {card['driver'].replace('NovaCore', 'nova_core')}"
        if self.gpu and "nvidia" not in modules and not self.driver and "nouveau" in modules:
            yield "lsmod: nouveau loaded"

    def _driver(self) -> Iterator[str]:
        if self.driver:
            yield f"Driver Version: {self.driver}"
        if self.value("driver_text") and not self.works:
            yield f"/proc/driver/nvidia/version: {self.value('driver_text')}"
        if self.smi:
            sliced = any(isinstance(gpu, dict) and gpu.get("mig.mode.current") == "Enabled" for gpu in self.list("smi_gpus"))
            # The table's head names MIG also where there is none.
            yield from (each for each in str(self.smi.get("output") or "").split("\n") if sliced or "MIG M." not in each)
            yield from map(str, self.list("mig"))
        elif self.because("smi"):
            yield f"nvidia-smi does not work: {self.because('smi')}"
        elif self.absent("smi") and not self.works and not self.jetson:
            yield "nvidia-smi: command not found"
        for gpu in self.list("smi_gpus") or self.nvml.get("gpus") or []:
            if isinstance(gpu, dict) and gpu.get("name"):
                capability = gpu.get("compute_cap") or gpu.get("capability")
                yield f"GPU {gpu.get('index', 0)}: {gpu['name']}" + (f" (compute capability {capability})" if capability else "")
            elif isinstance(gpu, dict) and gpu.get("error"):
                yield f"NVML: {gpu['error']}"
        if self.nvml.get("error") and self.smi.get("status") != 0:
            yield f"NVML: {self.nvml['error']}"
        status = self.cuda.get("init")
        # That there is no device is a symptom where nvidia-smi, or the lack of a driver, says more.
        if status and (status != 100 or self.refused or (self.driver and self.smi.get("status", 0) == 0)):
            yield f"cuInit: error {status}: {self.cuda.get('error') or 'unknown'}"
        elif self.absent("cuda") and not self.works and not self.jetson:
            yield "libcuda.so.1: cannot open shared object file: No such file or directory"
        if self.absent("nvml") and self.absent("smi") and not self.works and not self.container and not self.jetson and not self.driver:
            yield "libnvidia-ml.so.1: cannot open shared object file: No such file or directory"
        if self.driver and not self.works and not self.wsl:
            for path in self.map("libraries").get("libnvidia-ml.so") or []:
                found = re.search(r"\.so\.(\d{3}\.[\d.]+)$", str(path))
                if found and found[1] != self.driver:
                    yield str(path)
        packages = [str(each) for each in self.list("packages")]
        if packages and (self.wsl or not self.works):
            yield from (each for each in packages if _OF_DRIVER.match(each))
        elif not packages and isinstance(self.value("packages"), list) and not self.driver and not self.smi and not self.wsl and not self.container:
            yield f"{'rpm -qa' if 'rpm' in str(self.facts['packages'].get('from')) else 'dpkg -l'} | grep nvidia: nothing"

    def _module(self) -> Iterator[str]:
        if not self.driver and self.installed and not self.container and not self.wsl:
            if self.absent("module_file"):
                yield f"modinfo: ERROR: Module nvidia not found. (kernel {self.value('kernel')})"
            dkms = [str(each) for each in self.list("dkms")]
            yield from (f"dkms status: {each}" for each in dkms)
            if dkms and self.absent("headers"):
                yield f"/lib/modules/{self.value('kernel')}/build: No such file or directory"
        for entry in self.list("log"):
            text = str(entry)
            if not self.works or (_FAULT.search(text) and not _HARMLESS.search(text)):
                yield text

    def _nodes(self) -> Iterator[str]:
        nodes = self.map("nodes")
        for path, mode in self.refused.items():
            yield f"{path}: Permission denied ({mode})"
        if self.driver and nodes and not self.works and (self.cuda.get("init") or self.torch.get("available") is False) and "/dev/nvidia-uvm" not in nodes:
            yield "ls: cannot access '/dev/nvidia-uvm': No such file or directory"

    def _fabric(self) -> Iterator[str]:
        for gpu in self.list("smi_gpus"):
            if isinstance(gpu, dict) and "progress" in str(gpu.get("fabric.state")).lower():
                yield f"Fabric State: {gpu['fabric.state']}"
                break
        switches = any(each.get("class") == "0680" and each.get("vendor") == "10de" for each in self.pci)
        if self.container or not (switches or self.cuda.get("init") == 802):
            return
        held = self.map("fabric_manager")
        if self.absent("fabric_manager") and not self.works:
            yield "Unit nvidia-fabricmanager.service could not be found."
        elif held.get("service") and held["service"] not in ("active", "unknown"):
            yield f"nvidia-fabricmanager.service: {held['service']}" + (f" ({held['result']})" if held.get("result") not in (None, "", "success") else "")
        if held.get("version") and self.driver and held["version"] != self.driver:
            yield f"Fabric Manager version: {held['version']} does not match the driver's {self.driver}"

    def _tools(self) -> Iterator[str]:
        if self.map("nvcc").get("release"):
            yield f"nvcc: release {self.map('nvcc')['release']}"
        if self.value("gcc"):
            yield str(self.value("gcc"))
        variables = self.map("variables")
        for name, held in variables.items():
            # Images set NVIDIA_VISIBLE_DEVICES=all themselves: it does not tell that GPUs were asked for.
            if name == "NVIDIA_VISIBLE_DEVICES" and str(held).lower() not in ("void", "none"):
                continue
            if name.startswith(("CUDA_", "NVIDIA_VISIBLE", "LD_", "NCCL_", "PYTORCH_", "PYTHONPATH", "CONDA_DEFAULT", "VIRTUAL_ENV")):
                yield f"{name}={held}" if held != "" or name != "CUDA_VISIBLE_DEVICES" else 'CUDA_VISIBLE_DEVICES=""'
        if not self.works:
            for each in self.list("shadows"):
                if isinstance(each, dict) and each.get("libraries"):
                    yield f"LD_LIBRARY_PATH folder {each.get('folder')}: {' '.join(map(str, each['libraries'][:8]))}"
        size = self.map("shm").get("size")
        if isinstance(size, int) and size < 1 << 30:
            yield f"/dev/shm: {size >> 20}M"

    def _python(self) -> Iterator[str]:
        python = self.map("python")
        if python.get("version"):
            yield f"Python version: {python['version']}"
        packages = python.get("packages")
        for name, version in (packages if isinstance(packages, dict) else {}).items():
            yield f"[pip3] {name}=={version}"
        torch = self.torch
        if torch.get("version"):
            if torch.get("cuda") or self.gpu is not False or "torch" not in (packages or {}):
                yield f"PyTorch version: {torch['version']}"
            if torch.get("cuda") or self.gpu is not False:
                yield f"CUDA used to build PyTorch: {torch.get('cuda')}"
            if isinstance(torch.get("available"), bool) and self.gpu is not False:
                yield f"Is CUDA available: {torch['available']}"
            if torch.get("arch_list"):
                yield "torch.cuda.get_arch_list(): [" + ", ".join(f"'{each}'" for each in torch["arch_list"]) + "]"
            if torch.get("count") == 0 and torch.get("cuda") and self.gpu:
                yield "torch.cuda.device_count(): 0"
        if self.gpu is not False:
            yield from (str(each) for each in torch.get("warnings") or [])
        for name in ("import_error", "init_error", "error", "cudnn_error"):
            if torch.get(name):
                yield from str(torch[name]).split("\n")
