"""c.kv and step.kv: durable values by key (spec actors 2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.host.rows import Rows
from rivetpy.workflow import abilities, layout
from rivetpy.workflow.abilities import K

MAX_KEY = 2048
MAX_VALUE = 128 * 1024
#: What the codec puts around bytes: they may have the full size.
_FRAME = 8

_TEXT = layout.KV + b"s"
_BYTES = layout.KV + b"b"


class KeyValues(abilities.KeyValues):
    """Values over an actor's rows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def get(self, key: str | bytes, default: Value = None) -> Value:
        data = self._rows.get(_row_key(key))
        return default if data is None else codec.decode(data)

    async def put(self, key: str | bytes, value: Value) -> None:
        await self._rows.change({_row_key(key): _encoded(key, value)})

    async def delete(self, key: str | bytes) -> bool:
        row = _row_key(key)
        there = self._rows.get(row) is not None
        if there:
            await self._rows.change({row: None})
        return there

    async def list(self, prefix: K, limit: int | None = None) -> dict[K, Value]:
        rows = self._rows.items(_row_key(prefix))[:limit]
        return {_key(key, type(prefix)): codec.decode(value) for key, value in rows}

    async def batch(
        self,
        put: Mapping[str, Value] | Mapping[bytes, Value] | None = None,
        delete: Collection[str | bytes] = (),
    ) -> None:
        changes: dict[bytes, bytes | None] = {_row_key(key): None for key in delete}
        changes |= {_row_key(key): _encoded(key, value) for key, value in (put or {}).items()}
        await self._rows.change(changes)


def _row_key(key: str | bytes) -> bytes:
    if not isinstance(key, str | bytes):
        raise TypeError(f"a key of kv is a str or bytes, not {key!r}")
    raw = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
    if len(raw) > MAX_KEY:
        raise RivetError(
            "kv",
            "key_too_large",
            f"The key {key[:20]!r}… has {len(raw)} bytes; {MAX_KEY} are allowed.",
            {"size": len(raw), "limit": MAX_KEY},
            400,
        )
    return (_TEXT if isinstance(key, str) else _BYTES) + raw


def _key(row_key: bytes, kind: type[K]) -> K:
    raw = row_key[len(_TEXT) :]
    return raw.decode("utf-8", "surrogatepass") if issubclass(kind, str) else raw


def _encoded(key: str | bytes, value: Value) -> bytes:
    data = codec.encode(value)
    if len(data) > MAX_VALUE + _FRAME:
        raise RivetError(
            "kv",
            "value_too_large",
            f"The value of {key!r} has {len(data)} bytes; {MAX_VALUE} are allowed. "
            "Keep it in parts, or in a file and where it is.",
            {"size": len(data), "limit": MAX_VALUE},
            400,
        )
    return data
