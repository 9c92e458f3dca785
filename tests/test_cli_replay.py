"""`rivet replay`: recorded journals against code that is the same, fits, does not fit, or can't be used at all."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rivetpy.cli.loading import load_registry
from rivetpy.config import DATABASE, find_registry
from rivetpy.host import Host
from rivetpy.store import ActorRow
from rivetpy.store.sqlite import Durability, SqliteStore
from rivetpy.wire.bodies import QueueSend
from tests.support.command import Ended, rivet

#: The code the journals are recorded by. Each test changes it.
CODE = """
from rivetpy import actor, queue, setup
from rivetpy.workflow import workflow

print("hello from import")

def note(step, name):
    ran = open("ran.log", "a")
    ran.write(name + "\\n")
    ran.close()
    return name

async def left(ctx):
    await ctx.step("look", note, "left")

async def right(ctx):
    await ctx.step("look", note, "right")

async def order(ctx):
    print("hello from the workflow")
    await ctx.step("reserve", note, "reserve")
    await ctx.join("both", {"left": left, "right": right})
    message = await ctx.queue.next("go")
    await ctx.step("charge", note, "charge")
    await ctx.sleep("trial", 1e6)
    return message.body

async def short(ctx):
    await ctx.step("only", note, "only")

async def fails(ctx):
    await ctx.step("bad", lambda step: 1 / 0, max_retries=0)

