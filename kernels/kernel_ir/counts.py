"""Sums of truth values: components of a reduction that count.

    reduce commutative (n) from (0) over i { c; x = convert bool -> i64 c; values x; op (a) (b) { a + b } }

Lanes need no accumulators of the width of n for it: how many of them have `c` is one number for all.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from ...ir.ops import Op
from ...ir.types import Const, Prim
from .nodes import BlockReduce, KConvert, KLambda, KLet, KOp, KVar, Operand
from .traverse import names, variables_in


def counted(stm: BlockReduce) -> Mapping[int, Operand]:
    """The components of a commutative reduction that count, each with the truth value it counts."""
    if not stm.commutative:
        return {}
    made = {let.var: let.rhs for let in stm.body if isinstance(let, KLet)}
    found: dict[int, Operand] = {}
    for k, value in enumerate(stm.values):
        match made.get(value) if isinstance(value, KVar) else None:
            case KConvert(Prim.BOOL, target, truth) if target.is_int:
                pass
            case KOp(Op.SELECT, prim, (truth, Const(value=1), Const(value=0))) if prim.is_int:
                pass
            case _:
                continue
        if all(adds(op, k) for op in (stm.op, stm.step or stm.op)):
            found[k] = truth
    return found


def adds(op: KLambda, k: int) -> bool:
    """Whether component k is the sum of its own values, which nothing else uses."""
    x, y, result = op.left[k], op.right[k], op.results[k]
    others = (r for j, r in enumerate(op.results) if j != k)
    users = [s for s in op.body if not variables_in(s).isdisjoint(names(x, y, result))]
    match users:
        case [KLet(var, KOp(Op.ADD, _, args))] if var == result:
            return set(args) == {x, y} and {x, y, result}.isdisjoint(others)
        case _:
            return False


def without(stm: BlockReduce, components: Container[int]) -> BlockReduce:
    """The reduction without these components."""
    kept = [k for k in range(len(stm.outs)) if k not in components]
    outs, values, neutral = (tuple(xs[k] for k in kept) for xs in (stm.outs, stm.values, stm.neutral))
    step = None if stm.step is None else operator_of(stm.step, kept)
    return replace(stm, outs=outs, values=values, neutral=neutral, op=operator_of(stm.op, kept), step=step)


def operator_of(op: KLambda, kept: Iterable[int]) -> KLambda:
    """An operator on these components; the others are sums that nothing else uses (`adds`)."""
    kept = tuple(kept)
    gone = {result for k, result in enumerate(op.results) if k not in kept}
    body = tuple(s for s in op.body if not (isinstance(s, KLet) and s.var in gone))
    left, right, results = (tuple(xs[k] for k in kept) for xs in (op.left, op.right, op.results))
    return replace(op, left=left, right=right, body=body, results=results)
