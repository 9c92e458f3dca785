"""Checking recorded journals against the registry's code as it is now; nothing is run or written."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rivetpy.cli.checking import Checked, check_journal
from rivetpy.cli.loading import load_registry
from rivetpy.cli.offline import Journaled, Offline
from rivetpy.cli.problems import Problem
from rivetpy.cli.sending import read_input
from rivetpy.cli.shared import Common
from rivetpy.cli.source import find_data, namespace_of, require
from rivetpy.cli.text import json_text, visible
from rivetpy.config import RegistryError, RegistryRef, find_registry
from rivetpy.host import archive
from rivetpy.host.replay import Fit
from rivetpy.store import ActorRow

if TYPE_CHECKING:
    from rich.text import Text

    from rivetpy.registry import Registry


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to check: one actor (name and key), all of a name (no key), or everything; and how to tell it."""

    name: str | None
    key: str | None
    registry: str | None
    #: Whether to check failed ones too; who names one actor wants to know about that one.
    failed: bool
    as_json: bool
    #: An exported actor to check instead of those in the data directory.
    file: str | None = None

    @property
    def one(self) -> bool:
        """Whether one actor was named."""
        return self.key is not None or self.file is not None


def replay_journals(common: Common, wanted: Wanted) -> None:
    """Check and tell. Raises Problem when the code does not fit some journal, or can't be loaded."""
    ref = _find(wanted.registry)
    counts: Counter[str] = Counter()
    bad = 0
    with _opened(common, wanted, ref) as journals:
        with contextlib.redirect_stdout(sys.stderr):  # what the user's code prints is not an answer
            registry = _load(ref)
        for journaled in journals:
            with contextlib.redirect_stdout(sys.stderr):
                checked = asyncio.run(check_journal(registry, journaled, wanted.failed))
            counts[checked.status] += 1
            bad += not checked.good
            _show(checked, wanted, common)
    _sum_up(counts, wanted)
    if bad:
        all_of = sum(counts.values())
        raise Problem(
            f"{bad} of {all_of} can't go on with {ref.path.name} as it is"
            if all_of > 1
            else f"It can't go on with {ref.path.name} as it is"
        )


def _find(named: str | None) -> RegistryRef:
    try:
        return find_registry(named, Path.cwd())
    except RegistryError as error:
        if named is not None:
            raise Problem(error.message) from None
        raise Problem("There is no registry.py here to check against. Name it: --registry FILE") from None


def _load(ref: RegistryRef) -> Registry:
    try:
        return load_registry(ref)
    except RegistryError as error:
        raise Problem(error.message, error.traceback) from None


@contextlib.contextmanager
def _opened(common: Common, wanted: Wanted, ref: RegistryRef) -> Iterator[Iterable[Journaled]]:
    """The journals to check; what is named and not there is found before any code is imported."""
    if wanted.file is not None:
        yield [_read(wanted.file)]
        return
    with contextlib.closing(Offline(find_data(common, ref), namespace_of(common))) as offline:
        yield list(_chosen(offline, wanted)) if wanted.one else _chosen(offline, wanted)


def _read(file: str) -> Journaled:
    actor = archive.unpack(read_input(file))
    return Journaled(ActorRow(actor.id, "", actor.name, actor.key, actor.created_at), actor.rows)


def _chosen(offline: Offline, wanted: Wanted) -> Iterator[Journaled]:
    if wanted.key is None or wanted.name is None:
        yield from offline.journals(wanted.name)
    else:
        yield offline.journal(require(offline, wanted.name, wanted.key)["actor_id"])


def _show(checked: Checked, wanted: Wanted, common: Common) -> None:
    """An object for each; for people only what needs a look, unless they asked about one."""
    if wanted.as_json:
        print(json_text(checked.as_json()), flush=True)
    elif not checked.good or wanted.one:
        from rivetpy.cli.terminal import show, width

        show(_lines(checked, width()), common.color)


def _lines(checked: Checked, width: int) -> Iterator[Text]:
    from rich.text import Text

    from rivetpy.cli.render_divergence import divergence
    from rivetpy.cli.terminal import wrap

    status = checked.status.replace("_", " ")
    who = visible(f"{checked.name} {checked.key}")
    size = f", {checked.entries} entries" if checked.good and checked.entries else ""
    yield Text.assemble((who, "bold"), " ", (status, "green" if checked.good else "red"), size)
    if checked.expected is not None:
        yield from divergence(checked.as_json(), width)
    elif checked.error is not None:
        yield from (Text(line, "red") for line in wrap(checked.error, width, "  "))


def _sum_up(counts: Counter[str], wanted: Wanted) -> None:
    """How many were checked; beside the answers when those are for a program."""
    if wanted.one:
        return
    by_status = ", ".join(
        f"{count} {status.replace('_', ' ')}" for status, count in sorted(counts.items(), reverse=True)
    )
    total = sum(counts.values())
    text = f"{total} checked" + (f": {by_status}" if total else ", there are no actors")
    if counts[Fit.FAILED]:
        text += " (not looked at; --failed checks them too)"
    print(text, file=sys.stderr if wanted.as_json else sys.stdout)
