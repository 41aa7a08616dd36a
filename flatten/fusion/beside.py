"""Maps of indices that a filter has kept which read elements that lie side by side for all indices."""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import Body, Exp, Fix, Index, Iota, Lambda, PrimOp, Scatter, Screma, Stm
from ...ir.ops import Op
from ...ir.traverse import all_stms
from ...ir.types import Atom, Const, Name, Prim, Var
from ..context.recompute_cost import LIMIT, weight_of
from .loops import is_scalar

MOST_BESIDE = 2 * LIMIT
"""What is computed for all indices, of what only some need, where that reads elements side by side."""
MOST_BYTES = 4
"""Of what that gives: elements of 64 bits take longer to move to the front of a vector than to gather."""
Definitions = dict[Name, Stm]


def reads_beside(scatter: Stm, exp: Screma, known: Definitions) -> bool:
    """Whether a map of indices that a filter has kept computes little, and reads arrays at these and their neighbours:
    what is contiguous for all indices is not for those that are kept. So are elements of rows, at quotients of an index
    and its remainders."""
    assert isinstance(scatter.exp, Scatter)
    f, code = scatter.exp.map, exp.map.body
    value = dict(zip((p.name for p in scatter.pat), f.body.result[1:], strict=True))
    steps = {
        p.name: step
        for p, xs in zip(exp.map.params, exp.arrays, strict=True)
        if (step := _step(value[xs], f, scatter.exp.arrays, known)) is not None
    }
    stms = tuple(all_stms(code))
    for stm in stms:
        match stm.exp:
            case PrimOp(Op.ADD | Op.SUB, Prim.I64, (Var(name), Const())) if name in steps:
                steps[stm.pat[0].name] = steps[name]
            case Index(_, dims):
                at = [
                    steps.get(dim.index.name) if isinstance(dim, Fix) and isinstance(dim.index, Var) else None
                    for dim in dims
                ]
                if None in at or any(at[:-1]):
                    return False
            case _:
                pass
    if sum(t.prim.bytes for t in exp.map.ret) > MOST_BYTES or not any(isinstance(stm.exp, Index) for stm in stms):
        return False
    return all(map(is_scalar, code.stms)) and sum(weight_of(stm.exp) for stm in code.stms) <= MOST_BESIDE


def _step(atom: Atom, f: Lambda, arrays: tuple[Name, ...], known: Definitions) -> int | None:
    """How far what a function gives of neighbours is apart, if it is their index (1), or that divided: the quotient (0)
    or remainder (1)."""
    inside = {p.name: stm for stm in f.body.stms for p in stm.pat}
    match made_by(atom, inside):
        case PrimOp(Op.DIV | Op.MOD as op, Prim.I64, (index, _)) if (
            _step(index, replace(f, body=Body((), ())), arrays, known) == 1
        ):
            return int(op is Op.MOD)
        case None:
            array = dict(zip((p.name for p in f.params), arrays, strict=True)).get(name_of(atom))
        case _:
            return None
    match maker := known.get(array):
        case Stm(exp=Iota()):
            return 1
        case Stm(exp=Screma(_, inputs, g) as screma):
            place = [p.name for p in maker.pat].index(array)
            return _step(g.body.result[place], g, inputs, known) if place >= screma.num_ops else None
        case _:
            return None


def made_by(atom: Atom, known: Definitions) -> Exp | None:
    """What makes a value."""
    stm = known.get(atom.name) if isinstance(atom, Var) else None
    return stm.exp if stm is not None else None


def name_of(atom: Atom) -> Name | None:
    """The name that an atom is, if it is one."""
    return atom.name if isinstance(atom, Var) else None
