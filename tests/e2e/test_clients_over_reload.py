"""Clients that are connected while code is saved: both the Python and the official one go on by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rivetpy.client import create_client
from rivetpy.errors import RivetError
from tests.support.engine import Engine, engine
from tests.support.js import FOLDER, act, driver, thing

#: What the official client opens a connection again for, whether it was open before or not (spec wire 7.3).
RETRIED = {"actor.restarting", "actor.stopped", "actor.starting", "actor.stopping", "ws.going_away"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("edited")
    (folder / "registry.py").write_text((FOLDER / "registry.py").read_text())
    with engine(folder / "registry.py", folder / "data") as started:
        yield started


def save(running: Engine) -> None:
    """A save that changes nothing but the code's age; returns when the new code runs."""
    registry = Path(running.arguments[0])
    before = running.output.count("rivet: reloaded in ")
    registry.write_text(registry.read_text() + "\n# saved\n")
    running.process.wait_for(rf"(?s)\A(?>.*?rivet: reloaded in [^\n]*\n){{{before + 1}}}", 60)


def test_a_python_client_goes_on(running: Engine) -> None:
    errors: list[RivetError] = []

    async def main() -> None:
        async with asyncio.timeout(120), create_client(running.url) as client:
            handle = client.thing.get_or_create("python")
            async with handle.connect() as conn:
                conn.on_error(errors.append)
                events = conn.events("said")
                assert await conn.add(1) == 1
                await asyncio.to_thread(save, running)
                assert await conn.add(1) == 2
                await handle.shout("after")
                assert (await anext(events)).args == ["after"]

    asyncio.run(main())
    assert errors and f"{errors[0].group}.{errors[0].code}" in RETRIED
    assert all(error.group != "client" for error in errors), "the port was open all the time"


@pytest.mark.npm
def test_the_official_client_goes_on(running: Engine, tmp_path: Path) -> None:
    with driver(running.url, "bare", tmp_path) as js:
        js("connect", conn="a", handle=thing(js, "a"), events=["said"])
        assert js("conn", conn="a", name="add", args=[1]) == 1
        save(running)
        told: dict[str, Any] = js("status", conn="a", wanted="connected", times=2)
        assert {f"{error['group']}.{error['code']}" for error in told["errors"]} <= RETRIED
        assert "idle" not in told["statuses"]
        act(js, thing(js, "a"), "shout", "after")
        assert js("events", conn="a", count=1) == [["said", "after"]]
        assert js("conn", conn="a", name="add", args=[1]) == 2
