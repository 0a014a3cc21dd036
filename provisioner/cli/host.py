"""The verbs that are about a machine: init, render, apply, verify."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from provisioner.cli.files import find_lock, make_folder, read_lock, write
from provisioner.cli.output import Paint, coloured, json_text
from provisioner.cli.text import say
from provisioner.errors import OK, Problem

if TYPE_CHECKING:
    from argparse import Namespace


def init(options: Namespace) -> int:
    """Write a commented spec from this host, or from facts that the probe wrote."""
    import json

    from provisioner.probe.collect import collect, read_facts, to_plain
    from provisioner.spec.load import load
    from provisioner.spec.load import write as spec_text

    facts = read_facts(options.facts) if options.facts else collect()
    plain = json.dumps(to_plain(facts, knows=_knows)).encode()  # JSON is YAML
    text = spec_text(load(options.facts or "this host", text=plain, lang=options.lang), lang=options.lang)
    if options.out == "-":
        sys.stdout.write(text)
        return OK
    if os.path.exists(options.out) and not options.force:
        raise Problem("exists", f"{options.out} is already there", todo="name another file with --out, or replace it with --force")
    write(options.out, text)
    sys.stderr.write(say(options.lang, "wrote", path=options.out) + "\n")
    return OK


def _knows(kind: str, text: str) -> bool:
    """Whether the catalogue knows an operating system ("os") or a GPU ("gpu") by that name."""
    from provisioner.catalog.load import load

    catalog = load()
    try:
        return bool(catalog.system(text) if kind == "os" else catalog.gpu(text))
    except Problem:
        return False


def _lock(options: Namespace) -> dict[str, Any]:
    """The lock at hand, with a word on which, and on another catalogue."""
    path = find_lock(options.lock)
    lock: dict[str, Any] = read_lock(path)
    if not options.lock:
        sys.stderr.write(say(options.lang, "using-lock", path=path) + "\n")
    from provisioner.catalog.load import load

    ours = load()
    theirs = lock.get("catalog") or {}
    if theirs.get("digest") != ours.digest:
        note = say(options.lang, "other-catalog", theirs=_short(theirs), ours=_short({"version": ours.version, "digest": ours.digest}))
        sys.stderr.write(note + "\n")
    return lock


def _short(catalog: dict[str, Any]) -> str:
    return f"{catalog.get('version')} ({str(catalog.get('digest', '')).removeprefix('sha256:')[:8]})"


def render(options: Namespace) -> int:
    """Write the files for the locked plan."""
    from provisioner import render as room

    lock = _lock(options)
    files = room.render(lock, options.target, options.as_format, options.lang)
    if options.out is None:
        if len(files) > 1:
            raise Problem("several-files", f"{options.as_format} makes {len(files)} files: {', '.join(sorted(files))}",
                          todo="name a folder for them with --out DIR")
        sys.stdout.write(next(iter(files.values())))
        return OK
    make_folder(options.out)
    for name, text in sorted(files.items()):
        path = os.path.join(options.out, name)
        make_folder(os.path.dirname(path))
        write(path, text, mode=0o755 if text.startswith("#!") else None)
        sys.stderr.write(say(options.lang, "wrote", path=path) + "\n")
    return OK


def apply(options: Namespace) -> int:
    """Run the rendered steps on this host. The status is the script's."""
    import tempfile

    from provisioner import render as room

    lock = _lock(options)
    if sys.platform != "linux":
        raise Problem("apply-linux", "apply runs the bash script, which is for Linux",
                      todo="use `provision render` and run the result on the target")
    files = room.render(lock, str(lock["choices"]["os"]), "bash", options.lang)
    with tempfile.TemporaryDirectory(prefix="provision-") as folder:
        for name, text in files.items():
            write(os.path.join(folder, name), text, mode=0o755)
        script = os.path.join(folder, room.MAIN_SCRIPT)
        return _run(["bash", script, *(["--dry-run"] if options.dry_run else []), *(["--reboot"] if options.reboot else [])])


def _run(command: list[str]) -> int:
    """The status of a program that has the terminal; 128 + N when signal N ended it. Raises Problem."""
    import signal
    import subprocess

    try:
        child = subprocess.Popen(command)
    except FileNotFoundError:
        raise Problem("no-program", f"{command[0]} is not installed", todo="install it, or run the result of `provision render` by hand") from None
    # Ctrl-C reaches the script too; it and its package manager end in order, and are waited for rather than killed.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status = child.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status


def verify(options: Namespace) -> int:
    """Run the smoke test in the installed environment and hold it against the lock."""
    from provisioner.verify import judge, run

    lock = _lock(options)
    python = options.python or _environment_python(lock)
    document = run.run(python, options.level, lock)
    verdict = judge.judge(document, lock, lang=options.lang)
    if options.format == "json":
        sys.stdout.write(json_text(verdict.document()))
    elif options.format == "junit":
        sys.stdout.write(verdict.junit())
    else:
        sys.stdout.write(judge.format_text(verdict, options.lang, Paint(coloured(sys.stdout))))
    return int(verdict.status)


def _environment_python(lock: dict[str, Any]) -> str:
    """The interpreter of the lock's environment when it is there, else the one that runs us."""
    environment = str(lock["artefacts"].get("environment") or "")
    inside = os.path.join(environment, "Scripts", "python.exe") if os.name == "nt" else os.path.join(environment, "bin", "python")
    return inside if environment and os.path.exists(inside) else sys.executable
