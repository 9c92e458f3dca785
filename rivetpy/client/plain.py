"""A transport on the standard library alone, quick to import: one connection, kept open, blocking calls."""

from __future__ import annotations

import http.client
import time
from types import TracebackType
from typing import TypeVar

from rivetpy.client.calls import Call, Reply, raise_lost, raise_not_connected
from rivetpy.client.endpoint import Endpoint
from rivetpy.client.sockets import closed_by_peer
from rivetpy.errors import RivetError

T = TypeVar("T")

CONNECT_TIMEOUT = 10.0


class PlainTransport:
    """Carries calls to one endpoint, one at a time.

    ``timeout`` (seconds) bounds the wait for an answer; None waits as long as the server does.
    """

    def __init__(self, endpoint: Endpoint, timeout: float | None = None) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None

    def run(self, call: Call[T]) -> T:
        """Send the call, again where that is safe (wire 6.6), and return its result. Raises RivetError."""
        tries = 1
        while True:
            try:
                return call.result(self._exchange(call))
            except RivetError as error:
                delay = call.retry_delay(error, tries)
                if delay is None:
                    raise
            tries += 1
            time.sleep(delay)

    def close(self) -> None:
        """Close the connection; a later call opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> PlainTransport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _exchange(self, call: Call[T]) -> Reply:
        connection = self._connected()
        try:
            connection.request(call.method, call.path, call.body, dict(call.headers))
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise_lost(self.endpoint, error or type(error).__name__)
        except BaseException:  # an interrupt in the middle of an answer: what comes next would be its rest
            self.close()
            raise
        headers = [(name.lower(), value) for name, value in response.getheaders()]
        return Reply(response.status, headers, body)

    def _connected(self) -> http.client.HTTPConnection:
        connection = self._connection
        if connection is not None and (connection.sock is None or closed_by_peer(connection.sock.fileno())):
            self.close()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> http.client.HTTPConnection:
        secure = self.endpoint.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self.endpoint.host, self.endpoint.port, timeout=CONNECT_TIMEOUT)
        try:
            connection.connect()
        except OSError as error:
            raise_not_connected(self.endpoint, error.strerror or error)
        connection.sock.settimeout(self._timeout)
        return connection
