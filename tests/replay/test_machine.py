"""Random workflows under everything that may happen to them, compared with a plain model of their outcome.

The default run does a bounded share; ``pytest -m long tests/replay/test_machine.py`` takes minutes and many thousands
of steps.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.host.record import unpack
from rivetpy.host.view import ActorView
from rivetpy.registry import setup
from rivetpy.store.faulty import Died
from rivetpy.store.memory import MemoryStore
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import WorkflowContext, layout
from rivetpy.workflow.entries import StepEntry
from tests.replay.plans import QUEUES, Fails, Model, Notes, Plan, bodies, plans
from tests.support.flows import define
from tests.support.jump import JumpClock, JumpLoop
from tests.support.world import KEY, NAME, MortalStore

ENDED = ("completed", "failed", "cancelled")
#: The end of a workflow is reached in so many looks, or never.
PATIENCE = 600


class Engine:
    """One life of an engine over a store that outlives it; its time stands still between the calls of `do`."""

    def __init__(
        self, store: MemoryStore, plan: Plan, notes: Notes, time: float, always_replay: bool
    ) -> None:
        async def flow(ctx: WorkflowContext) -> Any:
            if notes.undo:
                await ctx.rollback_checkpoint("from here")
            return await plan.run(ctx, "", notes)

        self.troubles: list[dict[str, Any]] = []
        self._runner = asyncio.Runner(loop_factory=lambda: JumpLoop(time))
        self._always_replay = always_replay
        self._runner.run(self._start(store, flow))

    async def _start(self, inner: MemoryStore, flow: Any) -> None:
        asyncio.get_running_loop().set_exception_handler(self._trouble)
        self.store = MortalStore(inner)
        self.host = Host(
            setup(use={NAME: define(flow)}), self.store, JumpClock(), always_replay=self._always_replay
        )
        await self.host.start()
        self.actor_id = (await self.host.get_or_create("default", NAME, KEY))[0].id

    def _trouble(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not self.store.dead:
            self.troubles.append(context)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Let the engine live while this goes on. Raises `Died` when it does meanwhile."""

        async def or_death() -> Any:
            task = asyncio.ensure_future(work)
            await asyncio.wait([task, self.store.death], return_when=asyncio.FIRST_COMPLETED)
            if not self.store.death.done():
                return await task
            task.cancel()
            await asyncio.wait([task])
            raise Died("the engine died")

        return self._runner.run(or_death())

    def end(self) -> float:
        """Be gone, as after kill -9 unless the host was stopped; when that was."""
        self.store.dead = True
        time = self._runner.get_loop().time()
        self._runner.close()
        return time


