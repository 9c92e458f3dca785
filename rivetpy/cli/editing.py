"""Changing an actor's state: parts of it by path, or the whole in the person's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rivetpy.cli.asking import confirm
from rivetpy.cli.body import BodyError, parse_json
from rivetpy.cli.engine_api import EngineApi
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Common
from rivetpy.cli.source import open_engine, require
from rivetpy.cli.statepath import Assignment
from rivetpy.cli.text import json_text, visible
from rivetpy.errors import RivetError
from rivetpy.wire.jsonvalue import Json

#: What takes a state to what it shall be.
Change = Callable[[Json], Json]


def set_parts(common: Common, actor: str, key: str, parts: Sequence[Assignment]) -> Json:
    """Change parts of the state; what it is then. Raises RivetError when somebody else changed it meanwhile."""

    def changed(state: Json) -> Json:
        for part in parts:
            state = part.apply(state)
        return state

    with open_engine(common) as engine:
        return _change(engine, require(engine, actor, key)["actor_id"], changed)


def edit_state(common: Common, actor: str, key: str) -> Json:
    """Have the person edit the state; what it is then.

    Raises Problem that says where the edited text is kept when it can't be taken.
    """
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        file = Path(tempfile.mkdtemp(prefix="rivet-state-")) / "state.json"
        try:
            state = _change(engine, found["actor_id"], lambda state: _edited(file, state))
        except RivetError as error:
            raise Problem(f"{error.message} {_kept(file)}") from error
        shutil.rmtree(file.parent, ignore_errors=True)
        return state


def _change(engine: EngineApi, actor: str, change: Change) -> Json:
    answer = engine.inspect(actor, "state")
    if not answer["isStateEnabled"]:
        raise Problem("This actor has no state")
    before: Json = answer["state"]
    state: Json = change(before)
    if state != before:
        engine.set_state(actor, state, answer["revision"])
    return state


def _edited(file: Path, state: Json) -> Json:
    """The state as the person leaves it; text that can't be read is given back to them."""
    file.write_text(json_text(state, 2) + "\n", "utf-8")
    while True:
        _open_editor(file)
        try:
            edited: Json = parse_json(_left(file))
        except (BodyError, UnicodeDecodeError) as error:
            _ask_again(file, error)
        else:
            return edited


def _left(file: Path) -> str:
    """What the editor left."""
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise Problem(f"Nothing was changed: the editor left no file: {error.strerror}") from None


def _ask_again(file: Path, error: BodyError | UnicodeDecodeError) -> None:
    picture = error.picture if isinstance(error, BodyError) else ""
    if not sys.stdin.isatty():
        raise Problem(f"Nothing was changed: {error}. {_kept(file)}", picture)
    print(visible(f"{error}"), *picture.splitlines(), sep="\n", file=sys.stderr)
    confirm(f"Edit it again? Else: {_kept(file)}", yes=False)


def _open_editor(file: Path) -> None:
    """Run $VISUAL, $EDITOR or vi on a file until it is closed. Raises Problem when that fails."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(command), str(file)], check=False).returncode  # noqa: S603 - theirs
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Problem(
            f"The editor {command!r} can't be run: {str(why).lower()}. Name one: EDITOR=nano"
        ) from None
    if code:
        raise Problem(f"Nothing was changed: the editor {command!r} ended with {code}. {_kept(file)}")


def _kept(file: Path) -> str:
    return f"Your text is kept in {file}"
