"""`rivet fork`, `export`, `import` and `replay --file`: on a running engine, and on a data directory without one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rivetpy.cli import copying, sending
from rivetpy.cli.loading import load_registry
from rivetpy.config import DATABASE, find_registry
from rivetpy.host import archive
from rivetpy.store.lock import DataLock
from tests.support.command import engine_thread, rivet
from tests.support.engine import RIVET, environment

CODE = """
from rivetpy import actor, queue, setup
from rivetpy.workflow import Loop, workflow

async def again(loop, total):
    message = await loop.queue.next("number")
    await loop.step("add", lambda step: None)
    return Loop.continue_(total + message.body)

async def summing(ctx):
    await ctx.loop("main", again, state=0)

def ring(c):
    pass

async def arm(c):
    await c.schedule.after(3600, "ring")

sum_actor = actor(state={"n": 1}, queues={"numbers": queue()}, actions={"arm": arm, "ring": ring},
                  run=workflow(summing))
registry = setup(use={"sum": sum_actor})
"""


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("registry")
    (place / "registry.py").write_text(CODE)
    with engine_thread(load_registry(find_registry(None, place))) as url:
        yield url


@pytest.fixture(autouse=True)
def place(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RIVET_TOKEN", "RIVET_NAMESPACE", "RIVET_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RIVET_ENDPOINT", endpoint)
    (tmp_path / "registry.py").write_text(CODE)


def done(*args: str) -> str:
    ended = rivet(*args)
    assert ended.code == 0 and not ended.err, ended
    return ended.out


def exported(*args: str, code: int = 0) -> bytes:
    """What a real `rivet export` writes; its standard output is bytes."""
    env = environment(RIVET_ENDPOINT=os.environ["RIVET_ENDPOINT"])
    ended = subprocess.run([*RIVET, "export", *args], env=env, capture_output=True, check=False)
    assert ended.returncode == code, ended.stderr
    assert code or not ended.stderr
    return ended.stdout if code == 0 else ended.stderr


def summed(key: str) -> None:
    for number in ("1", "2"):
        done("send", "numbers", number, "--key", key)
    while done("history", "sum", key, "--json").count("\n") < 6:
        pass


def test_fork_says_what_it_copied_and_what_not() -> None:
    summed("one")
    done("call", "arm", "--key", "one")
    assert done("fork", "sum", "one", "two").splitlines() == [
        "forked sum one as sum two: 6 entries, 0 waiting messages",
        "left out: 1 scheduled calls and cron jobs, which the original makes",
        "it sleeps until something comes for it: rivet wake sum two",
    ]
    assert '"status":"sleeping"' in done("actors", "sum", "--json").splitlines()[0]
    made = json.loads(done("fork", "sum", "one", "org/three", "--at", "main/~1/add", "--json"))
    assert (made["key"], made["entries"], made["messages"]) == ("org/three", 4, 0)
    last = json.loads(done("history", "sum", "org/three", "--json").splitlines()[-1])
    assert last["location"] == "main/~1/number"
    done("send", "numbers", "5", "--key", "two")
    while "main/~3" not in done("history", "sum", "two", "--json"):
        pass
    assert "main/~3" not in done("history", "sum", "one", "--json")


@pytest.mark.parametrize(
    ("args", "code", "problem"),
    [
        (["fork", "sum", "main"], 2, "Missing argument 'NEWKEY'"),
        (["fork", "sum", "main", "main"], 1, "Choose another one: rivet fork sum main NEWKEY"),
        (["fork", "sum", "mian", "x"], 1, "Did you mean 'main'?"),
        (["fork", "sum", "main", "x", "--at", "frist"], 1, "No entry at 'frist'"),
        (["export", "smu"], 1, "Did you mean 'sum'?"),
        (["import", "nowhere.rivet"], 2, "nowhere.rivet: no such file"),
        (["import", "registry.py"], 1, "This is no exported actor. It does not begin like one."),
        (["import", "empty"], 1, "This is no exported actor. It is empty."),
        (["import", "."], 2, ".: is a directory"),
        (["import", "/dev/zero"], 2, "/dev/zero: longer than 0 MiB. Is it the right file?"),
        (["send", "numbers", "@/dev/zero"], 2, "/dev/zero: longer than"),
        (["replay", "--file", "empty"], 1, "This is no exported actor."),
        (["replay", "--file", "empty", "--all"], 2, "leave out ACTOR and --all"),
    ],
)
def test_mistakes(args: list[str], code: int, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "LONGEST", 1000)
    monkeypatch.setattr(sending, "_CHUNK", 100)
    done("call", "ring")
    Path("empty").touch()
    ended = rivet(*args)
    assert (ended.code, ended.out) == (code, "")
    assert problem in ended.error
    assert '"key":"x"' not in done("actors", "--json")


def test_a_wrong_file_makes_no_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RIVET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("RIVET_ENDPOINT")
    assert "This is no exported actor." in rivet("import", "registry.py").error
    assert not (tmp_path / "data").exists()


def test_a_file_is_not_printed_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(copying, "sys", type("Sys", (), {"stdout": Terminal()}))
    ended = rivet("export", "sum", "my key")
    assert ended.code == 2 and "rivet export sum 'my key' > actor.rivet" in ended.error


def test_from_the_engine_to_a_directory_and_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    summed("travels")
    history = done("history", "sum", "travels", "--json")
    Path("sum.rivet").write_bytes(exported("sum", "travels"))
    assert done("replay", "--file", "sum.rivet") == "sum travels fits, 6 entries\n"

    monkeypatch.setenv("RIVET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("RIVET_ENDPOINT")
    offline = f"no engine is running; writing to {tmp_path}/data\n"
    ended = rivet("import", "sum.rivet")
    assert (ended.code, ended.err) == (0, offline)
    assert ended.out.startswith("imported sum travels: 6 entries, 0 waiting messages\n")
    assert rivet("import", "sum.rivet").code == 1, "it is there"
    assert rivet("import", "sum.rivet", "--key", "twin").out.startswith("imported sum twin: 6 entries")
    assert rivet("fork", "sum", "twin", "third", "--at", "main").out.startswith(
        "forked sum twin as sum third: 0"
    )
    assert rivet("history", "sum", "travels", "--json").out == history
    assert rivet("replay", "--all").out == "3 checked: 3 fits\n"
    env = environment(RIVET_DATA_DIR=str(tmp_path / "data"))
    again = subprocess.run([*RIVET, "export", "sum", "travels"], env=env, capture_output=True, check=True)
    assert again.stderr.decode() == f"no engine is running; reading {tmp_path}/data\n"
    assert again.stdout == Path("sum.rivet").read_bytes()


def test_a_directory_in_use_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done("call", "ring", "--key", "busy")
    Path("sum.rivet").write_bytes(exported("sum", "busy"))
    monkeypatch.setenv("RIVET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("RIVET_ENDPOINT")
    lock = DataLock.acquire(tmp_path / "data", 0)
    try:
        ended = rivet("import", "sum.rivet")
        assert (ended.code, ended.out) == (1, "")
        assert "is in use by process" in ended.error
        assert not (tmp_path / "data" / DATABASE).exists()
    finally:
        lock.release()
    assert rivet("import", "sum.rivet").code == 0


def test_new_code_is_checked_against_a_file() -> None:
    summed("checked")
    Path("sum.rivet").write_bytes(exported("sum", "checked"))
    Path("registry.py").write_text(CODE.replace('"number"', '"amount"'))
    ended = rivet("replay", "--file", "sum.rivet")
    assert ended.code == 1 and ended.out.startswith("sum checked diverged\n")
    assert archive.unpack(Path("sum.rivet").read_bytes()).key == ("checked",)
