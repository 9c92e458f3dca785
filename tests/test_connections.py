"""Connections and events: who gets what, hooks, permissions, and staying connected over sleep (spec actors 2)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from rivetpy import ActorOptions, UserError, actor, event, queue
from rivetpy.host import Host, HostEvent
from rivetpy.host.connections import Event
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import workflow
from tests.support.hosting import Client, asleep, make, refused, with_host


def shout(c: Any, *args: Any) -> str:
    c.broadcast("said", *args)
    return "done"


def test_events_reach_the_subscribed_only_and_before_the_answer() -> None:
    async def script(host: Host) -> None:
        actor_id = await make(host)
        first = await Client().connect(host, actor_id, None, "said")
        second = await Client().connect(host, actor_id, None)
        assert await first.connection.call("shout", [1, {"x": b"2"}]) == "done"
        assert first.got == [("said", 1, {"x": b"2"})] and second.got == []
        await first.connection.subscribe("said", False)
        await host.call(actor_id, "shout", [3])
        assert len(first.got) == 1

    with_host(actor(actions={"shout": shout}), script)


def test_all_receivers_share_one_event_cut_off_from_the_actors_objects() -> None:
    def change(c: Any) -> None:
        data = {"n": 1}
        c.broadcast("said", data)
        data["n"] = 2

    async def script(host: Host) -> None:
        actor_id = await make(host)
        seen: list[Any] = []
        for _ in range(2):
            connection = await host.connect(actor_id, None, seen.append)
            await connection.subscribe("said")
        await host.call(actor_id, "change", [])
        assert seen == [Event("said", [{"n": 1}])] * 2 and seen[0] is seen[1]

    with_host(actor(actions={"change": change}), script)


def test_declared_events_are_held_to() -> None:
    class Said(BaseModel):
        words: list[str]

    definition = actor(events={"said": event(Said), "done": event()}, actions={"shout": shout})

    async def script(host: Host) -> None:
        actor_id = await make(host)
        client = await Client().connect(host, actor_id, None, "said")
        assert await refused(client.connection.subscribe("siad")) == "event.not_declared"
        assert await refused(host.call(actor_id, "shout", [{"words": [1]}])) == "event.invalid"
        assert await refused(host.call(actor_id, "shout", [1, 2])) == "event.invalid"
        assert await refused(host.call(actor_id, "shout", [object()])) == "actor.value_not_encodable"
        await host.call(actor_id, "shout", [{"words": ["a"]}])
        assert client.got == [("said", {"words": ["a"]})]

    with_host(definition, script)


def test_a_model_names_the_field() -> None:
    with pytest.raises(Exception, match=r"words\.0"):
        event(dict[str, list[str]]).check("said", [{"words": [1]}])


def test_permissions_decide_by_connection() -> None:
    def admin(c: Any) -> bool:
        return bool(c.conn.params == {"admin": True})

    async def admin_async(c: Any) -> bool:
        return admin(c)

    definition = actor(
        events={"secret": event(can_subscribe=admin_async)},
        queues={"jobs": queue(can_publish=admin), "open": queue()},
        actions={"post": lambda c, body: c.queue.send("jobs", body)},
    )

    async def script(host: Host) -> None:
        actor_id = await make(host)
        anybody = await Client().connect(host, actor_id, None)
        assert await refused(anybody.connection.subscribe("secret")) == "auth.forbidden"
        await (await Client().connect(host, actor_id, {"admin": True})).connection.subscribe("secret")
        assert await refused(host.send(actor_id, "jobs", QueueSend(1))) == "auth.forbidden"
        assert await refused(host.send(actor_id, "jbos", QueueSend(1))) == "queue.not_declared"
        await host.send(actor_id, "open", QueueSend(2))
        await host.send(actor_id, "jobs", QueueSend(3), params={"admin": True})
        await host.call(actor_id, "post", [4])  # the actor itself may always
        assert [message.body[-1] for message in (await host.view(actor_id)).queue] == [2, 3, 4]

    with_host(definition, script)


def test_a_connections_life_in_order() -> None:
    log: list[Any] = []

    def before(c: Any, params: Any) -> None:
        log.append(("before", params, len(c.conns)))
        if params == "bad":
            raise UserError("no", code="rejected")

    async def conn_state(c: Any, params: Any) -> Any:
        log.append(("state", params))
        return {"who": params}

    definition = actor(
        on_before_connect=before,
        create_conn_state=conn_state,
        on_connect=lambda c, conn: log.append(("connect", conn.state, conn.id in c.conns, c.conn is conn)),
        on_disconnect=lambda c, conn: log.append(("disconnect", conn.params, len(c.conns))),
        actions={"me": lambda c: [c.conn.state, c.conn.params, len(c.conns)]},
    )

    async def script(host: Host) -> None:
        actor_id = await make(host)
        client = await Client().connect(host, actor_id, "ann")
        connection = client.connection
        assert connection.state == {"who": "ann"} and connection.params == "ann" and connection.id
        assert await connection.call("me", []) == [{"who": "ann"}, "ann", 1]
        await connection.close()
        await connection.close()
        assert log == [
            ("before", "ann", 0),
            ("state", "ann"),
            ("connect", {"who": "ann"}, True, True),
            ("disconnect", "ann", 0),
        ]
        log.clear()
        assert await refused(host.connect(actor_id, "bad", client.take)) == "user.rejected"
        assert await refused(host.call(actor_id, "me", [], params="bad")) == "user.rejected"
        assert await refused(host.send(actor_id, "q", QueueSend(1), params="bad")) == "user.rejected"
        assert log == [("before", "bad", 0)] * 3

    with_host(definition, script)


def test_a_call_makes_a_connection_for_as_long_as_it_takes() -> None:
    log: list[str] = []
    definition = actor(
        conn_state={"n": 0},
        on_connect=lambda c, conn: log.append(f"connect {conn.params}"),
        on_disconnect=lambda c, conn: log.append("disconnect"),
        actions={"work": lambda c: log.append(f"work {c.conn.state}")},
    )

    async def script(host: Host) -> None:
        await host.call(await make(host), "work", [], params={"p": 1})
        assert log == ["connect {'p': 1}", "work {'n': 0}", "disconnect"]

    with_host(definition, script)


def test_each_connection_has_its_own_copy_of_the_default_state() -> None:
    def count(c: Any) -> int:
        c.conn.state["n"] += 1
        return int(c.conn.state["n"])

    async def script(host: Host) -> None:
        actor_id = await make(host)
        first = await Client().connect(host, actor_id)
        assert [await first.connection.call("count", []) for _ in range(2)] == [1, 2]
        assert await host.call(actor_id, "count", []) == 1

    with_host(actor(conn_state={"n": 0}, actions={"count": count}), script)


@pytest.mark.parametrize("hook", ["on_before_connect", "create_conn_state", "on_connect"])
def test_a_hook_that_hangs_or_fails_makes_no_connection(hook: str) -> None:
    async def hang(c: Any, given: Any) -> None:
        if getattr(given, "params", given) != "hang":
            raise ValueError("broken")
        await asyncio.sleep(1000)

    hooks: Any = {hook: hang}
    definition = actor(
        **hooks, actions={"conns": lambda c: len(c.conns)}, options=ActorOptions(on_connect_timeout=2)
    )

    async def script(host: Host) -> float:
        actor_id = await make(host)
        client = Client()
        assert await refused(host.connect(actor_id, "hang", client.take)) == "actor.hook_timed_out"
        with pytest.raises(ValueError, match="broken"):
            await host.connect(actor_id, None, client.take)
        instance = host._awake[actor_id]
        assert len(instance.parts.conns) == 0
        return asyncio.get_running_loop().time()

    assert with_host(definition, script) == pytest.approx(5 if hook == "create_conn_state" else 2, abs=0.1)


def test_a_failing_on_disconnect_is_reported_only() -> None:
    events: list[HostEvent] = []

    def broken(c: Any, conn: Any) -> None:
        raise ValueError("oops")

    async def script(host: Host) -> None:
        assert await host.call(await make(host), "hello", []) == "hello"

    with_host(actor(on_disconnect=broken, actions={"hello": lambda c: "hello"}), script, events=events)
    assert [event.text for event in events] == ["on_disconnect failed: ValueError: oops"]


def test_the_actor_may_send_to_one_client_and_disconnect_it() -> None:
    log: list[str] = []

    def whisper(c: Any, to: str) -> None:
        for conn in c.conns.values():
            if conn.params == to:
                conn.send("psst", to)

    def kick(c: Any) -> None:
        for conn in c.conns.values():
            conn.disconnect("go.away")
            conn.send("too", "late")

    definition = actor(
        actions={"whisper": whisper, "kick": kick, "count": lambda c: len(c.conns)},
        on_disconnect=lambda c, conn: log.append(str(conn.params)),
    )

    async def script(host: Host) -> None:
        actor_id = await make(host)
        ann, bob = Client(), Client()
        await ann.connect(host, actor_id, "ann")
        await bob.connect(host, actor_id, "bob")
        await ann.connection.call("whisper", ["bob"])
        assert (ann.got, bob.got) == ([], [("psst", "bob")])
        await ann.connection.call("kick", [])
        await asyncio.sleep(1)
        assert ann.got == [(1000, "go.away")] and bob.got[1:] == [(1000, "go.away")]
        assert sorted(log) == ["ann", "bob"]
        assert await host.call(actor_id, "count", []) == 1  # the caller's own

    with_host(definition, script)


def test_clients_stay_connected_while_the_actor_sleeps() -> None:
    log: list[str] = []
    definition = actor(
        create_conn_state=lambda c, params: {"calls": 0},
        on_connect=lambda c, conn: log.append("connect"),
        on_disconnect=lambda c, conn: log.append("disconnect"),
        actions={"shout": shout, "who": lambda c: [len(c.conns), c.conn.state]},
        options=ActorOptions(sleep_timeout=5),
    )

    async def script(host: Host) -> None:
        actor_id = await make(host)
        client = await Client().connect(host, actor_id, "ann", "said")
        await asleep(host, actor_id)
        assert await client.connection.call("who", []) == [1, {"calls": 0}]
        await asleep(host, actor_id)
        await host.call(actor_id, "shout", ["up"])
        assert client.got == [("said", "up")]
        await asleep(host, actor_id)
        await client.connection.close()
        assert log == ["connect", "connect", "disconnect", "disconnect"]  # the other one is the call's

    with_host(definition, script)


@pytest.mark.parametrize("sleeping", [False, True])
def test_a_stop_tells_clients_to_connect_again(sleeping: bool) -> None:
    client = Client()

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await client.connect(host, actor_id)
        if sleeping:
            await asleep(host, actor_id)

    with_host(actor(), script)
    assert client.got == [(1011, "actor.stopped")]


def test_a_destroyed_actor_disconnects_everybody() -> None:
    log: list[str] = []
    client = Client()
    definition = actor(
        on_disconnect=lambda c, conn: log.append("disconnect"), on_destroy=lambda c: log.append("destroy")
    )

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await client.connect(host, actor_id)
        await host.destroy(actor_id)
        assert await refused(client.connection.call("x", [])) == "actor.not_found"
        await client.connection.close()

    with_host(definition, script)
    assert client.got == [(1011, "actor.destroyed")] and log == ["disconnect", "destroy"]


def test_what_a_step_broadcasts_leaves_when_it_is_recorded_and_only_then() -> None:
    async def announce(step: Any) -> None:
        step.broadcast("said", step.attempt)
        if step.attempt == 1:
            raise ValueError("again")
        await asyncio.sleep(10)

    async def flow(ctx: Any) -> None:
        await ctx.sleep("first", 1)
        await ctx.step("announce", announce)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        client = await Client().connect(host, actor_id, None, "said")
        await asyncio.sleep(8)
        assert client.got == []
        await asyncio.sleep(8)
        assert client.got == [("said", 2)]

    with_host(actor(run=workflow(flow)), script)


def test_raw_requests_go_to_their_hook() -> None:
    async def on_request(c: Any, request: Any) -> Any:
        return [request, c.conn.params, c.state["n"]]

    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await host.serve(actor_id, "on_request", "GET", {"p": 1}) == ["GET", {"p": 1}, 0]
        assert await refused(host.serve(actor_id, "on_websocket", None)) == "actor.not_found"

    with_host(actor(state={"n": 0}, on_request=on_request), script)
