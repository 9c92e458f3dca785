"""The store that dies on demand: what the crash tests stand on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rivetpy.errors import StoreError
from rivetpy.store import Listing
from rivetpy.store.faulty import Died, FaultyStore
from rivetpy.store.memory import MemoryStore
from tests.support.rows import born, put


def run(scenario: Callable[[MemoryStore], Awaitable[None]]) -> None:
    async def start() -> None:
        inner = MemoryStore()
        await inner.commit(born("a"))
        await scenario(inner)

    asyncio.run(start())


async def asked(store: FaultyStore) -> list[Awaitable[object]]:
    return [
        store.get("a"),
        store.find("default", "counter", ("a",)),
        store.list(Listing("default")),
        store.load("a"),
        store.commit(put("a", late="v")),
        store.awake(),
        store.due(0, 1),
        store.next_alarm(),
    ]


@pytest.mark.parametrize(("before", "kept"), [(True, [b"k1"]), (False, [b"k1", b"k2"])])
def test_it_dies_before_or_after_a_commit_and_stays_dead(before: bool, kept: list[bytes]) -> None:
    async def scenario(inner: MemoryStore) -> None:
        store = FaultyStore(inner, **{"die_before" if before else "die_after": 2})
        await store.commit(put("a", k1="v"))
        with pytest.raises(Died):
            await store.commit(put("a", k2="v"))
        for question in await asked(store):
            with pytest.raises(Died):
                await question
        await store.close()
        assert store.commits == 2
        assert [key for key, _ in await inner.load("a")] == kept

    run(scenario)


def test_those_on_their_way_when_it_dies_never_hear_of_it() -> None:
    async def scenario(inner: MemoryStore) -> None:
        store = FaultyStore(inner, die_after=2)
        results = await asyncio.gather(
            *(store.commit(put("a", **{f"k{number}": "v"})) for number in range(3)), return_exceptions=True
        )
        assert [type(result) for result in results][1:] == [Died, Died]

    run(scenario)


def test_a_refused_commit_is_one_the_store_survives() -> None:
    async def scenario(inner: MemoryStore) -> None:
        store = FaultyStore(inner, refuse={1})
        with pytest.raises(StoreError) as refused:
            await store.commit(put("a", k1="v"))
        assert refused.value.code == "disk_full"
        await store.commit(put("a", k2="v"))
        assert [key for key, _ in await store.load("a")] == [b"k2"]
        assert store.commits == 2

    run(scenario)


def test_what_is_handed_in_before_a_refusal_is_heard_is_refused_too() -> None:
    async def scenario(inner: MemoryStore) -> None:
        store = FaultyStore(inner, refuse={1})
        first = store.commit(put("a", k1="v"))
        await asyncio.sleep(0)  # it is refused now, and nobody heard
        results = await asyncio.gather(first, store.commit(put("a", k2="v")), return_exceptions=True)
        assert [getattr(result, "code", None) for result in results] == ["disk_full"] * 2
        assert await store.load("a") == []

    run(scenario)


def test_death_is_not_an_exception_that_user_code_catches() -> None:
    assert not issubclass(Died, Exception)
