"""An actor as the management interface shows it (wire 4)."""

from __future__ import annotations

from rivetpy.identity import format_key
from rivetpy.store import ActorRow
from rivetpy.wire.jsonvalue import JsonObject


def actor_json(row: ActorRow, *, awake: bool) -> JsonObject:
    """The actor object; times are epoch ms. What only a cluster knows is null or ``default``."""
    return {
        "actor_id": row.id,
        "name": row.name,
        "key": format_key(row.key),
        "namespace_id": row.namespace,
        "datacenter": "default",
        "runner_name_selector": "default",
        "crash_policy": "sleep",
        "create_ts": row.created_at,
        "start_ts": row.created_at,
        "pending_allocation_ts": None,
        "connectable_ts": row.created_at if awake else None,
        "sleep_ts": None,
        "reschedule_ts": None,
        "destroy_ts": row.destroyed_at,
    }
