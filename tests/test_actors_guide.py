"""The page on actors: every block is an actor, and the comment after it tries what the page says of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy import setup
from rivetpy.actors import ActorDefinition
from rivetpy.testing import test_engine as engine_of
from tests.support import guide
from tests.support.engine import ROOT
from tests.support.hosting import refused

CHAPTERS = dict(guide.sections(ROOT / "docs" / "actors.md"))


@pytest.mark.parametrize("title", [title for title in CHAPTERS if title != "Actors"])
def test_a_chapter_does_what_it_says(title: str) -> None:
    names: dict[str, Any] = {"refused": refused}
    for earlier in CHAPTERS:  # an import stands where it is first needed
        names |= {
            name: value
            for name, value in _names(earlier, names).items()
            if name in {"queue", "event", "actor"}
        }
        if earlier == title:
            break
    names = _names(title, names)
    actors = {name: value for name, value in names.items() if isinstance(value, ActorDefinition)}

    async def play() -> None:
        async with engine_of(setup(use=actors)) as t:
            await names["test"](t)

    asyncio.run(play())


def _names(title: str, given: dict[str, Any]) -> dict[str, Any]:
    names = dict(given)
    kinds = [fragment.kind for fragment in CHAPTERS[title]]
    assert kinds in ([], ["python", "test"]), title
    for fragment in CHAPTERS[title]:
        exec(compile("\n" * (fragment.line - 1) + fragment.text, "docs/actors.md", "exec"), names)
    return names
