"""The official JavaScript client, unmodified from npm, in a Node process that takes commands."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from tests.support.engine import environment

ENCODINGS = ("bare", "cbor", "json")
FOLDER = Path(__file__).parents[1] / "js"


class JsError(Exception):
    """What the client threw; the attributes are the error's."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(str(told))
        self.group: str | None = told.get("group")
        self.code: str | None = told.get("code")
        self.message: str = told["message"]
        self.metadata = told.get("metadata")
        self.actor = told.get("actor")
        self.ray_id = told.get("rayId")


def installed() -> Path:
    """The folder whose ``node_modules`` holds the client. Installed once per user and version, then kept."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed, so the official JavaScript client can't be run")
    wanted = (FOLDER / "package.json").read_bytes()
    kept = platformdirs.user_cache_path("rivetpy-tests") / f"npm-{hashlib.sha256(wanted).hexdigest()[:16]}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=kept.parent))
        (fresh / "package.json").write_bytes(wanted)
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
        done = subprocess.run(command, cwd=fresh, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}"
        with contextlib.suppress(OSError):  # another run was quicker
            fresh.rename(kept)
    return kept


class Driver:
    """One client in one encoding; ``lookup`` is whether it asks for the engine's metadata first, as it does."""

    def __init__(self, endpoint: str, encoding: str, folder: Path, *, lookup: bool = True) -> None:
        shutil.copy(FOLDER / "driver.mjs", folder)
        with contextlib.suppress(FileExistsError):
            (folder / "node_modules").symlink_to(installed() / "node_modules")
        self.encoding = encoding
        self._popen = subprocess.Popen(
            ["node", str(folder / "driver.mjs"), endpoint, encoding, *([] if lookup else ["no-lookup"])],
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        self._count = 0

    def _read_errors(self) -> None:
        assert self._popen.stderr is not None
        self._errors.extend(self._popen.stderr)

    def __call__(self, do: str, **command: Any) -> Any:
        """Carry out one command; raises `JsError` for what the client throws."""
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self._count += 1
        line = json.dumps({"id": self._count, "do": do, **command})
        self._popen.stdin.write(f"{line}\n")
        self._popen.stdin.flush()
        for told in self._popen.stdout:
            if told.startswith("{"):  # the client logs on stdout, too
                answer = json.loads(told)
                assert answer["id"] == self._count
                if "error" in answer:
                    raise JsError(answer["error"])
                return answer.get("value")
        self._reader.join(5)
        raise AssertionError(f"the driver ended:\n{''.join(self._errors)}")

    def end(self) -> None:
        self._popen.kill()
        self._popen.communicate()
        self._reader.join(5)


@contextlib.contextmanager
def driver(endpoint: str, encoding: str, folder: Path, *, lookup: bool = True) -> Iterator[Driver]:
    running = Driver(endpoint, encoding, folder, lookup=lookup)
    try:
        yield running
    finally:
        running.end()


def thing(js: Driver, *key: str, by: str = "getOrCreate", **options: Any) -> dict[str, Any]:
    """A handle of the registry's actor, by key; keys of different encodings are apart."""
    return {"by": by, "name": "thing", "key": [js.encoding, *key], "options": options or None}


def by_id(actor_id: str) -> dict[str, Any]:
    """A handle of the registry's actor by id."""
    return {"by": "getForId", "name": "thing", "id": actor_id}


def act(js: Driver, handle: dict[str, Any], name: str, *args: Any) -> Any:
    """The action's output."""
    return js("action", handle=handle, name=name, args=list(args))


def fails(js: Driver, do: str, **command: Any) -> JsError:
    """The error of a command that must fail."""
    with pytest.raises(JsError) as failed:
        js(do, **command)
    return failed.value


def bundle(script: Path, target: Path) -> None:
    """A script and what it imports as one file for browsers, by esbuild; the client is the one from npm."""
    folder = installed()
    command = [str(folder / "node_modules" / ".bin" / "esbuild"), str(script), "--bundle", "--format=esm"]
    done = subprocess.run(
        [*command, f"--outfile={target}", "--log-level=warning"],
        env=environment(NODE_PATH=str(folder / "node_modules")),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
