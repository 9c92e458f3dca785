"""Many committers at once: order, atomicity, and nobody hurt by another's refusal or cancellation."""

from __future__ import annotations

import asyncio

import pytest

from rivetpy.errors import StoreError
from rivetpy.store import Batch, Listing, Store
from tests.contract.conftest import Place
from tests.support.rows import born, put, row


def test_a_hundred_actors_commit_side_by_side(place: Place) -> None:
    async def one(store: Store, actor: str) -> None:
        await store.commit(born(actor))
        for number in range(10):
            await store.commit(put(actor, **{f"k{number}": actor, "last": str(number)}))

    async def write(store: Store) -> None:
        await asyncio.gather(*(one(store, f"a{number}") for number in range(100)))

    async def read(store: Store) -> None:
        for number in range(100):
            actor = f"a{number}"
            expected = {f"k{n}".encode(): actor.encode() for n in range(10)} | {b"last": b"9"}
            assert await store.load(actor) == sorted(expected.items())

    place.run(write, read)


def test_of_many_who_want_one_key_exactly_one_gets_it(place: Place) -> None:
    async def scenario(store: Store) -> None:
        wishes = [Batch(f"a{n}", row=row(f"a{n}", key=("k",)), puts={b"k": b"v"}) for n in range(50)]
        results = await asyncio.gather(*map(store.commit, wishes), return_exceptions=True)
        refused = [error for error in results if error is not None]
        assert len(refused) == 49
        assert all(isinstance(error, StoreError) and error.code == "duplicate_key" for error in refused)
        winner = await store.find("default", "counter", ("k",))
        assert winner is not None
        assert await store.load(winner.id) == [(b"k", b"v")]
        assert len((await store.list(Listing("default", include_destroyed=True)))[0]) == 1

    place.run(scenario)


def test_batches_handed_in_at_once_take_effect_in_that_order(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await store.commit(born("a"))
        await asyncio.gather(
            *(store.commit(put("a", last=str(number), **{f"k{number}": ""})) for number in range(20)),
            store.commit(Batch("a", prefixes=[b"k"], puts={b"end": b""})),
        )
        assert await store.load("a") == [(b"end", b""), (b"last", b"19")]

    place.run(scenario)


def test_a_cancelled_caller_takes_nothing_back_and_harms_nobody(place: Place) -> None:
    async def write(store: Store) -> None:
        await store.commit(born("a"))
        tasks = [asyncio.ensure_future(store.commit(put("a", **{f"k{n}": str(n)}))) for n in range(9)]
        await asyncio.sleep(0)
        for task in tasks[::3]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(error is None or isinstance(error, asyncio.CancelledError) for error in results)
        assert [error for n, error in enumerate(results) if n % 3] == [None] * 6

    async def read(store: Store) -> None:
        assert await store.load("a") == [(f"k{n}".encode(), str(n).encode()) for n in range(9)]

    place.run(write, read)


def test_closing_finishes_what_was_handed_in(place: Place) -> None:
    async def write(store: Store) -> None:
        await store.commit(born("a"))
        waiting = [asyncio.ensure_future(store.commit(put("a", **{f"k{n}": "v"}))) for n in range(5)]
        await asyncio.sleep(0)
        await store.close()
        assert await asyncio.gather(*waiting) == [None] * 5

    async def read(store: Store) -> None:
        assert len(await store.load("a")) == 5

    place.run(write, read)


def test_reads_see_every_commit_that_returned(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await store.commit(born("a"))
        others = [asyncio.ensure_future(store.commit(born(f"b{n}", k="v"))) for n in range(20)]
        for number in range(20):
            await store.commit(put("a", k=str(number)))
            assert await store.load("a") == [(b"k", str(number).encode())]
        await asyncio.gather(*others)

    place.run(scenario)


@pytest.mark.parametrize("size", [1, 10])
def test_what_is_half_way_is_never_seen(place: Place, size: int) -> None:
    """Readers between commits see both halves of a batch or none."""

    async def write(store: Store, number: int) -> None:
        await store.commit(put("a", left=str(number), right=str(number)))

    async def scenario(store: Store) -> None:
        await store.commit(born("a", left="-", right="-"))
        writers = [asyncio.create_task(write(store, number)) for number in range(size)]
        while not all(writer.done() for writer in writers):
            (_, left), (_, right) = await store.load("a")
            assert left == right
            await asyncio.sleep(0)
        await asyncio.gather(*writers)

    place.run(scenario)


def test_others_run_while_a_commit_is_on_its_way(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await store.commit(born("a"))
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        for _ in range(5):
            await store.commit(put("a", k="v"))
        assert turns >= 5
        task.cancel()

    place.run(scenario)
