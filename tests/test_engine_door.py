"""Who may come in: Host and Origin without a token, the token in each of its places, CORS and preflight."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.support.actors import registry
from tests.support.asgi import GOT, MADE, error_of, serving
from tests.support.jump import run

ACTION = f"/gateway/plain/action/ping?{MADE}"
ACTORS = "/actors?namespace=default"


def statuses(*headers: dict[str, str], path: str = ACTORS, **options: Any) -> list[int]:
    """What requests with these headers are answered."""

    async def main() -> list[int]:
        async with serving(registry(), **options) as client:
            return [(await client.get(path, headers=given)).status_code for given in headers]

    return run(main())


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:6420", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:6420"]
)
def test_hosts_that_are_this_machine(host: str) -> None:
    assert statuses({"host": host}) == [200]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost:6420@evil",
        "",
        "127.0.0.11",
    ],
)
def test_hosts_that_only_point_here(host: str) -> None:
    assert statuses({"host": host}) == [403]
    assert statuses({"host": host}, local_only=False) == [200]


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "https://localhost", "http://127.0.0.1:5173", "http://[::1]:1"]
)
def test_pages_of_this_machine(origin: str) -> None:
    assert statuses({"origin": origin}) == [200]


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://localhost:3000.evil.example",
        "file://localhost",
        "http://evil.example/http://localhost",
    ],
)
def test_pages_of_others(origin: str) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for path in (ACTORS, ACTION, "/metadata", "/health"):
                response = await client.http.post(path, headers={"origin": origin})
                assert error_of(response) == (403, "auth.forbidden")
            asked = {"origin": origin, "access-control-request-method": "POST"}
            assert (await client.http.options(ACTION, headers=asked)).status_code == 403
            assert await client.host.find("default", "plain", ()) is None

    run(main())


def test_tokens_beyond_ascii_are_compared_as_bytes() -> None:
    right, wrong = "töken".encode(), "tökeñ".encode()
    headers: list[dict[str, Any]] = [{"x-rivet-token": token} for token in (right, wrong)]
    headers += [{"authorization": b"bearer  " + token} for token in (right, wrong)]
    assert statuses(*headers, token="töken") == [200, 403, 200, 403]


def test_the_token_has_three_places() -> None:
    async def main() -> None:
        async with serving(registry(), token="s3 cret") as client:
            elsewhere = {"origin": "https://app.example", "host": "rivet.example"}
            for given in ({"authorization": "Bearer s3 cret"}, {"x-rivet-token": "s3 cret"}):
                assert (await client.get(ACTORS, headers={**elsewhere, **given})).status_code == 200
            in_query = await client.http.post(f"{ACTION}&rvt-token=s3+cret", content=b"{}")
            assert in_query.json() == {"output": "pong"}
            actor = in_query.headers["x-rivet-actor"]
            in_path = await client.http.post(f"/gateway/{actor}@s3%20cret/action/ping", content=b"{}")
            assert in_path.json() == {"output": "pong"}
            for path in (ACTORS, f"{ACTION}&rvt-token=s3", f"/gateway/{actor}@/action/ping", "/metadata"):
                assert error_of(await client.get(path)) == (403, "auth.forbidden")
            for given in (
                {"authorization": "Basic s3 cret"},
                {"authorization": "s3 cret"},
                {"x-rivet-token": ""},
            ):
                assert error_of(await client.get(ACTORS, headers=given)) == (403, "auth.forbidden")

    run(main())


def test_a_token_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving(registry(), token="s3cret") as client:
            crashed = await client.post(f"/gateway/counter/action/crash?{MADE}&rvt-token=s3cret", {})
            assert crashed.status_code == 500
            wrong = await client.post(f"/gateway/counter/action/crash?{MADE}&rvt-token=s3cre7", {})
            assert wrong.status_code == 403
            assert "s3cre" not in wrong.text

    with caplog.at_level(logging.DEBUG, "rivetpy"):
        run(main())
    ours = "".join(record.getMessage() for record in caplog.records if record.name.startswith("rivetpy"))
    assert "failed" in ours
    assert "s3cre" not in ours


def test_pages_may_read_answers_and_errors() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for path in (ACTORS, "/metadata", "/nope", f"/gateway/counter/action/x?{GOT}"):
                headers = (await client.get(path, headers={"origin": "http://localhost:3000"})).headers
                assert headers["access-control-allow-origin"] == "http://localhost:3000"
                assert headers["access-control-allow-credentials"] == "true"
                assert headers["access-control-expose-headers"] == "*"
                assert headers["vary"] == "Origin"
            without = (await client.get("/metadata")).headers
            assert without["access-control-allow-origin"] == "*"
            assert "vary" not in without

    run(main())


def test_preflight() -> None:
    async def main() -> None:
        async with serving(registry(), token="s3cret") as client:
            asked = {
                "origin": "https://app.example",
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-type, x-rivet-encoding, x-rivet-token",
            }
            gateway = await client.http.options(ACTION, headers=asked)
            assert gateway.status_code == 204
            assert gateway.headers["access-control-allow-methods"] == "GET, POST, PUT, DELETE, OPTIONS, PATCH"
            assert gateway.headers["access-control-allow-headers"] == asked["access-control-request-headers"]
            assert gateway.headers["access-control-allow-origin"] == "https://app.example"
            assert gateway.headers["access-control-max-age"] == "86400"
            assert await client.host.find("default", "plain", ()) is None
            management = await client.http.options(ACTORS, headers=asked)
            assert management.status_code == 200
            assert "POST" in management.headers["allow"]
            assert (
                management.headers["access-control-allow-headers"] == asked["access-control-request-headers"]
            )

    run(main())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:3000"}, 200),
        ({"sec-fetch-site": "same-site"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
    ],
    ids=["another site", "a page of this machine", "another port", "the page", "typed"],
)
def test_links_and_pictures_of_other_sites(sent: dict[str, str], status: int) -> None:
    """Their GETs carry no Origin, and one with getOrCreate would make an actor."""

    async def main() -> None:
        async with serving(registry()) as client:
            answer = await client.get(f"/gateway/plain/?{MADE}", headers=sent)
            assert answer.status_code == status
            assert (await client.host.find("default", "plain", ()) is None) == (status == 403)

    run(main())
