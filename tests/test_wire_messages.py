"""Messages in the three encodings: every example of the wire specification, older versions, and arbitrary bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivetpy.errors import EncodeError, RivetError
from rivetpy.wire.bodies import QueueReply, QueueSend, bodies_for
from rivetpy.wire.encodings import BARE, CBOR, JSON, Encoding, encoding_named
from rivetpy.wire.messages import (
    ACTION_CALL,
    ACTION_OUTPUT,
    ENQUEUE,
    ENQUEUED,
    HTTP_ERROR,
    TO_CLIENT,
    TO_SERVER,
    ActionCall,
    ActionOutput,
    ActionRequest,
    ActionResponse,
    ActorSpecifier,
    Enqueue,
    Enqueued,
    Event,
    Failed,
    Init,
    SubscriptionRequest,
)
from rivetpy.wire.structs import Struct
from rivetpy.wire.tags import JsonError

ID = "h0v84d" + "0" * 24
UUID = "587b8ea2-3c4e-4d3e-9a5f-0123456789ab"
BAD = {"big": 2, "x": 1}
ALL = [JSON, CBOR, BARE]

HTTP: list[tuple[Struct[Any], Any, Encoding, bytes | str]] = [
    (ACTION_CALL, ActionCall([5]), JSON, b'{"args":[5]}'),
    (ACTION_CALL, ActionCall([5]), CBOR, "a1 64 61726773 81 05"),
    (ACTION_CALL, ActionCall([5]), BARE, "0400 02 8105"),
    (ACTION_CALL, ActionCall([]), JSON, b'{"args":[]}'),
    (ACTION_CALL, ActionCall([]), BARE, "04000180"),
    (ACTION_OUTPUT, ActionOutput(5), JSON, b'{"output":5}'),
    (ACTION_OUTPUT, ActionOutput(5), CBOR, "a1 66 6f7574707574 05"),
    (ACTION_OUTPUT, ActionOutput(5), BARE, "0400 01 05"),
    (
        ENQUEUE,
        Enqueue({"n": 2}, "jobs", True, 2000),
        JSON,
        b'{"body":{"n":2},"name":"jobs","wait":true,"timeout":2000}',
    ),
    (ENQUEUE, Enqueue({"n": 1}, "jobs", False), JSON, b'{"body":{"n":1},"name":"jobs","wait":false}'),
    (ENQUEUE, Enqueue({"n": 1}, "jobs", False), BARE, "0400 04a1616e01 01046a6f6273 0100 00"),
    (
        ENQUEUE,
        Enqueue({"n": 2}, "jobs", True, 2000),
        BARE,
        "0400 04a1616e02 01046a6f6273 0101 01d007000000000000",
    ),
    (
        ENQUEUED,
        Enqueued("completed", {"n": 1}),
        JSON,
        b'{"status":"completed","response":{"n":1}}',
    ),
    (ENQUEUED, Enqueued("completed"), BARE, "0400 09636f6d706c65746564 00"),
    (ENQUEUED, Enqueued("timedOut"), BARE, "0400 0874696d65644f7574 00"),
    (
        HTTP_ERROR,
        Failed("user", "my_code", "user says no", BAD, actor=ActorSpecifier(ID, "err/bare")),
        BARE,
        "0400 0475736572 076d795f636f6465 0c757365722073617973206e6f 0109a26362696702617801"
        f"011e{ID.encode().hex()} 01 01086572722f62617265",
    ),
    (
        HTTP_ERROR,
        Failed("user", "my_code", "user says no", BAD, actor=ActorSpecifier(ID, "err/json")),
        JSON,
        f'{{"group":"user","code":"my_code","message":"user says no","metadata":{{"big":2,"x":1}},'
        f'"actor":{{"actorId":"{ID}","generation":1,"key":"err/json"}}}}'.encode(),
    ),
]


def raw(data: bytes | str) -> bytes:
    return data if isinstance(data, bytes) else bytes.fromhex(data)


@pytest.mark.parametrize(("struct", "message", "encoding", "data"), HTTP)
def test_bodies_as_captured(struct: Struct[Any], message: Any, encoding: Encoding, data: bytes | str) -> None:
    assert encoding.write(struct, message) == raw(data)
    assert encoding.read(struct, raw(data), "it") == message


@pytest.mark.parametrize(
    ("struct", "data", "message"),
    [
        (ACTION_CALL, "b90001 64 61726773 81 05", ActionCall([5])),
        (
            ENQUEUE,
            "b90004 64626f6479 b90001616e01 646e616d65 646a6f6273 6477616974 f4 6774696d656f7574 f7",
            Enqueue({"n": 1}, "jobs", False),
        ),
    ],
)
def test_bodies_of_cbor_x(struct: Struct[Any], data: str, message: Any) -> None:
    assert CBOR.read(struct, raw(data), "it") == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("0400 06b90001616e01 01046a6f6273 0100 00", Enqueue({"n": 1}, "jobs", False)),
        ("0400 06b90001616e02 01046a6f6273 0101 01d007000000000000", Enqueue({"n": 2}, "jobs", True, 2000)),
        ("0300 06b90001616e01 00 00 00", Enqueue({"n": 1})),
    ],
)
def test_sends_as_captured(data: str, message: Enqueue) -> None:
    assert BARE.read(ENQUEUE, raw(data), "it") == message


def test_a_void_result_is_none() -> None:
    data = raw("04000d826a24556e646566696e656400")
    assert BARE.read(ACTION_OUTPUT, data, "it") == ActionOutput(None)
    assert JSON.read(ACTION_OUTPUT, b'{"output":["$Undefined",0]}', "it") == ActionOutput(None)


BARE_TO_CLIENT = [
    (Init(ID, UUID), f"0400 00 1e{ID.encode().hex()} 24{UUID.encode().hex()}"),
    (Event("newCount", [3]), "0400 03 086e6577436f756e74 028103"),
    (ActionResponse(0, 3), "0400 02 00 0103"),
    (
        Failed("user", "my_code", "user says no", BAD, 4, ActorSpecifier(ID, "conn/bare")),
        "0400 01 0475736572 076d795f636f6465 0c757365722073617973206e6f 0109a26362696702617801 0104"
        f"011e{ID.encode().hex()}0101 09636f6e6e2f62617265",
    ),
]
BARE_TO_SERVER = [
    (SubscriptionRequest("newCount", True), "0400 01 086e6577436f756e74 01"),
    (SubscriptionRequest("newCount", False), "0400 01 086e6577436f756e74 00"),
    (ActionRequest(0, "increment", [3]), "0400 00 00 09696e6372656d656e74 028103"),
    (ActionRequest(300, "x", []), "0400 00 ac02 0178 0180"),
]


@pytest.mark.parametrize(("message", "data"), BARE_TO_CLIENT)
def test_frames_to_clients_as_captured(message: Any, data: str) -> None:
    assert BARE.write_union(TO_CLIENT, message) == raw(data)
    assert BARE.read_union(TO_CLIENT, raw(data)) == message


@pytest.mark.parametrize(("message", "data"), BARE_TO_SERVER)
def test_frames_to_servers_as_captured(message: Any, data: str) -> None:
    assert BARE.write_union(TO_SERVER, message) == raw(data)
    for version in range(1, 5):
        assert BARE.read_union(TO_SERVER, bytes([version]) + raw(data)[1:]) == message


@pytest.mark.parametrize(
    ("union", "message", "text"),
    [
        (
            TO_CLIENT,
            Init("p22u9j", "587b8ea2"),
            '{"body":{"tag":"Init","val":{"actorId":"p22u9j","connectionId":"587b8ea2"}}}',
        ),
        (
            TO_SERVER,
            SubscriptionRequest("newCount", True),
            '{"body":{"tag":"SubscriptionRequest","val":{"eventName":"newCount","subscribe":true}}}',
        ),
        (
            TO_SERVER,
            ActionRequest(0, "increment", [3]),
            '{"body":{"tag":"ActionRequest","val":{"id":["$BigInt","0"],"name":"increment","args":[3]}}}',
        ),
        (
            TO_CLIENT,
            Event("newCount", [3]),
            '{"body":{"tag":"Event","val":{"name":"newCount","args":[3]}}}',
        ),
        (
            TO_CLIENT,
            ActionResponse(0, 3),
            '{"body":{"tag":"ActionResponse","val":{"id":["$BigInt","0"],"output":3}}}',
        ),
        (
            TO_CLIENT,
            Failed("user", "my_code", "user says no", BAD, 4),
            '{"body":{"tag":"Error","val":{"group":"user","code":"my_code","message":"user says no",'
            '"metadata":{"big":2,"x":1},"actionId":["$BigInt","4"]}}}',
        ),
        (
            TO_CLIENT,
            Failed("user", "no", "x"),
            '{"body":{"tag":"Error","val":{"group":"user","code":"no","message":"x","actionId":null}}}',
        ),
    ],
)
def test_frames_in_json(union: Any, message: Any, text: str) -> None:
    assert JSON.write_union(union, message) == text.encode()
    assert JSON.read_union(union, text.encode()) == message


def test_a_frame_in_cbor() -> None:
    data = raw(
        "a164626f6479a2637461676e416374696f6e526573706f6e73656376616ca2"
        "6269641b0000000000000000666f757470757403"
    )
    assert CBOR.write_union(TO_CLIENT, ActionResponse(0, 3)) == data
    assert CBOR.read_union(TO_CLIENT, data) == ActionResponse(0, 3)


def test_older_versions() -> None:
    error = Failed("user", "x", "y", None, 7, ActorSpecifier(ID))
    for version in range(1, 4):
        data = BARE.write_union(TO_CLIENT, error, version)
        assert BARE.read_union(TO_CLIENT, data) == Failed("user", "x", "y", None, 7)
    first = BARE.write_union(TO_CLIENT, Init(ID, UUID, "token"), 1)
    assert first.endswith(b"\x05token")
    assert BARE.read_union(TO_CLIENT, first) == Init(ID, UUID, "token")
    assert BARE.read_union(TO_CLIENT, BARE.write_union(TO_CLIENT, Init(ID, UUID, "token"), 2)) == Init(
        ID, UUID
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", "2 bytes expected, 0 left at byte 0"),
        ("0000 00", "version 0"),
        ("0500 00", "version 5"),
        ("0200 0180", "from version 3"),
        ("0400 06b90001616e01 01046a6f6273 0100 00 00", "1 bytes too many"),
        ("0400 06b90001616e01 02046a6f6273 0100 00", "a flag is 0 or 1"),
        ("0400 06b90001616e01 0102c328 0100 00", "not UTF-8"),
        ("0400 ff", "1 bytes expected"),
        ("0400 8000", "no uint"),
        ("0400 ffffffffffffffffffff7f", "no uint"),
        ("0400 ffffffffffffffffff01", "bytes expected"),
        ("0400 01ff 00 00 00", "not CBOR"),
        ("0400 0105 00 00 01ffffffffffffffff", "'timeout'"),
    ],
)
def test_bare_that_is_no_send(data: str, says: str) -> None:
    with pytest.raises(RivetError, match=says) as refused:
        BARE.read(ENQUEUE, raw(data), "a send")
    assert (refused.value.code, refused.value.status) == ("invalid_request", 400)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[]", "a known tag"),
        ('{"body":null}', "a known tag"),
        ('{"body":{"tag":"Init","val":{}}}', "a known tag"),
        ('{"body":{"tag":"ActionRequest","val":[]}}', "ActionRequest is an object"),
        ('{"body":{"tag":"ActionRequest","val":{"id":"0","name":"x"}}}', "'id'"),
        ('{"body":{"tag":"ActionRequest","val":{"id":-1,"name":"x"}}}', "'id'"),
        (
            '{"body":{"tag":"ActionRequest","val":{"id":["$BigInt","99999999999999999999"],"name":"x"}}}',
            "'id'",
        ),
        ('{"body":{"tag":"ActionRequest","val":{"id":0}}}', "'name'"),
        ('{"body":{"tag":"SubscriptionRequest","val":{"eventName":"x","subscribe":1}}}', "'subscribe'"),
    ],
)
def test_json_that_is_no_frame(text: str, says: str) -> None:
    with pytest.raises(JsonError, match=says):
        JSON.read_union(TO_SERVER, text.encode())


@pytest.mark.parametrize("encoding", ALL)
def test_what_can_not_be_sent_says_where(encoding: Encoding) -> None:
    for value, path in (([float("nan")], "$.args[0]"), ({"a": "\ud800"}, "a")):
        with pytest.raises(EncodeError) as refused:
            encoding.write(ACTION_CALL, ActionCall(value))
        assert path in refused.value.path
    with pytest.raises(EncodeError):
        encoding.write_union(TO_CLIENT, Event("\ud800", []))


@pytest.mark.parametrize("name", ["json", "cbor", "bare"])
def test_typed_bodies_in_each_encoding(name: str) -> None:
    bodies = bodies_for(name)
    assert bodies.name == name
    assert bodies.read_args(bodies.write_args([1, "é", None])) == [1, "é", None]
    assert bodies.read_output(bodies.write_output({"a": 2**40})) == {"a": 2**40}
    send = QueueSend({"n": 1}, wait=True, timeout=1.5)
    assert bodies.read_send(bodies.write_send("jobs", send)) == send
    assert bodies.read_send(bodies.write_send("jobs", send), "key").idempotency_key == "key"
    reply = QueueReply("completed", {"n": 1})
    assert bodies.read_reply(bodies.write_reply(reply, waited=True)) == reply
    assert bodies.read_reply(bodies.write_reply(reply, waited=False)) == QueueReply("completed")


def test_encodings_by_name() -> None:
    assert [encoding_named(name) for name in ("json", "cbor", "bare", "xml")] == [JSON, CBOR, BARE, None]


names = st.text(st.characters(exclude_categories=["Cs"]))
ids = st.integers(0, 2**64 - 1)
data = st.recursive(
    st.none() | st.integers() | names | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
actors = st.builds(ActorSpecifier, names, st.none() | names, st.integers(0, 2**53))
to_client = (
    st.builds(Init, names, names)
    | st.builds(Failed, names, names, names, data, st.none() | ids, st.none() | actors)
    | st.builds(ActionResponse, ids, data)
    | st.builds(Event, names, data)
)
to_server = st.builds(ActionRequest, ids, names, data) | st.builds(SubscriptionRequest, names, st.booleans())


@pytest.mark.parametrize("encoding", ALL)
@given(st.data())
def test_every_frame_comes_back(encoding: Encoding, given: st.DataObject) -> None:
    message = given.draw(to_client)
    assert encoding.read_union(TO_CLIENT, encoding.write_union(TO_CLIENT, message)) == message
    request = given.draw(to_server)
    assert encoding.read_union(TO_SERVER, encoding.write_union(TO_SERVER, request)) == request


@pytest.mark.parametrize("encoding", ALL)
@given(st.data())
def test_any_bytes_are_a_message_or_a_clean_error(encoding: Encoding, given: st.DataObject) -> None:
    good = encoding.write_union(TO_SERVER, given.draw(to_server))
    at = given.draw(st.integers(0, len(good)))
    mixed = good[:at] + given.draw(st.binary(max_size=8)) + good[given.draw(st.integers(at, len(good))) :]
    for bytes_ in (mixed, given.draw(st.binary()), b"\x04\x00" + given.draw(st.binary())):
        for read in (
            lambda data: encoding.read_union(TO_SERVER, data),
            lambda data: encoding.read_union(TO_CLIENT, data),
            lambda data: encoding.read(ENQUEUE, data, "it"),
            lambda data: encoding.read(HTTP_ERROR, data, "it"),
        ):
            try:
                read(bytes_)
            except RivetError as error:
                assert (error.code, error.status) == ("invalid_request", 400)
