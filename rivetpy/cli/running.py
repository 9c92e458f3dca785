"""The options of the commands that run an engine, `rivet dev` and `rivet serve`, written once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rivetpy.cli.shared import directory


class DurabilityOption(StrEnum):
    """What a commit survives."""

    DISK = "disk"
    PROCESS = "process"


class LogFormat(StrEnum):
    """How events and log records are printed."""

    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    """From which level on the engine's events are printed."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Registry = Annotated[
    str | None,
    typer.Argument(
        metavar="REGISTRY",
        help="A file, module or module:name; found by itself when it is called registry.py.",
        show_default=False,
    ),
]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")]
Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="Another than this machine's own needs RIVET_TOKEN."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        parser=directory,
        help="Where to keep the data (or RIVET_DATA_DIR).",
        show_default="the platform's data directory",
    ),
]
Durability = Annotated[
    DurabilityOption,
    typer.Option("--durability", help="What a commit survives: a power cut, or kill -9 of the process only."),
]
Level = Annotated[LogLevel, typer.Option("--log-level", help="How much to print.")]
Format = Annotated[LogFormat, typer.Option("--log-format", help="Lines for people, or a JSON object a line.")]
