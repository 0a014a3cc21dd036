"""What the spec room says, in English and Simplified Chinese."""

from __future__ import annotations

_WORDS: dict[str, tuple[str, str]] = {
    "empty": ("the spec is empty", "配置为空"),
    "empty-todo": ("write at least `spec: 1` and `target: ubuntu2204`; `provision init` writes one from this host",
                   "至少写上 `spec: 1` 与 `target: ubuntu2204`;`provision init` 可根据本机生成"),
    "missing-file": ("there is no file {path}", "文件 {path} 不存在"),
    "missing-todo": ("name a spec, or write one from this host with `provision init`", "请指定配置文件,或用 `provision init` 根据本机生成"),
    "near-files": ("did you mean {names}?", "您是否想用 {names}?"),
    "folder": ("{path} is a folder", "{path} 是目录"),
    "folder-todo": ("name a file in it", "请指定其中的文件"),
    "not-regular": ("{path} is not a regular file", "{path} 不是普通文件"),
    "unreadable": ("cannot read {path}", "无法读取 {path}"),
    "too-big": ("the spec is larger than 1 MiB", "配置文件超过 1 MiB"),
    "too-big-todo": ("a spec is a page of text; is this the right file?", "配置通常只有一页文字;文件是否选对了?"),
    "encoding": ("this is not UTF-8 text (byte {byte} of the file)", "这不是 UTF-8 文本(文件第 {byte} 字节)"),
    "encoding-todo": ("save the file as UTF-8; is it a text file?", "请把文件保存为 UTF-8;它是文本文件吗?"),
    "control": ("a control character ({char}) stands here", "此处有控制字符({char})"),
    "control-todo": ("remove it; is this a text file?", "请删除它;这是文本文件吗?"),
    "yaml": ("this is not YAML: {why}", "这不是合法的 YAML:{why}"),
    "quotes-todo": ("put the value in quotes: `{key}: \"{value}\"`", "请给值加引号:`{key}: \"{value}\"`"),
    "merge": ("merge keys (<<) are not allowed", "不允许使用合并键(<<)"),
    "pipe": ("nothing came through the pipe {path}", "管道 {path} 中没有数据"),
    "package-twice": ("{value} is the same package as another key here", "{value} 与此处另一个键是同一个软件包"),
    "documents": ("there is a second document in this file", "文件中有第二个文档"),
    "documents-todo": ("one file holds one spec: remove the `---` and what follows", "一个文件只放一份配置:请删除 `---` 及其后内容"),
    "not-mapping": ("the spec has to be a mapping of keys to values", "配置必须是键值映射"),
    "tag": ("the tag {tag} is not allowed", "不允许使用标签 {tag}"),
    "tag-todo": ("write the plain value", "请直接写值"),
    "alias": ("anchors and aliases (& and *) are not allowed", "不允许使用锚点与别名(& 和 *)"),
    "alias-todo": ("write the value out", "请把值完整写出"),
    "deep": ("this is nested more deeply than any spec is", "嵌套层数超过任何配置的需要"),
    "deep-todo": ("is this the right file?", "文件是否选对了?"),
    "key-type": ("a key has to be a text", "键必须是文本"),
    "duplicate": ("the key {key} is given twice (first on line {first})", "键 {key} 出现了两次(第一次在第 {first} 行)"),
    "duplicate-todo": ("keep one of them", "请只保留一个"),
    "unknown-key": ("there is no key {key}", "没有名为 {key} 的键"),
    "mean": ("did you mean {names}?", "您是否想写 {names}?"),
    "known": ("known are {names}", "可用的有 {names}"),
    "missing": ("the key {key} is missing", "缺少键 {key}"),
    "missing-target": ("say which machine: `target: ubuntu2204`", "请说明目标机器,例如 `target: ubuntu2204`"),
    "missing-spec": ("say which format this is: `spec: 1`", "请写明格式版本:`spec: 1`"),
    "missing-os": ("say which system: `os: ubuntu2204`", "请写明操作系统:`os: ubuntu2204`"),
    "version": ("this provision reads spec format 1, not {value}", "本版 provision 只读取格式 1,而不是 {value}"),
    "text": ("{key} has to be a text", "{key} 必须是文本"),
    "text-or-mapping": ("{key} has to be a text or a mapping", "{key} 必须是文本或映射"),
    "choice": ("{key} cannot be {value}", "{key} 不能是 {value}"),
    "bool": ("{key} has to be true or false", "{key} 必须是 true 或 false"),
    "list": ("{key} has to be a list", "{key} 必须是列表"),
    "list-todo": ("write it as [{value}]", "请写成 [{value}]"),
    "mapping": ("{key} has to be a mapping", "{key} 必须是映射"),
    "range": ("{key}: {value} is neither a version nor a range", "{key}:{value} 既不是版本号也不是范围"),
    "range-todo": ("write it as \"2.7.1\", \"~=2.7.0\", \">=2.6,<2.9\" or \"==2.7.*\"",
                   "请写成 \"2.7.1\"、\"~=2.7.0\"、\">=2.6,<2.9\" 或 \"==2.7.*\""),
    "dotted": ("{key}: {value} is not a version", "{key}:{value} 不是版本号"),
    "dotted-todo": ("write numbers with dots, such as \"2.35\"", "请写成带点的数字,例如 \"2.35\""),
    "cuda": ("cuda: {value} is neither a CUDA version, a build tag, a range nor cpu", "cuda:{value} 不是 CUDA 版本、构建标签、范围或 cpu"),
    "cuda-todo": ("write it as \"12.4\", cu124, \">=12.4\" or cpu", "请写成 \"12.4\"、cu124、\">=12.4\" 或 cpu"),
    "keep": ("driver.keep needs the version that the machine has", "driver.keep 需要写明机器现有的版本"),
    "keep-todo": ("write it as {version: \"535.129.03\", keep: true}", "请写成 {version: \"535.129.03\", keep: true}"),
    "package": ("{value} is not the name of a package", "{value} 不是软件包名称"),
    "package-torch": ("torch has a key of its own", "torch 有专门的键"),
    "package-torch-todo": ("move it there: `torch: \"{value}\"`", "请移到那里:`torch: \"{value}\"`"),
    "path": ("environment has to be an absolute path (or start with ~)", "environment 必须是绝对路径(或以 ~ 开头)"),
    "long": ("{key} is longer than {limit} characters", "{key} 超过 {limit} 个字符"),
    "empty-value": ("{key} is empty", "{key} 为空"),
    "empty-value-todo": ("write a value, or leave the key out", "请填写值,或去掉此键"),
}


def say(lang: str, name: str, **values: object) -> str:
    """The message `name` in `lang`."""
    return _WORDS[name][1 if lang == "zh" else 0].format(**values) if values else _WORDS[name][1 if lang == "zh" else 0]


def names() -> list[str]:
    """Every message's name."""
    return list(_WORDS)
