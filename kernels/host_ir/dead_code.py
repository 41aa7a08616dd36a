"""Index arrays of the host that no statement reads any more, since kernels count for themselves.

let is = iota n; launch k(xs, n)   ⟶   launch k(xs, n)
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import Iota
from ...ir.types import Name
from .liveness import uses_of_body
from .nodes import HostBody, HostIf, HostLoop, HostStm


def without_unread_iotas(body: HostBody) -> HostBody:
    """The body of an entry point without them."""
    return _without(body, uses_of_body(body))


def _without(body: HostBody, used: set[Name]) -> HostBody:
    """A body without the index arrays that are not in `used`."""
    kept = [stm for stm in body.stms if not isinstance(stm.exp, Iota) or stm.pat[0].name in used]
    return replace(body, stms=tuple(_inside(stm, used) for stm in kept))


def _inside(stm: HostStm, used: set[Name]) -> HostStm:
    match stm.exp:
        case HostIf(cond, then, orelse):
            return replace(stm, exp=HostIf(cond, _without(then, used), _without(orelse, used)))
        case HostLoop():
            return replace(stm, exp=replace(stm.exp, body=_without(stm.exp.body, used)))
        case _:
            return stm
