"""The listening socket of `rivet dev`, and who has the port when it is taken."""

from __future__ import annotations

import errno
import socket
import sys
from pathlib import Path

from rivetpy.cli.problems import StartProblem

BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at the address; port 0 takes a free one.

    Raises StartProblem, naming who has the port where that can be told.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, proto)
    except OSError as error:
        raise StartProblem(f"--host {host}: {(error.strerror or str(error)).lower()}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by what it accepts. asyncio sets it too, but not for every kind of socket object, and without it
        # an answer in two pieces waits 40 ms for the client's acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(host, port, error) from error
    return listener


def _refused(host: str, port: int, error: OSError) -> StartProblem:
    if error.errno == errno.EADDRINUSE:
        return StartProblem(
            f"Port {port} is taken by {owner_of(port)}. Choose another one: --port {free_after(port)}"
        )
    if error.errno == errno.EACCES:
        return StartProblem(f"Port {port} is not allowed for this user. Choose one above 1023: --port 6420")
    return StartProblem(f"Can't listen at {host} port {port}: {(error.strerror or str(error)).lower()}")


def free_after(port: int) -> int:
    """A port to propose: the next one that is free right now."""
    for candidate in range(port + 1, min(port + 20, 65536)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", candidate))
            except OSError:
                continue
            return candidate
    return 0


def owner_of(port: int) -> str:
    """The process that listens at a port, by way of /proc; of another user's processes nothing is known."""
    unknown = "another program"
    if not sys.platform.startswith("linux"):
        return unknown
    try:
        inodes = _listening_inodes(port)
        for process in Path("/proc").iterdir():
            if process.name.isdecimal() and inodes & _socket_inodes(process):
                words = (process / "cmdline").read_bytes().split(b"\0")
                return f"process {process.name} ({shortened(words)})"
    except OSError:
        return unknown
    return unknown


def shortened(words: list[bytes]) -> str:
    """A command line in at most 60 characters: files without their directories."""
    texts = [word.decode("utf-8", "replace") for word in words]
    text = " ".join(Path(text).name if text.startswith("/") else text for text in texts).strip()
    return text if len(text) <= 60 else text[:59] + "…"


def _listening_inodes(port: int) -> set[str]:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found


def _socket_inodes(process: Path) -> set[str]:
    found = set()
    try:
        for descriptor in (process / "fd").iterdir():
            found.add(str(descriptor.readlink()))
    except OSError:
        return found  # ended meanwhile, or another user's
    return found
