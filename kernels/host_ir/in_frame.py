"""Which arrays of a host program need no memory of their own: of a few elements, for one statement at a time.

    let (partial: [1]f64) = scratch [1]f64;  launch k[1](partial, xs);  let (sum: f64) = partial[0]

They have a constant size, kernels write them, and what is read of them is elements. So nothing refers to them but their
name, and the frame of the call has room for them.
"""

from __future__ import annotations

import math

from ...ir import core
from ...ir.core import Fix, Param
from ...ir.types import Const, Name, Var
from .liveness import uses
from .nodes import HostBody, HostExp, HostIf, HostLoop, HostStm, Launch, bodies_of, statements

MOST = 8
"""Elements of such an array."""


def in_frame(body: HostBody) -> frozenset[Name]:
    """The arrays that a body makes for its launches and for reads of elements, in nested bodies too."""
    every = tuple(statements(body))
    small = {stm.pat[0].name for stm in every if _is_made(stm) and _is_small(stm.pat[0])}
    kept = _results(body).union(*(_referred(stm.exp) for stm in every)) if small else set[Name]()
    return frozenset(small - kept)


def _is_made(stm: HostStm) -> bool:
    match stm.exp:
        case core.Scratch():
            return True
        case core.Replicate(value=value):
            return isinstance(value, Const)
        case _:
            return False


def _is_small(param: Param) -> bool:
    sizes = [d.value for d in param.type.shape if isinstance(d, Const)]
    return len(sizes) == param.type.rank and all(n > 0 for n in sizes) and math.prod(map(int, sizes)) <= MOST


def _results(body: HostBody) -> set[Name]:
    return {atom.name for atom in body.result if isinstance(atom, Var)}


def _referred(exp: HostExp) -> set[Name]:
    """The names whose arrays an expression itself may refer to longer than it runs, or copy whole."""
    match exp:
        case Launch():
            return set()
        case core.Index(_, dims) if all(isinstance(d, Fix) for d in dims):
            return set()
        case HostIf() | HostLoop():
            inits = exp.inits if isinstance(exp, HostLoop) else ()
            own = {atom.name for atom in inits if isinstance(atom, Var)}
            return own.union(*map(_results, bodies_of(exp)))
        case _:
            return uses(exp)
