"""What fits a queue's model: a body stays as it was sent, so nothing is converted to make it fit (spec actors 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
import pytest
from pydantic import BaseModel

from rivetpy import RivetError, event, queue


class Size(StrEnum):
    SMALL = "small"


@dataclass
class Item:
    count: int
    size: Size = Size.SMALL
    tags: set[str] = field(default_factory=set)
    bought: datetime | None = None
    data: bytes = b""


class Order(BaseModel):
    items: list[Item]


class Struct(msgspec.Struct):
    count: int


NOW = datetime(2026, 1, 1, tzinfo=UTC)
FITS: list[tuple[Any, Any]] = [
    (int, 5),
    (float, 5),
    (Item, {"count": 1, "size": "small", "tags": ["a"], "bought": NOW.isoformat()}),
    (Item, {"count": 1, "tags": {"a"}, "bought": NOW, "data": b"\xff"}),
    (Order, {"items": [{"count": 1}]}),
    (Struct, {"count": 1}),
    (UUID, str(UUID(int=1))),
    (dict[int, str], {1: "one"}),
    (tuple[int, str], [1, "one"]),
]
DOES_NOT: list[tuple[Any, Any, str]] = [
    (int, "5", "$: Input should be a valid integer"),
    (int, True, "$"),
    (int, 5.0, "$"),
    (str, 5, "$"),
    (bool, 1, "$"),
    (Item, {"count": "1"}, "count: Input should be a valid integer"),
    (Item, {"count": 1, "size": "huge"}, "size"),
    (Order, {"items": [{"count": 1}, {"count": "2"}]}, "items.1.count"),
    (Struct, {"count": "1"}, "Expected `int`, got `str` - at `$.count`"),
]


@pytest.mark.parametrize(("model", "body"), FITS)
def test_what_fits_comes_as_it_was_sent(model: Any, body: Any) -> None:
    assert queue(model).checked("orders", body) is body
    event(model).check("changed", [body])


@pytest.mark.parametrize(("model", "body", "said"), DOES_NOT)
def test_what_would_have_to_be_converted_is_refused(model: Any, body: Any, said: str) -> None:
    with pytest.raises(RivetError, match="does not fit queue 'orders'") as refused:
        queue(model).checked("orders", body)
    assert refused.value.code == "message_invalid"
    assert said in str(refused.value)
    with pytest.raises(RivetError, match="does not fit event"):
        event(model).check("changed", [body])
