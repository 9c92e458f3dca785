"""Asking before something is lost."""

from __future__ import annotations

import sys

from rivetpy.cli.problems import Problem, UsageProblem
from rivetpy.cli.text import visible


def confirm(question: str, yes: bool) -> None:
    """Go on when the person says y, or said ``--yes`` before.

    Raises Problem when they say anything else, UsageProblem when nobody is there to be asked.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageProblem(f"{question} Nobody is here to be asked; add --yes")
    print(f"{visible(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Problem("Nothing was changed")
