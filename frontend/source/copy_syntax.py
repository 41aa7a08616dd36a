"""Copies of syntax in which every node has an id of its own: what a functor's body becomes where it is applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from ...ir.errors import Loc

Node = TypeVar("Node")


def copied(fresh: Callable[[], int], node: Node) -> Node:
    """A copy of `node`, with ids from `fresh`."""
    return _copied(fresh, node)


def _copied(fresh: Callable[[], int], node: Any) -> Any:
    if type(node) is tuple:
        return tuple([_copied(fresh, part) for part in node])
    names = fields_of(type(node))
    if not names:
        return node
    parts = [fresh() if name == "id" else _copied(fresh, getattr(node, name)) for name in names]
    return type(node)(*parts)


@cache
def fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a node of this type; none of what is no node: a place, a number, a word."""
    return () if kind is Loc or not is_dataclass(kind) else tuple(field.name for field in fields(kind))
