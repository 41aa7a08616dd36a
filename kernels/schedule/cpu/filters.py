r"""A filter in one pass: the scan that counts what is kept stores it as well.

    counts, keeps = segscan (i < n) (+) 0 { .. (i64 keep, keep) }        m = counts[n-1], or 0 where n = 0
    kept = segscatter (i < n) (scratch [m]) { (if keeps[i] then counts[i] - 1 else -1, x) }

    ⟶   kept = scratch [n]; chain of chunks { scan (+) { .. if keep { kept[count - 1] := x } } }; m = the last total;
        kept[:m]

No count of an element is stored. The kernel says it as a scan; in lanes, what a vector keeps is moved to its front and
stored as it lies (`kernels/lanes/kept_stores.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Convert, Fix, If, Index, PrimOp, Stm
from ....ir.ops import Op, is_short
from ....ir.rename import rename_exp, substitute_body
from ....ir.traverse import all_stms, free_in_body, free_in_stm
from ....ir.types import Atom, Const, Name, Names, Prim, Type, Var, i64
from ...analysis.cost import EXTENT
from ...kernel_ir import nodes as kir
from ..host_builder import Filter, Made
from ..kernel_builder import ONE, ZERO, Builder, Mode, Operand, scalar
from ..soacs import is_simple, k_lambda, put
from ..space import bind_segment, output, row_of
from ..statements import gen_body
from ..table import Schedule, Segop
from .packed_panels import needed
from .segscan import Chain, carry_of, chain_of, hand_on, link_of, number_of, reduced

# ---- which scans are filters ----------------------------------------------------------------------------------------


def counts_apart(names: Names, stms: tuple[Stm, ...]) -> tuple[Stm, ...]:
    """The statements with a scan of its own for each filter whose counts are one of several scans: a filter in one pass
    is worth more than reading once what several of them read."""
    scatters = (stm.exp for stm in stms if isinstance(stm.exp, core.SegScatter))
    keeps = {place[1]: place[0] for exp in scatters if (place := _place(exp)) is not None}
    return tuple(one for stm in stms for one in _scans_apart(names, stm, keeps))


def _scans_apart(names: Names, stm: Stm, keeps: Mapping[Name, Name]) -> tuple[Stm, ...]:
    """The scans of a statement: those that count what `keeps` says, each for itself, and the others."""
    match stm.exp:
        case core.SegScan(core.Level.THREAD, space, (_, _, *_) as scans, body, ret) if len(space.dims) == 1:
            pass
        case _:
            return (stm,)
    if any(len(scan.neutral) != 1 for scan in scans) or not all(map(is_cheap, all_stms(body))):
        return (stm,)
    left, groups = [*range(len(stm.pat))], list[list[int]]()
    for k in range(len(scans)):
        kept = [j for j in left if j >= len(scans) and stm.pat[j].name == keeps.get(stm.pat[k].name)]
        if kept:
            groups.append([k, *kept])
            left = [j for j in left if j not in groups[-1]]
    if groups and left and left[0] >= len(scans):
        groups[0] += left
    elif left:
        groups.append(left)
    if len(groups) == 1:
        return (stm,)
    made: list[Stm] = []
    for group in groups:
        results = tuple(body.result[k] for k in group)
        own = Body(tuple(needed(body, [a.name for a in results if isinstance(a, Var)], ())), results)
        its_scans, types = tuple(scans[k] for k in group if k < len(scans)), tuple(ret[k] for k in group)
        exp = replace(stm.exp, scans=its_scans, body=own, ret=types)
        made.append(replace(stm, pat=tuple(stm.pat[k] for k in group), exp=rename_exp(exp, names)))
    return tuple(made)


def filters_in(stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> Mapping[Name, Filter]:
    """The filters among the statements of a body, by the first result of their scans."""
    found = (_filter_of(k, stms, result) for k, stm in enumerate(stms) if isinstance(stm.exp, core.SegScatter))
    return {one.scan.pat[0].name: one for one in found if one is not None}


def _filter_of(where: int, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> Filter | None:
    """The filter whose scatter is the statement at `where`."""
    scatter, made = stms[where], {p.name: stm for stm in stms[:where] for p in stm.pat}
    exp = scatter.exp
    assert isinstance(exp, core.SegScatter)
    several = len(exp.body.result) != 1 + len(exp.dests)
    if several or exp.rank != 1 or len(exp.space.dims) != 1 or exp.level is not core.Level.THREAD:
        return None
    read = _place(exp)
    scan = made.get(read[1]) if read is not None else None
    if read is None or scan is None or not _counts(scan, exp.space.widths, *read):
        return None
    scratch = [made.get(dest) for dest in exp.dests]
    sizes = {s.exp.type.shape for s in scratch if s is not None and isinstance(s.exp, core.Scratch)}
    if len(sizes) != 1 or any(s is None or not isinstance(s.exp, core.Scratch) for s in scratch):
        return None
    ((size, *more),) = sizes
    total = made.get(size.name) if isinstance(size, Var) else None
    if more or total is None or not _is_total(total, read[1], exp.space.widths[0], made):
        return None
    one = Filter(scan, total, tuple(s for s in scratch if s is not None), scatter, ())
    return _alone(one, stms, result)


def is_cheap(stm: Stm) -> bool:
    """Whether computing a statement once more costs little."""
    match stm.exp:
        case PrimOp(op):
            return is_short(op)
        case core.Loop() | core.Apply() | core.Screma() | core.Scatter() | core.Hist():
            return False
        case _:
            return True


def _place(exp: core.SegScatter) -> tuple[Name, Name] | None:
    """(keeps, counts) of the place `if keeps[i] then counts[i] - 1 else -1`."""
    inside = {p.name: stm.exp for stm in exp.body.stms for p in stm.pat}

    def known(atom: Atom) -> core.Exp | None:
        return inside.get(atom.name) if isinstance(atom, Var) else None

    match known(exp.body.result[0]):
        case PrimOp(Op.SELECT, _, (keep, place, Const(value=-1))):
            pass
        case _:
            return None
    here = (Fix(Var(exp.space.indices[0])),)
    match known(keep), known(place):
        case Index(keeps, one), PrimOp(Op.SUB, _, (count, Const(value=1))) if one == here:
            match known(count):
                case Index(counts, other) if other == here:
                    return keeps, counts
                case _:
                    return None
        case _:
            return None


def _counts(stm: Stm, widths: tuple[Atom, ...], keeps: Name, counts: Name) -> bool:
    """Whether a statement is the scan of 1 where its result `keeps` holds, else 0, and of nothing else."""
    match stm.exp:
        case core.SegScan(core.Level.THREAD, space, (scan,), body, _) if space.widths == widths:
            names = [p.name for p in stm.pat]
        case _:
            return False
    if names[0] != counts or keeps not in names or not is_simple(scan.op):
        return False
    keep = body.result[names.index(keeps)]
    one = next((s.exp for s in body.stms if Var(s.pat[0].name) == body.result[0]), None)
    return one == Convert(Prim.BOOL, Prim.I64, keep) and _is_sum(scan)


def _is_sum(scan: core.Reduction) -> bool:
    match scan.op.body.stms:
        case (Stm((z,), PrimOp(Op.ADD, Prim.I64, args)),):
            return {*args} == {Var(p.name) for p in scan.op.params} and scan.op.body.result == (Var(z.name),)
        case _:
            return False


def _is_total(stm: Stm, counts: Name, width: Atom, made: Mapping[Name, Stm]) -> bool:
    """Whether a statement is the last of the counts, 0 where there is none."""
    match stm.exp:
        case If(_, Body((), (Const(value=0),)), Body((Stm(exp=Index(array, (Fix(at),))) as last,), (Var(name),))):
            if last.pat[0].name != name:
                return False
        case Index(array, (Fix(at),)):
            pass
        case _:
            return False
    (base, offset), (end, size) = _apart(at, made), _apart(width, made)
    return array == counts and (base, offset) == (end, size - 1)


def _apart(number: Atom, made: Mapping[Name, Stm]) -> tuple[Name | None, int]:
    """A number as a variable, None where it is constant, and how far apart from that it is."""
    offset = 0
    while isinstance(number, Var):
        match made[number.name].exp if number.name in made else None:
            case PrimOp(Op.ADD, Prim.I64, (x, Const(_, more))):
                number, offset = x, offset + int(more)
            case PrimOp(Op.SUB, Prim.I64, (x, Const(_, less))):
                number, offset = x, offset - int(less)
            case _:
                return number.name, offset
    return None, offset + int(number.value)


def _alone(one: Filter, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> Filter | None:
    """The filter with what others read of its scan; None where they read the counts or the memory, or where its scatter
    reads what is not there when the scan runs."""
    counts, *mapped = (p.name for p in one.scan.pat)
    own = (one.scan, one.total, one.scatter, *one.scratch)
    free = {name for stm in stms if not any(stm is s for s in own) for name in free_in_stm(stm)}
    free |= {atom.name for atom in result if isinstance(atom, Var)}
    start, end = stms.index(one.scan), stms.index(one.scatter)
    between = {p.name for stm in stms[start + 1 : end] for p in stm.pat}
    if not free.isdisjoint((counts, *(p.name for s in one.scratch for p in s.pat))):
        return None
    if not between.isdisjoint(free_in_body(values_of(one))):
        return None
    return replace(one, read=tuple(k for k, name in enumerate(mapped, start=1) if name in free))


def values_of(one: Filter) -> Body:
    """What the scatter stores, at the index of the scan; results of the scan there are what its body gives."""
    scan, scatter = one.scan.exp, one.scatter.exp
    assert isinstance(scan, core.SegScan)
    assert isinstance(scatter, core.SegScatter)
    given = dict(zip((p.name for p in one.scan.pat), scan.body.result, strict=True))
    index, own = Var(scan.space.indices[0]), Var(scatter.space.indices[0])
    stms, taken, needed = (
        list[Stm](),
        dict[Name, Atom](),
        {a.name for a in scatter.body.result[1:] if isinstance(a, Var)},
    )
    for stm in reversed(scatter.body.stms):
        if needed.isdisjoint(p.name for p in stm.pat):
            continue
        match stm.exp:
            case Index(array, (Fix(at),)) if array in given and at == own:
                taken[stm.pat[0].name] = given[array]
            case _:
                stms.append(stm)
                needed |= set(free_in_stm(stm))
    body = Body(tuple(reversed(stms)), scatter.body.result[1:])
    return substitute_body(substitute_body(body, taken), {own.name: index})


# ---- the kernel -----------------------------------------------------------------------------------------------------


def is_filter(s: Segop[core.SegScan]) -> Filter | str:
    """The filter that a scan counts for; else why there is none."""
    return s.h.filters.get(s.results[0].name) or "no filter"


def run_filter(s: Segop[core.SegScan], one: Filter) -> None:
    """The kernel; the statements that are left of the filter become the number of what is kept, and parts of memory."""
    h, exp, scatter = s.h, s.exp, one.scatter.exp
    assert isinstance(scatter, core.SegScatter)
    values = values_of(one)
    widths, results = exp.space.widths, (0, *one.read)
    prims = [stm.exp.type.prim for stm in one.scratch if isinstance(stm.exp, core.Scratch)]
    kept = [h.scratch("kept", Type(prim, widths)) for prim in prims]
    count = h.scratch("count", Type(Prim.I64, (i64(1),)))
    pat = tuple(s.stm.pat[k] for k in results)
    for param in pat[1:]:
        h.emit((param,), core.Scratch(param.type), s.stm.loc)
    body = Body((*exp.body.stms, *values.stms), (*(exp.body.result[k] for k in results), *values.result))
    ret = (*(exp.ret[k] for k in results), *(Type(prim, ()) for prim in prims))
    s = replace(s, stm=replace(s.stm, pat=()), outs=[(p.name, p.type) for p in pat])
    s = replace(s, exp=replace(exp, body=body, ret=ret))
    chain = chain_of(s)
    made = h.best_layout(s.depth, lambda: filter_kernel(s, chain, kept, count))
    h.launch(made, chain.chunks, h.product(widths), made.cost / EXTENT, s.stm.loc)
    h.replaced |= {p.name: None for stm in one.scratch for p in stm.pat}
    size = one.total.pat[0].name
    h.replaced[size] = (replace(one.total, exp=Index(count, (Fix(i64(0)),), True)),)
    part = (core.Slice(i64(0), Var(size), i64(1)),)
    views = zip(one.scatter.pat, kept, strict=True)
    h.replaced[one.scatter.pat[0].name] = tuple(
        replace(one.scatter, pat=(p,), exp=Index(n, part, True)) for p, n in views
    )


def filter_kernel(s: Segop[core.SegScan], chain: Chain, kept: list[Name], count: Name) -> Made:
    """As a chain of chunks (`segscan.py`), of which the last stores how many are kept in all."""
    h, exp, b = s.h, s.exp, s.h.builder()
    cut = chain.chunks != ONE
    number = number_of(b, chain) if cut else b.block
    indices, chunk, lo, length = bind_segment(b, exp.space, (chain.chunks, chain.length), number)
    carry: tuple[Operand, ...] = (ZERO,)
    link = link_of(b, chain, number, chunk) if cut else None
    if link is not None:
        carry = carry_of(b, exp, link, lambda: reduced(h, b, exp, indices, (lo, length)))
    total = _part(s, b, (lo, b.add(lo, length)), kept, carry[0])
    if link is not None:
        hand_on(b, exp, link, carry, (total,))
    with b.nested() as stms:
        b.emit(kir.Store(output(b, count).mem, ZERO, b.add(carry[0], total)))
    last = b.op(Op.EQ, Prim.I64, b.add(chunk, ONE), b.operand(chain.chunks))
    b.emit(kir.KIf(last, tuple(stms), ()))
    return h.finish(b, s.base)


def _part(
    s: Segop[core.SegScan], b: Builder, bounds: tuple[Operand, Operand], kept: list[Name], carry: Operand
) -> kir.KVar:
    """The scan of a chunk, which stores what it keeps; gives how many that are."""
    exp, op, index = s.exp, k_lambda(b, s.exp.scans), b.fresh("j", Prim.I64)
    refs = [row_of(b, output(b, name), ()) for name, _ in s.outs[1:]]
    with b.nested() as body:
        b.env[exp.space.dims[-1][0]] = index
        one, *others = gen_body(b, exp.body, Mode.THREAD)
        for ref, value in zip(refs, others, strict=False):
            put(b, ref, index, value, Mode.THREAD)
        values = [scalar(v) for v in others[len(refs) :]]
    prefix, total = b.fresh("prefix", Prim.I64), b.fresh("total", Prim.I64)
    keep = next(
        let.rhs.arg
        for let in body
        if isinstance(let, kir.KLet) and let.var == one and isinstance(let.rhs, kir.KConvert)
    )
    with b.nested() as after:
        at = b.sub(b.add(carry, prefix), ONE)
        stores = tuple(kir.Store(output(b, name).mem, at, v) for name, v in zip(kept, values, strict=True))
        b.emit(kir.KIf(keep, stores, ()))
    parts = (tuple(body), (scalar(one),), op, (ZERO,), (ZERO,), tuple(after))
    b.emit(kir.BlockScan((prefix,), (total,), index, *bounds, *parts))
    return total


FILTER = Schedule("filter", run_filter, is_filter)
