"""When `rivet dev` imports the code anew: which files count, and when enough has been saved."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rivetpy.cli.hints import Hints, Wished, is_silent
from rivetpy.cli.saves import LONGEST, QUIET, Saves

LONG_AGO = time.time() - 1000


def saves(folder: Path, *names: str) -> Saves:
    """An import of these files has begun."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        os.utime(path, (LONG_AGO, LONG_AGO))
    watched = Saves()
    watched.begin(time.time_ns())
    watched.watch(str(folder / name) for name in names)
    watched.look(0)
    assert watched.due(0) is None
    return watched


def test_a_save_is_due_after_a_moment_of_quiet(tmp_path: Path) -> None:
    watched = saves(tmp_path, "a.py", "b.py")
    (tmp_path / "a.py").write_text("x = 1")
    watched.look(10)
    assert watched.due(10) == pytest.approx(QUIET)
    (tmp_path / "b.py").write_text("x = 1")
    watched.look(10 + QUIET / 2)
    assert watched.due(10 + QUIET) == pytest.approx(QUIET / 2)
    assert watched.due(10 + 2 * QUIET) == 0 and watched.waiting_since == 10


def test_saves_without_quiet_are_due_in_the_end(tmp_path: Path) -> None:
    watched = saves(tmp_path, "a.py")
    now = 10.0
    while watched.due(now) != 0:
        watched.note(now)
        now += QUIET / 2
    assert now == pytest.approx(10 + LONGEST, abs=QUIET)


def test_a_save_during_an_import_counts_for_the_next(tmp_path: Path) -> None:
    watched = saves(tmp_path, "a.py")
    (tmp_path / "a.py").write_text("x = 1")
    watched.look(10)
    watched.begin(time.time_ns())
    assert watched.due(11) is None
    (tmp_path / "a.py").write_text("x = 2")
    watched.look(12)
    assert watched.due(13) == 0


def replace(path: Path) -> None:
    path.with_suffix(".tmp").write_text("")
    path.with_suffix(".tmp").rename(path)


@pytest.mark.parametrize("change", [Path.unlink, replace, lambda path: path.write_text("x = 1")])
def test_every_way_to_save_is_seen(tmp_path: Path, change: object) -> None:
    watched = saves(tmp_path, "a.py")
    change(tmp_path / "a.py")  # type: ignore[operator]
    watched.look(1)
    assert watched.due(2) == 0


def test_what_was_not_imported_does_not_count(tmp_path: Path) -> None:
    watched = saves(tmp_path, "a.py")
    for name in ("b.py", "a.pyc", "data/journal.db", "app.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    watched.look(1)
    assert watched.due(2) is None


def test_a_module_that_was_saved_while_it_was_imported_counts(tmp_path: Path) -> None:
    """It is only known after the import, and may have been read before the save."""
    watched = saves(tmp_path, "a.py", "old.py")
    (tmp_path / "new.py").write_text("")
    os.utime(tmp_path / "new.py", (time.time() + 5, time.time() + 5))
    watched.watch([str(tmp_path / "a.py"), str(tmp_path / "old.py")])
    watched.look(1)
    assert watched.due(2) is None
    watched.watch([str(tmp_path / "a.py"), str(tmp_path / "new.py")])
    watched.look(3)
    assert watched.due(4) == 0


def test_both_ends_of_a_link_count(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.py", tmp_path / "a.py"
    target.write_text("")
    (tmp_path / "real" / "b.py").write_text("")
    link.symlink_to(target)
    watched = Saves()
    watched.begin(time.time_ns())
    watched.watch([str(link)], since_ns=time.time_ns() + 10**12)
    assert watched.files == {str(link), str(target)}
    link.unlink()
    link.symlink_to(tmp_path / "real" / "b.py")
    watched.look(1)
    assert watched.due(2) == 0
    watched.begin(time.time_ns())
    target.write_text("x = 1")
    watched.look(3)
    assert watched.due(4) == 0


@pytest.mark.parametrize("added", ["fresh.py", "fresh/part.py"])
def test_a_new_file_counts_after_an_import_that_failed(tmp_path: Path, added: str) -> None:
    watched = saves(tmp_path, "a.py")
    watched.watch(watched.files, [str(tmp_path)])
    for name in (".git/x.py", "__pycache__/x.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    watched.look(1)
    assert watched.due(2) is None
    (tmp_path / added).parent.mkdir(exist_ok=True)
    (tmp_path / added).write_text("")
    watched.look(3)
    assert watched.due(4) == 0


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("templates/a/b.html", True),
        ("rules.yaml", True),
        ("conf/x.toml", True),
        ("conf/deep/x.toml", True),
        ("conf/x.ini", False),
        ("other.yaml", False),
        ("templates/.git/index", False),
        ("templates/__pycache__/a.pyc", False),
        ("templates/venv/a.html", False),
        ("templates/data/x.html", False),
        ("templates/app.log", False),
        ("templates/cache.db-wal", False),
    ],
)
def test_what_is_watched_by_wish(tmp_path: Path, path: str, counts: bool) -> None:
    wished = Wished(
        ["templates", str(tmp_path / "rules.yaml"), "conf/*.toml"], tmp_path, tmp_path / "templates" / "data"
    )
    assert wished.roots == {str(tmp_path / name) for name in ("templates", "rules.yaml", "conf")}
    assert wished.filter()(2, str(tmp_path / path)) is counts


MOUNTS = """overlay / overlay rw 0 0
host:/export /srv/my\\040code nfs4 rw 0 0
tmpfs /srv/my\\040code/fast tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "silent"),
    [("/srv/my code/shop", True), ("/srv/my code", True), ("/srv/my code/fast/a", False), ("/srv", False)],
)
def test_a_file_system_that_tells_nothing_is_known(path: str, silent: bool) -> None:
    assert is_silent(path, MOUNTS) is silent


def test_folders_that_stay_the_same_are_watched_without_a_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch that begins anew is deaf for a moment."""
    begun: list[list[str]] = []
    monkeypatch.setattr(
        Hints, "_listen", lambda self, folders, hint, end, recursive: (begun.append(folders), end.wait(20))
    )
    hints = Hints(Wished([], tmp_path, tmp_path))
    for folders in ([tmp_path], [tmp_path, tmp_path / "not there"], [tmp_path, tmp_path.parent]):
        hints.watch(map(str, folders))
    hints.close()
    assert begun == [[str(tmp_path)], [str(tmp_path.parent), str(tmp_path)]]
