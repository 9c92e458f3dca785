"""Calling what users wrote: it may be slow, may be async or not, and never takes the engine with it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterator

from rivetpy.codec import Value
from rivetpy.errors import RivetError


@contextlib.contextmanager
def no_exit(what: str) -> Iterator[None]:
    """User code that calls ``sys.exit`` ends itself, not the engine: RuntimeError."""
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"{what} called sys.exit({error.code!r})") from error


async def run(what: str, function: Callable[..., Value], *args: Value) -> Value:
    """What a ``def`` or ``async def`` returns."""
    with no_exit(what):
        value = function(*args)
        return await value if inspect.isawaitable(value) else value


@contextlib.asynccontextmanager
async def at_most(seconds: float | None, error: RivetError) -> AsyncIterator[None]:
    """Give what is inside so long (None: any time), then raise the error in its place."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as timeout:
        if limit.expired():
            raise error from timeout
        raise


def hook_timed_out(hook: str, option: str, seconds: float) -> RivetError:
    """The error of a hook that took too long."""
    return RivetError(
        "actor",
        "hook_timed_out",
        f"{hook} took longer than {seconds:g} s. Make it quicker, or allow more with ActorOptions({option}=…).",
        {"hook": hook},
    )
