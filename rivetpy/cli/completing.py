"""What a shell completes from the running engine: actors, keys, queues, actions. Quick, and silent without one."""

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
#: So many keys are looked through.
KEYS = 1000

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


def _whose(engine: EngineApi, ctx: typer.Context) -> str:
    """The actor whose keys are meant: the one that is named, else the one that has the queue or the action."""
    from rivetpy.cli.target import ACTION, QUEUE, find_actor

    given = ctx.params
    actor: str | None = given.get("actor")
    if actor is not None:
        return actor
    what = QUEUE if "queue" in given else ACTION
    # An option whose value is being typed keeps typer from telling the arguments before it.
    name = given[what.word] or next(iter(ctx.args), "")
    return find_actor(engine.metadata(), what, name, None)


def _queues(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    from rivetpy.cli.target import QUEUE

    return _declared(QUEUE)(engine, ctx)


def _actions(engine: EngineApi, ctx: typer.Context) -> Iterable[str]:
    from rivetpy.cli.target import ACTION

    return _declared(ACTION)(engine, ctx)


actors = _names(_actors)
keys = _names(_keys)
queues = _names(_queues)
actions = _names(_actions)
