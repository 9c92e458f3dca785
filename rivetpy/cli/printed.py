"""What the user's code prints, as objects: so that all lines of a log for programs are."""

from __future__ import annotations

import io
import logging
import sys
import threading
from typing import BinaryIO, TextIO

from rivetpy.cli.logline import object_line
from rivetpy.workflow.speaking import speaker


def print_objects() -> None:
    """From now on all that Python code prints are objects, of level info, or warning on standard error."""
    sys.stdout, sys.stderr = Printed(sys.stdout, logging.INFO), Printed(sys.stderr, logging.WARNING)


def unwrapped(stream: TextIO) -> TextIO:
    """The stream for what is an object already."""
    return stream.stream if isinstance(stream, Printed) else stream


class Printed(io.TextIOBase):
    """Standard output or error for the user's code: a line that is printed is an object for whoever reads objects."""

    def __init__(self, stream: TextIO, level: int) -> None:
        self.stream = stream
        self._level = level
        self._begun = threading.local()

    def write(self, text: str) -> int:
        """Print what is whole of the lines; a thread's lines are its own."""
        *lines, rest = (getattr(self._begun, "line", "") + text).split("\n")
        self._begun.line = rest
        for line in lines:
            self._say(line)
        return len(text)

    def flush(self) -> None:
        """Print also the line that is begun."""
        if rest := getattr(self._begun, "line", ""):
            self._begun.line = ""
            self._say(rest)
        self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.stream.encoding

    @property
    def buffer(self) -> BinaryIO:
        """For bytes, which come as they are."""
        return self.stream.buffer

    def reconfigure(self, **options: object) -> None:
        """As of the stream there was, for code that sets it up."""
        if isinstance(self.stream, io.TextIOWrapper):
            self.stream.reconfigure(**options)  # type: ignore[arg-type]

    def _say(self, line: str) -> None:
        extra = (whose.extra if (whose := speaker.get()) is not None else None) or {}
        told = object_line(
            self._level, line, *(str(extra[name]) for name in ("actor", "key") if name in extra)
        )
        self.stream.write(told + "\n")
