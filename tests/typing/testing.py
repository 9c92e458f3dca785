"""A test of an actor as users write it with types."""

from __future__ import annotations

from typing import assert_type

from rivetpy import setup
from rivetpy.testing import Engines, TestEngine, test_engine

registry = setup(use={})


async def test_it(rivet_engine: Engines) -> None:
    t = await rivet_engine(registry, strict_replay=True)
    assert_type(t, TestEngine)
    async with test_engine(registry) as other:
        assert_type(other, TestEngine)
