"""Holds what the smoke test measured against what the lock promises. Pure: no process, no file, no clock.

Each `Outcome` is out of a closed set: `ok`; `wrong`, the environment differs from the lock or computes wrong; `crashed`, the check
itself failed, which is no proof of either; `skipped`, it does not apply here or rests on something that is wrong already. Wrong and
crashed lead to status 4. `see` is the code of the diagnosis rule that knows more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from provisioner.errors import OK, WRONG
from provisioner.verify.words import has, say


class Outcome(NamedTuple):
    """What came of one check. `device` is empty where it is not about one GPU."""

    name: str
    outcome: str  # ok | wrong | skipped | crashed
    text: str
    todo: str = ""
    see: str = ""
    device: str = ""
    seconds: float = 0.0


class Verdict:
    """All outcomes, and what they lead to."""

    def __init__(self, level: str, outcomes: list[Outcome], measured: dict[str, Any], lang: str) -> None:
        self.level, self.outcomes, self.measured, self.lang = level, outcomes, measured, lang

    @property
    def status(self) -> int:
        """The exit status: 0, or 4 when something is wrong or crashed."""
        return WRONG if any(each.outcome in ("wrong", "crashed") for each in self.outcomes) else OK

    def count(self) -> dict[str, int]:
        """How many of each outcome."""
        return {name: sum(each.outcome == name for each in self.outcomes) for name in ("ok", "wrong", "crashed", "skipped")}

    def document(self) -> dict[str, Any]:
        """The verdict as a JSON object, with what was measured."""
        return {"status": "ok" if self.status == OK else "wrong", "level": self.level, "count": self.count(),
                "checks": [each._asdict() for each in self.outcomes], "measured": self.measured}

    def junit(self) -> str:
        """The verdict as JUnit XML: wrong is a failure, crashed an error."""
        from xml.sax.saxutils import escape, quoteattr

        count = self.count()
        seconds = sum(each.seconds for each in self.outcomes)
        lines = ['<?xml version="1.0" encoding="utf-8"?>',
                 f'<testsuite name="provision verify {self.level}" tests="{len(self.outcomes)}" failures="{count["wrong"]}" '
                 f'errors="{count["crashed"]}" skipped="{count["skipped"]}" time="{seconds:.3f}">']
        for each in self.outcomes:
            name = _clean(f"{each.name} {each.device}".strip())
            text = _clean(each.text + (f"\n{each.todo}" if each.todo else ""))
            head = f'  <testcase classname="provision.verify" name={quoteattr(name)} time="{each.seconds:.3f}"'
            tag = {"wrong": "failure", "crashed": "error", "skipped": "skipped"}.get(each.outcome)
            if tag is None:
                lines.append(head + "/>")
            else:
                lines.append(f"{head}><{tag} message={quoteattr(_clean(each.text))}>{escape(text)}</{tag}></testcase>")
        return "\n".join([*lines, "</testsuite>", ""])


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(each if each >= " " or each in "\n\t" else " " for each in text if each not in "￾￿")


def format_text(verdict: Verdict, lang: str, paint: Any) -> str:
    """The verdict for a terminal; `paint(style, text)` colours."""
    style = {"ok": "green", "wrong": "red", "crashed": "red", "skipped": "dim"}
    wide = max((len(each.name) for each in verdict.outcomes), default=0)
    mark = max(_wide(say(lang, each)) for each in style)
    lines = [say(lang, "title", level=verdict.level, **verdict.count()), ""]
    for each in verdict.outcomes:
        lines.append(f"  {paint(style[each.outcome], _padded(say(lang, each.outcome), mark))}  {each.name.ljust(wide)}  {each.text}")
        indent = " " * (mark + wide + 6)
        if each.todo:
            lines.append(f"{indent}{paint('bold', say(lang, 'todo'))}: {each.todo}")
        if each.see and each.outcome != "ok":
            lines.append(f"{indent}{say(lang, 'see')}: `provision rules show {each.see}`")
    lines += ["", paint("bold", say(lang, "all-well" if verdict.status == OK else "not-well")), ""]
    return "\n".join(lines)


def _wide(text: str) -> int:
    """Columns on a terminal: a Chinese character takes two."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - _wide(text))


