"""Reloads off the beaten track: through links, with an action that runs, with code that hangs, ended half-way."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.engine import family
from tests.support.project import REGISTRY, Project

#: An action that ends when a file is there.
HELD = """
async def held(c):
    import asyncio
    pathlib.Path(__file__).with_name("held").touch()
    while not pathlib.Path(__file__).with_name("go").exists():
        await asyncio.sleep(0.01)
    return VERSION
"""
#: The store is opened to be written for good: the check before that only reads.
STOPS = """
import signal, sqlite3
connect = sqlite3.connect
def stopped(name, *args, **more):
    if "mode=ro" not in str(name):
        os.kill(os.getpid(), signal.SIGSTOP)
    return connect(name, *args, **more)
sqlite3.connect = stopped
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The registry's file is a link, and so is the directory that `rivet dev` was told."""
    real = tmp_path_factory.mktemp("real")
    (real.parent / "linked").symlink_to(real)
    made = Project(real.parent / "linked")
    (real / "registry.py").rename(real / "first.py")
    (real / "registry.py").symlink_to("first.py")
    made.engine.start()
    try:
        yield made
    finally:
        made.engine.kill()


def version(number: int, more: str = "") -> str:
    return REGISTRY.replace("VERSION = 1", f"VERSION = {number}") + more


def test_saves_behind_links_are_seen(project: Project) -> None:
    """In the file that is linked to, by a link that leads elsewhere, in a module of the directory behind the link."""
    real = project.folder.resolve()
    (real / "first.py").write_text(version(2))
    project.reloaded(1)
    assert project.call("version") == 2
    (real / "second.py").write_text(version(3))
    (real / "next").symlink_to("second.py")
    (real / "next").rename(real / "registry.py")
    project.reloaded(2)
    assert project.call("version") == 3
    project.write("registry.py", version(4))  # through both links
    project.reloaded(3)
    assert project.call("version") == 4
    (real / "shop" / "prices.py").write_text("PRICE = 2\n")
    project.reloaded(4)
    assert project.call("price") == 2


def test_an_action_that_runs_is_let_finish_and_others_go_on_meanwhile(project: Project) -> None:
    before = project.reloads
    with_action = HELD + "worker.actions['held'] = held\n"
    project.write("registry.py", version(5, with_action))
    project.reloaded(before + 1)
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(project.call, "held")
        project.until((project.folder / "held").exists, bool)
        project.write("registry.py", version(6, with_action))
        project.engine.process.wait_for("an action or a step runs: the new code waits for that, 10 s at most")
        assert project.call("version") == 5
        (project.folder / "go").touch()
        assert answer.result(30) == 5
    project.reloaded(before + 2)
    assert project.call("version") == 6
    assert project.engine.output.count(": +action worker.held\n") == 1


def test_a_process_that_hangs_with_the_data_is_replaced_by_the_next_save(project: Project) -> None:
    """Its parent gives it five seconds."""
    before = project.reloads
    parent = project.engine.process.popen.pid
    project.write("registry.py", version(7, STOPS))
    project.until(lambda: [pid for pid in family(parent) if is_stopped(pid)], bool)
    project.write("registry.py", version(8))
    project.engine.process.wait_for("did not end in time and is killed; nothing is lost")
    project.reloaded(before + 1)
    assert project.call("version") == 8


def is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except FileNotFoundError:
        return False


def test_ctrl_c_while_the_next_code_is_imported_ends_all(project: Project) -> None:
    """The last test with this engine."""
    family_before = family(project.engine.process.popen.pid)
    project.write("registry.py", "print('imports now', flush=True)\nimport time\ntime.sleep(600)\n")
    project.engine.process.wait_for("imports now")
    everybody = {*family_before, *family(project.engine.process.popen.pid)}
    assert project.engine.process.interrupt() == 0
    assert not [pid for pid in everybody if Path(f"/proc/{pid}").exists()]
    assert "Traceback" not in project.engine.output


def test_where_the_file_system_tells_nothing_what_is_watched_by_wish_is_polled(tmp_path: Path) -> None:
    project = Project(tmp_path, ("--watch", "rules.toml"))
    project.write("rules.toml", "a = 1\n")
    project.engine.env["WATCHFILES_FORCE_POLLING"] = "1"
    project.engine.start()
    try:
        project.write("registry.py", version(2))
        project.reloaded(1)
        assert project.call("version") == 2
        project.write("rules.toml", "a = 2\n")
        project.reloaded(2)
    finally:
        project.engine.kill()
