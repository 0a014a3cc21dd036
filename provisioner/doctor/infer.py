"""What follows from the facts: flags for the rules (each with the lines it rests on) and values for their texts.

Numbers come from the catalogue; without it only what the text itself says is concluded.
"""

from __future__ import annotations

import re
from typing import Any

from provisioner.doctor import look, oom
from provisioner.doctor.clean import Line
from provisioner.doctor.facts import Doc, Fact, Facts

Flags = dict[str, list[Line]]

#: every flag that a rule may name; one more for each Xid seen: xid-79
FLAGS: dict[str, str] = {
    "cpu-build": "the torch in use is a CPU build", "cuda-build": "the torch in use is a CUDA build",
    "cuda-11": "its CUDA major is 11", "cuda-12": "its CUDA major is 12", "cuda-13": "its CUDA major is 13",
    "cuda-unavailable": "torch says that CUDA is not available", "cuda-available": "torch says that CUDA is available",
    "torch-known": "a torch version is told", "torch-nightly": "it is a nightly", "torch-wanted": "a torch version was asked for",
    "index-named": "an index of PyTorch's is named", "python-known": "a Python version is told",
    "aarch64": "the machine is aarch64", "windows": "the machine runs Windows", "linux": "the machine runs Linux",
    "macos": "the machine is a Mac", "gpu-named": "a GPU is named", "gpu-listed": "a program lists a GPU",
    "jetson-gpu": "the GPU is a Jetson's", "gpus-several": "there are several GPUs", "driver-known": "a driver version is told",
    "module-differs": "loaded module and library differ in version", "smi-cuda-err": "nvidia-smi prints CUDA Version: ERR!",
    "cvd-empty": "CUDA_VISIBLE_DEVICES hides all GPUs", "cvd-set": "CUDA_VISIBLE_DEVICES is set",
    "ldpath-cuda": "LD_LIBRARY_PATH names CUDA folders", "ldpath-compat": "LD_LIBRARY_PATH names a compat folder",
    "mode-exclusive": "a GPU is in an exclusive compute mode", "more-ranks": "more processes than GPUs are started",
    "count-zero": "torch counts no GPU", "glibc-below": "the wanted glibc is newer than the system's",
    "util-low": "a GPU is hardly used", "oom": "there is an out-of-memory message",
    "oom-genuine": "its numbers say that memory is really short", "oom-genuine-maybe": "its numbers hint at that",
    "oom-fragmentation": "its numbers say that memory is fragmented", "oom-fragmentation-maybe": "its numbers hint at that",
    "oom-other-process": "its numbers say that another process holds the memory", "oom-unknown": "it has no numbers",
    "nccl-several": "several NCCL packages are installed", "cudnn-several": "several cuDNN packages are installed",
    "vision-label-differs": "torch and torchvision have different labels", "vision-pair-wrong": "they are not of one release",
    "conda-cpu": "conda installed a CPU build", "conda-cuda": "conda installed a CUDA build", "conda": "conda installed torch",
    "numpy-2": "NumPy 2 is installed", "mkl-new": "MKL is 2024.1 or newer", "offered-none": "pip was offered no version",
    "offered-some": "pip was offered other versions", "nvcc-differs": "nvcc and torch differ in CUDA major",
    "extension-frame": "the traceback runs through an extension", "extension-raised": "its deepest frame is in an extension",
    "gpu-covered": "the build holds code for the GPU", "gpu-below": "the GPU is older than the build's code",
    "gpu-above": "the GPU is newer than the build's code", "gpu-below-sure": "the same, by a program's report",
     "gpu-above-sure": "the same, by a program's report",
    "gpu-covered-sure": "the same, by a program's report", "driver-below-sure": "the same, by a program's report",
    "gpu-minor-newer": "the build holds code of the GPU's major, of a lower minor",
     "driver-below-floor": "the driver is older than the CUDA major's floor",
    "driver-past-gpu": "the driver's branch no longer serves the GPU", "needs-open-gpu": "the GPU needs open kernel modules",
    "python-no-wheel": "that torch has no wheel for that Python", "platform-no-wheel": "that torch has no wheel for that platform",
    "index-bad": "the index or the build does not exist", "imported-differs": "pip shows another torch than Python imports",
     "numpy-too-new": "NumPy 2 with a torch built for NumPy 1",
    "python-has-wheel": "that torch has a wheel for that Python", "platform-has-wheel": "that torch has a wheel for that platform",
    "wheel-glibc": "the system's glibc is older than the wheel wants", "data-dominates": "most of a step's time goes into data",
    "driver-serves-build": "the driver is new enough for the build", "healthy": "everything that was told fits and works",
    "fits": "everything that was told fits", "xid-79": "Xid 79", "xid-119": "Xid 119", "xid-120": "Xid 120",
}

