"""Rows: identity, listing, who is awake, who wants to be woken."""

from __future__ import annotations

import pytest

from rivetpy.errors import StoreError
from rivetpy.store import ActorRow, Batch, Listing, Store
from tests.contract.conftest import Place
from tests.support.rows import START, entries, row

KEYS: list[tuple[str, ...]] = [
    (),
    ("",),
    ("", ""),
    ("/",),
    ("a", "b"),
    ("a/b",),
    ("a\\", "b"),
    ("\\0",),
    ("0",),
    ("ä",),
    ("a\u0308",),
    ("A",),
    ("a",),
    ("nul\x00in it",),
    (" ",),
    ("😀", "\n"),
]


async def add(store: Store, *rows: ActorRow) -> None:
    for one in rows:
        await store.commit(Batch(one.id, row=one))


async def all_pages(store: Store, limit: int, name: str | None = None, destroyed: bool = False) -> list[str]:
    ids: list[str] = []
    cursor = None
    while True:
        page, cursor = await store.list(
            Listing("default", name, include_destroyed=destroyed, limit=limit, cursor=cursor)
        )
        assert len(page) == limit or cursor is None
        ids += [found.id for found in page]
        if cursor is None:
            return ids


def test_every_key_is_its_own_identity(place: Place) -> None:
    rows = [row(f"id{number}", key=key) for number, key in enumerate(KEYS)]

    async def write(store: Store) -> None:
        await add(store, *rows)

    async def read(store: Store) -> None:
        for expected in rows:
            assert await store.find("default", "counter", expected.key) == expected
            assert await store.get(expected.id) == expected

    place.run(write, read)


def test_namespaces_and_names_keep_equal_keys_apart(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await add(
            store,
            row("a", key=("k",)),
            row("b", key=("k",), name="other"),
            row("c", key=("k",), namespace="test"),
        )
        assert await store.find("default", "other", ("k",)) == row("b", key=("k",), name="other")
        assert await store.find("test", "counter", ("k",)) == row("c", key=("k",), namespace="test")
        assert await store.find("test", "other", ("k",)) is None
        assert await store.get("d") is None

    place.run(scenario)


def test_a_row_changes_in_place(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await add(store, row("a"), row("a", awake=False, alarm=START + 5))
        assert await store.get("a") == row("a", awake=False, alarm=START + 5)
        assert len((await store.list(Listing("default")))[0]) == 1

    place.run(scenario)


def test_a_destroyed_actor_frees_its_key_and_stays_readable(place: Place) -> None:
    gone = row("a", key=("k",), awake=False, destroyed_at=START + 9)

    async def write(store: Store) -> None:
        await add(store, row("a", key=("k",)))
        await store.commit(Batch("a", clear=True, row=gone))
        assert await store.find("default", "counter", ("k",)) is None
        await add(store, row("b", key=("k",)))

    async def read(store: Store) -> None:
        assert await store.get("a") == gone
        assert await store.find("default", "counter", ("k",)) == row("b", key=("k",))
        assert await all_pages(store, 10) == ["b"]
        assert await all_pages(store, 10, destroyed=True) == ["b", "a"]
        assert await store.load("a") == []

    place.run(write, read)


def test_a_destroyed_actor_is_neither_awake_nor_asleep(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await add(store, row("a"), row("a", destroyed_at=START))
        await add(store, row("b", awake=False, alarm=3), row("b", awake=False, alarm=3, destroyed_at=START))
        assert await store.awake() == []
        assert await store.due(10, 10) == []
        assert await store.next_alarm() is None

    place.run(scenario)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_are_newest_first_and_hold_everyone_once(place: Place, limit: int) -> None:
    times = [5, 5, 1, 9, 5, 9, 2]  # ties, and a clock that went backwards
    rows = [
        row(f"id{number}", created_at=START + time, name="odd" if number % 2 else "even")
        for number, time in enumerate(times)
    ]
    newest = [f"id{number}" for number in sorted(range(7), key=lambda n: (times[n], n), reverse=True)]

    async def scenario(store: Store) -> None:
        await add(store, *rows, row("elsewhere", namespace="test"))
        assert await all_pages(store, limit) == newest
        assert await all_pages(store, limit, "odd") == [id for id in newest if int(id[2:]) % 2]
        assert await all_pages(store, limit, "none of it") == []

    place.run(scenario)


def test_a_page_stays_where_it_was_when_newer_actors_come(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await add(store, *(row(f"id{number}", created_at=START + number) for number in range(4)))
        first, cursor = await store.list(Listing("default", limit=2))
        await add(store, row("new", created_at=START + 50))
        await add(store, row("id1", created_at=START + 1, destroyed_at=START + 60))
        second, end = await store.list(Listing("default", limit=2, cursor=cursor))
        assert [found.id for found in [*first, *second]] == ["id3", "id2", "id0"]
        assert end is None

    place.run(scenario)


@pytest.mark.parametrize(
    "cursor", ["", "x", "1", "1.", ".1", "1.2.3", "1.2 ", "9" * 40 + ".1", "\u0661.\u0662", "1_0.1"]
)
def test_a_made_up_cursor_is_refused(place: Place, cursor: str) -> None:
    async def scenario(store: Store) -> None:
        with pytest.raises(StoreError) as refused:
            await store.list(Listing("default", cursor=cursor))
        assert refused.value.code == "invalid_cursor"

    place.run(scenario)


def test_the_awake_ones_are_known_after_reopening(place: Place) -> None:
    async def write(store: Store) -> None:
        await add(store, row("b"), row("a"), row("c", awake=False))
        await add(store, row("b", awake=False))

    async def read(store: Store) -> None:
        assert await store.awake() == ["a"]

    place.run(write, read)


def test_alarms_of_sleeping_actors_come_earliest_first(place: Place) -> None:
    year_9999 = 253_402_300_799_999

    async def write(store: Store) -> None:
        assert await store.next_alarm() is None
        await add(store, row("far", awake=False, alarm=year_9999), row("two", awake=False, alarm=2))
        await add(store, row("never", awake=False), row("one", awake=False, alarm=1))
        await add(store, row("awake", alarm=0))

    async def read(store: Store) -> None:
        assert await store.next_alarm() == 1
        assert await store.due(0, 10) == []
        assert await store.due(2, 10) == ["one", "two"]
        assert await store.due(2, 1) == ["one"]
        await add(store, row("one", awake=True, alarm=1), row("two", awake=False, alarm=None))
        assert await store.due(3, 10) == []
        assert await store.next_alarm() == year_9999

    place.run(write, read)


def test_a_duplicate_is_judged_against_what_the_same_group_did_before(place: Place) -> None:
    async def scenario(store: Store) -> None:
        await add(store, row("old", key=("k",)))
        await store.commit(Batch("old", row=row("old", key=("k",), destroyed_at=START)))
        await store.commit(Batch("new", row=row("new", key=("k",)), puts=entries(k="1")))
        with pytest.raises(StoreError) as refused:
            await store.commit(Batch("third", row=row("third", key=("k",))))
        assert refused.value.code == "duplicate_key"
        found = await store.find("default", "counter", ("k",))
        assert found is not None and found.id == "new"

    place.run(scenario)
