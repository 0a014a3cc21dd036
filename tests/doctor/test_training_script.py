"""Traps of training code: each is found at its line, and code without them gets no finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from provisioner.doctor import rule, script

HERE = Path(__file__).parent / "scripts"
TRAPS = (HERE / "traps.py.txt").read_text(encoding="utf-8")
CLEAN = (HERE / "clean.py.txt").read_text(encoding="utf-8")


def test_each_trap_is_found_at_the_line_that_names_it() -> None:
    wanted = {(found[1], number) for number, line in enumerate(TRAPS.splitlines(), 1)
              if (found := re.search(r"# ([a-z]+(?:-[a-z]+)+)$", line))}
    report = script.check(TRAPS, "train.py")
    assert {(each.code, line.number) for each in report.findings for line in each.evidence} == wanted
    assert report.status == 4


def test_clean_code_gets_no_finding() -> None:
    report = script.check(CLEAN, "train.py")
    assert report.findings == ()
    assert report.status == 0


def test_every_text_has_both_languages_and_every_code_is_found_in_the_traps() -> None:
    texts = yaml.safe_load((Path(rule.HERE) / "script.yaml").read_text(encoding="utf-8"))
    for code, about in texts.items():
        for part in ("title", "cause", "fix"):
            assert re.search(r"[\u4e00-\u9fff]", about[part]["zh"]) and about[part]["en"], code
    found = {each.code for each in script.check(TRAPS, "x").findings}
    assert set(texts) - found == {"code-no-set-device"}


def test_ranks_that_do_not_choose_their_gpu() -> None:
    text = ("import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
            "torch.distributed.init_process_group('nccl')\nmodel = DDP(net)\n")
    assert [each.code for each in script.check(text, "x").findings] == ["code-no-set-device"]


@pytest.mark.parametrize("text", ["def broken(:\n", "\x00", "print 'python 2'\n"])
def test_code_that_is_no_python_is_said_so(text: str) -> None:
    report = script.check(text, "x.py")
    assert report.findings == () and report.asks


def test_a_guarded_read_every_n_steps_is_fine() -> None:
    text = ("for step, x in enumerate(data):\n    opt.zero_grad()\n    loss = model(x)\n    loss.backward()\n    opt.step()\n"
            "    if step % 50 == 0:\n        print(loss.item())\n")
    assert script.check(text, "x").findings == ()
