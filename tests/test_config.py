"""Finding the registry, importing it, and knowing where its data and its engine are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rivetpy import Registry
from rivetpy.cli.loading import load_registry
from rivetpy.config import (
    RegistryError,
    data_dir,
    endpoint_of,
    find_engine,
    find_registry,
)
from rivetpy.store.lock import DataLock

GOOD = """
from rivetpy import actor, setup
registry = setup(use={"a": actor(state={})})
"""


@pytest.fixture(autouse=True)
def own_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test's registry imports is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith("rivetpy"):
            del sys.modules[name]


def write(directory: Path, **files: str) -> Path:
    for name, source in files.items():
        path = directory / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return directory


def load(text: str | None, cwd: Path) -> Registry:
    return load_registry(find_registry(text, cwd))


def refused(text: str | None, cwd: Path) -> RegistryError:
    with pytest.raises(RegistryError) as caught:
        load(text, cwd)
    return caught.value


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("registry", None),
        ("src__registry", None),
        ("registry", "registry.py"),
        ("registry", "./registry.py"),
        ("registry", "registry.py:registry"),
        ("registry", "registry"),
        ("registry", "registry:registry"),
        ("app__deep__actors", "app/deep/actors.py"),
        ("app__deep__actors", "app.deep.actors"),
        ("app__deep__actors", "app.deep.actors:registry"),
        ("src__shop", "shop"),
        ("project__registry", "project"),
        ("mein Zähler__ärger", "mein Zähler/ärger.py"),
    ],
)
def test_a_registry_is_found(tmp_path: Path, file: str, text: str | None) -> None:
    write(tmp_path, **{file: GOOD})
    assert set(load(text, tmp_path)) == {"a"}


def test_a_package_is_found_and_its_relative_imports_work(tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    (tmp_path / "registry" / "__init__.py").write_text("from .things import registry")
    (tmp_path / "registry" / "things.py").write_text(GOOD)
    ref = find_registry(None, tmp_path)
    assert set(load_registry(ref)) == {"a"}
    assert ref.name == "registry"
    assert set(load("registry/things.py", tmp_path)) == {"a"}


def test_the_file_before_the_package_before_src(tmp_path: Path) -> None:
    write(tmp_path, registry=GOOD, src__registry="raise AssertionError")
    assert find_registry(None, tmp_path).path == (tmp_path / "registry.py").resolve()


def test_modules_beside_the_registry_can_be_imported(tmp_path: Path) -> None:
    write(tmp_path, app__registry="from helper import registry", app__helper=GOOD)
    assert set(load("app/registry.py", tmp_path)) == {"a"}


def test_a_file_may_have_the_name_of_a_module_that_is_there_already(tmp_path: Path) -> None:
    import json

    write(tmp_path, json=GOOD)
    assert set(load("json.py", tmp_path)) == {"a"}
    assert sys.modules["json"] is json


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    write(tmp_path, one__registry=GOOD, two__registry=GOOD.replace('"a"', '"b"'))
    assert set(load("one/registry.py", tmp_path)) == {"a"}
    assert set(load("two/registry.py", tmp_path)) == {"b"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "There is no registry.py in"),
        ("nowhere.py", "There is no file 'nowhere.py'"),
        ("some/where", "There is no file 'some/where'"),
        ("nowhere", "There is no file and no module 'nowhere'"),
        ("no.where:registry", "There is no file and no module 'no.where'"),
        ("not a module!", "There is no file and no module"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, text: str | None, problem: str) -> None:
    error = refused(text, tmp_path)
    assert problem in error.message and error.code == "not_found"


def test_a_file_that_looks_like_a_registry_is_proposed(tmp_path: Path) -> None:
    assert refused(None, tmp_path).message.endswith("Name the file: rivet dev path/to/registry.py")
    write(tmp_path, a="1", b=GOOD)
    assert refused(None, tmp_path).message.endswith("Name the file: rivet dev b.py")


@pytest.mark.parametrize(
    ("source", "text", "problem"),
    [
        ("x = 1", None, "registry.py defines no registry. Add: registry = setup("),
        (GOOD + "other = setup(use={'b': actor(state={})})", None, "several registries: registry, other"),
        (GOOD, "registry.py:nope", "'nope' in registry.py does not exist. There is: registry."),
        (GOOD, "registry.py:actor", "'actor' in registry.py is a function, not a registry"),
    ],
)
def test_which_registry_is_meant(tmp_path: Path, source: str, text: str | None, problem: str) -> None:
    write(tmp_path, registry=source)
    assert problem in refused(text, tmp_path).message


def test_one_registry_with_two_names_is_one(tmp_path: Path) -> None:
    write(tmp_path, registry=GOOD + "app = registry")
    assert set(load(None, tmp_path)) == {"a"}


def test_one_of_several_can_be_named(tmp_path: Path) -> None:
    write(tmp_path, registry=GOOD + "other = setup(use={'b': actor(state={})})")
    assert set(load("registry.py:other", tmp_path)) == {"b"}


def test_an_error_at_import_shows_the_users_frames_only(tmp_path: Path) -> None:
    write(
        tmp_path,
        registry="import helper",
        helper="import json\ndef parse():\n    json.loads('{')\nparse()",
    )
    error = refused(None, tmp_path)
    assert error.message.startswith("registry.py can't be imported: json.decoder.JSONDecodeError: ")
    lines = [line.strip() for line in error.traceback.splitlines() if line.lstrip().startswith("File")]
    assert lines == [
        f'File "{tmp_path}/registry.py", line 1, in <module>',
        f'File "{tmp_path}/helper.py", line 4, in <module>',
        f'File "{tmp_path}/helper.py", line 3, in parse',
    ]


def test_a_syntax_error_shows_its_place(tmp_path: Path) -> None:
    write(tmp_path, registry="def f(:\n    pass")
    error = refused(None, tmp_path)
    assert "SyntaxError" in error.message
    assert f'File "{tmp_path}/registry.py", line 1' in error.traceback and "^" in error.traceback
    assert "importlib" not in error.traceback


def test_a_mistake_in_a_definition_shows_rule_and_line(tmp_path: Path) -> None:
    write(tmp_path, registry="from rivetpy import actor\na = actor(stat={})")
    error = refused(None, tmp_path)
    assert "Did you mean 'state'?" in error.message and error.message.startswith("registry.py: ")
    assert "line 2" in error.traceback and "rivetpy/actors.py" not in error.traceback


@pytest.mark.parametrize("source", ["import sys; sys.exit(3)", "raise SystemExit", "exit()"])
def test_a_registry_that_ends_the_program_is_an_error(tmp_path: Path, source: str) -> None:
    write(tmp_path, registry=source)
    assert "ended the program" in refused(None, tmp_path).message


def test_every_cause_is_cut_to_the_users_frames(tmp_path: Path) -> None:
    source = (
        "import json\ntry:\n    json.loads('')\nexcept ValueError as e:\n    raise RuntimeError('no') from e"
    )
    write(tmp_path, registry=source)
    error = refused(None, tmp_path)
    assert "direct cause" in error.traceback and "decoder.py" not in error.traceback


def test_each_registry_has_a_directory_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, one__registry=GOOD, two__registry=GOOD)
    one, two = (
        data_dir(find_registry(f"{name}/registry.py", tmp_path), environ={}) for name in ("one", "two")
    )
    assert one.parent == two.parent and one != two
    assert one.name.startswith("registry-") and one.parent.name == "rivet"
    again = data_dir(find_registry(str(tmp_path / "one" / "registry.py"), Path("/")), environ={})
    assert again == one, "the same, from wherever it is named"


def test_where_the_data_is_can_be_chosen(tmp_path: Path) -> None:
    write(tmp_path, registry=GOOD)
    found = find_registry(None, tmp_path)
    environ = {"RIVET_DATA_DIR": str(tmp_path / "env")}
    assert data_dir(found, environ=environ) == tmp_path / "env"
    assert data_dir(found, tmp_path / "option", environ) == tmp_path / "option"
    assert not (tmp_path / "env").exists(), "nothing is made by asking"


def test_the_engine_is_found_by_the_lock_of_the_projects_data(tmp_path: Path) -> None:
    write(tmp_path, registry=GOOD)
    environ = {"RIVET_DATA_DIR": str(tmp_path / "data")}
    assert find_engine(None, None, tmp_path, environ).endpoint is None
    lock = DataLock.acquire(tmp_path / "data", 12345)
    try:
        place = find_engine(None, None, tmp_path, environ)
        assert place.endpoint == "http://127.0.0.1:12345" and place.directory_named and not place.has_data
        assert find_engine("http://x:1", None, tmp_path, environ).endpoint == "http://x:1"
        assert (
            find_engine(None, None, tmp_path, {**environ, "RIVET_ENDPOINT": "http://y"}).endpoint
            == "http://y"
        )
    finally:
        lock.release()
    assert endpoint_of(tmp_path / "data") is None


@pytest.mark.parametrize(
    ("host", "endpoint"),
    [("0.0.0.0", "http://127.0.0.1:7"), ("::1", "http://[::1]:7"), ("::", "http://127.0.0.1:7")],
)
def test_an_engine_on_every_address_is_asked_on_this_machine(
    tmp_path: Path, host: str, endpoint: str
) -> None:
    lock = DataLock.acquire(tmp_path, 7, host)
    try:
        assert endpoint_of(tmp_path) == endpoint
    finally:
        lock.release()


def test_the_registry_does_not_load_to_find_the_engine(tmp_path: Path) -> None:
    write(tmp_path, registry="raise AssertionError")
    place = find_engine(None, None, tmp_path, {})
    assert place.directory is not None and place.directory.name.startswith("registry-")


def test_asking_where_things_are_imports_no_server() -> None:
    program = "import sys, rivetpy.config; print([m for m in ('uvicorn', 'pydantic') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
