"""Short ways to run one workflow in a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rivetpy import ActorOptions, actor, queue
from rivetpy.actors import ActorDefinition
from rivetpy.host import Host
from rivetpy.host.view import WorkflowView
from rivetpy.workflow import WorkflowContext, workflow
from tests.support.world import World, until

Flow = Callable[[WorkflowContext], Awaitable[Any]]


def define(flow: Flow, *, actions: dict[str, Any] | None = None, **options: Any) -> ActorDefinition:
    """An actor with this workflow, two queues and a small state."""
    return actor(
        state={"n": 0},
        queues={"work": queue(), "control": queue()},
        actions=actions or {},
        run=workflow(flow),
        options=ActorOptions(**options),
    )


def world_of(flow: Flow, **options: Any) -> World:
    """A world in which the actor runs this workflow."""
    return World(define(flow), **options)


async def to_the_end(host: Host, actor_id: str) -> None:
    """A script that waits for the workflow's end."""
    await until(host, actor_id)


def ended(flow: Flow) -> WorkflowView:
    """Run a workflow to its end; how it ended."""
    world = world_of(flow)
    world.live(to_the_end)
    view = world.view().workflow
    assert view is not None
    return view


def reason_of(view: WorkflowView) -> str:
    """Why a workflow failed."""
    assert view.status == "failed" and view.failure is not None, view
    return str(view.failure)
