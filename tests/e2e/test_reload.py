"""`rivet dev` while its code is edited: what a save brings in, what it never breaks, and what is no save."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.asgi import MADE
from tests.support.engine import family
from tests.support.project import FILES, Project

BROKEN = {
    "syntax": ("def f(:", "SyntaxError"),
    "import": ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
    "exception": ("1 / 0", "ZeroDivisionError"),
    "exit": ("import sys; sys.exit(0)", "ended the program (SystemExit: 0)"),
    "hard exit": ("import os; os._exit(0)", "ended with exit code 0 at import"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    made = Project(tmp_path_factory.mktemp("Projekt ä"))
    made.engine.start()
    try:
        yield made
    finally:
        made.engine.kill()


@pytest.fixture
def before(project: Project) -> int:
    """How often it was reloaded before the test."""
    project.engine.process.wait_for("Ctrl-C")
    return project.reloads


# -- what a save brings in ---------------------------------------------------------------------------------


def test_a_save_brings_in_the_new_code(project: Project, before: int) -> None:
    pid = project.call("pid")
    project.write("registry.py", project.version(2))
    project.reloaded(before + 1)
    assert project.call("version") == 2
    assert project.call("pid") != pid


def test_a_file_that_takes_the_place_of_another_is_a_save(project: Project, before: int) -> None:
    project.replace("registry.py", project.version(3))
    project.reloaded(before + 1)
    assert project.call("version") == 3


def test_a_submodule_of_a_package_is_watched(project: Project, before: int) -> None:
    project.write("shop/prices.py", "PRICE = 2\n")
    project.reloaded(before + 1)
    assert project.call("price") == 2


def test_a_module_that_a_save_imports_is_watched_from_then_on(project: Project, before: int) -> None:
    project.write("shop/rates.py", "RATE = 3\n")
    project.write("shop/prices.py", "from .rates import RATE as PRICE\n")
    project.reloaded(before + 1)
    assert project.call("price") == 3
    project.write("shop/rates.py", "RATE = 4\n")
    project.reloaded(before + 2)
    assert project.call("price") == 4


def test_a_module_that_code_imports_while_it_runs_is_watched(project: Project, before: int) -> None:
    assert project.call("late") == "early"
    time.sleep(1.5)  # it is looked for once a second
    project.write("later.py", "VALUE = 'late'\n")
    project.reloaded(before + 1)
    assert project.call("late") == "late"


def test_an_exception_of_an_edited_module_is_still_caught(project: Project, before: int) -> None:
    """H32: nothing of the old modules is left, so there are no two classes of one name."""
    assert project.call("caught") == "one"
    project.write("errors.py", "class Boom(Exception):\n    edited = True\n")
    project.reloaded(before + 1)
    assert project.call("caught") == "one"


def test_five_saves_at_once_leave_one_child_with_the_last(project: Project, before: int) -> None:
    """H31."""
    for version in range(11, 16):
        project.write("registry.py", project.version(version))
        time.sleep(0.06)
    deadline = time.monotonic() + 30
    while project.call("version") != 15:
        assert time.monotonic() < deadline
    project.reloaded(before + 1)
    parent = project.engine.process.popen.pid
    serving = [pid for pid in family(parent) if pid != parent and holds_journal(pid)]
    assert serving == [project.call("pid")]


def holds_journal(pid: int) -> bool:
    """Whether a process has the journal open; one that just ended has not."""
    try:
        return any(str(fd.readlink()).endswith("journal.db") for fd in Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:
        return False


class Sender(threading.Thread):
    """Sends one number after the other, over one connection or a new one each time, until told to stop."""

    def __init__(self, url: str, name: str, keep: bool) -> None:
        super().__init__()
        self.url = f"{url}/gateway/worker/queue/jobs?{MADE}&rvt-key=load"
        self.name, self.keep = name, keep
        self.sent: list[str] = []
        self.failed: list[object] = []
        self.ended = threading.Event()

    def run(self) -> None:
        client = httpx.Client(timeout=60)
        while not self.ended.wait(0.002):
            body = f"{self.name} {len(self.sent)}"
            try:
                client.post(self.url, json={"body": body, "wait": False}).raise_for_status()
            except httpx.HTTPError as error:
                self.failed.append(error)
            self.sent.append(body)
            if not self.keep:
                client.close()
                client = httpx.Client(timeout=60)
        client.close()


def test_saves_under_load_lose_nothing(project: Project, before: int) -> None:
    """Senders never see an error, no message is lost or handled twice, and the last version wins."""
    senders = [Sender(project.engine.url, f"s{n}", keep=n != 0) for n in range(4)]
    for sender in senders:
        sender.start()
    try:
        for n in range(5):
            project.write("registry.py", project.version(30 + n))
            project.reloaded(before + n + 1)
    finally:
        for sender in senders:
            sender.ended.set()
            sender.join()
    assert not [error for sender in senders for error in sender.failed]
    project.send("the end")
    deadline = time.monotonic() + 60
    while "the end" not in (state := json.loads(project.engine.rivet("state", "worker", "load")))["done"]:
        assert time.monotonic() < deadline
    handled = Counter(state["done"])
    assert handled == Counter([*(body for sender in senders for body in sender.sent), "the end"])
    assert state["versions"] == sorted(state["versions"]) and state["versions"][-1] == 34


# -- what a save never breaks ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_save_leaves_the_last_good_code(project: Project, before: int, kind: str) -> None:
    """H29."""
    source, told = BROKEN[kind]
    version, pid = project.call("version"), project.call("pid")
    heard = len(project.engine.output)
    project.write("registry.py", source)
    project.engine.process.wait_for(
        rf"(?s)^.{{{heard}}}.*waiting for the next save; the last good code goes on"
    )
    shown = project.engine.output[heard:]
    assert told in shown and "/rivetpy/" not in shown, "only the user's own frames"
    assert (project.call("version"), project.call("pid")) == (version, pid)
    assert project.reloads == before


def test_the_save_after_a_broken_one_is_taken(project: Project, before: int) -> None:
    project.write("registry.py", project.version(16))
    project.reloaded(before + 1)
    assert project.call("version") == 16


def test_an_import_that_hangs_is_named_and_the_next_save_replaces_it(project: Project, before: int) -> None:
    project.write("registry.py", "import time\ntime.sleep(600)\n")
    project.engine.process.wait_for(r"being imported for a while now, at registry.py:2; the last good code")
    assert project.call("version")
    project.write("registry.py", project.version(20))
    project.reloaded(before + 1)
    assert project.call("version") == 20


def test_a_missing_module_mends_it_once_it_is_there(project: Project, before: int) -> None:
    project.write("registry.py", project.version(21, "\nfrom fresh.part import VALUE\n"))
    project.engine.process.wait_for(r"No module named 'fresh'(?s:.*)last good code goes on")
    project.write("fresh/part.py", "VALUE = 1\n")
    project.reloaded(before + 1)
    assert project.call("version") == 21


def test_a_child_that_dies_over_broken_code_waits_for_the_next_save(project: Project, before: int) -> None:
    pid = project.call("pid")
    project.write("helper.py", "1 / 0\n")
    project.engine.process.wait_for(r"helper.py(?s:.*)last good code goes on")
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)
    project.engine.process.wait_for("waiting for the next save; requests wait")
    project.write("helper.py", FILES["helper.py"])
    project.reloaded(before + 1)  # a call may be answered before the line is there
    assert project.call("caught") == "one"


SLOW = """
async def iteration(loop):
    message = await loop.queue.next("wait")
    await loop.step("RENAMED", work, message.body)
    await loop.queue.next("rest", names=["more"])
