"""Identity: keys as text and back, what is allowed, ids."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivetpy.errors import RivetError
from rivetpy.identity import MAX_KEY_BYTES, format_key, key_of, new_id, new_token, parse_key

parts = st.text(st.sampled_from("/\\0ab ä\x00\n") | st.characters(exclude_categories=["Cs"]), max_size=6)
keys = st.lists(parts, max_size=4).map(tuple)
many = settings(max_examples=200, deadline=None, database=None)


@many
@given(keys)
def test_a_key_comes_back_from_its_text(key: tuple[str, ...]) -> None:
    assert parse_key(format_key(key)) == key


@many
@given(keys, keys)
def test_different_keys_have_different_texts(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    assert (format_key(left) == format_key(right)) == (left == right)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ((), "/"),
        (("main",), "main"),
        (("org", "room"), "org/room"),
        (("org/room",), "org\\/room"),
        (("a\\",), "a\\\\"),
        (("",), "\\0"),
        (("", "a", ""), "\\0/a/\\0"),
        (("/",), "\\/"),
        (("\\0",), "\\\\0"),
        (("ä ö",), "ä ö"),
    ],
)
def test_the_text_of_a_key(key: tuple[str, ...], text: str) -> None:
    assert format_key(key) == text
    assert parse_key(text) == key


@pytest.mark.parametrize(
    ("typed", "key"), [("", ()), ("a/", ("a", "")), ("/a", ("", "a")), ("a\\", ("a\\",)), ("\\x", ("x",))]
)
def test_what_a_person_types_is_read_leniently(typed: str, key: tuple[str, ...]) -> None:
    assert parse_key(typed) == key


def test_one_text_is_one_part() -> None:
    assert key_of("main") == ("main",) == key_of(["main"]) == key_of(("main",))
    assert key_of("a/b") == ("a/b",)
    assert key_of([]) == ()


@pytest.mark.parametrize(
    "key", [None, 1, ["a", 1], [None], b"ab", [["a"]], {"a": 1}, {"a"}, "\ud800", ["a\udfff"]]
)
def test_what_is_no_key_is_refused(key: Any) -> None:
    with pytest.raises(RivetError) as refused:
        key_of(key)
    assert (refused.value.group, refused.value.code, refused.value.status) == (
        "actor",
        "invalid_request",
        400,
    )


def test_a_key_may_be_so_long_and_no_longer() -> None:
    longest = ["ä" * (MAX_KEY_BYTES // 4), "b" * (MAX_KEY_BYTES // 2)]
    assert key_of(longest) == tuple(longest)
    with pytest.raises(RivetError, match=str(MAX_KEY_BYTES + 1)):
        key_of([*longest, "c"])


def test_ids_and_tokens_are_fresh_and_shaped() -> None:
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(id) == 30 and id.isascii() and id.isalnum() and id == id.lower() for id in ids)
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100 and {len(token) for token in tokens} == {43}
