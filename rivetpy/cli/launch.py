"""What the parent of `rivet dev` hands to its child and tells it to do, and what the child reports back."""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rivetpy.config import RegistryRef
from rivetpy.wire.jsonvalue import JsonObject

#: Seconds that actions and steps get to end before a child that was told to leave does: it serves meanwhile.
FINISHING = 10.0


@dataclass(frozen=True, slots=True)
class Launch:
    """One child's task. File descriptors are inherited under the same numbers."""

    registry: RegistryRef
    data_dir: Path
    durability: str
    strict_replay: bool
    log_level: str
    log_format: str
    color: bool
    #: The listening socket, owned by the parent for good.
    socket_fd: int
    #: The lock of the data directory: held until parent and child are gone.
    lock_fd: int
    #: Reads a byte for each `Order`, and the end of file when the parent is gone.
    orders_fd: int
    #: Takes the child's reports, a JSON object a line.
    report_fd: int
    #: Two sockets over which a child that leaves hands its idle connections to the next one: to write, to read.
    handover_fds: tuple[int, int]

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
        handover = tuple(fields.pop("handover_fds"))
        return cls(registry, Path(fields.pop("data_dir")), handover_fds=handover, **fields)

    @property
    def fds(self) -> tuple[int, ...]:
        """What the child inherits."""
        return self.socket_fd, self.lock_fd, self.orders_fd, self.report_fd, *self.handover_fds


class Order(enum.Enum):
    """What the parent tells a child, a byte each."""

    #: When you have imported, see which running workflows the code would break.
    CHECK = b"c"
    #: Import the registry as it is now.
    IMPORT = b"i"
    #: The data is yours: open it and serve.
    GO = b"g"
    #: The parent has said that the engine runs: print what there is to print.
    SPEAK = b"s"
    #: Put the actors away and end: the next child waits for the data.
    LEAVE = b"l"


#: A report is one of: ``{"imported": actors, "files": […]}`` (the user's code is there; see `imported`),
#: ``{"checked": {"broken": […], "count": n, "whole": bool}}`` (it may have the data; which running workflows would
#: break, and whether there was time for all of them), ``{"ready": true}`` (it serves),
#: ``{"files": […], "since": ns}`` (imported later, after this moment),
#: ``{"stuck": "file:line"}`` (where it is in the user's code, or null, when it takes long before it serves),
#: ``{"leaving": true}`` (it was told to leave, and does),
#: ``{"finishing": n}`` (it lets so many actions and steps end first),
#: ``{"failed": message, "detail": lines, "files": […], "folders": […]}`` (it can't start, and would not the next
#: time either; what to watch for a change that mends it).
Report = JsonObject

#: A first start checks nothing: what does not fit says so itself when it runs.
NOT_CHECKED: Report = {"checked": {"broken": [], "count": 0, "whole": True}}


def write_report(report: Report) -> bytes:
    """A report as bytes, one line."""
    return json.dumps(report).encode() + b"\n"
