"""Sending messages: reading the bodies first, so that a bad one sends nothing, then one after the other."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from rivetpy.cli.body import BodyError, is_pair, parse_argument, parse_body, parse_json, parse_lines
from rivetpy.cli.engine_api import EngineApi
from rivetpy.cli.problems import Problem, UsageProblem
from rivetpy.cli.target import QUEUE, find_actor
from rivetpy.cli.telling import tell
from rivetpy.cli.text import json_text, visible, who
from rivetpy.client.requests import Target
from rivetpy.errors import RivetError
from rivetpy.identity import format_key, parse_key
from rivetpy.wire import jsonvalue
from rivetpy.wire.bodies import QueueSend
from rivetpy.wire.jsonvalue import Json, JsonObject, Value

#: So many bytes are read of a file; the longest exported actor has as many.
LONGEST = 256 * 1024 * 1024
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Letter:
    """Where messages go."""

    target: Target
    actor: str
    key: str
    queue: str

    @property
    def whom(self) -> str:
        """The actor as a command names it."""
        return who({"name": self.actor, "key": self.key})

    @classmethod
    def to(cls, engine: EngineApi, queue: str, actor: str | None, key: str) -> Letter:
        """Find the actor; the first message makes it when it isn't there. Raises UsageProblem."""
        metadata = engine.metadata()
        name = find_actor(metadata, QUEUE, queue, actor)
        parts = parse_key(key)
        if metadata["actorNames"][name]["metadata"].get("workflow"):
            _warn_of_an_end(engine.find(name, parts, summary=True))
        return cls(engine.at(name, parts), name, format_key(parts), queue)


#: A workflow that receives nothing, by its status; what to do about it takes the actor.
_ENDED = {
    "completed": "completed; nothing receives this. To run it again: rivet rewind {}",
    "failed": "failed; this waits until it goes on: rivet recover {}",
    "cancelled": "was cancelled; nothing receives this",
    "diverged": "does not fit the code any more; this waits until it does: rivet history {}",
}


def _warn_of_an_end(found: JsonObject | None) -> None:
    """A message to a workflow that stands still is stored all the same, but its sender may want to know."""
    status = None if found is None else found["summary"].get("workflowStatus")
    if found is not None and status in _ENDED:
        print(
            visible(f"note: the workflow of {who(found)} {_ENDED[status].format(who(found))}"),
            file=sys.stderr,
        )


def read_bodies(words: Sequence[str], file: Path | None) -> list[Value]:
    """The body of the command line, or all of a file's. Raises UsageProblem with a caret at the place."""
    try:
        if file is None:
            return [parse_body(words, read_input)]
        return parse_lines(read_input(str(file)), "standard input" if str(file) == "-" else str(file))
    except BodyError as error:
        raise UsageProblem(str(error), error.picture) from None


@contextlib.contextmanager
def text_explained(words: Sequence[str]) -> Iterator[None]:
    """Where a queue refuses a body with ``count=1`` in it, which is text: say so."""
    try:
        yield
    except RivetError as error:
        pair = next(filter(_looks_like_json, words), None)
        if error.code != "message_invalid" or pair is None:
            raise
        json_pair = pair.replace("=", ":=", 1)
        raise Problem(f"{error.message} {pair} is text; a number, true or null is {json_pair}") from None


def _looks_like_json(word: str) -> bool:
    key, _, text = word.partition("=")
    with contextlib.suppress(BodyError):
        return is_pair(word) and not key.endswith(":") and not isinstance(parse_json(text), str)
    return False


def read_arguments(words: Sequence[str]) -> list[Value]:
    """An action's arguments. Raises UsageProblem with a caret at the place."""
    try:
        return [parse_argument(word, read_input) for word in words]
    except BodyError as error:
        raise UsageProblem(str(error), error.picture) from None


def read_input(name: str) -> bytes:
    """The bytes of a file, or of standard input (``-``). Raises UsageProblem for what can't be read or doesn't end."""
    try:
        if name == "-":
            data = _read(sys.stdin.buffer)
        else:
            with Path(name).expanduser().open("rb") as file:
                data = _read(file)
    except OSError as error:
        raise UsageProblem(f"{name}: {(error.strerror or str(error)).lower()}") from None
    if len(data) > LONGEST:
        raise UsageProblem(f"{name}: longer than {LONGEST >> 20} MiB. Is it the right file?")
    return data


def _read(file: BinaryIO) -> bytes:
    """All of it, or more than anything here takes."""
    return b"".join(islice(iter(partial(file.read, _CHUNK), b""), LONGEST // _CHUNK + 1))


def send_one(engine: EngineApi, letter: Letter, message: QueueSend, as_json: bool) -> None:
    """Send a message and say so, or print its response. Raises Problem when the wait timed out."""
    reply = engine.send(letter.target, letter.queue, message, _say_away)
    if reply.status == "timedOut":
        raise Problem(f"The message is stored, but was not handled in time. See: rivet history {letter.whom}")
    response = jsonvalue.to_json(reply.response)
    if message.wait and not as_json:
        print(json_text(response))
        return
    answered = {"response": response} if message.wait else {}
    _tell(letter, f"sent to {letter.whom}", as_json, messages=1, **answered)


def _say_away() -> None:
    print("note: the engine is away; the answer is asked for when it is back", file=sys.stderr)


def send_all(
    engine: EngineApi, letter: Letter, bodies: list[Value], idempotency_key: str | None, as_json: bool
) -> None:
    """Send many, in order; each gets its own idempotency key from its line. Raises Problem where it stopped."""
    sent = 0
    try:
        for body in _progress(bodies):
            key = f"{idempotency_key}:{sent + 1}" if idempotency_key else None
            engine.send(letter.target, letter.queue, QueueSend(body, idempotency_key=key))
            sent += 1
    finally:
        if sent < len(bodies):
            print(f"sent {sent} of {len(bodies)}; the next one is body {sent + 1}", file=sys.stderr)
    _tell(letter, f"sent {sent} to {letter.whom}", as_json, messages=sent)


def _tell(letter: Letter, sentence: str, as_json: bool, **facts: Json) -> None:
    actor: JsonObject = {"name": letter.actor, "key": letter.key}
    tell("send", sentence, as_json=as_json, actor=actor, queue=letter.queue, **facts)


def _progress(bodies: list[Value]) -> Iterator[Value]:
    """The bodies, with a bar on the terminal (on stderr) while they go."""
    if not sys.stderr.isatty() or len(bodies) < 2:
        yield from bodies
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(bodies, "sending", console=Console(stderr=True), transient=True)
