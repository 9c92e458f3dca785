"""Values: every one comes back equal or is refused with its place, and nothing ever changes silently."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import sys
import types
import uuid
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgpack
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivetpy import codec
from rivetpy.codec.types import pack
from rivetpy.codec.walk import walk
from rivetpy.errors import EncodeError, StoreError

BERLIN = ZoneInfo("Europe/Berlin")


class Colour(enum.Enum):
    RED = "red"
    ONE = 1


class Level(enum.IntEnum):
    HIGH = 5


class Mode(enum.StrEnum):
    ON = "on"


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Slim:
    x: Any


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)
    x: Any
    more: list[Model] = []


class Pair(NamedTuple):
    left: Any
    right: Any


class Shout(str):
    def __str__(self) -> str:
        return "something else"


class Own(str):
    """Equal to nothing but itself, so that two with the same text fit in one dict or set."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class Hashable(list[Any]):
    __hash__ = object.__hash__  # type: ignore[assignment]


class Wide(float):
    pass


def came_back(value: Any) -> Any:
    """The value as the table says it comes back."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Point):
        return {"x": came_back(value.x), "y": came_back(value.y)}
    if isinstance(value, Slim):
        return {"x": came_back(value.x)}
    if isinstance(value, Model):
        return {"x": came_back(value.x), "more": [came_back(each) for each in value.more]}
    if isinstance(value, dict):
        return {came_back(key): came_back(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [came_back(item) for item in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Equal, and of equal types all the way down: 1 is not True, 0.0 is not -0.0, 1.0 is not Decimal('1.00')."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        by_type = [collections.Counter((type(member), member) for member in each) for each in (left, right)]
        return by_type[0] == by_type[1]
    if isinstance(left, dt.datetime):
        return left == right and left.utcoffset() == right.utcoffset()
    if isinstance(left, float | decimal.Decimal):
        return repr(left) == repr(right)
    return bool(left == right)


def has_text(offset: dt.timedelta) -> bool:
    """Python itself does not read back the offsets below a second that are not 0."""
    return not offset or abs(offset) >= dt.timedelta(seconds=1)


zones = st.one_of(
    st.just(dt.UTC),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]).map(ZoneInfo),
    st.timedeltas(min_value=dt.timedelta(hours=-23), max_value=dt.timedelta(hours=23))
    .filter(has_text)
    .map(dt.timezone),
)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
hashables = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(min_value=-(2**200), max_value=2**200),
        st.floats(allow_nan=False, allow_infinity=False),
        text,
        st.binary(max_size=20),
        st.datetimes(timezones=zones, allow_imaginary=True),
        st.dates(),
        st.uuids(),
        st.decimals(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(st.frozensets(inner, max_size=4), st.lists(inner, max_size=3).map(tuple)),
    max_leaves=4,
)
values = st.recursive(
    st.one_of(hashables, st.sampled_from([*Colour, *Level, *Mode]), st.sets(hashables, max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(text | st.sampled_from([*Mode]), inner, max_size=4),
        st.builds(Point, inner, inner),
        st.builds(Slim, inner),
        st.builds(Pair, inner, inner),
        inner.map(lambda x: Model(x=x, more=[Model(x=None)])),
    ),
    max_leaves=12,
)
quick = settings(max_examples=100, deadline=None, database=None)


@quick
@given(values)
def test_every_value_of_the_table_comes_back(value: Any) -> None:
    expected = came_back(value)
    data, again = codec.reread(value)
    assert same(again, expected)
    assert same(codec.decode(data), expected)
    assert codec.encode(again) == data, "what came back is stored as the same bytes"


@quick
@given(values)
def test_the_quick_and_the_slow_way_agree(value: Any) -> None:
    assert pack(walk(value)) == codec.encode(value)[1:]


BAD: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "NaN of a subclass": Wide("nan"),
    "Decimal NaN": decimal.Decimal("sNaN"),
    "Decimal infinity": decimal.Decimal("Infinity"),
    "surrogate": "a\ud800",
    "naive": dt.datetime(2020, 1, 1),
    "zone of a microsecond": dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(microseconds=1))),
    "object": object(),
    "function": len,
    "class": Point,
    "complex": 1j,
    "generator": (x for x in ()),
    "open file": sys.stderr,
    "deque": collections.deque([1]),
    "view": {}.keys(),
    "proxy": types.MappingProxyType({}),
    "exception": ValueError("x"),
    "time": dt.time(1),
    "timedelta": dt.timedelta(1),
    "int key": {1: 2},
    "None key": {None: 2},
    "tuple key": {("a",): 2},
    "bytes key": {b"a": 2},
    "IntEnum key": {Level.HIGH: 1},
    "surrogate key": {"\udfff": 1},
    "colliding keys": {Colour.RED: 1, "red": 2},
    "colliding text": {Own("a"): 1, Own("a"): 2},
    "colliding members": {Colour.ONE, 1},
    "a subclass of set": type("Bag", (set,), {})([1]),
    "an unset field": Model.model_construct(),
    "a dict that is a record": dataclasses.make_dataclass("Both", ["x"], bases=(dict,))(1),
}


@st.composite
def places(draw: st.DrawFn) -> tuple[Any, str]:
    """A place inside a sound value: a function that puts something there, and its path."""
    steps: list[tuple[Any, str]] = []
    for _ in range(draw(st.integers(0, 4))):
        before = draw(st.lists(values, max_size=2))
        key = draw(text)
        kind = draw(st.sampled_from(["list", "tuple", "dict", "record", "model"]))
        if kind in ("list", "tuple"):
            make = tuple if kind == "tuple" else list
            steps.append((lambda x, make=make, before=before: make([*before, x]), f"[{len(before)}]"))
        elif kind == "dict":
            name = f".{key}" if key.isidentifier() else None
            steps.append((lambda x, key=key: {"-": 1, key: x}, name or f"[{key!r}]"))
        elif kind == "record":
            steps.append((lambda x: Point(1, [x]), ".y[0]"))
        else:
            steps.append((lambda x: Model(x=1, more=[Model(x=x)]), ".more[0].x"))

    def build(value: Any) -> Any:
        for make, _ in reversed(steps):
            value = make(value)
        return value

    return build, "$" + "".join(step for _, step in steps)


@pytest.mark.parametrize("bad", BAD)
@settings(max_examples=5, deadline=None, database=None)
@given(places())
def test_what_cannot_be_kept_is_refused_with_its_place(bad: str, place: tuple[Any, str]) -> None:
    build, path = place
    with pytest.raises(EncodeError) as refused:
        codec.reread(build(BAD[bad]))
    if "..." not in refused.value.path:  # a long key is shortened
        assert refused.value.path == path
    assert refused.value.code == "value_not_encodable"
    assert refused.value.message == f"{refused.value.path}: {refused.value.problem}"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": {("x", float("nan"))}}, "$.a{…}[1]"),
        ({"a": {"\ud800"}}, "$.a{…}"),
        ({"a": {Slim(1)}}, "$.a{…}"),
        ({"a": {(1, Slim(1))}}, "$.a{…}[1]"),
        ({"a": {Hashable([1])}}, "$.a{…}"),
        ([{frozenset({decimal.Decimal("NaN")})}], "$[0]{…}{…}"),
    ],
)
def test_what_a_set_cannot_hold_is_refused(value: Any, path: str) -> None:
    with pytest.raises(EncodeError) as refused:
        codec.encode(value)
    assert refused.value.path == path


def test_cycles_are_refused_where_they_close() -> None:
    inner: dict[str, Any] = {}
    inner["again"] = [inner]
    record = Point(1)
    record.y = {"back": record}
    for value, path in [({"a": inner}, "$.a.again[0]"), ([record], "$[0].y.back")]:
        with pytest.raises(EncodeError, match="contains itself") as refused:
            codec.encode(value)
        assert refused.value.path == path


@pytest.mark.parametrize("leaf", [1, 1.7e308, float("nan")], ids=["quick", "slow", "bad"])
def test_two_hundred_levels_are_kept_and_any_number_is_survived(leaf: float) -> None:
    for levels in (199, 600, 1500, 100_000):
        value: Any = leaf
        for _ in range(levels):
            value = [value]
        try:
            again = codec.reread(value)[1]
        except EncodeError as refused:
            assert levels > codec.MAX_DEPTH or leaf != leaf
            assert len(refused.message) < 1000
        else:
            while isinstance(again, list):
                (again,) = again
            assert again == leaf


def test_shared_parts_are_not_cycles_and_come_back_apart() -> None:
    part = [1]
    _, again = codec.reread({"a": part, "b": part, "c": Mode.ON})
    again["a"].append(2)
    assert again == {"a": [1, 2], "b": [1], "c": "on"}


def test_a_value_does_not_share_anything_with_what_comes_back() -> None:
    value = {"list": [1]}
    data, again = codec.reread(value)
    again["list"].append(2)
    assert value == {"list": [1]} == codec.decode(data)


def test_subclasses_come_back_as_the_native_type_whatever_they_override() -> None:
    value = [Shout("real"), {Shout("key"): 1}, Wide(1.5), collections.OrderedDict(b=1, a=2), Hashable([1])]
    assert same(codec.reread(value)[1], ["real", {"key": 1}, 1.5, {"b": 1, "a": 2}, [1]])
    assert same(codec.reread([collections.defaultdict(list, a=1)])[1], [{"a": 1}])
    assert same(codec.reread([bytearray(b"ab"), memoryview(b"abcd")[::2]])[1], [b"ab", b"ac"])


def test_a_model_keeps_its_extra_fields() -> None:
    assert codec.reread(Model(x=1, other=2))[1] == {"x": 1, "more": [], "other": 2}


def test_integers_of_any_size() -> None:
    for value in (2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**10_000, -(10**10_000)):
        assert codec.decode(codec.encode([value])) == [value]


@pytest.mark.parametrize("fold", [0, 1])
@pytest.mark.parametrize("naive", [dt.datetime(2023, 10, 29, 2, 30), dt.datetime(2023, 3, 26, 2, 30)])
def test_the_hour_that_comes_twice_and_the_one_that_never_comes(naive: dt.datetime, fold: int) -> None:
    value = naive.replace(tzinfo=BERLIN, fold=fold)
    again = codec.decode(codec.encode(value))
    assert again == value
    assert (again.utcoffset(), again.tzinfo, again.fold) == (value.utcoffset(), BERLIN, fold)


def test_a_zone_that_is_gone_or_has_new_rules_keeps_the_moment() -> None:
    winter = dt.datetime(2023, 1, 1, 12, tzinfo=BERLIN)
    data = codec.encode(winter)
    for changed in (b"Atlantis/Citys", b"Europe/London"):
        other = data.replace(b"Europe/Berlin", changed[:13])
        assert codec.decode(other) == winter
    assert codec.decode(data.replace(b"Europe/Berlin", b"Europe/Moscow")) == winter


def test_a_zone_that_cannot_be_named_is_refused_when_it_matters() -> None:
    twice = dt.datetime(2023, 10, 29, 2, 30, fold=1, tzinfo=ZoneInfo.no_cache("Europe/Berlin"))
    with pytest.raises(EncodeError, match="zone"):
        codec.encode([twice])


def test_equal_sets_have_equal_bytes() -> None:
    left, right = {0, 8}, {8, 0}
    assert list(left) != list(right), "the order of a set is the order of its making"
    assert codec.encode(left) == codec.encode(right)
    assert codec.encode({(1, 2), "a"}) != codec.encode(frozenset({(1, 2), "a"}))


def test_a_broken_property_is_an_encode_error() -> None:
    class Broken(pydantic.BaseModel):
        @property
        def x(self) -> int:
            raise RuntimeError

    class Zone(dt.tzinfo):
        def utcoffset(self, when: object) -> dt.timedelta:
            raise RuntimeError

    class Itself(enum.Enum):
        A = 1

        @property
        def value(self) -> Any:
            return self

    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    for value in (dt.datetime(2020, 1, 1, tzinfo=Zone()), Itself.A, Silent(), {Silent(): 1}):
        with pytest.raises(EncodeError) as refused:
            codec.encode([value])
        assert refused.value.path == "$[0]"


def test_msgpacks_own_types_are_not_a_way_around() -> None:
    assert codec.reread([msgpack.ExtType(99, b"x")])[1] == [[99, b"x"]]


GOLDEN: list[tuple[Any, str]] = [
    (None, "01c0"),
    ({"a": [1, -1, True, 1.5, "ä", b"\x00"]}, "0181a1619601ffc3cb3ff8000000000000a2c3a4c40100"),
    (2**64, "01c70901010000000000000000"),
    (-(2**63) - 1, "01c70901ff7fffffffffffffff"),
    (dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC), "01c71902" + b"2024-02-29T12:30:00+00:00".hex()),
    (
        dt.datetime(2024, 2, 29, 12, 30, 0, 1, tzinfo=BERLIN),
        "01c72f02" + b"2024-02-29T12:30:00.000001+01:00[Europe/Berlin]".hex(),
    ),
    (dt.date(2024, 2, 29), "01c70a03" + b"2024-02-29".hex()),
    (uuid.UUID(int=1), "01d804" + "00" * 15 + "01"),
    (decimal.Decimal("1.50"), "01d605" + b"1.50".hex()),
    ({3, 1, 2}, "01c70306010203"),
    (frozenset({(1, "a")}), "01d6079201a161"),
]


@pytest.mark.parametrize(("value", "stored"), GOLDEN, ids=[str(value)[:20] for value, _ in GOLDEN])
def test_stored_values_look_like_this_for_ever(value: Any, stored: str) -> None:
    assert codec.encode(value).hex() == stored
    assert same(codec.decode(bytes.fromhex(stored)), value)


def test_a_newer_form_is_refused() -> None:
    for data in (b"\x02\xc0", b"", bytes.fromhex("01d46300")):
        with pytest.raises(StoreError) as refused:
            codec.decode(data)
        assert refused.value.code == "newer_format"


@given(st.binary(max_size=40))
@quick
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        codec.decode(b"\x01" + data)
    except StoreError as refused:
        assert refused.code in ("damaged", "newer_format")
