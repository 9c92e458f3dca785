"""An actor's small durable rows in memory, and the two ways to change them: now, or with a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from rivetpy.host.core import Core
from rivetpy.store import Batch

#: New values by key; None deletes.
Changes = Mapping[bytes, bytes | None]


class Rows(Protocol):
    """Rows as whoever uses them sees them."""

    def get(self, key: bytes) -> bytes | None:
        """The row of a key."""
        ...

    def items(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        """The rows whose keys begin with it, in order."""
        ...

    async def change(self, changes: Changes) -> None:
        """Change rows, all or none. Raises `StoreError`."""
        ...


class Table:
    """The rows as they are stored, or on their way to be. ``on_change`` is told of every change."""

    def __init__(self, rows: Iterable[tuple[bytes, bytes]], prefixes: tuple[bytes, ...]) -> None:
        self._rows = {key: value for key, value in rows if key.startswith(prefixes)}
        self.on_change: Callable[[Changes], None] = lambda changes: None

    def get(self, key: bytes) -> bytes | None:
        """The row of a key."""
        return self._rows.get(key)

    def items(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        """The rows whose keys begin with it, in order."""
        return sorted(item for item in self._rows.items() if item[0].startswith(prefix))

    def stage(self, batch: Batch, changes: Changes) -> None:
        """Change rows, here and in a batch that is handed in next."""
        for key, value in changes.items():
            if value is None:
                self._rows.pop(key, None)
                batch.deletes.append(key)
            else:
                self._rows[key] = batch.puts[key] = value
        self.on_change(changes)


class DirectRows:
    """Changed at once: durable when `change` returns."""

    def __init__(self, core: Core, table: Table) -> None:
        self._core = core
        self._table = table
        self.get = table.get
        self.items = table.items

    async def change(self, changes: Changes) -> None:
        batch = self._core.batch()
        self._table.stage(batch, changes)
        await self._core.write(batch)


class StagedRows:
    """Changed for whoever looks through it; for all others when it is staged."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.changes: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        return self.changes[key] if key in self.changes else self._table.get(key)

    def items(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        rows = dict(self._table.items(prefix)) | self.changes
        return sorted((k, v) for k, v in rows.items() if v is not None and k.startswith(prefix))

    async def change(self, changes: Changes) -> None:
        self.changes |= changes
