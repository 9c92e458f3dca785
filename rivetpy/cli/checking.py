"""One recorded journal against the registry's code as it is now; nothing is run or written."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rivetpy.cli.offline import Journaled
from rivetpy.errors import StoreError, did_you_mean
from rivetpy.host.replay import Fit, ReplayReport, check_replay
from rivetpy.identity import format_key
from rivetpy.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from rivetpy.registry import Registry

#: Seconds that the code between two verbs may take; it has nothing to wait for.
PATIENCE = 10.0
#: The status of code that took longer.
STUCK = "stuck"


@dataclass(frozen=True, slots=True)
class Checked:
    """How one actor's journal and the code go together; ``status`` is fits, ended, failed (not looked at),
    no_workflow, or a problem.
    """

    name: str
    key: str
    actor_id: str
    status: str
    entries: int = 0
    location: str | None = None
    expected: str | None = None
    found: str | None = None
    site: str | None = None
    around: tuple[JsonObject, ...] = ()
    error: str | None = None

    @property
    def good(self) -> bool:
        """Whether this code can be run over this journal."""
        return self.status in set(Fit) - {Fit.DIVERGED}

    def as_json(self) -> JsonObject:
        """What `--json` prints."""
        told = asdict(self)
        return {("actorId" if name == "actor_id" else name): value for name, value in told.items()}


async def check_journal(
    registry: Registry, journaled: Journaled, failed: bool = False, patience: float | None = None
) -> Checked:
    """Check one actor's journal; ``failed``: also that of one that failed; ``patience`` instead of `PATIENCE`."""
    patience = PATIENCE if patience is None else patience
    row = journaled.row
    who = (row.name, format_key(row.key), row.id)
    definition = registry.actors.get(row.name)
    if definition is None:
        if not journaled.goes_on:
            return Checked(*who, Fit.ENDED if journaled.has_workflow else Fit.NO_WORKFLOW)
        nearest = did_you_mean(row.name, registry.actors)
        return Checked(*who, "not_in_registry", error=f"The registry has no actor {row.name!r}. {nearest}")
    try:
        async with asyncio.timeout(patience):
            return _reported(who, await check_replay(definition, row, journaled.rows, failed=failed))
    except StoreError as error:
        return Checked(*who, "unreadable", error=error.message)
    except TimeoutError:
        return Checked(
            *who,
            STUCK,
            error=f"The code waited {patience:g} s for something that is no verb; that belongs into a step.",
        )


def _reported(who: tuple[str, str, str], report: ReplayReport) -> Checked:
    told = report.error.metadata if report.error is not None else None
    around = told.get("around", ()) if isinstance(told, dict) else ()
    return Checked(
        *who,
        report.status,
        report.entries,
        report.location,
        report.expected,
        report.found,
        report.site,
        tuple(around),
        None if report.error is None else str(report.error),
    )