class Machine(RuleBasedStateMachine):
    """One actor, and everything that may happen to it."""

    @initialize(plan=plans, always_replay=st.booleans(), undo=st.booleans())
    def begin(self, plan: Plan, always_replay: bool, undo: bool) -> None:
        self.plan, self.always_replay = plan, always_replay
        self.notes = Notes(undo=undo)
        self.store = MemoryStore()
        self.sent = 0
        #: Identities of the steps that were ever recorded: those never run again.
        self.recorded: set[str] = set()
        #: How many had begun before this life.
        self.seen = 0
        #: How many had begun when the workflow was cancelled.
        self.cancelled_at: int | None = None
        #: Whether something was to run again: what steps added to the state stays, and they add it again.
        self.rewound = False
        self.engine: Engine | None = Engine(self.store, plan, self.notes, 0.0, always_replay)

    # -- what may happen ---------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.005, 0.02, 1, 2, 5, 35, 600]))
    def time_passes(self, seconds: float) -> None:
        self.do(asyncio.sleep(seconds))

    @rule(queue=st.sampled_from(QUEUES))
    def a_message_comes(self, queue: str) -> None:
        self.send(queue)

    @rule()
    def it_is_put_away(self) -> None:
        self.do(self.host.sleep(self.engine_now.actor_id))

    @rule(writes=st.integers(1, 6), after=st.booleans(), seconds=st.sampled_from([1, 50]))
    def it_is_killed_at_a_write(self, writes: int, after: bool, seconds: float) -> None:
        store = self.engine_now.store
        if after:
            store.die_after = store.commits + writes
        else:
            store.die_before = store.commits + writes
        self.do(asyncio.sleep(seconds))

    @rule()
    def it_is_killed(self) -> None:
        self.restart()

    @rule()
    def the_engine_is_stopped(self) -> None:
        self.do(self.host.stop())
        self.restart()

    @precondition(lambda self: self.notes.code == 1)
    @rule()
    def the_code_is_changed(self) -> None:
        self.do(self.host.stop())
        self.notes.code = 2
        self.restart()

    @precondition(lambda self: self.cancelled_at is None)
    @rule(one_in=st.integers(0, 9))
    def it_is_cancelled(self, one_in: int) -> None:
        if one_in:  # a cancelled workflow has little more to show
            return
        with contextlib.suppress(RivetError):  # it has ended
            self.do(self.host.cancel(self.engine_now.actor_id))
        view = self.look()
        if view is not None and view.workflow is not None and view.workflow.status == "cancelled":
            self.cancelled_at = len(self.notes.begun)

    @precondition(lambda self: self.cancelled_at is None)
    @rule(one_in=st.integers(0, 2), where=st.integers(0, 99), undone=st.booleans())
    def it_is_rewound(self, one_in: int, where: int, undone: bool) -> None:
        view = None if one_in else self.look()
        if view is None or view.workflow is None or not view.workflow.entries:
            return
        entries = view.workflow.entries
        self.rewound = True
        with contextlib.suppress(RivetError):  # a step is running
            self.do(self.host.rewind(self.engine_now.actor_id, entries[where % len(entries)].location))
            if undone:
                self.do(self.host.undo_rewind(self.engine_now.actor_id))

    @precondition(lambda self: self.cancelled_at is None)
    @rule()
    def it_is_recovered(self) -> None:
        with contextlib.suppress(RivetError):  # it has not failed, or was rolled back
            self.do(self.host.recover(self.engine_now.actor_id))

    # -- how it is done ----------------------------------------------------------------------------------

    @property
    def engine_now(self) -> Engine:
        assert self.engine is not None
        return self.engine

    @property
    def host(self) -> Host:
        return self.engine_now.host

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self.engine_now.do(work)
        except Died:
            self.restart()
            return None

    def send(self, queue: str) -> None:
        self.sent += 1
        # A sender that was told nothing sends again.
        for _ in range(10):
            body, key = self.sent, str(self.sent)
            if (
                self.do(self.host.send(self.engine_now.actor_id, queue, QueueSend(body, idempotency_key=key)))
                is not None
            ):
                return

    def restart(self) -> None:
        engine, self.engine = self.engine_now, None
        begun = len(self.notes.begun)
        time = engine.end()
        del self.notes.begun[begun:]  # to end its tasks the loop had to turn once more: a killed one does not
        assert engine.troubles == []
        self.check_once()
        self.recorded |= stored_keys(self.store, engine.actor_id)
        self.seen = len(self.notes.begun)
        self.engine = Engine(self.store, self.plan, self.notes, time + 1, self.always_replay)

    def check_once(self) -> None:
        assert not self.recorded & set(self.notes.begun[self.seen :]), "a recorded step ran again"

    def look(self) -> ActorView | None:
        view: ActorView | None = self.do(self.host.view(self.engine_now.actor_id))
        return view

    # -- what must come of it ----------------------------------------------------------------------------

    def teardown(self) -> None:
        if getattr(self, "engine", None) is None:
            return
        try:
            view = self.at_the_end()
            self.compare(view)
            self.do(self.host.stop())
            assert self.engine_now.troubles == []
        finally:
            if self.engine is not None:
                self.engine.end()

    def at_the_end(self) -> ActorView:
        """Send what is waited for, until the workflow has ended."""
        for look in range(PATIENCE):
            view = self.look()
            if view is None or view.workflow is None:
                continue
            if view.workflow.status in ENDED:
                return view
            assert view.workflow.status != "diverged", view.workflow.failure
            for wait in view.workflow.waits:
                if wait.reason == "message" and wait.deadline is None:
                    self.send((wait.queues or QUEUES)[0])
            self.do(asyncio.sleep(1 + look))
        raise AssertionError(f"it does not end: {self.look()}")

    def compare(self, view: ActorView) -> None:
        assert view.workflow is not None
        if self.cancelled_at is not None:
            assert view.workflow.status == "cancelled"
            assert len(self.notes.begun) == self.cancelled_at, "a cancelled workflow went on"
            self.check_once()
            return
        model = Model(self.notes.undo)
        try:
            pattern = self.plan.expect(model)
        except Fails as failure:
            assert view.workflow.status == "failed" and view.workflow.failure is not None
            assert view.workflow.failure.type == str(failure)
            assert view.workflow.rollback_failure is None
        else:
            assert view.workflow.status == "completed", view.workflow.failure
            assert pattern(view.workflow.output), view.workflow.output
            model = Model(False)
            self.plan.expect(model)
        assert self.rewound or view.state == {"n": model.total}
        self.compare_messages(view)
        self.check_once()

    def compare_messages(self, view: ActorView) -> None:
        """Every message was received at one place, or is still there."""
        assert view.workflow is not None
        left = [message_body(message) for message in view.queue]
        told = list(bodies(view.workflow.output))
        assert len(set(told)) == len(told) and len(set(left)) == len(left)
        assert not set(left) & set(told)
        if not self.rewound:  # which puts back what was received
            assert all(len(places) == 1 for places in self.notes.received.values()), self.notes.received
            assert not set(left) & set(self.notes.received)
        lost = set(range(1, self.sent + 1)) - set(told) - set(left)
        assert lost <= set(self.notes.received) | self.notes.answered, "a message is gone that nobody saw"


