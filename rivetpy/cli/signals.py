"""Signals as values: a process that waits for signals and for files at the same time."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Self

#: What asks `rivet dev` to end: Ctrl-C, kill, a terminal that was closed.
ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


class Signals:
    """While entered, the signals wake `wait` and do nothing else; SIGINT too, even where it was ignored."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        os.set_blocking(self._read, False)
        self._before: dict[signal.Signals, signal.Handlers] = {}

    def __enter__(self) -> Self:
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in (*ENDING, signal.SIGCHLD):
            self._before[number] = signal.signal(number, _nothing)  # type: ignore[assignment]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.close(self._read)
        os.close(self._write)

    def wait(self, timeout: float | None, files: Sequence[int] = ()) -> tuple[list[int], list[int]]:
        """The signals that came and the files that can be read, as soon as there is any, or after ``timeout`` s."""
        ready, _, _ = select.select([self._read, *files], [], [], timeout)
        came = list(os.read(self._read, 1024)) if self._read in ready else []
        return came, [file for file in ready if file != self._read]


def _nothing(number: int, frame: FrameType | None) -> None:
    """Having a handler is what lets Python write the signal's number to the pipe."""
