"""A message body as a person types it: JSON, ``<"delta":1>``, ``delta:=1 note=hi``, ``@file.json`` or ``-``."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rivetpy.wire.jsonvalue import Value

#: What a pair's key may not hold, else ``{"a=b": 1}`` typed without braces would read as a pair.
_NOT_IN_KEY = frozenset('{}[]<>"\\ \t\n')
_CARET_WIDTH = 72

#: Reads what ``@name`` or ``-`` stands for; raises OSError.
Read = Callable[[str], bytes]


class BodyError(ValueError):
    """Text that is no body. ``str()`` is one line; ``picture`` shows the place with a caret, when there is one."""

    def __init__(self, problem: str, text: str = "", at: int | None = None) -> None:
        super().__init__(problem)
        self.picture = _picture(text, at) if at is not None else ""


def parse_body(words: Sequence[str], read: Read) -> Value:
    """The value that the words of a command line stand for; no words are null.

    Raises BodyError for anything else than one strict JSON value, and OSError from ``read``.
    """
    if not words:
        return None
    if len(words) == 1 and not is_pair(words[0]):
        return _parse_word(words[0], read)
    return _parse_pairs(words)


def parse_argument(word: str, read: Read) -> Value:
    """An action's argument: like a body, but a word that does not look like JSON is text."""
    if word.startswith("@") or word == "-" or _looks_like_json(word):
        return _parse_word(word, read)
    _encodable(word, word)
    return word


def parse_lines(data: bytes, name: str) -> list[Value]:
    """The bodies of a JSON-lines file; empty lines count for nothing. Raises BodyError naming the line."""
    bodies = []
    for number, line in enumerate(_text(data, name).split("\n"), 1):
        if line.strip():
            try:
                bodies.append(parse_json(line))
            except BodyError as error:
                error.args = (f"{name} line {number}: {error}",)
                raise
    return bodies


def parse_json(text: str) -> Value:
    """One strict JSON value; ``<`` and ``>`` outside of strings read as ``{`` and ``}``. Raises BodyError."""
    strict = _braces(text)
    try:
        value = json.loads(
            strict, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        raise BodyError(f"this is not JSON: {_reason(error)}", text, error.pos) from None
    except _Refused as refused:
        at = _find_outside_strings(strict, refused.literal) if refused.literal else None
        raise BodyError(str(refused), text, at) from None
    except RecursionError:
        raise BodyError("this is nested too deeply") from None
    _encodable(value, text)
    return value


def is_pair(word: str) -> bool:
    """Whether a word is ``key=text`` or ``key:=json``."""
    key, equals, _ = word.partition("=")
    return bool(equals) and bool(key.removesuffix(":")) and not _NOT_IN_KEY.intersection(key)


def _parse_word(word: str, read: Read) -> Value:
    if word == "-":
        return parse_json(_text(read("-"), "standard input"))
    if word.startswith("@"):
        if word == "@":
            raise BodyError("@ stands before a file's name: @body.json", word, 1)
        return parse_json(_text(read(word[1:]), word[1:]))
    try:
        return parse_json(word)
    except BodyError as error:
        if word[:1] in "{[" and '"' not in word:
            error.args = (
                f"{error}. If the shell took its quotes away, put it in single ones: '{{\"key\": 1}}'",
            )
        if word.replace("_", "").replace("-", "").isalnum() and word not in _CONSTANTS:
            error.args = (f"""{error}. Text goes in double quotes: '"{word}"'""",)
        raise


def _parse_pairs(words: Sequence[str]) -> dict[str, Value]:
    body: dict[str, Value] = {}
    for word in words:
        if not is_pair(word):
            raise BodyError(
                f"{word!r} is no pair. Several words are pairs (name=text count:=1); "
                "anything else is one quoted word",
            )
        key, _, text = word.partition("=")
        name = key.removesuffix(":")
        if name in body:
            raise BodyError(f"the key {name!r} appears twice")
        _encodable([name, text], word)
        body[name] = _pair_json(word, len(key) + 1) if key != name else text
    return body


def _pair_json(word: str, start: int) -> Value:
    try:
        return parse_json(word[start:])
    except BodyError as error:
        error.args = (f"in {word!r}: {error}",)
        raise


def _looks_like_json(word: str) -> bool:
    text = word.strip()
    return text[:1] in set('{[<"') or text in {"true", "false", "null"} or _is_number(text)


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-")
    if not digits[:1].isdecimal() or not digits.isascii():
        return False
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


_CONSTANTS = {"NaN", "Infinity", "-Infinity"}


class _Refused(Exception):
    """A value that JSON's grammar or Python's parser lets through and a body must not hold."""

    def __init__(self, problem: str, literal: str = "") -> None:
        super().__init__(problem)
        self.literal = literal


def _refuse(constant: str) -> Value:
    raise _Refused(f"{constant} is not JSON, and no body can hold it", constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Refused(f"{text} is too large a number", text)
    return number


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python's own limit, 4300 digits
        raise _Refused(f"a number of {len(text)} digits is too long") from None


def _object(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    made = dict(pairs)
    if len(made) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = counts.most_common(1)[0][0]
        raise _Refused(f"the key {twice!r} appears twice in one object")
    return made


def _reason(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc.rstrip()):
        return "it ends too early" if error.doc.strip() else "it is empty"
    return error.msg[:1].lower() + error.msg[1:].removesuffix(" at")


def _outside_strings(text: str) -> Iterator[tuple[int, str]]:
    """The characters that are not inside JSON strings, with their places."""
    inside = escaped = False
    for place, letter in enumerate(text):
        if escaped:
            escaped = False
        elif inside:
            escaped = letter == "\\"
            inside = letter != '"'
        elif letter == '"':
            inside = True
        else:
            yield place, letter


def _braces(text: str) -> str:
    """Curly brackets for angle ones; they stand for nothing else in JSON, so no meaning is lost."""
    if "<" not in text and ">" not in text:
        return text
    letters = list(text)
    for place, letter in _outside_strings(text):
        if letter in "<>":
            letters[place] = "{" if letter == "<" else "}"
    return "".join(letters)


def _find_outside_strings(text: str, literal: str) -> int | None:
    return next((place for place, _ in _outside_strings(text) if text.startswith(literal, place)), None)


def _encodable(value: Value, text: str) -> None:
    """Refuse half a surrogate pair: no UTF-8, no store and no other language can hold it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BodyError("this holds half a character (a lone surrogate, \\ud800 to \\udfff)", text) from None


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BodyError(
            f"{name} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}"
        ) from None


def _picture(text: str, at: int) -> str:
    """The line with the place and a caret under it, cut to fit a terminal."""
    from rich.cells import cell_len

    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line, column = text[start : end if end >= 0 else len(text)], at - start
    skip = max(0, column - _CARET_WIDTH // 2)
    shown = "".join(letter if letter.isprintable() else "?" for letter in line[skip : skip + _CARET_WIDTH])
    return f"{shown}\n{' ' * cell_len(shown[: column - skip])}^"
