"""The client as users write it with types, asynchronous and synchronous: both know the same."""

from __future__ import annotations

import datetime as dt
from typing import assert_type

import httpx

from rivetpy.client import (
    Client,
    Connection,
    Handle,
    QueueReply,
    SyncConnection,
    SyncHandle,
    create_client,
    create_sync_client,
)


async def token() -> dict[str, str]:
    return {"token": "t"}


async def later(count: int) -> None: ...


async def use() -> None:
    async with create_client("http://localhost:6420", encoding="cbor", headers={"a": "b"}) as client:
        assert_type(client, Client)
        counter = client.counter.get_or_create(["main"], input={"start": 1}, params=token)
        assert_type(counter, Handle)
        assert_type(await client.counter.create("x"), Handle)
        assert_type(await counter.send("jobs", 1, wait=True, timeout=dt.timedelta(5)), QueueReply | None)
        assert_type(await counter.resolve(), str)
        assert_type(await counter.fetch("/x", "POST", json={}), httpx.Response)
        await counter.fetch("/x", "PUT", content=[b"parts"], stream=True)
        value: int = await counter.add(1)
        async with counter.connect() as conn:
            assert_type(conn, Connection)
            stop = conn.on("changed", later)
            conn.once("changed", print)
            async for event in conn.events("changed"):
                print(event.name, event.args, value)
            stop()
        async with await counter.websocket("/chat") as ws:
            await ws.send("hello")
            print(await ws.recv())


def use_without_asyncio() -> None:
    with create_sync_client("http://localhost:6420", encoding="json") as client:
        counter = client.counter.get_or_create(["main"], input={"start": 1}, params={"token": "t"})
        assert_type(counter, SyncHandle)
        assert_type(client.counter.create("x"), SyncHandle)
        assert_type(counter.send("jobs", 1, wait=True, timeout=5), QueueReply | None)
        assert_type(counter.resolve(), str)
        assert_type(counter.fetch("/x", headers={"a": "b"}), httpx.Response)
        value: int = counter.add(1)
        with counter.connect() as conn:
            assert_type(conn, SyncConnection)
            conn.on("changed", print)
            for event in conn.events("changed"):
                print(event.name, event.args, value)
        with counter.websocket("/chat") as ws:
            ws.send("hello")
            print(ws.recv())
        counter.send("jobs", bdy=1)  # type: ignore[call-arg]
        counter.send("jobs", wait="yes")  # type: ignore[arg-type]
    create_sync_client(encoding="yaml")  # type: ignore[arg-type]
