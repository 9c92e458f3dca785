"""The check before new code gets the data: which running workflows it would break, in whatever namespace they are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rivetpy import Registry, actor, queue, setup
from rivetpy.cli import prechecking
from rivetpy.cli.prechecking import precheck
from rivetpy.config import DATABASE
from rivetpy.host import Host
from rivetpy.store.sqlite import SqliteStore
from rivetpy.workflow import workflow

NOT_WHOLE = {"broken": [], "count": 0, "whole": False}


def registry(step: str, pause: float = 0) -> Registry:
    async def run(ctx: Any) -> None:
        print("hello from the workflow")
        if pause:
            await asyncio.sleep(pause)
        await ctx.step(step, lambda step: None)
        await ctx.queue.next("wait")

    return setup(use={"order": actor(queues={"orders": queue()}, run=workflow(run))})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two workflows of one key that wait, in two namespaces, and the engine that runs them is gone."""

    async def life() -> None:
        store = SqliteStore.open(tmp_path / DATABASE)
        host = Host(registry("charge"), store)
        await host.start()
        await host.namespaces.create("eu", "Europe")
        for namespace in ("default", "eu"):
            actor_id = (await host.get_or_create(namespace, "order", ("main",)))[0].id
            while (view := await host.view(actor_id)).workflow is None or not view.workflow.waits:
                await asyncio.sleep(0)
        await host.stop()
        await store.close()

    asyncio.run(life())
    return tmp_path


def test_all_namespaces_are_checked(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = precheck(registry("pay"), data)["checked"]
    assert [(each["key"], each["namespace"], each["status"]) for each in told["broken"]] == [
        ("main", None, "diverged"),
        ("main", "eu", "diverged"),
    ]
    assert (told["count"], told["whole"]) == (2, True)
    assert capsys.readouterr().out == "", "what the code prints between its steps was said before"


def test_code_that_fits_breaks_nothing(data: Path) -> None:
    assert precheck(registry("charge"), data) == {"checked": {"broken": [], "count": 0, "whole": True}}


def test_no_data_yet_is_no_problem(tmp_path: Path) -> None:
    assert precheck(registry("charge"), tmp_path / "none")["checked"]["count"] == 0


def test_it_ends_after_a_while_and_says_that_it_is_not_whole(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prechecking, "LONGEST", -1.0)
    assert precheck(registry("pay"), data)["checked"] == NOT_WHOLE


def test_code_that_waits_for_the_world_holds_up_no_save(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prechecking, "LONGEST", 0.05)
    assert precheck(registry("charge", pause=600), data)["checked"] == NOT_WHOLE
