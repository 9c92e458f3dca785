"""The blocks of docs/embedding.md do what the page says."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx

PAGE = Path(__file__).parents[1] / "docs" / "embedding.md"


def blocks() -> list[dict[str, Any]]:
    namespaces = []
    for source in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
        namespace: dict[str, Any] = {"__name__": "page"}
        exec(compile(source, str(PAGE), "exec"), namespace)
        namespaces.append(namespace)
    return namespaces


def test_the_mounted_engine_answers_under_its_path(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("RIVET_DATA_DIR", str(tmp_path))
    app = blocks()[0]["app"]
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


def test_the_test_of_the_page_passes() -> None:
    asyncio.run(blocks()[1]["test_the_trial_is_a_month"]())
