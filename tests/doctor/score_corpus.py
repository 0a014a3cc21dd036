"""Score the doctor on the corpus: `python tests/doctor/score_corpus.py [open|aside]`. Of the part kept aside only counts are printed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import yaml

from provisioner.doctor import engine

HERE = Path(__file__).parent
PARTS = {"open": HERE / "corpus", "aside": HERE / "corpus_aside"}


class Score(NamedTuple):
    """Counts of one part: inputs, right at the first answer, right within three; clean texts, false alarms; misses."""

    inputs: int
    top1: int
    top3: int
    clean: int
    alarms: int
    misses: list[tuple[str, str, list[str]]]
    false_alarms: list[tuple[str, list[str]]]


def score(part: str) -> Score:
    """Run every input of a part."""
    folder = PARTS[part]
    index = yaml.safe_load((folder / "index.yaml").read_text(encoding="utf-8"))
    top1 = top3 = alarms = 0
    misses, false_alarms = [], []
    for row in index["rows"]:
        report = engine.diagnose([(row["file"], (folder / row["file"]).read_bytes())], row["kind"])
        codes = [each.code for each in report.findings]
        right = {row["code"]}
        top1 += codes[:1] == [row["code"]]
        top3 += bool(right & set(codes[:3]))
        if codes[:1] != [row["code"]]:
            misses.append((row["file"], row["code"], [f"{each.code}:{each.score}" for each in report.findings]))
    for row in index.get("clean", []):
        report = engine.diagnose([(row["file"], (folder / row["file"]).read_bytes())], "doctor")
        wrong = [f"{each.code}:{each.score}" for each in report.findings if each.severity != "info"]
        if wrong:
            alarms += 1
            false_alarms.append((row["file"], wrong))
    return Score(len(index["rows"]), top1, top3, len(index.get("clean", [])), alarms, misses, false_alarms)


def main() -> int:
    for part in sys.argv[1:] or ["open", "aside"]:
        found = score(part)
        if part == "open":
            for file, want, got in found.misses:
                print(f"{file}: wanted {want}, got {got[:4]}")
            for file, wrong in found.false_alarms:
                print(f"clean {file}: {wrong}")
        else:
            counts: dict[str, int] = {}
            for _, want, _ in found.misses:
                counts[want] = counts.get(want, 0) + 1
            print("misses by class:", counts)
        print(f"{part}: {found.inputs} inputs, top-1 {found.top1 / found.inputs:.1%}, top-3 {found.top3 / found.inputs:.1%}; "
              f"{found.clean} clean, {found.alarms} false alarms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
