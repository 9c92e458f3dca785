"""The official JavaScript client, unmodified, against `rivet dev`: HTTP operations in all three encodings."""

from __future__ import annotations

import pytest

from tests.support.js import ENCODINGS, Driver, act, by_id, fails, thing

pytestmark = pytest.mark.npm


def test_actions_by_every_kind_of_handle(js: Driver) -> None:
    made = thing(js, "actions")
    assert act(js, made, "add", 5) == 5
    assert act(js, thing(js, "actions", by="get"), "add", 2) == 7
    actor_id = js("resolve", handle=made)
    assert len(actor_id) == 30
    assert js("resolve", handle=thing(js, "actions", by="get")) == actor_id
    assert act(js, by_id(actor_id), "add", 1) == 8
    assert act(js, made, "nested.deeper", 1, "x", None) == [1, "x", None]
    assert act(js, made, "a/b ü") == "odd name"
    assert act(js, made, "nothing") is None
    assert act(js, made, "big", 100_000) == "x" * 100_000


def test_create_makes_one_and_only_one(js: Driver) -> None:
    actor_id = js("create", name="thing", key=[js.encoding, "made"], options={"input": {"n": 1}})
    assert act(js, by_id(actor_id), "given") == {"n": 1}
    assert act(js, thing(js, "made", by="get"), "add", 3) == 3
    again = fails(js, "create", name="thing", key=[js.encoding, "made"], options=None)
    assert (again.group, again.code) == ("actor", "duplicate_key")
    assert again.metadata["existing_actor_id"] == actor_id


def test_input_with_every_letter(js: Driver) -> None:
    given = {"héllo": "wörld ☃ 𝄞", "n": [1, 2.5, None], "big": 2**40}
    assert act(js, thing(js, "ïnput/é b", createWithInput=given), "given") == given
    assert act(js, thing(js, "ïnput/é b", createWithInput={"n": 2}), "given") == given
    made = js("create", name="thing", key=[js.encoding, "ïnput, comma"], options={"input": given})
    assert act(js, by_id(made), "given") == given


#: What comes back as something else, and in which encodings: JavaScript's client itself loses it in JSON, or it
#: has no form of its own in Python.
CHANGED = {
    "undefined": {"bare": "null", "cbor": "null", "json": "null"},
    "bigint": dict.fromkeys(ENCODINGS, "5"),
    "date": {"json": "'2023-11-14T22:13:20.000Z'"},
    "dateWithMs": {"json": "'2023-11-14T22:13:20.123Z'"},
    "buffer": dict.fromkeys(ENCODINGS, "Uint8Array(2) [ 9, 8 ]"),
    "map": {"bare": "{ a: 1 }", "cbor": "{ a: 1 }", "json": "{}"},
    "set": {"json": "{}"},
    "floats": {"bare": "[ 1.5, -2 ]", "cbor": "[ 1.5, -2 ]", "json": "{ '0': 1.5, '1': -2 }"},
    "words": {"bare": "[ 1, 65535 ]", "cbor": "[ 1, 65535 ]", "json": "{ '0': 1, '1': 65535 }"},
    "regexp": {"bare": "{ source: 'a+', flags: 'g' }", "cbor": "{ source: 'a+', flags: 'g' }", "json": "{}"},
    "error": {
        "bare": "{ name: 'TypeError', message: 'no' }",
        "cbor": "{ name: 'TypeError', message: 'no' }",
        "json": "{}",
    },
    "nan": {"json": "null"},
    "infinity": {"json": "null"},
    "escapedTag": {"cbor": "[ '$foo', 1 ]"},  # which this client does not escape, and others do
    "holes": {"bare": "{ gone: null, there: 1 }", "cbor": "{ gone: null, there: 1 }", "json": "{ there: 1 }"},
}
SAME = [
    *("null", "true", "object", "tag", "text", "deep", "bytes"),
    *("int", "word", "wide", "exact", "far", "fraction", "huge", "negativeHuge"),
]


