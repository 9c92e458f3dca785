"""The three encodings: each writes and reads whatever message a table describes (wire 6, 7.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from rivetpy.errors import EncodeError
from rivetpy.wire import bare, cborvalue, jsonvalue
from rivetpy.wire.structs import VERSION, Struct, Union
from rivetpy.wire.tags import Json, JsonError, JsonObject, Notation, Value, big_int

M = TypeVar("M")

#: What reading raises for bytes that are no message.
UNREADABLE = (JsonError, bare.BareError)


@dataclass(frozen=True)
class TreeEncoding:
    """JSON or CBOR. Has no versions: fields are told apart by their names.

    As in `BareEncoding`, writing raises `EncodeError`, reading RivetError ``actor.invalid_request`` (``what`` is what
    it calls the message).
    """

    #: In ``x-rivet-encoding`` and ``rivet_encoding.``.
    name: str
    content_type: str
    #: Whether its messages are text frames of a socket.
    is_text: bool
    notation: Notation
    loads: Callable[[bytes], Value]
    encode: Callable[[Json], bytes]
    write_wide: Callable[[int], Json]

    def wide(self, number: int) -> Json:
        """A number that JavaScript must read as BigInt."""
        return self.write_wide(number)

    def write(self, struct: Struct[M], message: M, version: int = VERSION) -> bytes:
        return self._encoded(struct.tree(self, message))

    def read(self, struct: Struct[M], data: bytes, what: str) -> M:
        if not data:
            raise JsonError(f"{what} is empty; it is an object in {self.name.upper()}.")
        return struct.check(self.loads(data), what)

    def write_union(self, union: Union[M], message: M, version: int = VERSION) -> bytes:
        _, name, struct = union.of(message)
        return self._encoded({"body": {"tag": name, "val": struct.tree(self, message)}})

    def read_union(self, union: Union[M], data: bytes) -> M:
        tree = self.loads(data)
        body = tree.get("body") if isinstance(tree, dict) else None
        tag = body.get("tag") if isinstance(body, dict) else None
        for name, _, struct in union.members:
            if body is not None and name == tag:
                return struct.check(body.get("val"), name)  # type: ignore[no-any-return]
        raise JsonError(f"A message is {{body: {{tag, val}}}} with a known tag, not {tag!r:.40}.")

    def _encoded(self, tree: JsonObject) -> bytes:
        try:
            return self.encode(tree)
        except ValueError:
            self.notation.slow(tree)  # says where
            raise EncodeError("$", f"has no {self.name} form.") from None


class BareEncoding:
    """BARE: a version in two bytes, then the message without names."""

    name = "bare"
    content_type = "application/octet-stream"
    is_text = False

    def write(self, struct: Struct[M], message: M, version: int = VERSION) -> bytes:
        out = bare.Writer()
        out.fixed(version, 2)
        self._written(struct, out, message, version)
        return bytes(out.data)

    def read(self, struct: Struct[M], data: bytes, what: str) -> M:
        source = bare.Reader(data)
        version = _version(source)
        if version < struct.since:
            raise JsonError(f"{what} is there from version {struct.since} on, not in {version}.")
        message = struct.read(source, version)
        source.end()
        return message

    def write_union(self, union: Union[M], message: M, version: int = VERSION) -> bytes:
        number, _, struct = union.of(message)
        out = bare.Writer()
        out.fixed(version, 2)
        out.uint(number)
        self._written(struct, out, message, version)
        return bytes(out.data)

    def read_union(self, union: Union[M], data: bytes) -> M:
        source = bare.Reader(data)
        version = _version(source)
        number = source.uint()
        if number >= len(union.members):
            raise JsonError(f"A message has a tag below {len(union.members)}, not {number}.")
        message: M = union.members[number][2].read(source, version)
        source.end()
        return message

    def _written(self, struct: Struct[M], out: bare.Writer, message: M, version: int) -> None:
        try:
            struct.write(out, message, version)
        except UnicodeEncodeError:
            raise EncodeError("$", "a str with a lone surrogate is not valid Unicode text.") from None


def _version(source: bare.Reader) -> int:
    version = source.fixed(2)
    if not 1 <= version <= VERSION:
        raise JsonError(f"The message has version {version}; 1 to {VERSION} are known.")
    return version


JSON = TreeEncoding(
    "json", "application/json", True, jsonvalue.JSON, jsonvalue.loads, jsonvalue.encode, big_int
)
CBOR = TreeEncoding(
    "cbor",
    "application/octet-stream",
    False,
    cborvalue.CBOR,
    lambda data: cborvalue.loads(data, cborvalue.PLAIN_CBOR),
    cborvalue.encode,
    cborvalue.wide,
)
BARE = BareEncoding()
Encoding = TreeEncoding | BareEncoding
EncodingName = Literal["bare", "cbor", "json"]
_ALL: dict[str, Encoding] = {encoding.name: encoding for encoding in (JSON, CBOR, BARE)}


def encoding_named(name: str) -> Encoding | None:
    """The encoding of this name, if there is one."""
    return _ALL.get(name)
