"""A child of `rivet dev` as its parent sees it: a process, how far it has come, what it is told and what it says."""

from __future__ import annotations

import contextlib
import enum
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from rivetpy.cli.launch import Launch, Order, Report


class Stage(enum.Enum):
    """How far a child has come. Only one in the last three may be alive: it has the data."""

    #: Everything but the user's code is imported.
    WARM = "warm"
    IMPORTING = "importing"
    CHECKING = "checking"
    #: It could serve, and waits for the data.
    STANDING_BY = "standing by"
    OPENING = "opening"
    SERVING = "serving"
    LEAVING = "leaving"


#: Where an order leads, and where it can be given.
_ORDERED = {
    (Stage.WARM, Order.CHECK): Stage.WARM,
    (Stage.WARM, Order.IMPORT): Stage.IMPORTING,
    (Stage.STANDING_BY, Order.GO): Stage.OPENING,
    (Stage.SERVING, Order.SPEAK): Stage.SERVING,
    (Stage.SERVING, Order.LEAVE): Stage.LEAVING,
}
#: Where a report leads.
_REPORTED = {
    (Stage.IMPORTING, "imported"): Stage.CHECKING,
    (Stage.CHECKING, "checked"): Stage.STANDING_BY,
    (Stage.OPENING, "ready"): Stage.SERVING,
}


def after_order(stage: Stage, order: Order) -> Stage:
    """The stage that an order leads to. Raises KeyError where it can't be given."""
    return _ORDERED[stage, order]


def after_report(stage: Stage, report: Report) -> Stage:
    """The stage that a report leads to: most change nothing."""
    return next((_REPORTED[stage, kind] for kind in report if (stage, kind) in _REPORTED), stage)


class Child:
    """One process that runs the user's code. It ends by itself when the parent is gone."""

    def __init__(self, launch: Launch) -> None:
        orders_read, self._orders = os.pipe()
        self.reports, report_write = os.pipe()
        os.set_blocking(self.reports, False)
        launch = replace(launch, orders_fd=orders_read, report_fd=report_write)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "rivetpy.cli.child", launch.to_argument()],
                stdin=subprocess.DEVNULL,
                pass_fds=launch.fds,
                process_group=0,  # a terminal's Ctrl-C is for the parent, which then ends the child cleanly
            )
        finally:
            os.close(orders_read)
            os.close(report_write)
        self.registry = launch.registry
        self.pid = self._process.pid
        #: What its registry holds, once it has imported it.
        self.actors: Report = {}
        self.stage = Stage.WARM
        #: When the save came that it answers, if one made it.
        self.saved_at: float | None = None
        #: Whether it said, or showed, that it can't start.
        self.refused = False
        self.started = time.monotonic()
        #: Whether it may still report something.
        self.talking = True
        self._rest = b""

    @property
    def code(self) -> int | None:
        """Its exit code, a signal's number below 0, None while it runs."""
        return self._process.poll()

    def read_reports(self) -> Iterator[Report]:
        """What it has reported since the last time."""
        try:
            data = os.read(self.reports, 1 << 20)
        except BlockingIOError:
            return
        self.talking = bool(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for report in map(json.loads, lines):
            self.stage = after_report(self.stage, report)
            yield report

    def order(self, order: Order) -> None:
        """Tell it what to do; one that is gone does nothing."""
        self.stage = after_order(self.stage, order)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, order.value)

    def end(self) -> None:
        """Ask it to put its actors away and leave for good."""
        self._process.terminate()

    def kill(self) -> None:
        """End it and what it started, at once; what was committed stays."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> int:
        """Let go of the pipes, and be sure that it is gone; its exit code."""
        os.close(self._orders)
        os.close(self.reports)
        if self.code is None:
            self.kill()
        return self._process.wait()
