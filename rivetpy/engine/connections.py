"""A client's connection over a WebSocket: its messages to the actor, events and answers back (wire 7)."""

from __future__ import annotations

import asyncio

from rivetpy.codec import Value
from rivetpy.engine.actors import options_of, specifier_of
from rivetpy.engine.http import for_client, outgoing_too_long
from rivetpy.engine.sockets import FAILED, Gone, Outbox, Socket, TooLong, reason_of
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.host.connections import Closed, Connection, Event, Outgoing
from rivetpy.host.logs import actor_log
from rivetpy.identity import format_key
from rivetpy.store import ActorRow
from rivetpy.wire.bodies import args_list
from rivetpy.wire.encodings import Encoding
from rivetpy.wire.errors import failed
from rivetpy.wire.messages import (
    TO_CLIENT,
    TO_SERVER,
    ActionRequest,
    ActionResponse,
    Init,
    SubscriptionRequest,
    ToClient,
)
from rivetpy.wire.messages import Event as EventMessage

#: Actions of one connection that may run at a time; the next message is read when one of them ends.
MAX_RUNNING = 128
#: Errors of these groups say what became of the actor; whoever was refused by the actor itself is told why first.
_NOT_OF_THE_ACTOR = frozenset({"actor", "guard", "ws"})


class EventFrames:
    """Events as frames: one event for many connections is written once per encoding."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Event, bytes]] = {}

    def frame(self, event: Event, encoding: Encoding) -> bytes:
        """The event's frame. Raises `EncodeError`."""
        last = self._last.get(encoding.name)
        if last is None or last[0] is not event:
            data = encoding.write_union(TO_CLIENT, EventMessage(event.name, list(event.args)))
            last = self._last[encoding.name] = (event, data)
        return last[1]


class Talk:
    """One connection, from the handshake to its end."""

    def __init__(
        self,
        host: Host,
        row: ActorRow,
        encoding: Encoding,
        socket: Socket,
        ray_id: str,
        frames: EventFrames,
    ) -> None:
        self._host = host
        self._row = row
        self._options = options_of(host, row.name)
        self._actor = specifier_of(row)
        self._log = actor_log(row.name, format_key(row.key))
        self._encoding = encoding
        self._socket = socket
        self._outbox = Outbox(socket, text=encoding.is_text)
        self._ray_id = ray_id
        self._frames = frames
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, params: Value, stopping: asyncio.Event) -> None:
        """Talk until one side ends it. ``stopping`` ends it once what runs is answered."""
        connection = await self._connect(params)
        sending = self._outbox.start()
        if connection is None:
            await sending
            return
        helpers = [
            asyncio.create_task(self._read(connection)),
            asyncio.create_task(self._end_with(stopping)),
        ]
        try:
            await asyncio.wait((sending,))
        finally:
            for task in (sending, *helpers):
                task.cancel()
            await asyncio.gather(sending, *helpers, return_exceptions=True)
            await connection.close()
            await asyncio.gather(
                *self._running, return_exceptions=True
            )  # an action runs to its end regardless

    async def _connect(self, params: Value) -> Connection | None:
        """The connection, None when the actor refuses it: then all there is to say is in the outbox."""
        try:
            connection = await self._host.connect(self._row.id, params, self._deliver)
        except Exception as error:
            shown = self._told(error, "a connection")
            if shown.group not in _NOT_OF_THE_ACTOR:
                self._put(failed(shown, self._actor))
            self._outbox.close(FAILED, reason_of(shown, self._ray_id))
            return None
        init = self._encoding.write_union(TO_CLIENT, Init(self._row.id, connection.id))
        self._outbox.put(init, first=True)  # a hook may have sent events meanwhile
        return connection

    async def _end_with(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._outbox.close(FAILED, f"actor.restarting#{self._ray_id}")

    # -- what the client says ----------------------------------------------------------------------------

    async def _read(self, connection: Connection) -> None:
        """Take in messages until the client leaves, or sends what is none."""
        limit = self._options.max_incoming_message_size
        try:
            while True:
                data = await self._socket.receive(limit)
                await self._take(connection, self._encoding.read_union(TO_SERVER, data))
        except Gone:
            self._outbox.abandon()
        except TooLong:
            self._outbox.close(FAILED, f"message.incoming_too_long#{self._ray_id}")
        except Exception as error:
            self._outbox.close(FAILED, reason_of(self._told(error, "a connection"), self._ray_id))

    async def _take(self, connection: Connection, message: ActionRequest | SubscriptionRequest) -> None:
        if isinstance(message, SubscriptionRequest):
            await self._subscribe(connection, message)
            return
        while len(self._running) >= MAX_RUNNING:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        action = asyncio.create_task(self._act(connection, message))
        self._running.add(action)
        action.add_done_callback(self._running.discard)

    async def _subscribe(self, connection: Connection, message: SubscriptionRequest) -> None:
        """Done before the next message is read: whoever subscribes and acts gets the events of the act."""
        try:
            await connection.subscribe(message.event_name, message.subscribe)
        except Exception as error:
            self._put(failed(self._told(error, f"subscribing to {message.event_name!r}"), self._actor))

    async def _act(self, connection: Connection, message: ActionRequest) -> None:
        try:
            output = await connection.call(message.name, args_list(message.args))
            answer = self._encoding.write_union(TO_CLIENT, ActionResponse(message.id, output))
            self._check_length(answer, "The answer")
            self._outbox.put(answer)
        except Exception as error:
            shown = self._told(error, f"action {message.name!r}")
            self._put(failed(shown, self._actor, message.id))

    # -- what the actor says -----------------------------------------------------------------------------

    def _deliver(self, outgoing: Outgoing) -> None:
        """The outlet: never blocks, never raises."""
        if isinstance(outgoing, Closed):
            self._outbox.close(outgoing.code, outgoing.reason)
            return
        try:
            data = self._frames.frame(outgoing, self._encoding)
            self._check_length(data, f"The event {outgoing.name!r}")
            self._outbox.put(data)
        except RivetError as error:
            self._log.warning("event %r can't be sent: %s", outgoing.name, error)
            self._outbox.close(FAILED, reason_of(error, self._ray_id))

    def _told(self, error: Exception, what: str) -> RivetError:
        return for_client(error, self._ray_id, self._row, what)

    def _put(self, message: ToClient) -> None:
        self._outbox.put(self._encoding.write_union(TO_CLIENT, message))

    def _check_length(self, data: bytes, what: str) -> None:
        limit = self._options.max_outgoing_message_size
        if len(data) > limit:
            raise outgoing_too_long(what, len(data), limit)
