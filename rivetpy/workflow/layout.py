"""What an actor's rows in the store are called, for everyone who reads or writes them.

========= =================================== ==========================
key       value                               written by
========= =================================== ==========================
``a``     input                               host, once
``i…``    idempotency record of a send        mailbox
``j…``    journal entry, by location          journal
``n``     the next message id                 mailbox
``q…``    queue message, by id                mailbox, queue waits
``s``     state                               instance
``u``     what the last rewind removed        control
``w``     workflow status, output, failure    instance, control
========= =================================== ==========================
"""

from __future__ import annotations

INPUT = b"a"
IDEMPOTENCY = b"i"
JOURNAL = b"j"
NEXT_MESSAGE = b"n"
MESSAGE = b"q"
STATE = b"s"
UNDO = b"u"
WORKFLOW = b"w"


def entry_key(location: str) -> bytes:
    """The row of the entry at a location."""
    return JOURNAL + location.encode()


def message_key(message_id: int) -> bytes:
    """The row of a message; sorted by arrival."""
    return MESSAGE + message_id.to_bytes(8, "big")