def judge(document: dict[str, Any], lock: dict[str, Any], lang: str = "en") -> Verdict:
    """The verdict on a document of the smoke test, held against a lock. A document of another shape is a crashed check, no exception."""
    return _Judge(document, lock, lang).verdict()


# What a GPU check of the payload tells when all is well; the others judge themselves below.
_COMPUTING = ("kernel", "matmul", "convolution", "memory", "half", "training", "speed", "burn")
#: What every document has to hold; a document that was cut is no pass.
_ALWAYS = ("torch", "devices", "kernel", "matmul", "convolution")
_ON_CPU_TOO = ("kernel", "matmul", "convolution", "training")


class _Judge:
    def __init__(self, document: dict[str, Any], lock: dict[str, Any], lang: str) -> None:
        self.document, self.lang = document, lang
        self.choices: dict[str, Any] = lock.get("choices") or {}
        self.artefacts: dict[str, Any] = lock.get("artefacts") or {}
        self.expect: dict[str, Any] = self.artefacts.get("expect") or {}
        self.kind = str(self.artefacts.get("kind") or "host")
        self.checks: dict[str, dict[str, Any]] = {}
        self.outcomes: list[Outcome] = []
        self.cpu = self.choices.get("cuda_build") in ("cpu", None)

    # -- telling

    def tell(self, name: str, outcome: str, word: str, /, *, see: str = "", device: str = "", todo: str | None = None, **values: Any) -> None:
        """Note an outcome; its text is `word`, what to do about it `word-todo` (or `todo`)."""
        key = f"{word}-todo" if todo is None else todo
        advice = say(self.lang, key) if outcome in ("wrong", "crashed") and key and has(key) else ""
        values = {"device": device, **values}
        self.outcomes.append(Outcome(name, outcome, say(self.lang, word, **values), advice, see, device,
                                     float(self.checks.get(name, {}).get("seconds") or 0.0)))

    def data(self, name: str) -> dict[str, Any] | None:
        """What a check measured, None when it did not run."""
        check = self.checks.get(name)
        return check["data"] if check and check.get("outcome") == "ran" and isinstance(check.get("data"), dict) else None

    def passed_over(self, name: str) -> bool:
        """Tell of a check that was skipped or crashed, or is missing; whether that was so."""
        check = self.checks.get(name)
        if check is None:
            if name in _ALWAYS:
                self.tell(name, "crashed", "check-missing")
            return True  # not of this level
        if check["outcome"] == "skipped":
            reason = str(check.get("because"))
            self.tell(name, "skipped", reason if has(reason) else "not-available")
            return True
        if check["outcome"] == "crashed":
            self.tell(name, "crashed", "check-crashed", why=check.get("because"), see=_known_error(str(check.get("because"))))
            return True
        return False

    # -- judging

    def verdict(self) -> Verdict:
        """Everything, in the order in which one thing rests on the other."""
        document = self.document
        level = str(document.get("level") or "quick") if isinstance(document, dict) else "quick"
        if not isinstance(document, dict) or document.get("verify") != 1 or not isinstance(document.get("checks"), list):
            why = document.get("error") if isinstance(document, dict) and document.get("error") else "no document"
            self.tell("payload", "crashed", "not-run", why=why)
            return Verdict(level, self.outcomes, {}, self.lang)
        self.checks = {str(each.get("name")): _checked(each) for each in document["checks"] if isinstance(each, dict)}
        try:
            self.python()
            usable = self.torch()
            if usable:
                self.packages()
            if self.cpu:
                self.computing(_ON_CPU_TOO)
                if "workers" in self.checks:
                    self.workers()
            else:
                self.driver()
                if usable:
                    self.gpus()
                    self.computing(_COMPUTING)
                    if "workers" in self.checks:
                        self.workers()
                    self.peer_copies()
                    self.all_reduce()
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as fault:  # a document that was cut or written by hand
            self.tell("payload", "crashed", "check-crashed", why=f"{type(fault).__name__}: {fault}")
        return Verdict(level, self.outcomes, self.measured(), self.lang)

    def measured(self) -> dict[str, Any]:
        """What was measured, without the outcomes that the verdict has already."""
        kept = {name: self.document.get(name) for name in ("python", "host", "environment", "seconds")}
        return kept | {name: each.get("data") for name, each in self.checks.items() if each.get("data")}

    def python(self) -> None:
        held = self.document.get("python") or {}
        found = str(held.get("version") or "")
        wanted = str(self.choices.get("python") or "")
        if not found or not wanted:
            return
        same = found.split(".")[:2] == wanted.split(".")[:2]
        self.tell("python", "ok" if same else "wrong", "python" if same else "python-wrong", found=found, wanted=wanted,
                  executable=held.get("executable"), see="" if same else "wrong-python-env")

    def torch(self) -> bool:
        """Whether torch can be used at all."""
        if self.passed_over("torch"):
            return False
        data = self.checks["torch"]["data"]
        if not data.get("imported"):
            why = str(data.get("error"))
            if "No module named 'torch'" in why:
                self.tell("torch", "wrong", "torch-absent", see="wrong-python-env",
                          executable=(self.document.get("python") or {}).get("executable"))
            else:
                self.tell("torch", "wrong", "torch-import", why=why, see=_known_error(why))
            return False
        found, wanted = str(data.get("version")), str(self.choices.get("torch") or self.expect.get("torch") or "")
        same = not wanted or _same_version(found, wanted)
        self.tell("torch", "ok" if same else "wrong", "torch" if same else "torch-version", found=found, wanted=wanted)
        cuda, build = data.get("cuda"), str(self.choices.get("cuda") or "")
        if self.cpu:
            if cuda is None:
                self.tell("torch-build", "ok", "build-cpu")
            else:
                self.tell("torch-build", "wrong", "build-wrong", found=cuda, wanted="cpu")
        elif cuda is None:
            self.tell("torch-build", "wrong", "build-not-cuda", wanted=build, see="cpu-only-wheel")
        else:
            same = _starts(str(cuda), build)
            self.tell("torch-build", "ok" if same else "wrong", "build" if same else "build-wrong", found=cuda, wanted=build)
            self.library("cudnn", "cuDNN", data.get("cudnn"), str(data.get("cudnn_error") or ""), "cudnn-version-mix")
            self.library("nccl", "NCCL", data.get("nccl"), "", "nccl-version-mix")
        return True

    def library(self, key: str, name: str, found: str | None, error: str, see: str) -> None:
        wanted = str(self.expect.get(key) or self.choices.get(key) or "")
        if error:
            self.tell(key, "wrong", "library-error", name=name, why=error, see=see, todo="library-wrong-todo")
        elif not found or not wanted:
            if wanted:
                self.tell(key, "skipped", "library-unknown", name=name)
        elif _starts(wanted, found) or _starts(found, wanted):
            self.tell(key, "ok", "library", name=name, found=found)
        else:
            self.tell(key, "wrong", "library-wrong", name=name, found=found, wanted=wanted, see=see)

    def packages(self) -> None:
        wanted: dict[str, Any] = self.choices.get("packages") or {}
        if not wanted or self.passed_over("packages"):
            return
        told = self.checks["packages"]["data"].get("packages") or {}
        for name, version in wanted.items():
            entry = told.get(name) or {}
            found = entry.get("version")
            if not found:
                self.tell("packages", "wrong", "package-absent", name=name, wanted=version, todo="package-wrong-todo")
            elif version and not _same_version(found, str(version)):
                self.tell("packages", "wrong", "package-wrong", name=name, found=found, wanted=version)
            elif entry.get("imported") is False:
                why = str(entry.get("error"))
                see = "torchvision-mismatch" if name == "torchvision" else _known_error(why) or "ext-abi-mismatch"
                self.tell("packages", "wrong", "package-broken", name=name, found=found, why=why, see=see)
            else:
                self.tell("packages", "ok", "package", name=name, found=found)

    def driver(self) -> None:
        module, nvml, pci = self.data("driver-module"), self.data("nvml"), self.data("pci")
        cards = (pci or {}).get("devices") or []
        sees = bool((self.data("devices") or {}).get("gpus"))
        wsl = bool(module and module.get("wsl")) or self.kind == "wsl"
        found = str((nvml or {}).get("driver") or (not wsl and module and (module.get("module") or module.get("proc"))) or "")
        if self.checks.get("driver-module", {}).get("outcome") == "crashed":
            self.passed_over("driver-module")
        elif not found and not nvml and not sees and not (module and (module.get("module") or module.get("proc"))):
            if self.kind == "container":
                self.tell("driver", "wrong", "no-gpu-container", see="container-gpu-not-requested")
            elif cards:
                self.tell("driver", "wrong", "driver-missing", devices=", ".join(f"10de:{each}" for each in cards[:8]), see="driver-missing")
            else:
                self.tell("driver", "wrong", "no-gpu", see="no-nvidia-gpu")
            return
        else:
            self.driver_version(found)
            flavour, wanted = (module or {}).get("flavour"), self.choices.get("driver_flavour")
            if flavour and wanted and flavour != wanted and self.kind == "host":
                self.tell("driver-flavour", "wrong", "driver-flavour", found=flavour, wanted=wanted, todo="driver-wrong-todo")
        if "nvml" in self.checks and self.kind != "jetson":  # a Jetson's driver has none, or half of one
            self.nvml(nvml, bool(module and module.get("module")))
        if "driver-api" in self.checks and (self.checks["driver-api"]["because"] == "no-driver" or not self.passed_over("driver-api")):
            self.driver_api()

    def driver_version(self, found: str) -> None:
        wanted = str(self.choices.get("driver") or "")
        if not found:
            return
        if not wanted:
            self.tell("driver", "ok", "driver-any", found=found)
        else:
            same = _numbers(found) == _numbers(wanted)
            self.tell("driver", "ok" if same else "wrong", "driver" if same else "driver-wrong", found=found, wanted=wanted)

    def nvml(self, nvml: dict[str, Any] | None, loaded: bool) -> None:
        if nvml is None:
            if self.checks["nvml"]["because"] == "no-driver":
                see = "driver-lib-mismatch-no-reboot" if loaded else "driver-missing"
                see = "container-gpu-not-requested" if self.kind == "container" else see
                self.tell("nvml", "wrong", "nvml-absent", see=see, todo="nvml-error-todo")
            else:
                self.passed_over("nvml")
        elif nvml.get("error") == 18:
            self.tell("nvml", "wrong", "nvml-mismatch", see="driver-lib-mismatch-no-reboot")
        elif nvml.get("error") or any(each.get("error") for each in nvml.get("gpus") or ()):
            number = nvml.get("error") or next(each["error"] for each in nvml["gpus"] if each.get("error"))
            self.tell("nvml", "wrong", "nvml-error", number=number, see=_NVML.get(number, ""))
        else:
            self.tell("nvml", "ok", "nvml")

    def driver_api(self) -> None:
        data = self.data("driver-api")
        if data is None:
            return  # no library: told by nvml
        if data.get("error"):
            self.tell("driver-api", "wrong", "api-error", number=data["error"], see=_CUDA.get(data["error"], ""))
        else:
            self.tell("driver-api", "ok", "api", found=data.get("cuda"))

    def gpus(self) -> None:
        if self.passed_over("devices"):
            return
        data = self.checks["devices"]["data"]
        found = data.get("gpus") or []
        if not found:
            if any(each.name == "driver" and each.outcome == "wrong" for each in self.outcomes):
                self.tell("devices", "skipped", "no-device")
                return
            why = data.get("error") or "; ".join(data.get("warnings") or ()) or "-"
            self.tell("devices", "wrong", "gpus-none", why=why, see=_known_error(str(why)))
            return
        shown = ", ".join(f"{each['name']} ({_sm(each)})" for each in found)
        wanted = [str(each) for each in self.choices.get("gpus") or ()]
        missing = sorted(set(wanted) - {_sm(each) for each in found})
        if missing:
            self.tell("devices", "wrong", "gpus-missing", wanted=", ".join(wanted), found=shown, see="visible-devices-mask")
        else:
            self.tell("devices", "ok", "gpus", found=shown)
        self.code(found)

    def code(self, gpus: list[dict[str, Any]]) -> None:
        """Whether torch has kernels for each GPU: a cubin runs on the same major from its minor on, PTX from its capability on."""
        archs = [str(each) for each in (self.data("torch") or {}).get("arch_list") or ()]
        if not archs:
            self.tell("gpu-code", "skipped", "code-unknown")
            return
        seen = set()
        for gpu in gpus:
            major, minor = (int(each) for each in gpu["capability"])
            if (gpu["name"], major, minor) in seen:
                continue
            seen.add((gpu["name"], major, minor))
            cubins = [each for each in archs if each.startswith("sm_") and (number := _capability(each)) and number[0] == major
                      and number[1] <= minor and (each[-1].isdigit() or number == (major, minor) or each[-1] == "f")]
            ptx = [each for each in archs if each.startswith("compute_") and each[-1].isdigit() and _capability(each) <= (major, minor)]
            values = {"name": gpu["name"], "sm": f"sm_{major}{minor}", "archs": ", ".join(archs)}
            if cubins:
                self.tell("gpu-code", "ok", "code", how=say(self.lang, "code-cubin", arch=max(cubins, key=_capability)), **values)
            elif ptx:
                self.tell("gpu-code", "ok", "code", how=say(self.lang, "code-ptx", arch=max(ptx, key=_capability)), **values)
            else:
                newest = max(_capability(each) for each in archs)
                see = "arch-too-new-for-wheel" if (major, minor) > newest else "arch-too-old-for-wheel"
                self.tell("gpu-code", "wrong", "code-none", see=see, **values)

    def computing(self, names: tuple[str, ...]) -> None:
        for name in names:
            if self.passed_over(name):
                continue
            if not self.checks[name]["data"].get("devices"):
                self.tell(name, "crashed", "check-missing")
            for entry in self.checks[name]["data"].get("devices") or ():
                device = str(entry.get("device"))
                if entry.get("outcome") == "skipped":
                    reason = str(entry.get("because"))
                    self.tell(name, "skipped", reason if has(reason) else "not-available", device=device)
                elif entry.get("outcome") != "ran":
                    why = str(entry.get("because"))
                    self.tell(name, "wrong", "device-crashed", device=device, why=why, see=_known_error(why), todo="check-crashed-todo")
                else:
                    self.computed(name, device, entry)

    def computed(self, name: str, device: str, entry: dict[str, Any]) -> None:
        """One check's numbers on one device."""
        deviation, wrong = float(entry.get("deviation") or 0.0), int(entry.get("wrong") or 0)
        if not deviation <= 1.0:
            self.tell(name, "wrong", "deviation", device=device, times=f"{deviation:.3g}", todo="computing-todo")
        elif wrong:
            self.tell(name, "wrong", "burn-wrong" if name == "burn" else "values", device=device, wrong=wrong, todo="computing-todo")
        elif name == "training":
            first, last = float(entry["first"]), float(entry["last"])
            if entry.get("finite") and last < first / 5:
                self.tell(name, "ok", "training" if entry.get("autocast") else "training-cpu", device=device)
            else:
                self.tell(name, "wrong", "training-wrong", device=device, first=f"{first:.4g}", last=f"{last:.4g}", todo="computing-todo")
        else:
            numbers = ", ".join(f"{key.rsplit('_', 1)[0].replace('_', ' ')} {value} {_UNITS.get(key.rsplit('_', 1)[1], '')}"
                                for key, value in entry.items() if key.endswith(("_tflops", "_gbs")))
            self.tell(name, "ok", name, device=device, size=int(entry.get("bytes") or 0) >> 20, kinds=", ".join(entry.get("kinds") or ()),
                      numbers=numbers, rounds=entry.get("rounds"))

    def workers(self) -> None:
        if self.passed_over("workers"):
            return
        data = self.checks["workers"]["data"]
        if data.get("complete"):
            self.tell("workers", "ok", "workers")
        else:
            self.tell("workers", "wrong", "workers-wrong", rows=data.get("rows"), see="shm-too-small")

    def peer_copies(self) -> None:
        if self.passed_over("peer-copies"):
            return
        pairs = self.checks["peer-copies"]["data"].get("pairs") or []
        bad = [each for each in pairs if each.get("outcome") != "ran" or each.get("wrong")]
        if bad:
            told = ", ".join(f"{each['from']}→{each['to']}" for each in bad[:12])
            self.tell("peer-copies", "wrong", "peer-copies-wrong", pairs=told, see="nccl-p2p-hang")
        else:
            self.tell("peer-copies", "ok", "peer-copies", count=len(pairs))

    def all_reduce(self) -> None:
        if self.passed_over("all-reduce"):
            return
        data = self.checks["all-reduce"]["data"]
        ranks = data.get("ranks") or []
        crashed = [each for each in ranks if each.get("outcome") != "ran"]
        bad = [each for each in ranks if each.get("wrong")]
        if crashed:
            why = str(crashed[0].get("because"))
            self.tell("all-reduce", "wrong", "device-crashed", device=f"rank {crashed[0].get('rank')}", why=why, todo="check-crashed-todo",
                      see=_known_error(why) or "nccl-p2p-hang")
        elif bad or not ranks:
            self.tell("all-reduce", "wrong", "all-reduce-wrong", ranks=", ".join(str(each.get("rank")) for each in bad), see="nccl-p2p-hang")
        else:
            self.tell("all-reduce", "ok", "all-reduce", world=data.get("world"), speed=min(each.get("bus_gbs", 0) for each in ranks))


