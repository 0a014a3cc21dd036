"""`provision plan`: read, solve, show, lock."""

from __future__ import annotations

import os
import sys

from provisioner.cli.files import LOCK, holds, put_lock, read, write
from provisioner.cli.output import Paint, change_text, coloured, json_text, plan_text, refusal_text, why_text
from provisioner.cli.text import say
from provisioner.errors import BAD_INPUT, OK, UNSATISFIABLE, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

SPEC_LIMIT = 1 << 20


def plan(options: Namespace) -> int:
    """Carry out the verb; the exit status."""
    from provisioner.catalog.load import load as load_catalog
    from provisioner.solver.plan import Refusal, solve
    from provisioner.spec.load import load as load_spec

    text = read("-", SPEC_LIMIT) if options.spec == "-" else None
    spec = load_spec(options.spec if text is None else "<stdin>", text=text, lang=options.lang)
    catalog = load_catalog()
    outcome = solve(spec, catalog, all_n=options.all, facts=_facts(options.facts), lang=options.lang)
    paint = Paint(coloured(sys.stdout))
    if isinstance(outcome, Refusal):
        document = outcome.document()
        if options.take:
            return _take(options, document)
        out = json_text(document) if options.format == "json" else refusal_text(document, options.lang, paint, options.spec)
        sys.stdout.write(out)
        _remember(options, UNSATISFIABLE, out, "")
        return UNSATISFIABLE
    if options.take:
        raise Problem("take", say(options.lang, "take-fits"))
    lock = lock_of(spec, outcome)
    document = outcome.document() | {"steps": lock["steps"]}
    path = _lock_path(options)
    if options.diff:
        return _diff(options, lock, document, paint)
    if options.why:
        return _why(options, document, paint)
    from provisioner.solver.lock import dump

    lock_text = dump(lock)
    told = _write_lock(options, path, lock_text)
    out = json_text(document) if options.format == "json" else plan_text(document, spec.name, options.lang, paint, options.spec)
    sys.stdout.write(out)
    if told and options.format == "text":
        sys.stderr.write(told + "\n")
    _remember(options, OK, out, lock_text)
    return OK


def _facts(path: str | None) -> dict[str, Any] | None:
    """What a machine has, in the solver's words, from facts that the probe wrote: driver, Python, torch."""
    if path is None:
        return None
    from provisioner.probe.collect import loaded_driver, read_facts, value

    facts = read_facts(path)
    torch, python = value(facts, "torch") or {}, value(facts, "python") or {}
    found = {"driver": loaded_driver(facts), "torch": torch.get("version"), "python": ".".join(str(python.get("version") or "").split(".")[:2])}
    return {name: str(held) for name, held in found.items() if held}


def _remember(options: Namespace, status: int, out: str, lock_text: str) -> None:
    """Keep a plain answer for the next time that the same is asked."""
    if options.all == 1 and not options.frozen and options.facts is None and options.spec != "-":
        from provisioner.cli.remembered import remember

        remember(options, status, out, lock_text)


def lock_of(spec: Any, outcome: Any) -> dict[str, Any]:
    """The lock of a plan, with the titles of the steps that its scripts will have."""
    from provisioner import __version__
    from provisioner.render.steps import titles
    from provisioner.solver.lock import make

    lock: dict[str, Any] = make(outcome, spec, __version__)
    lock["steps"] = titles(lock, outcome.lang)
    return lock


def _lock_path(options: Namespace) -> str | None:
    if options.no_lock:
        return None
    if options.lock:
        return str(options.lock)
    return LOCK if options.spec == "-" else os.path.join(os.path.dirname(options.spec), LOCK)


def _write_lock(options: Namespace, path: str | None, text: str) -> str:
    """Write the lock where it differs; what to tell about it."""
    if options.frozen:
        path = path or LOCK
        if not holds(path, text):
            raise Problem("frozen", say(options.lang, "frozen", path=path), todo=say(options.lang, "frozen-todo", path=path),
                          status=BAD_INPUT)
        return say(options.lang, "unchanged", path=path)
    if path is None:
        return ""
    name = "unchanged" if put_lock(path, text) else "wrote"
    return say(options.lang, name, path=path)


def _why(options: Namespace, document: dict[str, Any], paint: Paint) -> int:
    from provisioner.errors import nearest

    known = [str(each["choice"]) for each in document["because"]]
    asked = options.why
    matching = [each for each in document["because"] if each["choice"] == asked]
    if not matching:
        near = nearest(asked, known)
        raise Problem("no-such-choice", f"there is no choice {asked!r} in this plan",
                      todo=f"did you mean {' or '.join(near)}?" if near else f"its choices are: {', '.join(known)}")
    told = {"status": "ok", "catalog": document["catalog"], "because": matching}
    if options.format == "json":
        sys.stdout.write(json_text(told))
    else:
        sys.stdout.write(why_text(told, paint))
    return OK


def _diff(options: Namespace, lock: dict[str, Any], document: dict[str, Any], paint: Paint) -> int:
    from provisioner.cli.files import read_lock
    from provisioner.solver.explain import diff

    changes = diff(read_lock(options.diff), lock, options.lang)
    if options.format == "json":
        sys.stdout.write(json_text({"status": "ok", "catalog": document["catalog"], "changes": changes}))
    elif not changes:
        sys.stdout.write(say(options.lang, "same") + "\n")
    else:
        from provisioner.cli.output import fold

        for each in changes:
            sys.stdout.write(paint("bold", change_text({"field": each["choice"], "from": each["from"], "to": each["to"]})) + "\n")
            if each.get("text"):
                sys.stdout.write(fold(each["text"], "  ") + "\n")
    return OK


def _take(options: Namespace, document: dict[str, Any]) -> int:
    from provisioner.spec.load import edit

    alternatives = document.get("alternatives") or []
    if options.take > len(alternatives):
        raise Problem("no-such-alternative", say(options.lang, "no-such-alternative", number=options.take, count=len(alternatives)))
    if options.spec == "-":
        raise Problem("take-stdin", "a spec from standard input cannot be changed", todo="save it as a file first")
    changes = alternatives[options.take - 1]["change"]
    text = edit(read(options.spec, SPEC_LIMIT).decode("utf-8"), changes)
    write(options.spec, text)
    told = "; ".join(change_text(each) for each in changes)
    sys.stderr.write(say(options.lang, "taken", path=options.spec, change=told) + "\n")
    options.take = None
    return plan(options)
