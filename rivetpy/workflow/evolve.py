"""removed, get_version: changing code under running workflows (spec workflows 10)."""

from __future__ import annotations

from rivetpy.workflow.entries import Entry, Kind, MessageEntry, Status, VersionEntry
from rivetpy.workflow.scope import Scope, verb

#: What a run that had passed a gate before the gate was written is held to.
FIRST_VERSION = 1

#: Kinds by the names people meet them under: in code and in the history.
_KINDS = {kind.replace("_", ""): kind for kind in Kind if kind is not Kind.ITERATION} | {
    "versioncheck": Kind.VERSION
}


@verb
async def removed(scope: Scope, name: str, original_type: str) -> None:
    """Stand where an entry was: a journal that has it still fits. Nothing is written."""
    kind = _KINDS.get(str(original_type).replace("_", "").lower())
    if kind is None:
        kinds = ", ".join(kind for kind in Kind if kind is not Kind.ITERATION)
        raise ValueError(f"removed {name!r}: original_type is one of {kinds}; not {original_type!r}")
    entry = scope.pass_by(kind, name)
    if entry is not None and not scope.run.dry:
        _let_go(scope, entry)


def _let_go(scope: Scope, entry: Entry) -> None:
    """What the code that was here received and did not complete may be received again."""
    journal = scope.run.journal
    gone = [entry, *journal.below(entry.location)]
    held = {m.id for each in gone if isinstance(each, MessageEntry) for m in each.unanswered}
    if held:
        scope.run.port.release(held - journal.unanswered(gone))


@verb
async def get_version(scope: Scope, name: str, latest: int) -> int:
    """The version this run is held to: recorded once, per scope.

    A run that has recorded something after this place in its scope had passed it under older code.
    """
    if isinstance(latest, bool) or not isinstance(latest, int) or latest < FIRST_VERSION:
        raise ValueError(f"get_version {name!r}: latest is a whole number from 1, not {latest!r}")
    entry = scope.pass_by(Kind.VERSION, name)
    if entry is None:
        passed = bool(scope.unvisited)
        if scope.run.dry:
            return FIRST_VERSION if passed else latest
        entry = scope.fresh(VersionEntry, name)
        entry.resolved, entry.latest = FIRST_VERSION if passed else latest, latest
        entry.finish(Status.COMPLETED, scope.run.port.clock.now())
        scope.run.journal.write(entry)  # decides nothing by itself, so it travels with what follows
    assert isinstance(entry, VersionEntry)
    if entry.resolved > latest:
        raise scope.diverged_at(entry, f"version {latest} at most", f"version {entry.resolved}")
    return entry.resolved
