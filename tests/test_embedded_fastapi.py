"""An engine under a path of a FastAPI application, on that application's own server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from rivetpy import Registry, actor, event, queue, setup
from rivetpy.client import QueueReply, create_client
from rivetpy.engine.embedded import EmbeddedEngine
from tests.support.live import program


async def work(c: Any) -> None:
    async for message in c.queue.iter(completable=True):
        await message.complete(c.name)


def shout(c: Any, word: str) -> str:
    c.broadcast("said", word)
    return word.upper()


def registry() -> Registry:
    room = actor(queues={"jobs": queue()}, events={"said": event()}, actions={"shout": shout}, run=work)
    return setup(use={"room/é": room})


def with_its_lifespan(engine: EmbeddedEngine) -> FastAPI:
    app = FastAPI(lifespan=engine.lifespan)
    app.mount("/my/rivet", engine)
    return app


def with_a_lifespan_of_its_own(engine: EmbeddedEngine) -> FastAPI:
    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with engine.lifespan():
            yield

    app = FastAPI(lifespan=lifespan)
    inner = FastAPI()
    inner.mount("/rivet", engine)
    app.mount("/my", inner)
    return app


def behind_a_proxy(engine: EmbeddedEngine) -> FastAPI:
    """Which takes the prefix that it serves the application under away again."""
    app = FastAPI(lifespan=engine.lifespan)
    app.root_path = "/behind"
    app.mount("/my/rivet", engine)
    return app


def under_a_path_that_is_coded(engine: EmbeddedEngine) -> FastAPI:
    app = FastAPI(lifespan=engine.lifespan)
    app.mount("/m y/rivét", engine)
    return app


MOUNTS: dict[Callable[[EmbeddedEngine], FastAPI], str] = {
    with_its_lifespan: "/my/rivet",
    with_a_lifespan_of_its_own: "/my/rivet",
    behind_a_proxy: "/my/rivet",
    under_a_path_that_is_coded: "/m%20y/riv%C3%A9t",
}


@pytest.fixture(params=MOUNTS, ids=lambda make: make.__name__)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    app = request.param(registry().asgi(directory=tmp_path))

    @app.get("/own")
    async def own() -> dict[str, str]:
        return {"says": "the program's own page"}

    with program(app) as port:
        root = f"http://localhost:{port}"
        assert httpx.get(f"{root}/own").json() == {"says": "the program's own page"}
        assert httpx.get(f"{root}/openapi.json").json()["paths"].keys() == {"/own"}
        yield root + MOUNTS[request.param]


def test_everything_a_client_asks_for(url: str) -> None:
    async def main() -> str:
        async with asyncio.timeout(60), create_client(url) as client:
            handle = client.actor("room/é").get_or_create(["a/b", "é"])
            assert await handle.shout("hey") == "HEY"
            assert await handle.send("jobs", 1, wait=True) == QueueReply("completed", "room/é")
            async with handle.connect() as conn:
                events = conn.events("said")
                assert await conn.shout("you") == "YOU"
                assert (await anext(events)).args == ["you"]
            return await handle.resolve()

    actor_id = asyncio.run(main())
    with httpx.Client(base_url=url) as http:
        assert http.get("/metadata").json()["actorNames"].keys() == {"room/é"}
        (listed,) = http.get("/actors?name=room%2F%C3%A9&namespace=default").json()["actors"]
        assert (listed["actor_id"], listed["key"]) == (actor_id, r"a\/b/é")
        assert http.get(f"/actors/{actor_id}/inspector/queue?namespace=default").json()["size"] == 0
        assert http.get(f"/gateway/{actor_id}/inspector/state").status_code == 401
        page = http.get("/ui/")
        assert page.status_code == 200 and "<html" in page.text
