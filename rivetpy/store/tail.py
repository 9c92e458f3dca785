"""Where the write-ahead log ends, and whether that is a torn end or damage in the middle.

SQLite takes the first frame whose checksum is wrong for the end of the log. After a power cut it is: of a commit that
nobody was told about, some frames are there and some are not. But when whole commits follow behind it, that frame
was good once, and taking it for the end would drop commits that were acknowledged, without a word.
(The formats are those of https://sqlite.org/walformat.html.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_HEADER, _FRAME = 32, 24
#: Of the index that SQLite keeps beside the log: the last good frame, and the log's salts.
_INDEX = struct.Struct("=16xI12x8s")


@dataclass(frozen=True, slots=True)
class Tail:
    """What lies behind the last commit that SQLite takes from the log."""

    path: Path
    #: Where in the log that is, in bytes.
    offset: int
    #: Commits of this log behind it: one may be torn, more were good once.
    commits: int
    #: Whether frames follow the first of those.
    more: bool

    @property
    def damaged(self) -> bool:
        """Whether commits that were acknowledged are lost."""
        return self.more


def tail_of(journal: Path) -> Tail | None:
    """What is left behind the end of the journal's log, None for nothing. It must be open, and nobody may write."""
    log, index = (journal.with_name(f"{journal.name}-{end}") for end in ("wal", "shm"))
    try:
        with log.open("rb") as file:
            last, salts = _INDEX.unpack(index.read_bytes()[: _INDEX.size])
            return _tail(log, file, _page_size(journal), last, salts)
    except (FileNotFoundError, struct.error):
        return None


def _tail(path: Path, file: BinaryIO, page: int, last: int, salts: bytes) -> Tail | None:
    header = file.read(_HEADER)
    if last == 0:
        salts = header[16:24] if _is_whole(header) else file.read(_FRAME)[8:16]
    offset = _HEADER + last * (_FRAME + page) if last else 0
    found = commits = 0
    more = False
    for frame in _frames(file, _HEADER + last * (_FRAME + page), _FRAME + page):
        # One of the two is enough: a frame of an older log shares neither, a damaged one does.
        if frame[8:12] == salts[:4] or frame[12:16] == salts[4:]:
            found += 1
            more = more or commits > 0
            commits += frame[4:8] != bytes(4)
    return Tail(path, offset, commits, more) if found else None


def _page_size(journal: Path) -> int:
    with journal.open("rb") as file:
        size = int.from_bytes(file.read(18)[16:])
    return 65536 if size == 1 else size


def _frames(file: BinaryIO, offset: int, size: int) -> Iterator[bytes]:
    """The heads of the frames from an offset on."""
    while True:
        file.seek(offset)
        head = file.read(_FRAME)
        if len(head) < _FRAME:
            return
        yield head
        offset += size


def _is_whole(header: bytes) -> bool:
    """Whether the log's own header has the checksum it says."""
    order = "big" if header[:4] == b"\x37\x7f\x06\x83" else "little"
    first = second = 0
    for at in range(0, 24, 8):
        one, other = (int.from_bytes(header[i : i + 4], order) for i in (at, at + 4))  # type: ignore[arg-type]
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return header[24:32] == struct.pack(">II", first, second)
