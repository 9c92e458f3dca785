"""When work is due at a time of day: a loop that sleeps until the next one.

    rivet call getState

Cron expressions and schedules are not there yet, so this is plain arithmetic: the next moment, computed from a
recorded time. Mornings that the engine was down for are made up for once, at the next start.
"""

from datetime import UTC, time, timedelta

from rivetpy import actor, setup
from rivetpy.workflow import workflow

DUE = time(6, 30, tzinfo=UTC)  # for the time on a wall: ZoneInfo("Europe/Oslo"), which also knows summer


def next_morning(now):
    here = now.astimezone(DUE.tzinfo)
    morning = here.replace(hour=DUE.hour, minute=DUE.minute, second=0, microsecond=0)
    return morning if morning > here else morning + timedelta(days=1)


async def make_report(step):
    step.state["reports"] += 1


async def morning(loop):
    now = await loop.now("now")  # recorded: a replay in the afternoon still computes this morning
    await loop.sleep_until("next-morning", next_morning(now))
    await loop.step("report", make_report)


async def run(ctx):
    await ctx.loop("mornings", morning)


daily = actor(state={"reports": 0}, run=workflow(run), actions={"getState": lambda c: c.state})
registry = setup(use={"daily": daily})
