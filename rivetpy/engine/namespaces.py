"""Which namespaces there are: for now, only the one everything is in unless it says otherwise."""

from __future__ import annotations

from rivetpy.errors import RivetError, did_you_mean

NAMES = ("default",)


def check_namespace(name: str) -> None:
    """Raises RivetError ``namespace.not_found``."""
    if name not in NAMES:
        raise RivetError(
            "namespace", "not_found", f"There is no namespace {name!r}. {did_you_mean(name, NAMES)}"
        )