def message_body(message: Any) -> Any:
    from rivetpy import codec

    return codec.decode(message.body)


def stored_keys(store: MemoryStore, actor_id: str) -> set[str]:
    """The identities of the steps that are recorded in a store."""
    from rivetpy.host.offline import view_rows

    async def look() -> tuple[ActorView, int]:
        row = await store.get(actor_id)
        assert row is not None
        rows = await store.load(actor_id)
        return view_rows(row, rows), unpack(dict(rows)[layout.WORKFLOW]).rewound_at

    view, rewound_at = asyncio.run(look())
    workflow = view.workflow
    entries = [] if workflow is None else workflow.entries
    steps = [e for e in entries if isinstance(e, StepEntry)]
    done = [(e.location, e.completed_at) for e in steps if e.finished]
    done += [(f"{e.location}#rollback", e.rolled_back_at) for e in steps if e.rolled_back_at]
    # What ran after a rewind is another execution; at its very moment nobody can say which.
    places = [
        place if at < rewound_at else f"{place}:{rewound_at}" for place, at in done if at and at != rewound_at
    ]
    places = [place.removesuffix(":0") for place in places]
    return {hashlib.blake2b(f"{actor_id}:{place}".encode(), digest_size=16).hexdigest() for place in places}


QUIET = list(HealthCheck)


def test_random_workflows_come_to_what_the_model_says() -> None:
    share = settings(
        max_examples=100,
        stateful_step_count=12,
        deadline=None,
        database=None,
        suppress_health_check=QUIET,
    )
    run_state_machine_as_test(Machine, settings=share)


@pytest.mark.long
def test_many_random_workflows_come_to_what_the_model_says() -> None:
    share = settings(
        max_examples=3000, stateful_step_count=25, deadline=None, database=None, suppress_health_check=QUIET
    )
    run_state_machine_as_test(Machine, settings=share)
