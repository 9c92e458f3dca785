"""`rivet dev`: run a registry on a local engine."""

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


def dev(
    registry: Registry = None,
    port: Port = 6420,
    host: Host = "127.0.0.1",
    data_dir: DataDir = None,
    reload: Annotated[
        bool, typer.Option("--reload/--no-reload", help="Bring in the new code when it is saved.")
    ] = True,
    watch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR|GLOB",
            help="Reload also when something here is saved. May be given several times.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete this registry's data first.")] = False,
    durability: Durability = DurabilityOption.DISK,
    strict_replay: Annotated[
        bool,
        typer.Option(
            "--strict-replay", help="Replay after each wait, and take no save that breaks a workflow."
        ),
    ] = False,
    log_level: Level = LogLevel.INFO,
    log_format: Format = LogFormat.TEXT,
    color: Annotated[Color, typer.Option(help="Colour the output.")] = Color.AUTO,
) -> None:
    """Run a registry on a local engine.

    Durably, until Ctrl-C; nothing is lost by that, nor by kill -9. Saving one of the registry's own modules brings in
    the new code; a save that does not work leaves the last good one running.

    Example: rivet dev registry.py
    """
    from rivetpy.cli.dev import DevOptions, run_dev

    options = DevOptions(
        registry=registry,
        host=host,
        port=port,
        data_dir=data_dir,
        fresh=fresh,
        durability=durability.value,
        strict_replay=strict_replay,
        log_level=log_level.value,
        log_format=log_format.value,
        color=color.on(),
        reload=reload,
        watch=tuple(watch or ()),
    )
    raise typer.Exit(run_dev(options))
