"""Which actor a message or a call is for, found from the name of the queue or action."""

from __future__ import annotations

from dataclasses import dataclass

from rivetpy.cli.problems import UsageProblem
from rivetpy.errors import did_you_mean
from rivetpy.wire.jsonvalue import JsonObject


@dataclass(frozen=True, slots=True)
class Declared:
    """A kind of thing that actors declare: the key in the metadata, and its word in messages."""

    key: str
    word: str


QUEUE = Declared("queues", "queue")
ACTION = Declared("actions", "action")


def find_actor(metadata: JsonObject, what: Declared, name: str, actor: str | None) -> str:
    """The name of the actor that declares the queue or action; ``actor`` settles it when several do.

    Raises UsageProblem with the nearest name, or the actors to choose from.
    """
    declared: dict[str, list[str]] = {
        each: about["metadata"].get(what.key, []) for each, about in metadata["actorNames"].items()
    }
    if actor is not None:
        return _checked(declared, what, name, actor)
    having = sorted(each for each, names in declared.items() if name in names)
    if len(having) == 1:
        return having[0]
    if having:
        raise UsageProblem(
            f"The {what.word} {name!r} is declared by {', '.join(having)}. Choose: --actor {having[0]}"
        )
    known = {each for names in declared.values() for each in names}
    raise UsageProblem(f"No actor declares the {what.word} {name!r}. {did_you_mean(name, known)}")


def _checked(declared: dict[str, list[str]], what: Declared, name: str, actor: str) -> str:
    if actor not in declared:
        raise UsageProblem(f"The registry has no actor {actor!r}. {did_you_mean(actor, declared)}")
    if name not in declared[actor]:
        raise UsageProblem(
            f"The actor {actor!r} declares no {what.word} {name!r}. {did_you_mean(name, declared[actor])}"
        )
    return actor
