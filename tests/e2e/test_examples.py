"""Each example end to end, as its reader would run it: a real engine, a real service, the client script."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.engine import EXAMPLES, Engine, StandIn, engine, environment, stand_in


@pytest.fixture(scope="module")
def api() -> Iterator[StandIn]:
    with stand_in() as service:
        yield service


@pytest.fixture(scope="module")
def running(api: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine(EXAMPLES / "registry.py", tmp_path_factory.mktemp("data"), api=api) as started:
        yield started


def history(running: Engine, *actor: str) -> list[dict[str, Any]]:
    """The journal's entries as `rivet history --json` prints them, one a line."""
    return [json.loads(line) for line in running.rivet("history", *actor, "--json").splitlines()]


def asked(api: StandIn, path: str) -> list[dict[str, Any]]:
    return [request for request in api.log() if request["path"] == path]


def state(running: Engine, *actor: str) -> Any:
    return json.loads(running.rivet("state", *actor, "--json"))


def test_counter(running: Engine, api: StandIn) -> None:
    assert running.script("counter_client.py") == "value 6 after 3 commands\n"
    assert running.script("counter_client.py") == "value 12 after 6 commands\n"

    requests = asked(api, "/counter/apply")
    assert [request["body"]["delta"] for request in requests] == [1, 2, 3, 1, 2, 3]
    assert len({request["key"] for request in requests}) == 6, "every command is a step with a key of its own"
    assert state(running, "workflowCounter", "main") == {
        "value": 12,
        "processed": 6,
        "lastOperationId": requests[-1]["reply"]["operationId"],
    }


def test_invoice(running: Engine, api: StandIn) -> None:
    shown = running.script("invoice_client.py")
    assert running.script("invoice_client.py") == shown, "asking again finds the same invoice"

    (created,) = asked(api, "/invoices")
    assert created["body"] == {"cartId": "main", "total": 4560}
    assert shown == f"invoice {created['reply']['invoiceId']} over 45.60\n"
    assert len(asked(api, "/carts/main")) == len(asked(api, "/tax/quote")) == 1


def test_worker(running: Engine, api: StandIn) -> None:
    shown = running.script("worker_client.py", "w1")
    assert shown == "2 jobs done, stopped: no more work today\n"

    (opened,) = asked(api, "/workers/session")
    jobs = asked(api, "/workers/process")
    assert [job["body"]["job"] for job in jobs] == [{"resize": "cat.png"}, {"resize": "dog.png"}]
    assert {job["body"]["sessionId"] for job in jobs} == {opened["reply"]["sessionId"]}
    assert len(asked(api, f"/workers/session/{opened['reply']['sessionId']}")) == 1
    assert httpx.get(f"{api.url}/log").json()["sessions"] == [], "the tear-down closed it"


def test_histories_name_the_steps(running: Engine) -> None:
    running.script("counter_client.py")
    running.script("invoice_client.py")
    running.script("worker_client.py", "w2")

    assert "apply-counter-command" in running.rivet("history", "workflowCounter", "main")
    assert all(step in running.rivet("history", "invoice", "main") for step in ("load-cart", "quote-tax"))
    told = running.rivet("history", "worker", "w2")
    assert told.index("set-up") < told.index("work-loop") < told.index("tear-down")


def test_an_example_runs_offline_with_the_stand_in_it_starts_itself(tmp_path: Path) -> None:
    with engine(EXAMPLES / "registry.py", tmp_path) as alone:
        assert alone.script("invoice_client.py", "c1").endswith("over 45.60\n")


def test_the_stand_in_does_a_repeated_request_once() -> None:
    with stand_in() as service:
        first, second = (
            httpx.post(
                f"{service.url}/counter/apply", json={"delta": 5}, headers={"Idempotency-Key": "k"}
            ).json()
            for _ in range(2)
        )
        other = httpx.post(f"{service.url}/counter/apply", json={"delta": 5}).json()
        unknown = httpx.get(f"{service.url}/nowhere")

        assert first == second and first["nextValue"] == 5
        assert other["nextValue"] == 10
        assert unknown.status_code == 404
        assert [request["repeated"] for request in service.log()] == [False, True, False, False]


@pytest.mark.parametrize("script", ["counter_client.py", "invoice_client.py", "worker_client.py"])
def test_a_client_without_an_engine_ends_soon_and_names_the_address(script: str) -> None:
    nobody = "http://127.0.0.1:9"
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script)],
        env=environment(RIVET_ENDPOINT=nobody),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0 and nobody in done.stderr


def test_the_stand_in_does_nothing_for_half_a_request() -> None:
    with stand_in() as service:
        address = httpx.URL(service.url)
        with socket.create_connection((address.host, address.port or 0)) as half:
            half.sendall(b"POST /counter/apply HTTP/1.1\r\nContent-Length: 12\r\nIdempotency-Key: k\r\n\r\n")
            half.shutdown(socket.SHUT_WR)
            assert half.recv(100) == b""
        assert service.log() == []
