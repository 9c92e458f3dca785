"""The inspector's WebSocket: what an actor holds, requests about it, and what changes, as it changes (wire 9.3)."""

from __future__ import annotations

import asyncio
import contextlib

from rivetpy.engine.actors import options_of
from rivetpy.engine.http import for_client
from rivetpy.engine.inspector.answers import Answers
from rivetpy.engine.sockets import FAILED, Gone, Socket, TooLong
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.host.view import ActorView
from rivetpy.host.watching import Change, Changes
from rivetpy.store import ActorRow
from rivetpy.wire.inspected import TO_INSPECTOR, Error, ToInspector
from rivetpy.wire.inspecting import LATEST, TO_ACTOR, UNNAMED, ActionRequest, ToActor

#: Actions that may run at a time; the next message is read when one of them ends.
MAX_RUNNING = 32
#: Seconds between two updates, at least; and never more than a part of the time goes into making them.
PAUSE = 0.05
MAKING = 0.2
#: The order in which changes are told.
_ORDER = tuple(Change)


class Framing:
    """How messages are framed: in a version that the client named, or each with a version in front of it."""

    def __init__(self, named: int | None) -> None:
        self._named = named
        self.version = UNNAMED if named is None else named

    def write(self, message: ToInspector) -> bytes:
        """A message as a frame."""
        data = TO_INSPECTOR.write(message, self.version)
        return data if self._named else self.version.to_bytes(2, "little") + data

    def read(self, data: bytes) -> ToActor:
        """The message of a frame. Raises RivetError ``actor.invalid_request``."""
        if self._named is not None:
            return TO_ACTOR.read(data, self._named)
        version = int.from_bytes(data[:2], "little")
        if len(data) < 2 or not 1 <= version <= LATEST:
            raise RivetError(
                "actor", "invalid_request", f"A message begins with a version from 1 to {LATEST}."
            )
        return TO_ACTOR.read(data[2:], version)


class Inspection:
    """One inspector that looks at one actor."""

    def __init__(self, host: Host, row: ActorRow, socket: Socket, framing: Framing, ray_id: str) -> None:
        self._host = host
        self._row = row
        self._socket = socket
        self._framing = framing
        self._ray_id = ray_id
        self._answers = Answers(host, row)
        self._changed: set[Change] = set()
        self._news = asyncio.Event()
        self._sending = asyncio.Lock()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Until one side ends it, or the actor is gone. Raises what ends it, for the reason of the close frame."""
        with self._host.watching(self._row.id, self._note):
            await self._send(await self._answers.init())
            work = [
                asyncio.create_task(self._read()),
                asyncio.create_task(self._tell()),
                asyncio.create_task(_end_with(stopping)),
            ]
            try:
                done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (*work, *self._running):
                    task.cancel()
                await asyncio.gather(*work, *self._running, return_exceptions=True)
        for task in done:
            task.result()

    def _note(self, changes: Changes) -> None:
        self._changed |= changes
        self._news.set()

    # -- what the inspector asks -------------------------------------------------------------------------

    async def _read(self) -> None:
        limit = options_of(self._host, self._row.name).max_incoming_message_size
        while True:
            try:
                data = await self._socket.receive(limit)
            except TooLong:
                await self._socket.close(FAILED, f"message.incoming_too_long#{self._ray_id}")
                raise Gone from None
            await self._take(data)

    async def _take(self, data: bytes) -> None:
        try:
            asked = self._framing.read(data)
        except RivetError as error:
            await self._refuse(error)
            return
        if not isinstance(asked, ActionRequest):
            await self._answer(asked)
            return
        while len(self._running) >= MAX_RUNNING:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        action = asyncio.create_task(self._answer(asked))
        self._running.add(action)
        action.add_done_callback(self._running.discard)

    async def _answer(self, asked: ToActor) -> None:
        try:
            answer = await self._answers.answer(asked)
        except Exception as error:
            await self._refuse(error)
            return
        if answer is None:
            self._note(frozenset({Change.STATE}))
        else:
            await self._send(answer)

    async def _refuse(self, error: Exception) -> None:
        shown = for_client(error, self._ray_id)
        await self._send(Error(f"{shown.code}: {shown.message}"))

    # -- what the inspector is told ----------------------------------------------------------------------

    async def _tell(self) -> None:
        """Tell what changed; what changes again and again is told as it is by then."""
        loop = asyncio.get_running_loop()
        while True:
            await self._news.wait()
            self._news.clear()
            begun = loop.time()
            changed, self._changed = self._changed, set()
            view = await self._answers.view()
            for change in _ORDER:
                if change in changed:
                    await self._update(change, view)
            await asyncio.sleep(max(PAUSE, (loop.time() - begun) / MAKING))

    async def _update(self, change: Change, view: ActorView) -> None:
        update = await self._answers.update(change, view)
        if update is not None and TO_INSPECTOR.has(type(update), self._framing.version):
            await self._send(update)

    async def _send(self, message: ToInspector) -> None:
        async with self._sending:
            with contextlib.suppress(Gone):  # which the reader is told, too
                await self._socket.send(self._framing.write(message), text=False)


async def _end_with(stopping: asyncio.Event) -> None:
    await stopping.wait()
    raise RivetError("actor", "restarting", "The engine is stopping. Try again in a moment.")


def framing_of(asked: str | None) -> Framing | None:
    """The framing for what the query says of ``protocol_version``; None when it is no known one."""
    if asked is None:
        return Framing(None)
    if not asked.isascii() or not asked.isdecimal() or len(asked) > 5 or not 1 <= int(asked) <= LATEST:
        return None
    return Framing(int(asked))
