"""What a child reports of its actors, and the bodies to try their queues with: such as they take."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from rivetpy import actor, queue, setup
from rivetpy.cli.imported import actors_report, sample_body


class Size(enum.Enum):
    SMALL = "small"


@dataclass
class Item:
    name: str
    size: Size
    count: int = 3
    tags: list[str] = field(default_factory=list)


class Order(BaseModel):
    items: list[Item]
    first: Item
    express: bool
    note: str | None
    price: float
    lot: Annotated[str, Field(examples=["A-7"], pattern="A-.")]


class Endless(BaseModel):
    more: Endless


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (int, "1"),
        (str, '"text"'),
        (Literal["go", "stop"], '"go"'),
        (dict[str, int], "{}"),
        (Item, '{"name":"text","size":"small"}'),
        (
            Order,
            '{"items":[],"first":{"name":"text","size":"small"},"express":true,"note":"text","price":1,"lot":"A-7"}',
        ),
    ],
    ids=["int", "str", "literal", "dict", "dataclass", "model"],
)
def test_a_sample_fits_its_queue(model: object, body: str) -> None:
    assert sample_body(queue(model)) == body


@pytest.mark.parametrize(
    "given",
    [None, Annotated[int, Field(ge=7)], Annotated[str, Field(pattern="[0-9]+")], Endless],
    ids=["none", "above", "pattern", "endless"],
)
def test_no_sample_where_none_is_sure_to_fit(given: object) -> None:
    assert sample_body(queue(given)) is None


def test_what_is_reported_of_actors() -> None:
    shop = actor(queues={"orders": queue(int), "rest": queue()}, actions={"total": lambda c: 1})
    assert actors_report(setup(use={"shop": shop}), ["shop.py"]) == {
        "imported": {"shop": {"queues": {"orders": "1", "rest": None}, "actions": ["total"]}},
        "files": ["shop.py"],
    }
