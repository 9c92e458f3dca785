"""`rivet watch`: events of a real engine, printed by a real process as they come."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rivetpy import actor, event, setup
from tests.support.command import engine_thread, rivet
from tests.support.engine import RIVET, environment
from tests.support.schemas import valid


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    def shout(c, *args):  # type: ignore[no-untyped-def]
        c.broadcast("said", *args)
        c.broadcast("done")

    def free(c):  # type: ignore[no-untyped-def]
        c.broadcast("anything", 1)

    declared = actor(events={"said": event(), "done": event()}, actions={"shout": shout})
    with engine_thread(setup(use={"crier": declared, "free": actor(actions={"free": free})})) as url:
        yield url


@pytest.fixture(autouse=True)
def place(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RIVET_DATA_DIR", "RIVET_TOKEN", "RIVET_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RIVET_ENDPOINT", endpoint)


@contextmanager
def watching(endpoint: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A `rivet watch` that listens already; ended by Ctrl-C, which is no failure."""
    process = subprocess.Popen(
        [*RIVET, "watch", *args],
        env=environment(RIVET_ENDPOINT=endpoint),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    late = threading.Timer(60, process.kill)
    late.start()
    with process:
        assert process.stderr is not None
        told = process.stderr.readline()
        assert told.endswith("; Ctrl-C ends it\n"), told
        yield process
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "")
    late.cancel()


def shout(*args: str) -> None:
    assert rivet("call", "shout", *args, "--key", "k").code == 0


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def test_events_are_printed_as_they_come(endpoint: str) -> None:
    shout()
    with watching(endpoint, "crier", "k") as process:
        shout('{"a":[1]}', "\x1b[2J[red]")
        said, done = lines(process, 2)
        assert re.fullmatch(r'\d\d:\d\d:\d\d said {"a":\[1\]} "\\u001b\[2J\[red\]"\n', said)
        assert re.fullmatch(r"\d\d:\d\d:\d\d done\n", done)


def test_one_event_as_json(endpoint: str) -> None:
    shout()
    with watching(endpoint, "crier", "k", "--event", "said", "--json") as process:
        shout("1")
        shout("2")
        told = valid("watch", "".join(lines(process, 2)))
        assert [(each.event, each.args) for each in told] == [("said", [1]), ("said", [2])]


def test_an_actor_that_declares_none_takes_any_name(endpoint: str) -> None:
    assert rivet("call", "free").code == 0
    ended = rivet("watch", "free")
    assert ended.code == 2 and "rivet watch free --event NAME" in ended.error
    with watching(endpoint, "free", "--event", "anything") as process:
        assert rivet("call", "free").code == 0
        (told,) = lines(process, 1)
        assert told.endswith(" anything 1\n")


def test_an_event_that_is_not_declared() -> None:
    shout()
    ended = rivet("watch", "crier", "k", "--event", "sayd")
    assert ended.code == 2 and "declares no event 'sayd'. Did you mean 'said'?" in ended.error
