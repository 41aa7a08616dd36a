"""Widths that are known, and too small to be worth anything."""

from __future__ import annotations

from ...ir.machine import Mode
from ...ir.types import Atom, Const
from .nest import Flow

SMALL = 32
"""Parallelism of a constant width below this is not worth a version."""


def is_small(width: Atom) -> bool:
    """Whether a width is a constant below `SMALL`."""
    return isinstance(width, Const) and int(width.value) < SMALL


def counts(flow: Flow, width: Atom) -> bool:
    """Whether parallelism of this width is looked for; when everything is to be flattened it always is."""
    return flow.context.mode is Mode.FULL or not is_small(width)
