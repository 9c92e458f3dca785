"""`rivet serve`: run a registry for good, on one machine."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli.running import (
    DataDir,
    Durability,
    DurabilityOption,
    Format,
    Host,
    Level,
    LogFormat,
    LogLevel,
    Port,
    Registry,
)
from rivetpy.cli.shared import Color


def serve(
    registry: Registry = None,
    port: Port = 6420,
    host: Host = "127.0.0.1",
    data_dir: DataDir = None,
    durability: Durability = DurabilityOption.DISK,
    log_level: Level = LogLevel.WARNING,
    log_format: Format = LogFormat.TEXT,
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
        durability=durability.value,
        log_level=log_level.value,
        log_format=log_format.value,
        color=color.on(),
        reload=False,
        verb="serve",
    )
    raise typer.Exit(run_dev(options))
