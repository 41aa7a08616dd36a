"""Unroll-and-jam: several rows of a nest share one loop, so that what does not depend on the row is loaded once.

    segmap (i < n, j < m) { redomap over k of f(a[i,k], b[k,j]) }
    ⟶  block = (i0, chunk of j): threads j { loop k { y = b[k,j]; for each of R rows: acc_r ⊕= f(a[i0+r,k], y) } }

This is register tiling of the outer dimension (Muchnick 20.4): R rows times the lanes' unrolling are the accumulators.
A last group of fewer rows recomputes row n-1 and stores it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....ir import core
from ....ir.core import Body, SegSpace, Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.traverse import free_in_stm
from ....ir.types import Name, Prim, Type, Var, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.fma import contracted
from ...kernel_ir.nodes import KVar
from ..kernel_builder import ZERO, Builder, Mode, Operand, Value, scalar
from ..soacs import combined, is_simple, only_scalars
from ..space import Chunk, bind_space, output, split_chunk
from ..statements import gen_stm

ROWS = 6
"""With two vectors of each row twelve accumulators, for which AVX2 has registers beside the operands (eight would be
sixteen)."""

STEPS = 4
"""Elements that a round of the loop takes in: what counts and jumps would be a tenth of the instructions."""


def can_jam(space: SegSpace, body: Body) -> bool:
    """A nest of two dimensions whose body, which gives scalars, is reductions of the same widths for all points with
    plain statements around them."""
    found, own = reductions_in(body), {*space.indices, *(p.name for s in body.stms for p in s.pat)}
    return (
        len(space.dims) > 1
        and bool(found)
        and all(is_reduction(s) for s, _ in found)
        and all(Var(name) != screma.width for _, screma in found for name in own)
        and all(is_plain(s) for s in body.stms if not isinstance(s.exp, core.Screma))
    )


def reductions_in(body: Body) -> list[tuple[Stm, core.Screma]]:
    """The reductions of a body that can be jammed, in order."""
    return [(s, s.exp) for s in body.stms if isinstance(s.exp, core.Screma)]


def is_reduction(stm: Stm) -> bool:
    """Whether a statement is a reduction, with no scan and no array of results, by scalar operators of plain
    statements."""
    exp = stm.exp
    return (
        isinstance(exp, core.Screma)
        and not exp.scans
        and len(stm.pat) == exp.num_reds
        and all(is_simple(r.op) for r in exp.reds)
        and all(is_plain(s) for s in exp.map.body.stms)
    )


def is_plain(stm: Stm) -> bool:
    """Whether a statement is arithmetic, a load, a view or a choice of such: it may be emitted for each row, and cannot
    loop."""
    match stm.exp:
        case core.If(_, then, orelse):
            return not any(p.type.shape for p in stm.pat) and all(map(is_plain, (*then.stms, *orelse.stms)))
        case core.PrimOp() | core.Convert() | core.Copied() | core.Index() | core.Rearrange() | core.Iota():
            return True
        case _:
            return False


def jam_over_chunk(b: Builder, space: SegSpace, chunk: Chunk, body: Body, outs: list[tuple[Name, Type]]) -> None:
    """`threads j` over a chunk, with ROWS values of the next outer index."""
    (inner, width), (row, rows), outer = space.dims[-1], space.dims[-2], space.dims[:-2]
    n, count = b.operand(width), b.operand(rows)
    tiles = ceil_div(b, count, ROWS)
    chunks = b.op(Op.QUOT, Prim.I64, b.add(n, chunk.less), chunk.length, base="groups")
    point, number = split_chunk(b, space.dims[:-1], chunks)
    tile = b.op(Op.REM, Prim.I64, point, tiles, base="tile")
    indices = bind_space(b, SegSpace(outer), b.op(Op.QUOT, Prim.I64, point, tiles))
    first = b.mul(tile, i64(ROWS))
    last = b.sub(count, i64(1))
    numbers = [b.add(first, i64(r)) for r in range(ROWS)]
    index = b.index(inner)
    places = [output(b, name) for name, _ in outs]
    lo = b.mul(number, chunk.length)
    hi = b.minimum(n, b.add(lo, chunk.length))
    envs: list[dict[Name, Value]] = [{row: b.minimum(k, last)} for k in numbers]
    varying = {row}
    with b.threads(index, lo, hi):
        for stm in body.stms:
            jam_stm(b, stm, varying, envs)
        for number_r, env in zip(numbers, envs, strict=True):
            b.env.update(env)
            with b.nested() as stores:
                for place, result in zip(places, body.result, strict=True):
                    value = b.operand(result)
                    b.emit(kir.Store(place.mem, b.address(place, (*indices, number_r, index)), value))
            b.emit(kir.KIf(b.op(Op.LT, Prim.I64, number_r, count), tuple(stores), ()))


def ceil_div(b: Builder, x: Operand, size: Operand | int) -> Operand:
    """How many groups of `size` there are of `x`, the last of which may be smaller."""
    by = i64(size) if isinstance(size, int) else size
    return b.op(Op.QUOT, Prim.I64, b.add(x, b.sub(by, i64(1))), by, base="groups")


@dataclass(frozen=True, slots=True)
class Part:
    """The elements of the reduction that a loop takes in: `length` from `start`; the accumulators' values before, for
    each row and component; and how else than from memory the element k of an array is had."""

    start: Operand
    length: Operand
    inits: list[list[Operand]]
    loads: Mapping[Name, Callable[[Operand], Operand]]


def whole(b: Builder, exp: core.Screma, rows: int) -> Part:
    """All elements, starting from the neutral ones."""
    neutral = [b.operand(a) for r in exp.reds for a in r.neutral]
    return Part(ZERO, b.operand(exp.width), [neutral] * rows, {})


def jam_stm(b: Builder, stm: Stm, varying: set[Name], envs: list[dict[Name, Value]], part: Part | None = None) -> None:
    """Emit a statement once, or once for each row if it depends on the row; `varying` collects what does."""
    if varying.isdisjoint(free_in_stm(stm)):
        gen_stm(b, stm, Mode.THREAD)
        return
    if isinstance(stm.exp, core.Screma):
        _jam_reduction(b, stm, stm.exp, varying, envs, part or whole(b, stm.exp, len(envs)))
    else:
        for env in envs:
            b.env.update(env)
            gen_stm(b, stm, Mode.THREAD)
            env.update({p.name: b.env[p.name] for p in stm.pat})
    varying.update(p.name for p in stm.pat)


def _jam_reduction(
    b: Builder, stm: Stm, exp: core.Screma, varying: set[Name], envs: list[dict[Name, Value]], part: Part
) -> None:
    """One loop over the elements, an accumulator for each row and component."""
    accs = [[b.declare("acc", value) for value in row] for row in part.inits]
    with b.loop(b.fresh("k", Prim.I64), part.length, STEPS) as k:
        inside, index = set(varying), b.add(part.start, k)
        for param, array in zip(exp.map.params, exp.arrays, strict=True):
            if array in part.loads:
                b.env[param.name] = part.loads[array](k)
                continue
            if array not in varying:
                b.env[param.name] = b.element(b.input(array), (index,))
                continue
            inside.add(param.name)
            for env in envs:
                b.env.update(env)
                env[param.name] = b.element(b.array(array), (index,))
        for inner in exp.map.body.stms:
            jam_stm(b, inner, inside, envs)
        for env, row in zip(envs, accs, strict=True):
            b.env.update(env)
            values = [b.atom(a) for a in exp.map.body.result]
            accumulate(b, exp, row, values)
    for env, row in zip(envs, accs, strict=True):
        env.update({p.name: b.copy(acc) for p, acc in zip(stm.pat, row, strict=True)})


def accumulate(b: Builder, exp: core.Screma | core.SegRed, accs: list[KVar], values: list[Value]) -> None:
    """`accs := accs op values` for all operators; a product that feeds a sum is added unrounded
    (`kernel_ir/fma.py`)."""
    results = tuple(map(scalar, combined(b, exp.reds, map(b.copy, accs), values, Mode.THREAD)))
    b.stms[:] = contracted(b.stms, results, only_scalars(values))
    b.assign(accs, results)
