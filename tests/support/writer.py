"""A process for the kill test: commits numbered rows and says each number once its commit returned.

``python writer.py JOURNAL COMMITTERS`` commits until it is killed. Every batch is two entries and a deletion, so
that half of one would show.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from rivetpy.store import Batch
from rivetpy.store.sqlite import SqliteStore
from tests.support.rows import row


async def commit_for_ever(store: SqliteStore, actor: str) -> None:
    found = dict(await store.load(actor))
    number = int(found.get(b"left", b"-1"))
    while True:
        number += 1
        text = b"%d" % number
        puts = {b"left": text, b"right": text, b"n%d" % number: b"x" * (number * 37 % 5000)}
        await store.commit(Batch(actor, puts=puts, deletes=[b"n%d" % (number - 50)]))
        os.write(1, b"%s %d\n" % (actor.encode(), number))


async def main(journal: str, committers: str) -> None:
    store = SqliteStore.open(Path(journal))
    actors = [f"a{number}" for number in range(int(committers))]
    for actor in actors:
        await store.commit(Batch(actor, row=row(actor)))
    await asyncio.gather(*(commit_for_ever(store, actor) for actor in actors))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
