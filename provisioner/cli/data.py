"""The verbs that ask or change the catalogue: matrix, update, catalog, schema."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from provisioner.cli.output import Paint, coloured, fold, json_text
from provisioner.errors import OK, WRONG

if TYPE_CHECKING:
    from argparse import Namespace


def schema(options: Namespace) -> int:  # noqa: ARG001 - a verb like the others
    """Print the JSON schema of the spec."""
    from provisioner.spec.load import schema_text

    sys.stdout.write(schema_text())
    return OK


def catalog(options: Namespace) -> int:
    """Run the linters over the catalogue."""
    from provisioner.catalog.lint import lint
    from provisioner.catalog.load import load

    loaded = load()
    report = lint(loaded)
    if options.format == "json":
        sys.stdout.write(json_text(report.document()))
    else:
        paint = Paint(coloured(sys.stdout))
        for finding in report.findings:
            sys.stdout.write(paint("red", fold(f"{finding.question}: {finding.text}", "- ")) + "\n")
        sys.stdout.write(f"catalogue {loaded.version}: {report.facts} facts in {report.rows} rows of {report.tables} tables; "
                         f"{len(report.findings)} findings by {report.questions} questions\n")
    return WRONG if report.findings else OK


def matrix(options: Namespace) -> int:
    """Tell which combinations work."""
    from provisioner.catalog.ask import matrix as ask
    from provisioner.catalog.ask import render_matrix
    from provisioner.catalog.load import load

    rows = ask(load(), torch=options.torch, gpu=options.gpu, driver=options.driver, cuda=options.cuda, os=options.os,
               python=options.python, arch=options.arch, every=options.all, why=options.why)
    sys.stdout.write(render_matrix(rows, options.format, options.lang))
    return OK


def update(options: Namespace) -> int:
    """Refresh the catalogue from its sources into the user's overlay."""
    from provisioner.catalog.update import update as refresh

    stream = sys.stderr
    live = stream.isatty()

    def progress(done: int, total: int, what: str) -> None:
        if live:
            filled = 24 * done // max(total, 1)
            stream.write(f"\r[{'#' * filled}{'.' * (24 - filled)}] {done}/{total} {what[:48]:48}")
            if done == total:
                stream.write("\n")
        else:
            stream.write(f"{done}/{total} {what}\n")
        stream.flush()

    report = refresh(check=options.check, progress=progress, lang=options.lang)
    if options.format == "json":
        sys.stdout.write(json_text(report.document()))
    else:
        sys.stdout.write(report.text(options.lang))
    return int(report.status)

