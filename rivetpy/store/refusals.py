"""Actors whose batch was just refused: what was handed in behind it is refused too (see the contract of `Store`)."""

from __future__ import annotations

import asyncio

from rivetpy.errors import StoreError


class Refusals:
    """Remembers a refusal until the callers have heard of it.

    The batch behind a refused one was made on top of it: a state without the record of the step that changed it.
    A store asks `of` before it takes a batch, and before it writes one that waited. It calls `tell` when it answers a
    refusal, and `note` before that, where the answer comes later.
    """

    def __init__(self) -> None:
        self._errors: dict[str, StoreError] = {}

    def note(self, actor: str, error: StoreError) -> None:
        """A batch of the actor is refused; `tell` must follow."""
        self._errors[actor] = error

    def tell(self, actor: str, error: StoreError) -> None:
        """The caller's future is given the error right after this: it hears in the next turn of the event loop."""
        self.note(actor, error)
        asyncio.get_running_loop().call_soon(self._errors.pop, actor, None)

    def of(self, actor: str) -> StoreError | None:
        """Why a batch of the actor is refused that is handed in now; None: it isn't."""
        error = self._errors.get(actor) if self._errors else None
        return None if error is None else StoreError(error.code, error.message)
