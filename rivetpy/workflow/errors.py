"""What a workflow raises: failures the user may catch, and signals that only the engine may."""

from __future__ import annotations

from typing import ClassVar

from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.workflow.failure import Failure


class CriticalError(Exception):
    """Raised in a step body: this failure is final, do not retry (spec workflows 3)."""


class WorkflowUsageError(RivetError):
    """A verb was called in a way that could not be replayed; the message says what to write instead."""

    def __init__(self, message: str) -> None:
        super().__init__("workflow", "usage", message)


class StepError(RivetError):
    """A step failed for good. Built from the journal, so a replay raises the very same error."""

    reason: ClassVar[str]

    def __init__(self, step: str, attempts: int, failure: Failure) -> None:
        super().__init__(
            failure.group or "workflow",
            failure.code or f"step_{self.reason}",
            f"Step {step!r} {self.described(attempts)}: {failure}",
            failure.metadata,
        )
        self.step_name = step
        self.attempts = attempts
        #: What the last attempt raised: type name, message, traceback text, causes.
        self.failure = failure

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


#: The error that stands for a failed step entry, by the entry's recorded reason.
STEP_ERRORS: dict[str, type[StepError]] = {
    cls.reason: cls for cls in (StepCriticalError, StepTimeoutError, StepExhaustedError)
}


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


class HistoryDivergedError(Signal):
    """The code asks for something else than its journal recorded (spec workflows 10).

    ``expected`` is what the code asked for, ``found`` what the journal has, ``site`` the file:line of the call.
    """

    def __init__(self, location: str, expected: str, found: str, site: str) -> None:
        self.location = location
        self.expected = expected
        self.found = found
        self.site = site
        super().__init__(
            f"The code no longer fits its history at {location!r}: it asks for {expected}, "
            f"the journal has {found} ({site}). Nothing was run or written. Bring the old code back, "
            "or start this actor afresh under another key."
        )
