"""The pytest plugin: the fixture `rivet_engine`, and whatever coroutine tests that use it need.

pytest loads it wherever rivetpy is installed, so it imports nothing, and does nothing, before a test asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from rivetpy.testing.engines import Engines


@pytest.fixture
def rivet_engine() -> Iterator[Engines]:
    """Opens engines in memory whose clock a test moves by hand: t = await rivet_engine(registry)."""
    from rivetpy.testing.engines import Engines

    engines = Engines()
    yield engines
    engines.close()


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test that uses the fixture and that no plugin for coroutines has taken."""
    test = pyfuncitem.obj
    engines = cast("Engines | None", pyfuncitem.funcargs.get("rivet_engine"))
    if engines is None or not inspect.iscoroutinefunction(test):
        return None
    import asyncio

    given = pyfuncitem.funcargs
    arguments = {name: given[name] for name in inspect.signature(test).parameters if name in given}

    async def run() -> None:
        try:
            await test(**arguments)
        finally:
            await engines.end()

    asyncio.run(run())
    return True
