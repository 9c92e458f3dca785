"""`rivet serve`: run a registry for good, on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rivetpy.cli.commands.dev import DurabilityOption, LogLevel
from rivetpy.cli.shared import Color, directory


def serve(
    registry: Annotated[
        str | None,
        typer.Argument(
            metavar="REGISTRY",
            help="A file, module or module:name; found by itself when it is called registry.py.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 6420,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Another than this machine's own needs RIVET_TOKEN.")
    ] = "127.0.0.1",
    data_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=directory,
            help="Where to keep the data (or RIVET_DATA_DIR).",
            show_default="the platform's data directory",
        ),
    ] = None,
    durability: Annotated[
        DurabilityOption,
        typer.Option(help="What a commit survives: a power cut, or kill -9 of the process only."),
    ] = DurabilityOption.DISK,
    log_level: Annotated[LogLevel, typer.Option(help="How much to print.")] = LogLevel.WARNING,
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A Rivet Engine to work for: not possible yet.", show_default=False),
    ] = None,
    color: Annotated[Color, typer.Option(help="Colour the output.")] = Color.AUTO,
) -> None:
    """Run a registry for production, on one machine.

    Like dev, without bringing in code that is saved, and quiet: it prints where it runs, then only what went
    wrong. SIGTERM and Ctrl-C end it cleanly; a child that dies is started again.

    Example: RIVET_TOKEN=… rivet serve registry.py --host 0.0.0.0 --data-dir /var/lib/shop
    """
    from rivetpy.cli.dev import DevOptions, run_dev
    from rivetpy.cli.problems import StartProblem

    if endpoint is not None:
        raise StartProblem(
            "--endpoint: working for a Rivet Engine is not built yet. Without it this machine runs the actors itself"
        )
    options = DevOptions(
        registry=registry,
        host=host,
        port=port,
        data_dir=data_dir,
        fresh=False,
        durability=durability.value,
        strict_replay=False,
        log_level=log_level.value,
        color=color.on(),
    )
    raise typer.Exit(run_dev(options))
