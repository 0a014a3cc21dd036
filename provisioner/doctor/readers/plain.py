"""Facts that stand in one line: collect_env's "key: value", versions said in passing, commands, environment variables.

    PyTorch version: 2.8.0+cu128
    Python platform: Linux-6.8.0-60-generic-x86_64-with-glibc2.35
    Nvidia driver version: 550.163.01
    GPU: Tesla V100 (compute capability 7.0)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from provisioner.doctor.facts import Doc, Facts

_V = r"(\d+\.\d+(?:\.\d+)?(?:\.?(?:a|b|rc|post|dev)\d+)?(?:\+[\w.]+)?)"  # a PEP 440 version as torch has them
_T = r"(?:py)?torch"

# fact, literal (lower case), pattern, strength. A pattern's groups that matched become values.
_TABLE: tuple[tuple[str, str, str, int], ...] = (
    ("torch", "torch", rf"^pytorch version: {_V}", 3),
    ("torch", "torch", rf"(?:^|\] )(?:\[pip3?\] |\[conda\] |  )?torch(?:==|\s+(?=\d)){_V}", 2),
    ("torch", "torch", rf"(?<![\w/.-])(?:py)?torch(?: ?(?:version|versions|build|wheel))?(?: is|:|=|\(| -|-)? ?v?{_V}", 1),
    ("torch", "torch", rf"torch\.__version__\)?[ :>=,)-]{{0,8}}['\"]?{_V}", 2),
    ("torch", "torch", rf"(?:Name: torch Version: ){_V}", 2),
    ("torch", "you have", rf"you have {_V}", 2),
    ("torch_label", "+c", r"(?<![\w.])(?:torch|pytorch|wheels?|build)\b[^\n]{0,30}?\+(cpu|cu\d{2,3})\b", 1),
    ("torch_label", "+cpu", r"\d\+(cpu)\b", 1),
    ("torchvision", "torchvision", rf"torchvision(?:==|:? v?| version: ?|\s+(?=\d)){_V}", 2),
    ("torchaudio", "torchaudio", rf"torchaudio(?:==|:? v?|\s+(?=\d)){_V}", 2),
    ("want_torch", "install", rf"(?:install|add)\b.{{0,80}}?(?<![\w-]){_T}\s?==?\s?['\"]?{_V}", 1),
    ("want_torch", "requirement", rf"requirement torch(?:\s?==|~=|>=|<=)\s?{_V}", 2),
    ("want_torch", "no matching distribution", rf"distribution found for torch(?:==|~=|>=|<=){_V}", 2),
    ("want_torch", "torch==", rf"torch=={_V}", 1),
    ("want_label", "+cu", r"(?:==\S{1,20}|torch\S{0,20})\+(cu\d{2,3})\b", 1),
    ("index", "whl/", r"(?:download\.pytorch\.org/)?whl/((?:nightly/|test/)?(?:cu\d{2,3}|cpu|rocm[\d.]+|xpu|torch_stable\.html|"
        r"torch_nightly\.html))", 2),
    ("built_cuda", "used to build pytorch", r"cuda used to build pytorch: (\S.{0,20})$", 3),
    ("built_cuda", "torch.version.cuda", r"torch\.version\.cuda\)?(?: is|[ :>=-]){0,6} ?['\"]?(\d+\.\d|None)", 2),
    ("built_cuda", "pytorch (", r"compile(?:d)? pytorch \((\d+\.\d)\)", 2),
    ("built_cuda", "with cuda", r"torch[^\n]{0,30}with cuda (\d+\.\d)\b", 1),
    ("is_available", "is cuda available", r"is cuda available: (\w+)", 3),
    ("is_available", "available", r"(?<!xnnpack )(?<!xpu )cuda(?: is)? ?available ?[:=?]{1,2} ?(true|false|yes|no)\b", 2),
    ("is_available", "cuda", r"cuda (is not available|is unavailable|不可用)|cuda ?[:=] ?(false)\b", 1),
    ("is_available", "is_available()", r"is_available\(\)\)?[ :>=-]{1,6}(true|false)\b", 2),
    ("cuda_runtime", "cuda runtime version", r"cuda runtime version: (\d+\.\d+)", 3),
    ("os", "os:", r"^os: (\S.{2,60})$", 3),
    ("os", "pretty_name", r"pretty_name=\"?([^\"]{3,60})", 3),
    ("os", "release", r"^((?:rocky|red hat|centos|alma|oracle|fedora)[\w ]{0,30} release \d[\w. ()-]{0,30})", 2),
    ("os", "description", r"^description:\s?(\S.{2,60})$", 2),
    ("python", "python version", r"^python version: (\d\.\d+(?:\.\d+)?)", 3),
    ("python", "python", r"(?<![\w./-])(?:python|python version|cpython)[ :=-]{1,3}v?(\d\.\d{1,2}(?:\.\d+)?)(?![\d.]*[+])", 2),
    ("python", "python", r"(?<![\w])python(\d\.\d{1,2})(?![\d.])", 1),
    ("python", "python", r"using (?:cpython|python) (\d\.\d{1,2})", 2),
    ("python", "cp3", r"(?:-|abi tag |tag |using |you're using cpython \d\.\d+ \(`)(cp3\d{1,2})\b", 1),
    ("python", "python_version", r"python(?:_version)? ?(?:==|=) ?(\d\.\d{1,2})", 1),
    ("pyplatform", "python platform", r"^python platform: (\S+)", 3),
    ("glibc", "glibc", r"(?:libc version: |ldd \([^)]{0,40}glibc[^)]{0,30}\) |glibc[ :-]{0,2})(\d\.\d\d?)\b", 2),
    ("glibc", "ldd", r"ldd \([^)]{0,40}\) (\d\.\d\d?)\b", 3),
    ("glibc", "manylinux_2_", r"you.re on linux \(.manylinux_(2_\d\d?)_", 3),
    ("library", "libnvidia-", r"libnvidia-(?:compute|gl|ml|decode)\S* (?:\S{1,20} )?(\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 2),
    ("library", "libnvidia-ml.so", r"libnvidia-ml\.so\.(\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 2),
    ("module_version", "/sys/module/nvidia/version", r"/sys/module/nvidia/version\D{0,12}(\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 3),
    ("uv_platforms", "following platform", r"following platforms?: (.{5,300})", 3),
    ("glibc", "glibc", r"with-glibc(\d\.\d\d?)", 2),
    ("glibc_wanted", "glibc_", r"glibc_(\d\.\d\d?)' not found", 3),
    ("gcc", "gcc", r"(?:gcc version: (?:\(.{0,60}\) )?|^gcc \(.{0,60}\) |gcc[ -])(\d{1,2}(?:\.\d+){0,2})", 1),
    ("gcc_limit", "later than", r"gcc versions later than (\d+)", 3),
    ("kernel", "kernel", r"(?:kernel(?: version)?(?: is)?[:= ]{1,2}|for kernel |on )(\d+\.\d+[\w.+~-]*)", 2),
    ("kernel", "uname", r"uname -(?:r|a)\S?[ :>-]{1,5}(?:linux \S+ )?(\d+\.\d+[\w.+-]*)", 2),
    ("arch", "architecture", r"architecture:\s?(x86_64|aarch64|amd64|arm64)", 3),
    ("arch", "aarch64", r"\b(aarch64)\b", 2),
    ("arch", "arm64", r"\b(?:linux[/_-]|gnu/linux .{0,20}|server |instance )(arm64)\b", 2),
    ("arch", "arm64", r"(?<!macosx_11_0_)\b(arm64)\b", 1),
    ("arch", "x86_64", r"\b(x86_64)\b", 1),
    ("driver", "driver version", r"driver version[:= ]{1,3}(\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 3),
    ("driver", "nvidia-smi", r"nvidia-smi (\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 2),
    ("module_version", "nvrm version", r"nvrm version: .{0,60}kernel module(?: for \w+)?\s{1,4}(\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 3),
    ("driver", "kernel module", r"kernel module(?: for \w+)?\s{1,4}(\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 3),
    ("driver", "driver", r"(?<!version of the )(?<!gcc )\bdrivers?(?: branch| version| release)?[ :=(]{1,3}(?:is |nvidia |r|"
        r"v)?(\d{3}(?:\.\d{1,3}(?:\.\d{1,2})?)?)(?![\d.]*[a-z%])", 1),
    ("driver", "/nvidia/", r"/nvidia/(\d{3}\.\d{1,3}(?:\.\d{1,2})?)/", 1),
    ("nvml", "nvml library version", r"nvml library version: (\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 3),
    ("module_version", "kernel module", r"kernel module (?:version|has the version):? ?(\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 3),
    ("driver_cuda", "cuda version", r"driver version: \S+ .{0,30}?cuda(?: umd)? version: (\d+\.\d|n/a|err!)", 3),
    ("found_driver", "found version", r"found version (\d{4,5})", 3),
    ("nvcc", "release", r"cuda compilation tools, release (\d+\.\d+)", 3),
    ("nvcc", "nvcc", r"nvcc(?: version| -V| --version)?[ :=>-]{1,4}(?:release )?v?(\d+\.\d+)", 2),
    ("nvcc", "detected cuda version", r"detected cuda version \(?(\d+\.\d+)\)?", 3),
    ("cudnn", "cudnn", r"cudnn(?: version)?[:= ]{1,2}v?(\d\.\d[\d.]*)", 1),
    ("cvd", "cuda_visible_devices", r"cuda_visible_devices['\"\]]{0,3} ?[=:] ?['\"]?([^'\" )]{0,80})", 2),
    ("ldpath", "ld_library_path", r"ld_library_path ?[=:] ?(\S{1,300})", 2),
    ("cuda_home", "cuda_home", r"cuda_home ?[=:] ?(\S{1,120})", 2),
    ("sm", "sm_", r"cuda capability sm_(\d{2,3})[a-z]? is not compatible", 3),
    ("sm", "(cc)", r"which is of compute capability \(cc\) (\d+\.\d)", 3),
    ("sm", "capability", r"(?:compute|cuda) capability(?: is| of|:|=|,)? ?\(?(\d{1,2}\.\d)\b(?! - )", 2),
    ("sm", "capability", r"capability[:=]? \((\d{1,2}, ?\d)\)", 2),
    ("sm", "get_device_capability", r"get_device_capability\([^)]{0,10}\)\)?[ :>=-]{0,6}\((\d{1,2}, ?\d)\)", 3),
    ("sm", "(", r"(?:rtx|gtx|gb\d|gpu|geforce|tesla|quadro)[\w /-]{0,24}\((\d{1,2}\.\d)\)", 1),
    ("sm", "sm_", r"(?:rtx|gtx|gpu|geforce|tesla|titan|quadro|device|card)[^\n]{0,30}?\bsm_(\d{2,3})\b(?! sm_)", 1),
    ("arch_list", "supports cuda capabilities", r"supports cuda capabilities ((?:(?:sm|compute)_\d+[a-z]? ?)+)", 3),
    ("arch_list", "get_arch_list", r"get_arch_list\(\)\)?[ :>=-]{0,6}\[((?:'(?:sm|compute)_\d+[a-z]?',? ?)+)", 3),
    ("arch_list", "['sm_", r"^\[((?:'(?:sm|compute)_\d+[a-z]?',? ?)+)", 3),
    ("arch_list", "sm_", r"arch(?:itecture)?s?(?: list|_list)?[^\n]{0,12}[:=] ?\[?['\"]?((?:(?:sm|compute)_\d+[a-z]?['\", ]{0,4}){2,})", 2),
    ("arch_range", "capability supported", r"capability supported by this (?:version of pytorch|"
        r"library) is ?\(?(\d+\.\d\)? - \(?\d+\.\d)", 3),
    ("arch_range", ") - (", r"^\(?(\d+\.\d\) - \(\d+\.\d)\)", 3),
    ("arch_floor", "minimum cuda capability", r"minimum cuda capability supported by this (?:library|version of pytorch) is (\d+\.\d)", 3),
    ("numpy", "numpy", r"\bnumpy(?:==|:? |-|\s+)v?(\d+\.\d+(?:\.\d+)?)", 2),
    ("mkl", "mkl", r"(?<![\w_-])mkl(?:==|\s+)(\d{4}\.\d+(?:\.\d+)?)", 2),
    ("nccl", "nccl", r"nccl version:? (\d+\.\d+(?:\.\d+)?)", 2),
    ("nproc", "nproc", r"nproc[_-]per[_-]node[= ](\d+|gpu|auto)", 2),
    ("nproc", "num_processes", r"num_processes[= ](\d+)", 2),
    ("nproc", "tensor", r"tensor[_-]parallel[_-]size[= ](\d+)", 2),
    ("device_count", "device_count", r"device_count\(\)\)?[ :>=-]{1,6}(\d+)\b", 2),
    ("l4t", "r3", r"(?:l4t|tegra|\br3\d \(release\), revision)\D{0,12}(r?3\d(?:\.\d+)*)", 2),
    ("jetpack", "jetpack", r"jetpack[ :=-]{0,3}(\d(?:\.\d+)*)", 2),
    ("windows", "windows", r"\b(windows (?:10|11|server ?\d*))", 2),
    ("compiled_for", "was built for", r"pytorch (\d\S+) with cuda", 1),
    ("min_torch", "at least", r"upgrade torch to at least v?(\d+\.\d+(?:\.\d+)?)", 3),
    ("transformers", "transformers", rf"transformers(?:==|:? |\s+)v?{_V}", 1),
    ("xid", "xid", r"xid(?: error)?[ :=]{0,3}(?:\(pci:[\w:.]+\)[:,]? )?(\d{1,3})\b", 2),
    ("fm_version", "fabric manager", r"fabric ?manager[^\n]{0,30} version:? (\d{3}\.\d{1,3}(?:\.\d{1,2})?)", 2),
)

LITERALS: tuple[str, ...] = tuple(sorted({row[1] for row in _TABLE if len(row[1]) > 3}))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _sm(value: str) -> str:
    """A capability in any spelling ("8.9", "8, 9", "89") as the number that sm_ carries."""
    digits = re.findall(r"\d+", value)
    return "".join(digits)


def _list(value: str) -> str:
    return " ".join(re.findall(r"(?:sm|compute)_\d+", value.lower()))


def _python(value: str) -> str:
    return f"3.{value[3:]}" if value.lower().startswith("cp3") else value


_CONVERT: dict[str, Callable[[str], str]] = {
    "sm": _sm, "arch_list": _list, "python": _python,
    "is_available": lambda value: "True" if value.lower() in ("true", "yes") else "False",
    "glibc": lambda value: value.replace("_", "."),
    "arch_range": lambda value: " ".join(re.findall(r"\d+\.\d", value)),
    "arch": lambda value: {"amd64": "x86_64", "arm64": "aarch64"}.get(value.lower(), value.lower()),
    "built_cuda": lambda value: value.rstrip("."),
}


def read(doc: Doc, facts: Facts) -> None:
    """Fill in the facts of the table; a prompt's answer on the next line counts too."""
    for name, literal, pattern, strength in _TABLE:
        at = doc.find(literal)
        if not at:
            continue
        regex = _compiled(pattern)
        convert = _CONVERT.get(name)
        for here in at[:400]:
            line = doc.lines[here]
            found = regex.search(line.text)
            if found is not None:
                value = next((group for group in found.groups() if group is not None), "")
                if name == "cvd" and not value:
                    value = '""'
                facts.add(name, convert(value) if convert else value, line, strength)
    _prompts(doc, facts)
    _code_list(doc, facts)
    _shown(doc, facts)


