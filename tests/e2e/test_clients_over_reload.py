"""Clients that are connected while code is saved, or the engine is killed: they go on by themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rivetpy.client import QueueReply, create_client, create_sync_client
from rivetpy.errors import RivetError
from tests.support.engine import RIVET, Engine, engine, environment
from tests.support.js import FOLDER, act, driver, thing

#: What the official client opens a connection again for, whether it was open before or not (spec wire 7.3).
RETRIED = {"actor.restarting", "actor.stopped", "actor.starting", "actor.stopping", "ws.going_away"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("edited")
    (folder / "registry.py").write_text((FOLDER / "registry.py").read_text())
    with engine(folder / "registry.py", folder / "data") as started:
        yield started


def save(running: Engine, change: tuple[str, str] = ("", "")) -> None:
    """A save that changes little but the code's age; returns when the new code runs."""
    registry = Path(running.arguments[0])
    before = running.output.count("rivet: reloaded in ")
    registry.write_text(registry.read_text().replace(*change, 1) + "\n# saved\n")
    running.process.wait_for(rf"(?s)\A(?>.*?rivet: reloaded in [^\n]*\n){{{before + 1}}}", 60)


async def messages(running: Engine, actor_id: str) -> list[Any]:
    """What waits in the actor's queues."""
    async with httpx.AsyncClient(base_url=running.url) as http:
        answer = await http.get(f"/actors/{actor_id}/inspector/queue", params={"namespace": "default"})
    return list(answer.json()["messages"])


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


def test_who_waits_for_an_answer_gets_it_of_the_new_code(running: Engine) -> None:
    waiting = [*RIVET, "send", "ignored", "2", "--wait", "--key", "waited", "--endpoint", running.url]

    async def main() -> None:
        async with asyncio.timeout(120), create_client(running.url) as client:
            handle = client.thing.get_or_create("waited")
            sending = asyncio.create_task(handle.send("ignored", 1, wait=True, timeout=100))
            command = await asyncio.create_subprocess_exec(
                *waiting, env=environment(), stdout=asyncio.subprocess.PIPE
            )
            while len(await messages(running, await handle.resolve())) < 2:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(save, running, ('names=["jobs"]', 'names=["jobs", "ignored"]'))
            assert await sending == QueueReply("completed", {"got": 1})
            out, _ = await command.communicate()
            assert (command.returncode, json.loads(out)) == (0, {"got": 2})
            assert await messages(running, await handle.resolve()) == []

    asyncio.run(main())


def test_both_python_clients_come_back_after_a_kill(running: Engine) -> None:
    def killed_and_started() -> None:
        running.kill()
        running.start()

    async def main() -> None:
        async with asyncio.timeout(120), create_client(running.url) as client:
            handle = client.thing.get_or_create("killed")
            async with handle.connect() as conn:
                events = conn.events("said")
                assert await conn.add(1) == 1
                await asyncio.to_thread(killed_and_started)
                assert await conn.add(1) == 2
                await handle.shout("after")
                assert (await anext(events)).args == ["after"]

    with create_sync_client(running.url) as client:
        handle = client.thing.get_or_create("killed, too")
        with handle.connect() as conn:
            events = conn.events("said")
            assert conn.add(1) == 1
            asyncio.run(main())
            assert conn.add(1) == 2
            handle.shout("after")
            assert next(events).args == ["after"]


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
