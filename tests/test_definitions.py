"""Mistakes in definitions are refused at import, with the rule and the fix (spec actors 2)."""

from __future__ import annotations

from typing import Any

import pytest

from rivetpy import ActorOptions, DefinitionError, actor, event, queue
from rivetpy.workflow import WorkflowContext, workflow


async def flow(ctx: WorkflowContext) -> None: ...


def sync(c: Any) -> None: ...


async def async_(c: Any, state: Any) -> None: ...


MISTAKES: list[tuple[Any, str]] = [
    (lambda: actor(queues=["orders"]), r"queues are a dict by name, {'name': queue\(…\)}, not \['orders'\]"),  # type: ignore[arg-type]
    (lambda: actor(actions=[print]), "actions are a dict by name"),  # type: ignore[arg-type]
    (lambda: actor(events="changed"), "events are a dict by name"),  # type: ignore[arg-type]
    (lambda: actor(on_waek=sync), "no option 'on_waek'. Did you mean 'on_wake'"),
    (lambda: actor(on_wake=3), "on_wake is a function, not 3"),
    (lambda: actor(on_state_change=async_), r"plain def.*wait_until"),
    (lambda: actor(on_migrate=sync), r"actor\(db=True"),
    (lambda: actor(db="file.db"), "db is True"),
    (lambda: actor(vars={}, create_vars=sync), "vars or create_vars, not both"),
    (lambda: actor(conn_state={}, create_conn_state=sync), "conn_state or create_conn_state"),
    (lambda: actor(vars={"lock": (_ for _ in ())}), "make it in create_vars"),
    (lambda: actor(events={"said": queue()}), r"write 'said': event\(\)"),
    (lambda: actor(queues={"said": event()}), r"write 'said': queue\(\)"),
    (lambda: actor(events={"": event()}), "1 to 128 characters"),
    (lambda: actor(run=sync), r"run=workflow\(…\)"),
    (lambda: actor(run=flow), r"run=workflow\(…\)"),
    (lambda: queue(can_publish=True), "can_publish is a function"),
    (lambda: event(can_subscribe="all"), "can_subscribe is a function"),
    (lambda: event(3), "not a type that can be checked"),
    (lambda: ActorOptions(on_connect_timeout=0), "on_connect_timeout=…"),
]


@pytest.mark.parametrize(("make", "said"), MISTAKES)
def test_a_mistake_is_named_with_its_fix(make: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        make()


def test_decorators_build_the_same() -> None:
    definition = actor(vars={})

    @definition.hook
    def on_wake(c: Any) -> None: ...

    @definition.run_loop
    async def run(c: Any) -> None: ...

    assert definition.hooks == {"on_wake": on_wake} and definition.loop is run
    with pytest.raises(DefinitionError, match="run handler already"):
        definition.workflow(flow)
    with pytest.raises(DefinitionError, match="defined twice"):
        definition.hook(on_wake)
    with pytest.raises(DefinitionError, match="no hook 'sync'"):
        definition.hook(sync)

    def create_vars(c: Any) -> None: ...

    with pytest.raises(DefinitionError, match="not both"):
        definition.hook(create_vars)


def test_a_workflow_takes_no_second_run_handler() -> None:
    definition = actor(run=workflow(flow))
    with pytest.raises(DefinitionError, match="flow"):
        definition.run_loop(async_)
