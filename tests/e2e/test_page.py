"""The page in a real browser, over real runs: looking, sending, calling, editing, going back."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from rivetpy import UserError, actor, queue, setup
from rivetpy.workflow import workflow
from tests.support.browser import Browser, browser, chromium
from tests.support.live import Live, listening, live
from tests.support.shop import HOSTILE, registry

pytestmark = pytest.mark.browser

HTTP = httpx.Client(timeout=30)


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    chromium()  # skips when there is none
    with live(registry()) as started:
        yield started


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def page(opened: Browser) -> Iterator[Browser]:
    """The browser, in a new state; the page may log no error and break no rule of its policy."""
    opened.open("about:blank")
    opened.resize(1280, 900)
    opened.log()
    yield opened
    assert not [line for line in opened.log() if "Content Security Policy" in line or "Uncaught" in line]


def make(engine: Live, name: str, key: str, **order: Any) -> str:
    """An actor, with an order when one is given; its id."""
    body = {"name": name, "key": key, "runner_name_selector": "default", "crash_policy": "sleep"}
    made = HTTP.put(f"{engine.url}/actors?namespace=default", json=body).raise_for_status()
    actor = str(made.json()["actor"]["actor_id"])
    if order:
        sent = HTTP.post(f"{engine.url}/gateway/{actor}/queue/orders", json={"body": order})
        sent.raise_for_status()
    return actor


def show(page: Browser, engine: Live, actor: str) -> None:
    page.open(f"{engine.url}/ui/#/actors/{actor}")
    page.sees("Timeline")


def rows(page: Browser) -> list[str]:
    """What stands in each row of the timeline."""
    script = "return [...document.querySelectorAll('.row .name')].map((each) => each.innerText)"
    return [" ".join(row.split()) for row in page.run(script)]


def row(location: str) -> str:
    return f'[data-row="{location}"]'


def test_the_list_pages_filters_and_lives(page: Browser) -> None:
    with live(registry()) as engine:
        page.open(engine.url)
        page.sees("No actors yet")
        assert "rivet send orders" in page.text()
        for number in range(53):
            make(engine, "plain", f"p-{number:02}")
        page.sees("p-52", ".actors")
        assert "p-02" not in page.text(".actors")
        page.click("button", "Older")
        assert "p-02" in page.sees("p-00", ".actors")
        make(engine, "shop", "acme/first")
        page.write("input[type=search]", "FIRST")
        assert "p-0" not in page.sees("acme/first", ".actors")
        page.sees("1 match among 54 actors")
        page.write("input[type=search]", "nobody")
        page.sees("No actor has “nobody” in its key or id")
        page.write("input[type=search]", "p-0")
        page.choose(".filters select", "shop")
        page.sees("among 1 actor")
        page.click("button", "New actor")
        page.choose("dialog select", "plain")
        page.write("dialog input", "fresh")
        page.click("dialog button", "Create or open")
        page.sees("fresh", "h1")
        page.sees("This actor has no workflow")


def test_the_timeline_tells_what_happened(page: Browser, engine: Live) -> None:
    show(page, engine, make(engine, "shop", "told", count=2))
    page.sees("delivery")
    told = rows(page)
    assert told[0] == '✓ completed wait-order message orders {"count":2}'
    assert '✓ completed charge step \u00d73 \u2192 "receipt"' in told
    assert f"✓ completed {HOSTILE}" in told
    assert "✓ completed cache winner" in told and "\u2013 cancelled partner" in told
    assert "~0 to ~5 6 iterations, 6 completed" in told
    assert told[-1].startswith("○ pending delivery sleep wakes in ")
    bars = page.run("return [...document.querySelectorAll('[data-row=charge] .bar')].map((b) => b.className)")
    assert bars == ["bar tries", "bar done"]
    assert "Sleeps until" in page.text(".standing")
    assert page.run("return document.querySelector('#page img[src=x]')") is None
    page.click(row("parcels/…"))
    page.until(lambda: len(rows(page)) == len(told) + 11, "the folded iterations")
    page.click(row("charge"))
    assert "attempts\n3" in page.sees("last attempt", ".entry")


def test_the_timeline_by_keys(page: Browser, engine: Live) -> None:
    show(page, engine, make(engine, "shop", "keys", count=1))
    page.sees("delivery")
    focus = "return document.activeElement.dataset.row ?? document.activeElement.innerText"
    page.run("document.querySelector('[role=row]').focus()")
    page.press("ArrowDown", "ArrowDown")
    assert page.run(focus) == "offers"
    before = len(rows(page))
    page.press("ArrowLeft")
    page.until(lambda: len(rows(page)) == before - 4, "the branches closed")
    page.press("ArrowRight", "ArrowRight", "ArrowDown")
    assert page.run(focus) == "offers/north/ask"
    page.press("ArrowLeft")
    assert page.run(focus) == "offers/north"
    page.press("Home", "Enter")
    page.sees("location", ".entry")
    page.press("Tab", "Tab", "Enter")
    page.sees("Rewind to here?", "dialog")
    page.press("Escape")
    page.until(lambda: not page.text("dialog"), "the dialog closed")
    assert page.run(focus) == "Rewind to here…"


def test_sending_calling_and_editing(page: Browser, engine: Live) -> None:
    show(page, engine, make(engine, "shop", "sent"))
    page.sees("Waits for a message of orders", ".standing")
    send, call = 'form[aria-label="Send a message"]', 'form[aria-label="Call an action"]'
    page.write(f"{send} textarea", '{"count": 5')
    page.click(f"{send} button", "Send")
    page.sees("JSON", f"{send} .problem")
    page.write(f"{send} textarea", '{"count": 5}')
    page.click(f"{send} button", "Send")
    page.sees('"sold": 5', "[aria-label=State]")
    page.choose(f"{send} select", "refunds")
    page.click(f"{send} button", "Send")
    page.sees("1 waiting")
    page.click('button[aria-label="Remove message 2"]')
    page.click("dialog button", "Remove it")
    page.sees("0 waiting")
    page.choose(f"{call} select", "add")
    page.write(f"{call} textarea", "[1.0, 12345678901234567890]")
    page.click(f"{call} button", "Call")
    page.sees("add returned")
    page.choose(f"{call} select", "refuse")
    page.click(f"{call} button", "Call")
    page.sees("not today", f"{call} .problem")


def test_the_state_keeps_its_numbers(page: Browser, engine: Live) -> None:
    actor = make(engine, "shop", "numbers")
    show(page, engine, actor)
    page.click("button", "Edit")
    held = page.run("return document.querySelector('[aria-labelledby=state] textarea').value")
    assert '"price": 1.0' in held and HOSTILE.replace('"', '\\"') in held
    page.write("[aria-labelledby=state] textarea", held.replace('"sold": 0', '"sold": 7'))
    page.click("button", "Save")
    page.sees('"sold": 7', "[aria-label=State]")
    shown = asyncio.run(engine.host.view(actor)).state
    assert shown == {"sold": 7, "price": 1.0, "note": HOSTILE} and isinstance(shown["price"], float)


def test_a_state_that_changes_while_it_is_edited(page: Browser, engine: Live) -> None:
    actor = make(engine, "plain", "edited")
    show(page, engine, actor)
    page.click("button", "Edit")
    where = f"{engine.url}/actors/{actor}/inspector/state?namespace=default"
    HTTP.patch(where, json={"state": {"by": "another"}}).raise_for_status()
    page.sees("changed its state meanwhile")
    page.find("button", "Overwrite it")
    page.click("button", "Take the new one")
    assert page.run("return document.querySelector('textarea').value") == '{"by":"another"}'
    page.write("textarea", '{"by": "me"}')
    HTTP.patch(where, json={"state": {"by": "a third"}}).raise_for_status()
    page.click("button", "Overwrite it")
    page.sees('{"by":"me"}', "[aria-label=State]")


def test_going_back(page: Browser, engine: Live) -> None:
    show(page, engine, make(engine, "shop", "back", count=1))
    page.sees("delivery")
    page.click(row("parcels"))
    page.click(".entry button", "Rewind to here")
    page.sees("8 completed steps run again", "dialog")
    page.click("dialog button", "Rewind")
    page.until(lambda: not page.text("dialog"), "the dialog closed")
    page.sees("Sleeps until", ".standing")
    page.click("summary", "More")
    page.click(".menu button", "Undo the last rewind")
    page.click("dialog button", "Undo it")
    page.until(lambda: not page.text("dialog"), "the dialog closed")
    page.click("summary", "More")
    page.click(".menu button", "Undo the last rewind")
    page.click("dialog button", "Undo it")
    page.sees("undo", "dialog .problem")


def test_what_ran_again_to_the_same_end_is_loaded_anew(page: Browser, engine: Live) -> None:
    actor = make(engine, "shop", "again", count=1, quick=True)
    show(page, engine, actor)
    page.sees("collected", ".standing")
    look = "window.load ??= (await import('/ui/history.js')).newestOf(arguments[0], 9); return load()"
    before = page.run(look, actor)
    assert page.run(look, actor) == page.run(look, actor) == before
    back = f"{engine.url}/actors/{actor}/inspector/workflow/rewind?namespace=default"
    HTTP.post(back, json={}).raise_for_status()
    page.until(lambda: (after := page.run(look, actor)) != before and "collected" in after, "the second run")


def test_a_failure_is_told_recovered_and_ended(page: Browser, engine: Live) -> None:
    actor = make(engine, "shop", "failed", count=1, fail=True)
    show(page, engine, actor)
    page.sees("failed", ".standing")
    assert "no session" in page.text(".standing .failure")
    assert "caused by KeyError: 'token'" in page.text(".standing .failure")
    HTTP.patch(
        f"{engine.url}/actors/{actor}/inspector/state?namespace=default",
        json={"state": {"sold": 1, "session": True}},
    ).raise_for_status()
    page.click("button", "Recover…")
    page.click("dialog button", "Recover it")
    page.sees("Sleeps until", ".standing")
    page.click("summary", "More")
    page.click(".menu button", "Cancel the workflow")
    page.click("dialog button", "Cancel it")
    page.sees("cancelled", ".standing")
    page.click("summary", "More")
    page.click(".menu button", "Destroy")
    page.click("dialog button", "Destroy it")
    page.sees("This actor is gone")


def test_a_token_is_asked_for_and_kept_by_the_tab(page: Browser) -> None:
    with live(registry(), token="s3 cret", local_only=False) as engine:
        page.open(engine.url)
        page.write("input[type=password]", "wrong")
        page.click("button", "Continue")
        page.sees("refused this token")
        page.write("input[type=password]", "s3 cret")
        page.click("button", "Continue")
        page.sees("No actors yet")
        page.reload()
        page.sees("No actors yet")
        asked = page.run("return performance.getEntriesByType('resource').map((each) => each.name)")
        assert asked and not [url for url in asked if "cret" in url]


def test_an_engine_that_is_away_for_a_while(page: Browser) -> None:
    with listening() as sock:
        engine = Live(registry(), sock, grace=0.1)
        make(engine, "plain", "before")
        page.open(engine.url)
        page.sees("before", ".actors")
        engine.stop()
    page.sees("What you see may be old", ".banner")
    assert "before" in page.text(".actors")
    with socket.create_server(("127.0.0.1", engine.port)) as sock:
        again = Live(registry(), sock)
        try:
            page.sees("No actors yet")
            page.until(lambda: not page.text(".banner"), "the banner gone")
        finally:
            again.stop()


#: What would run in a page that takes text for markup, for a link or for a template.
ATTACK = (
    "<img src=x onerror=\"ran('image')\"><svg onload=ran('svg')></svg><script>ran('script')</script>"
    "<a href=\"javascript:ran('link')\">javascript:ran('text')</a>${ran('template')}</textarea></pre>\u202e"
)


async def attacked(ctx: Any) -> None:
    message = await ctx.queue.next(ATTACK)
    await ctx.join(f"all {ATTACK}", {ATTACK: lambda branch: branch.step(ATTACK, lambda step: message.body)})
    await ctx.step(f"bad {ATTACK}", refuse, max_retries=0)


def refuse(*_: Any) -> None:
    raise UserError(ATTACK, code="closed", metadata={ATTACK: ATTACK}) from ValueError(ATTACK)


@pytest.fixture
def unguarded(page: Browser) -> Iterator[Browser]:
    """Without the policy that would hold back what the page lets in; ``ran`` notes what runs."""
    page.devtools("Page.setBypassCSP", enabled=True)
    note = "window.noted = []; window.ran = (what) => noted.push(what); window.alert = ran;"
    script = page.devtools("Page.addScriptToEvaluateOnNewDocument", source=note)["identifier"]
    yield page
    page.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    page.devtools("Page.setBypassCSP", enabled=False)


def test_hostile_text_is_shown_and_nothing_of_it_runs(unguarded: Browser) -> None:
    page = unguarded
    state = {
        ATTACK: ATTACK,
        "link": "javascript:ran('state')",
        "__proto__": {"ran": 1},
        "constructor": ATTACK,
    }
    use = actor(
        state=state, queues={"orders": queue()}, run=workflow(attacked), actions={"no": refuse, "echo": echo}
    )
    with live(setup(use={"bad": use})) as engine:
        show(page, engine, make(engine, "bad", ATTACK, text=ATTACK))
        page.sees("failed", ".standing")
        for css in ("h1", ".standing .failure", "[aria-label=State]", ".row .name"):
            page.sees("<img src=x onerror=", css)
        for place in page.run(
            "return [...document.querySelectorAll('[data-row]')].map((e) => e.dataset.row)"
        ):
            page.run("[...document.querySelectorAll('[data-row]')].find((e) => e.dataset.row == arguments[0])"
                     ".querySelector('.name').click()", place)  # fmt: skip
            page.sees("location", ".entry")
        page.click("button", "Rewind to here")
        page.sees("<img src=x", "dialog .place")
        page.press("Escape")
        page.until(lambda: not page.text("dialog"), "the dialog closed")
        call = 'form[aria-label="Call an action"]'
        for action, css in (("no", ".problem"), ("echo", "+ [role=status]")):
            page.choose(f"{call} select", action)
            paste(page, f"{call} textarea", json.dumps([ATTACK]))
            page.click(f"{call} button", "Call")
            page.sees("<img src=x", f"{call} {css}")
        page.click("summary", "More")
        page.click(".menu button", "Destroy")
        page.sees("<img src=x", "dialog")
        assert_nothing_ran(page)
        page.open(f"{engine.url}/ui/?{quote(ATTACK)}#/")
        page.sees("<img src=x", ".actors")
        paste(page, "input[type=search]", f"{ATTACK}!")
        page.sees("No actor has")
        assert_nothing_ran(page)
        page.open(f"{engine.url}/ui/#/actors/{ATTACK}")
        page.until(lambda: "gone" in page.text() or "no actor" in page.text().lower(), "what is not there")
        assert_nothing_ran(page)


def echo(c: Any, said: str) -> str:
    return said


def paste(page: Browser, css: str, text: str) -> None:
    """Quicker than key by key."""
    script = "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
    page.run(f"{script} field.dispatchEvent(new Event('input', {{bubbles: true}}))", css, text)


def assert_nothing_ran(page: Browser) -> None:
    """Nothing was made of the text either, and no object has what a state called ``__proto__``."""
    page.run("return new Promise((done) => setTimeout(done, 50))")  # an image's error would come by now
    made = "img[src=x], svg[onload], a[href^=javascript], #page script, [onerror]"
    assert page.run("return [noted, document.querySelectorAll(arguments[0]).length, {}.ran ?? null]", made) == [
        [], 0, None,
    ]  # fmt: skip


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width_and_light(page: Browser, engine: Live, width: int, scheme: str) -> None:
    actor = make(engine, "shop", f"look-{width}-{scheme}", count=1)
    page.resize(width, 800)
    page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    show(page, engine, actor)
    page.sees("delivery")
    page.click(row("charge"))
    page.sees("last attempt")
    assert page.run("return document.documentElement.scrollWidth") <= width
    light = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (min(map(int, light[4:-1].split(","))) > 128) == (scheme == "light")
    assert not nameless(page)


def nameless(page: Browser) -> list[str]:
    """What can be used, and has no name that a screen reader could say."""
    roles = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "treegrid", "dialog"}
    nodes = page.devtools("Accessibility.getFullAXTree")["nodes"]
    shown = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert shown
    return [node["role"]["value"] for node in shown if not node.get("name", {}).get("value")]
