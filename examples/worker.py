"""A worker: opens a session with a remote service, works until it is told to stop, closes the session.

The same as the other examples, with decorators.
"""

import httpx
from remote import connect, url

from rivetpy import actor, queue
from rivetpy.workflow import Loop

worker = actor(
    state={"status": "new", "sessionId": None, "processed": 0, "lastResult": None, "reason": None},
    queues={"work": queue(), "control": queue()},
)


async def open_session(step):
    async with connect() as http:
        reply = await http.post(
            "/workers/session",
            json={"worker": step.key[0]},
            headers={"Idempotency-Key": step.idempotency_key},
        )
    session_id = reply.raise_for_status().json()["sessionId"]
    step.state.update(status="working", sessionId=session_id)
    return session_id


async def process_job(step, job):
    async with connect() as http:
        reply = await http.post(
            "/workers/process",
            json={"sessionId": step.state["sessionId"], "job": job},
            headers={"Idempotency-Key": step.idempotency_key},
        )
    step.state["lastResult"] = reply.raise_for_status().json()["result"]
    step.state["processed"] += 1


def close_session(step, session_id, reason):
    """Blocking code: as a plain `def` it runs in a thread of its own and holds nobody up."""
    reply = httpx.delete(
        f"{url()}/workers/session/{session_id}",
        headers={"Idempotency-Key": step.idempotency_key},
    )
    reply.raise_for_status()
    step.state.update(status="stopped", sessionId=None, reason=reason)


async def work_loop(loop):
    message = await loop.queue.next("wait-message", names=["work", "control"])
    if message.name == "control":
        return Loop.break_(message.body["reason"])
    await loop.step("process-job", process_job, message.body)
    return Loop.continue_()


@worker.workflow
async def run(ctx):
    session_id = await ctx.step("set-up", open_session)
    reason = await ctx.loop("work-loop", work_loop)
    await ctx.step("tear-down", close_session, session_id, reason)
    return reason


@worker.action(name="getState")
def get_state(c):
    return c.state
