"""Which file holds the registry: a path, a module, ``module:name``, or the one that is simply there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from rivetpy.errors import RivetError

#: Where a registry is looked for when none is named, in this order.
USUAL_PLACES = ("registry.py", "src/registry.py", "registry/__init__.py", "src/registry/__init__.py")


class RegistryError(RivetError):
    """The registry can't be found, imported, or told apart; ``traceback`` has the user's own frames."""

    def __init__(self, code: str, message: str, traceback: str = "") -> None:
        super().__init__("registry", code, message)
        self.traceback = traceback


@dataclass(frozen=True, slots=True)
class RegistryRef:
    """A registry that was found but not imported yet."""

    #: The Python file that defines it, resolved.
    path: Path
    #: The directory that goes on ``sys.path``, so that its imports work as they do under ``python``.
    root: Path
    #: The dotted name it is imported by, relative to ``root``.
    module: str
    #: The variable's name; None means: the only registry in the module.
    attribute: str | None = None

    @property
    def name(self) -> str:
        """A short name for directories and messages."""
        return self.path.parent.name if self.path.name == "__init__.py" else self.path.stem


def find_registry(text: str | None, cwd: Path) -> RegistryRef:
    """The registry that ``text`` names, or the one found in ``cwd`` (a file, not imported yet).

    ``text`` is a file, a directory with ``registry.py``, ``module`` or ``module:name``.
    Raises RegistryError ``not_found``.
    """
    if text is None:
        return _usual(cwd)
    target, attribute = _split(text)
    path = (cwd / target).expanduser()
    if path.is_file():
        return _file_ref(path, attribute)
    if path.is_dir():
        return _usual(path, attribute)
    if target.endswith(".py") or "/" in target:
        raise RegistryError("not_found", f"There is no file {target!r} in {cwd}.")
    return _module_ref(target, attribute, cwd)


def _split(text: str) -> tuple[str, str | None]:
    target, colon, attribute = text.rpartition(":")
    if not colon or not attribute.isidentifier():
        return text, None
    return target, attribute


def _usual(directory: Path, attribute: str | None = None) -> RegistryRef:
    for place in USUAL_PLACES:
        if (directory / place).is_file():
            return _file_ref(directory / place, attribute)
    if (directory / "__init__.py").is_file():
        return _file_ref(directory / "__init__.py", attribute)
    likely = next((path.name for path in sorted(directory.glob("*.py")) if _sets_up(path)), None)
    raise RegistryError(
        "not_found",
        f"There is no registry.py in {directory}. Name the file: rivet dev {likely or 'path/to/registry.py'}",
    )


def _sets_up(path: Path) -> bool:
    """Whether a file looks like a registry, without importing it."""
    try:
        return b"setup(use=" in path.read_bytes()
    except OSError:
        return False


def _file_ref(path: Path, attribute: str | None) -> RegistryRef:
    """A file in a package is imported by its full dotted name, so that relative imports work."""
    path = path.resolve()
    parts = [] if path.name == "__init__.py" else [path.stem]
    root = path.parent
    while (root / "__init__.py").is_file() and root.parent != root:
        parts.insert(0, root.name)
        root = root.parent
    return RegistryRef(path, root, ".".join(parts), attribute)


def _module_ref(module: str, attribute: str | None, cwd: Path) -> RegistryRef:
    if all(part.isidentifier() for part in module.split(".")):
        inner = Path(*module.split("."))
        for root in (cwd, cwd / "src", *map(Path, filter(None, sys.path))):
            for path in (root / inner.with_suffix(".py"), root / inner / "__init__.py"):
                if path.is_file():
                    return RegistryRef(path.resolve(), root.resolve(), module, attribute)
    raise RegistryError(
        "not_found",
        f"There is no file and no module {module!r} in {cwd}. "
        "Name a file (registry.py), a module (app.registry) or a variable (app.registry:registry).",
    )
