"""SegScan as kernels.

segscan (i < n, j < m)     block = (i, chunk of j): sums of chunks, scan of sums, scan of chunks with carry
"""

from __future__ import annotations

from ..ir import core
from ..ir.core import Body, Reduction, SegSpace, Stm
from ..ir.ops import Op
from ..ir.types import Atom, Name, Prim, Type, i64
from . import kir
from .body import Mode, gen_body
from .build import ArrayRef, Builder, Operand, Value
from .contents import nest_depth
from .cost import EXTENT
from .host import HostBody, HostIf
from .hostbuild import HostBuilder, Made
from .segred import chunks_of
from .segspace import bind_segment, bind_space, output, row_of, scalar, segment_screma
from .soacs import apply_lambda, collective_scan, is_simple, put


def segscan(h: HostBuilder, stm: Stm, exp: core.SegScan) -> None:
    """One launch per segment if segments are many or short; else sums of chunks, their scan, scans with carry."""
    for param in stm.pat:
        h.emit((param,), core.Scratch(param.type), stm.loc)
    outs = [(p.name, p.type) for p in stm.pat]
    outer, width = exp.space.widths[:-1], exp.space.widths[-1]
    ns = sum(len(s.neutral) for s in exp.scans)
    base, units = stm.pat[0].name.base, h.product(exp.space.widths)
    depth = nest_depth(exp.space, exp.body)
    if not all(is_simple(s.op) for s in exp.scans):
        made = h.best_layout(depth, lambda: segscan_whole(h, exp, outs, base))
        h.launch(made, h.product(outer), units, made.cost / EXTENT, stm.loc)
        return
    chunks, length = chunks_of(h, outer, width)
    types = [Type(p.type.prim, ()) for p in stm.pat[:ns]]
    carries = [h.scratch("carry", t.array_of(*outer, chunks)) for t in types]
    one = h.op(Op.EQ, chunks, i64(1), base="one")
    saved, h.out = h.out, []
    blocks = h.op(Op.MUL, h.product(outer), chunks)
    sums = h.best_layout(depth, lambda: segscan_sums(h, exp, carries, length, base))
    h.launch(sums, blocks, units, sums.cost / EXTENT, stm.loc)
    spine = segscan_spine(h, exp.scans, carries, outer, base)
    h.launch(spine, h.product(outer), blocks, spine.cost / EXTENT, stm.loc)
    several = HostBody(tuple(h.out), ())
    h.out = saved
    h.emit((), HostIf(one, HostBody((), ()), several), stm.loc)
    made = h.best_layout(depth, lambda: segscan_chunks(h, exp, carries, outs, length, base))
    h.launch(made, h.op(Op.MUL, h.product(outer), chunks), units, made.cost / EXTENT, stm.loc)


def segscan_whole(h: HostBuilder, exp: core.SegScan, outs: list[tuple[Name, Type]], base: str) -> Made:
    b = h.builder()
    indices, _, lo, count = bind_segment(b, exp.space, None)
    ns = sum(len(s.neutral) for s in exp.scans)
    for name, _ in outs:
        output(b, name)
    rank = len(exp.space.dims)
    rows = [Type(t.prim, t.shape[rank - 1 :]) for _, t in outs[:ns]]
    segment_screma(b, h.names, exp, exp.scans, (), lo, count, outs, indices, rows)
    return h.finish(b, base)


def segscan_sums(h: HostBuilder, exp: core.SegScan, carries: list[Name], length: Atom, base: str) -> Made:
    """Reduce every chunk, in order."""
    b = h.builder()
    indices, chunk, lo, count = bind_segment(b, exp.space, (h.types[carries[0]].shape[-1], length))
    ordered = tuple(Reduction(s.op, s.neutral, False) for s in exp.scans)
    ns = sum(len(s.neutral) for s in exp.scans)
    body = Body(exp.body.stms, exp.body.result[:ns])
    types = [Type(h.types[c].prim, ()) for c in carries]
    reduced = core.SegRed(exp.level, exp.space, ordered, body, exp.ret[:ns], None)
    values = segment_screma(b, h.names, reduced, (), ordered, lo, count, [], indices, types)
    for name, value in zip(carries, values, strict=True):
        put(b, row_of(b, output(b, name), indices), chunk, value, Mode.BLOCK)
    return h.finish(b, f"{base}_sums")


