"""WebSockets of an engine that is mounted under a path of another application, on that application's own server."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from rivetpy import Registry, actor, event, setup
from tests.support.asgi import MADE
from tests.support.js import ENCODINGS, driver, installed
from tests.support.live import program


def registry() -> Registry:
    async def socket_of_its_own(c: Any, opened: Any) -> None:
        await opened.send_text(f"{opened.url.path} of {opened.query_params['who']}")

    def shout(c: Any, *args: Any) -> int:
        c.broadcast("said", *args)
        return len(args)

    thing = actor(
        state={"value": 0}, actions={"shout": shout}, events={"said": event()}, on_websocket=socket_of_its_own
    )
    return setup(use={"thing": thing})


@contextlib.contextmanager
def mounted(directory: Path, **options: Any) -> Iterator[int]:
    """The port of a program with an engine under /my/rivet."""
    engine = registry().asgi(directory=directory, **options)
    app = Starlette(
        routes=[Route("/", lambda _: PlainTextResponse("own page")), Mount("/my/rivet", engine)],
        lifespan=engine.lifespan,
    )
    with program(app) as port:
        yield port


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with mounted(tmp_path_factory.mktemp("mounted")) as port:
        yield port


def open_socket(port: int, path: str, *offers: str, **options: Any) -> ClientConnection:
    url = f"ws://localhost:{port}/my/rivet{path}"
    protocols = [Subprotocol(each) for each in ("rivet", "rivet_encoding.json", *offers)]
    sock = socket.create_connection(("127.0.0.1", port), timeout=30)
    return connect(url, subprotocols=protocols, sock=sock, **options)


def test_a_connection(port: int) -> None:
    with open_socket(port, f"/gateway/thing/connect?{MADE}&rvt-key=a") as client:
        assert client.subprotocol == "rivet"
        assert json.loads(client.recv(30))["body"]["tag"] == "Init"
        for tag, val in (
            ("SubscriptionRequest", {"eventName": "said", "subscribe": True}),
            ("ActionRequest", {"id": 1, "name": "shout", "args": ["é", 2]}),
        ):
            client.send(json.dumps({"body": {"tag": tag, "val": val}}))
        told = {each["tag"]: each["val"] for each in (json.loads(client.recv(30))["body"] for _ in range(2))}
        assert told["Event"]["args"] == ["é", 2]
        assert told["ActionResponse"]["output"] == 2


def test_a_raw_socket_sees_its_own_path(port: int) -> None:
    with open_socket(port, f"/gateway/thing/websocket/a%20b?{MADE}&rvt-key=a&who=me") as client:
        assert client.recv(30) == "/websocket/a b of me"


def test_a_page_of_others_is_refused(port: int) -> None:
    with open_socket(port, f"/gateway/thing/connect?{MADE}", origin="https://evil.example") as client:
        with pytest.raises(ConnectionClosedError) as refused:
            client.recv(30)
        assert refused.value.rcvd is not None
        assert refused.value.rcvd.reason.startswith("auth.forbidden#")


def test_a_token_in_the_subprotocol(tmp_path: Path) -> None:
    with mounted(tmp_path, token="s3cret") as port:
        path = f"/gateway/thing/connect?{MADE}"
        with open_socket(port, path, "rivet_token.s3cret", origin="https://app.example") as client:
            assert json.loads(client.recv(30))["body"]["tag"] == "Init"
        with open_socket(port, path, "rivet_token.s3cre7") as client, pytest.raises(ConnectionClosedError):
            client.recv(30)


@pytest.mark.npm
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_official_javascript_client(port: int, encoding: str, tmp_path: Path) -> None:
    installed()
    with driver(f"http://127.0.0.1:{port}/my/rivet", encoding, tmp_path) as js:
        handle = {"by": "getOrCreate", "name": "thing", "key": [encoding], "options": None}
        js("connect", conn="c", handle=handle, events=["said"])
        assert js("conn", conn="c", name="shout", args=[1, "é"]) == 2
        assert js("events", conn="c", count=1) == [["said", 1, "é"]]
        js("dispose", conn="c")
