"""A headless Chromium, driven over the WebDriver protocol, for tests that look at a page."""

from __future__ import annotations

import base64
import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from tests.support.engine import Process, environment

T = TypeVar("T")

#: Nothing of the browser's own asks anybody outside; every name that is found is this machine.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--host-resolver-rules=MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
#: How WebDriver names an element, and the keys that are no letters.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Space": " "}
KEYS |= {
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}


def chromium() -> tuple[str, str]:
    """The browser and its driver; skips the test where they are not installed."""
    found = [next(filter(None, map(shutil.which, names)), None) for names in NAMES]
    if None in found:
        pytest.skip("chromium and chromedriver are not installed, so nothing can look at the page")
    return str(found[0]), str(found[1])


NAMES = (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))


class Browser:
    """One browser with one window. What looks something up waits until it is there."""

    def __init__(self, driver: str, *flags: str) -> None:
        browser, _ = chromium()
        self._http = httpx.Client(base_url=driver, timeout=120)
        options = {"binary": browser, "args": [*FLAGS, *flags]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self._http.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
        assert answer.is_success, answer.text
        self._session = f"/session/{answer.json()['value']['sessionId']}"

    def _do(self, method: str, path: str, **body: Any) -> Any:
        answer = self._http.request(
            method, f"{self._session}/{path}", json=body if method == "POST" else None
        )
        told = answer.json()["value"]
        if answer.is_error:
            raise AssertionError(f"{path}: {told['error']}: {told['message']}")
        return told

    def open(self, url: str) -> None:
        self._do("POST", "url", url=url)

    def reload(self) -> None:
        self._do("POST", "refresh")

    def resize(self, width: int, height: int) -> None:
        """The size of what a page sees, as on a telephone also narrower than a window may be."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def devtools(self, command: str, **params: Any) -> Any:
        return self._do("POST", "goog/cdp/execute", cmd=command, params=params)

    def run(self, script: str, *args: Any) -> Any:
        """What a script returns; a promise is awaited."""
        return self._do("POST", "execute/sync", script=script, args=list(args))

    def text(self, css: str = "body") -> str:
        """The text of the first such element as a person sees it; '' when there is none."""
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", css))

    def until(self, look: Callable[[], T], what: str = "", patience: float = 60) -> T:
        """What ``look`` finds once it is something; fails with what the page shows and logs."""
        deadline = time.monotonic() + patience
        while not (found := look()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what or look} never came; the page:\n{self.text()}\n{self.log()}")
            time.sleep(0.05)
        return found

    def sees(self, text: str, css: str = "body") -> str:
        """Wait until the text is there."""
        return self.until(lambda: text in (shown := self.text(css)) and shown, f"{text!r} in {css}")

    def find(self, css: str, text: str = "") -> dict[str, str]:
        """The first visible element of this kind with this text."""
        script = (
            "return [...document.querySelectorAll(arguments[0])].find((each) =>"
            " (each.checkVisibility() || each.matches('option')) && (each.innerText ?? '').includes(arguments[1]))"
        )
        found: dict[str, str] = self.until(lambda: self.run(script, css, text), f"{css} with {text!r}")
        return found

    def click(self, css: str, text: str = "") -> None:
        """Click it, once it stands still: what is live may be drawn anew in between."""

        def click() -> bool:
            try:
                self._do("POST", f"element/{self.find(css, text)[ELEMENT]}/click")
            except AssertionError as error:
                if not re.search("stale|intercepted|not interactable", str(error)):
                    raise
                return False
            return True

        self.until(click, f"a click on {css} with {text!r}")

    def write(self, css: str, text: str) -> None:
        """Replace what a field holds."""
        element = self.find(css)[ELEMENT]
        self._do("POST", f"element/{element}/clear")
        self._do("POST", f"element/{element}/value", text=text)

    def choose(self, css: str, option: str) -> None:
        """Choose in a list by the option's text."""
        self.click(f"{css} option", option)

    def press(self, *keys: str) -> None:
        """Press keys where the focus is."""
        for key in keys:
            code = KEYS.get(key, key)
            actions = [{"type": kind, "value": code} for kind in ("keyDown", "keyUp")]
            self._do("POST", "actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def log(self) -> list[str]:
        """What the page told the console since the last look, errors of loading included."""
        return [str(entry["message"]) for entry in self._do("POST", "se/log", type="browser")]

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._do("GET", "screenshot")))

    def end(self) -> None:
        with contextlib.suppress(httpx.HTTPError):
            self._http.delete(self._session)
        self._http.close()


@contextlib.contextmanager
def browser(*flags: str) -> Iterator[Browser]:
    """A browser with a profile of its own, gone at the end with all it started."""
    _, driver = chromium()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = Process([driver, "--port=0"], Path(profile), environment(HOME=profile))
        try:
            port = process.wait_for(r"successfully on port (\d+)").group(1)
            started = Browser(f"http://127.0.0.1:{port}", f"--user-data-dir={profile}/profile", *flags)
            try:
                yield started
            finally:
                started.end()
        finally:
            process.kill()