#: packages with GPU code of their own
EXTENSIONS = frozenset((
    "apex", "auto_gptq", "autoawq", "awq", "awq_ext", "bitsandbytes", "causal_conv1d", "chamfer_3d",
    "correlation_cuda", "ctranslate2", "cumm", "cupy", "curope", "deep_gemm", "deepspeed", "detectron2", "dgl",
    "diff_gaussian_rasterization", "exllama", "exllamav2", "faster_whisper", "fbgemm_gpu", "flash_attn",
    "flash_attn_interface", "flash_mla", "flashinfer", "fused_ssim", "gptqmodel", "groundingdino", "gsplat", "kaolin",
    "knn_cuda", "llama_cpp", "mamba_ssm", "marlin", "minkowskiengine", "mmcv", "mmdet3d", "natten", "nerfacc",
    "nvdiffrast", "onnxruntime", "pointnet2_ops", "pyg_lib", "pytorch3d", "quanto", "roi_align", "sageattention",
    "sgl_kernel", "simple_knn", "spatial_correlation_sampler", "spconv", "tensorrt", "tinycudann", "torch2trt",
    "torch_cluster", "torch_scatter", "torch_sparse", "torch_spline_conv", "torchsparse", "transformer_engine",
    "unsloth", "vllm", "vllm_flash_attn", "xformers",
))


def flags(doc: Doc, facts: Facts) -> Flags:
    """All flags that hold."""
    held: Flags = {}

    def say(name: str, *facts_or_lines: Fact | Line | None) -> None:
        lines = [each.line if isinstance(each, Fact) else each for each in facts_or_lines if each is not None]
        held.setdefault(name, []).extend(lines)

    _builds(facts, say)
    _machine(facts, say)
    _memory(doc, say)
    _packages(facts, say)
    _imported(facts, say)
    _frames(facts, say)
    _archs(facts, held, say)
    _drivers(facts, held, say)
    _wheels(facts, held, say)
    _uv_hint(facts, held, say)
    _times(doc, say)
    _pairs(facts, say)
    _health(facts, held, say)
    return held


def torch_version(facts: Facts) -> Fact | None:
    """The torch that is installed, as far as the text tells."""
    return facts.first("torch")


def build_of(facts: Facts) -> tuple[str, Fact] | None:
    """The CUDA build of the installed torch ("cu128", "cpu") and the fact that says so."""
    for fact in facts.all("torch"):
        found = re.search(r"\+(?:\w+\.)?(cu\d{2,3}|cpu|rocm)", fact.value)
        if found:
            return found[1], fact
    said = facts.first("built_cuda")
    if said is not None:
        found = re.fullmatch(r"(\d+)\.(\d)", said.value)
        if found:
            return f"cu{found[1]}{found[2]}", said
        if said.value.lower() in ("none", "could not collect"):
            return "cpu", said
    label = facts.first("torch_label")
    if label is not None:
        return label.value.lower(), label
    return None


def _builds(facts: Facts, say: Any) -> None:
    build = build_of(facts)
    if build is not None:
        say("cpu-build" if build[0] == "cpu" else "cuda-build", build[1])
        if build[0].startswith("cu"):
            say(f"cuda-{build[0][2:4]}", build[1])
    for available in facts.all("is_available"):
        say("cuda-unavailable" if available.value.lower() == "false" else "cuda-available", available)
    torch = torch_version(facts)
    if torch is not None:
        say("torch-known", torch)
        if ".dev" in torch.value:
            say("torch-nightly", torch)
    if facts.first("want_torch"):
        say("torch-wanted", facts.first("want_torch"))
    if facts.first("index"):
        say("index-named", facts.first("index"))
    if facts.first("python"):
        say("python-known", facts.first("python"))


