"""Runs the rows named on the command line, or all, and prints each as it is ready: a line of a Markdown table."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import rivetpy
from benchmarks import gateway, growth, inside, peers, process
from benchmarks.measure import Row, TooLongError, floor, fresh, within
from benchmarks.peers.peer import Peer

#: Seconds that a row may take until it gives a figure, its peers apart.
LIMIT = 120
ROWS: dict[str, Callable[[Path], Iterable[Row]]] = {
    "floor": floor,
    "steps": inside.steps,
    "messages": inside.messages,
    "messages-http": gateway.messages,
    "fan-out": inside.fan_out,
    "join": inside.join,
    "resume": process.resume,
    "cold-start": process.cold_start,
    "send": process.send,
    "reload": process.reload,
    "memory": process.memory,
    "actions": gateway.actions,
    "growth": growth.growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"any of {', '.join(ROWS)}")
    parser.add_argument("--dir", type=Path, help="where the databases go; their disk is what is measured")
    parser.add_argument("--peers", action="store_true", help="with all other systems beside ours")
    parser.add_argument(
        "--peer",
        action="append",
        choices=peers.PEERS,
        default=[],
        help="with this one beside ours; repeatable",
    )
    options = parser.parse_args()
    if unknown := [name for name in options.rows if name not in ROWS]:
        parser.error(f"no row {unknown[0]!r}; there are {', '.join(ROWS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is put away first
    there = peers.ready(list(peers.PEERS) if options.peers else options.peer)
    print(
        f"rivetpy {rivetpy.__version__}, Python {platform.python_version()}, {platform.platform()}, "
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n"
    )
    with tempfile.TemporaryDirectory(dir=options.dir, ignore_cleanup_errors=True) as directory:
        table(options.rows or list(ROWS), there, Path(directory))
    if there:
        print(f"\n{peers.counts(there)}")


def table(names: Sequence[str], there: Sequence[Peer], directory: Path) -> None:
    """Print the rows, each once it and its peers' are measured."""
    line("row", "", "rivetpy", "of the floor", *(peer.title for peer in there))
    line(*["---"] * (4 + len(there)))
    for name in names:
        print(name, file=sys.stderr)
        try:
            for row in measured(name, fresh(directory)):
                line(f"`{name}`", *row.cells(), *(peers.cell(peer, row, directory) for peer in there))
        except TooLongError:
            line(f"`{name}`", "", "not in time", "", *[""] * len(there))
        except Exception:  # the other rows go on
            traceback.print_exc()
            line(f"`{name}`", "", "failed", "", *[""] * len(there))


def measured(name: str, directory: Path) -> Iterator[Row]:
    """The row's figures; the clock stands still while the peers are at work."""
    with within(LIMIT):
        rows = iter(ROWS[name](directory))
    while True:
        with within(LIMIT):
            if (row := next(rows, None)) is None:
                return
        yield row


def line(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
