"""User text for a terminal: printed literally, whatever is in it."""

from __future__ import annotations

import json
import os
import re
import shlex
import unicodedata
from pathlib import Path

from rivetpy.wire.jsonvalue import Json, JsonObject

#: Control characters, half characters, and what prints nothing yet turns the text around it (Trojan source).
_HIDDEN = frozenset({"Cc", "Cs", "Cf", "Zl", "Zp"})
#: Of those, what joins letters and emoji in honest text.
_JOINERS = frozenset("\u200c\u200d")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str) -> str:
    """The text with control characters as escapes, so that it can't move the cursor, colour or erase."""
    if text.isprintable():  # no control, format or surrogate character: the usual case
        return text
    return "".join(map(_shown, text))


def who(actor: JsonObject) -> str:
    """An actor (wire 4) as a command names it."""
    return f"{shlex.quote(actor['name'])} {shlex.quote(actor['key'] or '/')}"


def near(site: str) -> str:
    """file:line, without the current directory where the file is below it."""
    return site.removeprefix(f"{Path.cwd()}{os.sep}")


def _shown(letter: str) -> str:
    if letter in _SHORT:
        return _SHORT[letter]
    if unicodedata.category(letter) not in _HIDDEN or letter in _JOINERS:
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


#: What JSON lets through unescaped and a terminal obeys, or reorders text by.
_UNESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def json_text(value: Json, indent: int | None = None) -> str:
    """The value as JSON that any program reads, and that does nothing to a terminal."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return _UNESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
