"""The inspector's WebSocket as a program of somebody else's sees it: its own few lines of BARE, a real port."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Iterator
from typing import Any

import cbor2
import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from rivetpy import Registry, actor, queue, setup
from rivetpy.workflow import workflow
from tests.support.live import Live, live


async def count(step: Any, n: int) -> None:
    step.state["value"] += n


async def one(loop: Any) -> None:
    message = await loop.queue.next("wait")
    await loop.step("count", count, message.body)


async def flow(ctx: Any) -> None:
    await ctx.loop("main", one)


def registry() -> Registry:
    counter = actor(
        state={"value": 0},
        queues={"jobs": queue()},
        run=workflow(flow),
        actions={"double": lambda c, n: 2 * n},
    )
    return setup(use={"counter": counter})


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    with live(registry()) as running:
        yield running


def made(engine: Live, key: str) -> tuple[str, str]:
    """An actor's id and its token."""
    body = {"name": "counter", "key": key, "runner_name_selector": "default", "crash_policy": "sleep"}
    found = httpx.put(f"{engine.url}/actors?namespace=default", json=body).raise_for_status().json()
    actor_id = found["actor"]["actor_id"]
    kept = httpx.get(f"{engine.url}/actors/{actor_id}/kv/keys/Aw==?namespace=default").raise_for_status()
    return actor_id, base64.b64decode(kept.json()["value"]).decode()


def looking(engine: Live, actor_id: str, token: str, version: str = "6") -> connect:
    protocols = ["rivet", "rivet_target.actor", f"rivet_actor.{actor_id}", "rivet_encoding.bare"]
    return connect(
        f"{engine.url.replace('http', 'ws', 1)}/inspector/connect?protocol_version={version}",
        subprotocols=[*protocols, f"rivet_inspector_token.{token}"],  # type: ignore[list-item]
        max_size=None,
        proxy=None,
    )


class Bytes:
    """What is left to read of a frame."""

    def __init__(self, frame: bytes) -> None:
        self.frame, self.at = frame, 0

    def take(self, size: int) -> bytes:
        self.at += size
        return self.frame[self.at - size : self.at]

    def uint(self) -> int:
        value = 0
        for shift in itertools.count(0, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        return value

    def data(self) -> bytes:
        return self.take(self.uint())

    def text(self) -> str:
        return self.data().decode()

    def maybe(self) -> bytes | None:
        return self.data() if self.take(1) == b"\1" else None


async def frame(socket: ClientConnection, tag: int) -> Bytes:
    """The next frame with this tag."""
    while True:
        received = await asyncio.wait_for(socket.recv(decode=False), 60)
        if received[0] == tag:
            found = Bytes(received)
            found.uint()
            return found


def test_init_requests_and_pushes(engine: Live) -> None:
    actor_id, token = made(engine, "talk")

    async def main() -> None:
        async with looking(engine, actor_id, token) as socket:
            assert socket.subprotocol == "rivet"
            init = await frame(socket, 17)
            assert init.uint() == 0  # connections
            assert cbor2.loads(init.maybe() or b"") == {"value": 0}
            assert init.take(1) == b"\1"
            assert [init.text() for _ in range(init.uint())] == ["double"]
            assert init.take(1) == b"\0"  # no database
            assert init.uint() == 0  # nothing waits
            assert init.maybe() is not None  # a workflow's history
            assert init.take(1) == b"\1"
            assert init.take(2) == b"\0\0"  # tabs, schedules
            assert init.at == len(init.frame)

            await socket.send(bytes.fromhex("03 07 06 646f75626c65 02 8115".replace(" ", "")))
            response = await frame(socket, 2)
            assert (response.uint(), cbor2.loads(response.data())) == (7, 42)
            await socket.send(b"\4\3")
            assert (await frame(socket, 8)).frame == b"\x08\x03\x01\x06double"
            await socket.send(b"\3\1\4nope\1\x80")
            assert (await frame(socket, 16)).text().startswith("action_not_found: ")
            await socket.send(b"\x63")
            assert (await frame(socket, 16)).text().startswith("invalid_request: ")

            async with httpx.AsyncClient() as http:
                await http.post(
                    f"{engine.url}/gateway/{actor_id}/queue/jobs", json={"body": 5, "name": "jobs"}
                )
            while cbor2.loads((await frame(socket, 5)).data()) != {"value": 5}:
                pass
            history = await frame(socket, 6)
            names = Bytes(history.data())
            assert [names.text() for _ in range(names.uint())][:2] == ["main", "wait"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("version", "wrong", "code", "reason"),
    [("7", False, 1002, "inspector.invalid_protocol_version"), ("6", True, 1008, "inspector.unauthorized")],
)
def test_who_is_refused_is_told(engine: Live, version: str, wrong: bool, code: int, reason: str) -> None:
    actor_id, token = made(engine, "refused")

    async def main() -> None:
        async with looking(engine, actor_id, "wrong" if wrong else token, version) as socket:
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(socket.recv(), 60)
            assert (socket.close_code, socket.close_reason) == (code, reason)

    asyncio.run(main())
