"""`rivet dev`: run a registry on a local engine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rivetpy.cli.shared import Color, directory


class DurabilityOption(StrEnum):
    """What a commit survives."""

    DISK = "disk"
    PROCESS = "process"


class LogLevel(StrEnum):
    """From which level on the engine's events are printed."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def dev(
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
    durability: Annotated[
        DurabilityOption,
        typer.Option(help="What a commit survives: a power cut, or kill -9 of the process only."),
    ] = DurabilityOption.DISK,
    strict_replay: Annotated[
        bool,
        typer.Option("--strict-replay", help="Replay every workflow after each wait, to find what diverges."),
    ] = False,
    log_level: Annotated[LogLevel, typer.Option(help="How much to print.")] = LogLevel.INFO,
    color: Annotated[Color, typer.Option(help="Colour the output.")] = Color.AUTO,
) -> None:
    """Run a registry on a local engine.

    Durably, until Ctrl-C; nothing is lost by that, nor by kill -9. Saving one of the registry's own modules brings in
    the new code; a save that does not work leaves the last good one running.
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
        color=color.on(),
        reload=reload,
        watch=tuple(watch or ()),
    )
    raise typer.Exit(run_dev(options))
