"""What the terminal shows, as a person sees it: every shape of journal at three widths, plain and coloured.

The files under tests/golden/terminal are written anew by

    UPDATE_GOLDEN=1 pytest tests/test_cli_snapshots.py

Look at the difference before you commit it; `cat` shows the coloured ones (.ansi) as they are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.text import Text

from rivetpy import codec
from rivetpy.cli.journal import build_tree, read_lines
from rivetpy.cli.outline import Wanted
from rivetpy.cli.render_actor import header, table
from rivetpy.cli.render_entry import entry_line, entry_lines
from rivetpy.cli.render_history import tree
from rivetpy.cli.render_queue import queue_table
from rivetpy.cli.shared import Color
from rivetpy.cli.terminal import show
from rivetpy.engine.actorjson import actor_json
from rivetpy.engine.inspector.shapes import history_json, queue_json
from rivetpy.host.view import ActorView
from rivetpy.workflow.entries import Message
from tests.support.shapes import DAY, HOSTILE, NOW, ROW, SHAPES, WIDE

GOLDEN = Path(__file__).parent / "golden" / "terminal"
WIDTHS = (40, 80, 120)
COLOURED = (80, 120)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def history(seen: ActorView, width: int) -> list[Text]:
    """What `rivet history` prints of it."""
    told = history_json(seen)
    lines = read_lines(told["history"])
    texts = [*header(dict(actor_json(seen.row, awake=seen.awake)), told, lines, width, NOW)]
    if lines:
        texts += [Text(), *tree(build_tree(lines), width, NOW, Wanted())]
    return texts


def compare(file: Path, told: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(told, newline="")
    assert told == file.read_bytes().decode()


def plain(name: str, pages: dict[int, Iterable[Text]]) -> None:
    """Compare the pages, by width, with the golden of this name; no line is longer than its page is wide."""
    told = ""
    for width, page in pages.items():
        lines = [text.plain for text in page]
        assert max(map(cell_len, lines), default=0) <= width
        told += f"{f' {width} columns ':─^{width}}\n" + "".join(f"{line}\n" for line in lines)
    compare(GOLDEN / f"{name}.txt", told)


def coloured(name: str, pages: dict[int, Iterable[Text]], capsys: pytest.CaptureFixture[str]) -> None:
    told = ""
    for width, page in pages.items():
        capsys.readouterr()
        show(page, Color.ALWAYS)
        told += f"{f' {width} columns ':─^{width}}\n{capsys.readouterr().out}"
    compare(GOLDEN / f"{name}.ansi", told)


@pytest.fixture(scope="module")
def histories() -> dict[str, ActorView]:
    return {name: shape() for name, shape in SHAPES.items()}


@pytest.mark.parametrize("name", SHAPES)
def test_a_history_looks_as_it_did(
    name: str, histories: dict[str, ActorView], capsys: pytest.CaptureFixture[str]
) -> None:
    pages = {width: history(histories[name], width) for width in WIDTHS}
    plain(f"history-{name}", pages)
    coloured(f"history-{name}", {width: pages[width] for width in COLOURED}, capsys)


@pytest.mark.parametrize("name", SHAPES)
def test_single_entries_look_as_they_did(name: str, histories: dict[str, ActorView]) -> None:
    lines = read_lines(history_json(histories[name])["history"])[:13]
    plain(
        f"follow-{name}", {w: [text for line in lines for text in entry_line(line, w, NOW)] for w in WIDTHS}
    )
    whole = [text.plain for line in lines for text in entry_lines(line, NOW)]
    compare(GOLDEN / f"entries-{name}.txt", "".join(f"{line}\n" for line in whole))


def test_actors_look_as_they_did(capsys: pytest.CaptureFixture[str]) -> None:
    def listed(name: str, key: str, age: int, **about: Any) -> dict[str, Any]:
        summary = {
            "status": "sleeping",
            "workflowStatus": None,
            "waitingFor": [],
            "queueSize": 0,
            "historySize": 0,
            "nextWakeAt": None,
        }
        return {"name": name, "key": key, "create_ts": NOW - age, "summary": summary | about}

    actors = [
        listed("workflowCounter", "main", 5000, status="awake", workflowStatus="sleeping", historySize=54321,
               waitingFor=["message on counter"]),
        listed("invoice", WIDE * 3, 400 * DAY, workflowStatus="sleeping", nextWakeAt=NOW + 10_000 * DAY,
               waitingFor=["sleep trial until 2054-06-01 08:00:00Z", "message on orders"], queueSize=1000),
        listed("plain", HOSTILE, 0),
        listed("worker", "org/room", 7200_000, workflowStatus="failed", nextWakeAt=NOW - 1),
    ]  # fmt: skip
    pages = {width: [*table(actors, width, NOW)] for width in WIDTHS}
    plain("actors", pages)
    coloured("actors", {width: pages[width] for width in COLOURED}, capsys)
    assert [text.plain for text in table([], 80, NOW)]


def test_a_queue_looks_as_it_did() -> None:
    messages = tuple(
        Message(n, name, codec.encode(body), NOW - n * 1000)
        for n, (name, body) in enumerate([("counter", {"delta": 1}), (WIDE, HOSTILE), ("x", "y" * 200)], 1)
    )
    seen = ActorView(ROW, False, None, messages, None)
    plain("queue", {width: queue_table(queue_json(seen), width, NOW) for width in WIDTHS})
    assert [text.plain for text in queue_table(queue_json(seen, 2), 80, NOW)][-1] == "3 waiting, 1 not shown"
