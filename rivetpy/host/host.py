"""What may be asked of the actors of an engine: to be made, found, called, connected to, looked into."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, TypeVar

from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.host import control, copying, lifecycle
from rivetpy.host.archive import Archive
from rivetpy.host.connecting import connect, passing
from rivetpy.host.connections import Connection
from rivetpy.host.conns import Outlet
from rivetpy.host.context import ActorContext
from rivetpy.host.control import Rewind
from rivetpy.host.copying import Copy
from rivetpy.host.database import Rows
from rivetpy.host.offline import view_rows
from rivetpy.host.parts import Outside
from rivetpy.host.planned import Plans, planned
from rivetpy.host.residence import Residence
from rivetpy.host.view import ActorView
from rivetpy.host.watching import Told
from rivetpy.identity import Key
from rivetpy.store import ActorRow, Batch, Listing, Page, Pairs
from rivetpy.wire.bodies import QueueReply, QueueSend
from rivetpy.workflow import layout

T = TypeVar("T")

#: With so many rows an actor is looked at in a thread.
MANY = 2000
RawHook = Literal["on_request", "on_websocket"]


class Host(Residence):
    """Runs the actors of a registry over a store. All its methods belong to one event loop."""

    @property
    def outside(self) -> Outside:
        return self

    # -- identity ----------------------------------------------------------------------------------------

    async def create(self, namespace: str, name: str, key: Key, input: Value = None) -> ActorRow:
        """Make a new actor. Raises RivetError ``actor.duplicate_key``, ``actor.not_configured``."""
        row, created = await self._tasks.finish(self._find_or_create((namespace, name, key), input))
        if not created:
            raise copying.duplicate_key(row)
        return row

    async def get_or_create(
        self, namespace: str, name: str, key: Key, input: Value = None
    ) -> tuple[ActorRow, bool]:
        """The actor of this identity, made when there is none; and whether it was made."""
        identity = (namespace, name, key)
        if (actor_id := self._by_identity.get(identity)) is not None:
            return self._awake[actor_id].core.row, False
        return await self._tasks.finish(self._find_or_create(identity, input))

    async def find(self, namespace: str, name: str, key: Key) -> ActorRow | None:
        """The actor of this identity, if there is one."""
        if (actor_id := self._by_identity.get((namespace, name, key))) is not None:
            return self._awake[actor_id].core.row
        return await self._store.find(namespace, name, key)

    async def list(self, listing: Listing) -> Page:
        """A page of actors, newest first, and the next page's cursor."""
        return await self._store.list(listing)

    async def destroy(self, actor_id: str) -> None:
        """End an actor and forget what it stored; its key is free at once. Raises ``actor.not_found``."""
        await self._tasks.finish(self._destroy(actor_id))

    # -- work --------------------------------------------------------------------------------------------

    async def call(self, actor_id: str, action: str, args: Sequence[Value], params: Value = None) -> Value:
        """Run an action of an actor, waking it; as a connection with these ``params`` that lasts as long."""
        async with self._busy(actor_id) as instance, passing(instance.parts, params) as conn:
            return await instance.call(action, args, conn)

    async def send(self, actor_id: str, queue: str, message: QueueSend, params: Value = None) -> QueueReply:
        """Enqueue a message, waking the actor; see `Queues.send`. Raises also RivetError ``auth.forbidden``."""
        async with self._busy(actor_id) as instance, passing(instance.parts, params) as conn:
            await instance.may_send(queue, conn)
            return await instance.queues.send(queue, message)

    async def connect(self, actor_id: str, params: Value, send: Outlet) -> Connection:
        """Connect a client, to whom ``send`` carries what goes out, before this returns too.

        Raises what the actor's hooks refuse it with, or RivetError ``actor.hook_timed_out``.
        """
        async with self._busy(actor_id) as instance:
            conn = await connect(instance.parts, params, send)
            conn.lasting = True
            connection = Connection(actor_id, conn, instance.parts.conns, self._busy)
        conn.on_disconnect = lambda: self._tasks.start(connection.close())
        return connection

    async def serve(self, actor_id: str, hook: RawHook, subject: Value, params: Value = None) -> Value:
        """Hand a raw request or WebSocket to the actor's hook; what that returns.

        Raises RivetError ``actor.not_found`` when the actor has no such hook, and what the hook raises.
        """
        async with self._busy(actor_id) as instance, passing(instance.parts, params) as conn:
            if hook not in instance.core.definition.hooks:
                raise RivetError("actor", "not_found", f"Actor {instance.name!r} has no {hook}.")
            return await lifecycle.hook(instance.parts, hook, subject, conn=conn)

    async def set_state(self, actor_id: str, state: Value, seen: str | None = None) -> None:
        """Replace an actor's state, if it still has the revision that was ``seen``; see `Core.replace_state`."""
        async with self._busy(actor_id) as instance:
            await instance.core.replace_state(state, seen)

    async def drop_messages(self, actor_id: str, ids: Collection[int] | None) -> int:
        """Delete waiting messages of an actor (None: all); how many."""
        async with self._busy(actor_id) as instance:
            return await instance.queues.drop(ids)

    async def sleep(self, actor_id: str) -> None:
        """Put an actor away now; it comes back when something comes for it."""
        await self._live_row(actor_id)
        await self._tasks.finish(self._put_away(actor_id, None))

    async def view(self, actor_id: str, newest_entries: int | None = None) -> ActorView:
        """What there is to see of an actor; wakes nothing. A number spares it the older entries of its journal."""
        instance = self._awake.get(actor_id)
        if instance is not None:
            view = instance.view()
        else:
            row = await self._live_row(actor_id)
            view = await self._view_rows(row, await self._store.load(actor_id), newest_entries)
        conns = self._conns.get(actor_id)
        return view if conns is None else dataclasses.replace(view, connections=conns.view())

    async def _view_rows(self, row: ActorRow, rows: Pairs, newest_entries: int | None) -> ActorView:
        if len(rows) < MANY:
            return view_rows(row, rows, newest_entries)
        return await asyncio.to_thread(view_rows, row, rows, newest_entries)  # other actors go on meanwhile

    async def inspector_token(self, actor_id: str) -> str:
        """What opens the actor's inspector. Raises RivetError ``actor.not_found``."""
        await self._live_row(actor_id)
        if actor_id not in self._tokens:
            token = await self._stored_token(actor_id)
            if token is None:  # made by an older release; waking gives it one
                await self._wake(actor_id)
                token = await self._stored_token(actor_id)
            assert token is not None
            self._tokens[actor_id] = token.decode()
        return self._tokens[actor_id]

    async def _stored_token(self, actor_id: str) -> bytes | None:
        return dict(await self._store.load(actor_id)).get(layout.TOKEN)

    async def planned(self, actor_id: str) -> Plans:
        """An actor's calls to come; wakes nothing."""
        instance = self._awake.get(actor_id)
        if instance is not None:
            table = instance.parts.table
            return planned(table.items(layout.CALL) + table.items(layout.CRON))
        await self._live_row(actor_id)
        return planned(await self._store.load(actor_id))

    async def unplan(self, actor_id: str, kind: str, id: str) -> bool:
        """Make a call to come (``at``) or a job (``cron``, ``every``) no more; whether there was one."""
        async with self._busy(actor_id) as instance:
            context = ActorContext(instance.parts)
            return await (context.schedule.cancel(id) if kind == "at" else context.cron.delete(id))

    def watching(self, actor_id: str, told: Told) -> AbstractContextManager[None]:
        """Be told of an actor's changes for as long as a ``with`` block."""
        return self._store.watching(actor_id, told)

    async def query(self, actor_id: str, sql: str, args: Sequence[Value] | Mapping[str, Value]) -> Rows:
        """Run one statement of a person's on an actor's own database; see `Database.query`."""
        async with self._busy(actor_id) as instance:
            return await instance.parts.db.query(sql, args)

    # -- copies ------------------------------------------------------------------------------------------

    async def export(self, actor_id: str) -> Archive:
        """The whole durable life of an actor; wakes nothing."""
        return await copying.read(self._store, self._files, await self._live_row(actor_id))

    async def restore(self, namespace: str, archive: Archive, key: Key | None = None) -> Copy:
        """Make the actor of an archive, under another ``key`` if given; it sleeps until something comes for it.

        Raises RivetError ``actor.duplicate_key``, ``actor.not_configured``, ``archive.damaged``.
        """
        self.registry.get(archive.name)
        return await self._tasks.finish(self._add(namespace, archive, key))

    async def fork(self, actor_id: str, key: Key, location: str | None = None) -> Copy:
        """Copy an actor to another key, as it was before an entry if given; it sleeps until something comes for it.

        Raises RivetError ``actor.duplicate_key``, ``workflow.entry_not_found``.
        """
        row = await self._live_row(actor_id)
        archive = await copying.read(self._store, self._files, row)
        archive, left_out = copying.forked(archive, location, self._clock.now())
        copy = await self._tasks.finish(self._add(row.namespace, archive, key))
        return dataclasses.replace(copy, left_out=left_out)

    async def _add(self, namespace: str, archive: Archive, key: Key | None) -> Copy:
        self._refuse_when_stopping()
        async with self._lock((namespace, archive.name, archive.key if key is None else key)):
            return await copying.add(self._store, self._files, namespace, archive, key, self._clock.now())

    # -- control of a workflow ---------------------------------------------------------------------------

    async def _controlled(
        self, actor_id: str, change: Callable[[ActorRow, Pairs], tuple[Batch, T]], *, forced: bool
    ) -> T:
        """Put the actor away, change what is stored of it, and bring it back. Refused in the middle of a step, unless
        ``forced``."""

        async def work() -> T:
            async with self._lock(actor_id):
                if (instance := self._awake.get(actor_id)) is not None:
                    if instance.workflow.bodies and not forced:
                        raise control.in_flight(instance.name)
                    # Should the change be refused, the alarm of its row is all that brings it back.
                    await self._let_leave(instance, 0 if forced else None)
                row = await self._live_row(actor_id)
                batch, result = change(row, await self._store.load(actor_id))
                await self._store.commit(batch)
            await self._wake(actor_id)
            return result

        return await self._tasks.finish(work())

    async def wake(self, actor_id: str) -> None:
        """Bring an actor into memory: ends a sleep of the actor, not of a timer."""
        await self._wake(actor_id)

    async def rewind(self, actor_id: str, location: str | None = None, *, dry_run: bool = False) -> Rewind:
        """Remove an entry and every later one (None: all) and run again from there; what went, or would go.

        Raises RivetError ``workflow.in_flight`` while a step is running, ``workflow.entry_not_found``.
        """
        if dry_run:
            row = await self._live_row(actor_id)
            return control.rewind(row, await self._store.load(actor_id), location, self._clock.now())[1]
        return await self._controlled(
            actor_id, lambda row, rows: control.rewind(row, rows, location, self._clock.now()), forced=False
        )

    async def undo_rewind(self, actor_id: str) -> None:
        """Bring back the journal from before the last rewind. Raises RivetError ``workflow.nothing_to_undo``."""
        await self._controlled(
            actor_id, lambda row, rows: (control.undo(row, rows, self._clock.now()), None), forced=False
        )

    async def recover(self, actor_id: str) -> None:
        """Give what failed a workflow another chance. Raises RivetError ``workflow.not_failed``."""
        await self._controlled(
            actor_id, lambda row, rows: (control.recover(row, rows, self._clock.now()), None), forced=False
        )

    async def cancel(self, actor_id: str) -> None:
        """End a workflow for good, without a rollback. Raises RivetError ``workflow.ended``."""
        await self._controlled(actor_id, lambda row, rows: (control.cancel(row, rows), None), forced=True)
