"""BARE, as far as the protocol uses it: unsigned ints, text, bytes, flags; optionals and lists of them (wire 7.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rivetpy.errors import RivetError

T = TypeVar("T")

#: A 64-bit number has at most ten groups of seven bits.
MAX_UINT_BYTES = 10


class BareError(RivetError):
    """Bytes that are not what was to be read; the message says at which byte."""

    def __init__(self, problem: str, at: int) -> None:
        super().__init__("actor", "invalid_request", f"This is not BARE: {problem} at byte {at}.", status=400)


class Writer:
    """Appends to ``data``."""

    def __init__(self) -> None:
        self.data = bytearray()

    def fixed(self, value: int, size: int) -> None:
        """A u16, u32, u64: ``size`` bytes, the lowest first."""
        self.data += value.to_bytes(size, "little")

    def uint(self, value: int) -> None:
        """An int of 0 to 2^64-1 in groups of seven bits, the lowest first."""
        if not 0 <= value < 1 << 64:
            raise ValueError(f"{value} is no uint")
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def flag(self, value: bool) -> None:
        """A bool."""
        self.data.append(value)

    def blob(self, value: bytes) -> None:
        """Bytes after their length."""
        self.uint(len(value))
        self.data += value

    def text(self, value: str) -> None:
        """Text as UTF-8 after its length in bytes."""
        self.blob(value.encode())

    def optional(self, value: T | None, write: Callable[[T], None]) -> None:
        """A flag, then the value unless it is None."""
        self.flag(value is not None)
        if value is not None:
            write(value)

    def items(self, values: list[T], write: Callable[[T], None]) -> None:
        """How many, then each."""
        self.uint(len(values))
        for value in values:
            write(value)


class Reader:
    """Takes values from the front of ``data``. Every method raises `BareError`; none holds more than there is."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        end = self._at + size
        if end > len(self._data):
            raise BareError(f"{size} bytes expected, {len(self._data) - self._at} left", self._at)
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def fixed(self, size: int) -> int:
        """A u16, u32, u64."""
        return int.from_bytes(self.take(size), "little")

    def uint(self) -> int:
        """A number in groups of seven bits, no group of which is superfluous."""
        start, value = self._at, 0
        for shift in range(0, 7 * MAX_UINT_BYTES, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= 1 << 64 or (shift and not byte):
                    break
                return value
        raise BareError("no uint", start)

    def flag(self) -> bool:
        """A bool."""
        byte = self.take(1)[0]
        if byte > 1:
            raise BareError(f"a flag is 0 or 1, not {byte}", self._at - 1)
        return bool(byte)

    def blob(self) -> bytes:
        """Bytes after their length."""
        return self.take(self.uint())

    def text(self) -> str:
        """Text after its length."""
        start = self._at
        try:
            return self.blob().decode()
        except UnicodeDecodeError:
            raise BareError("text that is not UTF-8", start) from None

    def optional(self, read: Callable[[], T]) -> T | None:
        """A value, or None where there is none."""
        return read() if self.flag() else None

    def items(self, read: Callable[[], T]) -> list[T]:
        """A list of values, each of at least one byte."""
        start, size = self._at, self.uint()
        if size > len(self._data) - self._at:
            raise BareError(f"a list of {size} is longer than what is left", start)
        return [read() for _ in range(size)]

    def end(self) -> None:
        """Raises `BareError` when something is left."""
        if self._at < len(self._data):
            raise BareError(f"{len(self._data) - self._at} bytes too many", self._at)
