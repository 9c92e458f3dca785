"""Gateway routing on raw bytes: both forms, every rule of the query form, and no surprise from hostile paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivetpy.errors import RivetError
from rivetpy.wire.routes import ById, ByKey, Target, parse, segments

MADE = b"rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default"
GOT = b"rvt-namespace=default&rvt-method=get"


def test_query_form_as_captured() -> None:
    target = parse(
        b"/gateway/counter/action/increment", MADE + b"&rvt-key=conn%2Cbare&rvt-crash-policy=sleep"
    )
    assert target == Target(
        ByKey("default", "counter", ("conn", "bare"), create=True), b"/action/increment", b""
    )


def test_values_are_form_encoded_and_names_are_not() -> None:
    target = parse(
        b"/gateway/a%2Fb%20c/queue/x", b"rvt-namespace=user%2Fns&rvt-method=get&rvt-key=%C3%A9+b%2Cc"
    )
    assert target is not None
    assert target.actor == ByKey("user/ns", "a/b c", ("é b", "c"), create=False)


def test_the_users_query_passes_byte_for_byte() -> None:
    target = parse(b"/gateway/c/request/p", b"a=%zz&" + GOT + b"&b&=&xrvt-y=1&a=+")
    assert target is not None
    assert target.query == b"a=%zz&b&=&xrvt-y=1&a=+"


def test_empty_keys_and_empty_parts() -> None:
    for query, key in (
        (b"", ()),
        (b"&rvt-key=", ()),
        (b"&rvt-key=a%2C", ("a", "")),
        (b"&rvt-key=,", ("", "")),
    ):
        target = parse(b"/gateway/c", GOT + query)
        assert target is not None
        assert isinstance(target.actor, ByKey)
        assert target.actor.key == key


def test_input_token_and_readiness() -> None:
    target = parse(b"/gateway/c/", MADE + b"&rvt-input=gwECAw&rvt-token=to%2Fk+en&rvt-skip-ready-wait=1")
    assert target is not None
    assert isinstance(target.actor, ByKey)
    assert target.actor.input == [1, 2, 3]
    assert target.token == "to/k en"
    assert target.skip_ready_wait
    assert "to/k" not in repr(target)


def test_direct_form() -> None:
    assert parse(b"/gateway/abc/action/x", b"u=1") == Target(ById("abc"), b"/action/x", b"u=1")
    assert parse(b"/gateway/abc@to%2Fk%20en/action/x", b"") == Target(
        ById("abc"), b"/action/x", b"", "to/k en"
    )
    assert parse(b"/gateway/abc", b"xrvt-a=1") == Target(ById("abc"), b"", b"xrvt-a=1")


@pytest.mark.parametrize(
    "path", [b"/", b"/gateway", b"/gateway/", b"/gateways/x", b"/actors", b"/gateway//x", b"/gateway/a//b"]
)
def test_paths_that_are_no_gateway_paths(path: bytes) -> None:
    assert parse(path, b"") is None


@pytest.mark.parametrize(
    ("path", "query", "code"),
    [
        (b"/gateway/c", GOT + b"&rvt-y=2", "query_invalid_params"),
        (b"/gateway/c", b"rvt-method=get", "query_invalid_params"),
        (b"/gateway/c", b"rvt-namespace=default", "query_invalid_params"),
        (b"/gateway/c", b"rvt-namespace=&rvt-method=get", "query_invalid_params"),
        (b"/gateway/c", b"rvt-namespace=d&rvt-method=create", "query_invalid_params"),
        (b"/gateway/c", GOT + b"&rvt-skip-ready-wait=yes", "query_invalid_params"),
        (b"/gateway/c", MADE + b"&rvt-crash-policy=explode", "query_invalid_params"),
        (b"/gateway/c", GOT + b"&rvt-method=get", "query_duplicate_param"),
        (b"/gateway/c@tok", GOT, "query_path_token_syntax"),
        (b"/gateway/c", GOT + b"&rvt-runner=default", "query_get_disallowed_params"),
        (b"/gateway/c", GOT + b"&rvt-input=gA", "query_get_disallowed_params"),
        (b"/gateway/c", b"rvt-namespace=d&rvt-method=getOrCreate", "query_missing_pool"),
        (b"/gateway/c", MADE + b"&rvt-input=*", "query_invalid_base64_input"),
        (b"/gateway/c", MADE + b"&rvt-input=_w", "query_invalid_cbor_input"),
        (b"/gateway/", GOT, "query_empty_actor_name"),
        (b"/gateway/%zz", GOT, "query_invalid_percent_encoding"),
        (b"/gateway/%ff", GOT, "query_invalid_percent_encoding"),
        (b"/gateway/c", GOT + b"&rvt-key=%", "query_invalid_percent_encoding"),
    ],
)
def test_query_forms_that_break_a_rule(path: bytes, query: bytes, code: str) -> None:
    with pytest.raises(RivetError) as refused:
        parse(path, query)
    assert (refused.value.group, refused.value.code, refused.value.status) == ("guard", code, 400)


def test_a_bad_path_is_shown_as_text() -> None:
    with pytest.raises(RivetError, match=r"^'%ff' is not percent-encoded"):
        parse(b"/gateway/%ff", GOT)


def test_what_the_actor_sees() -> None:
    assert segments(b"/action/a%2Fb") == ("action", "a/b")
    assert segments(b"/action/a/b") == ("action", "a", "b")
    assert segments(b"/action/") == ("action", "")
    assert segments(b"/") == segments(b"") == ()


pieces = st.sampled_from(
    [b"/gateway/", b"c", b"@", b"/", b"%2F", b"%", b"rvt-", b"rvt-key=", b"&", b"=", b"\xff"]
)
hostile = st.binary(max_size=30) | st.lists(pieces | st.binary(max_size=3), max_size=12).map(b"".join)


@given(hostile, hostile)
def test_any_bytes_are_a_target_or_a_clean_error(path: bytes, query: bytes) -> None:
    try:
        target = parse(b"/gateway/" + path, query)
        assert target is None or segments(target.path) is not None
    except RivetError as error:
        assert error.group == "guard"
        assert error.status == 400
