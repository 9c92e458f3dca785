"""What the synchronous client is made of: an object that stands for one of the asynchronous client, and its methods."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Concatenate, Generic, ParamSpec, TypeVar

from rivetpy.client.portal import Portal

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
B = TypeVar("B")
S = TypeVar("S")
R = TypeVar("R")
P = ParamSpec("P")


class Twin(Generic[A_co]):
    """Stands for an object of the asynchronous client."""

    def __init__(self, portal: Portal, original: A_co) -> None:
        self._portal = portal
        self._original = original

    def _wait(self, make: Callable[[], Awaitable[R]]) -> R:
        return self._portal.run(make)


def waiting(method: Callable[Concatenate[A, P], Awaitable[R]]) -> Callable[Concatenate[Twin[A], P], R]:
    """A method that waits for the original one."""

    @functools.wraps(method)
    def wait(twin: Twin[A], /, *args: P.args, **options: P.kwargs) -> R:
        return twin._wait(lambda: method(twin._original, *args, **options))

    return wait


def waiting_for(
    twin_type: Callable[[Portal, B], S], method: Callable[Concatenate[A, P], Awaitable[B]]
) -> Callable[Concatenate[Twin[A], P], S]:
    """A method that waits for the original one, and returns a twin of what that returned."""

    @functools.wraps(method)
    def wait(twin: Twin[A], /, *args: P.args, **options: P.kwargs) -> S:
        made = twin._wait(lambda: method(twin._original, *args, **options))
        return twin_type(twin._portal, made)

    return wait


def leading_to(
    twin_type: Callable[[Portal, B], S], method: Callable[Concatenate[A, P], B]
) -> Callable[Concatenate[Twin[A], P], S]:
    """A method that returns a twin of what the original one does, for which nothing has to be awaited."""

    @functools.wraps(method)
    def lead(twin: Twin[A], /, *args: P.args, **options: P.kwargs) -> S:
        return twin_type(twin._portal, method(twin._original, *args, **options))

    return lead
