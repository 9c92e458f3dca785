"""What a transport asks of the system about a connection it kept."""

from __future__ import annotations

import select


def closed_by_peer(descriptor: int) -> bool:
    """Whether an idle connection has something to read: that is its end, since nothing was asked."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
