"""What handles and connections have in common: an actor, its queues, and its actions as methods."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import inspect
from collections.abc import Awaitable, Callable

from rivetpy.client.backend import Backend
from rivetpy.client.requests import ById, Target
from rivetpy.wire.bodies import QueueReply, QueueSend
from rivetpy.wire.tags import Value

#: Parameters of connections and calls; a function (also async) is asked anew for each.
Params = Value | Callable[[], Value]


class Addressee:
    """One actor: its actions as methods, its queues through `send`.

    An action whose name is taken here (``send``, ``resolve`` …) is called with `action`.
    """

    def __init__(self, backend: Backend, target: Target, params: Params = None) -> None:
        self._backend = backend
        self._target = target
        self._params = params

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Value]]:
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(self.action, name)

    async def action(self, name: str, /, *args: Value) -> Value:
        """Call an action and return what it returned. Raises the RivetError it failed with."""
        raise NotImplementedError

    async def send(
        self,
        queue: str,
        body: Value = None,
        *,
        wait: bool = False,
        timeout: float | dt.timedelta | None = None,
        idempotency_key: str | None = None,
    ) -> QueueReply | None:
        """Put a message into a queue; it is durable when this returns.

        With ``wait`` the answer is how it ended: ``completed`` with the response, or ``timedOut`` after
        ``timeout`` seconds. A second send with the same ``idempotency_key`` enqueues nothing.
        """
        message = QueueSend(body, wait, _seconds(timeout), idempotency_key)
        reply = await self._backend.send(await self._aimed(), queue, message)
        return reply if wait else None

    async def resolve(self) -> str:
        """The actor's id. Raises RivetError ``actor.not_found`` for a `Actors.get` of nothing."""
        target = self._target
        if isinstance(target, ById):
            return target.actor_id
        return await self._backend.resolve(target)

    async def _aimed(self) -> Target:
        """The actor, with the parameters of this moment."""
        if self._params is None:
            return self._target
        params = self._params() if callable(self._params) else self._params
        if inspect.isawaitable(params):
            params = await params
        return dataclasses.replace(self._target, params=params)


def _seconds(timeout: float | dt.timedelta | None) -> float | None:
    if timeout is None:
        return None
    from rivetpy.workflow.duration import milliseconds

    return milliseconds(timeout, "timeout") / 1000
