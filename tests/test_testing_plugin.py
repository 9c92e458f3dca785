"""The fixture `rivet_engine` in a project of a user's own: without other plugins, with anyio, with pytest-asyncio."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

PROJECT = """
import asyncio, datetime as dt, pathlib
import pytest
from rivetpy import actor, queue, setup
from rivetpy.testing import Crashed, Engines, TestEngine
from rivetpy.workflow import workflow

async def run(ctx):
    await ctx.queue.next("wait")
    await ctx.sleep("month", dt.timedelta(days=30))

async def note(c, text):
    await c.db.execute("CREATE TABLE IF NOT EXISTS notes (text)")
    await c.db.execute("INSERT INTO notes VALUES (?)", text)

shop = actor(queues={"orders": queue()}, run=workflow(run), db=True, actions={"note": note})
registry = setup(use={"shop": shop})
opened = []

async def story(rivet_engine):
    assert isinstance(rivet_engine, Engines)
    t = await rivet_engine(registry)
    opened.append(t)
    shop = t.client.shop.get_or_create("main")
    await shop.note("kept in a file")
    await shop.send("orders", 1)
    t.crash_after_write(1)
    with pytest.raises(Crashed):
        await t.advance(days=31)
    await t.restart()
    await t.advance(days=31)
    assert (await t.workflow("shop")).status == "completed"

@pytest.fixture(params=[False, True])
def strict(request):
    return request.param

async def test_alone(rivet_engine, strict, by="default"):
    first, second = [await rivet_engine(registry, strict_replay=strict) for _ in range(2)]
    opened.extend([first, second])
    await first.client.shop.get_or_create("main").send("orders", 1)
    await first.advance(days=31)
    assert (await first.workflow("shop")).status == "completed"
    assert await second.client.shop.get_or_create("main").resolve()
    assert await second.state("shop") is None

class TestOfAClass:
    async def test_alone(self, rivet_engine):
        await story(rivet_engine)

def test_a_loop_of_its_own(rivet_engine):
    asyncio.run(story(rivet_engine))

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_anyio(rivet_engine, anyio_backend):
    await story(rivet_engine)

@pytest.mark.asyncio
async def test_asyncio(rivet_engine):
    await story(rivet_engine)

@pytest.mark.asyncio(loop_scope="module")
async def test_asyncio_in_a_loop_for_all(rivet_engine):
    await story(rivet_engine)

def test_not_opened(rivet_engine):
    pass

def test_nothing_is_left():
    assert len(opened) == 9
    assert not [t for t in opened if pathlib.Path(t._files.name).exists()]

async def test_fails(rivet_engine):
    await story(rivet_engine)
    assert "seen" == "shown"

async def test_of_somebody_else():
    pass
"""


def test_every_way_to_run_coroutines(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROJECT)
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function")
    done = pytester.runpytest_subprocess("-p", "no:xdist", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=9, failed=2)
    done.stdout.fnmatch_lines(["*AssertionError: assert 'seen' == 'shown'", "*async def functions are not*"])


def test_loading_it_loads_nothing_else() -> None:
    code = "import pytest, sys; was = set(sys.modules); import rivetpy.testing.plugin; print(*set(sys.modules) - was)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(loaded.split()) == {"rivetpy", "rivetpy.testing", "rivetpy.testing.plugin"}
