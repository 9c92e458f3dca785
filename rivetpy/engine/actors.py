"""The actor that a request is for: found, made when it may be, and what its definition allows."""

from __future__ import annotations

from rivetpy.actors import ActorOptions
from rivetpy.errors import actor_not_found
from rivetpy.host import Host
from rivetpy.identity import format_key
from rivetpy.store import ActorRow
from rivetpy.wire.messages import ActorSpecifier
from rivetpy.wire.routes import ById, ByKey


async def actor_of(host: Host, wanted: ByKey | ById) -> ActorRow:
    """The actor. Raises RivetError ``actor.not_found``, ``namespace.not_found``, or why it can't be made."""
    if isinstance(wanted, ById):
        row = await host.get(wanted.actor_id)
        if row is None or row.destroyed_at is not None:
            raise actor_not_found(wanted.actor_id)
        return row
    host.namespaces.check(wanted.namespace)
    if wanted.create:
        row, _ = await host.get_or_create(wanted.namespace, wanted.name, wanted.key, wanted.input)
        return row
    found = await host.find(wanted.namespace, wanted.name, wanted.key)
    if found is None:
        raise actor_not_found(f"{wanted.name}/{format_key(wanted.key)}")
    return found


def options_of(host: Host, name: str) -> ActorOptions:
    """The options of actors of this name; the defaults for a name nobody defined."""
    definition = host.registry.actors.get(name)
    return definition.options if definition else ActorOptions()


def specifier_of(row: ActorRow) -> ActorSpecifier:
    """The actor as errors name it."""
    return ActorSpecifier(row.id, format_key(row.key) if row.key else "")
