"""Whether a function can be called the way it is about to be: told apart from a TypeError of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def misfit(function: Callable[..., object], *args: object) -> str | None:
    """Why these arguments don't fit the function's signature; None when they do, or nobody can tell."""
    try:
        inspect.signature(function).bind(*args)
    except TypeError as error:
        return str(error)
    except ValueError:  # some builtins have none
        return None
    return None
