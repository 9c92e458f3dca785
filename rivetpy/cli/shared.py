"""The options that every command talking to an engine has, written once."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Concatenate, ParamSpec, get_type_hints

import typer

P = ParamSpec("P")


class Color(StrEnum):
    """When output is coloured."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"

    def on(self) -> bool:
        """Whether standard output is to be coloured."""
        if self is Color.AUTO:
            return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return self is Color.ALWAYS


def directory(text: str) -> Path:
    """A directory's name as typed. An empty one is a variable that isn't set, not the current directory."""
    if not str(text):
        raise typer.BadParameter("a directory's name is empty")
    return Path(text)


@dataclass(frozen=True, slots=True)
class Common:
    """Where a command works; each field is an option of each command."""

    endpoint: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The engine's address (or RIVET_ENDPOINT).", show_default=False),
    ] = None
    data_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=directory,
            help="The data directory (or RIVET_DATA_DIR).",
            show_default=False,
        ),
    ] = None
    namespace: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The actors' namespace (or RIVET_NAMESPACE).", show_default=False),
    ] = None
    color: Annotated[Color, typer.Option(help="Colour the output.")] = Color.AUTO


def with_common(command: Callable[Concatenate[Common, P], None]) -> Callable[..., None]:
    """Give a command the common options; its first parameter gets them as one value."""
    names = [field.name for field in fields(Common)]

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        command(Common(**{name: kwargs.pop(name) for name in names}), *args, **kwargs)  # type: ignore[arg-type]

    del run.__wrapped__  # typer must see the signature below
    hints = get_type_hints(Common, include_extras=True)
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    added = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields(Common)
    ]
    run.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
    return run
