"""Journal entries as stored: every kind in every state comes back, and looks the same for ever."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivetpy import codec
from rivetpy.errors import RivetError, StoreError
from rivetpy.workflow import entries
from rivetpy.workflow.entries import (
    ENTRY_TYPES,
    FINISHED,
    TRANSITIONS,
    Entry,
    Kind,
    LoopEntry,
    Message,
    MessageEntry,
    SleepEntry,
    Status,
    StepEntry,
)
from rivetpy.workflow.failure import Failure, failure_of

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
counts = st.integers(0, 2**63 - 1)
times = st.integers(0, 253_402_300_799_999)
body = st.one_of(st.none(), st.integers(), text, st.lists(text, max_size=2)).map(codec.encode)
failures = st.deferred(
    lambda: st.builds(
        Failure,
        type=text,
        module=text,
        message=text,
        group=st.none() | text,
        code=st.none() | text,
        metadata=st.none() | st.dictionaries(text, st.integers(), max_size=2),
        traceback=text,
        causes=st.lists(failures, max_size=2).map(tuple),
    )
)
message = st.builds(
    Message, id=counts, queue=text, body=body, created_at=times, idempotency_key=st.none() | text
)
common: dict[str, Any] = {
    "location": text,
    "seq": counts,
    "status": st.sampled_from(Status),
    "created_at": times,
    "completed_at": st.none() | times,
}
every_entry = st.one_of(
    st.builds(
        StepEntry,
        **common,
        attempts=counts,
        started_at=st.none() | times,
        retry_at=st.none() | times,
        output=st.none() | body,
        failure=st.none() | failures,
        reason=st.none() | st.sampled_from(["critical", "timeout", "exhausted", "rollback"]),
    ),
    st.builds(
        LoopEntry,
        **common,
        iteration=counts,
        state=st.none() | body,
        first=counts,
        output=st.none() | body,
    ),
    st.builds(SleepEntry, **common, deadline=times),
    st.builds(
        MessageEntry,
        **common,
        queues=st.none() | st.lists(text, max_size=3),
        deadline=st.none() | times,
        completable=st.booleans(),
        messages=st.lists(message, max_size=3),
        completed=st.lists(counts, max_size=3),
    ),
)


@settings(max_examples=150, deadline=None, database=None)
@given(every_entry)
def test_every_entry_comes_back(entry: Entry) -> None:
    again = entries.unpack(entry.location, entries.pack(entry))
    assert again == entry
    assert [type(getattr(again, f.name)) for f in fields(entry)] == [
        type(getattr(entry, f.name)) for f in fields(entry)
    ]


def test_every_kind_has_a_type_and_a_table() -> None:
    assert set(ENTRY_TYPES) == set(TRANSITIONS) == set(Kind)
    for kind, entry_type in ENTRY_TYPES.items():
        assert entry_type.kind is kind


@pytest.mark.parametrize("kind", Kind)
def test_a_finished_entry_never_changes_again(kind: Kind) -> None:
    table = TRANSITIONS[kind]
    assert not FINISHED & {status for status in table if status}
    reachable = set().union(*table.values())
    assert reachable & FINISHED, "every kind can finish"
    assert reachable - FINISHED <= set(table), "nothing is a dead end but the finished ones"


GOLDEN: list[tuple[Entry, str]] = [
    (
        StepEntry("a", 1, Status.COMPLETED, 10, 20, attempts=1, started_at=11, output=b"\x01\xc0"),
        "9c01a47374657001a9636f6d706c657465640a14010bc0c40201c0c0c0",
    ),
    (
        StepEntry("b", 2, Status.PENDING, 10, attempts=1, retry_at=99, failure=Failure("E", "m", "no")),
        "9c01a47374657002a770656e64696e670ac001c063c098a145a16da26e6fc0c0c40201c0a090c0",
    ),
    (
        LoopEntry("c", 3, Status.RUNNING, 10, iteration=7, state=b"\x01\x05", first=5),
        "9a01a46c6f6f7003a772756e6e696e670ac007c402010505c0",
    ),
    (
        SleepEntry("d", 4, Status.INTERRUPTED, 10, 20, deadline=1_700_000_000_000),
        "9701a5736c65657004ab696e7465727275707465640a14cf0000018bcfe56800",
    ),
    (
        MessageEntry(
            "e",
            5,
            Status.COMPLETED,
            10,
            20,
            queues=["q"],
            completable=True,
            messages=[Message(1, "q", b"\x01\xc3", 9, "k")],
            completed=[1],
        ),
        "9b01a76d65737361676505a9636f6d706c657465640a1491a171c0c3919501a171c40201c309a16b9101",
    ),
]


@pytest.mark.parametrize(("entry", "stored"), GOLDEN, ids=[entry.kind for entry, _ in GOLDEN])
def test_stored_entries_look_like_this_for_ever(entry: Entry, stored: str) -> None:
    assert entries.pack(entry).hex() == stored
    assert entries.unpack(entry.location, bytes.fromhex(stored)) == entry


@pytest.mark.parametrize(
    "stored", [[2, "step"], [2, {"new": "shape"}], [1, "knot", 1], [1, "", 1], [1, "sleep", *range(9)]]
)
def test_a_newer_form_is_refused_with_its_place(stored: list[object]) -> None:
    with pytest.raises(StoreError, match="'the/place'") as refused:
        entries.unpack("the/place", msgpack.packb(stored))
    assert refused.value.code == "newer_format"


@pytest.mark.parametrize("stored", [b"", b"\xc1", b"\xc0", b"\x90", b"\x9c\x01"])
def test_a_damaged_entry_is_refused_with_its_place(stored: bytes) -> None:
    with pytest.raises(StoreError, match="'the/place'") as refused:
        entries.unpack("the/place", stored)
    assert refused.value.code == "damaged"


class Awkward(Exception):
    """Everything about it is hard to record."""

    def __init__(self, one: object, two: object) -> None:
        super().__init__()

    def __str__(self) -> str:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "error",
    [
        Awkward(1, 2),
        RivetError("user", "\ud800", "\ud800", metadata={"x": Awkward(1, 2)}),
        RivetError("user", 5, "m", metadata=float("nan")),  # type: ignore[arg-type]
        ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [KeyError("b"), Awkward(1, 2)])]),
    ],
    ids=["awkward", "surrogates", "types", "group"],
)
def test_any_exception_can_be_recorded(error: Exception) -> None:
    entry = StepEntry("s", 1, Status.FAILED, 1, failure=failure_of(error))
    assert entries.unpack("s", entries.pack(entry)) == entry
