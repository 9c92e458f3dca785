"""The user's own source files: which are loaded, which an import failed in, and importing them as they are now."""

from __future__ import annotations

import sys
import sysconfig
import time
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path

_OURS = str(Path(__file__).parent.parent) + "/"
_LIBRARIES = tuple(
    str(Path(sysconfig.get_path(name))) + "/" for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
#: Where installed packages are, also those of other interpreters.
_INSTALLED = ("/site-packages/", "/dist-packages/")
#: Bytecode says which second of the source it was made from. A file that was saved within so many seconds may be
#: saved again in the same one.
_FRESH = 2.0


def is_users(filename: str) -> bool:
    """Whether a file is the user's, and not rivetpy's, the standard library's or an installed package's."""
    return not (
        filename.startswith(("<", _OURS, *_LIBRARIES)) or any(part in filename for part in _INSTALLED)
    )


def loaded_files() -> set[str]:
    """The ``.py`` files of the user's modules that are loaded."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in files if isinstance(file, str) and _is_source(file)}


def loaded_folders() -> set[str]:
    """Where the submodules of the user's loaded packages are, of those without an ``__init__.py`` too."""
    paths = (getattr(module, "__path__", ()) for module in list(sys.modules.values()))
    return {path for each in paths for path in _strings(each) if is_users(f"{path}/")}


def files_of_failure(error: BaseException | None) -> set[str]:
    """The user's files that an import went through before it failed: the loaded modules no longer tell."""
    found: set[str] = set()
    while error is not None:
        if isinstance(error, SyntaxError) and error.filename:
            found.add(error.filename)
        trace = error.__traceback__
        while trace is not None:
            found.add(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
        error = error.__cause__ or error.__context__
    return set(filter(_is_source, found))


def distrust_fresh_bytecode() -> None:
    """Take no bytecode for a file that was saved a moment ago, and leave none behind: bytecode knows its source by
    second and size, so of two saves in one second it may be the first one's."""
    trusted = SourceFileLoader.path_stats

    def path_stats(self: SourceFileLoader, path: str) -> object:
        stats = trusted(self, path)
        if time.time() - float(stats["mtime"]) < _FRESH:
            raise OSError(f"{path} was saved a moment ago")
        return stats

    SourceFileLoader.path_stats = path_stats  # type: ignore[assignment, method-assign]


def _is_source(file: str) -> bool:
    return file.endswith(".py") and file.startswith("/") and is_users(file)


def _strings(paths: object) -> Iterator[str]:
    """A package's ``__path__``, which is any iterable; a module may call anything so."""
    try:
        yield from (path for path in paths if isinstance(path, str))  # type: ignore[attr-defined]
    except Exception:
        return
