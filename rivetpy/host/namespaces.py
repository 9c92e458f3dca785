"""The namespaces of an engine: each has actors of its own. They are kept as rows like actors, in no namespace."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from rivetpy import codec
from rivetpy.clock import Clock
from rivetpy.errors import RivetError, did_you_mean
from rivetpy.identity import new_id
from rivetpy.store import ActorRow, Batch, Listing, Store
from rivetpy.workflow import layout

#: The one that is there from the beginning.
DEFAULT = "default"
#: What the rows of namespaces have where actors have theirs.
NOWHERE, KIND = "", "namespace"

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?")
MAX_DISPLAY_NAME = 256


@dataclass(frozen=True, slots=True)
class Namespace:
    """One namespace; ``created_at`` is epoch ms, 0 for the one that was always there."""

    name: str
    display_name: str
    created_at: int = 0


class Namespaces:
    """All of them, in memory: every request asks whether there is the one it names."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._all = {DEFAULT: Namespace(DEFAULT, DEFAULT)}
        self._making = asyncio.Lock()

    async def load(self) -> None:
        """Read what is stored. Raises `StoreError`."""
        cursor: str | None = None
        while True:
            rows, cursor = await self._store.list(Listing(NOWHERE, KIND, cursor=cursor))
            for row in rows:
                stored = dict(await self._store.load(row.id))
                name = row.key[0]
                self._all[name] = Namespace(name, codec.decode(stored[layout.INPUT]), row.created_at)
            if cursor is None:
                return

    def check(self, name: str) -> None:
        """Raises RivetError ``namespace.not_found``."""
        if name not in self._all:
            raise RivetError(
                "namespace",
                "not_found",
                f"There is no namespace {name!r:.100}. {did_you_mean(name, self._all)}",
            )

    def all(self) -> list[Namespace]:
        """Every namespace, oldest first."""
        return sorted(self._all.values(), key=lambda each: (each.created_at, each.name))

    async def create(self, name: str, display_name: str) -> Namespace:
        """Make a namespace. Raises RivetError ``namespace.invalid_name``, ``name_not_unique``, and `StoreError`."""
        if _NAME.fullmatch(name) is None:
            raise RivetError(
                "namespace",
                "invalid_name",
                f"A namespace has 1 to 63 lower-case letters, digits, - and _, not {name!r:.100}.",
            )
        if len(display_name) > MAX_DISPLAY_NAME:
            raise RivetError(
                "namespace", "invalid_name", f"A display name has at most {MAX_DISPLAY_NAME} characters."
            )
        async with self._making:
            if name in self._all:
                raise RivetError("namespace", "name_not_unique", f"There is a namespace {name!r} already.")
            made = Namespace(name, display_name, self._clock.now())
            row = ActorRow(new_id(), NOWHERE, KIND, (name,), made.created_at, awake=False)
            await self._store.commit(Batch(row.id, puts={layout.INPUT: codec.encode(display_name)}, row=row))
            self._all[name] = made
        return made