def _machine(facts: Facts, say: Any) -> None:
    for fact in facts.all("arch"):
        if fact.strength >= 2 and fact.value == "aarch64":
            say("aarch64", fact)
    for fact in facts.all("platform"):
        say(fact.value, fact)
    for fact in facts.all("system"):
        if fact.value == "macos":
            say("macos", fact)
        else:
            say("linux", fact)
    for fact in facts.all("gpu"):
        say("gpu-named", fact)
        if fact.strength >= 3:
            say("gpu-listed", fact)
        if re.search(r"\b(orin|xavier|jetson|thor|tegra)\b", fact.value, re.IGNORECASE):
            say("jetson-gpu", fact)
    if len(facts.all("smi_index")) > 1 or len([f for f in facts.all("gpu") if f.strength >= 3]) > 1:
        say("gpus-several", *facts.all("smi_index")[:2])
    if facts.first("driver"):
        say("driver-known", facts.first("driver"))
    module, library = facts.first("module_version") or facts.first("driver"), facts.first("nvml") or facts.first("library")
    if module and library and module.value != library.value:
        say("module-differs", module, library)
    kinds = facts.first("driver_cuda")
    if kinds and kinds.value.lower() == "err!":
        say("smi-cuda-err", kinds)
    for fact in facts.all("cvd"):
        value = fact.value.strip().lower()
        if value in ('""', "''", "-1", "nodevfiles", "void"):
            say("cvd-empty", fact)
        elif value and value != "none":  # Python prints None for a variable that is not set
            say("cvd-set", fact)
    for fact in facts.all("ldpath"):
        if re.search(r"cuda|cudnn|nccl", fact.value, re.IGNORECASE):
            say("ldpath-cuda", fact)
        if "compat" in fact.value:
            say("ldpath-compat", fact)
    for fact in facts.all("compute_mode"):
        if fact.value.upper().startswith(("E.", "EXCL", "PROH")):
            say("mode-exclusive", fact)
    nproc, count = facts.first("nproc"), facts.first("device_count")
    if nproc and count and nproc.value.isdigit() and int(nproc.value) > int(count.value):
        say("more-ranks", nproc, count)
    if count and count.value == "0":
        say("count-zero", count)
    for fact in facts.all("xid"):
        say(f"xid-{fact.value}", fact)
    wanted, have = facts.first("glibc_wanted"), facts.first("glibc")
    if wanted and have and _key(wanted.value) > _key(have.value):
        say("glibc-below", wanted, have)
    for fact in facts.all("smi_util"):
        if fact.value.isdigit() and int(fact.value) < 15:
            say("util-low", fact)


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+", 1)[0])[:4])


def _memory(doc: Doc, say: Any) -> None:
    memory = oom.read(doc)
    if memory is not None:
        say("oom", memory.line)
        say(f"oom-{memory.verdict}" + ("" if memory.sure or memory.verdict == "unknown" else "-maybe"), memory.line)


def _packages(facts: Facts, say: Any) -> None:
    packages: dict[str, Fact] = {}
    for fact in facts.all("pkg"):
        packages.setdefault(fact.value.split(" ", 1)[0], fact)
    nccl = [fact for name, fact in packages.items() if name.startswith("nvidia-nccl-cu")]
    if len(nccl) > 1:
        say("nccl-several", *nccl)
    cudnn = [fact for name, fact in packages.items() if name.startswith("nvidia-cudnn-cu")]
    if len(cudnn) > 1:
        say("cudnn-several", *cudnn)
    vision, torch = facts.first("torchvision"), torch_version(facts)
    if vision and torch:
        ours, theirs = (re.search(r"\+(cu\d+|cpu)", each.value) for each in (torch, vision))
        if ours and theirs and ours[1] != theirs[1]:
            say("vision-label-differs", torch, vision)
    for fact in facts.all("conda_build"):
        name, _version, build = fact.value.split(" ", 2)
        if name in ("pytorch", "torch", "libtorch"):
            say("conda-cpu" if "cpu" in build else "conda-cuda" if "cuda" in build or "gpu" in build else "conda", fact)
    numpy = facts.first("numpy")
    if numpy and numpy.value.startswith("2."):
        say("numpy-2", numpy)
        first = look.rule("numpy2-first-torch-windows" if facts.first("platform") else "numpy2-first-torch")
        if torch and first and numpy.strength >= 2 and torch.strength >= 2 and _key(torch.value) < _key(first):
            say("numpy-too-new", numpy, torch)
    mkl = facts.first("mkl")
    if mkl and _key(mkl.value) >= (2024, 1):
        say("mkl-new", mkl)
    offered = facts.first("offered")
    if offered:
        say("offered-none" if offered.value.strip().lower() == "none" else "offered-some", offered)
    nvcc, built = facts.first("nvcc"), facts.first("built_cuda")
    if nvcc and built and re.fullmatch(r"\d+\.\d", built.value) and nvcc.value.split(".")[0] != built.value.split(".")[0]:
        say("nvcc-differs", nvcc, built)


