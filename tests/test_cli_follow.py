"""`rivet history --follow`: what is asked for and printed, the page that fits, an engine that goes and comes back."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from rich.text import Text

from rivetpy.cli import following
from rivetpy.cli.historian import View
from rivetpy.cli.live import fitted
from rivetpy.cli.shared import Color
from rivetpy.cli.watching import Watch
from rivetpy.engine.actorjson import actor_json
from rivetpy.engine.inspector.journal import choose, lines_of
from rivetpy.engine.inspector.shapes import history_json
from rivetpy.errors import RivetError
from rivetpy.host.view import ActorView
from rivetpy.workflow.entries import Entry, Status, StepEntry
from tests.support.shapes import ROW, loop, received, step, view, waiting


class Recorded:
    """A source that answers from views, one after the other; remembers what it was asked for."""

    def __init__(self, *views: ActorView | RivetError) -> None:
        self.views = list(views)
        self.asked: list[tuple[int | None, int | None]] = []

    def history(self, actor: str, limit: int | None = None, since: int | None = None) -> dict[str, Any]:
        self.asked.append((limit, since))
        seen = self.views[0] if len(self.views) == 1 or since is None else self.views.pop(0)
        if isinstance(seen, RivetError):
            self.views.remove(seen)
            raise seen
        assert seen.workflow is not None
        whole = lines_of(seen.workflow)
        chosen = dataclasses.replace(seen.workflow, entries=tuple(choose(whole, limit, since)))
        return {"size": len(whole)} | history_json(dataclasses.replace(seen, workflow=chosen))

    def metadata(self) -> dict[str, Any]:
        return {}


def iteration(n: int) -> list[Entry]:
    return [received(f"main/~{n}/wait", 2 * n + 1, n), step(f"main/~{n}/add", 2 * n + 2)]


def looping(first: int, last: int) -> ActorView:
    inside = [entry for n in range(first, last) for entry in iteration(n)]
    entries = [loop("main", 0, last), *inside, waiting(f"main/~{last}/wait", 2 * last + 1)]
    for entry in entries:
        entry.created_at, done = 1000 * entry.seq, entry.completed_at is not None
        entry.completed_at = entry.created_at + 1 if done else None
        if isinstance(entry, StepEntry):
            entry.started_at = entry.created_at
    return view(entries)


def places(lines: Any) -> list[str]:
    return [line.location for line in lines]


def test_only_what_may_have_changed_is_asked_for() -> None:
    source = Recorded(looping(0, 2), looping(0, 3))
    watch = Watch("a", None)
    assert places(watch.look(source).changed) == places(watch.look(source).lines)  # type: ignore[arg-type]
    source = Recorded(looping(0, 3))
    look = watch.look(source)  # type: ignore[arg-type]
    assert places(look.changed) == ["main", "main/~2/wait", "main/~2/add", "main/~3/wait"]
    assert len(look.lines) == 8 and look.unknown == 0
    assert [since is None for _, since in source.asked] == [False]


def test_entries_that_are_gone_go() -> None:
    """A loop's old iterations, or a rewind: nobody is told of those, but the number of entries does not agree."""
    watch = Watch("a", None)
    watch.look(Recorded(looping(0, 5)))  # type: ignore[arg-type]
    source = Recorded(looping(4, 6))
    look = watch.look(source)  # type: ignore[arg-type]
    assert "main/~0/wait" not in places(look.lines) and len(look.lines) == 6
    assert places(look.changed) == ["main", "main/~5/wait", "main/~5/add", "main/~6/wait"]
    assert [since is None for _, since in source.asked] == [False, True]


def test_of_a_long_journal_only_the_newest_are_known() -> None:
    watch = Watch("a", 3)
    look = watch.look(Recorded(looping(0, 5)))  # type: ignore[arg-type]
    assert (places(look.lines), look.unknown) == (["main", "main/~4/wait", "main/~4/add", "main/~5/wait"], 8)
    look = watch.look(Recorded(looping(0, 6)))  # type: ignore[arg-type]
    assert look.lines[-1].location == "main/~6/wait" and look.unknown == 8


ended = view([step("only", 1)], "completed", output=7)


def test_an_engine_that_goes_away_is_waited_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = RivetError("client", "connection_lost", "gone")
    back = Recorded(ended)
    tries = [RivetError("client", "connection_failed", "still gone"), None]

    @contextlib.contextmanager
    def engine(common: Any) -> Iterator[Recorded]:
        problem = tries.pop(0)
        if problem is not None:
            raise problem
        yield back

    monkeypatch.setattr(following, "open_engine", engine)
    monkeypatch.setattr(following.time, "sleep", lambda seconds: None)
    source = Recorded(view([step("first", 1, Status.PENDING)], "running"), lost)
    shown = View(source, dict(actor_json(ROW, awake=True)), Color.NEVER, as_json=True)  # type: ignore[arg-type]
    following.follow_history(None, shown, None, False)  # type: ignore[arg-type]
    out, err = capsys.readouterr()
    assert [line.split('"location":"')[1].split('"')[0] for line in out.splitlines()] == ["first", "only"]
    assert err == "the engine is gone; waiting for it\nthe engine is back\n"


def test_another_error_is_not_waited_for() -> None:
    source = Recorded(RivetError("actor", "not_found", "destroyed meanwhile"), ended)
    shown = View(source, dict(actor_json(ROW, awake=True)), Color.NEVER, as_json=True)  # type: ignore[arg-type]
    with pytest.raises(RivetError, match="destroyed meanwhile"):
        following.follow_history(None, shown, None, False)  # type: ignore[arg-type]


def page(*tree: str) -> list[Text]:
    return [Text(line) for line in ("who: workflow running", "  why", "", "  ENTRY", *tree)]


def test_a_page_that_fits_is_shown_whole() -> None:
    texts = page(*(f"  step-{n}" for n in range(10)))
    assert fitted(texts, 14) == texts


@pytest.mark.parametrize("height", [8, 12, 20, 39])
@pytest.mark.parametrize("stands", [0, 17, 39])
def test_of_a_longer_one_the_head_and_where_it_stands(height: int, stands: int) -> None:
    texts = page(*(f"{'→' if n == stands else ' '} step-{n}" for n in range(40)))
    shown = [text.plain for text in fitted(texts, height)]
    assert len(shown) == height and shown[0] == "who: workflow running"
    assert f"→ step-{stands}" in shown
    rest = [int(word) for word in shown[-1].split() if word.isdecimal()]
    assert sum(rest) == len(texts) - height + 1
