"""Every command of `rivet` alike: help, ``--json``, colour, pipes, exit codes, and nonsense typed at it."""

from __future__ import annotations

import json
import os
import re
import string
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rivetpy import Registry, actor, queue, setup
from rivetpy.cli.app import COMMANDS
from rivetpy.host.archive import Archive
from rivetpy.workflow import workflow
from tests.support.command import Ended, engine_thread, rivet
from tests.support.engine import RIVET, environment
from tests.support.schemas import SCHEMAS, Removed, Resumed, valid

NAMES = sorted(COMMANDS)
KEY = "[red]x[/]\x1b[2J"


async def flow(ctx):  # type: ignore[no-untyped-def]
    await ctx.step("one", lambda step: {"n": 1})
    await ctx.queue.next("wait", names=["jobs"])
    await ctx.step("bad", lambda step: 1 / 0, max_retries=0)


tried: list[None] = []


def mended(step):  # type: ignore[no-untyped-def]
    tried.append(None)
    assert len(tried) > 1


async def frail(ctx):  # type: ignore[no-untyped-def]
    await ctx.step("mended", mended, max_retries=0)
    for name in ("first", "second"):
        message = await ctx.queue.next(name, completable=True)
        await message.complete({"body": message.body})


def registry() -> Registry:
    return setup(
        use={
            "frail": actor(queues={"asked": queue()}, run=workflow(frail)),
            "shop": actor(
                state={"n": 1},
                queues={"jobs": queue(), "later": queue()},
                actions={"echo": lambda c, *args: list(args)},
                run=workflow(flow),
            ),
        }
    )


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with engine_thread(registry()) as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIVET_ENDPOINT", url)
        for key in ("main", KEY):
            for name in ("jobs", "later"):
                assert rivet("send", name, "1", "--key", key).code == 0
        yield url