def _imported(facts: Facts, say: Any) -> None:
    """The torch that is imported is not the one that pip shows."""
    imported = facts.first("torch_imported")
    shown = facts.first("torch_pip") or next((fact for fact in facts.all("pkg") if fact.value.startswith("torch ")), None)
    if imported and shown:
        theirs = shown.value.split(" ")[-1].split("+")[0]
        if re.fullmatch(r"[\d.]+", theirs) and _key(imported.value.split("+")[0])[:3] != _key(theirs)[:3]:
            say("imported-differs", imported, shown)


def _frames(facts: Facts, say: Any) -> None:
    frames = facts.known.get("frame_package", [])
    outside = [fact for fact in frames if fact.value in EXTENSIONS]
    if outside:
        say("extension-frame", outside[-1])
    if frames and frames[-1].value in EXTENSIONS:
        say("extension-raised", frames[-1])


def capabilities(facts: Facts) -> list[tuple[int, Fact]]:
    """Capabilities of the GPUs: said outright, else looked up by the names that a program listed, else by names in passing."""
    said = [(int(fact.value), fact) for fact in facts.all("sm") if fact.value.isdigit() and 20 <= int(fact.value) <= 130]
    if said:
        return said
    found: list[tuple[int, Fact]] = []
    strongest = 0
    for fact in facts.all("gpu"):
        product = look.gpu(fact.value)
        if product is not None and product.sm and fact.strength >= strongest:
            strongest = max(strongest, 3 if fact.strength >= 3 else 0)
            if product.sm not in [sm for sm, _ in found]:
                found.append((product.sm, fact))
    return found


def platform_of(held: Flags) -> str:
    """The wheel platform that the text speaks of."""
    if "windows" in held and "linux" not in held:
        return "win_amd64"
    if "macos" in held:
        return "macos_arm64" if "aarch64" in held else "macos_x86_64"
    return "linux_aarch64" if "aarch64" in held else "linux_x86_64"


def _archs(facts: Facts, held: Flags, say: Any) -> None:
    wanted, limits, floor = facts.first("arch_list"), facts.first("arch_range"), facts.first("arch_floor")
    cards = capabilities(facts)
    for sm, fact in cards:
        if wanted:
            barred = {int(each.value.split()[0]) for each in facts.all("arch_except") if int(each.value.split()[1]) == sm}
            cubins = [number for number in map(int, re.findall(r"sm_(\d+)", wanted.value)) if number not in barred]
            refused = "supports cuda capabilities" in wanted.line.text.lower()  # torch looked at its PTX already
            ptx = [] if refused else [int(number) for number in re.findall(r"compute_(\d+)", wanted.value)]
            if cubins or ptx:
                _place(sm, cubins, ptx, say, fact, wanted)
        if limits:
            low, high = (int(each.replace(".", "")) for each in limits.value.split()[:2])
            if sm < low:
                say("gpu-below", fact, limits)
                say("gpu-below-sure", fact, limits)
            elif sm > high and sm // 10 == high // 10:
                say("gpu-minor-newer", fact, limits)
            elif sm > high:
                say("gpu-above", fact, limits)
        if floor and sm < int(floor.value.replace(".", "")):
            say("gpu-below", fact, floor)
    if wanted or limits or floor or not cards:
        return
    build, torch = build_of(facts), torch_version(facts)
    told = build[1] if build else torch
    if told is None or (build and not build[0].startswith("cu")):
        return
    lists = look.archs(torch.value if torch else "", build[0] if build else "", platform_of(held))
    for sm, fact in cards:
        verdicts = {look.verdict(sm, row) for row in lists}
        if len(verdicts) == 1:
            name = {"covered": "gpu-covered", "below": "gpu-below", "above": "gpu-above"}[verdicts.pop()]
            say(name, fact, told)
            if fact.strength >= 2 and told.strength >= 2:
                say(f"{name}-sure", fact, told)


