"""The words of the command line in English and Simplified Chinese, and which of the two a user reads."""

from __future__ import annotations

import os

LANGUAGES = ("en", "zh")


def language(wanted: str | None) -> str:
    """`wanted` when given, else what the locale says (LC_ALL, LC_MESSAGES, LANG), else English."""
    if wanted:
        return wanted
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def say(lang: str, name: str, **values: object) -> str:
    """The message `name` in `lang`, with its values filled in."""
    english, chinese = _MESSAGES[name]
    return (chinese if lang == "zh" else english).format(**values)


_MESSAGES: dict[str, tuple[str, str]] = {
    "error": ("error", "错误"),
    "because": ("because", "原因"),
    "todo": ("to do", "怎么办"),
    "bug": (
        "this is a fault of provision itself, not of your input: {what}",
        "这是 provision 自身的缺陷，与您的输入无关：{what}",
    ),
    "bug-todo": (
        "run again with PROVISION_DEBUG=1 for the full trace, and report it with the file that led to it",
        "请设置 PROVISION_DEBUG=1 重新运行以获得完整跟踪信息，并连同引发问题的文件一起报告",
    ),
    "interrupted": ("interrupted; nothing half-written was left", "已中断；没有留下写到一半的文件"),
    "wrote": ("wrote {path}", "已写入 {path}"),
    "unchanged": ("{path} is up to date", "{path} 已是最新"),
    "using-lock": ("using {path}", "使用 {path}"),
    "no-lock": ("there is no provision.lock here", "当前目录没有 provision.lock"),
    "no-lock-todo": (
        "run `provision plan SPEC` first, or name one with --lock PATH",
        "请先运行 `provision plan SPEC`，或用 --lock PATH 指定",
    ),
    "other-catalog": (
        "this lock was made by catalogue {theirs}; this is catalogue {ours}: `provision plan` may choose otherwise now",
        "此锁文件由兼容性目录 {theirs} 生成，当前目录版本为 {ours}：重新运行 `provision plan` 可能得到不同选择",
    ),
    "plan": ("Plan", "方案"),
    "fits": ("fits", "可行"),
    "target": ("target", "目标"),
    "gpus": ("GPUs", "显卡"),
    "none": ("none", "无"),
    "driver": ("driver", "驱动"),
    "toolkit": ("CUDA toolkit", "CUDA 工具包"),
    "cudnn": ("cuDNN", "cuDNN"),
    "nccl": ("NCCL", "NCCL"),
    "python": ("Python", "Python"),
    "torch": ("torch", "torch"),
    "index": ("index URL", "索引地址"),
    "packages": ("packages", "软件包"),
    "why": ("Why", "理由"),
    "warnings": ("Warnings", "警告"),
    "steps": ("Steps", "步骤"),
    "others": ("Other plans, next best first", "其他方案（由优到次）"),
    "next": ("Next", "下一步"),
    "next-render": (
        "provision render --target {os} --out out    (writes the install script)",
        "provision render --target {os} --out out    （生成安装脚本）",
    ),
    "refused": ("No consistent set exists", "不存在自洽的组合"),
    "conflict": ("These cannot all hold; take any one away and the rest can", "以下条件不能同时成立；去掉任意一条其余即可成立"),
    "line": ("line {line}", "第 {line} 行"),
    "your-spec": ("your spec", "您的配置"),
    "fact": ("fact", "事实"),
    "source": ("source", "来源"),
    "alternatives": ("Nearest ways out, cheapest first", "最近的出路（代价由小到大）"),
    "take": (
        "`provision plan {spec} --take 1` writes the first one into your spec",
        "`provision plan {spec} --take 1` 可把第一条写入您的配置",
    ),
    "taken": ("changed {path}: {change}", "已修改 {path}：{change}"),
    "no-such-alternative": ("there is no alternative {number}; there are {count}", "没有第 {number} 个替代方案；共有 {count} 个"),
    "take-fits": ("this spec fits as it is; there is nothing to take", "此配置本身可行，无需采用替代方案"),
    "frozen": ("{path} is not what this spec gives now", "{path} 与此配置当前的结果不一致"),
    "frozen-todo": (
        "look at `provision plan --diff {path}`, then run `provision plan` without --frozen",
        "请先查看 `provision plan --diff {path}`，再不带 --frozen 运行 `provision plan`",
    ),
    "no-findings": ("Nothing wrong was found.", "没有发现问题。"),
    "no-match": ("No known cause matches this text.", "没有已知原因与此文本匹配。"),
    "same": ("Nothing differs.", "没有差异。"),
    "reading-stdin": (
        "reading from the terminal; paste the text, then press Ctrl-D",
        "正在从终端读取；请粘贴文本，然后按 Ctrl-D",
    ),
}


def names() -> list[str]:
    """Every message's name."""
    return list(_MESSAGES)
