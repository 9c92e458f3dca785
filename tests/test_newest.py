"""The newest entries of a long journal: which ones they are, and that the others are not read for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivetpy.codec import encode
from rivetpy.engine.inspector.journal import choose, lines_of, size_of
from rivetpy.errors import StoreError
from rivetpy.host import offline
from rivetpy.host.record import WorkflowRecord
from rivetpy.workflow import entries, layout
from rivetpy.workflow.entries import Entry, IterationEntry, LoopEntry, Status, StepEntry
from tests.support.rows import row


def journal(count: int) -> list[Entry]:
    """A loop that kept all its iterations, beside a step that has been waiting to be tried again since the first."""
    found: list[Entry] = [LoopEntry("main", 0, Status.RUNNING, 1), StepEntry("old", 1, Status.PENDING, 1)]
    for n in range(count):
        found.append(IterationEntry(f"main/~{n}", 10_000_000 + n, Status.COMPLETED, 1, state=encode(n)))
        found.append(
            StepEntry(f"main/~{n}/a", n + 2, Status.COMPLETED, n, n + 1, attempts=1, output=encode(n))
        )
    return found


def rows(found: list[Entry]) -> list[tuple[bytes, bytes]]:
    stored = [(layout.entry_key(entry.location), entries.pack(entry)) for entry in found]
    return sorted([*stored, (layout.WORKFLOW, WorkflowRecord().pack())])


@pytest.mark.parametrize("limit", [0, 1, 3, 9, 10, 11, 12, 99])
def test_a_sleeping_actor_shows_the_same_newest_entries_as_one_in_memory(limit: int) -> None:
    whole = offline.view_rows(row("a"), rows(journal(9))).workflow
    part = offline.view_rows(row("a"), rows(journal(9)), limit).workflow
    assert whole is not None and part is not None
    assert choose(lines_of(part), limit, None) == choose(lines_of(whole), limit, None)
    assert size_of(part) == size_of(whole) == 11


def test_what_the_newest_are_in_and_what_is_not_finished_come_with_them() -> None:
    shown = choose(lines_of_view(2), 1, None)
    assert [entry.location for entry in shown] == ["main", "old", "main/~1/a"]
    assert [entry.location for entry in choose(lines_of_view(2), 1, since=99)] == ["main", "old"]


def lines_of_view(count: int) -> list[Entry]:
    seen = offline.view_rows(row("a"), rows(journal(count))).workflow
    assert seen is not None
    return lines_of(seen)


def test_the_others_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    stored, unpacked = rows(journal(5_000)), []
    real = entries.unpack
    monkeypatch.setattr(entries, "unpack", lambda *args: unpacked.append(args) or real(*args))
    offline.view_rows(row("a"), stored, 100)
    assert len(unpacked) == 102


@given(st.sampled_from(journal(1)))
def test_a_peek_tells_what_unpacking_tells(entry: Entry) -> None:
    packed = entries.peek(entry.location, entries.pack(entry))
    assert (packed.seq, packed.location, packed.kind, packed.finished) == (
        *(entry.seq, entry.location, entry.kind, entry.finished),
    )


def test_a_peek_at_what_is_damaged_says_so() -> None:
    with pytest.raises(StoreError, match=r"'a' can't be read"):
        entries.peek("a", b"\xc1")
