"""`rivet dev` as a real process: how it starts, refuses to, stops, survives its child and takes it along."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.engine import ADDRESS, RIVET, Engine, Process, engine, environment

REGISTRY = """
import os, time
from rivetpy import ActorOptions, actor, queue, setup
from rivetpy.workflow import workflow

print("hello from import")

async def work(step, body):
    if body == "die":
        os._exit(7)
    if body == "block":
        time.sleep(600)
    step.log.info("did %s", body)
    step.state["done"].append(body)

def stuck(step):
    time.sleep(600)

async def iteration(loop):
    message = await loop.queue.next("wait")
    if message.body == "stuck":
        await loop.step("stuck", stuck, timeout=0)
    await loop.step("work", work, message.body, max_retries=1)

async def run(ctx):
    await ctx.loop("loop", iteration)

worker = actor(
    state={"done": []}, queues={"jobs": queue()}, run=workflow(run),
    actions={"pid": lambda c: os.getpid(), "ppid": lambda c: os.getppid()},
    options=ActorOptions(sleep_grace_period=0.5),
)
registry = setup(use={"worker": worker})
"""


#: The command, telling at its end what it imported.
TELLING = """
import sys
from rivetpy.cli.app import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    file = tmp_path / "mein Zähler" / "registry.py"
    file.parent.mkdir()
    file.write_text(REGISTRY)
    return file


@pytest.fixture
def running(registry: Path, tmp_path: Path) -> Iterator[Engine]:
    with engine(registry, tmp_path / "data") as started:
        yield started


