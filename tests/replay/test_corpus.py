"""The corpus of shapes under the invariants: modes, stores, replay that changes nothing, a crash at every write."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rivetpy.host import Host
from rivetpy.wire.bodies import QueueSend
from tests.replay import branching
from tests.replay.shapes import SHAPES, Ran, Shape
from tests.support.world import Died, World, plain, until

MODES = pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])
CORPUS = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)


def client(shape: Shape) -> Any:
    """Sends everything, each once however often it has to try again, and waits for the end."""

    async def script(host: Host, actor_id: str) -> Any:
        for number, (pause, queue, body) in enumerate(shape.sends):
            await asyncio.sleep(pause)
            await host.send(actor_id, queue, QueueSend(body, idempotency_key=str(number)))
        return await until(host, actor_id)

    return script


def clean_run(shape: Shape, **options: Any) -> tuple[World, Ran]:
    ran = Ran()
    world = World(shape.define(ran), **options)
    world.live(client(shape))
    return world, ran


@CORPUS
@MODES
def test_the_result_is_right(shape: Shape, always_replay: bool) -> None:
    world, ran = clean_run(shape, always_replay=always_replay)
    view = world.view()
    assert view.workflow is not None
    assert (view.workflow.status, view.workflow.output, view.state) == (
        shape.status,
        shape.output,
        shape.state,
    )
    assert len(ran) == len(set(ran)), "a step ran twice"
    assert view.queue == ()


@CORPUS
def test_modes_and_stores_give_the_same_journal(shape: Shape, tmp_path: Path) -> None:
    journals = []
    for number, always_replay in enumerate([False, True]):
        for directory in (None, tmp_path / str(number)):
            if directory is not None:
                directory.mkdir()
            world, _ = clean_run(shape, always_replay=always_replay, directory=directory)
            journals.append(plain(world.journal(), differs=shape.differs))
    assert journals[1:] == journals[:-1]


@CORPUS
@MODES
def test_a_crash_at_every_write_changes_nothing(shape: Shape, always_replay: bool) -> None:
    reference, _ = clean_run(shape, always_replay=always_replay)
    expected = plain(reference.journal(), crashed=True, differs=shape.differs)
    for number in range(1, reference.commits + 1):
        for when in ("die_before", "die_after"):
            crash_once(shape, always_replay, {when: number}, expected)


def crash_once(shape: Shape, always_replay: bool, death: dict[str, Any], expected: Any) -> None:
    ran = Ran()
    world = World(shape.define(ran), always_replay=always_replay)
    with pytest.raises(Died):
        world.live(client(shape), **death)
    recorded, before = world.recorded_keys(), len(ran.keys)
    world.live(client(shape))
    view = world.view()
    assert view.workflow is not None
    assert (view.workflow.status, view.workflow.output) == (shape.status, shape.output), death
    assert view.state == shape.state, death
    assert plain(world.journal(), crashed=True, differs=shape.differs) == expected, death
    assert not recorded & set(ran.keys[before:]), f"{death}: a recorded step ran again"


@CORPUS
@MODES
def test_an_unchanged_journal_replays_without_a_write(shape: Shape, always_replay: bool) -> None:
    """Cut anywhere, a replay up to the frontier adds nothing: the bytes before the frontier stay the same."""
    reference, _ = clean_run(shape, always_replay=always_replay)
    for number in range(2, reference.commits):
        ran = Ran()
        world = World(shape.define(ran), always_replay=always_replay)
        with pytest.raises(Died):
            world.live(client(shape), die_after=number)
        before = [row for row in world.rows() if row[0].startswith(b"j")]
        with pytest.raises(Died):
            world.live(client(shape), die_before=1)
        assert [row for row in world.rows() if row[0].startswith(b"j")] == before


@CORPUS
@MODES
def test_a_rewind_to_any_entry_comes_to_the_same_end(shape: Shape, always_replay: bool) -> None:
    """Whatever goes runs again, from the messages and the loop state of then."""
    if shape.status != "completed" or shape.state["sum"] or not shape.repeatable:
        return  # what failed is rolled back or recovered; the actor's state stays as it is
    world, _ = clean_run(shape, always_replay=always_replay)
    expected = plain(world.journal(), crashed=True, differs=shape.differs)
    for place in [item["at"] for item in expected if item["kind"] != "iteration"]:

        async def rewound(host: Host, actor_id: str, place: str = place) -> None:
            await host.rewind(actor_id, place)
            await until(host, actor_id, seconds=1e8)

        world.live(rewound)
        view = world.view()
        assert view.workflow is not None and view.workflow.output == shape.output, place
        assert plain(world.journal(), crashed=True, differs=shape.differs) == expected, place
        assert view.queue == ()


def test_the_corpus_is_not_empty() -> None:
    assert len(SHAPES) >= 24 and any(shape.build is branching.joined for shape in SHAPES)
