"""c.client() and step.client(): the other actors of this engine, reached in the process (spec actors 6)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rivetpy import codec
from rivetpy.client.calls import OpenReply
from rivetpy.client.lines import Line
from rivetpy.client.requests import ById, ByKey, Target
from rivetpy.codec import Value
from rivetpy.errors import RivetError, actor_not_found
from rivetpy.host.parts import Parts
from rivetpy.wire.bodies import QueueReply, QueueSend
from rivetpy.wire.errors import visible

if TYPE_CHECKING:
    from httpx import Request
    from websockets.asyncio.client import ClientConnection

log = logging.getLogger("rivetpy.actor")


@dataclass(frozen=True, slots=True)
class AsStep:
    """How a step reaches others: the idempotency key of its next send to a queue, and its own actor's actions."""

    next_key: Callable[[str, str], str]
    own_action: Callable[[str, list[Value]], Awaitable[Value]]


class Peers:
    """A client's backend: actors of one namespace, as one of them sees them.

    ``busy`` says that the caller is the one who would have to answer: a run handler, or a step of it.
    """

    def __init__(self, parts: Parts, *, busy: bool = False, step: AsStep | None = None) -> None:
        self._parts = parts
        self._busy = busy
        self._step = step

    async def action(self, target: Target, name: str, args: Sequence[Value]) -> Value:
        actor_id = await self._reachable(target)
        plain = codec.reread(list(args))[1]
        try:
            if self._step is not None and actor_id == self._own:
                return await self._step.own_action(name, plain)
            return await self._parts.outside.call(actor_id, name, plain, target.params)
        except Exception as error:
            raise _shown(error, f"action {name!r} of {target.shown}") from error

    async def send(self, target: Target, queue: str, message: QueueSend) -> QueueReply:
        actor_id = await self._reachable(target)
        if message.wait and self._busy and actor_id == self._own:
            raise RivetError(
                "queue",
                "waits_for_itself",
                f"This actor would wait for its own answer to queue {queue!r} for ever. Send without wait=True.",
            )
        if message.idempotency_key is None and self._step is not None:
            message = replace(message, idempotency_key=self._step.next_key(actor_id, queue))
        try:
            return await self._parts.outside.send(actor_id, queue, message, target.params)
        except Exception as error:
            raise _shown(error, f"a message to queue {queue!r} of {target.shown}") from error

    async def resolve(self, target: ByKey) -> str:
        own, outside = self._parts.core.row, self._parts.outside
        namespace = own.namespace
        if (target.name, target.key) == (own.name, own.key):
            return own.id
        if target.create:
            row, _ = await outside.get_or_create(namespace, target.name, target.key, target.input)
            return row.id
        found = await outside.find(namespace, target.name, target.key)
        if found is None:
            raise actor_not_found(target.shown)
        return found.id

    async def create(self, target: ByKey) -> str:
        row = await self._parts.outside.create(
            self._parts.core.row.namespace, target.name, target.key, target.input
        )
        return row.id

    async def dial(self, target: Target) -> Line:
        raise _not_here("connect")

    async def websocket(self, target: Target, path: str) -> ClientConnection:
        raise _not_here("websocket")

    async def fetch(
        self, target: Target, path: str, request: Request, parts: AsyncIterable[bytes] | None
    ) -> OpenReply:
        raise _not_here("fetch")

    async def close(self) -> None:
        """Nothing was opened."""

    @property
    def _own(self) -> str:
        return self._parts.core.row.id

    async def _reachable(self, target: Target) -> str:
        actor_id = target.actor_id if isinstance(target, ById) else await self.resolve(target)
        if actor_id == self._own and not self._parts.outside.is_awake(actor_id):
            raise RivetError(
                "actor",
                "calls_itself",
                "An actor can't reach itself while it is waking up or leaving: it would wait for ever.",
            )
        return actor_id


def _not_here(method: str) -> RivetError:
    return RivetError(
        "client",
        "not_available",
        f"An actor's own client has no {method}; use rivetpy.client.create_client() for it.",
    )


def _shown(error: Exception, what: str) -> Exception:
    """The error as any client would get it; what it hides is in the log."""
    shown = visible(error)
    if shown is not error:
        log.error("%s failed", what, exc_info=error)
    return shown
