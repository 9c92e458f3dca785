"""What an actor looks like from outside: values the inspector and the command line show, awake or asleep."""

from __future__ import annotations

from dataclasses import dataclass

from rivetpy.codec import Value
from rivetpy.store import ActorRow
from rivetpy.workflow.entries import Entry, Message
from rivetpy.workflow.failure import Failure


@dataclass(frozen=True, slots=True)
class WaitView:
    """One thing a workflow waits for. Times are epoch ms."""

    #: sleep, message or retry.
    reason: str
    location: str
    deadline: int | None = None
    #: For a message: the queues; None means all of them.
    queues: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class WorkflowView:
    """A workflow's status (spec workflows 11), what it waits for, how it ended, and its journal by seq."""

    status: str
    waits: tuple[WaitView, ...]
    output: Value
    failure: Failure | None
    entries: tuple[Entry, ...]
    #: Why a rollback handler failed after the workflow had.
    rollback_failure: Failure | None = None
    #: How many older entries there are besides, when only the newest were asked for.
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ConnectionView:
    """A client that is connected, for one call or (``lasting``) until it leaves."""

    id: str
    params: Value
    state: Value
    subscriptions: int
    lasting: bool


@dataclass(frozen=True, slots=True)
class ActorView:
    """Everything there is to see of one actor."""

    row: ActorRow
    awake: bool
    state: Value
    queue: tuple[Message, ...]
    workflow: WorkflowView | None
    #: False for an actor that keeps none.
    has_state: bool = True
    #: Also those of an actor that sleeps.
    connections: tuple[ConnectionView, ...] = ()
