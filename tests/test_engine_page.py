"""The files of the page: what is served, to whom, under which policy, and that they are all there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rivetpy.engine import page_files
from tests.support.actors import registry
from tests.support.asgi import Client, error_of, serving
from tests.support.jump import run

FOLDER = Path(str(page_files.FOLDER))
OURS = sorted(path for path in FOLDER.iterdir() if path.is_file())
SCRIPTS = [path for path in OURS if path.suffix == ".js"]
NAMES = {"ids": lambda path: path.name}


def test_the_root_leads_to_the_page() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for path in ("/", "/ui"):
                answer = await client.get(path)
                assert (answer.status_code, answer.headers["location"]) == (307, "/ui/")
            page = await client.get("/ui/")
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            assert page.text == (FOLDER / "index.html").read_text()

    run(main())


def test_a_mounted_engine_leads_to_its_own_page() -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    async def main() -> None:
        async with serving(registry()) as client:
            client.http._transport.app = Starlette(routes=[Mount("/rivet", client.app)])  # type: ignore[attr-defined]
            assert (await client.get("/rivet/")).headers["location"] == "/rivet/ui/"
            assert (await client.get("/rivet/ui/app.js")).status_code == 200

    run(main())


def test_only_its_own_files_load_and_nothing_inline_runs() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            headers = (await client.get("/ui/")).headers
            policy = headers["content-security-policy"]
            for rule in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"):
                assert rule in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"

    run(main())


def wanted_files() -> set[str]:
    """Everything that the page's files ask for."""
    html = (FOLDER / "index.html").read_text()
    named = set(re.findall(r'(?:src|href)="([^"#]+)"', html))
    for script in SCRIPTS:
        named |= set(re.findall(r'from "\./([^"]+)"', script.read_text()))
    return named


def test_all_files_that_are_asked_for_are_there_and_no_others() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for name in wanted_files():
                assert (await client.get(f"/ui/{name}")).status_code == 200, name
            for path in ("/ui/nothing.js", "/ui/vendor/README.md", "/ui/../app.py", "/ui/%2e%2e/app.py"):
                assert error_of(await client.get(path)) == (404, "api.not_found")
            assert error_of(await client.post("/ui/", {})) == (404, "api.not_found")

    run(main())
    assert wanted_files() >= {path.name for path in OURS if path.suffix != ".html"}


def test_a_page_of_another_name_or_site_gets_none_of_it() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for wrong in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
                for path in ("/", "/ui/", "/ui/app.js"):
                    assert error_of(await client.get(path, headers=wrong)) == (403, "auth.forbidden")
            followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
            assert (await client.get("/ui/", headers=followed)).status_code == 200

    run(main())


def test_with_a_token_the_page_opens_but_its_data_does_not() -> None:
    async def main(client: Client) -> None:
        for path in ("/ui/", "/ui/app.js"):
            assert (await client.get(path, headers={"host": "rivet.example"})).status_code == 200
        assert error_of(await client.get("/metadata")) == (403, "auth.forbidden")

    async def start() -> None:
        async with serving(registry(), token="s3cret", local_only=False) as client:
            await main(client)

    run(start())


@pytest.mark.parametrize("path", OURS, **NAMES)
def test_files_are_small_and_say_what_they_are_for(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) < 250
    if path.suffix in {".js", ".css"}:
        assert lines[0].startswith(("// ", "/* "))


@pytest.mark.parametrize("path", OURS, **NAMES)
def test_files_name_no_other_host(path: Path) -> None:
    hosts = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", path.read_text())
    assert hosts in ([], ["http://www.w3.org"]), hosts


@pytest.mark.parametrize("path", SCRIPTS, **NAMES)
def test_text_stays_text(path: Path) -> None:
    risky = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setTimeout\(\""
    assert not re.search(risky, path.read_text())
