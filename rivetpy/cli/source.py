"""Where a command gets its answers: a running engine, or the data directory when none runs."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Protocol

from rivetpy import __version__
from rivetpy.cli.engine_api import EngineApi, introduced
from rivetpy.cli.paging import Paged
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Common
from rivetpy.client.endpoint import Endpoint, find_endpoint
from rivetpy.client.plain import CONNECT_TIMEOUT
from rivetpy.config import DATABASE, DEFAULT_HOST, DEFAULT_PORT, Place, RegistryRef, data_dir, find_engine
from rivetpy.errors import RivetError, did_you_mean
from rivetpy.identity import Key, parse_key
from rivetpy.wire.jsonvalue import Json, JsonObject

#: So many actors are looked at for the names that are there.
_LOOKED_AT = 1000
DEFAULT_URL = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"


class Source(Protocol):
    """What the reading commands read; objects are shaped as in spec wire 4 and 9.2."""

    def actors(self, name: str | None, limit: int | None = None, cursor: str | None = None) -> Paged:
        """The actors, newest first, each with its summary."""
        ...

    def find(self, name: str, key: Key) -> JsonObject | None:
        """The actor of this name and key."""
        ...

    def inspect(self, actor: str, what: str) -> JsonObject:
        """``state`` or ``queue`` of an actor, by its id."""
        ...

    def history(self, actor: str, limit: int | None = None, since: int | None = None) -> JsonObject:
        """The actor's journal: all entries or the newest, or what may have changed ``since`` (epoch ms)."""
        ...

    def export(self, actor: str) -> bytes:
        """The actor as a file, by its id."""
        ...


class Keeper(Source, Protocol):
    """What the commands that copy actors write to."""

    def restore(self, data: bytes, key: str | None) -> JsonObject:
        """Make the actor of a file, under another key if given: the actor, and how much is in it."""
        ...

    def fork(self, actor: str, key: str, location: str | None) -> JsonObject:
        """Copy an actor to another key, as it was before an entry if given."""
        ...


#: How an engine of another release, or of another make, answers what it does not know.
_STRANGE = {("api", "not_found"), ("api", "bad_request")}


@contextlib.contextmanager
def open_engine(common: Common) -> Iterator[EngineApi]:
    """The running engine. Raises Problem that says how to start one."""
    place = _place(common)
    endpoint = _answering(place, common)
    if endpoint is None:
        raise Problem(_no_engine(place))
    with _engine_at(endpoint) as engine:
        yield engine


