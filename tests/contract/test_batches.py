"""What a batch does to the entries of its actor, all at once and for good."""

from __future__ import annotations

import asyncio

import pytest

from rivetpy.errors import StoreError
from rivetpy.store import Batch, Store
from tests.contract.conftest import Place
from tests.support.rows import born, entries, put, row


def test_entries_come_back_sorted_and_survive_reopening(place: Place) -> None:
    awkward = {b"\x00": b"", b"a/b": b"\xff\x00", b"a": b"1", b"\xff\xff": b"last", b"": b"empty key"}

    async def write(store: Store) -> None:
        await store.commit(Batch("a", row=row("a"), puts=awkward))
        assert await store.load("a") == sorted(awkward.items())

    async def read(store: Store) -> None:
        assert await store.load("a") == sorted(awkward.items())
        assert await store.get("a") == row("a")

    place.run(write, read)


def test_a_put_replaces_and_a_large_value_is_kept(place: Place) -> None:
    large = bytes(range(256)) * 8192  # 2 MiB

    async def scenario(store: Store) -> None:
        await store.commit(born("a", k="one"))
        await store.commit(Batch("a", puts={b"k": large}))
        assert await store.load("a") == [(b"k", large)]

    place.run(scenario)


def test_actors_do_not_see_each_others_entries(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await store.commit(born("a", k="of a"))
        await store.commit(born("b", k="of b"))
        await store.commit(Batch("a", clear=True))
        assert await store.load("a") == []
        assert await store.load("b") == [(b"k", b"of b")]
        assert await store.load("nobody") == []

    place.run(scenario)


def test_the_order_in_a_batch_is_clear_prefixes_deletes_puts(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await store.commit(born("a", ja="1", jab="2", jb="3", k="4"))
        everything = Batch("a", clear=True, prefixes=[b"ja"], deletes=[b"jb"], puts=entries(ja="5", jb="6"))
        await store.commit(everything)
        assert await store.load("a") == [(b"ja", b"5"), (b"jb", b"6")]

    place.run(scenario)


@pytest.mark.parametrize(
    ("prefix", "left"),
    [
        (b"ja", [b"", b"j", b"jb", b"k", b"\xff", b"\xff\xff", b"\xff\xffz"]),
        (b"\xff", [b"", b"j", b"ja", b"jab", b"ja\xff", b"jb", b"k"]),
        (b"\xff\xff", [b"", b"j", b"ja", b"jab", b"ja\xff", b"jb", b"k", b"\xff"]),
        (b"ja\xff", [b"", b"j", b"ja", b"jab", b"jb", b"k", b"\xff", b"\xff\xff", b"\xff\xffz"]),
        (b"", []),
        (b"x", [b"", b"j", b"ja", b"jab", b"ja\xff", b"jb", b"k", b"\xff", b"\xff\xff", b"\xff\xffz"]),
    ],
)
def test_a_prefix_takes_exactly_what_begins_with_it(place: Place, prefix: bytes, left: list[bytes]) -> None:
    keys = [b"", b"j", b"ja", b"jab", b"ja\xff", b"jb", b"k", b"\xff", b"\xff\xff", b"\xff\xffz"]

    async def scenario(store: Store) -> None:
        await store.commit(Batch("a", row=row("a"), puts=dict.fromkeys(keys, b"v")))
        await store.commit(Batch("b", row=row("b"), puts=dict.fromkeys(keys, b"v")))
        await store.commit(Batch("a", prefixes=[prefix]))
        assert [key for key, _ in await store.load("a")] == sorted(left)
        assert len(await store.load("b")) == len(keys)

    place.run(scenario)


def test_deleting_what_is_not_there_is_fine(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await store.commit(born("a", k="1"))
        await store.commit(Batch("a", deletes=[b"nothing", b"k", b"k"], prefixes=[b"none"]))
        assert await store.load("a") == []

    place.run(scenario)


def test_an_empty_batch_commits(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await store.commit(born("a", k="1"))
        await store.commit(Batch("a"))
        assert await store.load("a") == [(b"k", b"1")]

    place.run(scenario)


def test_a_refused_batch_leaves_nothing_behind(place: Place) -> None:
    async def write(store: Store) -> None:
        await store.commit(born("a"))
        with pytest.raises(StoreError) as refused:
            await store.commit(Batch("b", row=row("b", key=("a",)), puts=entries(k="1")))
        assert refused.value.code == "duplicate_key"
        assert "actor a" in refused.value.message

    async def read(store: Store) -> None:
        assert await store.get("b") is None
        assert await store.load("b") == []

    place.run(write, read)


def test_what_was_handed_in_behind_a_refused_batch_goes_with_it(place: Place) -> None:
    """It was made on top of the other: stored alone, it would be a state without the record of its step."""

    async def scenario(store: Store) -> None:
        await store.commit(born("other"))
        handed_in = [put("nobody", k="1"), born("nobody", k="2"), put("other", k="1"), put("nobody", k="3")]
        results = await asyncio.gather(*map(store.commit, handed_in), return_exceptions=True)
        codes = [error.code if isinstance(error, StoreError) else None for error in results]
        assert codes == ["unknown_actor", "unknown_actor", None, "unknown_actor"]
        assert await store.load("nobody") == []
        assert await store.load("other") == [(b"k", b"1")]
        await store.commit(born("nobody", k="4"))  # whoever has heard may begin again
        assert await store.load("nobody") == [(b"k", b"4")]

    place.run(scenario)


def test_an_actor_without_a_row_stores_nothing(place: Place) -> None:
    async def scenario(store: Store) -> None:
        with pytest.raises(StoreError) as refused:
            await store.commit(put("nobody", k="1"))
        assert refused.value.code == "unknown_actor"
        await store.commit(born("nobody"))
        assert await store.load("nobody") == []

    place.run(scenario)


def test_many_entries_of_one_batch(place: Place) -> None:
    puts = {f"j{number:05}".encode(): b"v" * 10 for number in range(5000)}

    async def scenario(store: Store) -> None:
        await store.commit(Batch("a", row=row("a"), puts=puts))
        assert await store.load("a") == list(puts.items())
        await store.commit(Batch("a", deletes=list(puts)[:4999]))
        assert await store.load("a") == [(b"j04999", b"v" * 10)]

    place.run(scenario)
