"""`rivet doctor` on healthy and broken places, and `rivet init`, whose project is healthy from the start."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rivetpy import Registry, actor, setup
from rivetpy.cli import checkup, engine_api, source
from rivetpy.config import ACTOR_FILES, DATABASE
from rivetpy.errors import StoreError
from rivetpy.host import Host
from rivetpy.store.lock import DataLock
from rivetpy.store.sqlite import Durability, SqliteStore
from tests.support.command import Ended, engine_thread, rivet
from tests.support.engine import environment
from tests.support.rows import born


async def keep(c):  # type: ignore[no-untyped-def]
    await c.kv.put("k", 1)
    await c.db.execute("CREATE TABLE t (x)")


def registry() -> Registry:
    return setup(use={"box": actor(state={"n": 1}, actions={"keep": keep}, db=True)})


async def fill(directory: Path) -> None:
    store = SqliteStore.open(directory / DATABASE, Durability.PROCESS)
    host = Host(registry(), store, files=directory / ACTOR_FILES)
    await host.start()
    for key in ("a", "b"):
        row, _ = await host.get_or_create("default", "box", (key,))
        await host.call(row.id, "keep", [])
    await host.stop()
    await store.close()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with data; nothing runs, nothing listens at the default port."""
    for name in ("RIVET_ENDPOINT", "RIVET_TOKEN", "RIVET_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("RIVET_DATA_DIR", str(tmp_path / "data"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    for module in (checkup, source):
        monkeypatch.setattr(module, "DEFAULT_PORT", free)
    monkeypatch.setattr(source, "DEFAULT_URL", f"http://127.0.0.1:{free}")
    (tmp_path / "registry.py").touch()
    (tmp_path / "data").mkdir()
    asyncio.run(fill(tmp_path / "data"))
    return tmp_path / "data"


def found(ended: Ended) -> dict[str, list[str]]:
    """The verdicts by check."""
    told: dict[str, list[str]] = {}
    for line in ended.out.splitlines():
        finding = json.loads(line)
        assert set(finding) == {"check", "verdict", "text", "todo"}
        told.setdefault(finding["check"], []).append(finding["verdict"])
    return told


def test_a_healthy_place() -> None:
    ended = rivet("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[:2] for line in ended.out.splitlines() if not line.startswith(" ")] == [
        ["ok", "versions"],
        ["ok", "registry"],
        ["ok", "engine"],
        ["ok", "port"],
        ["ok", "data"],
        ["ok", "disk"],
        ["ok", "lock"],
        ["ok", "database"],
        ["ok", "log"],
        ["ok", "actors"],
    ]
    assert "2 actors, all readable" in ended.out


def test_a_place_without_anything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RIVET_DATA_DIR")
    (tmp_path / "registry.py").unlink()
    ended = rivet("doctor", "--json")
    assert ended.code == 0
    assert found(ended) == {"versions": ["ok"], "registry": ["warn"], "engine": ["ok"], "port": ["ok"]}


def test_damaged_rows_are_named_and_the_others_counted(place: Path) -> None:
    with sqlite3.connect(place / DATABASE) as db:
        db.execute("UPDATE entries SET value = x'ff' WHERE key = ? AND actor = 1", (b"kskk",))
        db.execute("UPDATE entries SET value = x'00' WHERE key >= 'k' AND actor = 1")
    db.close()
    ended = rivet("doctor")
    assert ended.code == 1 and ended.error == "1 thing to see to"
    (line,) = [line for line in ended.out.splitlines() if line.startswith("bad")]
    assert line.startswith("bad  actors     box a: A stored value has format 0")
    assert "2 actors, 1 of them damaged" in ended.out and "rivet destroy ACTOR KEY" in ended.out


def test_a_damaged_database_of_an_actor(place: Path) -> None:
    file = next((place / ACTOR_FILES).glob("*.db"))
    file.write_bytes(file.read_bytes()[:100] + b"\xff" * (file.stat().st_size - 100))
    ended = rivet("doctor", "--json")
    assert ended.code == 1 and found(ended)["actors"] == ["bad", "warn"]


@pytest.mark.parametrize(
    ("harm", "verdicts", "text"),
    [
        (lambda data: data.write_bytes(b"x" * 9000), ["bad"], "It is damaged or not a journal"),
        (
            lambda data: data.write_bytes(data.read_bytes()[:4096] + b"\xff" * (data.stat().st_size - 4096)),
            ["bad"],
            "restore a",
        ),
        (
            lambda data: sqlite3.connect(data).execute("PRAGMA user_version = 99").connection.close(),
            ["bad"],
            "Upgrade rivetpy",
        ),
    ],
    ids=["not a database", "overwritten", "newer"],
)
def test_a_database_that_cannot_be_used(harm, verdicts: list[str], text: str, place: Path) -> None:  # type: ignore[no-untyped-def]
    harm(place / DATABASE)
    before = (place / DATABASE).read_bytes()
    ended = rivet("doctor", "--json")
    assert ended.code == 1 and found(ended)["database"] == verdicts
    assert text in ended.out
    assert (place / DATABASE).read_bytes() == before, "it only looks"


def killed(place: Path, commits: int) -> Path:
    """The log of a store that was killed after so many commits."""

    async def write() -> tuple[bytes, bytes]:
        store = SqliteStore.open(place / DATABASE)
        for number in range(commits):
            await store.commit(born(str(number), n="x" * 5000))
        files = (place / DATABASE).read_bytes(), (place / f"{DATABASE}-wal").read_bytes()
        await store.close()
        return files

    data, log = asyncio.run(write())
    (place / DATABASE).write_bytes(data)
    (place / f"{DATABASE}-wal").write_bytes(log)
    return place / f"{DATABASE}-wal"


@pytest.mark.parametrize(
    ("harm", "verdict", "text"),
    [
        (lambda log: log, "ok", '"whole"'),
        (lambda log: log[:-10], "ok", "a commit that was cut off"),
        (lambda log: log[:9000] + b"\xff" + log[9001:], "bad", "truncate -s"),
    ],
    ids=["whole", "torn", "damaged"],
)
def test_the_log_behind_its_end(harm, verdict: str, text: str, place: Path) -> None:  # type: ignore[no-untyped-def]
    log = killed(place, 6)
    log.write_bytes(harm(log.read_bytes()))
    before = log.read_bytes()
    ended = rivet("doctor", "--json")
    assert found(ended)["log"] == [verdict] and text in ended.out
    assert ended.code == (verdict == "bad") and log.read_bytes() == before


def test_a_log_that_somebody_writes_is_not_looked_at(place: Path) -> None:
    log = killed(place, 6)
    log.write_bytes(log.read_bytes()[:9000] + b"\xff" * 9000)
    lock = DataLock.acquire(place, 0)
    try:
        assert "log" not in found(rivet("doctor", "--json"))
    finally:
        lock.release()


def test_a_directory_that_is_none(place: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = rivet("doctor", "--data-dir", "file/data", "--json")
    assert ended.code == 1 and found(ended)["data"] == ["bad"]


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, verdict, code in ((10 << 20, "bad", 1), (500 << 20, "warn", 0), (5 << 30, "ok", 0)):
        usage = type("Usage", (), {"free": free})
        monkeypatch.setattr(checkup.shutil, "disk_usage", lambda path, usage=usage: usage)
        ended = rivet("doctor", "--json")
        assert (ended.code, found(ended)["disk"]) == (code, [verdict])


def test_who_holds_the_directory(place: Path) -> None:
    lock = DataLock.acquire(place, 9)
    try:
        ended = rivet("doctor")
    finally:
        lock.release()
    assert f"process {os.getpid()} holds the data directory since" in ended.out
    assert f"if it is stuck: kill {os.getpid()}" in ended.out


def test_a_lock_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(directory: Path) -> None:
        raise StoreError("not_writable", f"{directory}/lock: Permission denied.")

    for module in ("rivetpy.store.lock", "rivetpy.cli.checkup"):
        monkeypatch.setattr(f"{module}.read_owner", refused)
    ended = rivet("doctor", "--json")
    told = found(ended)
    assert ended.code == 1 and told["lock"] == ["bad"] and told["actors"] == ["ok"]


def test_the_engine_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with engine_thread(registry()) as url:
        monkeypatch.setenv("RIVET_ENDPOINT", url)
        assert f"answers at {url}" in rivet("doctor").out
        monkeypatch.setattr(checkup, "__version__", "9.9")
        assert found(rivet("doctor", "--json"))["engine"] == ["warn"]
    ended = rivet("doctor")
    assert ended.code == 1 and f"nothing answers at {url}" in ended.out.replace("\n" + " " * 16, " ")


def at_port(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """What is at ``url`` is at the default port."""
    monkeypatch.setattr(checkup, "DEFAULT_PORT", int(url.rpartition(":")[2]))
    monkeypatch.setattr(source, "DEFAULT_URL", url)


@pytest.mark.parametrize(
    ("runs", "verdict", "text"),
    [
        ("{here}", "ok", "the rivet engine of {here}"),
        ("/other.py", "warn", "/other.py"),
        (None, "ok", "a rivet"),
    ],
)
def test_an_engine_at_the_port(
    runs: str | None, verdict: str, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = str(tmp_path / "registry.py")
    with engine_thread(registry(), runs=runs and runs.format(here=here)) as url:
        at_port(monkeypatch, url)
        ended = rivet("doctor", "--json")
    assert ended.code == 0 and found(ended)["port"] == [verdict]
    (told,) = [line for line in ended.out.splitlines() if '"port"' in line]
    assert text.format(here=here) in told and f"process {os.getpid()}" in told
    assert ("rivet dev --port" in told) == (verdict == "warn")
    assert ("answers at" in ended.out) == (verdict == "ok")


class Foreign(BaseHTTPRequestHandler):
    """A program that speaks HTTP and is no engine."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path.startswith("/metadata") else 404)
        self.end_headers()
        self.wfile.write(b'{"hello": "world"}')

    def log_message(self, *args: object) -> None: ...


@pytest.mark.parametrize("speaks", [True, False], ids=["HTTP", "nothing"])
def test_another_program_at_the_port(speaks: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is told apart from an engine, and a command that guessed goes on without it."""
    monkeypatch.setattr(engine_api, "_PATIENCE", 0.3)
    with ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as server:
        if speaks:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        at_port(monkeypatch, f"http://127.0.0.1:{server.server_port}")
        ended = rivet("doctor", "--json")
        assert ended.code == 1 and found(ended)["port"] == ["bad"] and found(ended)["engine"] == ["ok"]
        assert "no rivet engine" in ended.out and "rivet dev --port" in ended.out
        monkeypatch.delenv("RIVET_DATA_DIR")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
        ended = rivet("actors")
        assert ended.code == 1 and "is no rivet engine" in ended.err and "Start one: rivet dev" in ended.err
        if speaks:
            server.shutdown()


def test_init_makes_a_project_that_runs(tmp_path: Path) -> None:
    project = tmp_path / "my pröject"
    ended = rivet("init", str(project))
    assert (ended.code, ended.err) == (0, "")
    assert f"cd '{project}'" in ended.out and "rivet send guests name=Ada" in ended.out
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("there", ["registry.py", "test_registry.py"])
def test_init_replaces_nothing(there: str, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / there).write_text("mine")
    ended = rivet("init", "project")
    assert (ended.code, ended.out) == (1, "")
    assert ended.error.startswith(f"Already there: project/{there}. Nothing was changed")
    assert [path.name for path in (tmp_path / "project").iterdir()] == [there]
    assert (tmp_path / "project" / there).read_text() == "mine"


def test_init_where_something_else_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "registry.py").symlink_to("nowhere")
    assert (
        rivet("init", "file").error
        == "file is no directory. Nothing was changed. Choose another: rivet init DIR"
    )
    assert rivet("init", "project").error.startswith("Already there: project/registry.py.")
    assert "\n  cd ./-\n" in rivet("init", "-").out


def test_init_where_nothing_can_be_written(tmp_path: Path) -> None:
    ended = rivet("init", "registry.py/project")
    assert (ended.code, ended.out) == (1, "") and "registry.py" in ended.error
    assert rivet("init", "").code == 2
