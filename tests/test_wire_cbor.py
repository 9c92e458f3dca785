"""CBOR values: bytes captured from JavaScript, what is refused, and a round trip for whatever Hypothesis finds."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
import tracemalloc
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivetpy.errors import EncodeError
from rivetpy.wire.cborvalue import CBOR, PLAIN_CBOR, Wide, dumps, encode, loads
from rivetpy.wire.tags import MAX_DEPTH, JsonError

WHEN = dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("826a24556e646566696e656400", None),
        ("f7", None),
        ("f6", None),
        ("826724426967496e746135", 5),
        ("1b0000000000000005", 5),
        ("c249010000000000000000", 2**64),
        ("c349010000000000000000", -1 - 2**64),
        ("c11a6553f100", WHEN),
        ("c1fb41d954fc4007df3b", WHEN.replace(microsecond=123_000)),
        ("c074323032332d31312d31345432323a31333a32305a", WHEN),
        ("826b2455696e74384172726179644141482f", b"\x00\x01\xff"),
        ("826c244172726179427566666572644351673d", b"\x09\x08"),
        ("d840430001ff", b"\x00\x01\xff"),
        ("d844420102", b"\x01\x02"),
        ("420908", b"\x09\x08"),
        ("d90103a1616101", {"a": 1}),
        ("d90102820102", {1, 2}),
        ("8264245365748201820203", {1, (2, 3)}),
        ("d855440000c03f", [1.5]),
        ("d846480100000002000000", [1, 2]),
        ("d84842ff01", [-1, 1]),
        ("d81b836652656745787061616167", {"source": "a", "flags": "g"}),
        ("d81b82654572726f726178", {"name": "Error", "message": "x"}),
        ("fb4270000000000000", 2**40),
        ("fbc270000000000000", -(2**40)),
        ("fb4340000000000000", 2**53),
        ("fb4340000000000001", 2.0**53 + 2),
        ("f93e00", 1.5),
        ("b90001616e01", {"n": 1}),
        ("bf616e01ff", {"n": 1}),
        ("9f01ff", [1]),
        ("82652424666f6f01", ["$foo", 1]),
        ("d9d9f701", 1),
    ],
)
def test_what_others_write(data: str, value: Any) -> None:
    for notation in (CBOR, PLAIN_CBOR):
        read = loads(bytes.fromhex(data), notation)
        assert read == value
        assert type(read) is type(value)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (5, "05"),
        (2**32 - 1, "1affffffff"),
        (-(2**32), "3affffffff"),
        (2**32, "fb41f0000000000000"),
        (2**40, "fb4270000000000000"),
        (2**53, "fb4340000000000000"),
        (2**53 + 1, "826724426967496e7470" + b"9007199254740993".hex()),
        (WHEN, "c11a6553f100"),
        (WHEN.replace(microsecond=123_000), "c1fb41d954fc4007df3b"),
        (WHEN.astimezone(dt.timezone(dt.timedelta(hours=2))), "c11a6553f100"),
        (b"\x00\x01\xff", "826b2455696e74384172726179644141482f"),
        ({2, 1}, "826424536574820102"),
        (["$foo", 1], "82652424666f6f01"),
        ({"n": None}, "a1616ef6"),
        ("é", "62c3a9"),
    ],
)
def test_what_clients_get(value: Any, data: str) -> None:
    assert dumps(value).hex() == data
    assert loads(bytes.fromhex(data)) == value


def test_numbers_that_must_be_wide() -> None:
    assert encode({"id": Wide(0)}).hex() == "a16269641b0000000000000000"


def test_clients_that_write_no_tags() -> None:
    pair = bytes.fromhex("8264242d2d2d01")
    assert loads(pair, PLAIN_CBOR) == ["$---", 1]
    assert loads(dumps(["$---", 1]), PLAIN_CBOR) == ["$---", 1]
    with pytest.raises(JsonError, match="nobody knows"):
        loads(pair)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", "not CBOR"),
        ("6461", "not CBOR"),
        ("0101", "follows the CBOR at byte 1"),
        ("fb7ff8000000000000", "nan has no JSON form"),
        ("f97c00", "inf has no JSON form"),
        ("d855440000c07f", "nan has no JSON form"),
        ("e0", "simple value 0"),
        ("62c328", "not CBOR"),
        ("a2616101616102", "Duplicate map key"),
        ("a10101", "map key must be"),
        ("a1416101", "A map's keys are text"),
        ("d9010281a0", "can't hold objects"),
        ("d9010201", "A set in CBOR is a list"),
        ("d9010301", "A Map in CBOR is a map"),
        ("c1f6", "number of seconds"),
        ("c1fb7ff8000000000000", "outside the years"),
        ("c11b7fffffffffffffff", "outside the years"),
        ("c06161", "no ISO 8601"),
        ("c06a323032332d31312d3134", "has no zone"),
        ("c201", "A big number"),
        ("d85543000000", "typed array"),
        ("d81b8101", "class that is not known"),
        ("c4821b00000000ffffffff01", "tag 4,"),
        ("c5821b00000000ffffffff01", "tag 5,"),
        ("d81c81d81d00", "tag 29"),
        ("d901008263616161d81900", "tag 25"),
        ("d8236428612b29", "tag 35"),
        ("82642458797a01", "nobody knows"),
        ("9b7fffffffffffffff", "not CBOR"),
        ("5b7fffffffffffffff", "not CBOR"),
        ("bb7fffffffffffffff", "not CBOR"),
        ("81" * 201 + "01", "nesting depth"),
        ("81" * 60000, "nesting depth"),
        ("c1" * 60000, "nesting depth"),
    ],
)
def test_bytes_that_are_no_value_are_refused_and_say_why(data: str, says: str) -> None:
    with pytest.raises(JsonError, match=says):
        loads(bytes.fromhex(data))


def test_values_that_can_not_be_sent_are_refused_with_their_path() -> None:
    for value, path in [({"a": [float("nan")]}, "$.a[0]"), ({"a": "\ud800"}, "$.a"), ([object()], "$[0]")]:
        with pytest.raises(EncodeError) as refused:
            dumps(value)
        assert refused.value.path == path


def test_depth_is_bounded_alike_in_both_directions() -> None:
    deepest: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        deepest = [deepest]
    assert loads(dumps(deepest)) == deepest
    with pytest.raises(EncodeError):
        dumps([deepest])


texts = st.text(st.characters(exclude_categories=["Cs"]))
times = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=st.just(dt.UTC))
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
    assert loads(dumps(value)) == value == loads(dumps(value), PLAIN_CBOR)


@given(times)
def test_instants_come_back(when: dt.datetime) -> None:
    if not 1700 < when.year < 2240:
        when = when.replace(microsecond=when.microsecond // 1000 * 1000)
    assert loads(dumps(when)) == when


@given(st.integers(-(2**53), 2**53))
def test_a_javascript_client_reads_numbers_as_numbers(value: int) -> None:
    assert dumps(value)[0] not in (0x1B, 0x3B)
    assert cbor2.loads(dumps(value)) == value


def _any_cbor() -> st.SearchStrategy[bytes]:
    """Bytes that are CBOR more often than chance makes them."""
    heads = "81 82 a1 c0 c1 c2 d840 d855 d90102 d90103 d81b 9f bf ff f6 f7 05"
    head = st.sampled_from([bytes.fromhex(each) for each in heads.split()])
    part = head | st.binary(max_size=6) | texts.map(cbor2.dumps) | values.map(dumps)
    return st.lists(part, max_size=8).map(b"".join)


@given(_any_cbor() | st.binary())
def test_any_bytes_are_a_value_or_a_clean_error(data: bytes) -> None:
    for notation in (CBOR, PLAIN_CBOR):
        try:
            value = loads(data, notation)
        except JsonError:
            continue
        assert loads(dumps(value)) == value


@pytest.mark.parametrize(
    "data",
    [
        b"\x9a\x00\x00\xff\xf0" + b"\xf6" * 65000,
        b"\x9b" + b"\x7f" * 8 + b"\x80" * 65000,
        b"\x5b\x00\x00\x00\x7f\xff\xff\xff\xff" + b"x" * 65000,
        b"\xc2\x59\xff\x00" + b"\xff" * 0xFF00,
        cbor2.dumps(["$BigInt", "9" * 65000]),
        b"\xd9\x01\x02\x9a\x00\x00\xff\xf0" + b"\x05" * 0xFFF0,
        b"\xd8\x48\x59\xff\x00" + b"\x01" * 0xFF00,
        b"\x81\xd9\x01\x03\xa1\x61a" * 9000,
    ],
)
def test_no_data_costs_more_than_its_length(data: bytes) -> None:
    tracemalloc.start()
    began = time.process_time()
    with contextlib.suppress(JsonError):
        loads(data)
    spent, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(data)
    assert spent < 5
