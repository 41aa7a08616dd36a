"""Sizes with bounds where a guard holds.

    fits = m <= 1024;  par = if fits then m else -m;  if threshold <= par then {m is at most 1024} else ..

No guard holds of what is negative, so a version that measures `par` has rows of at most 1,024 elements, and needs no
other kernel for longer ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...ir.core import PrimOp
from ...ir.ops import Op
from ...ir.types import Atom, Const, Name, Var
from ..host_ir.nodes import HostExp

Computed = Mapping[Name, HostExp]


def guarded_sizes(computed: Computed, par: Atom) -> Mapping[Name, int]:
    """What scalars are at most where a guard that measures `par` holds, by what scalars are."""
    match _exp(computed, par):
        case PrimOp(Op.SELECT, _, (fits, _, otherwise)):
            match _exp(computed, otherwise):
                case PrimOp(Op.NEG, _, (most,)):
                    limits = [limit for limit in _limits(computed, fits, most) if limit >= 0]
                    return dict.fromkeys(_maximum_of(computed, most), min(limits)) if limits else {}
                case _:
                    return {}
        case _:
            return {}


def _exp(computed: Computed, atom: Atom) -> HostExp | None:
    return computed.get(atom.name) if isinstance(atom, Var) else None


def _limits(computed: Computed, cond: Atom, most: Atom) -> Iterator[int]:
    """Numbers that `most` does not exceed where a condition holds."""
    match _exp(computed, cond):
        case PrimOp(Op.AND, _, (x, y)):
            yield from _limits(computed, x, most)
            yield from _limits(computed, y, most)
        case PrimOp(Op.LE, _, (x, Const(_, limit))) if x == most:
            yield int(limit)
        case _:
            pass


def _maximum_of(computed: Computed, atom: Atom) -> Iterator[Name]:
    """A scalar, and those that it is the maximum of."""
    if isinstance(atom, Var):
        yield atom.name
    match _exp(computed, atom):
        case PrimOp(Op.MAX, _, atoms):
            for part in atoms:
                yield from _maximum_of(computed, part)
        case _:
            pass
