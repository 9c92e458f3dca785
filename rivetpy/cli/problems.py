"""How a command ends when it can't do its work: an exit code and a line that says what to do next."""

from __future__ import annotations

FAILED = 1
WRONG_USAGE = 2
CANNOT_START = 3
INTERRUPTED = 130


class Problem(Exception):
    """The command failed (exit 1). ``detail`` is printed under the line: a caret, or the user's own frames."""

    code = FAILED

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class UsageProblem(Problem):
    """The command was typed wrong (exit 2); nothing was done."""

    code = WRONG_USAGE


class StartProblem(Problem):
    """`rivet dev` could not start (exit 3)."""

    code = CANNOT_START
