"""What the parent of `rivet dev` hands to its child, and what the child reports back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rivetpy.config import RegistryRef
from rivetpy.wire.jsonvalue import JsonObject


@dataclass(frozen=True, slots=True)
class Launch:
    """One child's task. File descriptors are inherited under the same numbers."""

    registry: RegistryRef
    data_dir: Path
    durability: str
    strict_replay: bool
    log_level: str
    color: bool
    #: The listening socket, owned by the parent for good.
    socket_fd: int
    #: The lock of the data directory: held until parent and child are gone.
    lock_fd: int
    #: Reads a byte when the parent has said that the engine runs, the end of file when the parent is gone.
    alive_fd: int
    #: Takes the child's reports, a JSON object a line.
    report_fd: int

    def to_argument(self) -> str:
        """The task as a command-line argument."""
        fields = asdict(self) | {"data_dir": str(self.data_dir)}
        fields["registry"] |= {"path": str(self.registry.path), "root": str(self.registry.root)}
        return json.dumps(fields)

    @classmethod
    def from_argument(cls, text: str) -> Launch:
        """The inverse of `to_argument`."""
        fields = json.loads(text)
        ref = fields.pop("registry")
        registry = RegistryRef(Path(ref["path"]), Path(ref["root"]), ref["module"], ref["attribute"])
        return cls(registry, Path(fields.pop("data_dir")), **fields)

    @property
    def fds(self) -> tuple[int, ...]:
        """What the child inherits."""
        return self.socket_fd, self.lock_fd, self.alive_fd, self.report_fd


#: A report is one of: ``{"imported": actors}`` (the user's code is there, and work may begin), ``{"ready": true}``,
#: ``{"failed": message, "detail": lines}`` (it can't start, and would not the next time either).
Report = JsonObject


def write_report(report: Report) -> bytes:
    """A report as bytes, short enough for one write to a pipe."""
    return json.dumps(report).encode() + b"\n"


def actors_report(actors: dict[str, tuple[list[str], list[str]]]) -> Report:
    """``imported``: queues and actions by actor."""
    return {"imported": {name: {"queues": q, "actions": a} for name, (q, a) in actors.items()}}
