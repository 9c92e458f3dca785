"""A long history over the inspector: the newest entries, what changed, and others' turns meanwhile."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from rivetpy import codec
from rivetpy.engine.inspector.history import SLICE, history_answer
from rivetpy.engine.inspector.shapes import history_json
from rivetpy.host.view import ActorView, WorkflowView
from rivetpy.workflow.entries import Entry, IterationEntry, MessageEntry, Status, StepEntry
from tests.support.actors import registry
from tests.support.asgi import serving
from tests.support.jump import run
from tests.support.rows import row


def view(*entries: Entry) -> ActorView:
    return ActorView(
        row("a1"),
        awake=True,
        state=None,
        queue=(),
        workflow=WorkflowView("running", (), None, None, entries),
    )


def step(number: int, at: int) -> StepEntry:
    return StepEntry(
        f"main/~{number}/a",
        number,
        Status.COMPLETED,
        at,
        at + 5,
        attempts=1,
        output=codec.encode({"n": number}),
    )


async def asked(shown: ActorView, limit: int | None = None, since: int | None = None) -> Any:
    return json.loads((await history_answer(shown, limit, since)).body)


def seqs(answer: Any) -> list[int]:
    metadata = answer["history"]["entryMetadata"]
    return [metadata[entry["id"]]["seq"] for entry in answer["history"]["entries"]]


def test_in_slices_it_is_the_same() -> None:
    entries = [step(number, number) for number in range(2 * SLICE + 7)]
    shown = view(*entries, IterationEntry("main/~0", 9999, Status.COMPLETED, 1))
    assert run(asked(shown)) == {**history_json(shown), "size": len(entries)}
    assert run(asked(view())) == {**history_json(view()), "size": 0}


def test_others_have_their_turn_meanwhile() -> None:
    shown = view(*(step(number, number) for number in range(10 * SLICE)))

    async def main() -> None:
        making = asyncio.ensure_future(history_answer(shown))
        turns = 0
        while not making.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 10

    run(main())


def test_the_newest_entries() -> None:
    shown = view(*(step(number, number) for number in range(10)))
    answer = run(asked(shown, limit=3))
    assert (seqs(answer), answer["size"]) == ([7, 8, 9], 10)
    assert answer["history"]["nameRegistry"] == ["main", "a"]
    assert seqs(run(asked(shown, limit=0))) == []
    assert seqs(run(asked(shown, limit=99))) == list(range(10))


def test_what_may_have_changed_since() -> None:
    rolled_back = step(3, 10)
    rolled_back.rolled_back_at = 70
    shown = view(
        step(0, 10),
        MessageEntry("w", 1, Status.COMPLETED, 10, 11),
        MessageEntry("v", 2, Status.COMPLETED, 10, 11, completable=True),
        rolled_back,
        StepEntry("open", 4, Status.PENDING, 10),
        step(5, 44),
        step(6, 50),
    )
    answer = run(asked(shown, since=50))
    assert (seqs(answer), answer["size"]) == ([2, 3, 4, 6], 7)
    assert seqs(run(asked(shown, since=49))) == [2, 3, 4, 5, 6]
    assert seqs(run(asked(shown, limit=2, since=0))) == [4, 5, 6]


def test_over_the_gateway() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.send("jobs", body={"n": 2}, wait=True)
            whole = (await client.inspect("GET", "workflow-history")).json()
            last = (await client.inspect("GET", "workflow-history?limit=1")).json()
            frame, newest = last["history"]["entries"]  # the newest one, and the loop it is in
            assert [frame, newest] == [whole["history"]["entries"][0], whole["history"]["entries"][-1]]
            assert last["size"] == whole["size"] == len(whole["history"]["entries"])
            assert last["workflowState"] == whole["workflowState"]
            bad = await client.inspect("GET", "workflow-history?limit=-1")
            assert bad.status_code == 400

    run(main())