_UNITS = {"tflops": "TFLOP/s", "gbs": "GB/s"}
#: NVML's and CUDA's own error numbers (nvml.h, cuda.h) that one cause stands behind.
_NVML = {9: "driver-missing", 15: "xid-79-fallen-off-bus", 18: "driver-lib-mismatch-no-reboot"}
_CUDA = {3: "nvidia-uvm-not-usable", 46: "device-busy", 100: "visible-devices-mask", 802: "fabric-manager-not-ready",
         803: "driver-lib-mismatch-no-reboot", 804: "container-compat-lib-shadow", 999: "nvidia-uvm-not-usable"}
#: Words of an error that one cause stands behind; everything else is for `provision explain`, which reads more than one line.
_ERRORS = (
    ("no kernel image", "arch-too-old-for-wheel"), ("driver on your system is too old", "driver-too-old-for-wheel"),
    ("out of memory", "oom-genuine"), ("fallen off the bus", "xid-79-fallen-off-bus"), ("shared memory", "shm-too-small"),
    ("bus error", "shm-too-small"), ("torch not compiled with cuda", "cpu-only-wheel"), ("undefined symbol", "ext-abi-mismatch"),
    ("iJIT_NotifyEvent", "mkl-symbol-removed"), ("glibc_", "glibc-or-libstdcxx-too-old"), ("glibcxx_", "glibc-or-libstdcxx-too-old"),
    ("system not yet initialized", "fabric-manager-not-ready"), ("cannot open shared object", "runtime-lib-not-on-path"),
    ("found no nvidia driver", "driver-missing"), ("no cuda-capable device", "visible-devices-mask"),
    ("no cuda gpus are available", "visible-devices-mask"), ("_array_api", "numpy2-abi"),
)


