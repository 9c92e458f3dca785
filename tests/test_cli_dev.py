"""The parts of `rivet dev` that need no process of their own."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivetpy.cli import dev, serving
from rivetpy.cli.eventlog import EventLog
from rivetpy.cli.launch import Launch, Report
from rivetpy.cli.listening import listen, shortened
from rivetpy.cli.problems import StartProblem, UsageProblem
from rivetpy.cli.reload_lines import how_it_ended
from rivetpy.cli.signals import Signals
from rivetpy.cli.statepath import parse_assignment
from rivetpy.cli.watchdog import Watchdog
from rivetpy.config import RegistryRef, is_loopback
from rivetpy.host.events import HostEvent
from rivetpy.store import ActorRow
from rivetpy.workflow.failure import Failure

ROW = ActorRow("id", "default", "worker\x1b[2J", ("a/b", "c"), 0)


def launch(directory: Path) -> Launch:
    registry = RegistryRef(directory / "registry.py", directory, "registry", None)
    return Launch(registry, directory / "data", "disk", False, "info", "text", False, 3, 4, 5, 6, (7, 8))


def test_a_launch_survives_the_command_line(tmp_path: Path) -> None:
    task = launch(tmp_path / "mein Zähler")
    assert Launch.from_argument(task.to_argument()) == task
    assert task.fds == (3, 4, 5, 6, 7, 8)


def test_wiping_takes_our_own_files_only(tmp_path: Path) -> None:
    for name in ("journal.db", "journal.db-wal", "journal.db-shm", "journal.db.txt", "lock", "notes"):
        (tmp_path / name).touch()
    dev.wipe(tmp_path)
    dev.wipe(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.db.txt", "lock", "notes"]


@pytest.mark.parametrize(
    ("actors", "line"),
    [
        (
            {"a": {"queues": {"q": '{"delta":1}'}, "actions": []}},
            """rivet send q '{"delta":1}' --endpoint http://127.0.0.1:7""",
        ),
        (
            {"a": {"queues": {"q": None}, "actions": []}, "b": {"queues": {"q": None}, "actions": []}},
            "rivet send q BODY --actor a --endpoint http://127.0.0.1:7",
        ),
        ({"a b": {"queues": {}, "actions": ["do it"]}}, "rivet call 'do it' --endpoint http://127.0.0.1:7"),
        ({"a": {"queues": {}, "actions": []}}, "rivet actors --endpoint http://127.0.0.1:7"),
    ],
)
def test_the_line_to_paste(
    actors: Report, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RIVET_DATA_DIR", raising=False)
    assert dev._example(launch(tmp_path), "127.0.0.1", 7, actors) == line
    assert dev._example(launch(tmp_path), "0.0.0.0", 7, actors) == line
    assert dev._example(launch(tmp_path), "::1", 7, actors) == line.replace(
        "127.0.0.1:7", "'[::1]:7'"
    ).replace("http://'", "'http://")
    assert dev._example(launch(tmp_path), "127.0.0.1", 6420, actors) == line.removesuffix(
        " --endpoint http://127.0.0.1:7"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_many_actors_are_listed_in_whole_words(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    names = [f"actor-number-{number}" for number in range(9)]
    dev._announce(
        launch(tmp_path), "127.0.0.1", 7, {name: {"queues": {}, "actions": ["do"]} for name in names}
    )
    shown = capsys.readouterr().out.partition("  actors  ")[2].partition("  try ")[0]
    assert ", ".join(f"{name} (action do)" for name in names) == " ".join(shown.split())
    lines = shown.splitlines()
    assert (len(lines) > 1) == terminal
    assert all(line.startswith(" " * 10) and len(line) <= 60 for line in lines[1:])


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True), ("0.0.0.0", False),
     ("::", False), ("192.168.1.2", False), ("example.com", False)],
)  # fmt: skip
def test_which_addresses_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_listening_takes_a_free_port_and_names_who_has_a_taken_one() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        with pytest.raises(
            StartProblem, match=rf"Port {port} is taken by process {os.getpid()} \(.*--port \d+$"
        ):
            listen("127.0.0.1", port)
    listen("127.0.0.1", port).close()


