"""The official JavaScript client in a page of another origin: CORS, preflights, tokens, and who is kept out."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.browser import Browser, browser, chromium
from tests.support.js import ENCODINGS, FOLDER, bundle
from tests.support.live import Live, live
from tests.support.site import site

pytestmark = [pytest.mark.npm, pytest.mark.browser]

TOKEN = "t0ken"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a site with the page on it."""
    chromium()  # skips when there is none
    folder = tmp_path_factory.mktemp("site")
    bundle(FOLDER / "page.mjs", folder / "page.js")
    (folder / "index.html").write_text(
        "<!doctype html><body><script type=module src=page.js></script></body>"
    )
    with site(folder) as started:
        yield started


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def local() -> Iterator[Live]:
    """An engine as `rivet dev` starts it: for this machine only."""
    with live(runpy.run_path(str(FOLDER / "registry.py"))["registry"]) as engine:
        yield engine


@pytest.fixture(scope="module")
def guarded() -> Iterator[Live]:
    """An engine that others may reach, with its token."""
    registry = runpy.run_path(str(FOLDER / "registry.py"))["registry"]
    with live(registry, token=TOKEN, local_only=False) as engine:
        yield engine


def talk(page: Browser, origin: str, endpoint: str, encoding: str, *, lookup: bool = True) -> dict[str, Any]:
    page.open(origin)
    page.sees("ready")
    told: dict[str, Any] = page.run("return talk(...arguments)", endpoint, encoding, not lookup)
    return told


def check(told: dict[str, Any]) -> None:
    assert "errors" not in told, told
    assert told["who"] == {"who": "mé"}
    assert told["listeners"] == 1
    assert told["said"] == [[1, {"x": "é"}]]
    assert told["added"] == 2
    assert (told["raw"]["method"], told["raw"]["given"]) == ("GET", "yes")
    assert told["refused"] == {"group": "user", "code": "my_code", "big": "2"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_page_of_this_machine(page: Browser, port: int, local: Live, encoding: str) -> None:
    check(talk(page, f"http://localhost:{port}", local.url, encoding))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_page_from_anywhere_with_the_token(page: Browser, port: int, guarded: Live, encoding: str) -> None:
    endpoint = guarded.url.replace("http://", f"http://default:{TOKEN}@")
    check(talk(page, f"http://app.test:{port}", endpoint, encoding))


def test_a_page_posts_after_a_preflight(page: Browser, port: int, guarded: Live) -> None:
    page.open(f"http://app.test:{port}")
    page.sees("ready")
    told = page.run(
        """
        const headers = { "content-type": "application/json", "x-rivet-token": arguments[1] };
        const answer = await fetch(arguments[0], { method: "POST", headers, body: '{"args":[1]}' });
        return [answer.headers.get("x-rivet-actor-key"), await answer.json()];
        """,
        f"{guarded.url}/gateway/thing/action/echo?rvt-namespace=default&rvt-method=getOrCreate"
        "&rvt-runner=default&rvt-key=posted",
        TOKEN,
    )
    assert told == ["posted", {"output": 1}]


def test_a_page_from_anywhere_without_it(page: Browser, port: int, local: Live, guarded: Live) -> None:
    for engine in (local, guarded):
        told = talk(page, f"http://app.test:{port}", engine.url, "json", lookup=False)
        assert told["errors"][0] == {"group": "auth", "code": "forbidden"}


def test_what_a_foreign_page_causes_without_the_client(page: Browser, port: int, local: Live) -> None:
    """A form, a picture and a link ask no preflight; none of them may make an actor, or call one."""
    page.open(f"http://app.test:{port}")
    page.sees("ready")
    made = (
        f"{local.url}/gateway/plain/?rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key="
    )
    page.run(
        """
        const picture = new Image();
        await new Promise((done) => { picture.onerror = picture.onload = done; picture.src = arguments[0] + "img"; });
        await fetch(arguments[0] + "post", { method: "POST", mode: "no-cors", body: "{}" }).catch(() => null);
        await fetch(arguments[0] + "get", { mode: "no-cors" }).catch(() => null);
        """,
        made,
    )
    page.open(f"http://app.test:{port}")
    page.run("location.href = arguments[0] + 'link'", made)
    page.sees("may not use this engine")
    shown = page.run(
        "return fetch(arguments[0]).then((each) => each.json())", f"{local.url}/actors?namespace=default"
    )
    assert [actor["key"] for actor in shown["actors"] if actor["name"] == "plain"] == []
