"""Group commit: who shares a transaction, and where the sync runs."""

from __future__ import annotations

import asyncio
import threading

import pytest

from rivetpy.errors import StoreError
from rivetpy.store import Batch, group
from rivetpy.store.group import GroupCommit, Result


class Recorder:
    """A transaction that writes down what it was asked for."""

    def __init__(self, refused: str = "", broken: bool = False) -> None:
        self.groups: list[list[str]] = []
        self.threads: list[bool] = []
        self.refused = refused
        self.broken = broken
        self.pause: threading.Event | None = None
        #: What the next syncs come to; then all is well.
        self.results: list[Result] = []

    def apply(self, batches: list[Batch]) -> list[Result]:
        assert threading.current_thread() is threading.main_thread()
        self.groups.append([batch.actor for batch in batches])
        if self.broken:
            raise KeyboardInterrupt
        return [StoreError("no", "no") if batch.actor == self.refused else None for batch in batches]

    def sync(self) -> Result:
        self.threads.append(threading.current_thread() is not threading.main_thread())
        if self.pause:
            self.pause.wait(5)
        return self.results.pop(0) if self.results else None


def test_what_is_ready_together_is_one_group() -> None:
    async def scenario() -> None:
        recorder = Recorder()
        commits = GroupCommit(recorder)
        await asyncio.gather(*(commits.commit(Batch(str(number))) for number in range(500)))
        assert recorder.groups == [[str(number) for number in range(500)]]
        await commits.commit(Batch("alone"))
        assert recorder.groups[1:] == [["alone"]]
        assert recorder.threads == [False, False]

    asyncio.run(scenario())


def test_a_slow_sync_leaves_the_event_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "SLOW", -1.0)

    async def scenario() -> None:
        recorder = Recorder()
        recorder.pause = threading.Event()
        commits = GroupCommit(recorder)
        first = asyncio.ensure_future(commits.commit(Batch("first")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert recorder.groups == [["first"]]  # and the sync is stuck in its thread, but we are here
        more = [asyncio.ensure_future(commits.commit(Batch(name))) for name in ("second", "third")]
        await asyncio.sleep(0)
        assert recorder.groups == [["first"]] and not first.done()
        recorder.pause.set()
        await asyncio.gather(first, *more)
        assert recorder.groups == [["first"], ["second", "third"]]
        assert recorder.threads == [True, True]
        await commits.close()

    asyncio.run(scenario())


def test_a_slow_disk_is_noticed_and_a_quick_one_again_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "PROBE", 4)
    now = [0.0]
    monkeypatch.setattr(group, "time", type("Time", (), {"perf_counter": lambda: now[0]}))

    async def scenario() -> None:
        recorder = Recorder()
        commits = GroupCommit(recorder)
        took = 0.05

        def sync() -> Result:
            now[0] += took
            return Recorder.sync(recorder)

        recorder.sync = sync  # type: ignore[method-assign]
        for _ in range(10):
            await commits.commit(Batch("a"))
        assert recorder.threads[:2] == [False, True]
        assert recorder.threads.count(False) == 3, "the first, and one in four"
        took = 0.0001
        for _ in range(60):
            await commits.commit(Batch("a"))
        assert recorder.threads[-10:] == [False] * 10
        await commits.close()

    asyncio.run(scenario())


def test_what_waits_behind_a_sync_that_fails_is_refused_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that was made on top of a refused one must not become durable alone."""
    monkeypatch.setattr(group, "SLOW", -1.0)

    async def scenario() -> None:
        recorder = Recorder()
        recorder.pause = threading.Event()
        recorder.results = [StoreError("io_error", "broken")]
        commits = GroupCommit(recorder)
        handed_in = [commits.commit(Batch("a"))]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert recorder.groups == [["a"]]
        handed_in += [commits.commit(Batch(name)) for name in ("a", "b")]
        recorder.pause.set()
        results = await asyncio.gather(*handed_in, return_exceptions=True)
        assert [getattr(result, "code", None) for result in results] == ["io_error", "io_error", None]
        assert recorder.groups == [["a"], ["b"]]
        await commits.commit(Batch("a"))  # whoever has heard may go on
        await commits.close()

    asyncio.run(scenario())


def test_a_sync_that_breaks_in_its_thread_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "SLOW", -1.0)

    class Broken(Recorder):
        def sync(self) -> Result:
            super().sync()
            raise RuntimeError("a mistake of ours")

    async def scenario() -> None:
        told: list[object] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: told.append(context["exception"])
        )
        recorder = Broken()
        recorder.pause = threading.Event()
        commits = GroupCommit(recorder)
        handed_in = [commits.commit(Batch("a"))]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        handed_in.append(commits.commit(Batch("b")))
        recorder.pause.set()
        done, _ = await asyncio.wait(handed_in, timeout=5)
        assert [getattr(each.exception(), "code", None) for each in done] == ["interrupted"] * 2
        assert [str(error) for error in told] == ["a mistake of ours"] * 2
        await commits.close()

    asyncio.run(scenario())


def test_closing_waits_for_the_thread_and_what_came_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "SLOW", -1.0)

    async def scenario() -> None:
        recorder = Recorder()
        recorder.pause = threading.Event()
        commits = GroupCommit(recorder)
        tasks = [asyncio.ensure_future(commits.commit(Batch("first")))]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        tasks.append(asyncio.ensure_future(commits.commit(Batch("second"))))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.01, recorder.pause.set)
        await commits.close()
        assert recorder.groups == [["first"], ["second"]]
        await asyncio.gather(*tasks)
        with pytest.raises(StoreError, match="closed"):
            await commits.commit(Batch("late"))

    asyncio.run(scenario())


def test_one_refusal_is_one_callers_business() -> None:
    async def scenario() -> None:
        commits = GroupCommit(Recorder(refused="b"))
        results = await asyncio.gather(*(commits.commit(Batch(n)) for n in "abc"), return_exceptions=True)
        assert [type(result) for result in results] == [type(None), StoreError, type(None)]

    asyncio.run(scenario())


def test_an_interrupt_in_the_middle_leaves_nobody_waiting() -> None:
    async def scenario() -> None:
        await GroupCommit(Recorder(broken=True)).commit(Batch("a"))

    loop = asyncio.new_event_loop()
    task = loop.create_task(scenario())
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(task)
    with pytest.raises(StoreError) as unknown:
        loop.run_until_complete(task)
    assert unknown.value.code == "interrupted"
    loop.close()


def test_a_loop_that_ended_with_a_batch_waiting_does_not_block_the_next_one() -> None:
    recorder = Recorder()
    commits = GroupCommit(recorder)
    loop = asyncio.new_event_loop()

    def hand_in() -> None:
        commits.commit(Batch("left behind"))
        loop.stop()

    loop.call_soon(hand_in)
    loop.run_forever()
    loop.close()
    assert recorder.groups == []

    async def commit() -> None:
        await commits.commit(Batch("next"))

    asyncio.run(commit())
    assert recorder.groups == [["left behind", "next"]]
