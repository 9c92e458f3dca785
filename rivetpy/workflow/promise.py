"""Verbs that were called and never awaited: Python only warns, and the workflow would go on without them."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Coroutine
from typing import ParamSpec, Protocol, TypeVar, cast

from rivetpy.workflow.scope import Scope

P = ParamSpec("P")
T = TypeVar("T")


class _Menu(Protocol):
    _scope: Scope


def promised(method: Callable[P, Coroutine[object, object, T]]) -> Callable[P, Coroutine[object, object, T]]:
    """Make a method of a context one whose every call is awaited, or the workflow fails at its next verb."""

    @functools.wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> Coroutine[object, object, T]:
        scope, caller = cast(_Menu, args[0])._scope, sys._getframe(1)
        site = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        promise = Promise(scope, _as_called(method.__qualname__), site)
        coroutine = _keep(promise, method, *args, **kwargs)
        coroutine.__qualname__ = method.__qualname__  # type: ignore[attr-defined] # Python's warning has it
        promise.made(coroutine)
        return coroutine

    return called


def _as_called(method: str) -> str:
    """``ctx.queue.next`` for ``WorkflowQueue.next``."""
    menu, _, name = method.partition(".")
    return f"ctx.queue.{name}" if menu == "WorkflowQueue" else f"ctx.{name}"


async def _keep(
    promise: Promise, method: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    promise.kept = True
    return await method(*args, **kwargs)


class Promise:
    """One call of a verb. Only its coroutine holds it, so it lives as long as somebody could still await that."""

    __slots__ = ("_ref", "_scope", "_site", "_verb", "kept")

    def __init__(self, scope: Scope, verb: str, site: str) -> None:
        self._scope = scope
        self._verb = verb
        self._site = site
        #: Whether it was awaited.
        self.kept = False

    def made(self, coroutine: Coroutine[object, object, object]) -> None:
        """Watch the coroutine: it is told from its end whether it ever began."""
        self._ref = weakref.ref(coroutine, self._ended)

    def _ended(self, ref: weakref.ref[Coroutine[object, object, object]]) -> None:
        if not self.kept:
            self._scope.forget(self._verb, self._site)
