"""The official JavaScript client in each encoding, and the `rivet dev` it talks to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engine import Engine, engine
from tests.support.js import ENCODINGS, FOLDER, Driver, driver, installed


@pytest.fixture(scope="session")
def js_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    installed()  # skips when there is no node
    with engine(FOLDER / "registry.py", tmp_path_factory.mktemp("data")) as started:
        yield started


@pytest.fixture(scope="module", params=ENCODINGS)
def js(
    request: pytest.FixtureRequest, js_engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    with driver(js_engine.url, request.param, tmp_path_factory.mktemp("js")) as started:
        yield started
