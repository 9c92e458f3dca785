"""What is kept of an exception: names, text and the cause chain; never a pickle (spec workflows 3)."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.errors import EncodeError, RivetError

MAX_TEXT = 16_384
MAX_CAUSES = 16


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as recorded: the same on the first run and on every replay."""

    type: str
    module: str
    message: str
    group: str | None = None
    code: str | None = None
    metadata: Value = None
    traceback: str = ""
    #: What it was raised from; for an exception group, all its leaves.
    causes: tuple[Failure, ...] = ()
    #: Which entry it stands for.
    location: str | None = None

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type

    @property
    def site(self) -> str | None:
        """file:line of the user code it comes from: where its first cause was raised, as far as that is known."""
        return next(filter(None, (cause.site for cause in self.causes)), None) or site_of(self.traceback)

    def locations(self) -> Iterator[str]:
        """The entries this failure comes from, anywhere in its causes."""
        if self.location is not None:
            yield self.location
        for cause in self.causes:
            yield from cause.locations()

    def leaves(self) -> Iterator[Failure]:
        """The failures at the ends of the cause chain."""
        if not self.causes:
            yield self
        for cause in self.causes:
            yield from cause.leaves()


_FRAME = re.compile(r'^ *File "(.+)", line (\d+)', re.MULTILINE)
#: Not what a person looks for: the engine, the standard library, installed packages.
_NOT_THEIRS = (str(Path(__file__).parent.parent), "/lib/python", "<")


def is_user_code(file: str) -> bool:
    """Whether a frame of this file is what a person looks for."""
    return not any(part in file for part in _NOT_THEIRS)


def site_of(text: str) -> str | None:
    """file:line of the innermost frame of a traceback that is user code; None where there is none."""
    sites = [f"{file}:{line}" for file, line in _FRAME.findall(text) if is_user_code(file)]
    return sites[-1] if sites else None


class RecordedError(RivetError):
    """An error that stands for an entry that failed: ``failures`` is what the journal has of it."""

    location: str
    failures: tuple[Failure, ...]


def failure_of(error: BaseException, depth: int = 0) -> Failure:
    """Describe an exception with everything a reader will want later."""
    group, code, metadata = None, None, None
    if isinstance(error, RivetError):
        group, code = _clip(_text(error.group)), _clip(_text(error.code))
        metadata = _storable(error.metadata)
    return Failure(
        type=type(error).__qualname__,
        module=type(error).__module__,
        message=_clip(_text(error)),
        group=group,
        code=code,
        metadata=metadata,
        traceback=_clip(user_traceback(error)) if depth == 0 else "",
        causes=_causes(error, depth + 1) if depth < MAX_CAUSES else (),
        location=error.location if isinstance(error, RecordedError) else None,
    )


def _causes(error: BaseException, depth: int) -> tuple[Failure, ...]:
    if isinstance(error, BaseExceptionGroup):
        return tuple(failure_of(leaf, depth) for leaf in error.exceptions[:MAX_CAUSES])
    recorded = error.failures if isinstance(error, RecordedError) else ()
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return recorded if cause is None else (*recorded, failure_of(cause, depth))


def user_traceback(error: BaseException) -> str:
    """The traceback without the engine's own frames."""
    return "".join(
        line
        for line in traceback.TracebackException.from_exception(error).format(chain=False)
        if "/rivetpy/workflow/" not in line and "/rivetpy/host/" not in line
    )


def _text(value: object, how: Callable[[object], str] = str) -> str:
    try:
        return how(value)
    except Exception as broken:  # a user's __str__ may raise anything
        return f"<no text: {how.__name__} raised {type(broken).__name__}>"


def _clip(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT // 2] + "\n…\n" + text[-MAX_TEXT // 2 :]


def _storable(value: Value) -> Value:
    try:
        return codec.reread(value)[1]
    except EncodeError:
        return _clip(_text(value, repr))


Packed = list[object]


def pack(failure: Failure) -> Packed:
    """The failure as a list msgpack can take."""
    return [
        failure.type,
        failure.module,
        failure.message,
        failure.group,
        failure.code,
        codec.encode(failure.metadata),
        failure.traceback,
        [pack(cause) for cause in failure.causes],
        failure.location,
    ]


def unpack(packed: list[Value]) -> Failure:
    """The inverse of `pack`."""
    kind, module, message, group, code, metadata, text, causes, *added = packed
    return Failure(
        kind, module, message, group, code, codec.decode(metadata), text, tuple(map(unpack, causes)), *added
    )
