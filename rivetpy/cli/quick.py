"""typer without its detour over pydantic for values that are what they should be, or one plain call away from it.

typer lets pydantic convert every option, also text that stays text; importing that takes a third of the time of a
`rivet send`. Whatever is not that plain, and every mistake, still goes typer's own way.
"""

from __future__ import annotations

import contextlib
import os
from enum import EnumType
from typing import TYPE_CHECKING

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter
    from typer._click.shell_completion import CompletionItem
    from typer._coercion import TypeDescriptor


class QuickCommand(TyperCommand):
    """A command that starts quickly. With a typer that works differently it is just a command."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        return _quicken(super().get_params(ctx))

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        return _unexplained(super().shell_complete(ctx, incomplete))


class QuickGroup(TyperGroup):
    """The same for the options before the sub-command."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        return _quicken(super().get_params(ctx))

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        return _unexplained(super().shell_complete(ctx, incomplete))


def _unexplained(found: list[CompletionItem]) -> list[CompletionItem]:
    """Without help for bash, which shows none: rendering it takes half of the time."""
    if os.environ.get("_RIVET_SHELL") == "bash":
        for item in found:
            item.help = None
    return found


def _quicken(parameters: list[Parameter]) -> list[Parameter]:
    for parameter in parameters:
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is not None and getattr(parameter, "_runtime_param", descriptor) is None:
            parameter._runtime_param = _AsItIs(descriptor)  # type: ignore[attr-defined]
    return parameters


class _AsItIs:
    """Takes a value of the right type as it is, makes one of text where that is plain, and leaves all else to typer."""

    def __init__(self, descriptor: TypeDescriptor) -> None:
        self._descriptor = descriptor
        self._type = getattr(descriptor, "annotation", None)

    def coerce(self, value: object, param: object, ctx: Context) -> object:
        if value is None and getattr(param, "nargs", 1) == 1 and not getattr(param, "multiple", False):
            return None
        if isinstance(self._type, type) and isinstance(value, self._type):
            return value
        if self._type == list[str] and all(isinstance(item, str) for item in _items(value)):
            return _items(value)
        if isinstance(value, str):
            with contextlib.suppress(Exception):  # a mistake: typer finds it again, and words it
                return self._made_of(value)
        from typer._coercion import build_runtime_param

        return build_runtime_param(self._descriptor).coerce(value, param=param, ctx=ctx)  # type: ignore[arg-type]

    def _made_of(self, text: str) -> object:
        """What a parser of ours, an enum or whole numbers make of it. Raises ValueError, or what the parser raises."""
        info = self._descriptor.parameter_info
        if info.parser is not None:
            return info.parser(text)
        if isinstance(self._type, EnumType):
            return self._type(text)
        if self._type is int and text.isdecimal() and (info.min or 0) <= int(text) <= (info.max or 2**63):
            return int(text)
        raise ValueError(text)


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
