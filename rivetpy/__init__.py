"""Durable actors and workflows for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rivetpy.actors import ActorDefinition, ActorOptions, actor
    from rivetpy.channels import EventDefinition, QueueDefinition, event, queue
    from rivetpy.errors import DefinitionError, EncodeError, RivetError, StoreError, UserError
    from rivetpy.host.context import ActorContext
    from rivetpy.registry import Registry, setup

__all__ = [
    "ActorContext",
    "ActorDefinition",
    "ActorOptions",
    "DefinitionError",
    "EncodeError",
    "EventDefinition",
    "QueueDefinition",
    "Registry",
    "RivetError",
    "StoreError",
    "UserError",
    "actor",
    "event",
    "queue",
    "setup",
]
__version__ = "0.1.0"

#: Loaded when first asked for, so that the command line starts quickly, and hears a Ctrl-C from its first moment.
_LAZY = (
    {"ActorContext": "rivetpy.host.context"}
    | dict.fromkeys(("ActorDefinition", "ActorOptions", "actor"), "rivetpy.actors")
    | dict.fromkeys(("Registry", "setup"), "rivetpy.registry")
    | dict.fromkeys(
        ("DefinitionError", "EncodeError", "RivetError", "StoreError", "UserError"), "rivetpy.errors"
    )
    | dict.fromkeys(("EventDefinition", "QueueDefinition", "event", "queue"), "rivetpy.channels")
)


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'rivetpy' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
