"""What the commands ask of a running engine, as calls over one kept connection."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from rivetpy.cli.paging import Paged
from rivetpy.cli.problems import Problem
from rivetpy.client.calls import Call
from rivetpy.client.endpoint import Endpoint
from rivetpy.client.insistence import Insistence
from rivetpy.client.plain import PlainTransport
from rivetpy.client.requests import ById, ByKey, Requests, Target
from rivetpy.errors import RivetError
from rivetpy.identity import Key, format_key
from rivetpy.wire.bodies import QueueReply, QueueSend
from rivetpy.wire.jsonvalue import Json, JsonError, JsonObject, Value

T = TypeVar("T")

#: Who was not named may be anybody, who says nothing too: it is waited for so long (seconds).
_PATIENCE = 5.0


class EngineApi:
    """One engine. Every method raises RivetError as the engine answered it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._requests = Requests(endpoint)
        self._transport = PlainTransport(endpoint)

    def metadata(self) -> JsonObject:
        """What the engine runs: ``actorNames`` with queues and actions, ``dataDir``, ``durability``."""
        answer = self._run(self._requests.metadata())
        if "actorNames" not in answer:
            raise _no_engine(self.endpoint)
        return answer

    def actors(self, name: str | None, limit: int | None = None, cursor: str | None = None) -> Paged:
        """The actors, newest first, each with its summary; asks for the next page when it is needed."""
        query = {"summary": "true"} | ({"name": name} if name is not None else {})

        def page(size: int, start: str | None) -> tuple[list[JsonObject], str | None]:
            where = {} if start is None else {"cursor": start}
            answer = self._run(self._requests.actors(**query, **where, limit=str(size)))
            return answer["actors"], answer["pagination"]["cursor"]

        return Paged(page, limit, cursor)

    def keys(self, name: str, limit: int) -> Iterator[str]:
        """The keys of the newest actors of a name."""
        for actor in self._run(self._requests.actors(name=name, limit=str(limit)))["actors"]:
            yield actor["key"]

    def find(self, name: str, key: Key, *, summary: bool = False) -> JsonObject | None:
        """The actor of this name and key, with its summary if wanted."""
        query = {"name": name, "key": format_key(key)} | ({"summary": "true"} if summary else {})
        actors = self._run(self._requests.actors(**query))["actors"]
        return next(iter(actors), None)

    def at(self, name: str, key: Key) -> Target:
        """Where to send to or call the actor of this name and key, which is made by that when it isn't there."""
        actor = ByKey(name, key)
        return actor if actor.fits_url else ById(self._run(self._requests.resolve(actor)))

    def destroy(self, actor: str) -> None:
        """Remove the actor and everything it has stored."""
        self._run(self._requests.destroy(actor))

    def wake(self, actor: str) -> None:
        """Bring the actor into memory."""
        self._run(self._requests.wake(actor))

    def sleep(self, actor: str) -> None:
        """Put the actor away until something comes for it."""
        self._run(self._requests.sleep(actor))

    def export(self, actor: str) -> bytes:
        """The actor as a file."""
        return self._run(self._requests.export(actor))

    def restore(self, data: bytes, key: str | None) -> JsonObject:
        """Make the actor of a file, under another key if given: the actor, and how much is in it."""
        return self._run(self._requests.restore(data, key))

    def fork(self, actor: str, key: str, location: str | None) -> JsonObject:
        """Copy an actor to another key, as it was before an entry if given."""
        return self._run(self._requests.fork(actor, key, location))

    def workflow(self, actor: str, verb: str, **given: Json) -> JsonObject:
        """Have a workflow go on differently: ``recover``, ``cancel``, ``rewind``, ``undo``."""
        return self._run(self._requests.inspect(actor, f"workflow/{verb}", method="POST", body=given))

    def send(
        self, actor: Target, queue: str, message: QueueSend, away: Callable[[], None] | None = None
    ) -> QueueReply:
        """Put a message into a queue; one that waits, again when the engine begins anew meanwhile.

        ``away`` is called when there is none at that address for a while.
        """
        if not message.wait:
            return self._run(self._requests.send(actor, queue, message))
        send = Insistence(message)
        while True:
            try:
                return self._run(self._requests.send(actor, queue, send.message))
            except RivetError as error:
                pause = send.pause(error)
                if error.code == "connection_failed" and away is not None:
                    away()
                    away = None
            time.sleep(pause)

    def call(self, actor: Target, action: str, args: list[Value]) -> Value:
        """Call an action; what it returned."""
        return self._run(self._requests.action(actor, action, args))

    def inspect(self, actor: str, what: str) -> JsonObject:
        """One of the inspector's views: ``state``, ``queue``, ``summary``."""
        return self._run(self._requests.inspect(actor, what))

    def history(self, actor: str, limit: int | None = None, since: int | None = None) -> JsonObject:
        """The actor's journal: all entries or the newest, or what may have changed ``since`` (epoch ms)."""
        query = {n: str(v) for n, v in (("limit", limit), ("since", since)) if v is not None}
        return self._run(self._requests.inspect(actor, "workflow-history", query=query))

    def set_state(self, actor: str, state: Json, revision: str) -> None:
        """Replace the actor's state of this revision; ``actor.state_changed`` when it has another by now."""
        body = {"state": state, "revision": revision}
        self._run(self._requests.inspect(actor, "state", method="PATCH", body=body))

    def drop(self, actor: str, message: int | None) -> None:
        """Remove one waiting message, or all of them."""
        which = None if message is None else {"id": str(message)}
        self._run(self._requests.inspect(actor, "queue", method="DELETE", query=which))

    def close(self) -> None:
        """Let go of the connection."""
        self._transport.close()

    def _run(self, call: Call[T]) -> T:
        try:
            return self._transport.run(call)
        except JsonError:
            raise _no_engine(self.endpoint) from None
        except RivetError as error:
            if (error.group, error.code) == ("rivetkit", "internal_error") and error.metadata is None:
                raise Problem(f"{error.message}. What went wrong is in the engine's log") from None
            raise


def introduced(endpoint: Endpoint) -> JsonObject | None:
    """What the engine at an address that nobody named runs; None when no rivet engine answers there.

    Of one that wants a token we don't have, nothing more is known: an empty object.
    """
    question = dataclasses.replace(Requests(endpoint).metadata(), idempotent=False)  # asked once
    with PlainTransport(endpoint, _PATIENCE) as transport:
        try:
            answer = transport.run(question)
        except JsonError:
            return None
        except RivetError as error:
            return {} if error.group == "auth" else None
    return answer if "actorNames" in answer else None


def _no_engine(endpoint: Endpoint) -> Problem:
    return Problem(f"What answers at {endpoint.url} is not a rivetpy engine. Name it: --endpoint URL")
