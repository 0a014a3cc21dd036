"""The judge: what the payload saw, held against the lock. Pure; a missing answer is a judgement, not a traceback."""

from __future__ import annotations

from typing import Any, NamedTuple

from provisioner.errors import OK, WRONG

OUTCOMES = ("ok", "wrong", "skipped", "crashed")


class Outcome(NamedTuple):
    """One judgement. outcome: ok, wrong, skipped, crashed."""

    id: str
    outcome: str
    text: str


class Verdict(NamedTuple):
    """All judgements, and what was tested."""

    outcomes: tuple[Outcome, ...]
    saw: dict[str, Any]

    @property
    def status(self) -> int:
        """0, or 4 when anything is wrong or crashed."""
        return WRONG if any(each.outcome in ("wrong", "crashed") for each in self.outcomes) else OK

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"status": "ok" if self.status == OK else "wrong", "checks": [each._asdict() for each in self.outcomes], "saw": self.saw}

    def junit(self) -> str:
        """As a JUnit report."""
        from xml.sax.saxutils import escape, quoteattr

        def text(value: str) -> str:
            return "".join(each if each.isprintable() or each == "\n" else "?" for each in value)

        counts = {name: sum(each.outcome == name for each in self.outcomes) for name in OUTCOMES}
        lines = ['<?xml version="1.0" encoding="UTF-8"?>',
                 f'<testsuite name="provision verify" tests="{len(self.outcomes)}" failures="{counts["wrong"]}" errors="{counts["crashed"]}" '
                 f'skipped="{counts["skipped"]}">']
        for each in self.outcomes:
            inner = {"ok": "", "wrong": f"<failure message={quoteattr(text(each.text))}/>", "crashed": f"<error message={quoteattr(text(each.text))}/>",
                     "skipped": f"<skipped message={quoteattr(text(each.text))}/>"}[each.outcome]
            lines.append(f"  <testcase name={quoteattr(each.id)}>{inner}<system-out>{escape(text(each.text))}</system-out></testcase>")
        return "\n".join([*lines, "</testsuite>", ""])


_WORDS: dict[str, tuple[str, str]] = {
    "driver": ("driver {found} is loaded", "已加载驱动 {found}"),
    "driver-other": ("driver {found} is loaded, the lock says {wanted}: reboot if it was just installed",
                     "已加载驱动 {found},锁文件为 {wanted}:若刚安装请重启"),
    "driver-none": ("no NVIDIA driver is loaded ({because})", "没有加载 NVIDIA 驱动({because})"),
    "torch": ("torch {found} is the lock's", "torch {found} 与锁文件一致"),
    "torch-other": ("torch is {found}, the lock says {wanted}", "torch 为 {found},锁文件为 {wanted}"),
    "torch-none": ("torch cannot be imported: {because}", "无法导入 torch:{because}"),
    "cuda-other": ("torch was built for CUDA {found}, the lock says {wanted}", "torch 为 CUDA {found} 构建,锁文件为 {wanted}"),
    "cuda-ok": ("torch was built for CUDA {found}", "torch 为 CUDA {found} 构建"),
    "cuda-cpu": ("this is the CPU build, as the lock says", "这是 CPU 版本,与锁文件一致"),
    "python": ("Python {found} is the lock's", "Python {found} 与锁文件一致"),
    "python-other": ("Python is {found}, the lock says {wanted}", "Python 为 {found},锁文件为 {wanted}"),
    "no-gpu": ("there is no NVIDIA GPU on this host: no driver is loaded and there is no device node", "本机没有 NVIDIA 显卡:没有加载驱动,也没有设备节点"),
    "unavailable": ("torch.cuda.is_available() is False although driver {driver} is loaded; `provision doctor` says why",
                    "驱动 {driver} 已加载,但 torch.cuda.is_available() 为 False;请用 `provision doctor` 查原因"),
    "init": ("CUDA cannot be initialised: {because}", "CUDA 无法初始化:{because}"),
    "available": ("torch sees {count} GPU(s): {names}", "torch 可见 {count} 块显卡:{names}"),
    "missing-gpu": ("the lock names {wanted}, torch sees {found}", "锁文件列出 {wanted},torch 可见 {found}"),
    "covered": ("the build has code for {sm} (in {archs})", "该构建包含 {sm} 的代码({archs})"),
    "uncovered": ("the build has no code for {sm}: its list is {archs}", "该构建没有 {sm} 的代码:其列表为 {archs}"),
    "cudnn": ("cuDNN {found} is the lock's", "cuDNN {found} 与锁文件一致"),
    "cudnn-other": ("cuDNN {found} is loaded, the wheel brings {wanted}: another one is on the library path",
                    "加载了 cuDNN {found},而 wheel 自带 {wanted}:库路径上有另一个"),
    "warning": ("torch warns: {text}", "torch 警告:{text}"),
    "check": ("{name}: {detail}", "{name}:{detail}"),
    "hung": ("the test gave no answer: {because}", "测试没有应答:{because}"),
}


