"""What a shell completes from the running engine: all that is live and has a name. Quick, and silent without one."""

from __future__ import annotations

import contextlib
import io
import signal
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from rivetpy.cli.engine_api import EngineApi
    from rivetpy.cli.target import Declared

#: Who pressed the key does not wait longer (seconds).
PATIENCE = 1.0
#: So many keys are looked through, and so many of the newest entries of a journal.
KEYS, ENTRIES = 1000, 1000

Find = Callable[["EngineApi", typer.Context], Iterable[str]]


class _TooLate(BaseException):
    """Patience is over; no `except Exception` on the way catches it."""


def _names(find: Find) -> Callable[[typer.Context, str], list[str]]:
    """A completion: what ``find`` sees in the engine the words so far name."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        # Whatever is wrong, a line that is being typed is no place to say it.
        with contextlib.suppress(Exception, SystemExit, _TooLate), _engine(ctx) as engine:
            return sorted({name for name in find(engine, ctx) if name.startswith(incomplete) and _safe(name)})
        return []

    return complete


@contextlib.contextmanager
def _engine(ctx: typer.Context) -> Iterator[EngineApi]:
    from rivetpy.cli.shared import Common
    from rivetpy.cli.source import open_engine

    given = ctx.params
    common = Common(given.get("endpoint"), given.get("data_dir"), given.get("namespace"))
    with contextlib.redirect_stderr(io.StringIO()), _patience(), open_engine(common) as engine:
        yield engine


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    def give_up(number: int, frame: FrameType | None) -> NoReturn:
        raise _TooLate

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _safe(name: str) -> bool:
    """Whether a shell can take it as one line that is no option."""
    return name.isprintable() and not name.startswith("-")


def _actors(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    names: Iterable[str] = engine.metadata()["actorNames"]
    return names


def _declared(what: Declared) -> Find:
    def find(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
        about = engine.metadata()["actorNames"]
        only = ctx.params.get("actor")
        for name, actor in about.items():
            if only in {None, name}:
                yield from actor["metadata"][what.key]

    return find


def _keys(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    return engine.keys(_whose(engine, ctx), KEYS)


def _word(ctx: typer.Context, place: int, name: str) -> str:
    """An argument before the word that is completed; "" when it is not there.

    While the value of an option is being typed, typer leaves the arguments before it unread.
    """
    return str(ctx.args[place] if place < len(ctx.args) else ctx.params.get(name) or "")


def _whose(engine: EngineApi, ctx: typer.Context) -> str:
    """The actor whose keys are meant: the one that is named, else the one that has the queue or the action."""
    from rivetpy.cli.target import ACTION, QUEUE, find_actor

    given = ctx.params
    actor: str | None = given.get("actor")
    if actor is not None:
        return actor
    what = QUEUE if "queue" in given else ACTION
    return find_actor(engine.metadata(), what, _word(ctx, 0, what.word), None)


def _queues(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    from rivetpy.cli.target import QUEUE

    return _declared(QUEUE)(engine, ctx)


def _actions(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    from rivetpy.cli.target import ACTION

    return _declared(ACTION)(engine, ctx)


def _events(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    names: Iterable[str] = engine.metadata()["actorNames"][_word(ctx, 0, "actor")]["metadata"]["events"]
    return names


def _messages(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    return [str(message["id"]) for message in engine.inspect(_id(engine, ctx), "queue")["messages"]]


def _entries(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    from rivetpy.cli.journal import read_lines

    return [line.location for line in read_lines(engine.history(_id(engine, ctx), ENTRIES)["history"])]


def _id(engine: EngineApi, ctx: typer.Context) -> str:
    """The actor that the words so far name."""
    from rivetpy.cli.source import require

    return str(require(engine, _word(ctx, 0, "actor"), _word(ctx, 1, "key"))["actor_id"])


actors = _names(_actors)
keys = _names(_keys)
queues = _names(_queues)
actions = _names(_actions)
events = _names(_events)
messages = _names(_messages)
entries = _names(_entries)