def segscan_spine(
    h: HostBuilder, scans: tuple[Reduction, ...], carries: list[Name], outer: tuple[Atom, ...], base: str
) -> Made:
    """Exclusive scan of the sums of a segment's chunks, in place."""
    b = h.builder()
    indices = bind_space(b, SegSpace(tuple((h.names.fresh("i"), w) for w in outer)), b.block)
    rows = [row_of(b, output(b, c), indices) for c in carries]
    neutral = [b.operand(a) for s in scans for a in s.neutral]
    accs = [b.fresh("acc", n.prim) for n in neutral]
    for acc, n in zip(accs, neutral, strict=True):
        b.emit(kir.Declare(acc, n))
    index = b.fresh("c", Prim.I64)
    with b.nested() as stms:
        left: list[Value] = [b.copy(a) for a in accs]
        right = [b.element(r, (index,)) for r in rows]
        for row, value in zip(rows, left, strict=True):
            put(b, row, index, value, Mode.BLOCK)
        position, results = 0, []
        for scan in scans:
            k = len(scan.neutral)
            args = [*left[position : position + k], *right[position : position + k]]
            results += apply_lambda(b, scan.op, args, Mode.BLOCK)
            position += k
        for acc, value in zip(accs, results, strict=True):
            b.emit(kir.Assign(acc, scalar(value)))
    b.emit(kir.For(index, b.operand(h.types[carries[0]].shape[-1]), tuple(stms)))
    return h.finish(b, f"{base}_spine")


def segscan_chunks(
    h: HostBuilder, exp: core.SegScan, carries: list[Name], outs: list[tuple[Name, Type]], length: Atom, base: str
) -> Made:
    """Scan every chunk, started from what precedes it."""
    b = h.builder()
    chunks = h.types[carries[0]].shape[-1]
    indices, chunk, lo, count = bind_segment(b, exp.space, (chunks, length))
    ns = len(carries)
    refs: dict[int, ArrayRef] = {}
    for k, (name, _) in enumerate(outs):
        refs[k] = row_of(b, output(b, name), indices)
    carry = carry_in(h, b, exp, carries, indices, chunk, chunks)
    index = b.fresh("j", Prim.I64)

    def mapped() -> list[Operand]:
        b.env[exp.space.dims[-1][0]] = index
        values = gen_body(b, exp.body, Mode.THREAD)
        for k, value in enumerate(values[ns:]):
            put(b, refs[ns + k], index, value, Mode.THREAD)
        return [scalar(v) for v in values[:ns]]

    hi = b.add(lo, count)
    collective_scan(b, exp.scans, index, (lo, hi), mapped, carry, refs)
    return h.finish(b, base)


def carry_in(
    h: HostBuilder,
    b: Builder,
    exp: core.SegScan,
    carries: list[Name],
    indices: tuple[Operand, ...],
    chunk: Operand,
    chunks: Atom,
) -> tuple[Operand, ...]:
    """The carry of this chunk; the carries are not filled when there is only one chunk."""
    neutral = [b.operand(a) for s in exp.scans for a in s.neutral]
    several = b.op(Op.GT, Prim.I64, b.operand(chunks), i64(1))
    variables = [b.fresh("carry", n.prim) for n in neutral]
    for var, n in zip(variables, neutral, strict=True):
        b.emit(kir.Declare(var, n))
    with b.nested() as stms:
        for var, name in zip(variables, carries, strict=True):
            b.emit(kir.Assign(var, scalar(b.element(b.array(name), (*indices, chunk)))))
    b.emit(kir.KIf(several, tuple(stms), ()))
    return tuple(b.copy(v) for v in variables)
