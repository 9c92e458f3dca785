"""Importing the user's registry, with errors that show the user's own frames and nothing else."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from rivetpy.config.refs import RegistryError, RegistryRef
from rivetpy.config.sources import is_users
from rivetpy.errors import DefinitionError

if TYPE_CHECKING:
    from rivetpy.registry import Registry


def load_registry(ref: RegistryRef) -> Registry:
    """Import the file and return the registry in it.

    Raises RegistryError: ``import_failed`` (with the user's frames), ``none_defined``, ``ambiguous``.
    """
    module = _import(ref)
    if ref.attribute is not None:
        return _named(module, ref, ref.attribute)
    return _only(module, ref)


def user_traceback(error: BaseException) -> str:
    """The traceback of an exception, cut to the frames of the user's own files."""
    shown = traceback.TracebackException.from_exception(error, compact=True)
    for part in _chain(shown):
        part.stack = traceback.StackSummary.from_list([f for f in part.stack if is_users(f.filename)])
    return "".join(shown.format()).rstrip("\n")


def _chain(shown: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """The exception and everything it was raised from, groups included."""
    yield shown
    for part in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if part is not None:
            yield from _chain(part)


def _import(ref: RegistryRef) -> ModuleType:
    if str(ref.root) not in sys.path[:1]:
        sys.path.insert(0, str(ref.root))
    importlib.invalidate_caches()
    try:
        parent = ref.module.rpartition(".")[0]
        if parent:
            importlib.import_module(parent)
        return _fresh(ref)
    except KeyboardInterrupt:
        raise
    except SystemExit as error:
        raise RegistryError(
            "import_failed",
            f"{ref.path.name} ended the program (SystemExit: {error.code}) while it was imported. "
            "Keep that under `if __name__ == '__main__':`.",
            user_traceback(error),
        ) from None
    except DefinitionError as error:
        raise RegistryError(
            "import_failed", f"{ref.path.name}: {error.message}", user_traceback(error)
        ) from None
    except BaseException as error:  # whatever a user's file may raise
        raise RegistryError(
            "import_failed", f"{ref.path.name} can't be imported: {_summary(error)}", user_traceback(error)
        ) from None


def _summary(error: BaseException) -> str:
    return traceback.format_exception_only(error)[-1].strip().replace("\n", " ")


def _fresh(ref: RegistryRef) -> ModuleType:
    """Run the file as a new module, also when a module of that name is already there."""
    name = ref.module
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) != str(ref.path):
        name = f"{name}_of_{ref.root.name}"  # say the user's file is called json.py
    spec = importlib.util.spec_from_file_location(name, ref.path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{ref.path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _named(module: ModuleType, ref: RegistryRef, attribute: str) -> Registry:
    from rivetpy.registry import Registry

    value = getattr(module, attribute, None)
    if isinstance(value, Registry):
        return value
    found = f"is a {type(value).__name__}, not a registry" if value is not None else "does not exist"
    raise RegistryError(
        "none_defined", f"{attribute!r} in {ref.path.name} {found}. {_known(_registries(module))}"
    )


def _only(module: ModuleType, ref: RegistryRef) -> Registry:
    found = _registries(module)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise RegistryError(
            "none_defined",
            f"{ref.path.name} defines no registry. Add: registry = setup(use={{'myActor': my_actor}})",
        )
    raise RegistryError(
        "ambiguous",
        f"{ref.path.name} defines several registries: {', '.join(found)}. "
        f"Name one: {ref.path.name}:{next(iter(found))}",
    )


def _registries(module: ModuleType) -> dict[str, Registry]:
    """The registries of a module by name; two names of one registry count once."""
    from rivetpy.registry import Registry

    found: dict[str, Registry] = {}
    for name, value in vars(module).items():
        if isinstance(value, Registry) and all(value is not other for other in found.values()):
            found[name] = value
    return found


def _known(found: dict[str, Registry]) -> str:
    if not found:
        return "Add: registry = setup(use={'myActor': my_actor})"
    return f"There is: {', '.join(found)}."
