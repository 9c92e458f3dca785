"""An engine inside a program: mounted in another application, or served (spec actors 7)."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from rivetpy import RivetError, actor, setup
from rivetpy.client import create_client, create_sync_client
from rivetpy.config import endpoint_of
from rivetpy.engine.embedded import Settings, serve
from tests.support.engine import Process, environment


def add(c: Any, by: int) -> int:
    c.state["n"] += by
    return int(c.state["n"])


def registry() -> Any:
    return setup(use={"counter": actor(state={"n": 0}, actions={"add": add})})


async def call(http: httpx.AsyncClient, by: int) -> Any:
    path = "/rivet/gateway/counter/action/add?rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key=a"
    return (await http.post(path, json={"args": [by]})).json()


def test_mounted_with_its_lifespan_and_the_data_outlives_it(tmp_path: Path) -> None:
    async def once(by: int) -> Any:
        engine = registry().asgi(directory=tmp_path)
        app = Starlette(
            routes=[
                Route("/", lambda request: PlainTextResponse("the program's own page")),
                Mount("/rivet", engine),
            ],
            lifespan=engine.lifespan,
        )
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
        ):
            assert (await http.get("/")).text == "the program's own page"
            assert endpoint_of(tmp_path) is None, "it listens nowhere itself"
            return await call(http, by)

    assert asyncio.run(once(2)) == {"output": 2}
    assert asyncio.run(once(3)) == {"output": 5}


def test_mounted_without_a_lifespan_it_starts_with_the_first_request(tmp_path: Path) -> None:
    async def test() -> Any:
        engine = registry().asgi(directory=tmp_path)
        app = Starlette(routes=[Mount("/rivet", engine)])
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            answers = await asyncio.gather(*(call(http, 1) for _ in range(5)))
            async with engine.lifespan():
                pass
            return sorted(answer["output"] for answer in answers)

    assert asyncio.run(test()) == [1, 2, 3, 4, 5]


def test_without_a_lifespan_it_goes_from_loop_to_loop(tmp_path: Path) -> None:
    """As clients of tests ask it."""
    app = Starlette(routes=[Mount("/rivet", registry().asgi(directory=tmp_path))])

    async def once() -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            return await asyncio.gather(call(http, 1), call(http, 1))

    for number in range(3):
        answers = asyncio.run(once())
        assert sorted(answer["output"] for answer in answers) == [2 * number + 1, 2 * number + 2]


def test_two_engines_on_one_directory_are_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with registry().asgi(directory=tmp_path).lifespan():
            with pytest.raises(RivetError, match="in use"):
                async with registry().asgi(directory=tmp_path).lifespan():
                    pass

    asyncio.run(test())


def test_served_at_an_address_it_is_found_through_its_data_directory(tmp_path: Path) -> None:
    async def test() -> int:
        stop, started = asyncio.Event(), asyncio.Event()
        serving = asyncio.create_task(
            serve(Settings(registry(), tmp_path), port=0, stop=stop, started=started)
        )
        await started.wait()
        endpoint = endpoint_of(tmp_path)
        assert endpoint is not None
        async with create_client(endpoint) as client:
            result = int(await client.counter.get_or_create("a").add(4))
        stop.set()
        await serving
        return result

    assert asyncio.run(test()) == 4
    assert endpoint_of(tmp_path) is None


PROGRAM = """
import asyncio, contextlib, sys
from rivetpy import actor, setup
registry = setup(use={"counter": actor(actions={"add": lambda c, by: by + 1})})
if sys.argv[1] == "start":
    registry.start(port=0, directory=sys.argv[2])
else:
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(registry.serve(port=0, directory=sys.argv[2]))
print("it ended")
"""


@pytest.mark.parametrize(
    ("way", "number"),
    [("start", signal.SIGINT), ("start", signal.SIGTERM), ("serve", signal.SIGINT)],
    ids=["start-int", "start-term", "serve-int"],
)
def test_a_program_that_serves_ends_when_it_is_told_to(
    way: str, number: signal.Signals, tmp_path: Path
) -> None:
    process = Process([sys.executable, "-c", PROGRAM, way, str(tmp_path)], tmp_path, environment())
    try:
        while (endpoint := endpoint_of(tmp_path)) is None:
            assert process.popen.poll() is None, process.output
            time.sleep(0.01)
        with create_sync_client(endpoint) as client, client.counter.get_or_create("a").connect() as conn:
            assert conn.add(4) == 5
            process.popen.send_signal(number)
            process.wait_for("it ended")
        assert (process.popen.wait(10), process.output) == (0, ["it ended\n"])
        assert endpoint_of(tmp_path) is None
    finally:
        process.kill()


def test_an_address_that_others_can_reach_needs_a_token(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("RIVET_TOKEN", raising=False)
    with pytest.raises(RivetError, match="give a token"):
        asyncio.run(registry().serve("0.0.0.0", 0, directory=tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(RivetError, match="Can't listen"):
        asyncio.run(registry().serve("127.0.0.1", taken.getsockname()[1], directory=tmp_path))


def test_without_a_directory_it_shares_the_data_of_rivet_dev(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("RIVET_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    from rivetpy.config import data_dir, find_registry
    from rivetpy.engine.embedded import _directory

    file = Path(__file__)
    assert registry().origin == str(file)
    assert _directory(Settings(registry())) == data_dir(find_registry(str(file), file.parent))
