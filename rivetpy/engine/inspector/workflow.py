"""The inspector's routes that change how a workflow goes on: replay (wire 9.2), recover, cancel, rewind, undo."""

from __future__ import annotations

from rivetpy.codec import Value
from rivetpy.engine.http import Answer, json_answer
from rivetpy.engine.inspector.history import history_answer
from rivetpy.engine.inspector.journal import entry_id_of
from rivetpy.engine.inspector.requests import text_in
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.host.view import ActorView
from rivetpy.wire.jsonvalue import JsonError, JsonObject


class WorkflowRoutes:
    """Answers for one host. What is not possible is an error of group ``workflow`` that says why."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def answer(self, actor_id: str, verb: str, given: dict[str, Value]) -> Answer:
        """Do it. Raises RivetError ``actor.not_found`` for a verb there is not."""
        match verb:
            case "replay":
                return await history_answer(await self.replay(actor_id, text_in(given, "entryId")))
            case "rewind":
                return json_answer(await self._rewind(actor_id, given))
            case "undo":
                await self._host.undo_rewind(actor_id)
            case "recover":
                await self._host.recover(actor_id)
            case "cancel":
                await self._host.cancel(actor_id)
            case _:
                raise RivetError("actor", "not_found", "Inspector route was not found")
        return json_answer({"workflowState": _state(await self._host.view(actor_id))})

    async def replay(self, actor_id: str, entry_id: str | None) -> ActorView:
        """Rewind to an entry, named by its id; the actor as it is then."""
        location = None
        if entry_id is not None:
            location = _location(await self._host.view(actor_id), entry_id)
        try:
            await self._host.rewind(actor_id, location)
        except RivetError as error:
            if (error.group, error.code) != ("workflow", "in_flight"):
                raise
            raise RivetError("actor", "workflow_in_flight", error.message) from None
        return await self._host.view(actor_id)

    async def _rewind(self, actor_id: str, given: dict[str, Value]) -> JsonObject:
        dry_run = given.get("dryRun", False)
        if not isinstance(dry_run, bool):
            raise JsonError("'dryRun' is true or false.")
        done = await self._host.rewind(actor_id, text_in(given, "location"), dry_run=dry_run)
        return {
            "removed": list(done.removed),
            "runsAgain": list(done.runs_again),
            "returnedMessages": done.returned_messages,
        }


def _location(view: ActorView, entry_id: str) -> str:
    for entry in view.workflow.entries if view.workflow else ():
        if entry_id_of(view.row.id, entry) == entry_id:
            return entry.location
    raise RivetError("actor", "internal_error", f"Workflow step not found: {entry_id}", status=500)


def _state(view: ActorView) -> str | None:
    return view.workflow.status if view.workflow else None