def test_a_command_line_is_short_enough_to_be_recognised() -> None:
    words = [
        b"/home/ada/my project/.venv/bin/python3",
        b"/home/ada/my project/.venv/bin/rivet",
        b"dev",
        b"a.py",
        b"",
    ]
    assert shortened(words) == "python3 rivet dev a.py"
    assert shortened([b"x" * 100]) == "x" * 59 + "…"


@pytest.mark.parametrize("host", ["203.0.113.1", "no such host"])
def test_an_address_that_is_not_ours(host: str) -> None:
    with pytest.raises(StartProblem, match=host):
        listen(host, 0)


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "ended with exit code 0"), (-9, "was killed by SIGKILL"), (-250, "was killed by signal 250")],
)
def test_an_end_in_words(code: int, words: str) -> None:
    assert how_it_ended(code) == words


def test_signals_and_files_wake_alike() -> None:
    read, write = os.pipe()
    try:
        with Signals() as signals:
            assert signals.wait(0, [read]) == ([], [])
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            os.write(write, b"x")
            came: set[int] = set()
            while len(came) < 2:
                numbers, ready = signals.wait(10, [read])
                came.update(numbers)
            assert came == {signal.SIGTERM, signal.SIGINT} and ready == [read]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        os.close(read)
        os.close(write)


def test_events_are_lines() -> None:
    read, write = os.pipe()
    begin = threading.Event()
    events = EventLog(write, "info", False, begin)
    events.show(HostEvent("x", ROW, "hidden", logging.DEBUG))
    failed = Failure("E", "m", "no", traceback='File "/srv/shop.py", line 7, in pay')
    events.show(HostEvent("x", ROW, "two\nlines \x1b[31m", logging.WARNING, failure=failed))
    assert not select.select([read], [], [], 0.05)[0], "the parent's lines come first"
    begin.set()
    assert select.select([read], [], [], 5)[0]
    events.close()
    os.close(write)
    with os.fdopen(read) as shown:
        (line,) = shown.read().splitlines()
    assert line[9:] == r"worker\x1b[2J a\/b/c: two\nlines \x1b[31m (/srv/shop.py:7)"


def test_a_terminal_that_takes_nothing_holds_nothing_up() -> None:
    read, write = os.pipe()
    begin = threading.Event()
    begin.set()
    events = EventLog(write, "info", True, begin)
    for _ in range(12_000):  # more than the pipe and the waiting lines hold together
        events.show(HostEvent("x", ROW, "text " * 10, logging.ERROR))
    os.close(read)
    events.close()
    os.close(write)


names = st.text("abcé_$-", min_size=1)
states = st.recursive(
    st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=8
)


@settings(max_examples=60, deadline=None)
@given(states, st.data())
def test_a_change_of_a_state_changes_that_place_only(state: object, data: st.DataObject) -> None:
    path, where, at = "$", state, []
    while isinstance(where, dict | list) and where and data.draw(st.booleans()):
        place = data.draw(st.sampled_from(sorted(where) if isinstance(where, dict) else range(len(where))))
        path += f"[{place}]" if isinstance(place, int) else f".{place}"
        at.append(place)
        where = where[place]
    before = repr(state)
    changed = parse_assignment(f'{path}="new"').apply(state)  # type: ignore[arg-type]
    for place in at:
        changed = changed[place]  # type: ignore[index, call-overload]
    assert changed == "new" and repr(state) == before


@pytest.mark.parametrize("path", ["a..b", "a[", "a[x]", "[-1]", "a]", ""])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(UsageProblem):
        parse_assignment(f"{path}=1").apply({"a": [1]})


def test_code_that_blocks_the_engine_is_named(caplog: pytest.LogCaptureFixture) -> None:
    def block() -> None:
        for _ in range(200):
            if not caplog.records:
                time.sleep(0.05)

    async def main() -> None:
        watchdog = Watchdog(period=0.001, limit=0.01)
        block()
        watchdog.end()

    asyncio.run(main())
    lines = range(block.__code__.co_firstlineno + 1, block.__code__.co_firstlineno + 4)
    assert any(f"{__file__}:{line} has held up" in caplog.text for line in lines)


def test_a_child_tells_where_in_the_users_code_it_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SLOW", 0.01)
    told: list[Report] = []
    deadline = time.monotonic() + 20
    with serving.telling(told.append):
        while not told and time.monotonic() < deadline:
            pass
    assert told[0]["stuck"].startswith(__file__)
    with serving.telling(lambda report: pytest.fail("it was quick")):
        pass
