"""The commands against a real engine in a thread: what they print, and every mistake with its exit code."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rivetpy import Registry, RivetError, actor, queue, setup
from rivetpy.cli import main as script
from rivetpy.cli import source
from rivetpy.cli.engine_api import EngineApi
from rivetpy.client.calls import Call
from rivetpy.client.requests import Requests
from rivetpy.workflow import workflow
from tests.support.actors import registry
from tests.support.command import Ended, engine_thread, rivet

KEY = "[red]x[/]\x1b[2J"


def both() -> Registry:
    """The test's actors, and one more that has a queue and an action of the same names."""
    others = dict(registry().actors)
    others["parted"] = actor(
        state={"items": [{"price": 1}], "name": "x"},
        queues={"jobs": queue(), "lonely": queue(), "typed": queue(dict[str, int])},
        actions={"getState": lambda c: c.state},
    )
    others["sum"] = actor(queues={"numbers": queue()}, run=workflow(summing))
    return setup(use=others)


async def summing(ctx):  # type: ignore[no-untyped-def]
    first = await ctx.queue.next("first")
    second = await ctx.queue.next("second")
    return first.body + second.body


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with engine_thread(both()) as url:
        yield url


@pytest.fixture(autouse=True)
def place(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RIVET_DATA_DIR", "RIVET_TOKEN", "RIVET_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RIVET_ENDPOINT", endpoint)
    monkeypatch.setenv("COLUMNS", "100")


def eventually(look: Callable[[], Ended], good: Callable[[Ended], bool]) -> Ended:
    for _ in range(400):
        seen = look()
        if good(seen):
            return seen
        time.sleep(0.01)
    raise AssertionError(seen)


def done(*args: str, stdin: bytes = b"") -> str:
    ended = rivet(*args, stdin=stdin)
    assert ended.code == 0 and not ended.err, ended
    return ended.out


def test_send_finds_the_actor_by_its_queue() -> None:
    assert done("send", "numbers", "1", "--key", "found") == "sent to sum found\n"
    assert done("send", "numbers", "2", "--key", "found") == "sent to sum found\n"
    ended = eventually(lambda: rivet("history", "sum", "found"), lambda e: "completed" in e.out)
    assert "output 3" in ended.out


def test_send_waits_for_the_response() -> None:
    waiting = ("--actor", "counter", "--key", "waits", "--wait", "--timeout", "20")
    assert json.loads(done("send", "jobs", "n:=1", *waiting)) is not None


def test_send_reads_bodies_from_a_file_and_from_stdin(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text('{"n":1}\n\n<"n":2>\n')
    assert done("send", "lonely", "--key", "many", "--file", "many.jsonl") == "sent 2 to parted many\n"
    done("send", "lonely", "--key", "many", "--file", "-", stdin=b"3\n4\n")
    done("send", "lonely", "-", "--key", "many", stdin=b"5")
    lines = done("queue", "parted", "many", "--json").splitlines()
    assert [json.loads(line)["body"] for line in lines] == [{"n": 1}, {"n": 2}, 3, 4, 5]


def test_text_in_place_of_a_number_is_told_how_to_write_one() -> None:
    ended = rivet("send", "typed", "n=5")
    assert ended.code == 1 and ended.error.startswith("The body does not fit queue 'typed': n: ")
    assert ended.error.endswith("n=5 is text; a number, true or null is n:=5")
    assert done("send", "typed", "n:=5") == "sent to parted main\n"
    assert "is text" not in rivet("send", "typed", "n=five").error


def test_a_bad_line_in_a_file_sends_nothing(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text("1\n{\n")
    ended = rivet("send", "lonely", "--key", "bad-file", "--file", "many.jsonl")
    assert (ended.code, ended.out) == (2, "")
    assert ended.error == "many.jsonl line 2: this is not JSON: it ends too early"
    assert "bad-file" not in done("actors", "parted", "--json")


def test_the_same_idempotency_key_sends_once(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text("1\n2\n")
    for _ in range(2):
        done("send", "lonely", "0", "--key", "once", "--idempotency-key", "a")
        done("send", "lonely", "--key", "once", "--idempotency-key", "b", "--file", "many.jsonl")
    lines = done("queue", "parted", "once", "--json").splitlines()
    assert [json.loads(line)["body"] for line in lines] == [0, 1, 2]


def test_call_passes_json_and_words() -> None:
    assert json.loads(done("call", "echo", "1", "two", '{"a":[3]}', "<>")) == [1, "two", {"a": [3]}, {}]
    assert json.loads(done("call", "ping")) == "pong"
    assert json.loads(done("call", "nothing")) is None
    assert json.loads(done("call", "echo", "--", "-5", "--wait")) == [-5, "--wait"]


def test_keys_have_parts() -> None:
    done("call", "add", "1", "--key", r"org/room\/7")
    keys = [json.loads(line)["key"] for line in done("actors", "counter", "--json").splitlines()]
    assert r"org/room\/7" in keys
    assert json.loads(done("state", "counter", r"org/room\/7")) == {"value": 1}


def test_state_is_shown_and_changed() -> None:
    done("call", "getState", "--actor", "parted", "--key", "s")
    assert json.loads(done("state", "parted", "s")) == {"items": [{"price": 1}], "name": "x"}
    done("state", "parted", "s", "--set", "items[0].price=9.5", "--set", 'name="y"', "--set", "new=null")
    assert done("state", "parted", "s", "--json") == '{"items":[{"price":9.5}],"name":"y","new":null}\n'


def test_queue_drops_and_clears() -> None:
    for n in range(4):
        done("send", "lonely", str(n), "--key", "q")
    ids = [json.loads(line)["id"] for line in done("queue", "parted", "q", "--json").splitlines()]
    shown = done("queue", "parted", "q")
    assert shown.splitlines()[0].split() == ["ID", "QUEUE", "AGE", "BODY"]
    assert "4 waiting" in shown
    done("queue", "parted", "q", "--drop", str(ids[1]))
    left = [json.loads(line)["body"] for line in done("queue", "parted", "q", "--json").splitlines()]
    assert left == [0, 2, 3]
    gone = rivet("queue", "parted", "q", "--drop", str(ids[1]))
    assert gone.code == 1 and f"No message {ids[1]}" in gone.error
    assert done("queue", "parted", "q", "--clear", "--yes") == "removed 3 messages of parted q\n"
    assert done("queue", "parted", "q", "--json") == ""


def test_destroy_asks_first() -> None:
    done("call", "ping", "--key", "gone")
    refused = rivet("destroy", "plain", "gone")
    assert refused.code == 2 and "add --yes" in refused.error
    assert done("destroy", "plain", "gone", "--yes") == "destroyed plain gone\n"
    assert rivet("destroy", "plain", "gone", "--yes").code == 1


def test_actors_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    done("call", "ping", "--key", "listed")
    lines = done("actors", "plain").splitlines()
    assert lines[0].split()[:3] == ["NAME", "KEY", "STATUS"]
    assert any(line.split()[:3] == ["plain", "listed", "awake"] for line in lines)
    objects = [json.loads(line) for line in done("actors", "--json").splitlines()]
    assert {"name", "key", "summary"} <= objects[0].keys()
    assert len(rivet("actors", "--json", "--limit", "1").out.splitlines()) == 1


def test_a_long_list_of_actors_goes_on_where_it_ended() -> None:
    for n in range(5):
        done("call", "ping", "--key", f"paged {n}")
    first = rivet("actors", "plain", "--json", "--limit", "2")
    assert [json.loads(line)["key"] for line in first.out.splitlines()] == ["paged 4", "paged 3"]
    cursor = first.err.removeprefix("there are more, go on with: --cursor ").strip()
    rest = rivet("actors", "plain", "--json", "--limit", "2", "--cursor", cursor)
    assert [json.loads(line)["key"] for line in rest.out.splitlines()] == ["paged 2", "paged 1"]
    assert "paged 4" in done("actors", "plain", "--json")
    wrong = rivet("actors", "--cursor", "nonsense")
    assert wrong.code == 1 and "cursor" in wrong.error


def test_history_prints_one_object_a_line() -> None:
    done("send", "numbers", "1", "--key", "json")
    ended = eventually(lambda: rivet("history", "sum", "json", "--json"), lambda e: e.out.count("\n") == 2)
    first, second = map(json.loads, ended.out.splitlines())
    assert first["location"] == "first" and first["status"] == "completed" and first["value"]["body"] == 1
    assert second["location"] == "second" and second["completedAt"] is None
    assert set(first) == {
        *("location", "kind", "status", "attempts", "createdAt", "startedAt", "completedAt"),
        *("retryAt", "deadline", "value", "error", "reason"),
        *("branches", "winner", "rolledBackAt", "rollbackError"),
    }
    assert json.loads(done("history", "sum", "json", "--json", "--limit", "1"))["location"] == "second"


def test_history_follows_until_the_end() -> None:
    done("send", "numbers", "1", "--key", "follow")
    done("send", "numbers", "2", "--key", "follow")
    told = done("history", "sum", "follow", "--follow")
    assert told.splitlines()[-2:] == ["sum follow: workflow completed", "  output 3"]
    lines = done("history", "sum", "follow", "--follow", "--json").splitlines()
    assert [json.loads(line)["location"] for line in lines] == ["first", "second"]


def test_one_entry_is_shown_whole() -> None:
    done("send", "numbers", '"' + "x" * 300 + '"', "--key", "entry")
    ended = eventually(
        lambda: rivet("history", "sum", "entry", "--entry", "first"), lambda e: "completed" in e.out
    )
    assert "x" * 300 in ended.out
    missing = rivet("history", "sum", "entry", "--entry", "frist")
    assert missing.code == 1 and "Did you mean 'first'?" in missing.error


def test_hostile_text_is_printed_as_it_is() -> None:
    assert done("send", "numbers", "1", "--key", KEY) == "sent to sum '[red]x[/]\\x1b[2J'\n"
    for command in (["actors"], ["history", "sum", KEY], ["history", "sum", KEY, "--color", "never"]):
        told = done(*command)
        assert "[red]x[/]\\x1b[2J" in told and "\x1b" not in told


def test_colour_is_for_terminals_or_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    done("call", "ping", "--key", "colour")
    assert "\x1b[" not in done("actors", "plain")
    assert "\x1b[" in done("actors", "plain", "--color", "always")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in done("actors", "plain", "--color", "auto")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["send", "lonely", "{"], "this is not JSON: it ends too early"),
        (["send", "lonely", "NaN"], "NaN is not JSON"),
        (["send", "lonely", "@nowhere.json"], "nowhere.json: no such file or directory"),
        (["send", "lonley", "1"], "No actor declares the queue 'lonley'. Did you mean 'lonely'?"),
        (["send", "jobs", "1"], "The queue 'jobs' is declared by counter, parted. Choose: --actor counter"),
        (["send", "lonely", "1", "--actor", "plain"], "The actor 'plain' declares no queue 'lonely'"),
        (
            ["send", "lonely", "1", "--actor", "plian"],
            "The registry has no actor 'plian'. Did you mean 'plain'?",
        ),
        (["send", "lonely", "1", "--timeout", "3"], "--timeout is for --wait"),
        (["send", "lonely", "1", "--file", "f"], "--file takes the bodies from the file"),
        (["send", "lonely", "--wait", "--timeout", "x"], "Invalid value for '--timeout'"),
        (["send"], "Missing argument 'QUEUE'"),
        (["call", "pnig"], "No actor declares the action 'pnig'. Did you mean 'ping'?"),
        (["call", "echo", "{"], "this is not JSON"),
        (["state", "plain", "--set", "ready"], "has no '='"),
        (["state", "plain", "--set", "ready=flase"], "ready: this is not JSON"),
        (["queue", "plain", "--clear", "--drop", "1"], "use one of them"),
        (["history", "sum", "--follow", "--entry", "x"], "use one of them"),
        (["completions", "tcsh"], "Invalid value for"),
        (["completions"], "Missing argument 'shell'. Choose from: bash, zsh, fish. See: rivet completions"),
        (["histroy", "x"], "'destroy'? See: rivet --help"),
        (["actors", "--data-dir", ""], "Invalid value for '--data-dir': a directory's name is empty"),
        (["dev", "--data-dir", ""], "Invalid value for '--data-dir': a directory's name is empty"),
        (["call", "echo", "{n:1}"], """put it in single ones: '{"key": 1}'"""),
        (["actors", "--colour"], "No such option: --colour"),
        (["actors", "--color", "sometimes"], "Invalid value for '--color'"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_how_it_goes(args: list[str], problem: str) -> None:
    before = done("actors", "--json")
    ended = rivet(*args)
    assert (ended.code, ended.out) == (2, "")
    assert problem in ended.error
    assert "Traceback" not in ended.err
    assert done("actors", "--json").count("\n") == before.count("\n"), "nothing was made"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["actors", "palin"], "There is no actor 'palin' yet. Did you mean 'plain'?"),
        (["actors", "palin", "--json"], "There is no actor 'palin' yet. Did you mean 'plain'?"),
        (["history", "nope"], "There is no actor 'nope' yet."),
        (["history", "plain", "mian"], "There is no plain with the key 'mian'. Did you mean 'main'?"),
        (["state", "plain", "--set", "raedy.x=1"], "$ has no 'raedy'. It has: 'ready'"),
        (["call", "refuse"], "user says no (user.my_code)"),
        (["call", "crash"], "What went wrong is in the engine's log"),
        (["send", "lonely", json.dumps("x" * 70_000), "--key", "big"], "(message.incoming_too_long)"),
        (["actors", "--endpoint", "http://127.0.0.1:9"], "No engine answers at http://127.0.0.1:9"),
        (["send", "lonely", "1", "--endpoint", "http://127.0.0.1:9"], "Start one"),
        (["actors", "--endpoint", "nonsense"], "The endpoint can't be used"),
        (["actors", "--namespace", "elsewhere"], "(namespace.not_found)"),
    ],
)
def test_failures_end_with_1_and_say_what_next(args: list[str], problem: str) -> None:
    done("call", "ping")
    before = done("actors", "parted", "--json").count("\n")
    ended = rivet(*args)
    assert (ended.code, ended.out) == (1 if "--set" not in args else 2, "")
    assert problem in ended.error
    assert done("actors", "parted", "--json").count("\n") == before, "nothing was made"
    assert "Traceback" not in ended.err and "hunter2" not in ended.err


@pytest.mark.parametrize("error", [KeyError("summary"), RivetError("api", "not_found", "no such route")])
def test_an_engine_of_another_release_is_named(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object) -> None:
        raise error

    monkeypatch.setattr(EngineApi, "find", unknown)
    same = rivet("history", "plain")
    assert same.code == 1 and "is rivet" not in same.error
    monkeypatch.setattr(source, "__version__", "9.9")
    other = rivet("history", "plain")
    assert other.code == 1 and "this command is rivet 9.9. Restart rivet dev" in other.error


def test_something_else_that_answers_is_no_engine(endpoint: str) -> None:
    ended = rivet("send", "lonely", "1", "--endpoint", f"{endpoint}/elsewhere")
    assert ended.code == 1


def test_an_engine_that_is_not_ours_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object) -> None:
        raise RivetError("api", "bad_request", "unknown field `summary`")

    for method in ("find", "actors"):
        monkeypatch.setattr(EngineApi, method, unknown)
    assert "unknown field" in rivet("actors").error, "ours says it itself"
    monkeypatch.setattr(Requests, "metadata", lambda requests: Call("GET", "/metadata", lambda body: {}))
    for command in ("actors", "history plain", "state plain"):
        ended = rivet(*command.split())
        assert (ended.code, ended.out) == (1, "")
        assert "is not a rivetpy engine. Name it: --endpoint URL" in ended.error


