"""`rivet doctor`: tells what was found, and ends with 1 when something is bad."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from rivetpy.cli.checkup import CHECKS, Finding, Patient, Verdict
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Common
from rivetpy.cli.source import DEFAULT_URL, namespace_of
from rivetpy.cli.text import json_text
from rivetpy.config import Place, find_engine
from rivetpy.errors import StoreError

#: Where the text of a finding begins.
_INDENT = 16


def examine(common: Common, as_json: bool) -> None:
    """Look at everything and tell. Raises Problem when something is bad."""
    patient = Patient(_place(common), namespace_of(common))
    bad = 0
    for finding in (each for check in CHECKS for each in check(patient)):
        bad += finding.verdict is Verdict.BAD
        if as_json:
            print(json_text(asdict(finding)), flush=True)
        else:
            _show(finding, common)
    if bad:
        raise Problem(f"{bad} thing{'s' if bad > 1 else ''} to see to")


def _place(common: Common) -> Place:
    """Where to look. Where it can't be read who holds the directory, nobody is known, and a check tells."""
    try:
        return find_engine(common.endpoint, common.data_dir, Path.cwd())
    except StoreError:
        place = find_engine(DEFAULT_URL, common.data_dir, Path.cwd())
        return replace(place, endpoint=None, endpoint_named=False)


def _show(finding: Finding, common: Common) -> None:
    from rich.text import Text

    from rivetpy.cli.terminal import pad, show, width, wrap

    style = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.BAD: "red"}[finding.verdict]
    first, *more = wrap(finding.text, width(), " " * _INDENT)
    head = Text.assemble((pad(finding.verdict, 5), style), pad(finding.check, 11), first[_INDENT:])
    todo = wrap(f"to do: {finding.todo}", width(), " " * _INDENT) if finding.todo else []
    show([head, *map(Text, more), *map(Text, todo)], common.color)