def _place(sm: int, cubins: list[int], ptx: list[int], say: Any, *facts: Fact) -> None:
    """Where a GPU stands against an architecture list."""
    if any(each // 10 == sm // 10 and each <= sm for each in cubins):
        say("gpu-covered", *facts)
        if max(cubins) < sm:
            say("gpu-minor-newer", *facts)
    elif any(each <= sm for each in ptx):
        say("gpu-covered", *facts)
    else:
        name = "gpu-above" if sm > max(cubins or ptx) or (sm > min(cubins or ptx) and look.living(sm)) else "gpu-below"
        say(name, *facts)
        if all(fact.strength >= 2 for fact in facts):
            say(f"{name}-sure", *facts)


def _drivers(facts: Facts, held: Flags, say: Any) -> None:
    """The driver against the CUDA of the build and against the GPU."""
    driver, build = facts.first("driver"), build_of(facts)
    windows = "windows" in held or any("wsl" in each.line.text.lower() for each in facts.all("system"))
    if build and build[0].startswith("cu"):
        digits = build[0][2:]
        major, cuda = digits[:-1], f"{digits[:-1]}.{digits[-1]}"
        floor = look.floor(major, cuda, windows)
        if driver and floor and _key(driver.value)[:1] >= (300,):
            have, need = _key(driver.value), _key(floor)
            if len(have) == 1:
                need = need[:1]
            if have < need:
                say("driver-below-floor", driver, build[1])
                if driver.strength >= 2 and build[1].strength >= 2:
                    say("driver-below-sure", driver, build[1])
            else:
                say("driver-serves-build", driver, build[1])
        served = facts.first("driver_cuda")
        if served and not driver and re.fullmatch(r"\d+\.\d", served.value) and int(served.value.split(".")[0]) < int(major):
            say("driver-below-floor", served, build[1])
    for fact in facts.all("gpu"):
        product = look.gpu(fact.value)
        if product is None:
            continue
        if product.open_modules == "required":
            say("needs-open-gpu", fact)
        if driver and product.last_branch and _key(driver.value)[0] > int(product.last_branch) and not facts.first("smi_memory"):
            say("driver-past-gpu", driver, fact)


def _wheels(facts: Facts, held: Flags, say: Any) -> None:
    """What pip was asked for against the wheels that exist."""
    want, python, index = facts.first("want_torch"), facts.first("python"), facts.first("index")
    platform = platform_of(held)
    label = ""
    if want:
        found = re.search(r"\+(cu\d+|cpu)", want.value)
        label = found[1] if found else ""
    if index and not label and re.fullmatch(r"(?:nightly/|test/)?cu\d{2,3}", index.value) and "/" not in index.value:
        label = index.value
    if label.startswith("cu") and look.builds() and label not in look.builds() and int(label[2:]) >= 110:
        say("index-bad", index or want)
        return
    if want is None:
        return
    version = want.value.split("+")[0]
    rows = look.wheels(version)
    if not rows:
        if look.releases() and _key(version) > _key(look.releases()[0]) and "dev" not in version and not re.search(r"[a-z]", version):
            say("index-bad", want)
        return
    here = [row for row in rows if row.platform == platform]
    if not here:
        say("platform-no-wheel", want)
        return
    pythons = {each for row in here for each in row.pythons}
    minor = ".".join(python.value.split(".")[:2]) if python else ""
    if python and pythons and minor not in pythons:
        say("python-no-wheel", want, python)
        return
    if python and minor in pythons:
        say("python-has-wheel", want, python)
    have = facts.first("glibc")
    needs = [row.glibc for row in here if row.glibc]
    if have and needs and _key(have.value) < min(map(_key, needs)):
        say("wheel-glibc", want, have)
    if label and label != "cpu" and not any(row.build == label for row in here):
        say("index-bad", want, index)


def _uv_hint(facts: Facts, held: Flags, say: Any) -> None:
    """uv's hint: which platforms it saw wheels for, against the one that it runs on."""
    told, have = facts.first("uv_platforms"), facts.first("glibc")
    if told is None:
        return
    machine = "aarch64" if "aarch64" in held and "x86_64`)" not in told.line.text else "x86_64"
    levels = [tuple(map(int, pair)) for pair in re.findall(rf"manylinux_(\d+)_(\d+)_{machine}", told.value)]
    if have and levels and _key(have.value) < min(levels):
        say("wheel-glibc", told, have)
    want = facts.first("want_torch")
    if want and not levels and any(row.platform == f"linux_{machine}" for row in look.wheels(want.value)) and "manylinux" in told.line.text:
        say("platform-has-wheel", told, want)


def _times(doc: Doc, say: Any) -> None:
    """Time for data against the time of a step, as training scripts print them: `Time: 2.914s ... Data: 2.688`."""
    for here in (doc.find("data") or [])[:300]:
        text = doc.lines[here].text
        data = re.search(r"\bdata(?:[ _](?:loading )?time)?:? ?(\d+\.\d+)", text, re.IGNORECASE)
        if data is None:
            continue
        other = re.search(r"(?<!data[ _])(?<!data)\b(?:batch[ _])?time:? ?(\d+\.\d+)|(?:forward|backward|compute|step|model|"
            r"gpu)[\w+ /]{0,24}:? (\d+\.\d+)", text,
                          re.IGNORECASE)
        if other and float(data[1]) > 0.05 and float(data[1]) > 0.5 * float(other[1] or other[2]):
            say("data-dominates", doc.lines[here])
            return


def _pairs(facts: Facts, say: Any) -> None:
    torch, vision = torch_version(facts), facts.first("torchvision")
    if torch is None or vision is None or min(torch.strength, vision.strength) < 2:
        return
    stable = not re.search(r"dev|a0|rc|\+git", torch.value + vision.value)
    if stable and look.pair_wrong("torchvision", vision.value.split("+")[0], torch.value.split("+")[0]):
        say("vision-pair-wrong", torch, vision)


def _health(facts: Facts, held: Flags, say: Any) -> None:
    build = build_of(facts)
    if build and build[0].startswith("cu") and "gpu-covered" in held and not {"gpu-below", "gpu-above", "driver-below-floor"} & set(held):
        if "cuda-available" in held:
            say("healthy", facts.first("is_available"), build[1], *[fact for _, fact in capabilities(facts)[:2]])
        elif "driver-serves-build" in held and "cuda-unavailable" not in held:
            say("fits", build[1], facts.first("driver"), *[fact for _, fact in capabilities(facts)[:2]])


def values(doc: Doc, facts: Facts, held: Flags) -> dict[str, str]:
    """What the texts of rules may name."""
    made = {name: facts.value(name) for name in ("driver", "python", "kernel", "torchvision", "glibc", "nvcc", "numpy", "gcc", "l4t",
                                                 "gcc_limit", "glibc_wanted", "nvml", "want_torch", "cvd", "index", "xid", "min_torch")}
    torch, build = torch_version(facts), build_of(facts)
    made["torch"] = torch.value if torch else ""
    made["build"] = build[0] if build else ""
    made["want_torch"] = made["want_torch"].split("+")[0]
    built = facts.value("built_cuda")
    if not re.fullmatch(r"\d+\.\d+", built):
        built = f"{made['build'][2:-1]}.{made['build'][-1]}" if made["build"].startswith("cu") else ""
    made["built_cuda"], made["built_dash"] = built, built.replace(".", "-")
    listed = facts.first("gpu")
    made["gpu"] = listed.value if listed else ""
    cards = [sm for sm, _ in capabilities(facts)]
    made["sm"] = f"sm_{cards[0]}" if cards else ""
    made["sm_dot"] = f"{cards[0] // 10}.{cards[0] % 10}" if cards else ""
    made["arch_list"] = facts.value("arch_list")
    made["driver_branch"] = made["driver"].split(".")[0]
    system = facts.value("system")
    made["os"] = system
    made["family"] = _family(system, facts, held)
    memory = oom.read(doc) if "oom" in held else None
    if memory:
        made.update(_sizes(memory))
    found = facts.value("found_driver")
    header = facts.value("driver_cuda")
    made["served_major"] = found[:-3] if found else header.split(".")[0] if re.fullmatch(r"\d+\.\d", header) else ""
    look.fill(made, cards, [fact.value for fact in facts.all("gpu")], platform_of(held), made["driver"] if facts.first("driver") else "")
    return made


def _sizes(memory: oom.Memory) -> dict[str, str]:
    names = ("tried", "total", "free", "allocated", "unallocated", "others")
    return {f"oom_{name}": f"{value:.2f}" for name, value in zip(names, memory[:6], strict=True) if value is not None}


def _family(system: str, facts: Facts, held: Flags) -> str:
    if "windows" in held and not system:
        return "windows"
    for head, family in (("ubuntu", "debian"), ("debian", "debian"), ("rhel", "rhel"), ("fedora", "fedora"), ("amzn", "amazon"),
                         ("sles", "suse"), ("opensuse", "suse"), ("azl", "azure"), ("arch", "arch"), ("macos", "macos")):
        if system.startswith(head):
            return family
    manager = facts.value("package_manager")
    return {"apt": "debian", "dnf": "rhel", "yum": "rhel", "zypper": "suse", "pacman": "arch"}.get(manager, "")
