"""Write the pages that are made from data: `python tools/make_docs.py [--check]`.

docs/rules/<lang>/<code>.md and their indexes, docs/spec.schema.json, docs/catalogue.md. With --check nothing is written, and the status
is 1 when a page is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def pages() -> dict[str, str]:
    """Path below docs/ -> text."""
    from provisioner.doctor.pages import reference
    from provisioner.spec.load import schema_text

    made = {"spec.schema.json": schema_text()}
    for lang in ("en", "zh"):
        made |= {f"rules/{lang}/{name}": text for name, text in reference(lang).items()}
    made["catalogue.md"] = catalogue()
    made["../README.md"] = readme()
    return made


def catalogue() -> str:
    """What the catalogue holds, by table."""
    from provisioner.catalog.lint import lint
    from provisioner.catalog.load import load
    from provisioner.catalog.model import TABLES

    loaded = load(overlays=False)
    report = lint(loaded)
    lines = ["# The compatibility catalogue", "",
             f"Version {loaded.version}: {report.facts} facts in {report.rows} rows of {report.tables} tables, "
             f"held by {report.questions} questions that find nothing. Each row has a source, the date it was read, and a confidence.", "",
             "| table | rows | measured | stated | derived | a row is |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for name, (row_type, _, _) in TABLES.items():
        rows = getattr(loaded, name)
        counts = [sum(getattr(row, "confidence", "") == each for row in rows) for each in ("measured", "stated", "derived")]
        about = (row_type.__doc__ or "").split(". Key")[0].split(" Key:")[0].strip().splitlines()[0].rstrip(".")
        lines.append(f"| {name} | {len(rows)} | " + " | ".join(str(each or "") for each in counts) + f" | {about} |")
    return "\n".join([*lines, "", "`compat_data/README.md` says how to read, check and extend it.", ""])


TRANSCRIPTS = {
    "plan": (("plan", "examples/gtx1080ti-desktop.yaml", "--no-lock"), 24),
    "refusal": (("plan", "examples/impossible-pascal-blackwell.yaml", "--no-lock"), 60),
    "explain": (("explain", "examples/reports/v100-no-kernel-image.txt"), 20),
}


def readme() -> str:
    """The README with what is made from data put in: transcripts of real runs, and how much the catalogue knows."""
    import os
    import re
    import subprocess

    from provisioner.catalog.lint import lint
    from provisioner.catalog.load import load
    from provisioner.doctor.rule import load as rules

    env = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "PYTHONPATH": str(ROOT), "PROVISION_DATA_HOME": os.devnull}
    made = {}
    for name, (command, most) in TRANSCRIPTS.items():
        told = subprocess.run([sys.executable, "-m", "provisioner", *command], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        lines = told.stdout.rstrip("\n").split("\n")
        shown = lines[:most] + (["…"] if len(lines) > most else [])
        typed = " ".join(part for part in command if part != "--no-lock")
        made[name] = "```console\n$ provision " + typed + "\n" + "\n".join(shown) + "\n```"
    loaded = load(overlays=False)
    report = lint(loaded)
    made["knows"] = (f"Catalogue {loaded.version}: {report.facts:,} facts in {report.rows:,} rows — torch 1.8 to "
                     f"{loaded.torch_releases[-1].version}, CUDA 10.0 to {loaded.toolkits[-1].version}, {len(loaded.gpus):,} GPU rows, "
                     f"{len(loaded.driver_releases)} driver releases, {len(loaded.systems)} operating systems —, read on {loaded.date}, and "
                     f"{len(rules())} diagnosis rules.")
    text = (ROOT / "README.md").read_text("utf-8")
    for name, content in made.items():
        text = re.sub(rf"(<!-- begin {name} [^\n]*-->\n).*?(<!-- end {name} -->)", lambda found, put=content: found[1] + put + "\n" + found[2], text,
                      flags=re.DOTALL)
    return text


def main(arguments: list[str]) -> int:
    """Write or check."""
    stale = []
    wanted = pages()
    for name, text in wanted.items():
        path = ROOT / "docs" / name
        if not path.is_file() or path.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
    for path in sorted((ROOT / "docs" / "rules").rglob("*.md")):
        name = str(path.relative_to(ROOT / "docs"))
        if name not in wanted:
            stale.append(name)
            if "--check" not in arguments:
                path.unlink()
    print(f"{len(wanted)} pages, {len(stale)} {'stale' if '--check' in arguments else 'written'}", *stale[:10], sep="\n  ")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
