"""`rivet init`: begin a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rivetpy.cli.arguments import JsonFlag
from rivetpy.cli.shared import directory


def init(
    where: Annotated[
        Path,
        typer.Argument(metavar="DIR", parser=directory, help="Where; made if it is not there."),
    ] = Path(),
    as_json: JsonFlag = False,
) -> None:
    """Begin a project that runs at once.

    A registry and a test of it, in a directory that is made if need be. Replaces no file.

    Example: rivet init shop
    """
    from rivetpy.cli.starter import start_project

    start_project(where, as_json)
