"""A command's end is always a result: its status, or why there is none."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from provisioner.runner import Recorder, Replayer, Runner

PYTHON = sys.executable


def test_output_and_status() -> None:
    result = Runner().run([PYTHON, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"])
    assert (result.outcome, result.status, result.out, result.err, result.cut, result.ok) == ("done", 3, "out\n", "err\n", False, False)
    assert result.reason().endswith("ended with status 3: err")


def test_a_missing_program_is_a_result() -> None:
    result = Runner().run(["no-such-program-here"])
    assert (result.outcome, result.status, result.reason()) == ("missing", None, "there is no no-such-program-here here")


@pytest.mark.parametrize("command", [["/"], ["/etc/hostname"], ["a\0b"], [""], []])
def test_what_cannot_be_started_is_a_result(command: list[str]) -> None:
    assert Runner().run(command).outcome in ("refused", "missing")


def test_a_missing_folder_is_not_a_missing_program() -> None:
    assert Runner().run([PYTHON, "-c", ""], folder="/no/such/folder").outcome == "refused"


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_hanging_command_goes_with_all_it_started() -> None:
    """The shell's child holds the pipe open; killing the shell alone would wait for it."""
    result = Runner().run(["sh", "-c", "echo begun; sleep 600 & echo $!; wait"], limit=0.5)
    assert (result.outcome, result.status) == ("timeout", None)
    begun, child = result.out.split()
    assert begun == "begun"
    deadline = time.monotonic() + 10
    while _alive(int(child)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(int(child))


def test_a_command_that_ignores_the_polite_signal_goes_too() -> None:
    assert Runner().run(["sh", "-c", "trap '' TERM INT HUP; while :; do :; done"], limit=0.3).outcome == "timeout"


def test_a_child_left_behind_does_not_keep_the_answer_back() -> None:
    result = Runner().run(["sh", "-c", "sleep 600 & echo done"], limit=60)
    assert (result.outcome, result.status, result.out) == ("done", 0, "done\n")
    assert result.seconds < 30


def test_endless_output_is_cut() -> None:
    result = Runner().run(["yes"], limit=0.5, keep=1000)
    assert (result.outcome, len(result.out), result.cut) == ("timeout", 1000, True)


def test_exactly_what_is_kept_is_not_cut() -> None:
    result = Runner().run([PYTHON, "-c", "print('x' * 99)"], keep=100)
    assert (len(result.out), result.cut) == (100, False)


def test_the_locale_is_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("LANGUAGE", "zh")
    told = Runner().run([PYTHON, "-c", "import os, json; print(json.dumps([os.environ.get(x) for x in ('LC_ALL', 'LANGUAGE', 'LANG')]))"])
    assert json.loads(told.out) == ["C", None, None]


def test_the_environment_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GONE", "1")
    told = Runner().run([PYTHON, "-c", "import os; print(os.environ.get('GONE'), os.environ.get('NEW'))"],
                        environment={"GONE": None, "NEW": "2"})
    assert told.out == "None 2\n"
    assert os.environ["GONE"] == "1"


def test_standard_input() -> None:
    assert Runner().run(["cat"], stdin="hällo\n").out == "hällo\n"
    assert Runner().run(["cat"]).out == ""
    assert Runner().run(["true"], stdin="x" * (1 << 20)).ok


def test_bytes_that_are_no_text() -> None:
    assert Runner().run(["printf", r"a\377b"]).out == "a�b"


def test_a_signal_shows() -> None:
    result = Runner().run(["sh", "-c", "kill -9 $$"])
    assert (result.outcome, result.status) == ("done", -9)
    assert "killed by signal 9" in result.reason()


def test_a_record_replays(tmp_path: Path) -> None:
    counter = tmp_path / "n"
    command = ["sh", "-c", f"echo x >> {counter}; wc -l < {counter}"]
    recorder = Recorder()
    recorder.run(command)
    recorder.run(command)
    recorder.run(["no-such-program-here"])
    replay = Replayer(json.loads(json.dumps(recorder.document())))
    assert [replay.run(command).out.strip() for _ in range(3)] == ["1", "2", "2"]
    assert replay.run(["no-such-program-here"]).outcome == "missing"
    assert replay.run(["other"]).outcome == "unrecorded"
    assert replay.run(command, stdin="x").outcome == "unrecorded"
    assert counter.read_text() == "x\nx\n"


@pytest.mark.parametrize("document", [{}, {"record": 2, "calls": []}, {"record": 1, "calls": [{}]}, {"record": 1, "calls": 5}])
def test_what_is_no_record(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a record"):
        Replayer(document)
