"""What a workflow raises: failures the user may catch, and signals that only the engine may."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.workflow.failure import Failure, RecordedError
from rivetpy.workflow.location import name_of, split


class CriticalError(Exception):
    """Raised in a step body: this failure is final, do not retry (spec workflows 3)."""


class RollbackError(Exception):
    """Raised in a step body: this failure is final, and what was done so far is to be rolled back."""


class WorkflowUsageError(RivetError):
    """A verb was called in a way that could not be replayed; the message says what to write instead."""

    def __init__(self, message: str, code: str = "usage") -> None:
        super().__init__("workflow", code, message)


class RollbackCheckpointError(WorkflowUsageError):
    """A step has a rollback handler, but no checkpoint was set before it."""

    def __init__(self, step: str) -> None:
        super().__init__(
            f"Step {step!r} has a rollback handler but no checkpoint comes before it: write "
            "`await ctx.rollback_checkpoint('…')` where rolling back begins.",
            "rollback_checkpoint",
        )


class StepError(RecordedError):
    """A step failed for good. Built from the journal, so a replay raises the very same error."""

    #: critical, timeout, exhausted or rollback.
    reason: ClassVar[str]

    def __init__(self, location: str, step: str, attempts: int, failure: Failure) -> None:
        super().__init__(
            failure.group or "workflow",
            failure.code or f"step_{self.reason}",
            f"Step {step!r} {self.described(attempts)}: {failure}",
            failure.metadata,
        )
        self.location = location
        self.failures = (failure,)
        self.step_name = step
        self.attempts = attempts

    @property
    def failure(self) -> Failure:
        """What the last attempt raised: type name, message, traceback text, causes."""
        return self.failures[0]

    def described(self, attempts: int) -> str:
        return f"failed after {attempts} attempt{'s' if attempts != 1 else ''}"


class StepCriticalError(StepError):
    """The body raised CriticalError, or its result could not be stored."""

    reason = "critical"

    def described(self, attempts: int) -> str:
        return "failed and must not be retried"


class StepTimeoutError(StepError):
    """The body took longer than the step's timeout."""

    reason = "timeout"

    def described(self, attempts: int) -> str:
        return "timed out"


class StepExhaustedError(StepError):
    """The last allowed attempt failed."""

    reason = "exhausted"


class StepRollbackError(StepError):
    """The body raised RollbackError."""

    reason = "rollback"

    def described(self, attempts: int) -> str:
        return "asked for a rollback"


#: The error that stands for a failed step entry, by the entry's recorded reason.
STEP_ERRORS: dict[str, type[StepError]] = {
    cls.reason: cls for cls in (StepCriticalError, StepTimeoutError, StepExhaustedError, StepRollbackError)
}


class BranchesError(RecordedError):
    """Branches failed; ``errors`` has what each of them raised, by branch."""

    what: ClassVar[str]

    def __init__(self, location: str, name: str, errors: dict[str, Failure]) -> None:
        listed = "; ".join(f"{branch}: {failure}" for branch, failure in errors.items())
        super().__init__("workflow", f"{self.what}_failed", f"{self.summary(name, len(errors))}: {listed}")
        self.location = location
        self.failures = tuple(errors.values())
        self.errors = errors

    def summary(self, name: str, count: int) -> str:
        return f"{count} branch{'es' if count != 1 else ''} of join {name!r} failed"


class JoinError(BranchesError):
    """Some branches of a join failed; the others finished first."""

    what = "join"


class RaceError(BranchesError):
    """Every branch of a race failed."""

    what = "race"

    def summary(self, name: str, count: int) -> str:
        return f"all {count} branches of race {name!r} failed"


class QueueTimeoutError(RivetError):
    """`queue.next` reached its timeout (spec workflows 7)."""

    def __init__(self, wait: str) -> None:
        super().__init__(
            "queue",
            "timed_out",
            f"No message came before the timeout of wait {wait!r}. Where that is no error, "
            "use queue.next_batch: it returns [] instead.",
        )


class MessageError(RivetError):
    """A completable message was used out of turn."""

    def __init__(self, code: str, message: str, metadata: Value = None) -> None:
        super().__init__("queue", code, message, metadata)


class Signal(BaseException):
    """Control flow of the engine. Not an Exception: ``except Exception`` must never eat it."""


class Evicted(Signal):
    """The workflow is put away here and will go on later; let it pass."""

    def __init__(self) -> None:
        super().__init__("the workflow is being put away; clean up without verbs and let this pass")


class Stopped(Signal):
    """A rollback's replay came to where the run had got: nothing further forward may happen."""

    def __init__(self) -> None:
        super().__init__("the workflow is being rolled back; let this pass")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded entry near the place where code and journal part; ``here``: the one at that place."""

    location: str
    kind: str
    here: bool


class HistoryDivergedError(Signal):
    """The code asks for something else than its journal recorded (spec workflows 10).

    ``expected`` is what the code asked for, ``found`` what the journal has, ``site`` the file:line of the call,
    ``around`` what is recorded before and after that place in the same scope.
    """

    def __init__(
        self, location: str, expected: str, found: str, site: str, around: Sequence[Recorded] = ()
    ) -> None:
        self.location = location
        self.expected = expected
        self.found = found
        self.site = site
        self.around = tuple(around)
        super().__init__(self.described())

    def described(self) -> str:
        """What is wrong, where, and the ways out."""
        return (
            f"The code no longer fits its history at {self.location!r}: it asks for {self.expected}, "
            f"the journal has {self.found} ({self.site}). Nothing was run or written. Ways out: ctx.removed for what "
            "was taken out, ctx.get_version for what runs under way must not see, a new name for what does "
            "something else now, or `rivet rewind`."
        )

    def failure(self) -> Failure:
        """As recorded: what was asked for, what is there, and what is recorded around it are its metadata."""
        return Failure(
            type(self).__qualname__,
            type(self).__module__,
            str(self),
            "workflow",
            "history_diverged",
            {
                "location": self.location,
                "expected": self.expected,
                "found": self.found,
                "site": self.site,
                "around": [dataclasses.asdict(recorded) for recorded in self.around],
            },
            location=self.location,
        )


class UsedTwiceError(HistoryDivergedError):
    """A name is used twice in one scope: at ``first`` and then at ``site``, which the journal can't tell apart."""

    def __init__(self, location: str, kind: str, first: str, site: str) -> None:
        name = name_of(split(location)[1])
        self.first = first
        super().__init__(location, f"{kind} {name!r} again", f"it, used at {first}", site)

    def described(self) -> str:
        """What is wrong, where, and the ways out."""
        name = name_of(split(self.location)[1])
        there = "both times" if self.first == self.site else f"after {self.first}"
        return (
            f"The name {name!r} is used twice in the same scope, at {self.site}, {there}. The second was not run. "
            f"Give each a name of its own, such as f'{name}-{{item}}', or use ctx.loop: every iteration is a scope."
        )
