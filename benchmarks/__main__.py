"""Runs the rows named on the command line, or all of them, and prints each as it is ready."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import rivetpy
from benchmarks import gateway, growth, inside, peers, process
from benchmarks.measure import Row, floor

ROWS: dict[str, Callable[[Path], list[Row]]] = {
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
    parser.add_argument(
        "--peers",
        nargs="?",
        const=",".join(peers.PEERS),
        metavar="NAMES",
        help=f"compare with these instead (default {','.join(peers.PEERS)}); rows: {', '.join(peers.OURS)}",
    )
    options = parser.parse_args()
    known = peers.OURS if options.peers else ROWS
    if unknown := [name for name in options.rows if name not in known]:
        parser.error(f"no row {unknown[0]!r}; there are {', '.join(known)}")
    names = options.peers.split(",") if options.peers else []
    if unknown := [name for name in names if name not in peers.PEERS]:
        parser.error(f"no peer {unknown[0]!r}; there are {', '.join(peers.PEERS)}")

    print(
        f"rivetpy {rivetpy.__version__}, Python {platform.python_version()}, {platform.platform()}, "
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n"
    )
    with tempfile.TemporaryDirectory(dir=options.dir, ignore_cleanup_errors=True) as directory:
        if options.peers:
            peers.compare(names, options.rows or list(peers.OURS), Path(directory))
            return
        for name in options.rows or ROWS:
            for row in ROWS[name](Path(directory)):
                print(row)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
