"""One shape of a problem, and the exit statuses of every command."""

from __future__ import annotations

OK = 0
BUG = 1  # a fault of provision itself
BAD_INPUT = 2
UNSATISFIABLE = 3
WRONG = 4  # checked, and something is wrong
REBOOT = 6  # reboot, then run the same command again
INTERRUPTED = 130


class Problem(Exception):
    """Something the user can mend.

    code: a short slug ("spec-unknown-key"). what: what is wrong. because: of what. todo: what to do about it.
    file, line, column: where, counted from 1. status: the exit status it leads to.
    """

    def __init__(
        self, code: str, what: str, *, because: str = "", todo: str = "", file: str = "", line: int = 0, column: int = 0,
        status: int = BAD_INPUT,
    ) -> None:
        super().__init__(what)
        self.code, self.what, self.because, self.todo = code, what, because, todo
        self.file, self.line, self.column, self.status = file, line, column, status

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        text = f"{place}: {self.what}" if place else self.what
        if self.because:
            text += f"\n  because: {self.because}"
        if self.todo:
            text += f"\n  to do: {self.todo}"
        return text

    def as_dict(self) -> dict[str, object]:
        """The same as a JSON object."""
        return {"code": self.code, "what": self.what, "because": self.because, "todo": self.todo, "file": self.file,
                "line": self.line, "column": self.column}


class ProblemList(Exception):
    """Several problems found in one pass."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems

    @property
    def status(self) -> int:
        """The exit status of the gravest."""
        return max((each.status for each in self.problems), default=BAD_INPUT)

    def __str__(self) -> str:
        return "\n".join(str(each) for each in self.problems)


def nearest(word: str, known: list[str] | tuple[str, ...], limit: int = 3) -> list[str]:
    """The known names nearest to `word`, best first; none when nothing is near."""
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in known}
    return [folded[each] for each in get_close_matches(word.casefold(), list(folded), n=limit, cutoff=0.6)]
