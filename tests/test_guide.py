"""The guide to workflows: every example in it runs, and comes to what it says."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest

import rivetpy.workflow
from rivetpy.workflow import WorkflowContext
from tests.support import guide
from tests.support.engine import ROOT

GUIDE = ROOT / "docs" / "workflows.md"
SECTIONS = dict(guide.sections(GUIDE))
CHAPTERS = [title for title, fragments in SECTIONS.items() if fragments and title != "Workflows"]
HELPERS = ("crash", "restart", "the_end", "send", "ask", "pause", "recover", "rewind")
#: Types that a reader meets through the verbs that return or take them.
UNNAMED = {
    "BlockFailure",
    "Break",
    "Continue",
    "ErrorEvent",
    "ErrorHook",
    "Evicted",
    "Failure",
    "QueueMessage",
    "StepContext",
    "StepFailure",
    "Workflow",
    "WorkflowContext",
}


def imports() -> str:
    """The imports that the guide tells its reader to put first."""
    (fragment,) = SECTIONS["Workflows"]
    return fragment.text


@pytest.mark.parametrize("title", CHAPTERS)
def test_every_example_does_what_the_guide_says(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = ModuleType("guide_chapter")
    monkeypatch.setitem(sys.modules, chapter.__name__, chapter)  # a dataclass looks its module up
    names = vars(chapter)
    names |= {name: getattr(guide, name) for name in HELPERS} | {"play": guide.Player()}
    exec(imports(), names)
    guide.perform(GUIDE, SECTIONS[title], names)


@pytest.mark.parametrize("title", CHAPTERS)
def test_no_example_is_left_untested(title: str) -> None:
    kinds = [fragment.kind for fragment in SECTIONS[title]]
    for kind, following in zip(kinds, [*kinds[1:], "end"], strict=True):
        assert kind != "python" or following == "test", "a python block is followed by its test"
    assert GUIDE.read_text().count("```python") == sum(
        fragment.kind == "python" for fragments in SECTIONS.values() for fragment in fragments
    )


def test_the_guide_names_every_verb_and_every_public_name() -> None:
    text = GUIDE.read_text()
    verbs = [name for name in vars(WorkflowContext) if not name.startswith("_")]
    missing = [name for name in (*verbs, "queue.next", "queue.next_batch") if f"ctx.{name}" not in text]
    public = set(rivetpy.workflow.__all__) - UNNAMED
    assert not missing and not [name for name in public if not re.search(rf"\b{name}\b", text)]


def test_a_wrong_word_in_the_guide_fails() -> None:
    fragments = [
        guide.Fragment("python", "async def run(ctx):\n    return await ctx.step('s', lambda step: 1)\n", 1),
        guide.Fragment("test", "play(run)\n", 4),
        guide.Fragment("text history", "s step completed 1 2\n", 7),
    ]
    with pytest.raises(AssertionError, match=r"workflows\.md:7 says"):
        guide.perform(GUIDE, fragments, {"play": guide.Player(), "__name__": "guide"})


@pytest.mark.parametrize("name", ["README.md", "docs/workflows.md", "examples/recipes/README.md"])
def test_every_link_leads_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", " ".join((ROOT / name).read_text().split("\n")))
    assert links
    for link in links:
        file, _, anchor = link.partition("#")
        if file.startswith("https:"):
            continue
        target = (ROOT / name).parent / file if file else ROOT / name
        assert target.exists(), link
        assert not anchor or anchor in headings(target.read_text()), link


def headings(text: str) -> set[str]:
    """The anchors of a text's headings."""
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}
