"""Write the reference pages of the diagnosis rules: `python tools/write_rule_pages.py`. `--check` says whether they are up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from provisioner.doctor.pages import reference

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "rules"


def main() -> int:
    stale = []
    for lang in ("en", "zh"):
        folder = FOLDER / lang
        folder.mkdir(parents=True, exist_ok=True)
        wanted = reference(lang)
        for path in folder.glob("*.md"):
            if path.name not in wanted:
                stale.append(path)
        for name, text in wanted.items():
            path = folder / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                stale.append(path)
                if "--check" not in sys.argv:
                    path.write_text(text, encoding="utf-8")
    for path in stale:
        sys.stderr.write(f"{path.relative_to(FOLDER.parent.parent)}\n")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    raise SystemExit(main())
