"""The recorded entries of one workflow, in memory, and the changes that have not been committed yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from rivetpy.store import Batch
from rivetpy.workflow import entries, layout
from rivetpy.workflow.entries import CheckpointEntry, Entry, MessageEntry, StepEntry
from rivetpy.workflow.location import split


class Journal:
    """Entries by scope and name. The only writer of an actor's journal rows."""

    def __init__(self, actor: str, rows: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.actor = actor
        self._scopes: dict[str, dict[str, Entry]] = {}
        self._puts: dict[bytes, bytes] = {}
        self._deletes: list[bytes] = []
        self._prefixes: list[bytes] = []
        self._seq = 0
        for key, data in rows:
            entry = entries.unpack(key[len(layout.JOURNAL) :].decode(), data)
            self._seq = max(self._seq, _last_number(entry) + 1)
            self._keep(entry)

    def __iter__(self) -> Iterator[Entry]:
        """All entries, in the order they were begun."""
        return iter(sorted((e for scope in self._scopes.values() for e in scope.values()), key=_by_seq))

    def scope(self, location: str) -> dict[str, Entry]:
        """The entries of a scope by name segment; grows as entries are written."""
        return self._scopes.setdefault(location, {})

    def at(self, location: str) -> Entry | None:
        """The entry at a location."""
        scope, part = split(location)
        return self._scopes.get(scope, {}).get(part)

    def has(self, entry: Entry) -> bool:
        """Whether the entry was ever written, committed or not."""
        return self.at(entry.location) is entry

    def next_seq(self) -> int:
        """The number of the next entry."""
        self._seq += 1
        return self._seq - 1

    def write(self, entry: Entry) -> None:
        """Take the entry into the next commit."""
        self._keep(entry)
        self._puts[layout.entry_key(entry.location)] = entries.pack(entry)

    @property
    def undoable(self) -> bool:
        """Whether there may be steps to roll back."""
        return any(
            isinstance(e, CheckpointEntry) or (isinstance(e, StepEntry) and e.done is not None) for e in self
        )

    def below(self, scope: str) -> list[Entry]:
        """The entries anywhere in a scope, in the order they were begun."""
        return [entry for entry in self if entry.location.startswith(scope + "/")]

    def unanswered(self, without: Collection[Entry] = ()) -> set[int]:
        """Ids of the messages that were received and wait to be completed: theirs is no one else's.

        Not counting what the entries ``without`` received.
        """
        passed = {entry.location for entry in without}
        return {
            message.id
            for entry in self
            if isinstance(entry, MessageEntry) and entry.location not in passed
            for message in entry.unanswered
        }

    def put(self, rows: dict[bytes, bytes]) -> None:
        """Take other rows of the actor into the next commit."""
        self._puts |= rows

    def delete(self, keys: list[bytes]) -> None:
        """Take the deletion of other rows of the actor into the next commit."""
        self._deletes += keys

    def drop_scope(self, location: str) -> None:
        """Take the deletion of a scope, and what is recorded of the scope itself, into the next commit."""
        below = location + "/"
        for scope in [name for name in self._scopes if name == location or name.startswith(below)]:
            del self._scopes[scope]
        prefix = layout.entry_key(below)
        for key in [key for key in self._puts if key.startswith(prefix)]:
            del self._puts[key]
        self._prefixes.append(prefix)
        if self.at(location) is not None:
            self.remove(location)

    def remove(self, location: str) -> None:
        """Take the deletion of one entry into the next commit."""
        scope, part = split(location)
        self._scopes.get(scope, {}).pop(part, None)
        self._puts.pop(layout.entry_key(location), None)
        self._deletes.append(layout.entry_key(location))

    @property
    def uncommitted(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self._puts or self._prefixes or self._deletes)

    def take(self) -> Batch:
        """The changes since the last take, to be committed as one."""
        batch = Batch(self.actor, puts=self._puts, deletes=self._deletes, prefixes=self._prefixes)
        self._puts, self._deletes, self._prefixes = {}, [], []
        return batch

    def put_back(self, batch: Batch) -> None:
        """A batch that was taken could not be committed: its changes go into the next one."""
        gone, below = set(self._deletes), tuple(self._prefixes)
        kept = {
            key: data for key, data in batch.puts.items() if key not in gone and not key.startswith(below)
        }
        self._puts = kept | self._puts
        self._deletes = batch.deletes + self._deletes
        self._prefixes = batch.prefixes + self._prefixes

    def _keep(self, entry: Entry) -> None:
        scope, part = split(entry.location)
        self.scope(scope)[part] = entry


def _by_seq(entry: Entry) -> int:
    return entry.seq


def _last_number(entry: Entry) -> int:
    """The last number an entry was given: a step that can be rolled back has one for its completion too."""
    done = entry.done if isinstance(entry, StepEntry) else None
    return entry.seq if done is None else done