@pytest.fixture(autouse=True)
def place(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RIVET_DATA_DIR", "RIVET_TOKEN", "RIVET_NAMESPACE", "NO_COLOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RIVET_ENDPOINT", endpoint)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("command", NAMES)
def test_help_says_what_it_does_and_shows_an_example(command: str) -> None:
    ended = rivet(command, "--help")
    assert (ended.code, ended.err) == (0, "")
    usage, _, rest = ended.out.partition("\n")
    assert usage.strip() or rest
    shown = " ".join(ended.out.split())
    (example,) = re.findall(rf"Example[^:]*: (.*?\brivet {command}\b)", shown)
    assert example and max(map(len, ended.out.splitlines())) <= 100


def test_all_commands_are_listed_with_a_line() -> None:
    shown = rivet("--help").out
    for command in NAMES:
        assert re.search(rf"^  {command}  +\w", shown, re.M), command


#: How each command that reads is run so that it prints something.
READING = {
    "actors": [],
    "history": ["shop"],
    "queue": ["shop"],
    "state": ["shop"],
    "replay": ["--file", "shop.rivet", "--registry", "code.py"],
    "doctor": [],
}
#: The same for those that change something; each has an actor of its own, whose key is the command's name.
CHANGING = {
    "send": [["later", "2", "--key", "send"], ["later", "--file", "bodies.jsonl", "--key", "send"]],
    "call": [["echo", "1", "--key", "call"]],
    "state": [["shop", "state", "--set", "n=2"], ["shop", "state", "--edit"]],
    "queue": [["shop", "queue", "--drop", "1"], ["shop", "queue", "--clear", "--yes"]],
    "cancel": [["shop", "cancel", "--yes"]],
    "wake": [["shop", "wake"]],
    "sleep": [["shop", "sleep"]],
    "destroy": [["shop", "destroy", "--yes"]],
    "rewind": [
        ["shop", "rewind", "--dry-run"],
        ["shop", "rewind", "--yes"],
        ["shop", "rewind", "--undo", "--yes"],
    ],
    "fork": [["shop", "main", "forked"]],
    "import": [["shop.rivet", "--key", "imported"]],
    "init": [["begun"]],
}
#: What another way to run a command prints.
OTHERWISE = {"--drop": Removed, "--clear": Removed, "--undo": Resumed}
#: What has no --json: its answer is a file, a script, or log lines (which have --log-format json).
WITHOUT = {"export", "completions", "dev", "serve"}


def prepared(command: str) -> list[str]:
    """The arguments, and the files they name."""
    if command in {"import", "replay"}:
        file = subprocess.run(
            [*RIVET, "export", "shop"],
            env=environment(RIVET_ENDPOINT=os.environ["RIVET_ENDPOINT"]),
            capture_output=True,
            check=True,
        )
        Path("shop.rivet").write_bytes(file.stdout)
        Path("code.py").write_text("from tests.test_cli_every import registry\nregistry = registry()\n")
    return [command, *READING.get(command, [])]


def test_every_command_has_json_and_a_schema() -> None:
    having = {name for name in NAMES if "--json" in rivet(name, "--help").out}
    assert having == set(NAMES) - WITHOUT == SCHEMAS.keys()
    assert having == READING.keys() | CHANGING.keys() | {"watch", "recover"}


@pytest.mark.parametrize("command", READING)
def test_json_keeps_to_its_schema(command: str) -> None:
    ended = rivet(*prepared(command), "--json")
    assert ended.code == 0, ended
    assert valid(command, ended.out)
    assert "\x1b" not in ended.out


@pytest.mark.parametrize("command", CHANGING)
def test_what_was_changed_is_one_object(command: str) -> None:
    assert rivet("send", "later", "1", "--key", command).code == 0
    prepared(command)
    Path("bodies.jsonl").write_text("1\n2\n")
    for args in CHANGING[command]:
        ended = rivet(command, *args, "--json")
        assert ended.code == 0, ended
        shape = next((OTHERWISE[each] for each in args if each in OTHERWISE), None)
        assert len(valid(command, ended.out, shape)) == 1


def test_what_goes_on_again_is_one_object() -> None:
    """A workflow that fails once, and then answers: recover, and a send that waits."""
    assert rivet("send", "asked", "1").code == 0
    assert rivet("history", "frail", "--follow").code == 0
    (recovered,) = valid("recover", rivet("recover", "frail", "--json").out)
    assert recovered.did == "recover"
    (sent,) = valid("send", rivet("send", "asked", "2", "--wait", "--json").out)
    assert sent.response == {"body": 2}


@pytest.mark.parametrize("command", [*READING, "rewind"])
def test_colour_is_as_asked_for(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    args = ["rewind", "shop", "--dry-run"] if command == "rewind" else prepared(command)
    for options in ([], ["--color", "never"], ["--color", "auto"]):
        assert "\x1b" not in rivet(*args, *options).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in rivet(*args).out
    if command in {"actors", "history", "queue", "replay", "doctor"}:
        assert "\x1b[" in rivet(*args, "--color", "always").out


def test_a_closed_pipe_ends_every_command_quietly() -> None:
    """As ``| head -0`` closes it; each a process of its own, at once. Help and plain sentences go one way."""
    env = environment(RIVET_ENDPOINT=os.environ["RIVET_ENDPOINT"], PYTHONUNBUFFERED="1")
    reading, writing = os.pipe()
    os.close(reading)
    commands = {name: prepared(name) for name in READING}
    commands["export"] = ["export", "shop"]
    commands["call"] = ["call", "echo", "x" * 50_000]
    commands["fork"] = ["fork", "--help"]
    commands["send"] = ["send", "later", "1", "--key", "piped"]
    started = {
        name: subprocess.Popen([*RIVET, *args], env=env, stdout=writing, stderr=subprocess.PIPE, text=True)
        for name, args in commands.items()
    }
    os.close(writing)
    told = {
        name: (process.communicate(timeout=120)[1], process.returncode) for name, process in started.items()
    }
    assert told == dict.fromkeys(told, ("", 0))


#: What must not be there for a command to be refused as typed wrong, and what it then says.
WRONG = {
    "send": [],
    "call": [],
    "history": [],
    "state": [],
    "queue": [],
    "rewind": [],
    "recover": [],
    "cancel": [],
    "wake": [],
    "sleep": [],
    "destroy": [],
    "export": [],
    "import": [],
    "fork": ["shop"],
    "completions": [],
    "replay": [],
}


@pytest.mark.parametrize("command", NAMES)
def test_wrong_usage_is_2(command: str) -> None:
    cases = [[command, "--no-such-option"], *([[command, *WRONG[command]]] if command in WRONG else [])]
    for args in cases:
        ended = rivet(*args)
        assert (ended.code, ended.out) == (2, "") and len(ended.err.splitlines()) == 1, ended
        assert "--help" in ended.error or "Name an actor" in ended.error


NOBODY = {
    "history": ["shop", "nobody"],
    "state": ["shop", "nobody"],
    "queue": ["shop", "nobody"],
    "rewind": ["shop", "nobody", "--yes"],
    "recover": ["shop", "nobody"],
    "cancel": ["shop", "nobody", "--yes"],
    "wake": ["shop", "nobody"],
    "sleep": ["shop", "nobody"],
    "destroy": ["shop", "nobody", "--yes"],
    "export": ["shop", "nobody"],
    "fork": ["shop", "nobody", "new"],
    "actors": ["nobody"],
    "watch": ["shop", "nobody"],
}


@pytest.mark.parametrize("command", NOBODY)
def test_what_is_not_there_is_1_and_names_what_is(command: str) -> None:
    ended = rivet(command, *NOBODY[command])
    assert (ended.code, ended.out) == (1, "") and len(ended.err.splitlines()) == 1
    assert "main" in ended.error or "shop" in ended.error


@pytest.mark.parametrize("command", sorted({*NOBODY, "send", "call", "import"}))
def test_no_engine_is_1_and_says_how_to_start_one(command: str) -> None:
    Path("file").write_bytes(Archive("id", "a", ("one",), 5, [], None).pack())
    args = {"send": ["jobs"], "call": ["echo"], "import": ["file"]}.get(command) or NOBODY[command]
    ended = rivet(command, *args, "--endpoint", "http://127.0.0.1:9")
    assert (ended.code, ended.out) == (1, "")
    assert ended.error == "No engine answers at http://127.0.0.1:9. Start one: rivet dev"


@pytest.mark.parametrize("command", ["dev", "serve"])
def test_what_cannot_start_is_3(command: str) -> None:
    for args in ([], ["nowhere.py"], ["--host", "0.0.0.0"], ["--host", "no such host"]):
        ended = rivet(command, *args)
        assert (ended.code, ended.out) == (3, "") and len(ended.err.splitlines()) == 1, ended


@pytest.mark.parametrize("command", ["dev", "serve"])
def test_an_address_for_others_says_what_to_type(command: str) -> None:
    assert rivet(command, "--host", "0.0.0.0").error == (
        "--host 0.0.0.0 lets other machines in, so a token is needed: "
        f"RIVET_TOKEN=… rivet {command} --host 0.0.0.0"
    )
    assert rivet(command, "--host", "").error.startswith("--host '' lets other machines in")


def test_hostile_text_is_printed_literally() -> None:
    ran = [
        rivet("history", "shop", KEY),
        rivet("actors"),
        rivet("queue", "shop", KEY),
        rivet("state", "shop", KEY),
        rivet("fork", "shop", KEY, f"{KEY}2"),
        rivet("rewind", "shop", KEY, "--dry-run"),
        rivet("history", "shop", f"{KEY}?"),
        rivet("send", "jobs", "1", "--key", KEY),
        rivet("send", "jobs", KEY),
        rivet("state", "shop", KEY, "--set", f"{KEY}=1"),
        rivet("actors", KEY),
        rivet(KEY),
        rivet("call", KEY),
        rivet("replay", KEY, "--registry", KEY),
        rivet("completions", KEY),
        rivet("import", KEY),
        rivet("doctor", "--data-dir", KEY),
        rivet("init", KEY),
    ]
    for ended in ran:
        assert "\x1b" not in ended.out + ended.err
        assert "Traceback" not in ended.err and "fault of rivetpy" not in ended.err
    assert sum("[red]x[/]" in ended.out + ended.err for ended in ran) > 12


WORDS = st.one_of(
    st.sampled_from(
        ["shop", "main", "jobs", "echo", KEY, "", "-", "--", "@", "{", '{"a":1}', "a:=1", "*", "/", "\\"]
    ),
    st.sampled_from(
        ["--json", "--key", "--actor", "--limit", "--set", "--to", "--drop", "--color", "--entry"]
    ),
    st.sampled_from(
        ["--full", "--dry-run", "--yes", "--undo", "--clear", "--file", "--at", "--edit", "--all"]
    ),
    st.sampled_from(
        ["-1", "0", "99999999999999999999", "NaN", "=", "x=1", "$=1", "a.b[0]=1", "~0", "always"]
    ),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6),
    st.text(string.printable.replace("\0", ""), max_size=8),
)
#: Not these: they go on until somebody ends them, or begin a project for every word.
WAITING = {"dev", "serve", "init", "watch"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.sampled_from([name for name in NAMES if name not in WAITING]),
    words=st.lists(WORDS, max_size=5),
)
def test_nonsense_is_answered_and_never_a_traceback(command: str, words: list[str]) -> None:
    assert_answered(rivet(command, *words))


def assert_answered(ended: Ended) -> None:
    assert ended.code in {0, 1, 2}, ended
    assert "Traceback" not in ended.err and "fault of rivetpy" not in ended.err, ended
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ended.err), ended
    if ended.code:
        assert ended.err.splitlines()[-1].strip()


def test_debug_noise_of_a_registry_is_no_answer(tmp_path: Path) -> None:
    """What a registry prints while it is imported goes to stderr."""
    prepared("replay")
    Path("code.py").write_text(
        "print('noise')\nimport logging\nlogging.basicConfig(level=0)\n" + Path("code.py").read_text()
    )
    ended = rivet("replay", "--file", "shop.rivet", "--registry", "code.py", "--json")
    assert json.loads(ended.out)["name"] == "shop"
    assert "noise" in ended.err
