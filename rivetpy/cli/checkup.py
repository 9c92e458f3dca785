"""What may keep an engine from running, looked at one after the other. Changes nothing; says what to do."""

from __future__ import annotations

import contextlib
import enum
import platform
import shutil
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rivetpy import __version__
from rivetpy.cli.engine_api import EngineApi, introduced
from rivetpy.cli.listening import free_after, owner_of
from rivetpy.cli.offline import Offline
from rivetpy.cli.problems import Problem
from rivetpy.cli.source import is_ours
from rivetpy.client.endpoint import Endpoint, find_endpoint
from rivetpy.config import ACTOR_FILES, DATABASE, DEFAULT_HOST, DEFAULT_PORT, Place, url_of
from rivetpy.errors import RivetError, StoreError
from rivetpy.host.archive import check_rows
from rivetpy.host.files import problem_of
from rivetpy.identity import format_key
from rivetpy.store import ActorRow, Pairs
from rivetpy.store.database import open_reader, read_tail
from rivetpy.store.lock import probe, read_owner
from rivetpy.store.trouble import damaged_log, trouble

#: Free bytes below which a disk is nearly, or as good as, full.
LITTLE, NONE = 1 << 30, 100 << 20
#: So many damaged actors are listed; the rest is a number.
LISTED = 20


class Verdict(enum.StrEnum):
    """How bad it is; what is bad ends the command with 1."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do about it (empty: nothing)."""

    check: str
    verdict: Verdict
    text: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """Where to look."""

    place: Place
    namespace: str

    @property
    def database(self) -> Path | None:
        """The journal, if there is one."""
        directory = self.place.directory
        return directory / DATABASE if directory is not None and self.place.has_data else None


Check = Callable[[Patient], Iterator[Finding]]


def _versions(_: Patient) -> Iterator[Finding]:
    system = f"{platform.system()} {platform.machine()}"
    python = platform.python_version()
    text = f"rivet {__version__}, Python {python}, SQLite {sqlite3.sqlite_version}, {system}"
    if sys.platform in {"linux", "darwin"}:
        yield Finding("versions", Verdict.OK, text)
    else:
        yield Finding("versions", Verdict.WARN, text, "Linux and macOS are what rivet is tested on")


def _registry(patient: Patient) -> Iterator[Finding]:
    path = patient.place.registry
    if path is not None:
        yield Finding("registry", Verdict.OK, str(path))
    else:
        todo = "start one here: rivet init; or go to its directory, or name the data: --data-dir DIR"
        yield Finding("registry", Verdict.WARN, "there is no registry.py here", todo)


def _engine(patient: Patient) -> Iterator[Finding]:
    """The engine that is meant, and who is at the default port, which it may be."""
    place, default = patient.place, find_endpoint(f"http://{DEFAULT_HOST}:{DEFAULT_PORT}")
    taken = _answers(DEFAULT_HOST, DEFAULT_PORT)
    about = introduced(default) if taken else None
    ours = about is not None and is_ours(about.get("registry"), place)
    yield _meant(default if ours and place.endpoint is None else None, place)
    if not taken:
        yield Finding("port", Verdict.OK, f"{DEFAULT_PORT} is free")
        return
    who = (
        f"the rivet engine of {about.get('registry')}"
        if about and about.get("registry")
        else "a rivet engine"
    )
    text = f"{DEFAULT_PORT} is taken by {owner_of(DEFAULT_PORT)}, {who if about is not None else 'no rivet engine'}"
    if ours or place.endpoint is not None:
        yield Finding("port", Verdict.OK, text)
        return
    verdict = Verdict.BAD if about is None else Verdict.WARN
    yield Finding(
        "port", verdict, text, f"stop that, or use another: rivet dev --port {free_after(DEFAULT_PORT)}"
    )


def _meant(guessed: Endpoint | None, place: Place) -> Finding:
    """How the engine is that is named, on record, or rightly guessed."""
    endpoint = guessed if place.endpoint is None else find_endpoint(place.endpoint)
    if endpoint is None or not _answers(endpoint.host, endpoint.port):
        if endpoint is None or not place.endpoint_named:
            return Finding("engine", Verdict.OK, "none is running here", "rivet dev")
        todo = f"nothing answers at {endpoint.url}; correct it, or start one there"
        return Finding("engine", Verdict.BAD, "none is running", todo)
    try:
        with contextlib.closing(EngineApi(endpoint)) as engine:
            theirs = engine.metadata().get("version")
    except (RivetError, Problem) as error:
        return Finding("engine", Verdict.BAD, str(error), _port_is(endpoint.port))
    if theirs == __version__:
        return Finding("engine", Verdict.OK, f"rivet {theirs} answers at {endpoint.url}")
    text = f"rivet {theirs} answers at {endpoint.url}, this command is rivet {__version__}"
    return Finding("engine", Verdict.WARN, text, "restart rivet dev, so that both are the same")


def _port_is(port: int) -> str:
    return f"port {port} is taken by {owner_of(port)}; stop that, or name another address: --endpoint URL"


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError:
        return False
    return True


