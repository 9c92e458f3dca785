"""Clients on a real port that do only what they are told, byte for byte."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator, Sequence

_open: list[socket.socket] = []


@contextlib.contextmanager
def ending_all() -> Iterator[None]:
    """Whoever was connected is not any more at the end."""
    try:
        yield
    finally:
        while _open:
            _open.pop().close()


def _connected(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=20)
    sock.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )  # two frames in a row wait for no acknowledgement
    _open.append(sock)
    return sock


def head_of(data: bytes) -> tuple[str, dict[str, str], bytes]:
    """An answer's status line, its headers by their lower-case names, and what follows."""
    head, _, rest = data.partition(b"\r\n\r\n")
    status, *headers = head.decode().split("\r\n")
    return status, {n.lower(): v for n, _, v in (line.partition(": ") for line in headers)}, rest


class Raw:
    """A client that sends bytes, whatever they are."""

    def __init__(self, port: int) -> None:
        self.sock = _connected(port)
        self._rest = b""

    def send(self, data: bytes) -> Raw:
        with contextlib.suppress(OSError):  # refused already
            self.sock.sendall(data)
        return self

    def answer(self) -> tuple[int, str]:
        """Status and error of the next answer."""
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._more()
        status, headers, body = head_of(self._rest)
        size = int(headers.get("content-length", 0))
        while len(body) < size:
            body += self._more()
        self._rest = body[size:]
        return int(status.split()[1]), headers.get("x-rivet-error", "")

    def _more(self) -> bytes:
        data = self.sock.recv(65536)
        assert data, "the connection ended"
        return data

    def ended(self) -> bool:
        """Whether the other side ends it; waits for that."""
        try:
            while self.sock.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True


class Wire:
    """One WebSocket, its handshake done."""

    def __init__(
        self,
        port: int,
        path: str,
        *,
        offer: str | None = "rivet, rivet_encoding.bare",
        host: str = "Host: localhost",
        headers: Sequence[str] = (),
    ) -> None:
        self._sock = _connected(port)
        self._rest = b""
        lines = [
            f"GET {path} HTTP/1.1",
            host,
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
            *headers,
        ]
        if offer is not None:
            lines.append(f"Sec-WebSocket-Protocol: {offer}")
        self._sock.sendall("\r\n".join([*lines, "", ""]).encode())
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._more()
        self.status, self.headers, self._rest = head_of(self._rest)

    def _more(self) -> bytes:
        more = self._sock.recv(65536)
        assert more, "the connection ended"
        return more

    def _take(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._rest += self._more()
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def frame(self) -> tuple[int, bytes]:
        """Opcode and payload of the next frame."""
        first, size = self._take(2)
        if size > 125:
            size = int.from_bytes(self._take(2 if size == 126 else 8))
        return first & 0x0F, self._take(size)

    def message(self) -> bytes:
        """The next message; pings before it are answered."""
        while (frame := self.frame())[0] == 9:
            self.send(frame[1], opcode=10)
        return frame[1]

    def closed(self) -> tuple[int, str]:
        """Code and reason of the close frame, which must be the next; the ray id left out."""
        opcode, payload = self.frame()
        assert opcode == 8
        return struct.unpack(">H", payload[:2])[0], payload[2:].decode().partition("#")[0]

    def send(self, payload: bytes, opcode: int = 2) -> None:
        """Send one frame, masked with zeros."""
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xff" + struct.pack(">Q", size)
        with contextlib.suppress(OSError):  # the server may have closed already
            self.send_all(bytes([0x80 | opcode]) + length + bytes(4) + payload)

    def send_all(self, data: bytes) -> None:
        """Send bytes, whatever they are. Raises OSError when nobody takes them."""
        self._sock.sendall(data)
