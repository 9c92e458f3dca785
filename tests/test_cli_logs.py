"""What the user's code logs: whose it is, in which form, and never twice."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from rivetpy.cli.logs import set_up_logging
from rivetpy.cli.printed import print_objects
from rivetpy.host.logs import actor_log
from rivetpy.workflow.speaking import speaker


class Quiet(logging.LoggerAdapter[logging.Logger]):
    """As a workflow's that replays."""

    def isEnabledFor(self, level: int) -> bool:
        return False


SetUp = Callable[[str, str], None]


@pytest.fixture
def set_up() -> Iterator[SetUp]:
    """Sets up logging as in a fresh process, which has no handlers yet."""
    root, ours = logging.root, logging.getLogger("rivetpy")
    handlers, level, own = root.handlers[:], root.level, ours.level
    streams = sys.stdout, sys.stderr

    def begin(level: str, log_format: str) -> None:
        root.handlers[:] = []
        set_up_logging(level, log_format)

    yield begin
    sys.stdout, sys.stderr = streams
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(own)


def test_any_logger_names_the_actor(set_up: SetUp, capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "text")
    before = speaker.set(actor_log("shop\x1b[2J", "a/b"))
    logging.getLogger("anything").info("sold\n%s", 3)
    actor_log("other", "c").warning("mine")
    speaker.reset(before)
    logging.getLogger("anything").info("nobody's")
    logging.getLogger("anything").debug("hidden")
    lines = [line[9:] for line in capsys.readouterr().err.splitlines()]
    assert lines == [r"shop\x1b[2J a/b: sold\n3", "other c: warning: mine", "anything: nobody's"]


def test_a_workflow_that_replays_is_silent(set_up: SetUp, capsys: pytest.CaptureFixture[str]) -> None:
    set_up("debug", "text")
    before = speaker.set(Quiet(logging.getLogger("rivetpy.actor"), {"actor": "shop", "key": "a"}))
    logging.getLogger("anything").error("again")
    speaker.reset(before)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("level", "shown"), [("info", 0), ("debug", 1)])
def test_libraries_are_quiet_below_warnings(
    set_up: SetUp, capsys: pytest.CaptureFixture[str], level: str, shown: int
) -> None:
    set_up(level, "text")
    told = {"name": "lib", "levelno": logging.INFO, "levelname": "INFO", "msg": "small talk"}
    record = logging.makeLogRecord({**told, "pathname": "/usr/lib/python3/site-packages/lib.py"})
    logging.getLogger("lib").handle(record)
    assert len(capsys.readouterr().err.splitlines()) == shown


def test_an_object_a_line(set_up: SetUp, capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "json")
    try:
        raise ValueError("a\nb")
    except ValueError:
        actor_log("shop", "a").exception("no\n%s", "way")
    logging.getLogger("anything").info("nobody's")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["actor"], first["key"]) == ("error", "shop", "a")
    assert first["message"].startswith("no\nway\nTraceback") and "T" in first["ts"]
    assert set(second) == {"ts", "level", "message"}


def test_what_is_printed_is_objects_too(set_up: SetUp, capsys: pytest.CaptureFixture[str]) -> None:
    print_objects()
    set_up("error", "json")
    logging.getLogger("anything").error("an object once")
    before = speaker.set(actor_log("shop", "a"))
    print("one", 2)
    speaker.reset(before)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print("three\x1b[2J\nfour")
    print("begun", end="", flush=True)
    thread = threading.Thread(target=lambda: print("another thread's"))
    sys.stdout.write("mine ")
    thread.start()
    thread.join()
    sys.stdout.write("only\n")
    print("on the other", file=sys.stderr)
    out, err = capsys.readouterr()
    logged, printed = map(json.loads, err.splitlines())
    assert (logged["message"], printed["message"]) == ("an object once", "on the other")
    assert (logged["level"], printed["level"]) == ("error", "warning")
    first, *rest = map(json.loads, out.splitlines())
    assert (first["level"], first["message"], first["actor"], first["key"]) == ("info", "one 2", "shop", "a")
    assert [each["message"] for each in rest] == [
        "three\x1b[2J", "four", "begun", "another thread's", "mine only",
    ]  # fmt: skip
    assert "\x1b" not in out


def test_a_traceback_shows_the_persons_own_frames(set_up: SetUp, capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "text")

    def theirs(plain: str) -> object:
        return json.loads(plain)

    try:
        theirs("\x1b]0;x")
    except ValueError:
        logging.getLogger("rivetpy.engine").exception("a request failed")
    shown = capsys.readouterr().err
    assert [line.split(" in ")[-1] for line in shown.splitlines() if line.startswith("  File")] == [
        "test_a_traceback_shows_the_persons_own_frames",
        "theirs",
    ]

    try:
        exec(compile("raise ValueError('\x1b[2J')", "<engine>", "exec"))
    except ValueError as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        logging.getLogger("rivetpy.engine").error("mine", exc_info=error)
    whole = capsys.readouterr().err
    assert '  File "<engine>", line 1' in whole, "what is nobody's is shown whole"
    assert r"\x1b[2J" in whole and "\x1b" not in whole
