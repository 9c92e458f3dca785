"""A place where code and journal part: what is recorded there, what the code asks for, and the ways out."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from rivetpy.cli.terminal import unicode_out, wrap
from rivetpy.cli.text import near, visible
from rivetpy.wire.jsonvalue import JsonObject
from rivetpy.workflow.location import name_of, split

_WAYS_OUT = (
    ("ctx.removed(name, kind)", "where an entry was taken out"),
    ("ctx.get_version(name, n)", "old code for runs under way, new code for others"),
    ("a new name", "for what does something else now"),
    ("rivet rewind … --to ENTRY", "to run that entry and all after it again"),
)


def divergence(told: JsonObject, width: int, indent: str = "  ") -> Iterator[Text]:
    """``told`` is ``location``, ``expected``, ``found``, ``site`` and, where known, ``around``."""
    facts = (("at", told["location"]), ("code", told["expected"]), ("journal", told["found"]))
    for title, text in (*facts, ("call", near(told["site"]))):
        first, *more = wrap(text, width - len(indent) - 8)
        yield Text.assemble(indent, (f"{title:<8}", "dim"), (first, "red" if title != "call" else "bold"))
        for line in more:
            yield Text(f"{indent}{'':<8}{line}")
    if told.get("around"):
        yield Text(f"{indent}recorded there", "dim")
        yield from _around(told, width, indent)
    yield Text(f"{indent}ways out", "dim")
    for way, what in _WAYS_OUT:
        first, *more = wrap(what, width - len(indent) - 29)
        yield Text(f"{indent}  {way:<26} {first}")
        for line in more:
            yield Text(f"{indent}{'':<29}{line}")


def _around(told: JsonObject, width: int, indent: str) -> Iterator[Text]:
    mark = "→" if unicode_out() else ">"
    scope = split(told["around"][0]["location"])[0]
    if scope:
        yield from (Text(line) for line in wrap(f"in {scope}", width, f"{indent}  "))
    for entry in told["around"]:
        name = visible(name_of(split(entry["location"])[1]))
        begin = f"{indent}{mark if entry['here'] else ' '} "
        for line in wrap(f"{entry['kind']} '{name}'", width, begin)[:1]:
            yield Text(line, "bold" if entry["here"] else "")