@pytest.mark.parametrize("value", [*SAME, *CHANGED])
def test_values_of_every_kind(js: Driver, value: str) -> None:
    if value in {"nan", "infinity"} and js.encoding != "json":
        refused = fails(js, "echo", handle=thing(js, "values"), value=value)
        assert (refused.group, refused.code) == ("actor", "invalid_request")
        assert "has no JSON form" in refused.message
        return
    back = js("echo", handle=thing(js, "values"), value=value)
    changed = CHANGED.get(value, {}).get(js.encoding)
    if changed is None:
        assert back["same"], back["shown"]
    else:
        assert back["shown"] == changed


def test_errors(js: Driver) -> None:
    handle = thing(js, "érrors")
    refused = fails(js, "action", handle=handle, name="refuse", args=[])
    assert (refused.group, refused.code, refused.message) == ("user", "my_code", "user says nö")
    assert refused.metadata["big"] == 2
    assert refused.metadata["x"] == {"0": 1}  # a Uint8Array, as this driver tells it
    assert refused.actor == {
        "actorId": js("resolve", handle=handle),
        "generation": 1,
        "key": f"{js.encoding}/érrors",
    }
    assert len(refused.ray_id or "") == 30
    crashed = fails(js, "action", handle=handle, name="crash", args=[])
    assert (crashed.group, crashed.code) == ("rivetkit", "internal_error")
    assert crashed.message == "An internal error occurred"
    unknown = fails(js, "action", handle=handle, name="ad", args=[])
    assert (unknown.group, unknown.code) == ("actor", "action_not_found")
    assert "'add'" in unknown.message
    long = fails(js, "action", handle=handle, name="echo", args=["x" * 70_000])
    assert (long.group, long.code) == ("message", "incoming_too_long")
    much = fails(js, "action", handle=handle, name="big", args=[1 << 20])
    assert (much.group, much.code) == ("message", "outgoing_too_long")


def test_queues(js: Driver) -> None:
    handle = thing(js, "queues")
    assert js("send", handle=handle, queue="jobs", body={"n": 1}, options=None) is None
    answered = js("send", handle=handle, queue="jobs", body={"n": "ü"}, options={"wait": True})
    assert answered == {"status": "completed", "response": {"got": {"n": "ü"}}}
    waited = js("send", handle=handle, queue="ignored", body=1, options={"wait": True, "timeout": 200})
    assert waited == {"status": "timedOut"}
    unknown = fails(js, "send", handle=handle, queue="job", body=1, options=None)
    assert (unknown.group, unknown.code) == ("queue", "not_declared")


def test_parameters_of_calls(js: Driver) -> None:
    who = {"who": "mé", "n": [1, None]}
    assert act(js, thing(js, "params", params=who), "whoami") == who
    assert act(js, thing(js, "params"), "whoami") is None
    sent = js("send", handle=thing(js, "params", params=who), queue="jobs", body=1, options={"wait": True})
    assert sent["response"] == {"got": 1}
    unwanted = fails(
        js, "action", handle=thing(js, "params", params={"who": "nöbody"}), name="whoami", args=[]
    )
    assert (unwanted.group, unwanted.code, unwanted.metadata) == ("user", "unwanted", {"who": "nöbody"})


def test_destroyed_and_made_again(js: Driver) -> None:
    handle = thing(js, "mortal")
    assert act(js, handle, "add", 4) == 4
    actor_id = js("resolve", handle=handle)
    act(js, by_id(actor_id), "destroy")
    gone = fails(js, "action", handle=by_id(actor_id), name="add", args=[1])
    assert (gone.group, gone.code) == ("actor", "not_found")
    missing = fails(js, "resolve", handle=thing(js, "mortal", by="get"))
    assert (missing.group, missing.code) == ("actor", "not_found")
    assert act(js, handle, "add", 1) == 1
    assert js("resolve", handle=handle) != actor_id
