"""Futures that nobody can cancel: whoever awaits one stays until it is done, and hears of a cancellation then."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


class Unbroken(asyncio.Future[T]):
    """Cancelling it, or a task that awaits it, does not stop it. A cancelled task gets its CancelledError when this
    is done: without the task, the callbacks and the turn of the event loop that `asyncio.shield` costs."""

    def cancel(self, msg: object = None) -> bool:
        """False: it goes on."""
        return False


async def finished(work: asyncio.Future[T]) -> T:
    """Await to the end, also when cancelled meanwhile: the cancellation comes with the next await instead.

    What was handed in will be done. What follows from it in memory must follow, or the two would differ.
    """
    sure = work if isinstance(work, Unbroken) else _follow(work)
    try:
        return await sure
    except asyncio.CancelledError:
        me = asyncio.current_task()
        if me is not None and me.cancelling():
            me.uncancel()
            me.cancel()
        return sure.result()


def _follow(work: asyncio.Future[T]) -> Unbroken[T]:
    """A future that comes to what ``work`` comes to."""
    follower = Unbroken[T](loop=work.get_loop())

    def done(work: asyncio.Future[T]) -> None:
        if work.cancelled():
            follower.set_exception(asyncio.CancelledError())
        elif (error := work.exception()) is not None:
            follower.set_exception(error)
        else:
            follower.set_result(work.result())

    work.add_done_callback(done)
    return follower