def _checked(check: dict[str, Any]) -> dict[str, Any]:
    """A check's entry with the shape that it should have."""
    data = check.get("data")
    outcome = check.get("outcome") if check.get("outcome") in ("ran", "skipped", "crashed") else "crashed"
    return {"name": str(check.get("name")), "outcome": outcome, "because": str(check.get("because") or ""),
            "seconds": check["seconds"] if isinstance(check.get("seconds"), (int, float)) else 0.0, "data": data if isinstance(data, dict) else {}}


def _known_error(text: str) -> str:
    low = text.lower()
    return next((code for words, code in _ERRORS if words.lower() in low), "")


def _sm(gpu: dict[str, Any]) -> str:
    return f"sm_{gpu['capability'][0]}{gpu['capability'][1]}"


def _capability(arch: str) -> tuple[int, int]:
    """`sm_120`, `compute_90a` -> (12, 0), (9, 0)."""
    digits = "".join(each for each in arch.split("_", 1)[1] if each.isdigit())
    return int(digits[:-1]), int(digits[-1])


def _numbers(version: str) -> list[int]:
    return [int(each) for each in version.split(".") if each.isdigit()]


def _starts(longer: str, shorter: str) -> bool:
    """Whether the shorter version is the beginning of the longer: 9.7.1.26 begins with 9.7.1."""
    one, two = longer.split("."), shorter.split(".")
    return bool(shorter) and one[:len(two)] == two


def _same_version(found: str, wanted: str) -> bool:
    """Equal versions; labels (+cu128) have to agree only where both carry one: conda's builds carry none."""
    one, two = found.split("+", 1), wanted.split("+", 1)
    if _plain(one[0]) != _plain(two[0]):
        return False
    return len(one) == 1 or len(two) == 1 or one[1].split(".")[0] == two[1].split(".")[0]


def _plain(version: str) -> list[str]:
    parts = version.split(".")
    while len(parts) > 1 and parts[-1] == "0":
        parts.pop()
    return parts
