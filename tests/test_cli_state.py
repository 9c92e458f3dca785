"""`rivet state`: changed by path and in an editor; a change that can't be taken loses no text and no other change."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from rivetpy import actor, setup
from tests.support.command import Ended, engine_thread, rivet
from tests.support.engine import RIVET


@dataclass
class Bill:
    total: int = 0
    lines: list[str] = field(default_factory=list)


NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPED = {
    "n": 1,
    "times": [NOW, NOW + timedelta(1)],
    "data": b"\xff",
    "set": {1, 2},
    "price": Decimal("1.10"),
    "id": UUID(int=5),
    "big": 2**70,
    "half": {"float": 1.0, "text": "1.10"},
    "dollars": ["$Set", ["$x"]],
}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    def add(c, by):  # type: ignore[no-untyped-def]
        c.state.total += by

    plain = actor(state={"n": 1}, actions={"touch": lambda c: None})
    shown = lambda c: repr({name: repr(value) for name, value in c.state.items()})  # noqa: E731
    typed = actor(state=TYPED, actions={"shown": shown})
    use = {"bill": actor(state=Bill, actions={"add": add}), "plain": plain, "typed": typed}
    with engine_thread(setup(use=use)) as url:
        yield url


@pytest.fixture(autouse=True)
def place(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIVET_ENDPOINT", endpoint)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name in ("RIVET_TOKEN", "RIVET_NAMESPACE", "VISUAL"):
        monkeypatch.delenv(name, raising=False)


def edited(monkeypatch: pytest.MonkeyPatch, key: str, script: str) -> Ended:
    """`rivet state --edit` with a shell script as the editor; ``$1`` is the file."""
    file = Path("editor.sh")
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(file.absolute()))
    assert rivet("call", "add", "0", "--key", key).code == 0
    return rivet("state", "bill", key, "--edit", "--json")


def left_over(tmp_path: Path) -> list[str]:
    return [path.read_text() for path in tmp_path.glob("rivet-state-*/state.json")]


def test_an_edited_state_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ended = edited(monkeypatch, "edited", """sed -i 's/"total": 0/"total": 7/' "$1" """)
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == {"total": 7, "lines": []}
    assert json.loads(rivet("state", "bill", "edited").out) == {"total": 7, "lines": []}
    assert left_over(tmp_path) == []


def test_visual_goes_first_and_may_have_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", """sed -i 's/"total": 0/"total": 3/'""")
    ended = edited(monkeypatch, "visual", "exit 9")
    assert json.loads(ended.out)["total"] == 3


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("""echo '{"total": ' > "$1" """, "Nothing was changed: this is not JSON: it ends too early"),
        (
            """echo '{"total": "x", "lines": []}' > "$1" """,
            "This is no state of 'bill': total: Input should be",
        ),
        ("exit 3", "editor.sh' ended with 3"),
        ("rivet_call", "editor.sh' ended with 127"),
    ],
    ids=["no json", "no bill", "editor fails", "editor is broken"],
)
def test_text_that_cannot_be_taken_is_kept(
    script: str, problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended = edited(monkeypatch, "kept", script)
    assert (ended.code, ended.out) == (1, "")
    assert problem in ended.error
    kept = re.search(r"kept in (\S+)$", ended.error)
    assert kept and left_over(tmp_path) == [Path(kept[1]).read_text()]
    assert json.loads(rivet("state", "bill", "kept").out) == {"total": 0, "lines": []}


def test_a_change_of_somebody_else_is_not_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    call = f"{shlex.join(RIVET)} call add 5 --key race"
    ended = edited(monkeypatch, "race", call + """ && sed -i 's/"lines": \\[\\]/"lines": ["a"]/' "$1" """)
    assert ended.code == 1 and "was changed by somebody else meanwhile" in ended.error
    assert json.loads(rivet("state", "bill", "race").out) == {"total": 5, "lines": []}


def test_an_editor_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor -w")
    ended = edited(monkeypatch, "none", "")
    assert ended.code == 1
    assert ended.error == (
        "The editor 'no-such-editor -w' can't be run: no such file or directory. Name one: EDITOR=nano"
    )


def test_an_editor_that_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = edited(monkeypatch, "nothing", 'rm "$1"')
    assert ended.code == 1 and ended.error.startswith("Nothing was changed: the editor left no file")


def test_a_state_longer_than_a_message_can_be_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = edited(monkeypatch, "long", f"""printf '{{"total": 1, "lines": ["%0{200_000}d"]}}' 0 > "$1" """)
    assert ended.code == 0 and json.loads(ended.out)["lines"] == ["0" * 200_000]


def test_a_state_without_a_model_stays_an_object() -> None:
    rivet("call", "touch")
    for value in ("5", "null", "[]"):
        ended = rivet("state", "plain", "--set", f"$={value}")
        assert ended.code == 1 and "This is no state of 'plain': $: it is an object, not" in ended.error
    assert json.loads(rivet("state", "plain", "--set", '$={"m": 1}').out) == {"m": 1}


def test_what_nobody_changes_stays_what_it_is() -> None:
    """Also what JSON writes as text, or with a tag, and in a list that got shorter."""
    before = ast.literal_eval(json.loads(rivet("call", "shown").out))
    assert rivet("state", "typed", "--set", "n=2").code == 0
    assert ast.literal_eval(json.loads(rivet("call", "shown").out)) == {**before, "n": "2"}
    times = json.loads(rivet("state", "typed", "--json").out)["times"]
    assert rivet("state", "typed", "--set", f"times={json.dumps([times[1], 'new'])}").code == 0
    after = ast.literal_eval(json.loads(rivet("call", "shown").out))
    assert after == {**before, "n": "2", "times": repr([NOW + timedelta(1), "new"])}
    assert rivet("state", "typed", "--set", 'data=["$Uint8Array", "AA=="]').code == 0
    assert ast.literal_eval(json.loads(rivet("call", "shown").out))["data"] == repr(b"\0")


def test_a_part_that_does_not_fit_the_model_is_refused() -> None:
    rivet("call", "add", "0", "--key", "part")
    ended = rivet("state", "bill", "part", "--set", 'total="much"')
    assert (
        ended.code == 1
        and "This is no state of 'bill': total: Input should be a valid integer" in ended.error
    )
    assert rivet("state", "bill", "part", "--set", "total=1", "--edit").code == 2