@contextlib.contextmanager
def _of_one_version(engine: EngineApi) -> Iterator[None]:
    """An answer that can't be read, or a refusal of the route, may come from another release or make: say so."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, RivetError) as error:
        if isinstance(error, RivetError) and (error.group, error.code) not in _STRANGE:
            raise
        theirs = engine.metadata().get("version")
        if theirs == __version__:
            raise
        raise Problem(
            f"The engine at {engine.endpoint.url} is rivet {theirs}, this command is rivet {__version__}. "
            "Restart rivet dev, so that both are the same."
        ) from error


@contextlib.contextmanager
def _engine_at(endpoint: Endpoint) -> Iterator[EngineApi]:
    """The engine there, until the end of the block; an error says so when it is of another version."""
    with contextlib.closing(EngineApi(endpoint)) as engine, _of_one_version(engine):
        yield engine


@contextlib.contextmanager
def open_source(common: Common) -> Iterator[Source]:
    """The running engine, else the data directory, read-only. Raises Problem when there is neither."""
    place = _place(common)
    endpoint = _answering(place, common)
    if endpoint is not None:
        with _engine_at(endpoint) as engine:
            yield engine
        return
    if place.directory is None or not place.has_data or (place.endpoint_named and not place.directory_named):
        raise Problem(_no_engine(place))
    from rivetpy.cli.offline import Offline

    print(f"no engine is running; reading {place.directory}", file=sys.stderr)
    with contextlib.closing(Offline(place.directory, namespace_of(common))) as offline:
        yield offline


@contextlib.contextmanager
def open_keeper(common: Common) -> Iterator[Keeper]:
    """The running engine, else the data directory, taken for as long as the block. Raises Problem, `StoreError`."""
    place = _place(common)
    endpoint = _answering(place, common)
    if endpoint is not None:
        with _engine_at(endpoint) as engine:
            yield engine
        return
    if place.directory is None or (place.endpoint_named and not place.directory_named):
        raise Problem(_no_engine(place))
    from rivetpy.cli.offline import Offline
    from rivetpy.store.lock import DataLock

    lock = DataLock.acquire(place.directory, 0)
    try:
        print(f"no engine is running; writing to {place.directory}", file=sys.stderr)
        with contextlib.closing(Offline(place.directory, namespace_of(common), writable=True)) as offline:
            yield offline
    finally:
        lock.release()


def find_data(common: Common, ref: RegistryRef) -> Path:
    """The directory whose journals are meant: the named one, that of the engine which runs here, or the registry's.

    Raises Problem when it holds nothing, or is another machine's.
    """
    place = _place(common)
    endpoint = None if place.directory_named else _answering(place, common)
    if endpoint is not None:
        with contextlib.closing(EngineApi(endpoint)) as engine:
            directory = Path(str(engine.metadata().get("dataDir", "")))
        where = f"The data directory {directory} of the engine at {endpoint.url} is not on this machine"
    elif place.endpoint_named and not place.directory_named:
        raise Problem(_no_engine(place))
    else:
        here = place.directory if place.has_data or place.directory_named else None
        directory = here or data_dir(ref)
        where = f"There is nothing in {directory} yet"
    if not (directory / DATABASE).is_file():
        raise Problem(f"{where}. Name the directory with the journals: --data-dir DIR")
    return directory


def namespace_of(common: Common) -> str:
    """The namespace the actors are looked for in."""
    return common.namespace or os.environ.get("RIVET_NAMESPACE") or "default"


def require(source: Source, name: str, key_text: str) -> JsonObject:
    """The actor a command names. Raises Problem that lists what there is instead."""
    key = parse_key(key_text)
    actor = source.find(name, key)
    if actor is not None:
        return actor
    keys = {other["key"] for other in islice(source.actors(name), _LOOKED_AT)}
    if keys:
        raise Problem(f"There is no {name} with the key {key_text!r}. {_nearest(key_text, keys)}")
    raise unknown_name(source, name)


def unknown_name(source: Source, name: str) -> Problem:
    """Nobody has this name; the nearest that somebody has."""
    names = {other["name"] for other in islice(source.actors(None), _LOOKED_AT)}
    return Problem(f"There is no actor {name!r} yet. {_nearest(name, names)}")


def _nearest(text: str, known: set[str]) -> str:
    """The nearest known name, or some of them."""
    few = sorted(known)[:8]
    return did_you_mean(text, known if len(known) <= len(few) else few)


def _place(common: Common) -> Place:
    return find_engine(common.endpoint, common.data_dir, Path.cwd())


def _answering(place: Place, common: Common) -> Endpoint | None:
    """The engine on record, else the one at the default port if it may be meant; None when nothing listens."""
    if place.endpoint is not None:
        endpoint = find_endpoint(place.endpoint, namespace=common.namespace)
        return endpoint if _listens(endpoint) else None
    endpoint = find_endpoint(DEFAULT_URL, namespace=common.namespace)
    if place.directory_named or not _listens(endpoint) or not _is_meant(endpoint, place):
        return None
    return endpoint


def _listens(endpoint: Endpoint) -> bool:
    try:
        socket.create_connection((endpoint.host, endpoint.port), timeout=CONNECT_TIMEOUT).close()
    except OSError:
        return False
    return True


def _is_meant(endpoint: Endpoint, place: Place) -> bool:
    """Whether the default port is an engine's, and not that of another project: a guess must not touch its actors."""
    about = introduced(endpoint)
    if about is None:
        print(f"what listens at {endpoint.url} is no rivet engine", file=sys.stderr)
        return False
    registry = about.get("registry")
    if is_ours(registry, place):
        return True
    print(f"the engine at {endpoint.url} runs another registry, {registry}", file=sys.stderr)
    return False


def is_ours(registry: Json, place: Place) -> bool:
    """Whether an engine that runs this registry may be the one that is meant here."""
    return place.registry is None or registry in {None, str(place.registry)}


def _no_engine(place: Place) -> str:
    if place.endpoint is not None:
        return f"No engine answers at {place.endpoint}. Start one: rivet dev"
    if place.directory_named:
        return f"No engine runs on {place.directory}. Start one: rivet dev --data-dir {place.directory}"
    return "No engine runs for this directory. Start one: rivet dev (or name it: --endpoint URL)"
