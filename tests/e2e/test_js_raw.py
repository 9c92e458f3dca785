"""The official JavaScript client, unmodified: raw requests and raw WebSockets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.js import Driver, fails, thing

pytestmark = pytest.mark.npm


def fetch(js: Driver, input: str, init: dict[str, Any] | None = None, **options: Any) -> Any:
    return js("fetch", handle=thing(js, "raw", **options), input=input, init=init, whole="://" in input)


def test_requests(js: Driver) -> None:
    init = {"method": "PUT", "body": "hällo", "headers": {"x-given": "yes"}}
    answer = fetch(js, "sub/päge%2Fx?a=1&b=%20", init, params={"who": "mé"})
    assert answer["status"] == 201
    assert answer["headers"]["x-own"] == "c3bc" and len(answer["headers"]["x-rivet-actor"]) == 30
    told = json.loads(answer["body"])
    assert told.pop("url").endswith("/sub/päge/x?a=1&b=%20")
    assert told == {"method": "PUT", "body": "hällo", "given": "yes", "params": {"who": "mé"}}
    assert json.loads(fetch(js, "")["body"])["url"].endswith("/")
    assert fetch(js, "stream")["body"] == "one two"


def test_a_request_that_has_a_whole_url(js: Driver) -> None:
    told = json.loads(fetch(js, "http://elsewhere.example/page?x=1", {"method": "POST", "body": "1"})["body"])
    assert (told["url"], told["method"]) == ("http://elsewhere.example/page?x=1", "POST")


def test_a_request_that_the_actor_refuses(js: Driver) -> None:
    answer = fetch(js, "refuse")
    assert answer["status"] == 500
    assert json.loads(answer["body"])["code"] == "raw_code"
    assert answer["headers"]["x-rivet-error"] == "user.raw_code"
    long = fetch(js, "page", {"method": "POST", "body": "x" * (21 << 20)})
    assert (long["status"], json.loads(long["body"])["code"]) == (413, "invalid_request_body")


def test_websockets(js: Driver) -> None:
    handle = thing(js, "raw", params={"who": "me"})
    told = js("webSocket", handle=handle, path="sub/path?x=1", send=["hé", [1, 2, 3], "bye"])
    assert told["got"] == ["/websocket/sub/path?x=1 {'who': 'me'}", "HÉ", [3, 2, 1]]
    assert (told["code"], told["reason"]) == (4000, "gööd bye")
    told = js("webSocket", handle=handle, path="", send=["refuse"])
    assert (told["code"], told["reason"].partition("#")[0]) == (1011, "user.raw_code")


def test_an_actor_without_handlers_is_not_asked_again_and_again(js: Driver) -> None:
    handle = {"by": "getOrCreate", "name": "plain", "key": [js.encoding], "options": None}
    answer = js("fetch", handle=handle, input="page", init=None, whole=False)
    assert answer["status"] == 404 and json.loads(answer["body"])["group"] == "handler"
    told = js("webSocket", handle=handle, path="page", send=[])
    assert told["reason"].startswith("handler.not_defined#")
    refused = fails(js, "action", handle=handle, name="nope", args=[])
    assert refused.code == "action_not_found"
