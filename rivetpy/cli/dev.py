"""`rivet dev`: takes the port and the data directory, then lets a child run the registry on them."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import shutil
import socket
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rivetpy import __version__
from rivetpy.cli.hints import Wished
from rivetpy.cli.launch import Launch, Report
from rivetpy.cli.listening import listen
from rivetpy.cli.logline import object_line
from rivetpy.cli.problems import StartProblem
from rivetpy.cli.reloading import Reloading
from rivetpy.cli.supervisor import Supervisor
from rivetpy.cli.text import visible
from rivetpy.config import (
    ACTOR_FILES,
    DATABASE,
    DEFAULT_HOST,
    DEFAULT_PORT,
    RegistryRef,
    data_dir,
    find_engine,
    find_registry,
    is_loopback,
    url_of,
)
from rivetpy.errors import RivetError, StoreError
from rivetpy.store.lock import DataLock, read_owner

T = TypeVar("T")
#: Seconds that a predecessor which was killed a moment ago may take to let go of port and directory.
PATIENCE = 2.0
#: Stands for the body of a queue that says nothing of its bodies: `rivet send` refuses it and tells how one is written.
BODY = "BODY"


@dataclass(frozen=True, slots=True)
class DevOptions:
    """What the person asked for."""

    registry: str | None
    host: str
    port: int
    data_dir: Path | None
    durability: str
    log_level: str
    color: bool
    fresh: bool = False
    strict_replay: bool = False
    #: Whether a save brings in the new code, and what to watch besides the registry's own modules.
    reload: bool = True
    watch: tuple[str, ...] = ()
    #: ``text`` for people, ``json`` for programs: an object a line.
    log_format: str = "text"
    #: The command that was typed.
    verb: str = "dev"


def run_dev(options: DevOptions) -> int:
    """Run until somebody asks to end; the exit code. Raises StartProblem."""
    if not is_loopback(options.host) and not os.environ.get("RIVET_TOKEN"):
        raise StartProblem(
            f"--host {_quoted(options.host)} lets other machines in, so a token is needed: "
            f"RIVET_TOKEN=… rivet {options.verb} --host {_quoted(options.host)}"
        )
    try:
        ref = find_registry(options.registry, Path.cwd())
        directory = data_dir(ref, options.data_dir)
        with _patiently(directory, lambda: listen(options.host, options.port)) as listener:
            return _run_on(options, ref, directory, listener)
    except RivetError as error:
        raise StartProblem(error.message) from error


def _run_on(options: DevOptions, ref: RegistryRef, directory: Path, listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    to_next, from_last = socket.socketpair()
    lock = _patiently(directory, lambda: DataLock.acquire(directory, port, options.host))
    try:
        if options.fresh:
            wipe(directory)
        launch = Launch(
            registry=ref,
            data_dir=directory,
            durability=options.durability,
            strict_replay=options.strict_replay,
            log_level=options.log_level,
            log_format=options.log_format,
            color=options.color,
            socket_fd=listener.fileno(),
            lock_fd=lock.fd,
            orders_fd=-1,
            report_fd=-1,
            handover_fds=(to_next.fileno(), from_last.fileno()),
        )
        return Supervisor(
            launch, lambda actors: _announce(launch, options.host, port, actors), _reloading(options, launch)
        ).run()
    finally:
        lock.release()
        to_next.close()
        from_last.close()


def _reloading(options: DevOptions, launch: Launch) -> Reloading | None:
    if not options.reload:
        return None
    cwd = Path.cwd()
    named = cwd / (options.registry or launch.registry.path)
    named = named if named.is_file() else launch.registry.path
    wished = Wished(options.watch, cwd, launch.data_dir)
    return Reloading(named, lambda: find_registry(options.registry, cwd), wished)


def wipe(directory: Path) -> None:
    """Delete this registry's data: our own files, and nothing else that may lie there."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        (directory / f"{DATABASE}{suffix}").unlink(missing_ok=True)
        for path in (directory / ACTOR_FILES).glob(f"*.db{suffix}"):
            path.unlink()


def _patiently(directory: Path, take: Callable[[], T]) -> T:
    """Take something; again for a moment when who has it is a child that outlived its parent."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return take()
        except (StartProblem, StoreError):
            if time.monotonic() > deadline or not _is_dying(directory):
                raise
        time.sleep(0.05)


def _is_dying(directory: Path) -> bool:
    """Whether the data directory is held although the process that took it is gone."""
    owner = read_owner(directory)
    if owner is None:
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _announce(launch: Launch, host: str, port: int, actors: Report) -> None:
    """The five lines of a start."""
    shown = f"[{host}]" if ":" in host else host
    if launch.log_format == "json":
        lines: tuple[str, ...] = (
            object_line(logging.INFO, f"runs {launch.registry.path.name} at http://{shown}:{port}"),
        )
        _print(lines)
        return
    lines = (
        f"rivet {__version__} runs {launch.registry.path.name} at http://{shown}:{port}",
        f"  data    {launch.data_dir} (durability {launch.durability})",
        *_wrapped(f"  actors  {', '.join(_describe(name, about) for name, about in actors.items())}"),
        f"  try     {_example(launch, host, port, actors)}",
        "  stop    Ctrl-C",
    )
    _print(lines)


def _print(lines: tuple[str, ...]) -> None:
    with contextlib.suppress(OSError):  # nobody reads; the engine runs all the same
        print("\n".join(map(visible, lines)), flush=True)


def _wrapped(line: str) -> list[str]:
    """The line, on a terminal broken between words and indented; a file has it whole."""
    if not sys.stdout.isatty():
        return [line]
    columns = shutil.get_terminal_size().columns
    return textwrap.wrap(
        line, columns, subsequent_indent=" " * 10, break_long_words=False, break_on_hyphens=False
    )


def _describe(name: str, about: Report) -> str:
    """One actor with its queues and actions."""
    parts = [
        f"{word}{'s' if len(names) > 1 else ''} {' '.join(names)}"
        for word, names in (("queue", about["queues"]), ("action", about["actions"]))
        if names
    ]
    return f"{name} ({'; '.join(parts)})" if parts else name


def _example(launch: Launch, host: str, port: int, actors: Report) -> str:
    """A command that works as it is from the directory `rivet dev` was started in."""
    found = find_engine(None, None, Path.cwd())
    url = url_of(host, port)
    guessed = url == url_of(DEFAULT_HOST, DEFAULT_PORT) and found.registry in {None, launch.registry.path}
    there = found.directory == launch.data_dir or (guessed and not found.directory_named)
    where = "" if there else f" --endpoint {_quoted(url)}"
    for key, command in (("queues", "send"), ("actions", "call")):
        declared = [(actor, each) for actor, about in actors.items() for each in about[key]]
        for actor, name in declared:
            alone = sum(other == name for _, other in declared) == 1
            which = "" if alone else f" --actor {_quoted(actor)}"
            body = f" {_quoted(actors[actor][key][name] or BODY)}" if command == "send" else ""
            return f"rivet {command} {_quoted(name)}{body}{which}{where}"
    return f"rivet actors{where}"


def _quoted(name: str) -> str:
    return shlex.quote(name)
