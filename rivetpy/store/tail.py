"""Where the write-ahead log ends, and whether that is a torn end or damage in the middle.

SQLite takes the first frame whose checksum is wrong for the end of the log. After a power cut it is: of a commit that
nobody was told about, some frames are there and some are not. But when whole commits follow behind it, that frame
was good once, and taking it for the end would drop commits that were acknowledged, without a word.
(The formats are those of https://sqlite.org/walformat.html.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

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


class _Frame(NamedTuple):
    """Where it is in the log, of which page, and in a commit's last frame how many pages there are then, else 0."""

    offset: int
    page: int
    size: int


def tail_of(journal: Path) -> Tail | None:
    """What is left behind the end of the journal's log, None for nothing. It must be open, and nobody may write."""
    log, index = (journal.with_name(f"{journal.name}-{end}") for end in ("wal", "shm"))
    try:
        with log.open("rb") as file, journal.open("rb") as database:
            last, salts = _INDEX.unpack(index.read_bytes()[: _INDEX.size])
            return _tail(log, file, database, last, salts)
    except (FileNotFoundError, struct.error):
        return None


def _tail(path: Path, file: BinaryIO, database: BinaryIO, last: int, salts: bytes) -> Tail | None:
    page = _page_size(database)
    header = file.read(_HEADER)
    # A log begins anew in the index first, once the file holds all of it. A process that is killed before it writes the
    # log's header leaves the old frames, maybe with a torn commit behind them, and a reader keeps the index.
    whole = _is_whole(header)
    anew = last == 0 and whole and salts not in {header[16:24], bytes(8)}
    if last == 0:
        salts = header[16:24] if whole else file.read(_FRAME)[8:16]
    behind = list(_frames(file, _HEADER + last * (_FRAME + page), page, salts))
    if not behind:
        return None
    ends = [number for number, frame in enumerate(behind) if frame.size]
    more = not anew and bool(ends) and ends[0] < len(behind) - 1
    if more and last == 0:
        more = not _is_folded(file, database, page, behind[: ends[-1] + 1])
    return Tail(path, _HEADER + last * (_FRAME + page) if last else 0, len(ends), more)


def _is_folded(file: BinaryIO, database: BinaryIO, page: int, frames: Iterable[_Frame]) -> bool:
    """Whether the database file holds all that these frames hold: then nothing is lost with the log's header."""
    newest = {frame.page: frame.offset + _FRAME for frame in frames}
    return all(
        _read(file, at, page) == _read(database, (number - 1) * page, page) for number, at in newest.items()
    )


def _page_size(database: BinaryIO) -> int:
    size = int.from_bytes(_read(database, 16, 2))
    return 65536 if size == 1 else size


def _frames(file: BinaryIO, offset: int, page: int, salts: bytes) -> Iterator[_Frame]:
    """The frames of the log with these salts, from an offset on."""
    while len(head := _read(file, offset, _FRAME)) == _FRAME:
        # One of the two is enough: a frame of an older log shares neither, a damaged one does.
        if head[8:12] == salts[:4] or head[12:16] == salts[4:]:
            yield _Frame(offset, int.from_bytes(head[:4]), int.from_bytes(head[4:8]))
        offset += _FRAME + page


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


def _is_whole(header: bytes) -> bool:
    """Whether the log's own header has the checksum it says."""
    order = "big" if header[:4] == b"\x37\x7f\x06\x83" else "little"
    first = second = 0
    for at in range(0, 24, 8):
        one, other = (int.from_bytes(header[i : i + 4], order) for i in (at, at + 4))  # type: ignore[arg-type]
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return header[24:32] == struct.pack(">II", first, second)
