"""The answer of `provision matrix` written down: text, JSON, CSV, Markdown; in English and Simplified Chinese."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from provisioner.catalog.ask import Fact, Left, Matrix, Row


def render_matrix(found: Matrix, form: str, lang: str = "en") -> str:
    """`found` as text, json, csv or markdown, ending in a line break. JSON and CSV are the same in every language."""
    if form == "json":
        return _json(found)
    if form == "csv":
        return _csv(found)
    return _document(found, markdown=form == "markdown", chinese=lang == "zh")


def span(versions: tuple[str, ...]) -> str:
    """("3.9", "3.10", "3.11") -> "3.9-3.11"; what has gaps is listed."""
    lows = [int(each.rpartition(".")[2]) if each.rpartition(".")[2].isdigit() else -1 for each in versions]
    if len(versions) < 3 or lows != list(range(lows[0], lows[0] + len(lows))):
        return ", ".join(versions)
    return f"{versions[0]}-{versions[-1]}"


# -- for programs ------------------------------------------------------------------------------------------------------


def _facts(found: Matrix, facts: tuple[Fact, ...]) -> list[dict[str, Any]]:
    """Facts with their sources."""
    told = []
    for table, key in facts:
        row = found.catalog.row(table, *key)
        if row is not None:
            told.append({"table": table, "row": " ".join(str(part) for part in key if part not in ("", (), None)),
                         "source": found.catalog.cite(row), "date": row.date, "confidence": row.confidence,
                         **({"overlay": True} if found.catalog.from_overlay(table, row) else {})})
    return told


def _row(found: Matrix, row: Row) -> dict[str, Any]:
    made = {name: list(value) if isinstance(value, tuple) else value for name, value in row._asdict().items() if name != "facts"}
    return {**made, "why": _facts(found, row.facts)} if found.why else made


def _json(found: Matrix) -> str:
    import json

    about = [{**{name: value for name, value in each.items() if name != "facts"},
              **({"why": _facts(found, each["facts"])} if found.why else {})} for each in found.about]
    left = [{"torch": each.torch, "build": each.build, "platform": each.platform, "channel": each.channel,
             "reason": reason(each.reason, chinese=False), **({"why": _facts(found, each.facts)} if found.why else {})}
            for each in found.left]
    document = {"catalog": {"version": found.catalog.version, "digest": found.catalog.digest}, "asked": found.asked, "about": about,
                "rows": [_row(found, row) for row in found.rows], "does_not_work": left,
                "nearest": [_row(found, row) for row in found.nearest]}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


_COLUMNS = ("torch", "build", "cuda", "platform", "channel", "works", "gpus", "pythons", "driver", "driver_min", "driver_full",
            "driver_last", "branches", "flavours", "glibc", "cudnn", "nccl", "triton", "torchvision", "torchaudio", "sm", "ptx",
            "default", "index_url", "install")


def _csv(found: Matrix) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(("sources",) if found.why else ())])
    for row in found.rows:
        cells = [_cell(getattr(row, name)) for name in _COLUMNS]
        if found.why:
            cells.append(" | ".join(dict.fromkeys(each["source"] for each in _facts(found, row.facts))))
        writer.writerow(cells)
    return out.getvalue()


def _cell(value: Any) -> str:
    """A value in one cell: lists joined by ";", false as nothing."""
    if isinstance(value, dict):
        return ";".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, tuple):
        return ";".join(str(each) for each in value)
    return "" if value is None or value is False else "yes" if value is True else str(value)


# -- for people --------------------------------------------------------------------------------------------------------

_WORDS = {
    "torch": ("torch", "torch"), "build": ("build", "构建"), "platform": ("platform", "平台"), "channel": ("from", "来源"),
    "python": ("Python", "Python"), "gpu": ("GPU code", "GPU 代码"), "driver": ("driver", "驱动"), "cudnn": ("cuDNN", "cuDNN"),
    "pair": ("torchvision", "torchvision"), "sources": ("sources", "依据"), "works": ("works", "可用"),
    "cubin": ("built in", "内置"), "ptx": ("PTX", "PTX"), "unknown": ("unknown", "未知"), "none": ("none", "无"),
    "full": ("full", "完全支持"), "minor": ("minor-version", "次版本兼容"), "forward": ("with cuda-compat", "需 cuda-compat"),
    "default": ("* what the package index serves without an index URL", "* 软件包索引在不指定索引地址时提供的构建"),
    "ptx-note": ("PTX is compiled by the driver at the first start, which takes minutes once",
                 "PTX 由驱动在首次启动时编译,只慢一次,需几分钟"),
    "unlisted": ("not listed", "未列出"),
    "unlisted-note": ("not listed: the driver is older than the first of its branch that lists the GPU; it may serve it or not",
                      "未列出:此驱动早于同分支中首个列出该 GPU 的版本;可能支持,也可能不支持"),
    "unknown-note": ("unknown: nobody has published what GPU code this build holds", "未知:没有人公布此构建包含哪些 GPU 代码"),
    "minor-note": ("minor-version: works by CUDA's minor-version compatibility, without PTX",
                   "次版本兼容:依靠 CUDA 次版本兼容性运行,不能编译 PTX"),
    "left": ("Does not work", "不可用"),
    "nothing": ("No build of torch works with all of this.", "没有任何 torch 构建能同时满足这些条件。"),
    "nearest": ("Nearest that works", "最接近的可用组合"), "source-list": ("Sources", "来源"),
    "more": ("and {count} more", "以及另外 {count} 个"),
    "asked": ("Asked", "查询"), "last": ("to branch {last}", "至 {last} 分支"),
}

#: reason -> its text; the places are filled with what follows the reason's word
_REASONS = {
    "python": ("no wheel for Python {0} (has {1})", "没有 Python {0} 的 wheel(仅有 {1})"),
    "glibc": ("needs glibc {0}; {1} has {2}", "需要 glibc {0};{1} 只有 {2}"),
    "code": ("no code for {0} ({1})", "没有 {0}({1})的 GPU 代码"),
    "cudnn": ("its cuDNN {0} does not serve {1} ({2})", "其 cuDNN {0} 不支持 {1}({2})"),
    "driver-gpu": ("driver {0} does not serve {1}", "驱动 {0} 不支持 {1}"),
    "driver-modules": ("driver {0} has no kernel modules that serve {1}", "驱动 {0} 没有支持 {1} 的内核模块"),
    "driver-cuda": ("driver {0} is below the floor of CUDA {1} ({2})", "驱动 {0} 低于 CUDA {1} 的下限({2})"),
    "driver-ptx": ("driver {0} cannot compile PTX of CUDA {1} (branch {2} can)", "驱动 {0} 不能编译 CUDA {1} 的 PTX({2} 分支可以)"),
    "gpu-branches": ("no driver branch serves both CUDA {0} and {1}", "没有驱动分支同时支持 CUDA {0} 和 {1}"),
    "modules": ("no kernel-module flavour serves all of {0}", "没有一种内核模块能支持全部:{0}"),
    "not-offered": ("{0} offers no driver for CUDA {1} and these GPUs", "{0} 没有提供适合 CUDA {1} 和这些 GPU 的驱动"),
    "no-driver": ("no driver serves CUDA {0}", "没有驱动支持 CUDA {0}"),
}


def reason(told: tuple[str, ...], chinese: bool) -> str:
    """Why a build does not work, in words."""
    text = _REASONS[told[0]][int(chinese)].format(*told[1:])
    for name in told[1:]:
        text = text.replace(f"{name} ({name})", name).replace(f"{name}({name})", name)  # a GPU that is named by its capability
    return text


def _width(text: str) -> int:
    """Columns on a terminal: a wide character takes two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


