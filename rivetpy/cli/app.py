"""The `rivet` command: its sub-commands, and how every one of them ends."""

from __future__ import annotations

import importlib
import keyword
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, NoReturn

import typer

from rivetpy.cli.problems import FAILED, INTERRUPTED, WRONG_USAGE, Problem
from rivetpy.cli.quick import QuickCommand, QuickGroup
from rivetpy.errors import RivetError

#: Every sub-command, in the order of the help: the function of that name in its module of `rivetpy.cli.commands`.
COMMANDS = (
    "dev",
    "serve",
    "send",
    "call",
    "actors",
    "history",
    "state",
    "queue",
    "watch",
    "replay",
    "rewind",
    "recover",
    "cancel",
    "wake",
    "sleep",
    "destroy",
    "fork",
    "export",
    "import",
    "doctor",
    "init",
    "completions",
)


def command_line(words: Sequence[str]) -> typer.Typer:
    """All sub-commands; one where the first of the ``words`` names it: to make all takes longer than most of them."""
    app = typer.Typer(
        name="rivet",
        cls=QuickGroup,
        help="Durable actors and workflows for Python.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for name in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        app.command(name, cls=QuickCommand)(_command(name))
    return app


def _command(name: str) -> Callable[..., None]:
    name = f"{name}_" if keyword.iskeyword(name) else name
    command: Callable[..., None] = getattr(importlib.import_module(f"rivetpy.cli.commands.{name}"), name)
    return command


def _version(wanted: bool) -> None:
    if wanted:
        from rivetpy import __version__

        print(f"rivet {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Durable actors and workflows for Python."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> NoReturn:
    """Run the command line; every way it may end is an exit code and at most a few lines on stderr."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if "_RIVET_COMPLETE" in os.environ:
        from rivetpy.cli.commands import completions

        completions.prepare()
    code = _guarded()
    try:
        sys.stdout.flush()
    except OSError:
        code = _reader_gone()
    sys.exit(code)


def _open_what_is_closed() -> None:
    """Started without a standard stream (``>&-``): give it an empty one, or the next file or socket gets its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number: this one
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _guarded() -> int:
    try:
        return int(command_line(sys.argv[1:])(prog_name="rivet", standalone_mode=False) or 0)
    except Problem as problem:
        return _say(str(problem), problem.code, problem.detail)
    except RivetError as error:
        return _say(f"{error.message} ({error.group}.{error.code})", FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as ended:
        if not isinstance(ended.__context__, BrokenPipeError):  # which typer turns into this
            raise
        return _reader_gone()
    except OSError as error:
        return _say(_os_error(error), FAILED)
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own: an option or a command it does not know
            return _say(_usage(error), WRONG_USAGE)
        return _unforeseen(error)


def _usage(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "rivet"
    text = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    return f"{text if text.endswith(('.', '?')) else text + '.'} See: {where} --help"


def _say(message: str, code: int, detail: str = "") -> int:
    from rivetpy.cli.text import visible

    if message:
        print(f"error: {visible(message)}", file=sys.stderr)
    if detail:
        print("\n".join(visible(line) for line in detail.splitlines()), file=sys.stderr)
    return code


def _os_error(error: OSError) -> str:
    named = f"{error.filename}: " if error.filename is not None else ""
    return f"{named}{error.strerror or error}"


def _unforeseen(error: Exception) -> int:
    if os.environ.get("RIVET_DEBUG"):
        raise error
    return _say(
        f"{type(error).__name__}: {error}. This is a fault of rivetpy; RIVET_DEBUG=1 shows the traceback.",
        FAILED,
    )


def _reader_gone() -> int:
    """The reader (`| head`) has what it wanted: end quietly, and let Python's last flush find nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    main()
