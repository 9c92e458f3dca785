"""Runs the rows named on the command line, or all of them, and prints each as it is ready."""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import rivetpy
from benchmarks import gateway, inside, process
from benchmarks.measure import Row

ROWS: dict[str, Callable[[Path], list[Row]]] = {
    "steps": inside.steps,
    "messages": inside.messages,
    "messages-http": gateway.messages,
    "fan-out": inside.fan_out,
    "cold-start": process.cold_start,
    "send": process.send,
    "reload": process.reload,
    "memory": process.memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"any of {', '.join(ROWS)}")
    parser.add_argument("--dir", type=Path, help="where the databases go; their disk is what is measured")
    options = parser.parse_args()
    if unknown := [name for name in options.rows if name not in ROWS]:
        parser.error(f"no row {unknown[0]!r}; there are {', '.join(ROWS)}")

    print(f"rivetpy {rivetpy.__version__}, Python {platform.python_version()}, {platform.platform()}\n")
    for name in options.rows or ROWS:
        with tempfile.TemporaryDirectory(dir=options.dir, ignore_cleanup_errors=True) as directory:
            for row in ROWS[name](Path(directory)):
                print(row)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
