"""The parent of `rivet dev`: keeps a child running the user's code, brings in the next after a save, ends cleanly."""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rivetpy.cli.launch import FINISHING, Launch, Order, Report
from rivetpy.cli.logline import object_line
from rivetpy.cli.problems import FAILED, INTERRUPTED, StartProblem
from rivetpy.cli.process import Child, Stage
from rivetpy.cli.reload_lines import broken_lines, finishing_line, how_it_ended, news, slow_line
from rivetpy.cli.reloading import LOOK_PERIOD, Reloading
from rivetpy.cli.signals import ENDING, Signals
from rivetpy.cli.stays import HOPELESS, Stays
from rivetpy.cli.text import visible

#: Seconds a child may take to put its actors away and close its store; and one that leaves first lets finish what runs.
GRACE, LEAVING_GRACE = 20.0, 20.0 + FINISHING
#: Seconds a child may take to hear that it has to leave: code that blocks its event loop may do so for ever.
DEAF = 10.0
#: So many imports in a row are begun anew for a save that comes meanwhile; then one is let finish.
MOST_RESTARTS = 3
#: Seconds before a child that died is replaced: the first pause, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0
#: A child that lived so long (seconds) died for a new reason: the pauses begin anew.
HEALTHY = 30.0


@dataclass(slots=True)
class Supervisor:
    """Runs children, of which one at a time has the data, until somebody asks it to end.

    ``announce`` is called with the actors of the first child, as soon as that one is ready. Without ``reloading``
    nothing is watched. ``make`` starts a child.
    """

    launch: Launch
    announce: Callable[[Report], None]
    reloading: Reloading | None = None
    make: Callable[[Launch], Child] = Child
    #: Opens the data, serves, or leaves.
    serving: Child | None = None
    #: Imports and checks, then waits for the data.
    coming: Child | None = None
    #: Has imported all but the user's code, for the next save.
    spare: Child | None = None
    #: The actors of the code that serves or served last; None before the first.
    _actors: Report | None = None
    _stays: Stays = field(default_factory=Stays)
    #: How many imports in a row were begun anew before they came to their end.
    _restarts: int = 0
    #: Why it can't start, once that is so.
    _failure: StartProblem | None = None
    #: How often somebody asked to end.
    _asked: int = 0
    #: When the child that leaves has no more time.
    _deadline: float | None = None
    #: When to start a child after one that died, and how long the next such pause is.
    _again_at: float | None = None
    _pause: float = FIRST_PAUSE
    #: How the child that had the data last ended.
    _code: int = 0

    # -- the loop ----------------------------------------------------------------------------------------

    def run(self) -> int:
        """The exit code. Raises StartProblem when the first child says that it can't start."""
        with Signals() as signals:
            try:
                self.bring()
                while not self.over:
                    self._turn(signals)
            finally:
                self._close()
        if self._failure is not None:
            raise self._failure
        if self._asked > 1:
            return INTERRUPTED
        # A child that was still importing knows no better end than the signal's own.
        return 0 if self._code in {0, -signal.SIGTERM} else FAILED

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do."""
        return not self._alive and bool(self._asked or self._failure)

    @property
    def _alive(self) -> list[Child]:
        return [child for child in (self.serving, self.coming, self.spare) if child is not None]

    def _turn(self, signals: Signals) -> None:
        """Wait until something happens, and see to it."""
        files = [child.reports for child in self._alive if child.talking]
        if self.reloading is not None:
            files.append(self.reloading.descriptor)
        came, _ = signals.wait(self.patience(time.monotonic()), files)
        now = time.monotonic()
        for child in self._alive:
            gone = child.code is not None  # before its last reports are read
            for report in child.read_reports():
                self.heard(child, report, now)
            if gone:
                self.ended(child, now)
        for _ in ENDING.intersection(came):
            self.asked(now)
        self.passed(now)

    def patience(self, now: float) -> float | None:
        """Seconds until something is to be done although nothing happens."""
        self._stays.look(self._alive, now)
        times = [at - now for at in (self._deadline, self._again_at) if at is not None]
        times += self._stays.patience(now)
        if self.reloading is not None:
            times.append(self.reloading.patience(now) if self._may_bring(now) else LOOK_PERIOD)
        return max(0.0, min(times)) if times else None

    # -- what happens ------------------------------------------------------------------------------------

    def passed(self, now: float) -> None:
        """Time has passed: something may be due."""
        self._stays.look(self._alive, now)
        for child in self._stays.silent(now):
            self._slow(child, None, silent=child.pid)
        if self._deadline is not None and now >= self._deadline and self.serving is not None:
            self._say("the engine did not end in time and is killed; nothing is lost")
            self.serving.kill()
            self._deadline = None
        if self.reloading is not None:
            self.reloading.look(now)
        if self._again_at is not None and now >= self._again_at:
            self.bring()
        if self.reloading is not None and self._may_bring(now) and self.reloading.saves.due(now) == 0:
            self.launch = self.reloading.relocated(self.launch)
            self.bring()

    def _may_bring(self, now: float) -> bool:
        """Whether a save is taken up now: one that comes while the newest child gets the data waits until it has, and
        where saves come faster than an import ends, one import is let finish."""
        if self._asked or self._failure is not None:
            return False
        if self.coming is None or self.coming.refused:
            return True
        if self._restarts >= MOST_RESTARTS and self._stays.seconds(self.coming, now) < HOPELESS:
            return False
        return self.coming.stage in {Stage.WARM, Stage.IMPORTING, Stage.CHECKING}

    def bring(self) -> None:
        """Import the registry as it is now, in a child; instead of one that still imports what it was before."""
        self._again_at = None
        if self.coming is not None:
            self._restarts += not self.coming.refused
            self.coming.kill()
            self.coming.close()
        self.coming, self.spare = self._fresh(), None
        if self.reloading is not None:
            self.coming.saved_at = self.reloading.saves.waiting_since
            self.reloading.saves.begin(time.time_ns())
        if self._actors is not None:
            self.coming.order(Order.CHECK)
        self.coming.order(Order.IMPORT)

    def _fresh(self) -> Child:
        if self.spare is None:
            return self.make(self.launch)
        if self.spare.registry == self.launch.registry:
            return self.spare
        self.spare.kill()
        self.spare.close()
        return self.make(self.launch)

    def heard(self, child: Child, report: Report, now: float) -> None:
        """A child has reported something."""
        if self.reloading is not None and child is not self.spare:
            self.reloading.heard(report)
        if "failed" in report:
            self._refused(child, StartProblem(report["failed"], report["detail"]))
        elif "stuck" in report:
            self._slow(child, report["stuck"])
        elif "imported" in report:
            child.actors = report["imported"]
        elif "checked" in report:
            self._restarts = 0
            self._checked(child, report["checked"])
        elif "leaving" in report:
            self._deadline = now + LEAVING_GRACE
        elif "finishing" in report:
            self._say(finishing_line(report["finishing"]))
        elif "ready" in report:
            self._ready(child, now)
        self._advance(now)

    def _advance(self, now: float) -> None:
        """Give the data to a child that waits for it, or have it given up first: never are there two that have it."""
        if self._asked or self.coming is None or self.coming.stage is not Stage.STANDING_BY:
            return
        if self.coming.refused:
            return
        if self.serving is None:
            self.serving, self.coming = self.coming, None
            self.serving.order(Order.GO)
        elif self.serving.stage is Stage.SERVING:
            self.serving.order(Order.LEAVE)
            self._deadline = now + DEAF
        elif self.serving.stage is Stage.OPENING and self._deadline is None:
            self._deadline = now + self._stays.left(self.serving, now)

    def _checked(self, child: Child, told: Report) -> None:
        """Say which workflows would break; with --strict-replay that is a broken save."""
        for line in broken_lines(told):
            self._say(line)
        if told["count"] and self.launch.strict_replay and self.reloading is not None:
            child.refused = True
            child.kill()
            self._say(f"--strict-replay: waiting for the next save{self._meanwhile}")
            self._prepare()

    def _ready(self, child: Child, now: float) -> None:
        self._deadline = None
        before, self._actors = self._actors, child.actors
        if before is None:
            self.announce(child.actors)
        elif child.saved_at is not None:
            self._say(f"reloaded in {now - child.saved_at:.2f} s: {news(before, child.actors)}")
            self._prepare()
        else:
            self._say("the engine runs again")
        child.order(Order.SPEAK)

    def _slow(self, child: Child, site: str | None, silent: int | None = None) -> None:
        """A child takes long for what it is at. It goes on; a save or Ctrl-C ends it."""
        if child is not self.spare and not child.refused and self._stays.tell(child):
            self._say(f"{slow_line(self._name, child.stage, site, silent)}{self._meanwhile}")

    def _prepare(self) -> None:
        """Who has saved once will save again: have a child ready that has only the user's code to import."""
        if self.spare is None and not self._asked:
            self.spare = self.make(self.launch)

    def _refused(self, child: Child, problem: StartProblem) -> None:
        """A child can't start with what is there now."""
        child.refused = True
        self._restarts = 0
        if self._actors is None or self.reloading is None:
            self._failure = problem
            return
        self._say(str(problem), logging.ERROR, problem.detail)
        if child is self.coming:
            self._say(f"waiting for the next save{self._meanwhile}")
            self._prepare()

    @property
    def _meanwhile(self) -> str:
        serves = self.serving is not None and self.serving.stage is not Stage.OPENING
        return "; the last good code goes on" if serves else "; requests wait"

    def ended(self, child: Child, now: float) -> None:
        """A child is gone."""
        code = child.close()
        if child is self.coming:
            if not child.refused and not self._asked:
                self._refused(child, StartProblem(f"{self._name} {how_it_ended(code)} at import"))
            self.coming = None
        elif child is self.spare:
            self.spare = None
        else:
            self.serving, self._code, self._deadline = None, code, None
            self._died(child, now)
        if self._failure is not None or self._asked:
            self._end_others()
        self._advance(now)

    def _died(self, child: Child, now: float) -> None:
        """The child that had the data is gone: another one comes already, or has to come after a pause."""
        comes = self.coming is not None and not self.coming.refused
        if comes or self._asked or self._failure is not None:
            return
        if now - child.started > HEALTHY:
            self._pause = FIRST_PAUSE
        self._say(
            f"the engine {how_it_ended(self._code)}; nothing is lost, it starts again in {self._pause:g} s"
        )
        self._again_at = now + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def asked(self, now: float) -> None:
        """Somebody asks it to end: the first time in good order, the second time at once."""
        self._asked += 1
        self._again_at = None
        self._end_others()
        if self._asked > 1:
            for child in self._alive:
                child.kill()
        else:
            self._say("stopping (Ctrl-C again: at once)")
            if self.serving is not None:
                self.serving.end()
        self._deadline = now + GRACE
        if self.serving is not None and self.serving.stage is Stage.OPENING:
            self._deadline = now + self._stays.left(self.serving, now)

    def _end_others(self) -> None:
        """End the children that have no data to put away."""
        for child in (self.coming, self.spare):
            if child is not None:
                child.kill()

    def _close(self) -> None:
        for child in self._alive:
            child.kill()
            child.close()
        if self.reloading is not None:
            self.reloading.close()

    def _say(self, text: str, level: int = logging.INFO, detail: str = "") -> None:
        """A line of the parent's own, apart from what the child prints; and a traceback below it."""
        told = "\n".join(filter(None, (text, detail)))
        as_json = self.launch.log_format == "json"
        for line in [object_line(level, told)] if as_json else f"rivet: {told}".splitlines():
            say_plainly(line)

    @property
    def _name(self) -> str:
        return self.launch.registry.path.name


def say_plainly(text: str) -> None:
    """A line for people. A terminal that is gone is no reason to end."""
    with contextlib.suppress(OSError):
        print(visible(text), file=sys.stderr, flush=True)