def test_the_default_port_is_a_guess_that_touches_no_other_project(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RIVET_ENDPOINT")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(source, "DEFAULT_URL", endpoint)
    done("call", "ping")
    (tmp_path / "registry.py").touch()
    metadata = {"registry": str(tmp_path / "registry.py"), "actorNames": {}}
    monkeypatch.setattr(source, "introduced", lambda endpoint: metadata)
    done("actors")
    metadata["registry"] = "/another/registry.py"
    for command in (["actors"], ["send", "lonely", "1"]):
        ended = rivet(*command)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.splitlines() == [
            f"the engine at {endpoint} runs another registry, /another/registry.py",
            "error: No engine runs for this directory. Start one: rivet dev (or name it: --endpoint URL)",
        ]
    done("actors", "--endpoint", endpoint)


def test_a_token_opens_an_engine_that_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with engine_thread(both(), token="secret") as url:
        monkeypatch.setenv("RIVET_ENDPOINT", url)
        refused = rivet("actors")
        assert refused.code == 1 and "auth.forbidden" in refused.error
        monkeypatch.setenv("RIVET_TOKEN", "secret")
        done("actors")
        done("call", "ping")


def test_ctrl_c_before_the_command_began_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rivetpy.cli.app.main", interrupted)
    with pytest.raises(SystemExit) as ended:
        script()
    assert ended.value.code == 130


def test_help_and_version() -> None:
    assert done() == done("--help") == done("-h")
    assert done("--version").startswith("rivet 0.")
    commands = (
        *("dev", "send", "call", "actors", "history", "state", "queue", "destroy", "completions"),
        *("replay", "rewind", "recover", "cancel", "wake", "sleep", "serve", "watch", "fork", "export"),
        *("import", "doctor", "init"),
    )
    for command in commands:
        assert f"  {command} " in done("--help")
        assert done(command, "--help").startswith(f"Usage: rivet {command} ")
        assert "..." not in done("--help").partition("Commands:")[2], "a description was cut"
