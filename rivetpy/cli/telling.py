"""How a command that changed something says so: in sentences, or with ``--json`` as one object."""

from __future__ import annotations

from rivetpy.cli.text import json_text, visible
from rivetpy.wire.jsonvalue import Json, JsonObject

#: What names an actor, where it is known.
_NAMED = ("actor_id", "name", "key")


def tell(did: str, *sentences: str, as_json: bool, actor: JsonObject | None = None, **facts: Json) -> None:
    """Print the sentences, a line each; or one object: the word for what was done, the actor's names, the facts."""
    if as_json:
        named = {} if actor is None else {name: actor[name] for name in _NAMED if name in actor}
        print(json_text({"did": did, **named, **facts}))
    else:
        print(*map(visible, sentences), sep="\n")
