"""What an actor's rows in the store are called, for everyone who reads or writes them.

========= =================================== ==========================
key       value                               written by
========= =================================== ==========================
``a``     input                               host, once
``c…``    cron job, by name                   cron
``i…``    idempotency record of a send        mailbox
``j…``    journal entry, by location          journal
``k…``    kept value, by kind and key          kv
``n``     the next message id                 mailbox
``q…``    queue message, by id                mailbox, queue waits
``s``     state                               instance
``t…``    call to come, by id                 schedule
``u``     what the last rewind removed        control
``w``     workflow status, output, failure    instance, control
``x``     what opens its inspector            host, once
========= =================================== ==========================
"""

from __future__ import annotations

INPUT = b"a"
CRON = b"c"
IDEMPOTENCY = b"i"
JOURNAL = b"j"
KV = b"k"
NEXT_MESSAGE = b"n"
MESSAGE = b"q"
STATE = b"s"
CALL = b"t"
UNDO = b"u"
WORKFLOW = b"w"
TOKEN = b"x"
#: What rows there are, by the first byte of their keys.
KINDS = frozenset(
    {INPUT, CRON, IDEMPOTENCY, JOURNAL, KV, NEXT_MESSAGE, MESSAGE, STATE, CALL, UNDO, WORKFLOW, TOKEN}
)


def entry_key(location: str) -> bytes:
    """The row of the entry at a location."""
    return JOURNAL + location.encode()


def message_key(message_id: int) -> bytes:
    """The row of a message; sorted by arrival."""
    return MESSAGE + message_id.to_bytes(8, "big")
