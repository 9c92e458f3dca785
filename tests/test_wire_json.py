"""JSON values: the tags of the wire, strictness in both directions, and a round trip for whatever Hypothesis finds."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivetpy.errors import EncodeError
from rivetpy.wire.jsonvalue import MAX_DEPTH, JsonError, dumps, from_json, loads, parse, to_json

WHEN = dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)


class Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    data: bytes


GOLDEN = [
    (5, b"5"),
    (2**53, b"9007199254740992"),
    (2**53 + 1, b'["$BigInt","9007199254740993"]'),
    (-(2**53) - 1, b'["$BigInt","-9007199254740993"]'),
    (b"\x00\x01\xff", b'["$Uint8Array","AAH/"]'),
    ({3, 1, 2}, b'["$Set",[1,2,3]]'),
    (["$foo", 1], b'["$$foo",1]'),
    (["$$foo", 1], b'["$$$foo",1]'),
    (["$foo", 1, 2], b'["$foo",1,2]'),
    (["a", "$b"], b'["a","$b"]'),
    ({"$foo": 1}, b'{"$foo":1}'),
    ({"w\xf6rld": "\u2028"}, '{"w\xf6rld":"\u2028"}'.encode()),
]


@pytest.mark.parametrize(("value", "text"), GOLDEN)
def test_values_and_their_text(value: Any, text: bytes) -> None:
    assert dumps(value) == text
    assert loads(text) == value
    assert from_json(to_json(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, ("$x", 2)), b'[1,["$$x",2]]'),
        (WHEN, b'"2023-11-14T22:13:20+00:00"'),
        (WHEN.date(), b'"2023-11-14"'),
        (uuid.UUID(int=1), b'"00000000-0000-0000-0000-000000000001"'),
        (decimal.Decimal("1.50"), b'"1.50"'),
        (Colour.RED, b'"red"'),
        ([Point(1, b"z")], b'[{"x":1,"data":["$Uint8Array","eg=="]}]'),
        (bytearray(b"z"), b'["$Uint8Array","eg=="]'),
    ],
)
def test_types_that_become_their_best_json(value: Any, text: bytes) -> None:
    assert dumps(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'["$Undefined",0]', None),
        (b'["$ArrayBuffer","CQg="]', b"\x09\x08"),
        (b'["\\u0024BigInt","7"]', 7),
        (b'["$Set",[[1,[2]],["$Set",[3]]]]', {(1, (2,)), frozenset({3})}),
    ],
)
def test_tags_that_only_others_write(text: bytes, value: Any) -> None:
    assert loads(text) == value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), "$"),
        ({"a": [1, float("-inf")]}, "$.a[1]"),
        ([{"b": object()}], "$[0].b"),
        ({"a": "\ud800"}, "$.a"),
        ({"when": dt.datetime(2026, 1, 1)}, "$.when"),
        ([decimal.Decimal("NaN")], "$[0]"),
    ],
)
def test_what_has_no_json_form_is_refused_with_its_path(value: Any, path: str) -> None:
    for write in (dumps, to_json) if path != "$.a" else (dumps,):
        with pytest.raises(EncodeError) as refused:
            write(value)
        assert refused.value.path == path


def test_keys_that_are_not_text_and_cycles_are_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in ({1: 2}, cycle):
        with pytest.raises(EncodeError):
            dumps(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "line 1 column 1"),
        (b'{"a":\n 1,}', "line 2 column 4"),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"1e999", "too big"),
        (b"1" * 5000, "5000 digits"),
        (b"\xff", "not UTF-8"),
        (b'{"a":1,"a":2}', "'a' is given twice"),
        (b"[" * 300 + b"]" * 300, "too deep"),
        (b"[" * 100_000, "too deep"),
        (b'"\\ud800"', "lone surrogate"),
        (b'["$Nope",1]', "$$Nope"),
        (b'["$BigInt",5]', "$BigInt"),
        (b'["$BigInt","1_0"]', "$BigInt"),
        (b'["$Uint8Array","*"]', "not base64"),
        (b'["$Set",[{}]]', "can't hold objects"),
    ],
)
def test_text_that_is_no_value_is_refused_and_says_why(text: bytes, says: str) -> None:
    with pytest.raises(JsonError, match=says.replace("$", r"\$")) as refused:
        loads(text)
    assert refused.value.status == 400


def test_depth_is_bounded_alike_in_both_directions() -> None:
    deepest: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        deepest = [deepest]
    assert loads(dumps(deepest)) == deepest
    with pytest.raises(EncodeError):
        dumps([deepest])
    with pytest.raises(JsonError):
        loads(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))


texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.binary()
) | (texts | texts.map(lambda text: "$" + text))
values = st.recursive(
    scalars | st.sets(st.integers() | texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@given(values)
def test_every_value_comes_back(value: Any) -> None:
    text = dumps(value)
    assert loads(text) == value
    assert json.loads(text) == parse(text) == to_json(value)


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_value_or_a_clean_error(data: bytes) -> None:
    try:
        value = loads(data)
    except JsonError:
        return
    assert loads(dumps(value)) == value
