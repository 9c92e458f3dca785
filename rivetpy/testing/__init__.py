"""Testing actors and workflows: an engine in memory, a clock that is moved by hand, crashes where you want them.

    async def test_the_trial_is_a_month(rivet_engine):  # a fixture that comes with rivetpy
        t = await rivet_engine(registry)
        await t.client.shop.get_or_create("o1").send("orders", {"item": 1})
        await t.advance(days=31)
        assert (await t.workflow("shop", "o1")).status == "completed"

`test_engine` is the same as a context manager, for programs without pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rivetpy.testing.clock import ManualClock
    from rivetpy.testing.engine import Crashed, TestEngine, test_engine
    from rivetpy.testing.engines import Engines

__all__ = ["Crashed", "Engines", "ManualClock", "TestEngine", "test_engine"]

#: Loaded when first asked for: pytest imports this package in every run, also where no test is of an actor.
_LAZY = dict.fromkeys(("Crashed", "TestEngine", "test_engine"), "rivetpy.testing.engine") | {
    "Engines": "rivetpy.testing.engines",
    "ManualClock": "rivetpy.testing.clock",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'rivetpy.testing' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
