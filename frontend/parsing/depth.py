"""The limit on nesting (E0103), so that later passes may recurse over the tree.

Brackets are counted in the text, before parsing; everything else (`if` in `if`, `- - x`) in the tree.
What the tree keeps flat does not count: operators of one level, `let` after `let`; nor do chains of `with`.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import Any

from ...ir import depth as levels
from ...ir.depth import MOST_LEVELS
from ...ir.errors import CompileError, Loc
from ...ir.scanner import loc_of
from ..source import atoms, declarations
from ..source import syntax as s
from ..source.atoms import Ident, Lit, Operator, PVar, RangeEnd, TypeParamKind
from ..source.declarations import Dec

_BRACKETS = re.compile(
    r"""--[^\n]*                        # a comment
    |   [-+*/%=!><|&^][-+*/%=!><|&^.]*  # an operator: no comment begins inside it
    |   "(?:[^"\\\n]|\\.)*"             # a string
    |   '(?:[^'\\\n]|\\.)'              # a character
    |   [(\[{]|[)\]}]""",
    re.VERBOSE,
)


def check_brackets(text: str, file: str) -> None:
    """Refuse brackets nested deeper than the limit."""
    if text.count("(") + text.count("[") + text.count("{") <= MOST_LEVELS:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        bracket = found[0]
        if bracket in "([{":
            depth += 1
            if depth > MOST_LEVELS:
                raise too_deep(loc_of(text, file, found.start(), found.end()))
        elif bracket in ")]}":
            depth = max(0, depth - 1)


NAME_PARTS = "name inner parts with `let` or `def`"


def too_deep(loc: Loc, hint: str = NAME_PARTS) -> CompileError:
    """E0103 at a place."""
    return levels.too_deep("", loc, hint=hint)


_PLAIN = {"id", "loc", "name", "name_loc", "prim", "is_decimal", "attr", "attrs", "file", "text", "kind"}


def _child_slots() -> dict[type, tuple[str, ...]]:
    """For every class of the tree, its fields that can hold further nodes."""
    classes = [c for m in (atoms, s, declarations) for c in vars(m).values() if isinstance(c, type) and is_dataclass(c)]
    return {c: tuple(f.name for f in fields(c) if f.name not in _PLAIN) for c in classes}


_SLOTS = _child_slots()


def check_depth(decs: tuple[Dec, ...]) -> None:
    """Refuse a tree higher than the limit. Tuples and paths add no level."""
    todo: list[tuple[Any, int, Loc | None]] = [(decs, 0, None)]
    while todo:
        node, depth, loc = todo.pop()
        if node.__class__ is tuple:
            todo += [(child, depth, loc) for child in node if child.__class__ not in _PLAIN]
            continue
        slots = _SLOTS[node.__class__]
        loc = getattr(node, "loc", loc)
        if depth > MOST_LEVELS:
            assert loc is not None
            raise too_deep(loc, levels.BRANCHES if node.__class__ is s.If else NAME_PARTS)
        for slot in slots:
            child = getattr(node, slot)
            if child.__class__ not in _PLAIN:
                inside = depth if node.__class__ is s.With and slot == "target" else depth + 1
                todo.append((child, inside, loc))


_PLAIN = {str, int, float, bool, type(None), Loc, Ident, Lit, PVar, Operator, RangeEnd, TypeParamKind}
