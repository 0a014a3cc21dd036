"""Running a command: with a time limit, in the C locale, and never a surprise. Real, recorded, or replayed from a record.

A run has an outcome out of a closed set, and a program that is missing, hangs or prints without end is one of them, not an exception:

    done        it ended by itself; `status` is its exit status (negative: killed by that signal)
    missing     there is no such program
    refused     the system would not start it (`err` says why)
    timeout     it did not end within the limit and was killed with everything it had started
    unrecorded  a replay was asked for a command that its record does not hold
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

KEEP = 4 << 20  # bytes of each stream that are kept
_GRACE = 1.0  # seconds that a killed process gets to be gone


class Result(NamedTuple):
    """What came of a command. `cut` tells that a stream was longer than what is kept."""

    command: tuple[str, ...]
    outcome: str
    status: int | None = None
    out: str = ""
    err: str = ""
    cut: bool = False
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.outcome == "done" and self.status == 0

    def reason(self) -> str:
        """One line on why it is not ok; empty when it is."""
        name = os.path.basename(self.command[0]) if self.command else "nothing"
        if self.ok:
            return ""
        if self.outcome == "done":
            last = next((line.strip() for line in reversed((self.err or self.out).splitlines()) if line.strip()), "")
            killed = self.status is not None and self.status < 0
            how = f"was killed by signal {-(self.status or 0)}" if killed else f"ended with status {self.status}"
            return f"{name} {how}" + (f": {last[:300]}" if last else "")
        return {"missing": f"there is no {name} here", "timeout": f"{name} did not answer within {self.seconds:.0f} s and was stopped",
                "unrecorded": f"the record does not hold this call of {name}"}.get(self.outcome, f"{name} could not be started: {self.err}")


class Runner:
    """Runs commands on this machine."""

    def run(self, command: Sequence[str], *, limit: float = 30.0, keep: int = KEEP, stdin: str = "",
            environment: Mapping[str, str | None] | None = None, folder: str | None = None) -> Result:
        """Run a command and wait for it, `limit` seconds at most.

        environment: variables to set on top of this process's own, None to take one out. Messages are English (LC_ALL=C).
        What it leaves running with a hold on its output is stopped with it. Raises nothing but KeyboardInterrupt, and then the
        command is gone as well."""
        import subprocess
        import threading
        import time

        told = tuple(str(part) for part in command)
        begun = time.monotonic()

        def result(outcome: str, status: int | None = None, err: str = "") -> Result:
            return Result(told, outcome, status, "", err, False, round(time.monotonic() - begun, 3))

        where: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {"creationflags": 0x00000200}  # a new process group
        try:
            child = subprocess.Popen(told, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=_environment(environment), cwd=folder, **where)
        except FileNotFoundError as fault:
            if folder is not None and not os.path.isdir(folder):
                return result("refused", err=f"{folder} is no folder")
            return result("missing", err=fault.strerror or str(fault))
        except (OSError, ValueError, IndexError) as fault:  # no permission, no such format, a NUL in an argument, nothing to run
            return result("refused", err=getattr(fault, "strerror", None) or str(fault))
        streams = [_Stream(child.stdout, keep), _Stream(child.stderr, keep)]
        readers = [threading.Thread(target=stream.drain, daemon=True) for stream in streams]
        if stdin:
            readers.append(threading.Thread(target=_feed, args=(child.stdin, stdin.encode()), daemon=True))
        for reader in readers:
            reader.start()
        outcome = "done"
        try:
            child.wait(max(limit, 0.0))
        except subprocess.TimeoutExpired:
            outcome = "timeout"
            _kill(child)
        except BaseException:
            _kill(child)
            raise
        # What the command left running may hold the pipes open for ever: they are waited for, but not long.
        deadline = time.monotonic() + (_GRACE if outcome == "timeout" else min(_GRACE, limit))
        for reader in readers:
            reader.join(max(deadline - time.monotonic(), 0.0))
        if any(reader.is_alive() for reader in readers):
            _kill(child)
        return Result(told, outcome, child.returncode if outcome == "done" else None, streams[0].text(), streams[1].text(),
                      any(stream.cut for stream in streams), round(time.monotonic() - begun, 3))


class _Stream:
    """Reads a pipe to its end and keeps the beginning."""

    def __init__(self, pipe: Any, keep: int) -> None:
        self.pipe, self.keep = pipe, keep
        self.parts: list[bytes] = []
        self.size = 0
        self.cut = False

    def drain(self) -> None:
        try:
            while part := self.pipe.read1(65536):
                kept = part[:self.keep - self.size]
                self.cut = self.cut or len(kept) < len(part)
                if kept:
                    self.parts.append(kept)
                    self.size += len(kept)
        except (OSError, ValueError):
            pass
        finally:
            self.pipe.close()

    def text(self) -> str:
        return b"".join(list(self.parts)).decode("utf-8", "replace")


def _feed(pipe: Any, content: bytes) -> None:
    try:
        pipe.write(content)
        pipe.close()
    except OSError:  # it did not care to read
        pass


def _kill(child: Any) -> None:
    """Kill a process and everything in its group. One that hangs in the kernel cannot be killed: it is left behind."""
    import signal
    import subprocess

    try:
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)  # the group bears the number of its first process, which may be gone already
        else:
            child.kill()
    except (OSError, PermissionError):
        pass
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        pass


def _environment(changes: Mapping[str, str | None] | None) -> dict[str, str]:
    made = dict(os.environ)
    for name in ("LANGUAGE", "LC_MESSAGES", "LANG"):
        made.pop(name, None)
    made["LC_ALL"] = "C"
    for name, value in (changes or {}).items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = value
    return made


# Records ---------------------------------------------------------------------------------------------------------------------------

def _key(command: Sequence[str], stdin: str, environment: Mapping[str, str | None] | None) -> str:
    import json

    return json.dumps([list(map(str, command)), stdin, sorted((environment or {}).items())], ensure_ascii=False)


class Recorder(Runner):
    """Runs through another runner and notes every call and its result."""

    def __init__(self, inner: Runner | None = None) -> None:
        self.inner = inner or Runner()
        self.calls: list[dict[str, Any]] = []

    def run(self, command: Sequence[str], *, limit: float = 30.0, keep: int = KEEP, stdin: str = "",
            environment: Mapping[str, str | None] | None = None, folder: str | None = None) -> Result:
        """As `Runner.run`."""
        result = self.inner.run(command, limit=limit, keep=keep, stdin=stdin, environment=environment, folder=folder)
        self.calls.append({"command": list(result.command), "stdin": stdin, "environment": dict(environment or {}),
                           **{name: getattr(result, name) for name in Result._fields[1:]}})
        return result

    def document(self) -> dict[str, Any]:
        """The record, as a JSON object."""
        return {"record": 1, "calls": self.calls}


class Replayer(Runner):
    """Answers out of a record. The same call made again gets the next answer noted for it, and the last one from then on.

    Raises ValueError when the document is no record."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.answers: dict[str, list[Result]] = {}
        try:
            if document["record"] != 1:
                raise ValueError
            for call in document["calls"]:
                result = Result(tuple(call["command"]), *(call[name] for name in Result._fields[1:]))
                self.answers.setdefault(_key(result.command, call["stdin"], call["environment"]), []).append(result)
        except (KeyError, TypeError, ValueError):
            raise ValueError("this is not a record of commands") from None

    def run(self, command: Sequence[str], *, limit: float = 30.0, keep: int = KEEP, stdin: str = "",  # noqa: ARG002
            environment: Mapping[str, str | None] | None = None, folder: str | None = None) -> Result:  # noqa: ARG002
        """As `Runner.run`, without running anything."""
        answers = self.answers.get(_key(command, stdin, environment))
        if not answers:
            return Result(tuple(map(str, command)), "unrecorded")
        return answers.pop(0) if len(answers) > 1 else answers[0]
