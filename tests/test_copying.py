"""Copies of actors: whole, asleep, and under an identity of their own; files that are not whole are refused."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from rivetpy import ActorOptions, RivetError, actor, queue
from rivetpy.actors import ActorDefinition
from rivetpy.host import Host, archive
from rivetpy.host.archive import Archive
from rivetpy.store.memory import MemoryStore
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import Loop, workflow
from tests.support.hosting import make, refused, with_host
from tests.support.world import until

ran: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def note(step: Any, what: str) -> str:
    ran.append(f"{what} {step.key[0]}")
    return what


async def again(loop: Any, total: int) -> Any:
    message = await loop.queue.next("number", names=["work"])
    await loop.step("add", note, f"add {message.body}")
    return Loop.continue_(total + message.body)


async def flow(ctx: Any) -> None:
    await ctx.step("first", note, "first")
    await ctx.sleep("nap", 10)
    await ctx.loop("main", again, state=0)


async def fill(c: Any) -> None:
    c.state["n"] = 5
    await c.kv.put("k", b"v")
    await c.db.execute("CREATE TABLE IF NOT EXISTS t (x)")
    await c.db.execute("INSERT INTO t VALUES (7)")
    await c.schedule.after(3600, "ring")
    await c.cron.set("daily", "0 0 * * *", "ring")


async def look(c: Any) -> list[Any]:
    calls = [*await c.schedule.list(), *await c.cron.list()]
    return [c.state["n"], await c.kv.get("k"), await c.db.execute("SELECT x FROM t"), len(calls)]


def subject(**options: Any) -> ActorDefinition:
    return actor(
        state={"n": 0},
        queues={"work": queue(), "later": queue()},
        actions={"fill": fill, "look": look, "ring": lambda c: ran.append(f"ring {c.key[0]}")},
        run=workflow(flow),
        db=True,
        options=ActorOptions(**options),
    )


async def lived(host: Host) -> str:
    """An actor with something of everything, in the second turn of its loop."""
    actor_id = await make(host, "one", input="given")
    await host.call(actor_id, "fill", [])
    await host.send(actor_id, "later", QueueSend("unread", idempotency_key="k1"))
    await asyncio.sleep(11)
    await host.send(actor_id, "work", QueueSend(1))
    await asyncio.sleep(1)
    return actor_id


FILLED = [5, b"v", [{"x": 7}], 2]


def test_a_file_holds_the_whole_life_and_goes_on_elsewhere() -> None:
    async def away(host: Host) -> bytes:
        actor_id = await lived(host)
        assert host.is_awake(actor_id)
        return (await host.export(actor_id)).pack()

    async def back(host: Host) -> None:
        copy = await host.restore("default", archive.unpack(data))
        assert (copy.row.key, copy.entries, copy.messages, copy.left_out) == (("one",), 6, 1, 0)
        assert copy.row.id == archive.unpack(data).id, "the same one: its steps have the keys they had"
        await asyncio.sleep(5e4)
        assert not host.is_awake(copy.row.id) and ran == []
        await host.send(copy.row.id, "later", QueueSend("again", idempotency_key="k1"))
        assert await host.call(copy.row.id, "look", []) == [*FILLED[:3], 1]
        await host.send(copy.row.id, "work", QueueSend(2))
        await asyncio.sleep(1)
        assert ran == ["ring one", "add 2 one"], "what was due in the meantime, once"
        view = await host.view(copy.row.id)
        assert [m.queue for m in view.queue] == ["later"], "k1 was sent before"
        taken = refused(host.restore("default", archive.unpack(data)))
        assert await taken == "actor.duplicate_key"
        twin = await host.restore("default", archive.unpack(data), ("twin",))
        assert twin.row.id != copy.row.id

    data = with_host(subject(), away)
    ran.clear()
    with_host(subject(), back)


def test_a_fork_leaves_the_original_and_its_clock_alone() -> None:
    async def script(host: Host) -> None:
        actor_id = await lived(host)
        before = await host.view(actor_id)
        copy = await host.fork(actor_id, ("two",))
        assert (copy.entries, copy.messages, copy.left_out) == (6, 1, 2)
        await asyncio.sleep(5000)
        assert ran == ["first one", "add 1 one", "ring one"]
        assert not host.is_awake(copy.row.id)
        assert await host.call(copy.row.id, "look", []) == [*FILLED[:3], 0]
        await host.send(copy.row.id, "work", QueueSend(9))
        await asyncio.sleep(1)
        assert ran[3:] == ["add 9 two"], "it went on where the original was"
        after = await host.view(actor_id)
        assert (after.queue, after.workflow) == (before.queue, before.workflow)
        assert await refused(host.fork(actor_id, ("two",))) == "actor.duplicate_key"

    with_host(subject(), script)


def test_a_fork_at_an_entry_runs_again_from_there() -> None:
    async def script(host: Host) -> None:
        actor_id = await lived(host)
        copy = await host.fork(actor_id, ("two",), "main/~0/add")
        assert (copy.entries, copy.messages) == (4, 1)
        await host.wake(copy.row.id)
        await asyncio.sleep(1)
        assert ran == ["first one", "add 1 one", "add 1 two"]
        assert await refused(host.undo_rewind(copy.row.id)) == "workflow.nothing_to_undo"
        assert await refused(host.fork(actor_id, ("three",), "main/~0/ad")) == "workflow.entry_not_found"
        assert await host.find("default", "a", ("three",)) is None

    with_host(subject(), script)


def test_a_fork_of_what_completed() -> None:
    async def once(ctx: Any) -> str:
        return str(await ctx.step("only", note, "only"))

    async def script(host: Host) -> None:
        actor_id = await make(host, "one")
        await until(host, actor_id)
        copy = await host.fork(actor_id, ("two",), "only")
        await host.wake(copy.row.id)
        await until(host, copy.row.id)
        assert ran == ["only one", "only two"]

    with_host(actor(run=workflow(once)), script)


def repacked(change: Callable[[list[Any]], object]) -> bytes:
    """A file whose content was changed by somebody who knows how to compute the checksum."""
    begin = len(archive.MAGIC) + 33
    content = msgpack.unpackb(packed()[begin:])
    change(content)
    body = msgpack.packb(content)
    return packed()[: len(archive.MAGIC) + 1] + hashlib.sha256(body).digest() + body


def packed() -> bytes:
    rows = [(b"kskey", b"\x01\xa5value"), (b"s", b"\x01\x80")]
    return Archive("id", "a", ("one",), 5, rows, None).pack()


def test_every_damaged_byte_is_noticed() -> None:
    data = packed()
    assert archive.unpack(data).pack() == data
    for place in range(len(data)):
        for wrong in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]):
            with pytest.raises(RivetError) as caught:
                archive.unpack(wrong)
            assert caught.value.group == "archive"


@pytest.mark.parametrize(
    ("data", "code", "text"),
    [
        (b"", "invalid", "It is empty"),
        (b"PK\x03\x04", "invalid", "no exported actor"),
        (archive.MAGIC, "newer_format", "format ?"),
        (archive.MAGIC + b"\x02" + packed()[len(archive.MAGIC) + 1 :], "newer_format", "format 2"),
        (repacked(lambda c: c[4].append([b"y", b""])), "damaged", "which no actor has"),
        (repacked(lambda c: c[4].append([b"s", b"\x01\x80"])), "damaged", "two values"),
        (repacked(lambda c: c[4].append([b"jstep", b"\xff"])), "damaged", "can't be read"),
        (repacked(lambda c: c[4].append([b"w", b"\x92\x09\x00"])), "damaged", "format 9"),
        (repacked(lambda c: c[4].append([b"q" + bytes(8), b"\x91\x01"])), "damaged", "TypeError"),
        (repacked(lambda c: c.__setitem__(1, 7)), "damaged", "who it was"),
        (repacked(lambda c: c.__setitem__(2, ["x" * 5000])), "damaged", "A key may have"),
        (repacked(lambda c: c.__setitem__(3, -1)), "damaged", "who it was"),
        (repacked(lambda c: c.__setitem__(5, 7)), "damaged", "its database"),
        (repacked(lambda c: c.append(1)), "damaged", "TypeError"),
    ],
    ids=range(14),
)
def test_what_is_no_actor_is_refused_with_the_reason(data: bytes, code: str, text: str) -> None:
    with pytest.raises(RivetError) as caught:
        archive.unpack(data)
    assert (caught.value.group, caught.value.code) == ("archive", code)
    assert text in caught.value.message


def test_too_large_is_refused_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed()
    monkeypatch.setattr(archive, "MAX_SIZE", len(data) - 1)
    for work in (packed, lambda: archive.unpack(data)):
        with pytest.raises(RivetError) as caught:
            work()
        assert caught.value.code == "too_large"


def test_a_database_that_is_none_leaves_nothing_behind(tmp_path: Path) -> None:
    rows = [(b"s", b"\x01\x80")]

    async def script(host: Host) -> None:
        for database in (b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 5000):
            given = Archive("id", "a", ("one",), 5, rows, database)
            assert await refused(host.restore("default", given)) == "archive.damaged"
        assert await host.find("default", "a", ("one",)) is None

    with_host(subject(), script, files=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_actor_is_refused() -> None:
    async def script(host: Host) -> None:
        given = Archive("id", "b", (), 5, [], None)
        assert await refused(host.restore("default", given)) == "actor.not_configured"

    with_host(subject(), script, MemoryStore())


def test_a_copy_has_an_inspector_token_of_its_own() -> None:
    async def script(host: Host) -> None:
        row = await make(host)
        token = await host.inspector_token(row)
        exported = await host.export(row)
        assert token.encode() not in exported.pack()
        rows = [*exported.rows, (b"x", token.encode())]
        for copy in (
            await host.fork(row, ("fork",)),
            await host.restore("default", dataclasses.replace(exported, rows=sorted(rows)), ("file",)),
        ):
            assert await host.inspector_token(copy.row.id) != token

    with_host(subject(), script)