fails_actor = actor(run=workflow(fails))
order_actor = actor(queues={"orders": queue()}, run=workflow(order))
short_actor = actor(run=workflow(short))
plain_actor = actor(state={"n": 1})
registry = setup(use={"order": order_actor, "short": short_actor, "plain": plain_actor, "fails": fails_actor})
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with journals: two orders (one waits for its message, one sleeps), one that ended, one without."""
    for name in ("RIVET_ENDPOINT", "RIVET_TOKEN", "RIVET_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIVET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "registry.py").write_text(CODE)
    (tmp_path / "data").mkdir()
    asyncio.run(record(tmp_path))
    (tmp_path / "ran.log").unlink()
    return tmp_path


async def record(directory: Path) -> None:
    store = SqliteStore.open(directory / "data" / DATABASE, Durability.PROCESS)
    host = Host(load_registry(find_registry(None, directory)), store)
    await host.start()
    waiting, _ = await host.get_or_create("default", "order", ("waiting",))
    sleeping, _ = await host.get_or_create("default", "order", ("sleeping",))
    ended, _ = await host.get_or_create("default", "short", ())
    await host.get_or_create("default", "plain", ("main",))
    await host.send(sleeping.id, "orders", QueueSend(1))
    await until_it_stands(host, (waiting, "sleeping", 5), (sleeping, "sleeping", 7), (ended, "completed", 1))
    await host.stop()
    await store.close()


async def record_a_failure() -> None:
    store = SqliteStore.open(Path("data") / DATABASE, Durability.PROCESS)
    host = Host(load_registry(find_registry(None, Path.cwd())), store)
    failed, _ = await host.get_or_create("default", "fails", ("main",))
    await until_it_stands(host, (failed, "failed", 1))
    await host.stop()
    await store.close()


async def until_it_stands(host: Host, *wanted: tuple[ActorRow, str, int]) -> None:
    for row, status, size in wanted:
        for _ in range(500):
            workflow = (await host.view(row.id)).workflow
            if workflow is not None and (workflow.status, len(workflow.entries)) == (status, size):
                break
            await asyncio.sleep(0.01)
        else:
            raise AssertionError(workflow)


def change(*changes: tuple[str, str]) -> None:
    text = CODE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    Path("registry.py").write_text(text)


def digest() -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path("data").iterdir()
        if path.name in {DATABASE, f"{DATABASE}-wal"} and path.stat().st_size
    }


def checked(*args: str, code: int = 0) -> Ended:
    """Replay; whatever it finds, nothing ran and nothing was written."""
    before = digest()
    ended = rivet("replay", *args)
    assert digest() == before
    assert not Path("ran.log").exists(), "a step ran"
    assert "hello" not in ended.out, "the user's prints are no answer"
    assert ended.code == code, ended
    return ended


def objects(ended: Ended) -> dict[tuple[str, str], dict[str, Any]]:
    rows = [json.loads(line) for line in ended.out.splitlines()]
    return {(row["name"], row["key"]): row for row in rows}


def test_unchanged_code_fits() -> None:
    ended = checked("--all")
    assert ended.out == "4 checked: 1 no workflow, 2 fits, 1 ended\n"
    assert "hello from the workflow" in ended.err
    assert checked("order", "sleeping").out == "order sleeping fits, 7 entries\n"
    assert checked("short", "/").out == "short / ended, 1 entries\n"
    assert checked("--all", "order").out == "2 checked: 2 fits\n"


def test_json_is_an_object_for_each() -> None:
    ended = checked("--all", "--json")
    rows = objects(ended)
    assert {who: row["status"] for who, row in rows.items()} == {
        ("plain", "main"): "no_workflow",
        ("short", "/"): "ended",
        ("order", "sleeping"): "fits",
        ("order", "waiting"): "fits",
    }
    assert set(rows["order", "waiting"]) == {
        *("name", "key", "actorId", "status", "entries"),
        *("location", "expected", "found", "site", "around", "error"),
    }
    assert ended.err.splitlines()[-1] == "4 checked: 1 no workflow, 2 fits, 1 ended"


def test_a_renamed_step_is_found_with_what_is_around_it_and_its_line() -> None:
    change(('ctx.step("charge"', 'ctx.step("take money"'))
    line = Path("registry.py").read_text()[: Path("registry.py").read_text().index("take money")].count("\n")
    ended = checked("--all", code=1)
    told = ended.out.splitlines()
    assert told[:9] == [
        "order sleeping diverged",
        "  at      take money",
        "  code    a new step 'take money'",
        "  journal step 'charge' next",
        f"  call    registry.py:{line + 1}",
        "  recorded there",
        "    step 'reserve'",
        "    join 'both'",
        "    message 'go'",
    ]
    assert told[9].endswith(" step 'charge'") and told[9].strip() != "step 'charge'"
    assert told[10] == "    sleep 'trial'"
    for way in ("ctx.removed", "ctx.get_version", "a new name", "rivet rewind"):
        assert any(way in line for line in told[11:])
    assert told[-1] == "4 checked: 1 no workflow, 1 fits, 1 ended, 1 diverged"
    assert max(map(len, told)) <= 80 and "\x1b" not in ended.out
    assert ended.err.splitlines()[-1] == "error: 1 of 4 can't go on with registry.py as it is"
    row = objects(checked("--all", "--json", code=1))["order", "sleeping"]
    assert (row["status"], row["location"]) == ("diverged", "take money")
    assert (row["expected"], row["found"]) == ("a new step 'take money'", "step 'charge' next")
    assert row["site"] == f"{Path('registry.py').resolve()}:{line + 1}"
    assert [near["location"] for near in row["around"] if near["here"]] == ["charge"]


NEW = 'await ctx.step("new", note, "")\n    '
BOTH = {"waiting", "sleeping"}
#: What the code becomes, whom it breaks, and what is told.
BREAKS: dict[str, tuple[list[tuple[str, str]], set[str], str]] = {
    "removed": ([('    await ctx.step("reserve", note, "reserve")\n', "")], BOTH, "step 'reserve' next"),
    "another kind": ([('sleep("trial", 1e6)', 'step("trial", note, "")')], {"sleeping"}, "sleep 'trial'"),
    "in a branch": ([('"look", note, "right"', '"see", note, ""')], set(), ""),
    "new before": ([("message =", f"{NEW}message =")], BOTH, "message 'go' next"),
    "new at the end": ([("return message", f"{NEW}return message")], set(), ""),
    "gate": (
        [("message =", f'if await ctx.get_version("gate", 2) == 2:\n        {NEW}message =')],
        set(),
        "",
    ),
    "removed properly": ([('step("charge", note, "charge")', 'removed("charge", "step")')], set(), ""),
    "raises": ([("message =", 'raise ValueError("bad code")\n    message =')], set(), ""),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_who_is_broken_by_a_change(kind: str) -> None:
    changes, broken, found = BREAKS[kind]
    change(*changes)
    rows = objects(checked("--all", "--json", "order", code=1 if broken else 0))
    assert {key for (_, key), row in rows.items() if row["status"] == "diverged"} == broken
    assert all(found in row["found"] for row in rows.values() if row["status"] == "diverged")


def test_failed_ones_are_checked_when_asked_for() -> None:
    asyncio.run(record_a_failure())
    change(('"bad"', '"worse"'))
    ended = checked("--all", "fails")
    assert ended.out == "1 checked: 1 failed (not looked at; --failed checks them too)\n"
    assert checked("--all", "--failed", code=1).out.endswith("1 no workflow, 2 fits, 1 ended, 1 diverged\n")
    assert checked("fails", code=1).out.startswith("fails main diverged\n"), "it was named"


def test_other_code_than_that_of_the_project() -> None:
    Path("next").mkdir()
    Path("next/registry.py").write_text(CODE.replace('"reserve"', '"book"'))
    assert checked("--all").code == 0
    ended = checked("--all", "--registry", "next/registry.py", code=1)
    assert "2 diverged" in ended.out
    assert any(line.startswith("  call    next/registry.py:") for line in ended.out.splitlines())


def test_an_actor_that_is_gone_from_the_registry() -> None:
    change(('"order": order_actor, ', ""))
    rows = objects(checked("--all", "--json", code=1))
    assert rows["order", "waiting"]["status"] == "not_in_registry"
    assert "The registry has no actor 'order'" in rows["order", "waiting"]["error"]
    change(('"short": short_actor, ', ""), (', "plain": plain_actor', ""))
    assert checked("--all").out == "4 checked: 1 no workflow, 2 fits, 1 ended\n"


def test_code_that_waits_for_the_world_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from rivetpy.cli import checking

    monkeypatch.setattr(checking, "PATIENCE", 0.05)
    change(("    message =", "    import asyncio\n    await asyncio.sleep(1e6)\n    message ="))
    ended = checked("order", "waiting", code=1)
    assert ended.out.startswith("order waiting stuck\n") and "that is no verb" in ended.out


def test_a_damaged_journal_is_one_line_and_the_others_are_checked() -> None:
    import sqlite3

    with sqlite3.connect(f"data/{DATABASE}") as db:
        db.execute("UPDATE entries SET value = x'ff' WHERE key = ? AND actor = 1", (b"jreserve",))
    db.close()
    rows = objects(checked("--all", "--json", code=1))
    assert sorted(row["status"] for row in rows.values()) == ["ended", "fits", "no_workflow", "unreadable"]


@pytest.mark.parametrize(
    ("args", "code", "problem"),
    [
        ([], 2, "Name an actor, or check all: rivet replay --all"),
        (["ordre"], 1, "There is no actor 'ordre' yet. Did you mean 'order'?"),
        (["order", "wating"], 1, "Did you mean 'waiting'?"),
        (["--all", "--registry", "nowhere.py"], 1, "There is no file 'nowhere.py'"),
        (["--all", "--endpoint", "http://127.0.0.1:9", "--data-dir", "nowhere"], 1, "Name the directory"),
    ],
)
def test_mistakes(args: list[str], code: int, problem: str) -> None:
    assert problem in checked(*args, code=code).error


@pytest.mark.parametrize(
    ("break_it", "problem"),
    [
        (lambda: Path("registry.py").write_text("1 / 0\n"), "can't be imported: ZeroDivisionError"),
        (lambda: Path("registry.py").unlink(), "There is no registry.py here to check against"),
        (lambda: (Path("data") / DATABASE).rename("elsewhere"), "There is nothing in"),
    ],
)
def test_without_code_or_data_there_is_one_line(break_it: Callable[[], object], problem: str) -> None:
    break_it()
    ended = checked("--all", code=1)
    assert problem in ended.error and "/rivetpy/" not in ended.err