def refused(registry: Path | None, cwd: Path, *options: str, **env: str) -> str:
    """What `rivet dev` says when it can't start: exit 3, one line, no traceback of ours."""
    words = ["dev", *([str(registry)] if registry else []), *options]
    ended = subprocess.run(
        [*RIVET, *words],
        cwd=cwd,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 3, ended
    assert "runs" not in ended.stdout
    assert "/rivetpy/" not in ended.stderr, "only the user's own frames"
    return ended.stderr


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def eventually(is_so: Callable[[], object], patience: float = 15) -> None:
    deadline = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def call(running: Engine, action: str) -> int:
    return int(json.loads(running.rivet("call", action)))


@contextmanager
def occupied() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


# -- starting ----------------------------------------------------------------------------------------------


def test_it_says_five_lines_and_runs(running: Engine, tmp_path: Path) -> None:
    running.process.wait_for("Ctrl-C")
    lines = [line for line in running.output.splitlines() if "hello" not in line][:5]
    assert re.fullmatch(rf"rivet \S+ runs registry\.py at http://127\.0\.0\.1:{running.port}", lines[0])
    assert lines[1].split(maxsplit=1) == ["data", f"{tmp_path / 'data'} (durability disk)"]
    assert lines[2].split(maxsplit=1) == ["actors", "worker (queue jobs; actions pid ppid)"]
    assert lines[3].split(maxsplit=1)[0] == "try" and "rivet send jobs" in lines[3]
    assert lines[4].split() == ["stop", "Ctrl-C"]


def test_the_line_to_paste_works(running: Engine) -> None:
    line = running.process.wait_for(r"try +rivet (.*)").group(1)
    assert line.endswith(" BODY"), "a queue without a model takes any body, so the person has to say one"
    told = running.rivet(*shlex.split(line.replace("BODY", "delta:=1")), endpoint=False)
    assert told == "sent to worker main\n"


def test_what_the_registry_prints_and_logs_goes_to_stderr(registry: Path, tmp_path: Path) -> None:
    command = [*RIVET, "dev", str(registry), "--port", "0", "--data-dir", str(tmp_path / "data")]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        endpoint = ADDRESS.search(first)
        assert endpoint, first
        sent = [*RIVET, "send", "jobs", '"x"', "--endpoint", endpoint.group()]
        subprocess.run(sent, env=environment(), check=True, capture_output=True)
        while "started" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "hello from import" in err and "worker main: did x" in err
    assert "hello" not in first + out and "did x" not in out


def test_the_metadata_names_the_data(running: Engine, tmp_path: Path) -> None:
    import httpx

    told = httpx.get(f"{running.url}/metadata").json()
    assert told["dataDir"] == str(tmp_path / "data") and told["durability"] == "disk"


def test_options_reach_the_engine(registry: Path, tmp_path: Path) -> None:
    import httpx

    options = ["--durability", "process", "--strict-replay", "--log-level", "error"]
    with engine(registry, tmp_path / "data", options=options) as running:
        assert httpx.get(f"{running.url}/metadata").json()["durability"] == "process"
        running.rivet("send", "jobs", '"a"')
        eventually(lambda: "a" in running.rivet("state", "worker"))
        assert "worker main" not in running.output


def test_fresh_deletes_the_data_and_nothing_else(running: Engine, tmp_path: Path) -> None:
    call(running, "pid")
    running.kill()
    (tmp_path / "data" / "notes.txt").write_text("mine")
    running.options = ["--fresh"]
    running.start()
    assert running.rivet("actors", "--json") == ""
    assert (tmp_path / "data" / "notes.txt").read_text() == "mine"


# -- refusing to start -------------------------------------------------------------------------------------


def test_a_port_that_is_taken(registry: Path, tmp_path: Path) -> None:
    with occupied() as port:
        told = refused(registry, tmp_path, "--port", str(port), "--data-dir", "d")
    assert f"error: Port {port} is taken by process {os.getpid()} (" in told
    assert re.search(r"Choose another one: --port \d+", told) and told.count("\n") == 1
    assert not (tmp_path / "d").exists()


def test_a_data_directory_in_use(running: Engine, registry: Path, tmp_path: Path) -> None:
    told = refused(registry, tmp_path, "--port", "0", "--data-dir", str(tmp_path / "data"))
    assert f"is in use by process {running.process.popen.pid} on port {running.port}" in told
    assert "--data-dir" in told and "--port" in told
    call(running, "pid")


@pytest.mark.parametrize("where", ["file", "file/below"])
def test_a_data_directory_that_can_not_be(registry: Path, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("")
    told = refused(registry, tmp_path, "--port", "0", "--data-dir", str(tmp_path / where))
    assert str(tmp_path / where) in told and "--data-dir or RIVET_DATA_DIR" in told


@pytest.mark.parametrize("name", ["HOME", "XDG_DATA_HOME"])
def test_a_home_that_can_not_be(registry: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    told = refused(registry, tmp_path, "--port", "0", **{name: str(tmp_path / "file")})
    assert str(tmp_path / "file") in told and "--data-dir or RIVET_DATA_DIR" in told


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_data_directory_that_is_not_writable(registry: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    told = refused(registry, tmp_path, "--port", "0", "--data-dir", str(tmp_path / "closed"))
    assert "Permission denied" in told and "--data-dir" in told


def test_a_journal_of_a_newer_format(running: Engine, registry: Path, tmp_path: Path) -> None:
    call(running, "pid")
    assert running.process.interrupt() == 0
    journal = tmp_path / "data" / "journal.db"
    with sqlite3.connect(journal) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA user_version = {version + 1}")
    database.close()
    before = journal.read_bytes()
    told = refused(registry, tmp_path, "--port", "0", "--data-dir", str(tmp_path / "data"))
    assert "newer" in told or "Upgrade" in told
    assert told.count("\n") == 2, "hello, and the line"
    assert journal.read_bytes() == before


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import nowhere_at_all", "registry.py can't be imported: ModuleNotFoundError: No module named"),
        ("def f(:", "registry.py can't be imported: SyntaxError"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(0)", "registry.py ended the program (SystemExit: 0)"),
        ("import os; os._exit(0)", "registry.py ended with exit code 0 at import"),
        ("import os; os.kill(os.getpid(), 9)", "registry.py was killed by SIGKILL at import"),
        ("x = 1", "registry.py defines no registry. Add: registry = setup("),
        ("from rivetpy import actor\nactor(stat={})", "Did you mean 'state'?"),
        ("from rivetpy import actor, setup\nsetup(use={'a@b': actor()})", "no '@'"),
    ],
)
def test_a_registry_that_does_not_load(tmp_path: Path, source: str, problem: str) -> None:
    (tmp_path / "registry.py").write_text(source)
    told = refused(None, tmp_path, "--port", "0", "--data-dir", "data")
    assert told.startswith("error: ") and problem in told


def test_a_registry_that_interrupts_itself(tmp_path: Path) -> None:
    (tmp_path / "registry.py").write_text("raise KeyboardInterrupt")
    told = refused(None, tmp_path, "--port", "0", "--data-dir", "data")
    assert "ended with exit code 1 at import" in told and "Traceback" not in told


def test_no_registry_at_all(tmp_path: Path) -> None:
    told = refused(None, tmp_path)
    assert (
        told
        == f"error: There is no registry.py in {tmp_path}. Name the file: rivet dev path/to/registry.py\n"
    )


def test_other_machines_need_a_token(registry: Path, tmp_path: Path) -> None:
    options = ["--host", "0.0.0.0", "--port", "0"]
    assert "RIVET_TOKEN" in refused(registry, tmp_path, *options)
    running = Engine(registry, tmp_path / "data", options=options)
    running.env["RIVET_TOKEN"] = "secret"
    running.process = Process([*RIVET, "dev", str(registry), *options], running.cwd, running.env)
    try:
        running.port = int(running.process.wait_for(ADDRESS).group(1))
        assert call(running, "pid")
        del running.env["RIVET_TOKEN"]
        assert "auth.forbidden" in running.rivet("call", "pid", code=1)
    finally:
        running.kill()


@pytest.mark.parametrize("options", [["--port", "65536"], ["--durability", "ram"], ["--host"]])
def test_wrong_options(registry: Path, tmp_path: Path, options: list[str]) -> None:
    ended = subprocess.run(
        [*RIVET, "dev", str(registry), *options],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2 and ended.stderr.startswith("error: ") and ended.stderr.count("\n") == 1


# -- stopping ----------------------------------------------------------------------------------------------


def test_ctrl_c_puts_everything_away(running: Engine) -> None:
    running.rivet("send", "jobs", '"a"')
    eventually(lambda: "a" in running.rivet("state", "worker"))
    child = call(running, "pid")
    assert running.process.interrupt() == 0
    assert gone(child)
    assert "Traceback" not in running.output and "never awaited" not in running.output
    running.start()
    assert "running when the engine died" not in running.output
    assert "a" in running.rivet("state", "worker")


def test_a_second_ctrl_c_ends_it_at_once(running: Engine) -> None:
    running.rivet("send", "jobs", '"block"')
    child = call_before_block(running)
    os.killpg(running.process.popen.pid, signal.SIGINT)
    running.process.wait_for("stopping")
    assert not gone(child)
    os.killpg(running.process.popen.pid, signal.SIGINT)
    assert running.process.popen.wait(10) == 130
    eventually(lambda: gone(child))


def call_before_block(running: Engine) -> int:
    """The child's pid, from outside: a blocked event loop answers nothing."""
    children = Path(f"/proc/{running.process.popen.pid}/task/{running.process.popen.pid}/children")
    (child,) = children.read_text().split()
    return int(child)


def test_a_thread_that_never_ends_does_not_hold_up_the_end(running: Engine) -> None:
    running.rivet("send", "jobs", '"stuck"')
    eventually(lambda: "stuck" in running.rivet("history", "worker", "--json"))
    child = call(running, "pid")
    assert running.process.interrupt() == 0
    assert gone(child)


# -- the parent and the child -----------------------------------------------------------------------------


def test_the_child_goes_with_its_parent(running: Engine) -> None:
    child, parent = call(running, "pid"), call(running, "ppid")
    assert parent == running.process.popen.pid
    os.kill(parent, signal.SIGKILL)
    eventually(lambda: gone(child))
    running.kill()
    running.start()  # at once, on the same port and directory


def test_a_child_that_is_killed_is_replaced(running: Engine) -> None:
    running.rivet("send", "jobs", '"a"')
    eventually(lambda: "a" in running.rivet("state", "worker"))
    first = call(running, "pid")
    os.kill(first, signal.SIGKILL)
    # The socket is the parent's: what comes meanwhile waits.
    assert call(running, "pid") != first
    running.process.wait_for(r"the engine was killed by SIGKILL; nothing is lost")
    running.process.wait_for("the engine runs again")
    assert "a" in running.rivet("state", "worker")


def test_a_step_that_kills_its_process_is_named_and_given_up(running: Engine) -> None:
    running.rivet("send", "jobs", '"die"')
    running.process.wait_for("the engine ended with exit code 7")
    running.process.wait_for(r"worker main: step loop/~0/work was running when the engine died")
    eventually(lambda: "exhausted" in running.rivet("history", "worker"))
    running.rivet("send", "jobs", '"a"', "--key", "other")
    eventually(lambda: "a" in running.rivet("state", "worker", "other"))


# -- without an engine -------------------------------------------------------------------------------------


def test_reading_goes_on_without_an_engine_and_sending_says_what_to_do(running: Engine) -> None:
    running.rivet("send", "jobs", '"a"')
    eventually(
        lambda: '"done"' in running.rivet("state", "worker") and "a" in running.rivet("state", "worker")
    )
    running.kill()
    journal = {file: file.read_bytes() for file in running.data.iterdir()}
    for command in (["actors"], ["history", "worker"], ["state", "worker"], ["queue", "worker"]):
        ended = subprocess.run(
            [*RIVET, *command], cwd=running.cwd, env=running.env, capture_output=True, text=True, check=True
        )
        assert ended.stderr == f"no engine is running; reading {running.data}\n"
        assert ended.stdout
    assert "work" in running.rivet("history", "worker", "--json", endpoint=False)
    told = running.rivet("send", "jobs", '"b"', code=1, endpoint=False)
    assert told == (
        f"error: No engine runs on {running.data}. Start one: rivet dev --data-dir {running.data}\n"
    )
    assert journal[running.data / "journal.db"] == (running.data / "journal.db").read_bytes()


def test_a_reader_that_has_enough_ends_the_command_quietly(running: Engine) -> None:
    for n in range(3):
        running.rivet("call", "pid", "--key", str(n))
    script = f"""'{RIVET[0]}' -c "{RIVET[2]}" actors --json | head -1"""
    env = {**running.env, "RIVET_ENDPOINT": running.url, "PYTHONUNBUFFERED": "1"}
    ended = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout)["name"] == "worker" and ended.stderr == ""


def test_an_interrupt_ends_a_waiting_command_with_130(running: Engine) -> None:
    running.rivet("call", "pid", "--key", "follow")
    env = {**running.env, "RIVET_ENDPOINT": running.url}
    with subprocess.Popen(
        [*RIVET, "history", "worker", "follow", "--follow"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as following:
        assert following.stdout is not None and following.stdout.readline()
        following.send_signal(signal.SIGINT)
        _, err = following.communicate(timeout=20)
    assert (following.returncode, err) == (130, b"")


@pytest.mark.parametrize("command", [["--help"], ["send", "jobs", '"x"']])
def test_commands_answer_quickly(running: Engine, command: list[str]) -> None:
    """The promise is a quarter of a second on an idle machine; here it is what they import that is checked."""
    env = {**running.env, "RIVET_ENDPOINT": running.url}
    ended = subprocess.run(
        [RIVET[0], "-c", TELLING, *command], env=env, capture_output=True, text=True, check=True
    )
    heavy = {
        "httpx",
        "uvicorn",
        "starlette",
        "pydantic",
        "rich",
        "asyncio",
        "msgpack",
        "sqlite3",
        "platformdirs",
    }
    assert not heavy & set(ended.stderr.split())
