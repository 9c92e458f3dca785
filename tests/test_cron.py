"""cron: jobs by expression and interval, in their zone, missed once, with a history (spec actors 2)."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rivetpy import ActorOptions, actor
from rivetpy.host import Host
from rivetpy.store.memory import MemoryStore
from tests.support.hosting import asleep, make, refused, with_host
from tests.support.jump import EPOCH

NOW = dt.datetime.fromtimestamp(EPOCH / 1000, dt.UTC)
DAY = 86400


def time_now() -> dt.datetime:
    return NOW + dt.timedelta(seconds=round(asyncio.get_running_loop().time(), 3))


def ticker(set_up: Any, **more: Any) -> Any:
    """An actor that sets its jobs up at every wake and notes its calls."""
    actions: dict[str, Any] = {
        "tick": lambda c, *args: c.state["ticks"].append([time_now(), *args]),
        "ticks": lambda c: c.state["ticks"],
        "history": history,
        "set_up": set_up,
    }
    return actor(state={"ticks": []}, **({"actions": actions} | more))


async def history(c: Any, name: str) -> list[Any]:
    return [[run.scheduled_at, run.started_at, run.error] for run in await c.cron.history(name)]


async def at_wake(c: Any) -> None:
    await c.cron.set("daily", "30 2 * * *", "tick", ["x"], timezone="Europe/Vienna")


async def every_minute(c: Any) -> None:
    await c.cron.every("minutely", 60, "tick")


def ticks(definition: Any, seconds: float, store: Any = None, start: float = 0.0) -> list[dt.datetime]:
    async def script(host: Host) -> Any:
        actor_id = await make(host)
        await host.call(actor_id, "set_up", [])
        await asyncio.sleep(seconds)
        return [tick[0] for tick in await host.call(actor_id, "ticks", [])]

    result: list[dt.datetime] = with_host(definition, script, store, start=start)
    return result


def test_an_expression_is_held_to_its_zone() -> None:
    found = ticks(ticker(at_wake), 3 * DAY)
    assert [each.astimezone(ZoneInfo("Europe/Vienna")).strftime("%d. %H:%M") for each in found] == [
        "01. 02:30",
        "02. 02:30",
        "03. 02:30",
    ]


@pytest.mark.parametrize(
    ("day", "times"),
    [
        (
            dt.datetime(2026, 3, 28, 12, tzinfo=dt.UTC),
            ["29. 03:00", "30. 02:30"],
        ),  # 02:30 is not there on the 29th
        (dt.datetime(2026, 10, 24, 12, tzinfo=dt.UTC), ["25. 02:30", "26. 02:30"]),  # twice there on the 25th
    ],
)
def test_changes_of_local_time_neither_lose_nor_double_a_call(day: dt.datetime, times: list[str]) -> None:
    found = ticks(ticker(at_wake), 2 * DAY, start=(day - NOW).total_seconds())
    assert [each.astimezone(ZoneInfo("Europe/Vienna")).strftime("%d. %H:%M") for each in found] == times


def test_an_interval_keeps_its_beat_and_wakes_the_actor() -> None:
    found = ticks(ticker(every_minute, options=ActorOptions(sleep_timeout=5)), 185)
    assert found == [NOW + dt.timedelta(seconds=each) for each in (60, 120, 180)]


def test_the_same_again_changes_nothing_and_another_replaces() -> None:
    async def set_up(c: Any) -> None:
        for interval in c.state["intervals"]:
            await c.cron.every("job", interval, "tick")

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "set_up", [])
        await asyncio.sleep(50)
        await host.call(actor_id, "set_up", [])
        await asyncio.sleep(20)
        assert len(await host.call(actor_id, "ticks", [])) == 1  # at 60, not at 110
        await host.set_state(actor_id, {"ticks": [], "intervals": [30]})
        await host.call(actor_id, "set_up", [])
        await asyncio.sleep(35)
        assert len(await host.call(actor_id, "ticks", [])) == 1  # at 100
        assert len(await host.call(actor_id, "history", ["job"])) == 2

    definition = ticker(set_up)
    from rivetpy.state import state_shape

    definition.shape = state_shape({"ticks": [], "intervals": [60]})
    with_host(definition, script)


@pytest.mark.parametrize("clean", [True, False])
def test_what_was_missed_is_called_once(clean: bool) -> None:
    store = MemoryStore()

    async def begin(host: Host) -> None:
        await host.call(await make(host), "set_up", [])
        await asyncio.sleep(61)

    async def later(host: Host) -> Any:
        await asyncio.sleep(70)
        return [tick[0] for tick in await host.call(await make(host), "ticks", [])]

    with_host(ticker(every_minute), begin, store, clean=clean)
    found = with_host(ticker(every_minute), later, store, start=1000)
    assert found == [NOW + dt.timedelta(seconds=each) for each in (60, 1000, 1020)]


def test_a_job_is_not_called_while_it_runs() -> None:
    running = [0, 0]

    async def slow(c: Any) -> None:
        running[0] += 1
        running[1] = max(running)
        await asyncio.sleep(25)
        running[0] -= 1
        c.state["ticks"].append([time_now()])

    async def set_up(c: Any) -> None:
        await c.cron.every("slow", 10, "slow")

    definition = ticker(set_up)
    definition.add_action("slow", slow)
    assert len(ticks(definition, 100)) == 3 and running[1] == 1


def test_the_history_is_newest_first_limited_and_names_failures() -> None:
    async def set_up(c: Any) -> None:
        await c.cron.every("job", 10, "moody", max_history=3)
        await c.cron.every("silent", 10, "tick", max_history=0)

    def moody(c: Any) -> None:
        if round((time_now() - NOW).total_seconds()) == 40:
            raise ValueError("not now")

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "set_up", [])
        await asyncio.sleep(55)
        found = await host.call(actor_id, "history", ["job"])
        assert [(run[0] - NOW).total_seconds() for run in found] == [50, 40, 30]
        assert [run[2] for run in found] == [None, "ValueError: not now", None]
        assert await host.call(actor_id, "history", ["silent"]) == []

    definition = ticker(set_up)
    definition.add_action("moody", moody)
    with_host(definition, script)


def test_get_list_and_delete() -> None:
    async def work(c: Any) -> None:
        await c.cron.set("b", "*/5 * * * *", "tick", [1])
        await c.cron.every("a", dt.timedelta(minutes=1), "tick")
        first, second = await c.cron.list()
        assert (first.name, first.interval, first.expression, first.next_at) == (
            "a", 60.0, None, NOW + dt.timedelta(minutes=1))  # fmt: skip
        assert second == await c.cron.get("b") and second.args == [1] and second.timezone == "UTC"
        assert second.next_at == NOW + dt.timedelta(minutes=5) and second.max_history == 100
        assert await c.cron.delete("a") and not await c.cron.delete("a")
        assert await c.cron.get("a") is None

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "set_up", [])
        await asyncio.sleep(301)
        assert len(await host.call(actor_id, "ticks", [])) == 1

    with_host(ticker(work), script)


def test_a_deleted_job_stays_deleted_when_its_last_call_ends() -> None:
    async def last(c: Any) -> None:
        await asyncio.sleep(5)
        await c.cron.delete("job")
        c.state["ticks"].append([time_now()])

    async def set_up(c: Any) -> None:
        await c.cron.every("job", 10, "last")

    definition = ticker(set_up)
    definition.add_action("last", last)
    assert len(ticks(definition, 100)) == 1


def test_an_actor_that_sleeps_wakes_for_its_next_job_only() -> None:
    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "set_up", [])
        await asleep(host, actor_id)
        row = await host.get(actor_id)
        assert row is not None and row.alarm == EPOCH + 5400_000  # 02:30 in Vienna

    with_host(ticker(at_wake), script)


@pytest.mark.parametrize(
    ("expression", "zone", "code"),
    [
        ("* * * *", "UTC", "invalid_expression"),
        ("* * * * * *", "UTC", "invalid_expression"),
        ("61 * * * *", "UTC", "invalid_expression"),
        ("0 0 30 2 *", "UTC", "invalid_expression"),
        ("* * * * *", "Europe/Wien", "unknown_timezone"),
        ("* * * * *", "../etc", "unknown_timezone"),
    ],
)
def test_mistakes_are_refused_when_they_are_made(expression: str, zone: str, code: str) -> None:
    async def set_up(c: Any) -> None:
        await c.cron.set("job", expression, "tick", timezone=zone)

    async def script(host: Host) -> None:
        assert await refused(host.call(await make(host), "set_up", [])) == f"schedule.{code}"

    with_host(ticker(set_up), script)


def test_an_interval_is_five_seconds_or_more() -> None:
    async def set_up(c: Any) -> None:
        await c.cron.every("job", 4.999, "tick")

    async def script(host: Host) -> None:
        with pytest.raises(ValueError, match="5 seconds or more"):
            await host.call(await make(host), "set_up", [])

    with_host(ticker(set_up), script)
