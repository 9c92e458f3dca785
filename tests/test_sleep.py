"""sleep, sleep_until: deadlines that are recorded once (spec workflows 6)."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest

from rivetpy.workflow.duration import END_OF_TIME, milliseconds, moment, show
from rivetpy.workflow.entries import SleepEntry, Status
from tests.support.flows import ended, reason_of, to_the_end, world_of
from tests.support.jump import EPOCH


def sleeping(seconds: Any) -> Any:
    async def flow(ctx: Any) -> None:
        await ctx.sleep("nap", seconds)

    return flow


def test_a_changed_duration_does_not_move_the_deadline() -> None:
    duration = 20.0

    async def flow(ctx: Any) -> None:
        await ctx.sleep("nap", duration)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(10), clean=False)
    duration = 3600
    world.live(to_the_end)
    (entry,) = world.journal()
    assert isinstance(entry, SleepEntry) and entry.deadline == EPOCH + 20_000
    assert entry.completed_at == EPOCH + 20_000


@pytest.mark.parametrize("days", [60, 10_000])
def test_long_sleeps_are_still_pending_after_a_restart(days: int) -> None:
    world = world_of(sleeping(dt.timedelta(days=days)))
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(lambda host, actor: asyncio.sleep(days * 86400 - 100))
    assert world.view().workflow.status == "sleeping"
    assert world.view().row.alarm == EPOCH + days * 86_400_000
    world.live(to_the_end)
    (entry,) = world.journal()
    assert entry.status is Status.COMPLETED and entry.completed_at == EPOCH + days * 86_400_000


def test_an_overdue_sleep_ends_once_at_once() -> None:
    world = world_of(sleeping(20))
    world.live(lambda host, actor: asyncio.sleep(1))
    world.time = 5000
    world.live(to_the_end)
    (entry,) = world.journal()
    assert entry.completed_at == EPOCH + 5_000_000


@pytest.mark.parametrize("seconds", [0, -5, dt.timedelta(seconds=-1), 0.0])
def test_nothing_to_wait_for_is_an_entry_all_the_same(seconds: Any) -> None:
    view = ended(sleeping(seconds))
    (entry,) = view.entries
    assert view.status == "completed" and entry.completed_at == entry.created_at


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e300, "5", True, None, dt.timedelta.max])
def test_senseless_durations_are_refused_before_recording(seconds: Any) -> None:
    view = ended(sleeping(seconds))
    assert "sleep 'nap'" in reason_of(view) and view.entries == ()


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("2026-02-01T00:00:00+00:00", 0),
        ("2026-02-01T00:00:00.000001+00:00", 1),
        ("2026-02-01T05:30:00+05:30", 0),
        ("2026-02-01T00:00:00Z", 0),
    ],
)
def test_moments_with_and_without_fractions_and_zones(when: str, expected: int) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.sleep_until("nap", dt.datetime.fromisoformat(when))

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    (entry,) = world.journal()
    february = 1_769_904_000_000
    assert isinstance(entry, SleepEntry) and entry.deadline == february + expected


def test_naive_moments_are_refused() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.sleep_until("nap", dt.datetime(2026, 2, 1))

    assert "add a zone" in reason_of(ended(flow))


def test_every_moment_can_be_shown() -> None:
    assert show(END_OF_TIME) == "9999-12-31 23:59:59Z"
    assert show(0) == "1970-01-01 00:00:00Z"
    assert milliseconds(0.0001, "x") == 1 and milliseconds(2.0, "x") == 2000
    assert moment(1.5, "x") == 1500
