"""What `rivet dev` imports before it serves: each module more is time before the first answer, and at every save."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: The command up to the point where it would take the port.
COMMAND = """
import sys
from rivetpy.cli import dev
dev.run_dev = lambda options: 0
from rivetpy.cli.app import command_line
words = "dev --port 7000 --data-dir data --log-level debug --durability process".split()
command_line(words)(words, standalone_mode=False)
print(*sys.modules)
"""
CHILD = """
import sys
import rivetpy.cli.child, rivetpy.cli.serving
print(*sys.modules)
"""


@pytest.mark.parametrize(
    ("program", "needed", "unwanted"),
    [
        (
            COMMAND,
            "rivetpy.cli.supervisor",
            {"pydantic", "asyncio", "rivetpy.workflow", "watchfiles", "rivetpy.cli.commands.send"},
        ),
        (
            CHILD,
            "rivetpy.engine.app",
            {"pydantic", "typer", "rich", "rivetpy.wire.inspected", "rivetpy.client"},
        ),
    ],
    ids=["parent", "child"],
)
def test_only_what_is_needed_is_imported(program: str, needed: str, unwanted: set[str]) -> None:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert needed in loaded and not unwanted & loaded
