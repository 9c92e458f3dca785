"""Copying actors: into a file, out of one, and beside themselves under another key."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from shlex import quote

from rivetpy.cli.problems import Problem, UsageProblem
from rivetpy.cli.sending import read_input
from rivetpy.cli.shared import Common
from rivetpy.cli.source import open_keeper, open_source, require
from rivetpy.cli.telling import tell
from rivetpy.cli.text import who
from rivetpy.errors import RivetError
from rivetpy.wire.jsonvalue import JsonObject


def export_actor(common: Common, actor: str, key: str) -> None:
    """Write the actor to standard output, which must be a file or a pipe."""
    if sys.stdout.isatty():
        raise UsageProblem(
            f"An exported actor is no text. Send it to a file: rivet export {quote(actor)} {quote(key)} > actor.rivet"
        )
    with open_source(common) as source:
        data = source.export(require(source, actor, key)["actor_id"])
    sys.stdout.buffer.write(data)


def import_actor(common: Common, file: str, key: str | None, as_json: bool) -> None:
    """Make the actor of a file."""
    from rivetpy.host import archive

    data = read_input(file)
    archive.unpack(data)  # before the keeper opens, and maybe makes, a data directory
    with open_keeper(common) as keeper, _key_is_free(f"rivet import {quote(file)} --key NEWKEY"):
        made = keeper.restore(data, key)
    _tell("import", f"imported {who(made)}", made, as_json)


def fork_actor(common: Common, actor: str, key: str, new_key: str, at: str | None, as_json: bool) -> None:
    """Copy an actor to another key."""
    with open_keeper(common) as keeper:
        found = require(keeper, actor, key)
        with _key_is_free(f"rivet fork {who(found)} NEWKEY"):
            made = keeper.fork(found["actor_id"], new_key, at)
    _tell("fork", f"forked {who(found)} as {who(made)}", made, as_json)


@contextlib.contextmanager
def _key_is_free(another: str) -> Iterator[None]:
    """Where it is not: say how to choose another."""
    try:
        yield
    except RivetError as error:
        if error.code != "duplicate_key":
            raise
        raise Problem(f"{error.message}. Choose another one: {another}") from None


def _tell(did: str, what: str, made: JsonObject, as_json: bool) -> None:
    left_out = made["left_out"]
    tell(
        did,
        f"{what}: {made['entries']} entries, {made['messages']} waiting messages",
        *(
            [f"left out: {left_out} scheduled calls and cron jobs, which the original makes"]
            if left_out
            else []
        ),
        f"it sleeps until something comes for it: rivet wake {who(made)}",
        as_json=as_json,
        **made,
    )
