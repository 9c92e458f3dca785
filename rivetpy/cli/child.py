"""The process that runs the user's code for `rivet dev`: imports the registry, serves it on the parent's socket."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from typing import NoReturn

from rivetpy.cli.launch import Launch, Report, write_report
from rivetpy.cli.orders import Orders
from rivetpy.cli.problems import CANNOT_START, FAILED


def main() -> NoReturn:
    """Run one `Launch`, and end without waiting for threads that may be stuck in the user's code."""
    launch = Launch.from_argument(sys.argv[1])
    # The parent is gone: what was committed is on disk, and for what was not, nobody could answer any more.
    orders = Orders(launch.orders_fd, lambda: os._exit(FAILED))
    # Not SIG_IGN, which processes that the user's code starts would inherit.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    for descriptor in launch.fds:
        os.set_inheritable(descriptor, False)
    stdout = _own_stdout()
    if launch.log_format == "json":
        from rivetpy.cli.printed import print_objects

        print_objects()
    try:
        code = _run(launch, stdout, orders)
    except (Exception, KeyboardInterrupt) as error:  # no signal raises the latter here: user code did
        code = _unforeseen(error, launch)
    _end(code)


def _end(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(code)


def _own_stdout() -> int:
    """A descriptor for rivet's own lines; what the user's code prints goes to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    # A new object: the old one may believe that it can seek, as in a file, where there is a pipe now.
    sys.stdout = open(1, "w", 1, sys.stderr.encoding, "backslashreplace", closefd=False)  # noqa: SIM115
    return own


def _run(launch: Launch, stdout: int, orders: Orders) -> int:
    gc.disable()  # an import leaves no garbage, and looking for some among it takes a twentieth of a start
    from rivetpy.cli.serving import mending, serve_registry
    from rivetpy.config import RegistryError
    from rivetpy.errors import StoreError

    gc.freeze()
    gc.enable()
    one_at_a_time = threading.Lock()

    def report(report: Report) -> None:
        rest = write_report(report)
        with one_at_a_time:
            while rest:
                rest = rest[os.write(launch.report_fd, rest) :]

    try:
        serve_registry(launch, stdout, report, orders)
    except RegistryError as error:
        report({"failed": error.message, "detail": error.traceback, **mending(launch.registry, error)})
        return CANNOT_START
    except StoreError as error:
        report({"failed": error.message, "detail": ""})
        return CANNOT_START
    return 0


def _unforeseen(error: BaseException, launch: Launch) -> int:
    print(f"rivet: {type(error).__name__}: {error}", file=sys.stderr)
    if launch.log_level == "debug":
        import traceback

        traceback.print_exception(error)
    return FAILED


if __name__ == "__main__":
    main()
