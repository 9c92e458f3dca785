"""The errors of the public interface: every one says what, where, and what to do next (spec actors 5)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

#: Groups whose message and metadata may be shown to any client (spec wire 6.5).
PUBLIC_GROUPS = frozenset(
    {
        "user",
        "queue",
        "event",
        "message",
        "schedule",
        "kv",
        "guard",
        "api",
        "namespace",
        "validation",
        "archive",
    }
)
PUBLIC_CODES = frozenset(
    {
        ("auth", "forbidden"),
        ("actor", "not_found"),
        ("actor", "action_not_found"),
        ("actor", "method_not_allowed"),
        ("actor", "action_timed_out"),
        ("actor", "aborted"),
        ("actor", "duplicate_key"),
        ("actor", "invalid_request"),
        ("actor", "kv_key_not_found"),
        ("actor", "not_configured"),
        ("actor", "reload_failed"),
        ("actor", "restarting"),
        ("actor", "unsupported_websocket_encoding"),
        ("actor", "state_changed"),
        ("actor", "value_not_encodable"),
        ("actor", "workflow_in_flight"),
        ("actor", "internal_error"),  # wire 9.2: an inspector's entry that is not there
        # What a person asked of a workflow is not possible; the other codes of this group tell of user code.
        ("workflow", "in_flight"),
        ("workflow", "entry_not_found"),
        ("workflow", "rolled_back"),
        ("workflow", "nothing_to_undo"),
        ("workflow", "not_failed"),
        ("workflow", "ended"),
        ("workflow", "not_enabled"),
        ("handler", "not_defined"),
        ("inspector", "unauthorized"),
        ("runner_config", "invalid"),
        ("db", "not_enabled"),
        ("db", "refused"),
        ("store", "disk_full"),  # which only a person can help
    }
)
#: HTTP status of an error when its raiser does not say (spec wire 6.5).
STATUS = {
    ("actor", "action_not_found"): 404,
    ("actor", "not_found"): 404,
    ("actor", "method_not_allowed"): 405,
    ("actor", "action_timed_out"): 408,
    ("actor", "invalid_request"): 400,
    ("actor", "duplicate_key"): 400,
    ("actor", "restarting"): 503,
    ("actor", "workflow_in_flight"): 409,
    ("auth", "forbidden"): 403,
    ("actor", "kv_key_not_found"): 400,
    ("inspector", "unauthorized"): 401,
}
STATUS_BY_GROUP = {
    "queue": 400,
    "message": 400,
    "api": 400,
    "guard": 400,
    "namespace": 400,
    "validation": 400,
    "archive": 400,
}


class RivetError(Exception):
    """An error with a stable group and code that travels to clients.

    ``status`` is the HTTP status it is answered with; left out, it follows from group and code.
    """

    #: In a client: the actor that answered (``{"actorId", "generation", "key"}``) and the request's id.
    actor: Mapping[str, object] | None = None
    ray_id: str | None = None

    def __init__(
        self,
        group: str,
        code: str,
        message: str,
        metadata: object = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.group = group
        self.code = code
        self.message = message
        self.metadata = metadata
        self.status = status or STATUS.get((group, code)) or STATUS_BY_GROUP.get(group, 500)

    @property
    def public(self) -> bool:
        """Whether a client may see the message and the metadata."""
        return self.group in PUBLIC_GROUPS or (self.group, self.code) in PUBLIC_CODES

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.group}.{self.code}: {self.message})"


class UserError(RivetError):
    """Raised by user code to tell a client what went wrong; everything else reaches it as internal_error."""

    def __init__(self, message: str, *, code: str = "user_error", metadata: object = None) -> None:
        super().__init__("user", code, message, metadata)


class DefinitionError(RivetError):
    """A mistake in an actor, queue or registry definition, found at import."""

    def __init__(self, message: str) -> None:
        super().__init__("definition", "invalid", message)


class EncodeError(RivetError):
    """A value that can't be stored without changing it; ``path`` is where in the value (``$.items[2]``)."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__("actor", "value_not_encodable", f"{path}: {problem}", {"path": path}, 400)
        self.path = path
        self.problem = problem


class StoreError(RivetError):
    """The store could not do what was asked; nothing of the refused commit is kept."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__("store", code, message, status=503)


#: Characters of a name that a list of names shows.
_LONGEST_NAME = 60


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that names the nearest known name, or lists the known ones."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {_shortened(near[0])}?"
    return f"Known: {', '.join(map(_shortened, names))}." if names else "There are none."


def _shortened(name: str) -> str:
    """A name in quotes, of which a long one shows its beginning."""
    return repr(name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…")


def actor_not_found(what: str) -> RivetError:
    """The one way to say that an actor isn't there."""
    return RivetError("actor", "not_found", f"Actor {what} was not found.")
