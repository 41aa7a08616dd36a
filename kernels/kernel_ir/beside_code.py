"""What a kernel says beside its code: the places that can fail, and the lanes that run it."""

from __future__ import annotations

from ...ir.errors import Loc
from ...ir.records import dataclass
from ...ir.types import Prim


@dataclass(frozen=True, slots=True)
class FailureSite:
    """A place that can fail: code, source location, message with holes; hole k is the k-th value, shown at its type."""

    code: str
    loc: Loc
    parts: tuple[str | Prim, ...]


@dataclass(frozen=True, slots=True)
class LaneShape:
    """The lanes that run the threads of a kernel on a CPU: `unroll` vectors of `width` at once where that many are
    left, then one; `peeled`: full ones without a mask."""

    width: int
    unroll: int
    peeled: bool
