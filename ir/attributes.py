"""Attributes of the source that passes obey, by name."""

from __future__ import annotations

from .core import Attr, Stm


def has_attr(attrs: tuple[Attr, ...], name: str) -> bool:
    """Whether there is an attribute of this name, whatever its arguments are."""
    return any(attr.name == name for attr in attrs)


def is_opaque(stm: Stm) -> bool:
    """`#[opaque]`: no rule looks into the statement from others, or fuses it with them."""
    return has_attr(stm.attrs, "opaque")


PART = Attr("part of a scatter", ())
"""Of a scatter: it may write at once with the one that gives its destinations (`flatten/fusion/parts.py`). No program
can write this name."""
