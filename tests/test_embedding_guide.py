"""The blocks of docs/embedding.md do what the page says."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from rivetpy.testing import Engines

PAGE = Path(__file__).parents[1] / "docs" / "embedding.md"


def page() -> dict[str, Any]:
    """What the blocks define, run in order."""
    names: dict[str, Any] = {"__name__": "page"}
    for source in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
        exec(compile(source, str(PAGE), "exec"), names)
    return names


def test_the_mounted_engine_answers_under_its_path(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("RIVET_DATA_DIR", str(tmp_path))
    app = page()["app"]
    path = "/rivet/gateway/counter/action/add?rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default"

    async def ask() -> Any:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
        ):
            return (await http.post(path, json={"args": [3]})).json()

    assert asyncio.run(ask()) == {"output": 3}
    assert (tmp_path / "journal.db").exists()


@pytest.mark.parametrize("name", [name for name in page() if name.startswith("test_")])
async def test_the_tests_of_the_page_pass(rivet_engine: Engines, name: str) -> None:
    await page()[name](rivet_engine)
