"""The completion scripts: shipped as printed, and run by the real shells against a real engine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rivetpy import actor, event, queue, setup
from rivetpy.workflow import workflow
from tests.support.command import engine_thread, rivet
from tests.support.engine import RIVET, ROOT, environment

SHELLS = ("bash", "zsh", "fish")
#: What no shell may run, expand or be confused by.
HOSTILE = [
    "two words",
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"\\\\$(touch pwned)',
    "*",
    "a:b:c",
]
UNSEEN = ["new\nline", "\x1b[2J", "--key"]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    async def waiting(ctx):  # type: ignore[no-untyped-def]
        await ctx.step("first", lambda step: None)
        await ctx.queue.next("wait", names=["none"])

    plain = {"actions": {"ping": lambda c: None, "pong": lambda c: None}}
    registry = setup(
        use={
            "counter": actor(queues={"counts": queue(), "control": queue()}, **plain),
            "flows": actor(
                queues={"orders": queue(), "none": queue()}, events={"paid": event()}, run=workflow(waiting)
            ),
            "hostile": actor(queues={"jobs": queue()}, actions={"add": lambda c: None}),
        }
    )
    with engine_thread(registry) as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIVET_ENDPOINT", url)
        for key in ("main", "org/room", "other"):
            assert rivet("call", "ping", "--actor", "counter", "--key", key).code == 0
        for key in (*HOSTILE, *UNSEEN):
            assert rivet("call", "add", f"--key={key}").code == 0
        assert rivet("send", "orders", "1", "--key", "org/room").code == 0
        yield url


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shipped_script_is_the_printed_one(shell: str) -> None:
    ended = rivet("completions", shell)
    assert ended.code == 0
    assert (ROOT / "completions" / f"rivet.{shell}").read_text() == ended.out


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_understands_its_script(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    check = ["-n"] if shell != "fish" else ["--no-execute"]
    subprocess.run([shell, *check, str(ROOT / "completions" / f"rivet.{shell}")], check=True)


#: How each shell is asked what it would offer for a line; one offer a line.
ASK = {
    "bash": """
        source '{script}'
        COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
        _rivet_completion rivet; printf '%s\\n' "${{COMPREPLY[@]}}"
        """,
    "zsh": """
        compdef() {{ }}; _files() {{ }}
        compadd() {{ print -rl -- "${{(@P)5}}" }}
        source '{script}'
        words=(${{(z):-'{line}'}}); [[ '{line}' == *' ' ]] && words+=('')
        CURRENT=$#words; _rivet_completion
        """,
    "fish": "source '{script}'; complete -C '{line}'",
}


def offered(shell: str, line: str, place: Path, **env: str) -> list[str]:
    """What a shell would offer at the end of a line."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    command = place / "rivet"
    command.write_text(
        "#!/bin/sh\nexec " + " ".join(f"'{part}'" for part in RIVET[:2]) + f' "{RIVET[2]}" "$@"\n'
    )
    command.chmod(0o755)
    program = ASK[shell].format(script=ROOT / "completions" / f"rivet.{shell}", line=line)
    told = environment(PATH=f"{place}:{os.environ['PATH']}", HOME=str(place), LC_ALL="C.UTF-8", **env)
    rc = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    shown = subprocess.run(
        [shell, *rc, "-c", program],
        env=told,
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert not shown.stderr
    return [each.split("\t")[0] for each in shown.stdout.splitlines() if each]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_options_are_completed(shell: str, tmp_path: Path) -> None:
    assert offered(shell, "rivet rec", tmp_path) == ["recover"]
    assert offered(shell, "rivet send --ac", tmp_path) == ["--actor"]
    assert offered(shell, "rivet completions ", tmp_path) == ["bash", "zsh", "fish"] or shell == "fish"


LIVE = {
    "rivet history co": ["counter"],
    "rivet actors h": ["hostile"],
    "rivet history counter o": ["org/room", "other"],
    "rivet send co": ["control", "counts"],
    "rivet send counts --key ma": ["main"],
    "rivet send --actor hostile j": ["jobs"],
    "rivet call po": ["pong"],
    "rivet call add --actor h": ["hostile"],
    "rivet fork counter ma": ["main"],
    "rivet history nobody ": [],
    "rivet watch flows --event ": ["paid"],
    "rivet queue flows org/room --drop ": ["1"],
    "rivet history flows org/room --entry f": ["first"],
    "rivet rewind flows org/room --to ": ["first", "wait"],
    "rivet fork flows org/room new --at w": ["wait"],
}


@pytest.mark.parametrize("line", LIVE)
def test_names_come_from_the_running_engine(line: str, endpoint: str, tmp_path: Path) -> None:
    assert offered("bash", line, tmp_path, RIVET_ENDPOINT=endpoint) == LIVE[line]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_names_come_in_other_shells(shell: str, endpoint: str, tmp_path: Path) -> None:
    live = offered(shell, "rivet history counter o", tmp_path, RIVET_ENDPOINT=endpoint)
    assert live == ["org/room", "other"]


@pytest.mark.parametrize("shell", SHELLS)
def test_hostile_names_are_text(shell: str, endpoint: str, tmp_path: Path) -> None:
    keys = offered(shell, "rivet history hostile ", tmp_path, RIVET_ENDPOINT=endpoint)
    assert not (tmp_path / "pwned").exists()
    if shell == "bash":  # what it offers goes into the line as it is
        line = f"printf '%s\\n' {' '.join(keys)}"
        shown = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True)
        keys = shown.stdout.splitlines()
    assert sorted(keys) == sorted(HOSTILE)
    assert not (tmp_path / "pwned").exists()


def test_bash_replaces_only_what_follows_a_colon(endpoint: str, tmp_path: Path) -> None:
    assert offered("bash", "rivet history hostile a:b:", tmp_path, RIVET_ENDPOINT=endpoint) == ["c"]


@pytest.mark.parametrize("shell", SHELLS)
def test_without_an_engine_there_is_nothing_and_no_noise(shell: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = offered(shell, "rivet history co", tmp_path, RIVET_ENDPOINT="http://127.0.0.1:9")
    assert found == []


def test_an_engine_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert offered("bash", "rivet history co", tmp_path, RIVET_ENDPOINT=url) == []
