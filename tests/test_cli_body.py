"""Bodies as people type them: every spelling, and every mistake with the place it is at."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivetpy.cli.body import BodyError, is_pair, parse_argument, parse_body, parse_json, parse_lines

few = settings(max_examples=40, deadline=None)
FILES = {"body.json": b'{"n": 1}', "-": b"[1, 2]", "bom.json": b"\xef\xbb\xbf1", "latin.json": b'"\xe9"'}

text = st.text(st.characters(exclude_categories=["Cs"]))
keys = st.text("abc_.-é1", min_size=1)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
    max_leaves=20,
)


def read(name: str) -> bytes:
    return FILES[name]


def body(*words: str) -> Any:
    return parse_body(words, read)


def angled(value: Any) -> str:
    """JSON text with angle brackets for the braces, and only for them."""
    if isinstance(value, dict):
        return "<" + ",".join(f"{json.dumps(k)}:{angled(v)}" for k, v in value.items()) + ">"
    if isinstance(value, list):
        return "[" + ",".join(map(angled, value)) + "]"
    return json.dumps(value)


def refused(*words: str) -> BodyError:
    with pytest.raises(BodyError) as caught:
        body(*words)
    return caught.value


@few
@given(values)
def test_json_is_read_as_json_reads_it(value: Any) -> None:
    assert body(json.dumps(value)) == value
    assert body(json.dumps(value, ensure_ascii=False, indent=1)) == value


@few
@given(values)
def test_angle_brackets_are_braces_at_every_depth(value: Any) -> None:
    assert body(angled(value)) == value


@few
@given(st.dictionaries(keys, values, min_size=1))
def test_pairs_with_colon_equals_hold_json(pairs: dict[str, Any]) -> None:
    assert body(*(f"{key}:={json.dumps(value)}" for key, value in pairs.items())) == pairs


@few
@given(st.dictionaries(keys, text, min_size=1))
def test_pairs_with_equals_hold_text(pairs: dict[str, str]) -> None:
    assert body(*(f"{key}={value}" for key, value in pairs.items())) == pairs


@few
@given(st.text() | st.text(alphabet='{}<>[]":,=@-0123456789eE.ntrufalsNI\\ \n', max_size=12))
def test_any_word_is_a_value_or_a_clear_refusal(word: str) -> None:
    if word.startswith("@") or word == "-":
        return
    try:
        value = body(word)
    except BodyError as error:
        assert str(error) and "\n" not in str(error)
        if error.picture:
            assert error.picture.split("\n")[1].strip() == "^"
    else:
        assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_the_persons_own_spelling() -> None:
    assert body('<"delta":1>') == {"delta": 1}


def test_brackets_inside_strings_stay() -> None:
    assert body('<"a<b>":"x>\\"<y">') == {"a<b>": 'x>"<y'}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([], None),
        (["null"], None),
        (["1.50"], 1.5),
        (["delta:=1", "note=hi"], {"delta": 1, "note": "hi"}),
        (["note="], {"note": ""}),
        (["url=http://x/?a=b"], {"url": "http://x/?a=b"}),
        (["a.b=1"], {"a.b": "1"}),
        (['deep:=<"x":[1]>'], {"deep": {"x": [1]}}),
        (['{"a=b":1}'], {"a=b": 1}),
        (["@body.json"], {"n": 1}),
        (["@bom.json"], 1),
        (["-"], [1, 2]),
        (["-5"], -5),
    ],
)
def test_spellings(words: list[str], value: Any) -> None:
    assert body(*words) == value


@pytest.mark.parametrize(
    ("word", "problem", "picture"),
    [
        ('{"a":1', "ends too early", '{"a":1\n      ^'),
        ('{"a":NaN}', "NaN is not JSON", '{"a":NaN}\n     ^'),
        ("[1,Infinity]", "Infinity is not JSON", "[1,Infinity]\n   ^"),
        ('["NaN",-Infinity]', "-Infinity is not JSON", '["NaN",-Infinity]\n       ^'),
        ("[1e999]", "1e999 is too large", "[1e999]\n ^"),
        ("<a:1>", "property name", "<a:1>\n ^"),
        ('{"日本":x}', "expecting value", '{"日本":x}\n        ^'),
        ("{} {}", "extra data", "{} {}\n   ^"),
        ("", "it is empty", "\n^"),
    ],
)
def test_a_mistake_is_shown_at_its_place(word: str, problem: str, picture: str) -> None:
    error = refused(word)
    assert problem in str(error)
    assert error.picture == picture


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (['{"a":1,"a":2}'], "'a' appears twice"),
        (["a=1", "a:=2"], "'a' appears twice"),
        (["a=1", "b"], "'b' is no pair"),
        (["a:=x"], "in 'a:=x'"),
        (["hello"], """Text goes in double quotes: '"hello"'"""),
        (['"\\ud800"'], "half a character"),
        (["a=\ud800"], "half a character"),
        (["@"], "file's name"),
        (["@latin.json"], "latin.json is not UTF-8 text: byte 1 is 0xe9"),
        (["[" * 100_000], "nested too deeply"),
        (["1" * 5000], "5000 digits"),
    ],
)
def test_other_refusals(words: list[str], problem: str) -> None:
    assert problem in str(refused(*words))


def test_a_long_line_is_cut_around_the_place() -> None:
    error = refused('{"pad":"' + "x" * 500 + '","bad":oops,"more":"' + "y" * 500 + '"}')
    line, caret = error.picture.split("\n")
    assert len(line) <= 72
    assert line[caret.index("^") :].startswith("oops")


def test_only_the_bad_line_of_many_is_shown() -> None:
    error = refused('{\n  "a": 1,\n  "b": oops\n}')
    assert error.picture == '  "b": oops\n       ^'


def test_a_file_of_lines() -> None:
    assert parse_lines(b'{"n":1}\n\n <"n":2> \r\n3', "f") == [{"n": 1}, {"n": 2}, 3]
    with pytest.raises(BodyError, match="f line 2: this is not JSON"):
        parse_lines(b"1\n{\n3", "f")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("1", 1),
        ("-2.5", -2.5),
        ("1e3", 1000.0),
        ("true", True),
        ('{"a":1}', {"a": 1}),
        ('"quoted"', "quoted"),
        ("plain", "plain"),
        ("two words", "two words"),
        ("1_000", "1_000"),
        ("\u0661", "\u0661"),
        ("a=b", "a=b"),
        ("nan", "nan"),
        ("-x", "-x"),
        ("", ""),
        ("@body.json", {"n": 1}),
    ],
)
def test_arguments_are_json_or_plain_words(word: str, value: Any) -> None:
    assert parse_argument(word, read) == value
    assert type(parse_argument(word, read)) is type(value)


@pytest.mark.parametrize("word", ["{", "[1,", '"open', "<a>", "01"])
def test_an_argument_that_looks_like_json_must_be_json(word: str) -> None:
    with pytest.raises(BodyError):
        parse_argument(word, read)


@few
@given(st.text())
def test_what_begins_like_json_is_never_a_pair(tail: str) -> None:
    assert not any(is_pair(opening + tail) for opening in '{[<"')


def test_numbers_keep_their_kind() -> None:
    assert body("1") == 1 and isinstance(body("1"), int)
    assert isinstance(body("1.0"), float)
    assert math.copysign(1, body("-0.0")) == -1
    assert parse_json("9" * 4000) == int("9" * 4000)