def _say(lang: str, name: str, /, **values: object) -> str:
    return _WORDS[name][1 if lang == "zh" else 0].format(**values)


def judge(document: dict[str, Any], lock: dict[str, Any], *, lang: str = "en") -> Verdict:
    """Hold a payload's document against a lock."""
    choices: dict[str, Any] = lock.get("choices") or {}
    told: list[Outcome] = []

    def add(identifier: str, outcome: str, name: str, /, **values: object) -> None:
        told.append(Outcome(identifier, outcome, _say(lang, name, **values)))

    cpu = not choices.get("cuda")
    driver = document.get("driver") if isinstance(document.get("driver"), dict) else {}
    loaded = (driver or {}).get("version")
    devices = document.get("devices") or []
    torch = document.get("torch") if isinstance(document.get("torch"), dict) else None
    found_python = ".".join(str(document.get("python") or "").split(".")[:2])
    if choices.get("python"):
        same = found_python == str(choices["python"])
        add("python", "ok" if same else "wrong", "python" if same else "python-other", found=document.get("python"), wanted=choices["python"])
    if not cpu:
        _driver(add, choices, loaded, driver or {}, devices)
    if torch is None:
        because = document.get("import_error") or document.get("because") or "?"
        add("torch", "crashed" if document.get("hung") else "wrong", "hung" if document.get("hung") else "torch-none", because=because)
        return Verdict(tuple(told), document)
    version, wanted = str(torch.get("version")), str(choices.get("torch") or "")
    # The package index serves the same wheel without the local label, but torch itself still tells it.
    same = version.split("+")[0] == wanted.split("+")[0]
    add("torch", "ok" if same else "wrong", "torch" if same else "torch-other", found=version, wanted=wanted)
    if cpu:
        add("build", "ok" if not torch.get("cuda") else "wrong", "cuda-cpu" if not torch.get("cuda") else "cuda-other", found=torch.get("cuda") or "-",
            wanted="-")
    else:
        right = torch.get("cuda") == choices.get("cuda")
        add("build", "ok" if right else "wrong", "cuda-ok" if right else "cuda-other", found=torch.get("cuda") or "- (CPU)", wanted=choices.get("cuda"))
        _gpus(add, document, choices, loaded, devices)
        _cudnn(add, torch.get("cudnn"), choices.get("cudnn"))
    for check in document.get("checks") or []:
        outcome = check.get("outcome") if check.get("outcome") in OUTCOMES else "crashed"
        add(str(check.get("id")), str(outcome), "check", name=check.get("id"), detail=check.get("detail"))
    for text in document.get("warnings") or []:
        add("warning", "skipped", "warning", text=" ".join(str(text).split()))
    return Verdict(tuple(told), document)


