"""A process for the lock's tests: takes a data directory, perhaps hands it to a child, and waits to be killed.

``python holder.py DIRECTORY PORT [child]`` prints the child's pid once it owns the directory. Both end when
whoever started them closes their standard input.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rivetpy.errors import StoreError
from rivetpy.store.lock import DataLock

SLEEPER = "import sys; sys.stdin.read()"


def main(directory: str, port: str, child: str = "") -> None:
    try:
        lock = DataLock.acquire(Path(directory), int(port))
    except StoreError as error:
        sys.exit(error.message)
    pids = []
    if child:
        pids = [subprocess.Popen([sys.executable, "-c", SLEEPER], pass_fds=[lock.fd]).pid]
    print(*pids, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
