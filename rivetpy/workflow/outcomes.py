"""How a run of a workflow function may end, as values."""

from __future__ import annotations

from dataclasses import dataclass

from rivetpy.errors import StoreError
from rivetpy.workflow.errors import HistoryDivergedError
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.waits import Wait


@dataclass(frozen=True, slots=True)
class Completed:
    """The function returned; ``output`` is its encoded result."""

    output: bytes


@dataclass(frozen=True, slots=True)
class Failed:
    """The function raised; ``rollback`` is why a rollback handler failed after that."""

    failure: Failure
    rollback: Failure | None = None


@dataclass(frozen=True, slots=True)
class Diverged:
    """The function no longer fits its journal; nothing was written."""

    error: HistoryDivergedError


@dataclass(frozen=True, slots=True)
class Suspended:
    """The run was put away; ``waits`` is what it waited for (empty: it was in the middle of something)."""

    waits: tuple[Wait, ...]
    #: Set when a commit was refused: what is in memory is no longer what is stored.
    error: StoreError | None = None


Outcome = Completed | Failed | Diverged | Suspended


def described(outcome: Outcome) -> str:
    """What the function did, in a word."""
    match outcome:
        case Completed():
            return "returned"
        case Failed(failure):
            return f"raised {failure}"
        case _:
            return "went on"
