"""Connections that outlive the process that serves them: idle ones go to the next, as open files over a socket.

A server that closes an idle connection may do so in the moment in which its client sends the next request, and the
client can't know whether that was read. So a server that makes room for another closes none: the client's bytes wait
in the kernel, as new connections wait in the backlog.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator

#: Open files that one message may carry.
MOST = 250
_CLOSE_ON_EXEC: int = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Handover:
    """One end of each pair is written by a server that leaves, the other read by the one that comes."""

    def __init__(self, to_next: socket.socket, from_last: socket.socket) -> None:
        self._to_next, self._from_last = to_next, from_last
        to_next.setblocking(False)
        from_last.setblocking(False)
        #: Whether there will be a next one.
        self.leaving = False
        self._given: list[int] = []

    def give(self, transport: asyncio.Transport) -> None:
        """Leave an idle connection to the next server. Nothing of it may wait to be written here."""
        transport.pause_reading()
        if not self._given:
            asyncio.get_running_loop().call_soon(self._send)
        self._given.append(os.dup(transport.get_extra_info("socket").fileno()))
        transport.abort()  # closes this process's file of it, and says nothing to the client

    def take(self) -> Iterator[socket.socket]:
        """The connections that the last server left."""
        with contextlib.suppress(BlockingIOError):
            while True:
                _, files, _, _ = socket.recv_fds(self._from_last, 1, MOST, _CLOSE_ON_EXEC)
                if not files:
                    return
                for file in files:
                    os.set_inheritable(file, False)
                    connection = socket.socket(fileno=file)
                    connection.setblocking(False)
                    yield connection

    def _send(self) -> None:
        given, self._given = self._given, []
        for at in range(0, len(given), MOST):
            with contextlib.suppress(OSError):  # more than the kernel keeps on their way: those are closed
                socket.send_fds(self._to_next, [b"c"], given[at : at + MOST])
        for file in given:
            os.close(file)
