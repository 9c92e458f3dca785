"""How many tests run at once."""

from __future__ import annotations

import os


def pytest_xdist_auto_num_workers() -> int:
    """Two for each processor: half of the tests wait for processes that they started."""
    return 2 * (os.cpu_count() or 1)
