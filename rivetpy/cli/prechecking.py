"""Before new code gets the data: which of the running workflows it would break. Reads beside the engine that runs."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import time
from collections.abc import Iterator
from pathlib import Path

from rivetpy.cli.checking import STUCK, check_journal
from rivetpy.cli.launch import Report
from rivetpy.cli.offline import Offline
from rivetpy.errors import StoreError
from rivetpy.host.namespaces import DEFAULT
from rivetpy.registry import Registry
from rivetpy.wire.jsonvalue import JsonObject

#: Seconds that a reload waits for the check; newer actors are looked at first.
LONGEST = 1.0
#: So many broken workflows are told one by one.
MOST = 20


def precheck(registry: Registry, data_dir: Path) -> Report:
    """``checked``: the broken workflows (at most `MOST`), how many they are, and whether all were looked at."""
    broken: list[JsonObject] = []
    count, whole = 0, True
    until = time.monotonic() + LONGEST
    with (
        contextlib.suppress(StoreError),
        contextlib.closing(Offline(data_dir, DEFAULT)) as offline,
        _silence(),
    ):
        for journaled in offline.all_journals():
            if (left := until - time.monotonic()) <= 0:
                whole = False
                break
            if not journaled.goes_on:
                continue
            checked = asyncio.run(check_journal(registry, journaled, patience=left))
            if checked.status == STUCK:
                whole = False
            elif not checked.good:
                count += 1
                told = checked.as_json() | {"namespace": _unless_default(journaled.row.namespace)}
                broken += [told] if len(broken) < MOST else []
    return {"checked": {"broken": broken, "count": count, "whole": whole}}


def _unless_default(namespace: str) -> str | None:
    return None if namespace == DEFAULT else namespace


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """What the code between steps prints or logs was said when it ran for the first time."""
    logging.disable()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)
