"""Bodies of actions, queue sends and errors: the texts captured in the wire specification, and what is refused."""

from __future__ import annotations

import pytest

from rivetpy.errors import RivetError, UserError
from rivetpy.wire import encodings
from rivetpy.wire.bodies import JSON, QueueReply, QueueSend, bodies_for
from rivetpy.wire.errors import ActorSpecifier, error_body, read_error, visible
from rivetpy.wire.inputs import read_input, write_input
from rivetpy.wire.jsonvalue import JsonError, encode


def test_action_bodies() -> None:
    assert JSON.write_args([5]) == b'{"args":[5]}'
    assert JSON.read_args(b'{"args":[5]}') == [5]
    assert JSON.read_args(b'{"args":7}') == [7]
    assert JSON.read_args(b"{}") == JSON.read_args(b'{"args":null}') == []
    assert JSON.write_output(5) == b'{"output":5}'
    assert JSON.read_output(b'{"output":["$Undefined",0]}') is None


def test_arguments_that_look_like_a_tag() -> None:
    assert JSON.write_args(["$foo", 1]) == b'{"args":["$$foo",1]}'
    assert JSON.read_args(JSON.write_args(["$foo", 1])) == ["$foo", 1]


def test_queue_bodies() -> None:
    waiting = QueueSend({"n": 2}, wait=True, timeout=2)
    assert JSON.write_send("jobs", waiting) == b'{"body":{"n":2},"name":"jobs","wait":true,"timeout":2000}'
    assert JSON.read_send(b'{"body":{"n":2},"name":"jobs","wait":true,"timeout":2000}') == waiting
    assert JSON.read_send(b'{"name":"jobs","wait":false}') == QueueSend()
    with_key = QueueSend(1, idempotency_key="k")
    assert JSON.read_send(JSON.write_send("jobs", with_key)) == with_key


def test_queue_replies() -> None:
    done = QueueReply("completed", {"n": 1})
    assert JSON.write_reply(done, waited=True) == b'{"status":"completed","response":{"n":1}}'
    assert JSON.write_reply(done, waited=False) == b'{"status":"completed"}'
    assert JSON.write_reply(QueueReply("timedOut"), waited=True) == b'{"status":"timedOut"}'
    assert JSON.read_reply(b'{"status":"completed","response":{"n":1}}') == done


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "empty"),
        (b"[]", "object"),
        (b'{"wait":1}', "'wait'"),
        (b'{"timeout":"5"}', "'timeout'"),
        (b'{"timeout":-1}', "'timeout'"),
        (b'{"timeout":true}', "'timeout'"),
        (b'{"idempotencyKey":""}', "'idempotencyKey'"),
        (b'{"idempotencyKey":5}', "'idempotencyKey'"),
    ],
)
def test_sends_that_say_nothing_clear(body: bytes, says: str) -> None:
    with pytest.raises(JsonError, match=says):
        JSON.read_send(body)


def test_the_encoding_is_chosen_in_one_place() -> None:
    assert bodies_for(None) is bodies_for("json") is bodies_for("yaml") is JSON
    assert [bodies_for(name).name for name in ("json", "cbor", "bare")] == ["json", "cbor", "bare"]


def test_an_error_as_captured() -> None:
    error = UserError("user says no", code="my_code", metadata={"big": 2, "x": 1})
    body = error_body(error, ActorSpecifier("h0v84d", "err/json"))
    assert body == {
        "actor": {"actorId": "h0v84d", "generation": 1, "key": "err/json"},
        "code": "my_code",
        "group": "user",
        "message": "user says no",
        "metadata": {"big": 2, "x": 1},
    }
    again = read_error(500, encode(body), encodings.JSON, "ray")
    assert (again.group, again.code, again.message, again.metadata) == (
        error.group,
        error.code,
        error.message,
        error.metadata,
    )
    assert again.actor == body["actor"]
    assert again.ray_id == "ray"


def test_what_is_internal_stays_inside() -> None:
    hidden = visible(ValueError("the password is hunter2"))
    assert (hidden.group, hidden.code, hidden.status) == ("rivetkit", "internal_error", 500)
    assert "hunter2" not in hidden.message
    half = visible(RivetError("store", "failed", "/secret/path", {"path": "/secret"}, 503))
    assert (half.group, half.code, half.status, half.metadata) == ("store", "failed", 503, None)
    assert "secret" not in half.message
    shown = RivetError("queue", "full", "The queue is full.")
    assert visible(shown) is shown


def test_metadata_that_can_not_travel_does_not_hide_the_error() -> None:
    body = error_body(UserError("no", metadata={"x": object()}))
    assert body["message"] == "no"
    assert "$.x" in body["metadata"]["unreadable"]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"group":"x"}', b"\xff", b""])
def test_an_answer_that_is_no_error_body(body: bytes) -> None:
    error = read_error(502, body, encodings.JSON)
    assert (error.group, error.code, error.status) == ("rivetkit", "internal_error", 502)
    assert "502" in error.message


def test_an_input_as_captured() -> None:
    text = "uQAFZWhlbGxvZnfDtnJsZGFugmckQmlnSW50YTVhZMEaAAAAAGF1gmokVW5kZWZpbmVkAGFigmskVWludDhBcnJheWRBUUlE"
    value = read_input(text)
    when = value.pop("d")
    assert when.timestamp() == 0
    assert value == {"hello": "wörld", "n": 5, "u": None, "b": b"\x01\x02\x03"}


def test_inputs_come_back_in_both_forms() -> None:
    value = {"a": [1, b"x", 2**70, "é", ["$t", 1]], "s": {1, 2}}
    in_url, in_body = write_input(value, url=True), write_input(value, url=False)
    assert read_input(in_url) == read_input(in_body) == value
    assert "=" not in in_url
    assert len(in_body) % 4 == 0
    with pytest.raises(RivetError, match="create"):
        write_input("x" * 5000, url=True)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("*", "query_invalid_base64_input"),
        ("A", "query_invalid_base64_input"),
        ("é", "query_invalid_base64_input"),
        ("_w", "query_invalid_cbor_input"),
        ("gA" * 4, "query_invalid_cbor_input"),
        ("gmQkWHl6AQ", "query_invalid_cbor_input"),
        ("gYGB" * 500 + "gA", "query_invalid_cbor_input"),
    ],
)
def test_inputs_that_are_none(text: str, code: str) -> None:
    with pytest.raises(RivetError) as refused:
        read_input(text)
    assert (refused.value.group, refused.value.code) == ("guard", code)
