"""`rivet send`: put messages into an actor's queue."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import ActorOption, JsonFlag, KeyOption
from rivetpy.cli.problems import UsageProblem
from rivetpy.cli.shared import Common, with_common


@with_common
def send(
    common: Common,
    queue: Annotated[
        str,
        typer.Argument(
            metavar="QUEUE", help="The queue's name.", show_default=False, autocompletion=completing.queues
        ),
    ],
    body: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BODY",
            help="""JSON, '<"delta":1>', pairs (delta:=1 note=hi), @file.json, or - for standard input.""",
            show_default=False,
        ),
    ] = None,
    actor: ActorOption = None,
    key: KeyOption = "main",
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it was handled; print the response.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="How long to wait at most.", show_default=False),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="A second send with the same one is ignored.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(metavar="BODIES.JSONL", help="Send many, one a line (- for stdin).", show_default=False),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Put a message into a queue.

    The actor is found from the queue's name, and made if need be.

    Example: rivet send counter '{"delta": 1}' --wait
    """
    from rivetpy.cli.sending import Letter, read_bodies, send_all, send_one, text_explained
    from rivetpy.cli.source import open_engine
    from rivetpy.wire.bodies import QueueSend

    if timeout is not None and not wait:
        raise UsageProblem("--timeout is for --wait: rivet send --wait --timeout 5 …")
    if file is not None and (body or wait):
        raise UsageProblem("--file takes the bodies from the file; leave out BODY and --wait")
    bodies = read_bodies(body or [], file)
    with open_engine(common) as engine, text_explained(body or []):
        letter = Letter.to(engine, queue, actor, key)
        if file is not None:
            send_all(engine, letter, bodies, idempotency_key, as_json)
        else:
            message = QueueSend(bodies[0], wait, timeout, idempotency_key)
            send_one(engine, letter, message, as_json)
