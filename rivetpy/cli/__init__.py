"""The command line: `rivet`."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """The console script: a Ctrl-C while the rest is being imported is one like any other."""
    try:
        from rivetpy.cli import app

        app.main()
    except KeyboardInterrupt:
        sys.exit(130)
