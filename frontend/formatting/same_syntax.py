"""Whether two syntax trees are the same but for places."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from ...ir.errors import Loc


def same_syntax(one: Any, other: Any) -> bool:
    """Equal trees, ids included, wherever they stand in their texts."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same_syntax, one, other))
    if isinstance(one, Loc):
        return True
    if is_dataclass(one):
        return all(same_syntax(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return repr(one) == repr(other)  # nan is itself, 0.0 is not -0.0
