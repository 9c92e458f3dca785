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

    For bash, put this into ~/.bashrc: eval "$(rivet completions bash)"
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="rivet", complete_var="_RIVET_COMPLETE", shell=shell.value))


def prepare() -> None:
    """Answer the script's questions from the commands and options; needed only while a shell asks."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
