"""The entry point: reads the command line, hands over to one verb, turns every failure into words and a status.

Only what a verb needs is imported, when it is needed: the start of the process is most of what a command costs.
"""

from __future__ import annotations

import os
import sys

from provisioner.errors import BAD_INPUT, BUG, INTERRUPTED, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import NoReturn

    from provisioner.errors import Problem

VERBS = ("init", "plan", "render", "apply", "verify", "doctor", "explain", "matrix", "update", "schema", "rules", "catalog",
         "fleet")


def entry() -> int:
    """Run the command line of this process; the exit status."""
    arguments = sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if (stream.encoding or "").lower().replace("-", "") != "utf8" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        if arguments[:1] == ["plan"]:
            from provisioner.cli.remembered import answer

            status = answer(arguments[1:])
            if status is not None:
                sys.stdout.flush()
                return status
        return run(arguments)
    except BrokenPipeError:
        # The reader went away (`| head`): nothing more can be said there, and that is no fault of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        from provisioner.cli.text import language, say

        print(say(language(None), "interrupted"), file=sys.stderr)
        return INTERRUPTED


def run(arguments: list[str]) -> int:
    """Run one command line; the exit status. Never raises but for BrokenPipeError and KeyboardInterrupt."""
    from provisioner import errors
    from provisioner.cli.text import language

    lang = language(_early(arguments, "--lang") if _early(arguments, "--lang") in ("en", "zh") else None)
    try:
        options = parser(lang, arguments).parse_args(arguments)
        options.lang = language(options.lang)
        lang = options.lang
        status = int(_verb(options)(options))
        sys.stdout.flush()
        return status
    except errors.ProblemList as several:
        return _tell(several.problems, several.status, arguments, lang)
    except errors.Problem as problem:
        return _tell([problem], problem.status, arguments, lang)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else OK
    except OSError as fault:
        from provisioner.cli.files import cannot

        return _tell([cannot("write", str(fault.filename or "standard output"), fault)], BAD_INPUT, arguments, lang)
    except Exception as fault:
        if os.environ.get("PROVISION_DEBUG"):
            raise
        from provisioner.cli.text import say

        what = say(lang, "bug", what=f"{type(fault).__name__}: {fault}")
        return _tell([errors.Problem("bug", what, todo=say(lang, "bug-todo"))], BUG, arguments, lang)


def _early(arguments: list[str], flag: str) -> str | None:
    for number, argument in enumerate(arguments):
        if argument == flag and number + 1 < len(arguments):
            return arguments[number + 1]
        if argument.startswith(flag + "="):
            return argument[len(flag) + 1:]
    return None


def _tell(problems: list[Problem], status: int, arguments: list[str], lang: str) -> int:
    from provisioner.cli.output import Paint, coloured, problem_text
    from provisioner.cli.text import names, say

    known = set(names())
    paint = Paint(coloured(sys.stderr))
    for problem in problems:
        for field in ("what", "todo", "because"):  # a bare message name is said in the user's language
            if getattr(problem, field) in known:
                setattr(problem, field, say(lang, getattr(problem, field)))
        sys.stderr.write(problem_text(problem, lang, paint))
    if _early(arguments, "--format") == "json":
        import json

        document = {"status": "error", "problems": [each.as_dict() for each in problems]}
        try:
            print(json.dumps(document, ensure_ascii=False))
            sys.stdout.flush()
        except OSError:
            pass
    return status


def _verb(options: Namespace):  # type: ignore[no-untyped-def]
    from importlib import import_module

    return getattr(import_module(f"provisioner.cli.{options.module}"), options.function)


def parser(lang: str, arguments: list[str]) -> ArgumentParser:
    """The command line. Only the verb at hand gets its options, so that the others cost nothing."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            from provisioner.errors import Problem, nearest

            near: list[str] = []
            if "invalid choice" in message and "'" in message:
                wrong = message.split("'")[1]
                near = nearest(wrong, VERBS)
            usage = self.format_usage().strip().removeprefix("usage: ")
            advice = f"did you mean {' or '.join(near)}? " if near else ""
            if "invalid choice" in message and self.prog.count(" ") == 0:
                message = f"there is no command {message.split(chr(39))[1]!r}"
            raise Problem("usage", message, todo=f"{advice}usage: {usage}")

    from provisioner import __version__
    from provisioner.cli.verbs import add

    top = Parser(prog="provision", description=_ABOUT[lang], formatter_class=argparse.RawDescriptionHelpFormatter,
                 epilog=_EPILOG[lang], allow_abbrev=False)
    top.add_argument("--version", action="version", version=f"provision {__version__}")
    top.add_argument("--lang", choices=("en", "zh"), default=None, help=argparse.SUPPRESS)
    verbs = top.add_subparsers(metavar="COMMAND", dest="verb", required=True)
    wanted = next((each for each in arguments if each in VERBS), None)
    for name, help_text in _HELP[lang].items():
        sub = verbs.add_parser(name, help=help_text, description=help_text, allow_abbrev=False)
        if name == wanted:
            sub.add_argument("--lang", choices=("en", "zh"), default=argparse.SUPPRESS,
                             help="language of the texts (default: from the locale)")
            add(name, sub)
    return top


_ABOUT = {
    "en": "Solve, install, verify and mend PyTorch environments on NVIDIA GPUs: driver, kernel modules, CUDA toolkit, cuDNN,\n"
          "NCCL, Python and wheels as one consistent set.",
    "zh": "为 NVIDIA 显卡上的 PyTorch 环境求解、安装、验证与修复:驱动、内核模块、CUDA 工具包、cuDNN、NCCL、Python 与 wheel\n"
          "作为一个自洽的整体。",
}
_EPILOG = {
    "en": "statuses: 0 fine · 1 a fault of provision · 2 bad input · 3 no consistent set exists · 4 checked, and something is\n"
          "wrong · 6 reboot, then run the same command again · 130 interrupted",
    "zh": "退出状态:0 正常 · 1 provision 自身缺陷 · 2 输入有误 · 3 不存在自洽组合 · 4 已检查且有问题 · 6 重启后再次运行同一命令 ·\n"
          "130 被中断",
}
_HELP = {
    "en": {
        "init": "write a commented spec from this host",
        "plan": "solve a spec; print the plan; write provision.lock",
        "render": "write the install files for the locked plan",
        "apply": "run the rendered steps on this host",
        "verify": "test the installed environment against the lock",
        "doctor": "diagnose this host, or evidence of another one",
        "explain": "name the cause of an error text and its fix",
        "matrix": "ask the compatibility catalogue what works",
        "update": "refresh the catalogue from its sources",
        "schema": "print the JSON schema of the spec",
        "rules": "list the diagnosis rules, or show one",
        "catalog": "check the catalogue's data",
    },
    "zh": {
        "init": "根据本机写出带注释的配置",
        "plan": "求解配置,打印方案,写出 provision.lock",
        "render": "为锁定的方案生成安装文件",
        "apply": "在本机执行生成的步骤",
        "verify": "按锁文件检验已安装的环境",
        "doctor": "诊断本机,或另一台机器的证据",
        "explain": "指出报错文本的原因与修复办法",
        "matrix": "查询兼容性目录:什么能搭配",
        "update": "从来源刷新兼容性目录",
        "schema": "打印配置的 JSON schema",
        "rules": "列出诊断规则,或显示一条",
        "catalog": "检查目录数据",
    },
}
