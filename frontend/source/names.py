"""The names that occur in an expression."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from ...ir.errors import Loc
from . import syntax as s
from .atoms import Ident, Operator, Qual


def names_in(exp: s.Exp) -> list[Qual]:
    """Every name and operator in an expression; those that it binds itself are included."""
    found: list[Qual] = []
    todo: list[object] = [exp]
    while todo:
        node = todo.pop()
        match node:
            case Ident(name=name) | Operator(name=name):
                found.append(name)
            case tuple():
                todo.extend(node)
            case Loc():
                pass
            case _ if is_dataclass(node):
                todo.extend(getattr(node, part.name) for part in fields(node))
            case _:
                pass
    return found
