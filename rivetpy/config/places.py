"""Where a registry's data lives, and where the engine is that runs it."""

from __future__ import annotations

import hashlib
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rivetpy.config.refs import RegistryError, RegistryRef, find_registry

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 6420
DATABASE = "journal.db"
#: The folder of the actors' own databases.
ACTOR_FILES = "actors"


def data_dir(
    ref: RegistryRef | None, override: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Path:
    """``override``, else RIVET_DATA_DIR, else a directory of this registry's own under the platform's.

    Nothing is created. Raises RegistryError ``not_found`` when no registry says which one it is.
    """
    chosen = override or (Path(environ["RIVET_DATA_DIR"]) if environ.get("RIVET_DATA_DIR") else None)
    if chosen is not None:
        return chosen.expanduser().absolute()
    if ref is None:
        raise RegistryError("not_found", "No registry here, so no data directory either. Name it: --data-dir")
    import platformdirs

    # The path as bytes: two files whose names differ only in Unicode form are two registries.
    digest = hashlib.sha256(os.fsencode(ref.path)).hexdigest()[:10]
    return platformdirs.user_data_path("rivet") / f"{ref.name}-{digest}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where to find the actors: a running engine, a data directory, or both."""

    #: None: nothing runs on the data directory.
    endpoint: str | None
    #: None: not known (no registry here, and none was named).
    directory: Path | None
    #: The file of the registry that is here, if there is one.
    registry: Path | None = None
    #: Whether a person named the one or the other, so that no guess must replace it.
    endpoint_named: bool = False
    directory_named: bool = False

    @property
    def has_data(self) -> bool:
        """Whether there is something to read without an engine."""
        return self.directory is not None and os.path.isfile(self.directory / DATABASE)  # noqa: PTH113 - never raises


def find_engine(
    endpoint: str | None, override: Path | None, cwd: Path, environ: Mapping[str, str] = os.environ
) -> Place:
    """Where the engine is: ``endpoint``, RIVET_ENGINE or RIVET_ENDPOINT, or the owner of this project's data directory.

    Without any of them ``endpoint`` is None; the caller may then try the default port.
    """
    endpoint = endpoint or environ.get("RIVET_ENGINE") or environ.get("RIVET_ENDPOINT") or None
    ref = _project(cwd)
    named = override is not None or bool(environ.get("RIVET_DATA_DIR"))
    directory = data_dir(ref, override, environ) if ref or named else None
    found = endpoint or (endpoint_of(directory) if directory else None)
    return Place(found, directory, ref.path if ref else None, endpoint is not None, named)


def endpoint_of(directory: Path) -> str | None:
    """The address of the engine that owns the data directory now, None when nobody does."""
    from rivetpy.store.lock import read_owner

    owner = read_owner(directory)
    if owner is None or not owner.port:  # an engine inside a program need not listen itself
        return None
    return url_of(owner.host, owner.port)


def url_of(host: str, port: int) -> str:
    """Where this machine reaches what listens at ``host``, which may stand for all addresses."""
    host = host if host not in {"0.0.0.0", "::", ""} else DEFAULT_HOST  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _project(cwd: Path) -> RegistryRef | None:
    try:
        return find_registry(None, cwd)
    except RegistryError:
        return None