"""


def test_workflows_that_an_edit_breaks_are_named_and_pause_until_it_fits(
    project: Project, before: int
) -> None:
    """H05: nothing is written for them, however often they wake; the others go on."""
    good = project.version(40).replace('"jobs": queue()', '"jobs": queue(), "more": queue()')
    good = good.replace("async def run(ctx)", SLOW.replace("RENAMED", "work") + "\nasync def run(ctx)")
    broken = good.replace('loop.step("work", work', 'loop.step("renamed", work')
    project.write("registry.py", good)
    project.reloaded(before + 1)
    project.engine.rivet("send", "jobs", "1", "--key", "broken")
    history = project.until(lambda: project.history("broken"), lambda told: "rest" in told)
    for n in range(2):
        heard = len(project.engine.output)
        project.write("registry.py", broken + "\n" * n)
        project.engine.process.wait_for(rf"(?s)\A.{{{heard}}}.*they pause until a save that fits")
        shown = project.engine.output[heard:]
        assert "worker broken diverges at 'loop/~0/renamed': the code asks for a new step 'renamed'" in shown
        assert "registry.py:" in shown
    assert project.history("broken") == history, "nothing is written"
    project.engine.rivet("send", "jobs", "2", "--key", "other")
    project.until(lambda: project.state("other"), lambda told: told["done"] == [2])
    project.write("registry.py", good)
    project.engine.rivet("send", "more", "3", "--key", "broken")
    project.engine.rivet("send", "jobs", "4", "--key", "broken")
    project.until(lambda: project.state("broken"), lambda told: told["done"] == [1, 4])
    project.reloaded(before + 4)


def test_what_code_logs_names_its_actor_and_is_not_said_again(project: Project, before: int) -> None:
    """H04: after a reload the workflow runs from the top, over what is recorded."""
    project.write("registry.py", project.version(50))
    project.reloaded(before + 1)
    project.engine.rivet("send", "jobs", "1", "--key", "logs")
    project.engine.process.wait_for("worker logs: taking 1\n")
    project.write("registry.py", project.version(51))
    project.reloaded(before + 2)
    project.engine.rivet("send", "jobs", "2", "--key", "logs")
    project.engine.process.wait_for("worker logs: taking 2\n")
    assert project.engine.output.count("worker logs: taking 1\n") == 1


# -- what is no save ---------------------------------------------------------------------------------------


def test_data_beside_the_registry_is_no_save(project: Project, before: int) -> None:
    """H30: the journal and what steps write lie in the watched folder."""
    bodies = "".join(f"{n}\n" for n in range(200))
    project.engine.rivet("send", "jobs", "--file", "-", stdin=bodies)
    deadline = time.monotonic() + 60
    while json.loads(project.engine.rivet("state", "worker"))["done"][-1:] != [199]:
        assert time.monotonic() < deadline
    project.write("unrelated.py", "1 / 0\n")
    (project.folder / "shop" / "notes.txt").write_text("no source")
    time.sleep(1.5)
    assert json.loads(project.engine.rivet("state", "worker"))["done"] == list(range(200))
    assert project.reloads == before
