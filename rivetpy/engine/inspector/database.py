"""What the inspector shows of an actor's own database: its tables, their rows, and what a statement answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rivetpy.codec import Value
from rivetpy.host import Host
from rivetpy.host.bounded import quoted
from rivetpy.wire.jsonvalue import JsonError, JsonObject

#: Rows of a page, at most.
MAX_ROWS = 500

Rows = list[dict[str, Value]]

_TABLES = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    " ORDER BY name"
)


class ActorDatabase:
    """One actor's database. Every method wakes it, and raises RivetError ``db.not_enabled``, ``db.refused``."""

    def __init__(self, host: Host, actor_id: str) -> None:
        self._host = host
        self._actor_id = actor_id

    async def schema(self) -> JsonObject:
        """Its tables and views, with columns, foreign keys and how many rows they have."""
        return {"tables": [await self._table(**each) for each in await self._query(_TABLES)]}

    async def _table(self, name: str, type: str) -> JsonObject:
        table = quoted(name)
        return {
            "table": {"schema": "main", "name": name, "type": type},
            "columns": await self._query(f"PRAGMA table_info({table})"),
            "foreignKeys": await self._query(f"PRAGMA foreign_key_list({table})"),
            "records": (await self._query(f"SELECT COUNT(*) AS n FROM {table}"))[0]["n"],  # noqa: S608 - quoted
        }

    async def rows(self, table: str, limit: int, offset: int) -> Rows:
        """A page of a table's rows."""
        if not table:
            raise JsonError("'table' is the name of a table.")
        sql = f"SELECT * FROM {quoted(table)} LIMIT ? OFFSET ?"  # noqa: S608 - quoted
        return await self._query(sql, (min(limit, MAX_ROWS), min(offset, 1 << 62)))

    async def execute(self, given: dict[str, Value]) -> Rows:
        """Run ``sql`` with ``args`` for ``?`` or ``properties`` for ``:name``."""
        sql, args, properties = given.get("sql"), given.get("args"), given.get("properties")
        if not isinstance(sql, str) or not sql.strip():
            raise JsonError("'sql' is a statement.")
        if args and properties is not None:
            raise JsonError("Give args or properties, not both.")
        if properties is not None:
            if not isinstance(properties, dict):
                raise JsonError("'properties' is an object: a value for each :name.")
            return await self._query(sql, properties)
        if not isinstance(args or [], list):
            raise JsonError("'args' is a list: a value for each ?.")
        return await self._query(sql, args or [])

    async def _query(self, sql: str, args: Sequence[Value] | Mapping[str, Value] = ()) -> Rows:
        rows = await self._host.query(self._actor_id, sql, args)
        return [{name: _shown(value) for name, value in row.items()} for row in rows]


def _shown(value: Value) -> Value:
    """Blobs as lists of numbers, as everybody shows them."""
    return list(value) if isinstance(value, bytes) else value