def _directory(patient: Patient) -> Iterator[Finding]:
    directory = patient.place.directory
    if directory is None:
        return
    there = next(path for path in (directory, *directory.parents) if path.exists())
    try:
        probe(there)
    except OSError as error:
        yield Finding("data", Verdict.BAD, trouble(there, error).message)
        return
    yield Finding("data", Verdict.OK, f"{directory}{'' if there == directory else ', not made yet'}")
    free = shutil.disk_usage(there).free
    verdict = Verdict.BAD if free < NONE else Verdict.WARN if free < LITTLE else Verdict.OK
    todo = "" if verdict is Verdict.OK else "free some space, or keep the data elsewhere: --data-dir DIR"
    yield Finding("disk", verdict, f"{free / (1 << 30):.1f} GiB free", todo)


def _lock(patient: Patient) -> Iterator[Finding]:
    directory = patient.place.directory
    if directory is None or not directory.is_dir():
        return
    try:
        owner = read_owner(directory)
    except StoreError as error:
        yield Finding("lock", Verdict.BAD, error.message)
        return
    if owner is None:
        yield Finding("lock", Verdict.OK, "nobody holds the data directory")
        return
    where = f", listening on port {owner.port}" if owner.port else ""
    text = f"process {owner.pid} holds the data directory since {owner.since}{where}"
    at = find_endpoint(url_of(owner.host, owner.port)) if owner.port else None
    if at is not None and not _answers(at.host, at.port):
        yield Finding(
            "lock", Verdict.WARN, f"{text}, and does not answer", f"if it is stuck: kill {owner.pid}"
        )
    else:
        yield Finding("lock", Verdict.OK, text)


def _database(patient: Patient) -> Iterator[Finding]:
    path = patient.database
    if path is None:
        return
    try:
        with contextlib.closing(open_reader(path)) as db:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
            (journal,) = db.execute("PRAGMA journal_mode").fetchone()
    except (StoreError, sqlite3.Error) as error:
        known = error if isinstance(error, StoreError) else trouble(path, error)
        yield Finding("database", Verdict.BAD, known.message)
        return
    if found != "ok":
        todo = "stop the engine, keep a copy of the directory, then restore a backup of it"
        yield Finding("database", Verdict.BAD, f"{path}: {found}", todo)
    else:
        size = path.stat().st_size / (1 << 20)
        yield Finding("database", Verdict.OK, f"{path.name} is sound, {size:.1f} MiB, {journal}")


def _log(patient: Patient) -> Iterator[Finding]:
    """Whether commits behind damage in the log would be dropped; an engine that runs looked when it started."""
    path = patient.database
    if path is None or _held(path.parent):
        return
    try:
        tail = read_tail(path)
    except (OSError, sqlite3.Error):
        return  # that was said of the database
    if tail is not None and tail.damaged:
        if not _held(path.parent):  # else an engine started meanwhile, and writes
            yield Finding("log", Verdict.BAD, damaged_log(tail).message)
    else:
        torn = "whole but for a commit that was cut off, of which nobody was told that it is done"
        yield Finding("log", Verdict.OK, "whole" if tail is None else torn)


def _held(directory: Path) -> bool:
    try:
        return read_owner(directory) is not None
    except StoreError:
        return True


def _journals(patient: Patient) -> Iterator[Finding]:
    """Every row of every actor, and the actors' own databases."""
    path = patient.database
    if path is None:
        return
    seen, damaged = 0, []
    try:
        with contextlib.closing(Offline(path.parent, patient.namespace)) as offline:
            for each in offline.journals(None):
                seen += 1
                problem = _problem_of(path.parent / ACTOR_FILES / f"{each.row.id}.db", each.row, each.rows)
                if problem is not None:
                    damaged.append(f"{each.row.name} {format_key(each.row.key)}: {problem}")
    except StoreError as error:
        yield Finding("actors", Verdict.BAD, error.message)
        return
    todo = "restore a backup, or give it up: rivet destroy ACTOR KEY; the others are not hurt"
    yield from (Finding("actors", Verdict.BAD, text, todo) for text in damaged[:LISTED])
    if len(damaged) > LISTED:
        yield Finding("actors", Verdict.BAD, f"and {len(damaged) - LISTED} more", todo)
    rest = f", {len(damaged)} of them damaged" if damaged else ", all readable"
    yield Finding("actors", Verdict.WARN if damaged else Verdict.OK, f"{seen} actors{rest if seen else ''}")


def _problem_of(database: Path, row: ActorRow, rows: Pairs) -> str | None:
    """What can't be read of an actor."""
    try:
        check_rows(row, rows)
    except Exception as error:  # whatever damage may look like
        return error.message if isinstance(error, RivetError) else f"{type(error).__name__}: {error}"
    return problem_of(database) if database.is_file() else None


CHECKS: tuple[Check, ...] = (_versions, _registry, _engine, _directory, _lock, _database, _log, _journals)
