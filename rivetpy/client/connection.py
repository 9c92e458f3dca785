"""A connection to an actor: actions and events over one line, opened again whenever it breaks (wire 7)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Self

from rivetpy.client.addressee import Addressee, Params
from rivetpy.client.backend import Backend
from rivetpy.client.courier import Courier
from rivetpy.client.lines import Line
from rivetpy.client.listeners import Events, Listener, Listeners, Stop
from rivetpy.client.reconnect import CHANGES, Backoff, Status, passes
from rivetpy.client.requests import ById, Target
from rivetpy.errors import EncodeError, RivetError
from rivetpy.wire.bodies import args_list
from rivetpy.wire.errors import error_of
from rivetpy.wire.messages import (
    ActionRequest,
    ActionResponse,
    Event,
    Failed,
    Init,
    SubscriptionRequest,
    ToClient,
)
from rivetpy.wire.tags import Value

log = logging.getLogger("rivetpy.client")


class Connection(Addressee):
    """An open connection: `on` and `events` for what the actor tells, actions as methods.

    It opens by itself, and again whenever it breaks, until it is closed or the actor refuses it. Subscriptions are
    kept. An action called meanwhile waits; one that was under way when the connection broke raises RivetError
    ``client.connection_lost``.

    ``async with handle.connect() as conn`` goes on when it is open, and raises what it was refused with. Without, call
    `close` at the end.
    """

    def __init__(
        self,
        backend: Backend,
        target: Target,
        params: Params,
        on_end: Callable[[Connection], None],
        backoff: Backoff | None = None,
    ) -> None:
        super().__init__(backend, target, params)
        self._on_end = on_end
        self._backoff = backoff or Backoff()
        self._courier = Courier()
        self._events = Listeners(self._subscribe)
        self._signals = Listeners()
        self._iterators: set[Events] = set()
        self._status: Status = "connecting"
        self._settled = asyncio.Event()
        self._error: RivetError | None = None
        #: The actor's id and this connection's, as of the last time it was opened.
        self.actor_id: str | None = None
        self.connection_id: str | None = None
        self.loop = asyncio.get_running_loop()
        self._running = self.loop.create_task(self._run())

    # -- what users do

    @property
    def status(self) -> Status:
        """``connecting``, ``connected``, ``disconnected`` (the pause before it is opened again) or ``closed``."""
        return self._status

    async def action(self, name: str, /, *args: Value) -> Value:
        self._check_open()
        return await self._courier.call(name, args)

    def on(self, event: str, listener: Listener) -> Stop:
        """Have a function called with the arguments of each such event; what this returns ends that.

        An async function is started for each event, in order, and may overlap with itself.
        """
        return self._events.add(event, listener)

    def once(self, event: str, listener: Listener) -> Stop:
        """Have a function called with the arguments of the next such event."""
        return self._events.once(event, listener)

    def events(self, *names: str) -> Events:
        """Events with these names, from now on, for ``async for``."""
        self._check_open()
        events = Events()
        self._iterators.add(events)
        events.listen(lambda: self._iterators.discard(events))
        for name in names:
            events.listen(self._events.add(name, _putter(events, name)))
        return events

    def on_open(self, listener: Listener) -> Stop:
        """Have a function called, without arguments, whenever it is open, the first time and after a break."""
        return self._signals.add("open", listener)

    def on_close(self, listener: Listener) -> Stop:
        """Have a function called, without arguments, whenever it breaks or is closed."""
        return self._signals.add("close", listener)

    def on_error(self, listener: Listener) -> Stop:
        """Have a function called with the RivetError of each attempt that fails, each break, each refusal."""
        return self._signals.add("error", listener)

    def on_status_change(self, listener: Listener) -> Stop:
        """Have a function called with the new `status` whenever it changes."""
        return self._signals.add("status", listener)

    async def opened(self) -> None:
        """Until it was open once. Raises the RivetError that it was refused or closed with."""
        await self._settled.wait()
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        """Close it for good. Actions that wait raise RivetError ``client.connection_closed``."""
        self._end(RivetError("client", "connection_closed", "The connection was closed."), refused=False)
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def __aenter__(self) -> Self:
        try:
            await self.opened()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- its life

    async def _run(self) -> None:
        while True:
            was_open = False
            try:
                line = await self._open()
                was_open = True
                error = await self._converse(line)
            except RivetError as failure:
                error = failure
            except Exception as failure:
                log.exception("a connection failed")
                error = RivetError("client", "failed", f"The connection failed: {failure!r}.")
            if not was_open and not passes(error, by_id=isinstance(self._target, ById)):
                self._tell(error)
                self._end(error, refused=True)
                return
            self._broke(error)
            await asyncio.sleep(self._backoff.next(at_once=was_open))
            self._become("connecting")

    async def _open(self) -> Line:
        """An open line. Raises the RivetError of an attempt that failed."""
        line = await self._backend.dial(await self._aimed_or_failed())
        try:
            init = _opening(await line.receive())
        except BaseException:
            await line.close()
            raise
        self.actor_id, self.connection_id = init.actor_id, init.connection_id
        return line

    async def _aimed_or_failed(self) -> Target:
        try:
            return await self._aimed()
        except Exception as error:
            raise RivetError(
                "client", "params_failed", f"The function for the connection's params failed: {error!r}."
            ) from error

    async def _converse(self, line: Line) -> RivetError:
        """Until the line breaks; what it broke with."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._courier.begin(self._events.names)
        self._become("connected")
        self._settled.set()
        self._signals.tell("open")
        writing = asyncio.create_task(self._write(line))
        try:
            while True:
                self._take(await line.receive())
        except RivetError as error:
            return error
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            await line.close()
            self._backoff.connected(loop.time() - began)

    async def _write(self, line: Line) -> None:
        """What can't be written fails alone; what breaks the line is told by its reader."""
        with contextlib.suppress(RivetError):
            while True:
                message = await self._courier.next()
                try:
                    await line.send(message)
                except EncodeError as error:
                    if isinstance(message, ActionRequest):
                        self._courier.failed(message.id, error)

    def _take(self, message: ToClient) -> None:
        match message:
            case ActionResponse():
                self._courier.answered(message.id, message.output)
            case Event():
                self._events.tell(message.name, *args_list(message.args))
            case Failed(action_id=int(number)):
                self._courier.failed(number, error_of(message))
            case Failed():
                self._tell(error_of(message))
            case Init():
                pass

    def _subscribe(self, event: str, subscribe: bool) -> None:
        if self._status == "connected":
            self._courier.put(SubscriptionRequest(event, subscribe))

    def _broke(self, error: RivetError) -> None:
        was_open = self._status == "connected"
        self._courier.dropped(error)
        self._become("disconnected")
        if was_open:
            self._signals.tell("close")
        self._tell(error)

    def _tell(self, error: RivetError) -> None:
        """One warning, however often the next attempts fail."""
        level = logging.INFO if self._backoff.trying else logging.WARNING
        log.log(
            level, "connection to %s: %s.%s: %s", self._target.shown, error.group, error.code, error.message
        )
        self._signals.tell("error", error)

    def _end(self, error: RivetError, *, refused: bool) -> None:
        """Nothing follows. Told once."""
        if self._status == "closed":
            return
        self._error = error
        self._courier.ended(error)
        for events in tuple(self._iterators):
            events.end(error if refused else None)
        self._become("closed")
        self._signals.tell("close")
        self._settled.set()
        self._on_end(self)

    def _become(self, status: Status) -> None:
        assert status in CHANGES[self._status], f"{self._status} never becomes {status}"
        self._status = status
        self._signals.tell("status", status)

    def _check_open(self) -> None:
        if self._error is not None:
            raise self._error


def _opening(message: ToClient) -> Init:
    """The first message. Raises the RivetError that it tells of."""
    match message:
        case Init():
            return message
        case Failed():
            raise error_of(message)
    raise RivetError("client", "unreadable_answer", "The connection began without an Init.")


def _putter(events: Events, name: str) -> Listener:
    def put(*args: Value) -> None:
        events.put(Event(name, list(args)))

    return put