class _Notes:
    """Sources by number, in the order in which they are first named."""

    def __init__(self, found: Matrix) -> None:
        self.found, self.numbers = found, dict[str, int]()

    def __call__(self, facts: tuple[Fact, ...]) -> str:
        told = []
        for each in _facts(self.found, facts):
            text = f"{each['source']} ({each['confidence']}, {each['date']})"
            told.append(self.numbers.setdefault(text, len(self.numbers) + 1))
        return ",".join(str(number) for number in sorted(set(told)))


def _document(found: Matrix, markdown: bool, chinese: bool) -> str:
    def word(name: str, **values: object) -> str:
        return _WORDS[name][int(chinese)].format(**values)

    notes = _Notes(found)
    out: list[str] = []
    for each in found.about:
        text = _about(each, chinese) + (f" [{notes(each['facts'])}]" if found.why else "")
        out.append(f"- {text}" if markdown else text)
    if out:
        out.append("")
    if found.rows:
        out += _table(found, found.rows, notes, word, markdown)
        legend = _legend(found.rows, word)
        out += ["", *legend] if legend else []
    else:
        out.append(word("nothing"))
        if found.nearest:
            out += ["", word("nearest") + ":", *([""] if markdown else []), *_table(found, found.nearest, notes, word, markdown)]
    groups = _grouped(found.left, chinese)
    if groups and (found.asked.get("torch") or not found.rows or found.why):
        out += ["", word("left") + ":", *([""] if markdown else [])]
        out += [f"{'- ' if markdown else '  '}{text}: {_some(names, word)}" for text, names in groups.items()]
    if found.why and notes.numbers:
        out += ["", word("source-list") + ":", *([""] if markdown else [])]
        out += [f"{number}. {text}" if markdown else f"  [{number}] {text}" for text, number in notes.numbers.items()]
    return "\n".join(out).rstrip() + "\n"


