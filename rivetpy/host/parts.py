"""What an awake actor is made of, as its contexts and hooks are handed it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rivetpy.codec import Value
from rivetpy.host.conns import Conns
from rivetpy.host.core import Core
from rivetpy.host.database import Database, NoDatabase
from rivetpy.host.events import HostEvent, Watcher
from rivetpy.host.inbox import Inbox
from rivetpy.host.logs import Log
from rivetpy.host.queues import Queues
from rivetpy.host.rows import DirectRows, Table
from rivetpy.host.work import Work
from rivetpy.identity import Key
from rivetpy.store import ActorRow
from rivetpy.wire.bodies import QueueReply, QueueSend
from rivetpy.workflow.failure import failure_of


class Outside(Protocol):
    """What an actor may ask of its host; see `Host`."""

    def is_awake(self, actor_id: str) -> bool: ...

    async def create(self, namespace: str, name: str, key: Key, input: Value = None) -> ActorRow: ...

    async def get_or_create(
        self, namespace: str, name: str, key: Key, input: Value = None
    ) -> tuple[ActorRow, bool]: ...

    async def find(self, namespace: str, name: str, key: Key) -> ActorRow | None: ...

    async def call(
        self, actor_id: str, action: str, args: Sequence[Value], params: Value = None
    ) -> Value: ...

    async def send(
        self, actor_id: str, queue: str, message: QueueSend, params: Value = None
    ) -> QueueReply: ...

    def sleep_soon(self, actor_id: str) -> None:
        """Put an actor away once its calls are answered."""
        ...

    def destroy_soon(self, actor_id: str) -> None:
        """Destroy an actor once its calls are answered."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """One awake actor in its parts."""

    core: Core
    queues: Queues
    inbox: Inbox
    conns: Conns
    work: Work
    table: Table
    rows: DirectRows
    db: Database | NoDatabase
    log: Log
    outside: Outside
    watch: Watcher

    def failed(self, what: str, error: BaseException) -> None:
        """Tell whoever watches of an error that nobody awaits."""
        tell_failed(self.watch, self.core, what, error)


def tell_failed(watch: Watcher, core: Core, what: str, error: BaseException) -> None:
    """Tell whoever watches that something of an actor failed where nobody awaits it."""
    text = f"{what} failed: {type(error).__name__}: {error}"
    watch(HostEvent("actor_failed", core.row, text, logging.ERROR, failure=failure_of(error)))
