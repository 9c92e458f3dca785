"""`rivet completions`: the script that makes a shell complete `rivet`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    """The shells there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completions(
    shell: Annotated[Shell, typer.Argument(help="The shell.", show_default=False)],
) -> None:
    """Print a shell's completion script.

    It completes commands and options, and from the running engine what is live: actors, keys, queues, actions,
    events, waiting messages, and the entries of a journal.

    Example, for bash in ~/.bashrc: eval "$(rivet completions bash)"
    """
    from rivetpy.cli import shells

    print({Shell.BASH: shells.BASH, Shell.ZSH: shells.ZSH, Shell.FISH: shells.FISH}[shell])


def prepare() -> None:
    """Answer the script's questions from the commands and options; needed only while a shell asks."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