def _grouped(left: tuple[Left, ...], chinese: bool) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for each in left:
        where = [*([_platform(each)] if each.platform != "linux_x86_64" else []), *([each.channel] if each.channel != "pip" else [])]
        name = f"{each.torch} {each.build}" + (f" ({', '.join(where)})" if where else "")
        groups.setdefault(reason(each.reason, chinese), []).append(name)
    return groups


def _some(names: list[str], word: Any, most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, {word('more', count=len(names) - most)}"


def _platform(row: Any) -> str:
    names = {"linux_x86_64": "Linux x86_64", "linux_aarch64": "Linux aarch64", "win_amd64": "Windows", "win_arm64": "Windows arm64",
            "macos_arm64": "macOS arm64", "macos_x86_64": "macOS x86_64"}
    return names.get(row.platform) or row.platform.replace("jetpack-", "JetPack ")


def _legend(rows: tuple[Row, ...], word: Any) -> list[str]:
    told = [word("default")] if any(row.default for row in rows) else []
    told += [word("ptx-note")] if any("ptx" in row.gpus.values() for row in rows) else []
    told += [word("unknown-note")] if any("unknown" in row.gpus.values() or (row.cuda and row.sm is None) for row in rows) else []
    told += [word("unlisted-note")] if any(row.driver == "unlisted" for row in rows) else []
    return told + ([word("minor-note")] if any(row.driver == "minor" for row in rows) else [])


def _table(found: Matrix, rows: tuple[Row, ...], notes: _Notes, word: Any, markdown: bool) -> list[str]:
    """Columns that say something for any of the rows."""
    def code(row: Row) -> str:
        if row.gpus:
            return ", ".join(dict.fromkeys(word(each) for each in row.gpus.values()))
        if not row.cuda:
            return "-"
        if row.sm is None:
            return str(word("unknown"))
        return " ".join([*map(str, row.sm), *(f"{each}+PTX" for each in row.ptx or ())])

    def driver(row: Row) -> str:
        if row.driver:
            return str(word(row.driver))
        if not row.driver_min:
            return "-"
        last = row.branches[-1] if row.branches and row.branches[-1] not in newest else ""
        return f">={row.driver_min}" + (f" {word('last', last=last)}" if last else "")

    newest = {max((each.branch for each in found.catalog.driver_branches if each.windows_numbers or not windows), key=int, default="")
              for windows in (False, True)}
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("torch", lambda row: row.torch + ("*" if row.default else "")), ("build", lambda row: row.build), ("platform", _platform),
        ("channel", lambda row: row.channel), ("python", lambda row: span(row.pythons)), ("gpu", code), ("driver", driver),
        ("cudnn", lambda row: row.cudnn or ("-" if not row.cuda else "?")), ("pair", lambda row: row.torchvision or "-")]
    if found.why:
        columns.append(("sources", lambda row: notes(row.facts)))
    cells = [[word(name) for name, _ in columns]] + _merged([[make(row) for _, make in columns] for row in rows])
    keep = [index for index, (name, _) in enumerate(columns)
            if any(line[index] not in ("-", "", "pip" if name == "channel" else "") for line in cells[1:])]
    cells = [[line[index] for index in keep] for line in cells]
    widths = [max(_width(line[index]) for line in cells) for index in range(len(keep))]

    def padded(line: list[str]) -> list[str]:
        return [cell + " " * (widths[index] - _width(cell)) for index, cell in enumerate(line)]

    if markdown:
        told = ["| " + " | ".join(padded(line)) + " |" for line in cells]
        return [told[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *told[1:]]
    return ["  ".join(padded(line)).rstrip() for line in cells]


def _merged(lines: list[list[str]]) -> list[list[str]]:
    """Lines that differ only in the platform, as one."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        merged.setdefault((*line[:2], *line[3:]), []).append(line[2])
    return [[*rest[:2], ", ".join(places).replace("Linux x86_64, Linux aarch64", "Linux x86_64 aarch64"), *rest[2:]]
            for rest, places in merged.items()]


def _about(each: dict[str, Any], chinese: bool) -> str:
    """What the catalogue says of a thing that was asked for, in a line."""
    def ends(first: str, last: str) -> str:
        return f"{first or '…'}-{last}" if last else f"{first or '…'}+"

    if each["kind"] == "gpu":
        modules = {"required": ("open kernel modules only", "只能用开放内核模块"),
                   "supported": ("open or proprietary kernel modules", "开放或专有内核模块"),
                   "unsupported": ("proprietary kernel modules only", "只能用专有内核模块"),
                   "none": ("driver of its own system", "驱动随系统提供")}
        drivers = []
        if each["first_driver"]:
            drivers.append(f"{'驱动首见于' if chinese else 'first listed in driver'} {each['first_driver']}")
        if each["last_branch"]:
            drivers.append(f"{'最后支持的分支' if chinese else 'last branch'} {each['last_branch']}")
        if each["forward_compat"]:
            drivers.append("可用 cuda-compat" if chinese else "may use cuda-compat")
        name = each["name"] if each["name"] == each["capability"] else f"{each['name']}: {each['capability']}"
        return ", ".join([f"{name} ({each['architecture']})", modules[each["open_modules"]][int(chinese)], *drivers])
    if each["kind"] == "driver":
        end = each["end_of_life"] or ("未公布" if chinese else "not stated")
        return (f"驱动 {each['driver']}:{each['branch']} 分支({each['type']}),最高 CUDA {each['cuda']},支持到 {end}" if chinese else
                f"driver {each['driver']}: branch {each['branch']} ({each['type']}), CUDA up to {each['cuda']}, end of life {end}")
    if each["kind"] == "cuda":
        own = ", ".join(f"{version} {drivers['min_driver_linux']}" for version, drivers in each["toolkits"].items()
                        if drivers["min_driver_linux"])
        text = (f"CUDA {each['cuda']}:驱动下限 Linux {each['min_driver_linux']}、Windows {each['min_driver_windows']}(同主版本),"
                f"完全支持自 {each['full_branch']} 分支" if chinese else
                f"CUDA {each['cuda']}: any driver from {each['min_driver_linux']} (Linux) or {each['min_driver_windows']} (Windows) by "
                f"minor-version compatibility, in full from branch {each['full_branch']}")
        text += (f";工具包自身的驱动:{own}" if chinese else f"; the toolkits' own drivers: {own}") if own else ""
        return text + (f"; gcc ≤ {each['gcc']}" if each["gcc"] else "")
    def offers(rows: list[dict[str, Any]]) -> str:
        """What is on offer, by architecture where that matters."""
        by_arch: dict[str, list[str]] = {}
        for row in rows:
            only = " (open)" if row.get("flavours") == ("open",) else ""
            by_arch.setdefault(row["arch"], []).append(f"{row.get('origin', '')} {ends(row['first'], row['last'])}{only}".strip())
        told = {arch: ", ".join(texts) for arch, texts in by_arch.items()}
        return next(iter(told.values())) if len(set(told.values())) == 1 else "; ".join(f"{arch}: {text}" for arch, text in told.items())

    sources, kits = offers(each["drivers"]), offers(each["toolkits"])
    parts = [f"glibc {each['glibc']}" if each["glibc"] else "", f"gcc {each['gcc']}" if each["gcc"] else "",
             f"Python {each['python']}" if each["python"] else "",
             f"{'驱动' if chinese else 'drivers'} {sources}" if sources else "",
             f"{'工具包' if chinese else 'toolkits'} {kits}" if kits else ""]
    return f"{each['name']} ({each['id']}): " + ", ".join(part for part in parts if part)
