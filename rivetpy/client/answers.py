"""Bodies in parts: what a request sends as it comes, and an actor's own answer before it was read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

import httpx

from rivetpy.client.calls import OpenReply
from rivetpy.client.portal import Portal

#: The body of a request.
Content = bytes | str | Iterable[bytes] | AsyncIterable[bytes] | None


def body_of(content: Content) -> tuple[bytes | str | None, AsyncIterable[bytes] | None]:
    """The body, whole or in parts. What is not asynchronous may block, a file for one: it is asked in a thread."""
    if content is None or isinstance(content, bytes | str):
        return content, None
    return None, content if isinstance(content, AsyncIterable) else _from_threads(iter(content))


async def _from_threads(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (part := await asyncio.to_thread(next, parts, None)) is not None:
        yield part


def unread(reply: OpenReply, request: httpx.Request) -> httpx.Response:
    """The answer as httpx has it, its body still to come."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in reply.headers]
    return httpx.Response(reply.status, headers=headers, stream=_Parts(reply), request=request)


class _Parts(httpx.AsyncByteStream):
    def __init__(self, reply: OpenReply) -> None:
        self._reply = reply

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._reply.parts

    async def aclose(self) -> None:
        await self._reply.close()


def synchronous(portal: Portal, answer: httpx.Response) -> httpx.Response:
    """The same answer for code without asyncio."""
    if answer.is_closed:  # read already
        return answer
    return httpx.Response(
        answer.status_code,
        headers=answer.headers,
        stream=_SyncParts(portal, answer),
        request=answer.request,
    )


class _SyncParts(httpx.SyncByteStream):
    def __init__(self, portal: Portal, answer: httpx.Response) -> None:
        self._portal = portal
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        parts = self._answer.aiter_raw()
        while True:
            try:
                yield self._portal.run(parts.__anext__)
            except StopAsyncIteration:
                return

    def close(self) -> None:
        self._portal.run(self._answer.aclose)
