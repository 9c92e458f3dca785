"""Who waits for the answer to a message, and which sends were seen before (spec actors 6)."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import msgpack

from rivetpy.errors import RivetError
from rivetpy.store import Batch
from rivetpy.wire.bodies import WAITING_KEY
from rivetpy.workflow import layout
from rivetpy.workflow.entries import Message

VERSION = 1
#: How long an idempotency key is remembered (ms).
REMEMBERED = 24 * 3600 * 1000
#: How long (ms) one is that a client gave by itself, after it was last asked for: by then that client has come back or
#: given up. A day of them would be too many, since each send that waits has one.
_COMING_BACK = 5 * 60 * 1000
#: At most this many expired keys are forgotten with one send: the work is spread out.
_FORGET_AT_ONCE = 2
#: How the rows of keys end that are remembered for less than a day.
_BRIEF = b"~"
_DIGEST = 16


@dataclass(slots=True)
class Seen:
    """A send with an idempotency key: the message it made, and what became of it."""

    message: int
    #: When it was sent; of one that is remembered briefly, when it was completed (epoch ms).
    at: int
    completed: bool = False
    response: bytes | None = None
    #: What brings the message into the store: nobody with the same key is answered before. None: done long ago.
    arriving: asyncio.Task[object] | None = None

    def pack(self) -> bytes:
        """As stored."""
        packed: bytes = msgpack.packb([VERSION, self.message, self.at, self.completed, self.response])
        return packed


def seen_key(idempotency_key: str) -> bytes:
    """The row of an idempotency key; hashed, so that any text will do."""
    text = idempotency_key.encode("utf-8", "surrogatepass")
    end = _BRIEF if idempotency_key.startswith(WAITING_KEY) else b""
    return layout.IDEMPOTENCY + hashlib.blake2b(text, digest_size=_DIGEST).digest() + end


def _is_brief(row_key: bytes) -> bool:
    return row_key[len(layout.IDEMPOTENCY) + _DIGEST :] == _BRIEF


def _first(keys: Iterable[bytes]) -> list[bytes]:
    return list(itertools.islice(keys, _FORGET_AT_ONCE))


def _as_if_just_asked(seen: dict[bytes, Seen], now: int) -> dict[bytes, int]:
    """The newest as of now, the others by so much older; who waits for an answer may come at any time."""
    newest = max((each.at for each in seen.values()), default=now)
    asked = {key: now - newest + each.at if each.completed else now for key, each in seen.items()}
    return dict(sorted(asked.items(), key=lambda item: item[1]))


class Senders:
    """The waiting senders of one actor, and its idempotency keys.

    ``longest`` (seconds) is how long one request may wait for an answer.
    """

    def __init__(self, rows: Iterable[tuple[bytes, bytes]], now: int, longest: float) -> None:
        self._futures: dict[int, list[asyncio.Future[bytes]]] = {}
        seen = []
        for key, value in rows:
            if key.startswith(layout.IDEMPOTENCY):
                _, *fields = msgpack.unpackb(value)
                seen.append((key, Seen(*fields)))
        #: Oldest first, so the expired ones are in front.
        self._seen = dict(sorted(seen, key=lambda item: item[1].at))
        #: When those of them that are remembered briefly were last asked for, longest ago first. Time in which nothing
        #: was sent does not count: the engine may have been gone, and nobody could come back.
        self._brief = _as_if_just_asked({k: s for k, s in self._seen.items() if _is_brief(k)}, now)
        self._coming_back = _COMING_BACK + round(longest * 1000)

    @property
    def waiting(self) -> bool:
        """Whether anybody waits for an answer."""
        return bool(self._futures)

    def seen(self, idempotency_key: str, now: int) -> Seen | None:
        """The earlier send with this key, unless it is too long ago."""
        key = seen_key(idempotency_key)
        seen = self._seen.get(key)
        if seen is None or now - seen.at >= REMEMBERED:
            return None
        self._asked(key, now)
        return seen

    def _asked(self, key: bytes, now: int) -> None:
        if _is_brief(key):
            self._brief.pop(key, None)
            self._brief[key] = now

    def remember(self, batch: Batch, message: Message, idempotency_key: str) -> Seen:
        """Put the message's idempotency key into the batch that makes it durable."""
        self._forget_old(batch, message.created_at)
        key = seen_key(idempotency_key)
        self._seen.pop(key, None)
        self._seen[key] = Seen(message.id, message.created_at)
        self._asked(key, message.created_at)
        batch.puts[key] = self._seen[key].pack()
        return self._seen[key]

    def _forget_old(self, batch: Batch, now: int) -> None:
        old = [key for key in _first(self._seen) if now - self._seen[key].at >= REMEMBERED]
        old += [key for key in _first(self._brief) if now - self._brief[key] >= self._coming_back]
        for key in dict.fromkeys(old):
            self._forget(batch, key)

    def _forget(self, batch: Batch, key: bytes) -> None:
        self._seen.pop(key, None)
        self._brief.pop(key, None)
        batch.deletes.append(key)

    def complete(self, batch: Batch, message: Message, response: bytes, now: int) -> None:
        """Put the message's end into a batch; `answer` must follow once it is durable."""
        batch.deletes.append(layout.message_key(message.id))
        if message.idempotency_key is None:
            return
        key = seen_key(message.idempotency_key)
        seen = self._seen.get(key)
        if seen is not None and seen.message == message.id:
            seen.completed, seen.response = True, response
            if _is_brief(key):
                seen.at = now
                self._asked(key, now)
            batch.puts[key] = seen.pack()

    def answer(self, message_id: int, response: bytes) -> None:
        """Give the response to everybody who waits for it."""
        for future in self._futures.pop(message_id, ()):
            if not future.done():
                future.set_result(response)

    def forget_dropped(self, batch: Batch, message: Message) -> None:
        """Put into the batch that drops a message that its idempotency key is free again: nothing came of it."""
        if message.idempotency_key is None:
            return
        key = seen_key(message.idempotency_key)
        seen = self._seen.get(key)
        if seen is not None and seen.message == message.id:
            self._forget(batch, key)

    def refuse(self, message: Message) -> None:
        """The message was dropped, and that is durable: tell everybody who waits for its answer."""
        error = RivetError(
            "queue",
            "dropped",
            f"The message was removed from queue {message.queue!r} before it was handled.",
            {"queue": message.queue},
            410,
        )
        for future in self._futures.pop(message.id, ()):
            if not future.done():
                future.set_exception(error)

    async def wait(self, message_id: int) -> bytes:
        """Wait for the response to a message, until cancelled."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._futures.setdefault(message_id, []).append(future)
        try:
            return await future
        finally:
            futures = self._futures.get(message_id, [])
            if future in futures:
                futures.remove(future)
            if not futures:
                self._futures.pop(message_id, None)

    def abandon(self, error: BaseException) -> None:
        """The actor goes away: nobody will be answered here."""
        for futures in self._futures.values():
            for future in futures:
                if not future.done():
                    future.set_exception(error)
        self._futures.clear()