def _shown(doc: Doc, facts: Facts) -> None:
    """What pip says is installed (fact torch_pip) and what Python imports (torch_imported): `pip show torch` / `Version: 2.4.0`."""
    for here in (*doc.find("pip show torch"), *doc.find("name: torch")):
        for below in doc.lines[here:here + 4]:
            found = re.search(rf"^version: {_V}", below.text, re.IGNORECASE)
            if found:
                facts.add("torch_pip", found[1], below, 2)
                break
    for here in doc.find("torch.__version__"):
        for below in doc.lines[here:here + 3]:
            found = re.search(rf"(?:^|__version__\)?['\"]? ?(?:->|=>|:|#) ?)['\"(]{{0,2}}{_V}", below.text, re.IGNORECASE)
            if found:
                facts.add("torch_imported", found[1], below, 2)
                break
    for here in doc.find("pytorch version"):
        found = re.search(rf"^pytorch version: {_V}", doc.lines[here].text, re.IGNORECASE)
        if found:
            facts.add("torch_imported", found[1], doc.lines[here], 3)


_SERVES = re.compile(r"^- (\d+)\.(\d) which supports hardware CC >=\d+\.\d,<\d+\.\d(?: except \{([\d., ]+)\})?")


def _code_list(doc: Doc, facts: Facts) -> None:
    """The list of newer releases: `- 8.0 which supports hardware CC >=8.0,<9.0 except {8.7}`."""
    found = [(doc.lines[here], _SERVES.match(doc.lines[here].text)) for here in doc.find("which supports hardware cc")[:40]]
    listed = [(line, match) for line, match in found if match is not None]
    if listed:
        facts.add("arch_list", " ".join(f"sm_{match[1]}{match[2]}" for _, match in listed), listed[0][0], 3)
        for _, match in listed:
            for each in re.findall(r"(\d+)\.(\d)", match[3] or ""):
                facts.add("arch_except", f"{match[1]}{match[2]} {''.join(each)}", listed[0][0], 3)


