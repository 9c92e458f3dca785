"""The page on the client: its actors on a real port, and every block run against them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from rivetpy.client import endpoint
from tests.support import guide
from tests.support.engine import ROOT
from tests.support.live import live

PAGE = ROOT / "docs" / "client.md"
CHAPTERS = dict(guide.sections(PAGE))
#: In which a later chapter may use what an earlier one imported.
NAMES: dict[str, Any] = {"asyncio": asyncio, "__file__": __file__}


@pytest.fixture(scope="module", autouse=True)
def _engine() -> Iterator[None]:
    guide.perform(PAGE, CHAPTERS["The client"], NAMES)
    with live(NAMES["registry"]) as engine, pytest.MonkeyPatch.context() as patch:
        for name in ("RIVET_ENGINE", "RIVET_TOKEN", "RIVET_NAMESPACE", "RIVET_POOL"):
            patch.delenv(name, raising=False)
        patch.setenv("RIVET_ENDPOINT", engine.url)
        find = endpoint.find_endpoint
        # The one block that names the address names the default one.
        patch.setattr(endpoint, "find_endpoint", lambda url, *more: find(url and engine.url, *more))
        yield


@pytest.mark.parametrize("title", list(CHAPTERS)[1:])
def test_a_chapter_does_what_it_says(title: str) -> None:
    guide.perform(PAGE, CHAPTERS[title], NAMES)
