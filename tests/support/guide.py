"""A guide whose examples run: its fenced blocks in order, and short ways to play a workflow through.

A `python` block defines something. The comment after it that begins with `<!-- test` plays it; readers don't see
it. A `text history`, `text printed` or `text error` block is what a reader is told comes of the last play. `…` in it
stands for anything within a line; runs of spaces count as one.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rivetpy import actor, queue
from rivetpy.actors import ActorDefinition
from rivetpy.cli.journal import build_tree, read_lines
from rivetpy.cli.outline import Wanted, rows
from rivetpy.cli.render_values import value_text
from rivetpy.engine.inspector.shapes import history_json
from rivetpy.host import Host
from rivetpy.host.view import WorkflowView
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import workflow
from tests.support.jump import EPOCH
from tests.support.world import World, until

_FRAGMENT = re.compile(
    r"^```(?P<kind>python|text (?:history|printed|error))\n(?P<code>.*?)^```$|^<!-- test\n(?P<test>.*?)^-->$",
    re.M | re.S,
)

#: Something that happens while an engine is up.
Event = Callable[[Host, str], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A block of the guide: python, test, text history, text printed or text error."""

    kind: str
    text: str
    #: Where its first line is in the file.
    line: int


def sections(path: Path) -> Iterator[tuple[str, list[Fragment]]]:
    """The guide's chapters, by title; each is a namespace of its own."""
    whole = path.read_text()
    starts = [match.start() for match in re.finditer(r"^## ", whole, re.M)] + [len(whole)]
    for start, end in zip([0, *starts], starts, strict=False):
        title = whole[start:end].partition("\n")[0].lstrip("# ")
        yield title, [_fragment(whole, match) for match in _FRAGMENT.finditer(whole, start, end)]


def _fragment(whole: str, match: re.Match[str]) -> Fragment:
    group = "test" if match["kind"] is None else "code"
    return Fragment(match["kind"] or "test", match[group], whole.count("\n", 0, match.start(group)) + 1)


def perform(path: Path, fragments: list[Fragment], names: dict[str, Any]) -> None:
    """Run a chapter. Raises AssertionError where the text says something else than what came."""
    printed = ""
    for fragment in fragments:
        place = f"{path.name}:{fragment.line}"
        match fragment.kind:
            case "python" | "test":
                code = compile("\n" * (fragment.line - 1) + fragment.text, str(path), "exec")
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(code, names)
                printed = out.getvalue()
            case "text history":
                _same(fragment.text, names["play"].last.history, place)
            case "text error":
                _same(" ".join(fragment.text.split()), names["play"].last.error, place)
            case "text printed":
                _same(fragment.text, printed, place)


def _same(said: str, came: str, place: str) -> None:
    lines = [re.sub(r" +", " ", line).rstrip() for line in said.strip().splitlines()]
    wanted = "\n".join(".*".join(map(re.escape, line.split("…"))) for line in lines)
    shown = "\n".join(re.sub(r" +", " ", line).rstrip() for line in came.strip().splitlines())
    assert re.fullmatch(wanted, shown), f"{place} says\n{said}\nbut it is\n{came}"


# -- playing ---------------------------------------------------------------------------------------------


async def crash(host: Host, actor_id: str) -> None:
    """An event: kill -9, and a new engine."""


async def restart(host: Host, actor_id: str) -> None:
    """An event: a clean stop, and a new engine."""


async def the_end(host: Host, actor_id: str) -> None:
    """An event: the workflow ended."""
    await until(host, actor_id)


def send(queue_name: str, body: Any = None) -> Event:
    """An event: a message arrives."""
    return lambda host, actor_id: host.send(actor_id, queue_name, QueueSend(body))


def ask(queue_name: str, body: Any = None) -> Event:
    """An event: a message arrives, and its sender prints the answer."""

    async def event(host: Host, actor_id: str) -> None:
        print((await host.send(actor_id, queue_name, QueueSend(body, wait=True))).response)

    return event


def pause(seconds: float = 0, *, days: float = 0) -> Event:
    """An event: time passes."""
    return lambda host, actor_id: asyncio.sleep(seconds + 86400 * days)


async def recover(host: Host, actor_id: str) -> None:
    """An event: somebody types `rivet recover`."""
    await host.recover(actor_id)


def rewind(place: str) -> Event:
    """An event: somebody types `rivet rewind --to`."""
    return lambda host, actor_id: host.rewind(actor_id, place)


class Play:
    """A workflow that was played through; what became of it."""

    def __init__(self, run: Any, state: Any, queues: tuple[str, ...]) -> None:
        self._state = state
        self._queues = queues
        self._world = World(self._define(run))

    def _define(self, run: Any) -> ActorDefinition:
        if isinstance(run, ActorDefinition):
            return run
        return actor(state=self._state, queues=dict.fromkeys(self._queues, queue()), run=workflow(run))

    def go(self, *events: Event, run: Any = None) -> Play:
        """Let this happen, with other code if ``run`` is given."""
        if run is not None:
            self._world.definition = self._define(run)
        life: list[Event] = []
        for event in (*events, restart):
            if event not in (crash, restart):
                life.append(event)
            elif life:
                self._world.live(_in_order(life), clean=event is restart)
                life = []
        return self

    @property
    def workflow(self) -> WorkflowView:
        view = self._world.view().workflow
        assert view is not None
        return view

    @property
    def output(self) -> Any:
        """What the workflow returned."""
        assert self.workflow.status == "completed", self.workflow
        return self.workflow.output

    @property
    def status(self) -> str:
        return self.workflow.status

    @property
    def error(self) -> str:
        """Why it failed, as one line."""
        return " ".join(str(self.workflow.failure).split())

    @property
    def state(self) -> Any:
        return self._world.view().state

    @property
    def days(self) -> float:
        """How much time passed."""
        return self._world.time / 86400

    @property
    def events(self) -> list[str]:
        """What a watcher was told: kinds."""
        return [event.kind for event in self._world.events]

    @property
    def history(self) -> str:
        """What `rivet history` shows, without times: place, kind, status, attempts, value."""
        lines = read_lines(history_json(self._world.view())["history"])
        now = EPOCH + round(self._world.time * 1000)
        shown = []
        for row in rows(build_tree(lines), Wanted()):
            line, cells = row.line, [f"{row.guide}{row.label}"]
            if line is not None:
                cells += [line.kind, line.status, str(line.attempts or ""), value_text(line, now)]
            shown.append(" ".join([*cells, row.note]))
        return "\n".join(shown)


def _in_order(events: list[Event]) -> Callable[[Host, str], Any]:
    async def script(host: Host, actor_id: str) -> None:
        for event in events:
            await event(host, actor_id)

    return script


class Player:
    """``play(run, *events)``: a fresh actor whose workflow is ``run``; remembers the last one."""

    last: Play

    def __call__(
        self, run: Any, *events: Event, state: Any = None, queues: tuple[str, ...] = ("work", "control")
    ) -> Play:
        self.last = Play(run, state, queues)
        return self.last.go(*(events or (the_end,)))