_ASKED = (
    ("torch", "torch.__version__", rf"^[(]?['\"]?{_V}['\"]?(?:$|[ ,])"),
    ("built_cuda", "torch.version.cuda", r"^['\"]?(\d+\.\d|None)?['\"]?$"),
    ("is_available", "is_available()", r"^(?:[\w.+'\"(]{1,30}[, ]{1,2}){0,3}(True|False)[)]?$"),
    ("device_count", "device_count()", r"^(\d+)$"),
    ("torch_file", "torch.__file__", r"^['\"]?(\S+__init__\.pyc?)['\"]?$"),
    ("sm", "get_device_capability", r"^\((\d{1,2}, ?\d)\)$"),
    ("arch_list", "get_arch_list", r"^\[((?:'(?:sm|compute)_\d+[a-z]?',? ?)+)"),
)


def _prompts(doc: Doc, facts: Facts) -> None:
    """An expression at a prompt and its answer below: `>>> torch.__version__` / `'2.0.1+cu118'`."""
    for name, literal, pattern in _ASKED:
        for here in doc.find(literal)[:50]:
            for below in doc.lines[here + 1:here + 4]:
                if below.text.startswith(">>>"):
                    break
                found = _compiled(pattern).search(below.text)
                if found and found[1]:
                    facts.add(name, _CONVERT.get(name, str)(found[1]), below, 3)
                    break
