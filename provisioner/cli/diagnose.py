"""The verbs that name causes: doctor, explain, rules."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from provisioner.cli.files import cannot
from provisioner.cli.output import Paint, coloured, json_text
from provisioner.cli.text import say
from provisioner.errors import OK, WRONG, Problem

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator


def _lines(path: str, lang: str) -> Iterator[bytes]:
    """The lines of a file or of standard input, one at a time: a log of any size streams."""
    try:
        if path == "-":
            if sys.stdin.isatty():
                sys.stderr.write(say(lang, "reading-stdin") + "\n")
            yield from sys.stdin.buffer
            return
        if os.path.isdir(path):
            raise Problem("cannot-read", f"{path} is a folder", todo="name a file in it")
        with open(path, "rb") as stream:
            yield from stream
    except OSError as fault:
        raise cannot("read", path, fault) from None


def _print(report: Any, options: Namespace, nothing: str) -> None:
    from provisioner.doctor.engine import format_text

    if options.format == "json":
        sys.stdout.write(json_text(report.document()))
        return
    text = format_text(report, options.lang, Paint(coloured(sys.stdout)))
    sys.stdout.write(text or say(options.lang, nothing) + "\n")


def explain(options: Namespace) -> int:
    """Name the cause of an error text."""
    from provisioner.doctor.engine import diagnose

    name = "stdin" if options.file == "-" else options.file
    report = diagnose([(name, _lines(options.file, options.lang))], mode="explain", lang=options.lang)
    _print(report, options, "no-match")
    return OK if report.findings else WRONG


def doctor(options: Namespace) -> int:
    """Diagnose this host, evidence of another one, or training code."""
    from provisioner.doctor.engine import diagnose

    if options.script:
        from provisioner.cli.files import read
        from provisioner.doctor.script import check

        report = check(read(options.script).decode("utf-8", "replace"), options.script, lang=options.lang)
    elif options.files:
        named = [path for group in options.files for path in group]
        texts = [("stdin" if path == "-" else path, _lines(path, options.lang)) for path in named]
        report = diagnose(texts, mode="doctor", lang=options.lang)
    else:
        from provisioner.doctor.live import diagnose_facts
        from provisioner.probe.collect import collect, redact

        facts = collect(python=options.python)
        if options.save:
            from provisioner.cli.files import write

            write(options.save, json_text(redact(facts)))
            sys.stderr.write(say(options.lang, "wrote", path=options.save) + "\n")
        report = diagnose_facts(facts, lang=options.lang)
    _print(report, options, "no-findings")
    return WRONG if any(each.severity != "info" for each in report.findings) else OK


def rules(options: Namespace) -> int:
    """List the rules, or show one's page."""
    from provisioner.doctor.rule import load, page
    from provisioner.errors import nearest

    known = load()
    if options.action == "list":
        if options.format == "json":
            sys.stdout.write(json_text([{"code": code, "title": rule.title(options.lang), "severity": rule.severity}
                                         for code, rule in known.items()]))
        else:
            size = max(map(len, known)) + 2
            sys.stdout.write("".join(f"{code:{size}}{rule.title(options.lang)}\n" for code, rule in known.items()))
        return OK
    if not options.code:
        raise Problem("usage", "rules show needs a CODE", todo="`provision rules list` prints them")
    if options.code not in known:
        near = nearest(options.code, list(known))
        raise Problem("no-such-rule", f"there is no rule {options.code!r}",
                      todo=f"did you mean {' or '.join(near)}?" if near else "`provision rules list` prints them")
    rule = known[options.code]
    if options.format == "json":
        sys.stdout.write(json_text(rule.document(options.lang)))
    else:
        sys.stdout.write(page(rule, options.lang))
    return OK
