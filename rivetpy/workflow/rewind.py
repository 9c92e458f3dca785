"""rewind, recover: going back in a journal (spec workflows 12). Pure: changes a `Journal`, commits nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rivetpy.errors import RivetError, did_you_mean
from rivetpy.workflow import location as locations
from rivetpy.workflow.entries import (
    FRAMES,
    Branch,
    Entry,
    IterationEntry,
    JoinEntry,
    Kind,
    LoopEntry,
    Message,
    MessageEntry,
    RaceEntry,
    Status,
    StepEntry,
)
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.journal import Journal


@dataclass(frozen=True, slots=True)
class Plan:
    """What going back to an entry does."""

    #: The entries that go, in the order they were begun.
    removed: tuple[Entry, ...]
    #: The entries that stay but go back themselves: loops to an iteration, joins and races to unfinished branches.
    reopened: tuple[Entry, ...]
    #: What the removed queue waits had received: it goes back into the queue.
    messages: tuple[Message, ...]


def find(journal: Journal, place: str) -> Entry:
    """The entry at a place as people write it (``loop/~3/step``), or as it is stored.

    Raises RivetError ``workflow.entry_not_found``, naming the nearest.
    """
    known = {
        locations.readable(entry.location): entry for entry in journal if entry.kind is not Kind.ITERATION
    }
    entry = journal.at(place) or known.get(place)
    if entry is None or entry.kind is Kind.ITERATION:
        raise RivetError(
            "workflow", "entry_not_found", f"No entry at {place!r}. {did_you_mean(place, known)}", status=404
        )
    return entry


def plan(journal: Journal, target: Entry | None) -> Plan:
    """What going back to an entry means: it and every later one go (None: all of them).

    Raises RivetError ``workflow.rolled_back`` where steps that would stay were rolled back.
    """
    entries = [entry for entry in journal if entry.kind is not Kind.ITERATION]
    first = -1 if target is None else target.seq
    removed = [entry for entry in entries if entry.seq >= first]
    below = {place for entry in removed for place, _ in locations.ancestors(entry.location)}
    kept = [entry for entry in entries if entry.seq < first]
    undone = [entry for entry in kept if isinstance(entry, StepEntry) and entry.rolled_back_at is not None]
    if undone:
        raise RivetError(
            "workflow",
            "rolled_back",
            f"Step {undone[0].name!r}, which would stay, was rolled back. Rewind to before it, or from the start.",
            status=409,
        )
    return Plan(
        removed=tuple(removed),
        reopened=tuple(entry for entry in kept if entry.location in below),
        messages=tuple(m for entry in removed if isinstance(entry, MessageEntry) for m in entry.messages),
    )


def rewind(journal: Journal, going: Plan, now: int) -> None:
    """Carry a plan out."""
    for entry in going.reopened:
        _reopen(journal, entry, going.removed)
    for entry in going.removed:
        journal.remove(entry.location)
        if entry.kind in FRAMES:
            journal.drop_scope(entry.location)


def _reopen(journal: Journal, entry: Entry, removed: Iterable[Entry]) -> None:
    """Bring an entry that frames removed ones back to where they were about to begin."""
    entry.completed_at = None
    entry.status = Status.RUNNING
    if isinstance(entry, LoopEntry):
        _back_to_iteration(journal, entry, min(_iterations(entry, removed)))
    if isinstance(entry, JoinEntry | RaceEntry):
        entry.branches = {name: Branch() for name in entry.branches}
    if isinstance(entry, RaceEntry):
        entry.winner = None
    journal.write(entry)


def _iterations(entry: LoopEntry, removed: Iterable[Entry]) -> Iterable[int]:
    """The iterations of a loop that removed entries are in."""
    for gone in removed:
        for place, part in locations.ancestors(gone.location):
            if place == entry.location:
                yield int(part.removeprefix("~"))


def _back_to_iteration(journal: Journal, entry: LoopEntry, index: int) -> None:
    """The loop is at this iteration again, with the state it then carried."""
    past = journal.at(locations.iteration(entry.location, index))
    if isinstance(past, IterationEntry):
        entry.state = past.state
    for later in range(index, entry.iteration + 1):
        place = locations.iteration(entry.location, later)
        if journal.at(place) is not None:
            journal.remove(place)
    entry.iteration, entry.output = index, None


def recover(journal: Journal, failure: Failure) -> list[Message]:
    """Give the entries a failure comes from another chance, and forget what was done because they had failed.

    Returns the messages that what is forgotten had received.
    """
    failed = [entry for place in dict.fromkeys(failure.locations()) if (entry := _failed(journal, place))]
    messages: list[Message] = []
    for entry in failed:
        messages += _forget_after(journal, entry)
    for entry in failed:
        _reset(entry)
        journal.write(entry)
    return messages


def _failed(journal: Journal, place: str) -> Entry | None:
    entry = journal.at(place)
    return entry if entry is not None and entry.status in (Status.FAILED, Status.EXHAUSTED) else None


def _forget_after(journal: Journal, failed: Entry) -> list[Message]:
    """Remove what follows a failed entry in its own scope and those around it: code that ran because it failed.

    Sibling branches are no such code. Returns the messages that were received there.
    """
    scopes = {locations.ROOT, locations.split(failed.location)[0]}
    scopes |= {f"{place}/{part}" for place, part in locations.ancestors(failed.location)}
    later = [
        entry
        for entry in journal
        if entry.seq > failed.seq and entry.kind is not Kind.ITERATION
        if locations.split(entry.location)[0] in scopes
    ]
    messages = []
    for entry in later:
        below = [other for other in journal if other.location.startswith(entry.location + "/")]
        messages += [m for gone in (entry, *below) if isinstance(gone, MessageEntry) for m in gone.messages]
        journal.remove(entry.location)
        if entry.kind in FRAMES:
            journal.drop_scope(entry.location)
    return messages


def _reset(entry: Entry) -> None:
    """Bring a failed entry back to where it began."""
    entry.completed_at = None
    if isinstance(entry, StepEntry):
        entry.status, entry.attempts, entry.retry_at = Status.PENDING, 0, None
        entry.failure, entry.reason = None, None
    elif isinstance(entry, JoinEntry | RaceEntry):
        entry.status = Status.RUNNING
        for name, branch in entry.branches.items():
            if branch.status is Status.FAILED:
                entry.branches[name] = Branch()
