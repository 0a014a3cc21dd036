"""The options of each verb, and which function carries it out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

TEXT_JSON = ("text", "json")


def add(verb: str, sub: ArgumentParser) -> None:
    """Give `sub` the options of `verb`."""
    _ADD[verb](sub)


def _init(sub: ArgumentParser) -> None:
    sub.add_argument("--from", dest="facts", metavar="FACTS", help="facts that the probe wrote, instead of this host")
    sub.add_argument("--out", metavar="PATH", default="spec.yaml", help="where to write (default: spec.yaml; - for stdout)")
    sub.add_argument("--force", action="store_true", help="replace a spec that is already there")
    sub.set_defaults(module="host", function="init")


def _plan(sub: ArgumentParser) -> None:
    sub.add_argument("spec", nargs="?", default="spec.yaml", metavar="SPEC", help="the spec (default: ./spec.yaml; - for stdin)")
    sub.add_argument("--format", choices=TEXT_JSON, default="text")
    lock = sub.add_mutually_exclusive_group()
    lock.add_argument("--lock", metavar="PATH", help="where to write the lock (default: provision.lock beside the spec)")
    lock.add_argument("--no-lock", action="store_true", help="write no lock")
    sub.add_argument("--all", type=_count, default=1, metavar="N", help="list the N best different plans")
    sub.add_argument("--frozen", action="store_true", help="fail when the lock would change; write nothing")
    sub.add_argument("--why", metavar="CHOICE", help="tell what forced or preferred one choice, with sources")
    sub.add_argument("--diff", metavar="LOCK", help="tell what changed since another lock, and because of which fact")
    sub.add_argument("--facts", metavar="FACTS", help="what the machine has (`provision doctor --save FACTS` there); for prefer: least-change")
    sub.add_argument("--take", type=_count, metavar="N", help="write the N-th alternative into the spec, keeping comments")
    sub.set_defaults(module="plan", function="plan")


def _render(sub: ArgumentParser) -> None:
    sub.add_argument("--target", required=True, metavar="OS", help="operating system the files are for; has to be the lock's")
    sub.add_argument("--as", dest="as_format", default="bash", metavar="FORMAT", help="format (default: bash)")
    sub.add_argument("--lock", metavar="PATH")
    sub.add_argument("--out", metavar="DIR", help="folder to write to; left out, one script goes to stdout")
    sub.set_defaults(module="host", function="render")


def _apply(sub: ArgumentParser) -> None:
    sub.add_argument("--lock", metavar="PATH")
    sub.add_argument("--dry-run", action="store_true", help="say what would be done; change nothing")
    sub.add_argument("--reboot", action="store_true", help="reboot when a step needs it, instead of leaving with status 6")
    sub.set_defaults(module="host", function="apply")


def _verify(sub: ArgumentParser) -> None:
    sub.add_argument("--python", metavar="PATH", help="interpreter to test (default: the lock's environment)")
    sub.add_argument("--level", choices=("quick", "full", "stress"), default="quick")
    sub.add_argument("--lock", metavar="PATH")
    sub.add_argument("--format", choices=("text", "json", "junit"), default="text")
    sub.set_defaults(module="host", function="verify")


def _doctor(sub: ArgumentParser) -> None:
    sub.add_argument("--from", dest="files", action="append", nargs="+", metavar="FILE", help="evidence of another machine (- for stdin)")
    sub.add_argument("--save", metavar="FILE", help="write an evidence bundle, with serials, names and addresses removed")
    sub.add_argument("--script", metavar="FILE", help="read training code for the classic traps")
    sub.add_argument("--python", metavar="PATH", help="interpreter to look at (default: the one a shell would run)")
    sub.add_argument("--format", choices=TEXT_JSON, default="text")
    sub.set_defaults(module="diagnose", function="doctor")


def _explain(sub: ArgumentParser) -> None:
    sub.add_argument("file", nargs="?", default="-", metavar="FILE", help="the text (default: stdin)")
    sub.add_argument("--format", choices=TEXT_JSON, default="text")
    sub.set_defaults(module="diagnose", function="explain")


def _matrix(sub: ArgumentParser) -> None:
    for flag, name in (("--torch", "V"), ("--gpu", "G"), ("--driver", "V"), ("--cuda", "V"), ("--os", "OS"), ("--python", "V")):
        sub.add_argument(flag, metavar=name)
    sub.add_argument("--arch", choices=("x86_64", "aarch64"))
    sub.add_argument("--all", action="store_true", help="every release; without it the newest patch of each minor")
    sub.add_argument("--why", action="store_true", help="print the sources")
    sub.add_argument("--format", choices=("text", "json", "csv", "markdown"), default="text")
    sub.set_defaults(module="data", function="matrix")


def _update(sub: ArgumentParser) -> None:
    sub.add_argument("--check", action="store_true", help="say how stale the catalogue is; change nothing")
    sub.add_argument("--format", choices=TEXT_JSON, default="text")
    sub.set_defaults(module="data", function="update")


def _schema(sub: ArgumentParser) -> None:
    sub.set_defaults(module="data", function="schema")


def _rules(sub: ArgumentParser) -> None:
    sub.add_argument("action", choices=("list", "show"))
    sub.add_argument("code", nargs="?", metavar="CODE")
    sub.add_argument("--format", choices=TEXT_JSON, default="text")
    sub.set_defaults(module="diagnose", function="rules")


def _catalog(sub: ArgumentParser) -> None:
    sub.add_argument("action", choices=("lint",))
    sub.add_argument("--format", choices=TEXT_JSON, default="text")
    sub.set_defaults(module="data", function="catalog")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


_count.__name__ = "number of at least 1"

_ADD = {"init": _init, "plan": _plan, "render": _render, "apply": _apply, "verify": _verify, "doctor": _doctor,
        "explain": _explain, "matrix": _matrix, "update": _update, "schema": _schema, "rules": _rules, "catalog": _catalog}
