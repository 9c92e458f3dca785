"""Waiting to the end: what was handed in is done, and who was cancelled meanwhile hears of it after that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from rivetpy.unbroken import Unbroken, finished

Make = Callable[[], asyncio.Future[str]]


def unbroken() -> asyncio.Future[str]:
    return Unbroken(loop=asyncio.get_running_loop())


def plain() -> asyncio.Future[str]:
    return asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("make", [unbroken, plain])
@pytest.mark.parametrize("times", [1, 2])
def test_a_cancelled_task_stays_to_the_end_and_hears_of_it_at_its_next_await(make: Make, times: int) -> None:
    async def scenario() -> None:
        work, seen = make(), list[object]()

        async def caller() -> None:
            seen.append(await finished(work))
            seen.append(asyncio.current_task().cancelling())  # type: ignore[union-attr]
            await asyncio.sleep(3600)

        task = asyncio.create_task(caller())
        await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
        await asyncio.sleep(0)
        assert not task.done() and not work.done() and seen == []
        work.set_result("durable")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == ["durable", times]

    asyncio.run(scenario())


@pytest.mark.parametrize("make", [unbroken, plain])
def test_a_failure_is_told_to_a_cancelled_task_too(make: Make) -> None:
    async def scenario() -> None:
        work = make()
        task = asyncio.create_task(finished(work))
        await asyncio.sleep(0)
        task.cancel()
        work.set_exception(OSError("disk"))
        with pytest.raises(OSError, match="disk"):
            await task

    asyncio.run(scenario())


def test_a_time_limit_waits_for_the_end_and_then_says_that_it_was_too_late() -> None:
    async def scenario() -> None:
        work, seen = unbroken(), list[str]()

        async def caller() -> None:
            async with asyncio.timeout(0):
                seen.append(await finished(work))
                await asyncio.sleep(0)

        task = asyncio.create_task(caller())
        await asyncio.sleep(0.01)
        assert not task.done()
        work.set_result("durable")
        with pytest.raises(TimeoutError):
            await task
        assert seen == ["durable"]

    asyncio.run(scenario())


def test_what_was_cancelled_itself_says_so() -> None:
    async def scenario() -> None:
        work = plain()
        task = asyncio.create_task(finished(work))
        await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not task.cancelling()

    asyncio.run(scenario())


def test_what_is_done_is_there_at_once() -> None:
    async def scenario() -> None:
        work = unbroken()
        assert work.cancel() is False
        work.set_result("done")
        assert await finished(work) == "done"

    asyncio.run(scenario())
