"""Verbs that were called and never awaited: Python only warns, and the workflow would go on without them."""

from __future__ import annotations

import collections.abc
import functools
import sys
from collections.abc import Callable, Generator
from types import CodeType, TracebackType
from typing import ParamSpec, Protocol, TypeVar, cast

from rivetpy.workflow.scope import Scope

P = ParamSpec("P")
T = TypeVar("T")
Coroutine = collections.abc.Coroutine[object, object, T]


class _Menu(Protocol):
    _scope: Scope


def promised(method: Callable[P, Coroutine[T]]) -> Callable[P, Coroutine[T]]:
    """Make a method of a context one whose every call is awaited, or the workflow fails at its next verb."""

    @functools.wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> Coroutine[T]:
        caller = sys._getframe(1)
        scope = cast(_Menu, args[0])._scope
        return Promise(method(*args, **kwargs), scope, caller.f_code, caller.f_lineno)

    return called


class Promise(collections.abc.Coroutine[object, object, T]):
    """One call of a verb: its coroutine, which tells the scope when it goes away and nobody awaited it."""

    __slots__ = ("_code", "_coroutine", "_kept", "_line", "_scope")

    def __init__(self, coroutine: Coroutine[T], scope: Scope, code: CodeType, line: int) -> None:
        self._coroutine = coroutine
        self._scope = scope
        self._code = code
        self._line = line
        self._kept = False

    @property
    def __name__(self) -> str:
        return self._coroutine.__name__  # type: ignore[attr-defined, no-any-return] # of every coroutine

    def __await__(self) -> Generator[object, None, T]:
        self._kept = True
        return cast(Generator[object, None, T], self._coroutine.__await__())

    def send(self, value: object) -> object:
        self._kept = True
        return self._coroutine.send(value)

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> object:
        return self._coroutine.throw(typ if isinstance(typ, BaseException) else typ(val))

    def close(self) -> None:
        self._coroutine.close()

    def __del__(self) -> None:
        if not self._kept:
            verb = _as_called(self._coroutine.__qualname__)  # type: ignore[attr-defined]
            self._scope.forget(verb, f"{self._code.co_filename}:{self._line}")
            self._coroutine.close()  # or Python warns as well, and says less


def _as_called(method: str) -> str:
    """``ctx.queue.next`` for ``WorkflowQueue.next``."""
    menu, _, name = method.partition(".")
    return f"ctx.queue.{name}" if menu == "WorkflowQueue" else f"ctx.{name}"
