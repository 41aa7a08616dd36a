"""What the threads of a block do inside of it, on a machine with many: a map over several dimensions at once.

    segmap^thread (i < n, j < m) { e }  in a block   ⟶   threads p in 0..n*m { i = p / m; j = p % m; e }
    segmap^warp (i < n) { segred^thread (k < m) ⊕ { e } }   ⟶   teams of 32 i in 0..n reduce ⊕ over k < m { e }

Lanes of a CPU take one dimension (`schedule/inner_segops.py`), and loops the others; a block's threads are too many for
that.
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import Stm
from ....ir.machine import WARP
from ....ir.types import Prim, Var, i64
from ...kernel_ir import nodes as kir
from ..array_values import flat_indices
from ..kernel_builder import ZERO, Builder, Mode, Operand, Value, scalar
from ..soacs import k_lambda, neutral_of, put_at, row_reduction
from ..statements import gen_body, gen_stm, new_array


def points(b: Builder, stm: Stm, exp: core.SegMap) -> tuple[Value, ...]:
    """A thread for each point, or a warp for each row; gives the arrays of the statement's pattern."""
    if (row := row_reduction(stm)) is not None:
        return rows(b, stm, exp, row)
    arrays = [new_array(b, p.name, p.type, Mode.BLOCK) for p in stm.pat]
    shape = tuple(b.operand(width) for width in exp.space.widths)
    total = b.product(shape, "points")
    with b.threads(b.fresh("point", Prim.I64), ZERO, total) as point:
        indices = flat_indices(b, shape, point)
        b.env.update((name, index) for (name, _), index in zip(exp.space.dims, indices, strict=True))
        for array, value in zip(arrays, gen_body(b, exp.body, Mode.THREAD), strict=True):
            put_at(b, array, indices, value, Mode.THREAD)
    return tuple(arrays)


def rows(b: Builder, stm: Stm, exp: core.SegMap, reduction: Stm) -> tuple[Value, ...]:
    """A warp for each row, which reduces it by shuffles: no other waits for it. What stands before the reduction every
    thread computes for each element; its first thread does what follows."""
    row = reduction.exp
    assert isinstance(row, core.SegRed)
    at = exp.body.stms.index(reduction)
    arrays = [new_array(b, p.name, p.type, Mode.BLOCK) for p in stm.pat]
    shape = tuple(b.operand(width) for width in exp.space.widths)
    total = b.product(shape, "rows")
    ((inner, width),) = row.space.dims
    segment, index, m = b.fresh("row", Prim.I64), b.fresh("k", Prim.I64), b.operand(width)
    op, neutral = k_lambda(b, row.reds), neutral_of(b, row.reds)

    def bound() -> tuple[Operand, ...]:
        indices = flat_indices(b, shape, segment)
        b.env.update((name, place) for (name, _), place in zip(exp.space.dims, indices, strict=True))
        for before in exp.body.stms[:at]:
            gen_stm(b, before, Mode.THREAD)
        return indices

    with b.nested() as body:
        indices = bound()
        b.env[inner] = index
        values = gen_body(b, row.body, Mode.THREAD)
        beside = zip(reduction.pat[row.num_reds :], values[row.num_reds :], strict=True)
        kept = {Var(p.name): value for p, value in beside}
        for array, result in zip(arrays, exp.body.result, strict=True):
            if result in kept:
                put_at(b, array, (*indices, index), kept[result], Mode.THREAD)
    outs = tuple(b.fresh("red", var.prim) for var in op.left)
    with b.nested() as after:
        indices = bound()
        b.env.update((p.name, value) for p, value in zip(reduction.pat, outs, strict=False))
        for behind in exp.body.stms[at + 1 :]:
            gen_stm(b, behind, Mode.THREAD)
        for array, result in zip(arrays, exp.body.result, strict=True):
            if not array.shape[len(indices) :]:
                put_at(b, array, indices, b.atom(result), Mode.THREAD)
    commutative, taken = all(red.comm for red in row.reds), tuple(map(scalar, values[: row.num_reds]))
    team = i64(WARP.threads)
    b.emit(
        kir.TeamReduce(
            outs, team, segment, ZERO, total, index, m, tuple(body), taken, op, neutral, commutative, tuple(after)
        )
    )
    return tuple(arrays)
