"""The house rules: layers, sizes, docstrings, public names, and papers that agree with the code."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import RIVET, environment

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "rivetpy"
#: Lowest first; a module imports only from its own package and from lower layers.
LAYERS = [
    {"errors", "clock", "calling", "unbroken", "version"},
    {"identity"},
    {"store", "codec"},
    {"wire"},
    {"workflow"},
    {"state"},
    {"channels", "hooks"},
    {"actors"},
    {"registry"},
    {"config", "client"},
    {"host"},
    {"engine"},
    {"testing", "cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
#: Where a signature may say Any, and why.
ANY_ALLOWED = {
    "rivetpy/wire/jsonvalue.py": "the same for JSON",
}


def sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found
    return found


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, *, types: bool = True) -> Iterator[tuple[int, str]]:
    """Line and full name of everything of rivetpy that a module imports, also inside functions.

    ``types``: with what is imported for annotations only.
    """
    waiting: list[ast.AST] = [parse(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("rivetpy"))
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            if node.module and node.module.split(".")[0] == "rivetpy":
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        if types or not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            waiting.extend(ast.iter_child_nodes(node))


MODULES = {module_name(path): path for path in sources("rivetpy")}


def module_of(name: str) -> str:
    """The module that an imported name comes from."""
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def test_modules_import_only_from_lower_layers() -> None:
    wrong = []
    for module, path in MODULES.items():
        if module == "rivetpy":
            continue
        own = module.split(".")[1]
        for line, name in imported(path):
            if name in {"rivetpy", "rivetpy.__version__"}:  # the package itself is there for its version only
                continue
            other = name.split(".")[1]
            if other != own and LEVEL.get(other, len(LAYERS)) >= LEVEL[own]:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {own} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_no_import_cycles() -> None:
    graph = {
        module: {module_of(name) for _, name in imported(path, types=False)} - {module, "rivetpy"}
        for module, path in MODULES.items()
    }
    while leaves := {module for module, needs in graph.items() if not needs & graph.keys()}:
        graph = {module: needs for module, needs in graph.items() if module not in leaves}
    assert not graph, f"these import each other: {sorted(graph)}"


def test_files_are_small_enough_to_read() -> None:
    lengths = {
        path: len(path.read_text().splitlines())
        for path in sources("rivetpy", "tests", "examples", "benchmarks")
    }
    assert not {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n >= 500}
    ours = sorted(n for path, n in lengths.items() if path.is_relative_to(PACKAGE))
    assert ours[len(ours) * 9 // 10] < 300, "nine files in ten stay under 300 lines"


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources("rivetpy", "tests", "examples", "benchmarks")
        if not ast.get_docstring(parse(path)) and (path.read_text() or path.is_relative_to(PACKAGE))
    ]
    assert not silent, f"no docstring: {silent}"


@pytest.mark.parametrize(
    "name", ["rivetpy", "rivetpy.workflow", "rivetpy.client", "rivetpy.host", "rivetpy.testing"]
)
def test_all_lists_exactly_the_public_names(name: str) -> None:
    """What a package defines, what it takes over from its own modules, and what it loads lazily."""
    module = importlib.import_module(name)
    body = parse(MODULES[name]).body
    lazily = [node for block in body if isinstance(block, ast.If) for node in block.body]
    offered = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in [*body, *lazily]:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rivetpy"):
            own = (node.module or "").startswith(f"{name}.")
            offered |= {alias.asname or alias.name for alias in node.names if own or node in lazily}
    assert sorted(module.__all__) == sorted(each for each in offered if not each.startswith("_"))
    assert all(getattr(module, each) is not None for each in module.__all__)


def signatures(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            every = [
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ]
            for annotation in [node.returns, *(argument.annotation for argument in every if argument)]:
                if annotation is not None:
                    yield node.lineno, ast.unparse(annotation)


def test_signatures_name_their_types() -> None:
    vague = [
        f"{path.relative_to(ROOT)}:{line}: {annotation}"
        for path in sources("rivetpy")
        for line, annotation in signatures(path)
        if re.search(r"\bAny\b", annotation) and str(path.relative_to(ROOT)) not in ANY_ALLOWED
    ]
    assert not vague, "\n".join(vague)


def test_allowed_anys_are_still_there() -> None:
    for name in ANY_ALLOWED:
        assert any("Any" in annotation for _, annotation in signatures(ROOT / name)), (
            f"{name} needs no allowance"
        )


#: Words that belong to a workplace and not to the project, in pieces so that this file may hold them.
FOREIGN = ["/wor" + "k/", "/tm" + "p/", "file://" + "/opt", "pypi" + ".org", "mirr" + "or"]


def test_nothing_speaks_of_the_workplace() -> None:
    papers = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "pyproject.toml", ROOT / ".ci" / "run"]
    for path in [*papers, *sources("rivetpy", "tests", "examples", "benchmarks")]:
        text = path.read_text()
        assert not [word for word in FOREIGN if word in text], path


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


#: What is used only where it is there already, and why it is.
BROUGHT_ALONG = {
    "uvloop": "by uvicorn[standard]",
    "msgspec": "by users whose state is a struct",
    "pytest": "by users whose tests use the plugin",
}


@pytest.mark.parametrize(
    ("folders", "extra"),
    [(["rivetpy"], None), (["tests", "examples", "benchmarks"], "test")],
    ids=["package", "development"],
)
def test_what_is_imported_is_declared(folders: list[str], extra: str | None) -> None:
    project = pyproject()["project"]
    requirements = project["dependencies"] + (project["optional-dependencies"][extra] if extra else [])
    declared = {re.split(r"[\[><=~]", requirement)[0] for requirement in requirements}
    ours = {"rivetpy", "tests", "benchmarks", *(path.stem for path in sources("examples"))}
    used = {
        (name.split(".")[0], str(path.relative_to(ROOT)))
        for path in sources(*folders)
        if "peers" not in path.parts
        or path.stem in ("__init__", "peer")  # the others run in environments of their own
        for node in ast.walk(parse(path))
        for name in names_of(node)
    }
    known = declared | ours | sys.stdlib_module_names | BROUGHT_ALONG.keys()
    assert not sorted((name, path) for name, path in used if name not in known)


def names_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_the_versions_agree() -> None:
    version = pyproject()["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.M)
    assert newest and newest[1] == version == importlib.import_module("rivetpy").__version__


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    script = (ROOT / ".ci" / "run").read_text()
    command = re.search(r"^(python3 -m venv \S+ && .*pytest\S*)$", readme, re.M)
    assert command, "the README has no one-line test command"
    assert command[1] in script
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shipped_completions_are_what_the_command_prints(shell: str) -> None:
    (file,) = (path for path in (ROOT / "completions").iterdir() if shell in path.name)
    printed = subprocess.run(
        [*RIVET, "completions", shell], env=environment(), capture_output=True, text=True, check=True
    )
    assert printed.stdout == file.read_text()


def test_commands_of_the_readme_exist() -> None:
    shown = subprocess.run([*RIVET, "--help"], env=environment(), capture_output=True, text=True, check=True)
    used = set(re.findall(r"\brivet ([a-z]+)\b", "\n".join(code_of(ROOT / "README.md"))))
    missing = {verb for verb in used if not re.search(rf"\b{verb}\b", shown.stdout)}
    assert used >= {"dev", "send", "history"} and not missing


def code_of(path: Path) -> list[str]:
    """What stands in a Markdown file's fences and in backticks."""
    text = path.read_text()
    fenced = re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S)
    return fenced + re.findall(r"`([^`\n]+)`", text)


def test_links_of_the_papers_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_line_of_the_guarantees_is_shown_by_tests_that_exist() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text()
    lines = [
        line for line in text.splitlines() if line.startswith("| ") and not line.endswith("| shown by |")
    ]
    assert len(lines) > 20
    for line in lines:
        *_, shown = line.strip("| ").split(" | ")
        names = re.findall(r"`([\w/]+\.py)::(\w+)`", shown)
        assert names, f"no test in: {line}"
        for path, name in names:
            tests = {
                node.name
                for node in ast.walk(parse(ROOT / "tests" / path))
                if isinstance(node, ast.FunctionDef)
            }
            assert name in tests, f"{path} has no {name}"
