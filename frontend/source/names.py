"""The nodes of syntax, the names that occur in it, and what a pattern binds."""

from __future__ import annotations

from collections.abc import Iterator

from . import syntax as s
from .atoms import Ident, Operator, PLit, PVar, PWild, Qual
from .copy_syntax import fields_of


def nodes(tree: object) -> Iterator[object]:
    """All nodes of a tree, in no particular order; a tuple is no node."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, tuple):
            todo.extend(node)
        elif names := fields_of(type(node)):
            yield node
            todo.extend([getattr(node, name) for name in names])


def names_in(tree: object) -> list[Qual]:
    """Every name and operator in a tree; those that it binds itself are included."""
    return [node.name for node in nodes(tree) if isinstance(node, Ident | Operator)]


def leaves(pat: s.Pat) -> Iterator[PVar | PWild | PLit]:
    """What a pattern is made up of, from left to right: variables, `_` and literals."""
    match pat:
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            for _, part in fields:
                yield from leaves(part)
        case s.PConstr(args=args):
            for part in args:
                yield from leaves(part)
        case s.PAscript(pat=inner) | s.PAttr(pat=inner):
            yield from leaves(inner)
        case PVar() | PWild() | PLit():
            yield pat
