"""A small stand-in for api.example.com, over real HTTP: run it with `python examples/api.py --port 8080`.

A request with an Idempotency-Key that was seen before gets the first answer again and does nothing. GET /log
tells every request that came, repeats included.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
CART = [
    {"sku": "tea", "quantity": 2, "price": 450},
    {"sku": "teapot", "quantity": 1, "price": 2900},
]


def new_id(prefix: str, key: str) -> str:
    """The same key gives the same id, also after a restart of the stand-in."""
    return f"{prefix}_{hashlib.sha256(key.encode()).hexdigest()[:8]}"


class Service:
    """What the service remembers and how it answers. Amounts are in cents."""

    def __init__(self, delay: float = 0.0) -> None:
        #: Seconds every request but GET /log takes.
        self.delay = delay
        self.lock = threading.Lock()
        self.log: list[Json] = []
        self.replies: dict[str, Json] = {}
        self.total = 0
        self.sessions: set[str] = set()

    def answer(self, method: str, path: str, key: str | None, body: Json) -> Json | None:
        """The reply to a request; None when there is nothing at that path."""
        time.sleep(self.delay)
        with self.lock:
            repeated = key in self.replies
            reply = self.replies[key] if key and repeated else self._perform(method, path, key, body)
            if key and reply is not None:
                self.replies[key] = reply
            asked = {"method": method, "path": path, "key": key, "body": body}
            self.log.append({**asked, "reply": reply, "repeated": repeated})
        return reply

    def _perform(self, method: str, path: str, key: str | None, body: Json) -> Json | None:
        for pattern, endpoint in ENDPOINTS.items():
            if found := re.fullmatch(pattern, f"{method} {path}"):
                return endpoint(self, key or f"{path} {len(self.log)}", body, *found.groups())
        return None

    def cart(self, key: str, body: Json, cart_id: str) -> Json:
        subtotal = sum(line["quantity"] * line["price"] for line in CART)
        return {"id": cart_id, "lines": CART, "subtotal": subtotal}

    def quote(self, key: str, body: Json) -> Json:
        return {"tax": round(body["subtotal"] * 0.2)}

    def invoice(self, key: str, body: Json) -> Json:
        return {"invoiceId": new_id("inv", key), "total": body["total"]}

    def apply(self, key: str, body: Json) -> Json:
        self.total = body.get("value", self.total) + body["delta"]
        return {"nextValue": self.total, "operationId": new_id("op", key)}

    def open_session(self, key: str, body: Json) -> Json:
        session_id = new_id("ses", key)
        self.sessions.add(session_id)
        return {"sessionId": session_id}

    def process(self, key: str, body: Json) -> Json:
        return {"result": f"done: {json.dumps(body.get('job'), sort_keys=True)}"}

    def close_session(self, key: str, body: Json, session_id: str) -> Json:
        self.sessions.discard(session_id)
        return {"closed": session_id}


ENDPOINTS: dict[str, Callable[..., Json]] = {
    r"GET /carts/([^/]+)": Service.cart,
    r"POST /tax/quote": Service.quote,
    r"POST /invoices": Service.invoice,
    r"POST /counter/apply": Service.apply,
    r"POST /workers/session": Service.open_session,
    r"POST /workers/process": Service.process,
    r"DELETE /workers/session/([^/]+)": Service.close_session,
}


class Handler(BaseHTTPRequestHandler):
    """Carries requests to the service and its replies back."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    service: Service

    def handle_request(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(size)
        if len(data) < size:  # the caller was killed in the middle of its request
            self.close_connection = True
            return
        try:
            body = json.loads(data or b"{}")
            if (self.command, self.path) == ("GET", "/log"):
                self.reply(200, {"requests": self.service.log, "sessions": sorted(self.service.sessions)})
                return
            reply = self.service.answer(self.command, self.path, self.headers.get("Idempotency-Key"), body)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            self.reply(400, {"error": f"{type(error).__name__}: {error}"})
        else:
            self.reply(200 if reply is not None else 404, reply or {"error": f"nothing at {self.path}"})

    do_GET = do_POST = do_DELETE = handle_request  # noqa: N815 - the names http.server looks for

    def reply(self, status: int, body: Json) -> None:
        data = json.dumps(body).encode()
        # A caller that was killed meanwhile takes no answer.
        with contextlib.suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: GET /log tells it all."""


class Server(ThreadingHTTPServer):
    """Quiet about callers that go away in the middle of a request."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def bind(port: int = 0, delay: float = 0.0) -> tuple[Server, str]:
    """A server on a port of this machine (0: a free one), and its URL."""
    handler = type("BoundHandler", (Handler,), {"service": Service(delay)})
    server = Server(("127.0.0.1", port), handler)
    return server, f"http://127.0.0.1:{server.server_port}"


def start() -> str:
    """Starts a stand-in in a background thread of this process and returns its URL."""
    server, url = bind()
    threading.Thread(target=server.serve_forever, name="example-api", daemon=True).start()
    return url


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds every request takes")
    options = parser.parse_args()
    server, url = bind(options.port, options.delay)
    print(f"stand-in for api.example.com at {url}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
