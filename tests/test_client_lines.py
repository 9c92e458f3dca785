"""A connection to something that answers otherwise than an engine: what is no message, and more than is read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve

from rivetpy import RivetError
from rivetpy.client import create_client
from rivetpy.wire.encodings import BARE
from rivetpy.wire.messages import TO_CLIENT, Event, Init

EVENT = BARE.write_union(TO_CLIENT, Event("e", [1]))


async def answering(answer: Callable[[ServerConnection], Awaitable[None]]) -> tuple[Server, str]:
    server = await serve(answer, "127.0.0.1", 0, subprotocols=["rivet"])  # type: ignore[list-item]
    port = next(iter(server.sockets)).getsockname()[1]
    return server, f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    "sent", [b"", b"\x63\x00garbage", "text", b"[" * 100_000], ids=lambda sent: str(sent)[:8]
)
def test_what_is_no_message_is_told_as_that(sent: bytes | str) -> None:
    async def answer(socket: ServerConnection) -> None:
        await socket.send(sent)
        await socket.wait_closed()

    async def main() -> None:
        server, url = await answering(answer)
        async with server, create_client(url) as client:
            with pytest.raises(RivetError) as refused:
                async with client.a.get_or_create("k").connect():
                    pass
        assert (refused.value.group, refused.value.code) == ("client", "unreadable_answer")

    asyncio.run(main())


def test_closing_does_not_wait_for_what_nobody_reads() -> None:
    """The answer to a close comes behind the events that were sent before, more than are read ahead."""

    async def answer(socket: ServerConnection) -> None:
        await socket.send(BARE.write_union(TO_CLIENT, Init("actor", "connection")))
        for _ in range(2000):
            await socket.send(EVENT)
        await socket.wait_closed()

    async def main() -> None:
        server, url = await answering(answer)
        async with server, create_client(url) as client:
            connection = client.a.get_or_create("k").connect()
            await connection.opened()
            await asyncio.wait_for(connection.close(), 4)

    asyncio.run(main())
