"""The child's end of what its parent tells it: orders to wait for, and the parent's end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from rivetpy.cli.launch import Order


class Orders:
    """Reads orders in a thread of its own; ``on_end`` is called there when the parent is gone."""

    def __init__(self, descriptor: int, on_end: Callable[[], object]) -> None:
        self._descriptor = descriptor
        self._on_end = on_end
        #: Set when that order has come.
        self.came = {order: threading.Event() for order in Order}
        self._on_leave: Callable[[], object] = lambda: None
        threading.Thread(target=self._read, name="rivet-orders", daemon=True).start()

    def on_leave(self, leave: Callable[[], object]) -> None:
        """What to call, from another thread, when the parent says so; for who does not serve yet."""
        self._on_leave = leave

    def _read(self) -> None:
        while byte := os.read(self._descriptor, 1):
            order = Order(byte)
            self.came[order].set()
            if order is Order.LEAVE:
                self._on_leave()
        self._on_end()
