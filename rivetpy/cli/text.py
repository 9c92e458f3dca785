"""User text for a terminal: printed literally, whatever is in it."""

from __future__ import annotations

import unicodedata

#: Characters that print nothing yet turn the text around them (Trojan source), or break lines.
_TRICKS = frozenset(
    "\u200e\u200f\u061c\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str) -> str:
    """The text with control characters as escapes, so that it can't move the cursor, colour or erase."""
    if text.isprintable():  # no control, format or surrogate character: the usual case
        return text
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter in _SHORT:
        return _SHORT[letter]
    if letter in _TRICKS or unicodedata.category(letter) in {"Cc", "Cs"}:
        code = ord(letter)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return letter