def _driver(add: Any, choices: dict[str, Any], loaded: str | None, driver: dict[str, Any], devices: list[str]) -> None:
    if not loaded:
        add("driver", "wrong", "driver-none" if devices else "no-gpu", because=driver.get("because") or "?")
        return
    wanted = choices.get("driver")
    # In a container and in WSL the driver is the host's; the lock may not name it.
    same = not wanted or (choices.get("driver_source") == "preinstalled" and "WSL" in str(driver.get("from"))) or _same(str(loaded), str(wanted))
    add("driver", "ok" if same else "wrong", "driver" if same else "driver-other", found=loaded, wanted=wanted)


def _same(one: str, two: str) -> bool:
    from provisioner.versions import is_dotted, key

    return one == two or (is_dotted(one) and is_dotted(two) and key(one) == key(two))


def _gpus(add: Any, document: dict[str, Any], choices: dict[str, Any], loaded: str | None, devices: list[str]) -> None:
    if not document.get("available"):
        if loaded or devices:
            add("available", "wrong", "unavailable", driver=loaded or "?")
        else:
            add("available", "wrong", "no-gpu")
        return
    if document.get("init_error"):
        add("available", "wrong", "init", because=document["init_error"])
        return
    gpus = document.get("gpus") or []
    add("available", "ok" if gpus else "wrong", "available", count=len(gpus), names=", ".join(f"{gpu['name']} (sm_{gpu['sm']})" for gpu in gpus))
    seen = {f"sm_{gpu['sm']}" for gpu in gpus}
    missing = [sm for sm in choices.get("gpus") or [] if sm not in seen]
    if missing:
        add("gpus", "wrong", "missing-gpu", wanted=", ".join(choices["gpus"]), found=", ".join(sorted(seen)))
    archs = document.get("arch_list")
    for sm in sorted(seen) if archs else ():
        covered = _covered(int(sm[3:]), archs or [])
        add(f"code-{sm}", "ok" if covered else "wrong", "covered" if covered else "uncovered", sm=sm, archs=" ".join(archs or []))


def _covered(sm: int, archs: list[str]) -> bool:
    """A cubin of the same major with an equal or lower minor, or PTX of an equal or lower capability (CUDA's compatibility rules)."""
    for arch in archs:
        kind, _, number = str(arch).partition("_")
        number = number.rstrip("af")
        if number.isdigit() and ((kind == "sm" and int(number) // 10 == sm // 10 and int(number) <= sm) or (kind == "compute" and int(number) <= sm)):
            return True
    return False


def _cudnn(add: Any, found: Any, wanted: Any) -> None:
    """torch tells cuDNN as one number: 8902 is 8.9.2, 90100 is 9.1.0."""
    if not isinstance(found, int) or not wanted:
        return
    parts = (found // 10000, found // 100 % 100, found % 100) if found >= 90000 else (found // 1000, found // 100 % 10, found % 100)
    same = ".".join(str(wanted).split(".")[:3]) == ".".join(map(str, parts))
    add("cudnn", "ok" if same else "wrong", "cudnn" if same else "cudnn-other", found=".".join(map(str, parts)), wanted=wanted)


def format_text(verdict: Verdict, lang: str, paint: Any) -> str:
    """The verdict for people. paint(style, text) colours."""
    marks = {"ok": ("green", "ok"), "wrong": ("red", "WRONG"), "skipped": ("yellow", "note"), "crashed": ("red", "CRASHED")}
    if lang == "zh":
        marks = {"ok": ("green", "正常"), "wrong": ("red", "错误"), "skipped": ("yellow", "提示"), "crashed": ("red", "崩溃")}
    lines = []
    for each in verdict.outcomes:
        style, mark = marks[each.outcome]
        lines.append(f"  {paint(style, mark)}{' ' * max(1, 9 - len(mark) * (2 if lang == 'zh' else 1))}{each.text}")
    bad = sum(each.outcome in ("wrong", "crashed") for each in verdict.outcomes)
    if lang == "zh":
        lines.append(paint("bold", "全部正常。" if not bad else f"{bad} 项有问题。"))
    else:
        lines.append(paint("bold", "All is well." if not bad else f"{bad} of {len(verdict.outcomes)} checks found something wrong."))
    return "\n".join(lines) + "\n"
