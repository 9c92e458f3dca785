"""The actors an engine runs, by name; and the ways to run them inside a program (spec actors 1, 7)."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Protocol, TypedDict, Unpack

from rivetpy.actors import ActorDefinition, check_name
from rivetpy.codec import Value
from rivetpy.errors import DefinitionError, RivetError, did_you_mean


class Registry:
    """The actors an engine runs, by name."""

    def __init__(self, actors: Mapping[str, ActorDefinition], origin: str | None = None) -> None:
        self.actors = dict(actors)
        #: The file that called `setup`, which says where the data is.
        self.origin = origin

    def __iter__(self) -> Iterator[str]:
        return iter(self.actors)

    def get(self, name: str) -> ActorDefinition:
        """The definition of this name. Raises RivetError ``actor.not_configured``, naming the nearest."""
        definition = self.actors.get(name)
        if definition is None:
            raise RivetError(
                "actor",
                "not_configured",
                f"No actor {name!r} in the registry. {did_you_mean(name, self.actors)}",
                {"name": name},
                404,
            )
        return definition

    # A registry is what users hold, so the ways to run it hang here; how is the engine's business, which is above.

    def asgi(self, **settings: Unpack[EngineSettings]) -> ASGIApp:
        """This registry's engine as an ASGI application, to be mounted under any path.

        Hand its ``lifespan`` to the outermost application: ``FastAPI(lifespan=engine.lifespan)``.
        """
        engine: ASGIApp = _embedded().EmbeddedEngine(_embedded().Settings(self, **settings))
        return engine

    async def serve(
        self, host: str = "127.0.0.1", port: int = 6420, **settings: Unpack[EngineSettings]
    ) -> None:
        """Serve this registry until cancelled. Raises `RivetError` when it can't be."""
        await _embedded().serve(_embedded().Settings(self, **settings), host, port)

    def start(self, host: str = "127.0.0.1", port: int = 6420, **settings: Unpack[EngineSettings]) -> None:
        """Serve this registry until Ctrl-C or SIGTERM; blocks. Raises `RivetError` when it can't be served."""
        _embedded().start(_embedded().Settings(self, **settings), host, port)


class EngineSettings(TypedDict, total=False):
    """How an embedded engine runs: where its data is (by default where `rivet dev` keeps it), ``disk`` or ``process``
    durability, the token every request must carry (by default RIVET_TOKEN)."""

    directory: str | os.PathLike[str] | None
    durability: str
    token: str | None
    local_only: bool


class ASGIApp(Protocol):
    """An ASGI application with a lifespan of its own."""

    def lifespan(self, application: object = None) -> contextlib.AbstractAsyncContextManager[None]:
        """The engine runs for as long as this context."""
        ...

    async def __call__(self, scope: Value, receive: Value, send: Value) -> None: ...


def _embedded() -> Value:
    return importlib.import_module("rivetpy.engine.embedded")


def setup(*, use: Mapping[str, ActorDefinition]) -> Registry:
    """Make the registry an engine runs: ``setup(use={"counter": counter})``.

    Raises `DefinitionError` for bad names and for things that are not actors.
    """
    if not isinstance(use, Mapping) or not use:
        raise DefinitionError('setup(use={"name": actor(…)}) needs at least one actor.')
    for name, definition in use.items():
        check_name("actor", name)
        if not isinstance(definition, ActorDefinition):
            raise DefinitionError(f"actor {name!r} is {definition!r}; define it with actor(…).")
    return Registry(use, sys._getframe(1).f_code.co_filename)
