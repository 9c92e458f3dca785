"""The official JavaScript client, unmodified: tokens in every place it puts them, and the root form of routing."""

from __future__ import annotations

import contextlib
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.js import ENCODINGS, FOLDER, act, by_id, driver, fails, installed, thing
from tests.support.live import Live, live

pytestmark = [pytest.mark.npm, pytest.mark.parametrize("encoding", ENCODINGS)]
TOKEN = "s3/cr et"


@contextlib.contextmanager
def serving(**options: Any) -> Iterator[Live]:
    installed()
    with live(runpy.run_path(str(FOLDER / "registry.py"))["registry"], **options) as engine:
        yield engine


def test_a_token(encoding: str, tmp_path: Path) -> None:
    with serving(token=TOKEN) as engine:
        address = engine.url.replace("http://", f"http://default:{quote(TOKEN, safe='')}@")
        with driver(address, encoding, tmp_path) as js:
            assert act(js, thing(js, "a"), "add", 1) == 1
            actor_id = js("resolve", handle=thing(js, "a"))
            assert act(js, by_id(actor_id), "add", 1) == 2
            js("connect", conn="a", handle=thing(js, "a"), events=["said"])
            assert js("conn", conn="a", name="shout", args=[1]) == 1
            assert js("events", conn="a", count=1) == [["said", 1]]
            js("connect", conn="b", handle=by_id(actor_id), events=[])
            assert js("conn", conn="b", name="add", args=[1]) == 3


def test_a_wrong_token(encoding: str, tmp_path: Path) -> None:
    """Nothing is to be had with it; the lookup that every client begins with needs one, too, and never gives up."""
    with serving(token=TOKEN) as engine, driver(engine.url, encoding, tmp_path, lookup=False) as js:
        refused = fails(js, "action", handle=thing(js, "a"), name="add", args=[1])
        assert (refused.group, refused.code) == ("auth", "forbidden")
        js("connect", conn="a", handle=thing(js, "a"), events=[])
        told = js("status", conn="a", wanted="idle")
        assert (told["errors"][0]["group"], told["errors"][0]["code"]) == ("auth", "forbidden")


@pytest.mark.parametrize("token", [None, "t0ken"])
def test_the_root_form(encoding: str, tmp_path: Path, token: str | None) -> None:
    with serving(token=token) as engine:
        address = engine.url.replace("http://", f"http://default:{token}@") if token else engine.url
        with driver(address, encoding, tmp_path) as js:
            actor_id = js("resolve", handle=thing(js, "a"))
            at_once = {**by_id(actor_id), "options": {"gateway": {"skipReadyWait": True}}}
            assert act(js, at_once, "add", 1) == 1
            js("connect", conn="a", handle=at_once, events=["said"])
            assert js("conn", conn="a", name="shout", args=[1]) == 1
            assert js("events", conn="a", count=1) == [["said", 1]]
