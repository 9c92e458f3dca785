"""Bytes that are nearly right: a seeded mutator for fuzzing."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

#: What parsers trip over.
SPICE = [
    *(
        b"\0",
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b" ",
        b"%",
        b"%00",
        b"%zz",
        b"%2F",
        b"/",
        b"//",
        b"..",
        b"@",
        b"?",
        b"&",
    ),
    *(
        b"rvt-",
        b"rvt-key=",
        b"rvt-input=",
        b"rvt-token=x",
        b",",
        b"=",
        b"+",
        b"\xff",
        b"\xc3\x28",
        b"\xed\xa0\x80",
    ),
    *(
        b"[" * 300,
        b'{"a":' * 300,
        b"9" * 5000,
        b"1e999",
        b"NaN",
        b'["$Set",[{}]]',
        b'["$BigInt","x"]',
        b"\\ud800",
    ),
    *(
        b"\x9f",
        b"\x81" * 300,
        b"\xbf",
        b"\xfb\x7f\xf0",
        b"\x7f\xff\xff\xff\xff",
        b"\xff" * 10,
        b"\xd8\x40\x80",
    ),
    *(
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Content-Length: -1\r\n",
    ),
    *(
        b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
        b"Expect: 100-continue\r\n",
        b"ffffffff\r\n",
        b"0\r\n\r\n",
    ),
]


def mutated(rng: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """The data with one to six changes, some of them pieces of ``others``."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(out))
        end = min(len(out), at + rng.choice([1, 2, 8, 64]))
        match rng.randrange(7):
            case 0 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                del out[at:end]
            case 2:
                out[at:at] = out[at:end] * rng.choice([1, 2, 50])
            case 3:
                out[at:end] = rng.randbytes(end - at)
            case 4 if others:
                other = rng.choice(others)
                start = rng.randint(0, len(other))
                out[at:at] = other[start : start + 200]
            case 5:
                del out[at:]
            case _:
                out[at:at] = rng.choice(SPICE)
    return bytes(out)
