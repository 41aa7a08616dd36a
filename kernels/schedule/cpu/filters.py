r"""A filter in one pass: the scan that counts what is kept stores it as well.

    counts, keeps = segscan (i < n) (+) 0 { .. (i64 keep, keep) }        m = counts[n-1], or 0 where n = 0
    kept = segscatter (i < n) (scratch [m]) { (if keeps[i] then counts[i] - 1 else -1, x) }

    ⟶   kept = scratch [n]; chain of chunks { scan (+) { .. if keep { kept[count - 1] := x } } }; m = the last total;
        kept[:m]

No count of an element is stored, nor is what else is scanned and read here alone (`scans_together.py`). The kernel
says it as a scan; in lanes, what a vector keeps is moved to its front and stored at once
(`kernels/lanes/kept_stores.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate

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
from ..soacs import is_simple, k_lambda, neutral_of, put
from ..space import bind_segment, output, row_of
from ..statements import gen_body
from ..table import Schedule, Segop
from .factors import needed
from .segscan import Chain, carry_of, chain_of, combined, goes_on, hand_on, link_of, number_of, reduced, scanned_in

# ---- which scans are filters ----------------------------------------------------------------------------------------


def counts_apart(names: Names, stms: tuple[Stm, ...]) -> tuple[Stm, ...]:
    """The statements with a scan of its own for each filter whose counts are one of several scans: a filter in one pass
    is worth more than reading once what several of them read. Not where it stores what the others give."""
    scatters = [stm.exp for stm in stms if isinstance(stm.exp, core.SegScatter)]
    places = [(place, free_in_body(exp.body)) for exp in scatters if (place := _place(exp)) is not None]
    scanned = {name: stm for stm in stms if isinstance(stm.exp, core.SegScan) for name in names_of(stm)[0]}
    keeps = {
        counts: keep
        for (keep, counts), read in places
        if not any(name != counts and scanned.get(name) is scanned.get(counts) for name in read if name in scanned)
    }
    return tuple(one for stm in stms for one in _scans_apart(names, stm, keeps))


def _scans_apart(names: Names, stm: Stm, keeps: Mapping[Name, Name]) -> tuple[Stm, ...]:
    """The scans of a statement: those that count what `keeps` says, each for itself, and the others."""
    match stm.exp:
        case core.SegScan(core.Level.THREAD, space, (_, _, *_) as scans, body, ret) if len(space.dims) == 1:
            pass
        case _:
            return (stm,)
    if not all(map(is_cheap, all_stms(body))):
        return (stm,)
    *starts, end = accumulate((len(scan.neutral) for scan in scans), initial=0)
    left, groups = [*range(len(stm.pat))], list[list[int]]()
    for k in starts:
        kept = [j for j in left if j >= end and stm.pat[j].name == keeps.get(stm.pat[k].name)]
        if kept:
            groups.append([k, *kept])
            left = [j for j in left if j not in groups[-1]]
    if groups and left and left[0] >= end:
        groups[0] += left
    elif left:
        groups.append(left)
    if len(groups) == 1:
        return (stm,)
    made: list[Stm] = []
    for group in groups:
        results = tuple(body.result[k] for k in group)
        own = Body(tuple(needed(body, [a.name for a in results if isinstance(a, Var)], ())), results)
        its_scans = tuple(scan for scan, k in zip(scans, starts, strict=True) if k in group)
        types = tuple(ret[k] for k in group)
        exp = replace(stm.exp, scans=its_scans, body=own, ret=types)
        made.append(replace(stm, pat=tuple(stm.pat[k] for k in group), exp=rename_exp(exp, names)))
    return tuple(made)


def counting(stms: tuple[Stm, ...]) -> Mapping[Name, core.SegScatter]:
    """The scatters that store what is counted, by the counts that they read."""
    scatters = (stm.exp for stm in stms if isinstance(stm.exp, core.SegScatter))
    return {place[1]: exp for exp in scatters if (place := _place(exp)) is not None}


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
    """Whether a statement is the scan of 1 where its result `keeps` holds, else 0; it may scan other things, too."""
    match stm.exp:
        case core.SegScan(core.Level.THREAD, space, scans, body, _) if space.widths == widths:
            names = [p.name for p in stm.pat]
        case _:
            return False
    by_place = {len(flat_neutral(scans[:k])): scan for k, scan in enumerate(scans)}
    scan = by_place.get(names.index(counts))
    if scan is None or not all(is_simple(one.op) for one in scans):
        return False
    own = (Fix(Var(space.indices[0])),)
    reads = (
        Var(s.pat[0].name) for s in body.stms if isinstance(s.exp, Index) and (s.exp.array, s.exp.dims) == (keeps, own)
    )
    keep = body.result[names.index(keeps)] if keeps in names[scanned_in(stm.exp) :] else next(reads, None)
    one = next((s.exp for s in body.stms if Var(s.pat[0].name) == body.result[names.index(counts)]), None)
    return keep is not None and one == Convert(Prim.BOOL, Prim.I64, keep) and _is_sum(scan)


def flat_neutral(scans: tuple[core.Reduction, ...]) -> tuple[Atom, ...]:
    """The neutral elements of all components."""
    return tuple(ne for scan in scans for ne in scan.neutral)


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
    """The filter with what others read of its scan; None where they read what is scanned or the memory, or where its
    scatter reads what is not there when the scan runs, as what is scanned elsewhere or in a branch."""
    scanned, mapped = names_of(one.scan)
    own = (one.scan, one.total, one.scatter, *one.scratch)
    free = {name for stm in stms if not any(stm is s for s in own) for name in free_in_stm(stm)}
    free |= {atom.name for atom in result if isinstance(atom, Var)}
    start, end = stms.index(one.scan), stms.index(one.scatter)
    between = {p.name for stm in stms[start + 1 : end] for p in stm.pat}
    if not free.isdisjoint((*scanned, *(p.name for s in one.scratch for p in s.pat))):
        return None
    values = values_of(one)
    if not between.isdisjoint(free_in_body(values)):
        return None
    if any(isinstance(stm.exp, Index) and stm.exp.array in scanned for stm in all_stms(values)):
        return None
    return replace(one, read=tuple(k for k, name in enumerate(mapped, start=len(scanned)) if name in free))


def names_of(scan: Stm) -> tuple[list[Name], list[Name]]:
    """The results of a scan that are scanned, and those that are mapped."""
    assert isinstance(scan.exp, core.SegScan)
    names, first = [p.name for p in scan.pat], scanned_in(scan.exp)
    return names[:first], names[first:]


def values_of(one: Filter) -> Body:
    """What the scatter stores, at the index of the scan; mapped results of the scan there are what its body gives, and
    scanned ones variables of the names of the arrays."""
    scan, scatter = one.scan.exp, one.scatter.exp
    assert isinstance(scan, core.SegScan)
    assert isinstance(scatter, core.SegScatter)
    scanned, mapped = names_of(one.scan)
    given: dict[Name, Atom] = dict(zip(mapped, scan.body.result[len(scanned) :], strict=True))
    given |= {name: Var(name) for name in scanned}
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
    widths, first = exp.space.widths, scanned_in(exp)
    prims = [stm.exp.type.prim for stm in one.scratch if isinstance(stm.exp, core.Scratch)]
    kept = [h.scratch("kept", Type(prim, widths)) for prim in prims]
    count = h.scratch("count", Type(Prim.I64, (i64(1),)))
    pat = tuple(s.stm.pat[k] for k in one.read)
    for param in pat:
        h.emit((param,), core.Scratch(param.type), s.stm.loc)
    results = (*range(first), *one.read)
    body = Body(exp.body.stms, tuple(exp.body.result[k] for k in results))
    s = replace(s, stm=replace(s.stm, pat=()), outs=[(p.name, p.type) for p in pat])
    s = replace(s, exp=replace(exp, body=body, ret=tuple(exp.ret[k] for k in results)))
    chain = chain_of(s)
    made = h.best_layout(s.depth, lambda: filter_kernel(s, chain, one, kept, count))
    h.launch(made, chain.chunks, h.product(widths), made.cost / EXTENT, s.stm.loc)
    h.replaced |= {p.name: None for stm in one.scratch for p in stm.pat}
    size = one.total.pat[0].name
    h.replaced[size] = (replace(one.total, exp=Index(count, (Fix(i64(0)),), True)),)
    part = (core.Slice(i64(0), Var(size), i64(1)),)
    views = zip(one.scatter.pat, kept, strict=True)
    h.replaced[one.scatter.pat[0].name] = tuple(
        replace(one.scatter, pat=(p,), exp=Index(n, part, True)) for p, n in views
    )


def filter_kernel(s: Segop[core.SegScan], chain: Chain, one: Filter, kept: list[Name], count: Name) -> Made:
    """As a chain of chunks (`segscan.py`), of which the last stores how many are kept in all."""
    h, exp, b = s.h, s.exp, s.h.builder()
    cut = chain.chunks != ONE
    number = number_of(b, chain) if cut else b.block
    indices, chunk, lo, length = bind_segment(b, exp.space, (chain.chunks, chain.length), number)
    carry, where = neutral_of(b, exp.scans), _counting(one)
    link = link_of(b, chain, number, chunk) if cut else None
    room = b.declare("room", b.operand(exp.space.widths[-1]))

    def own() -> tuple[Operand, ...]:
        found = reduced(h, b, exp, indices, (lo, length))
        b.emit(kir.Assign(room, found[where]))
        return found

    if link is not None:
        carry = carry_of(b, exp, link, own)
    total = _part(s, b, (lo, b.add(lo, length)), one, kept, carry, b.add(carry[where], b.copy(room)))
    if link is not None:
        hand_on(b, exp, link, () if goes_on(exp) else carry, total)
    with b.nested() as stms:
        kept_in_all = total[where] if goes_on(exp) else b.add(carry[where], total[where])
        b.emit(kir.Store(output(b, count).mem, ZERO, kept_in_all))
    last = b.op(Op.EQ, Prim.I64, b.add(chunk, ONE), b.operand(chain.chunks))
    b.emit(kir.KIf(last, tuple(stms), ()))
    return h.finish(b, s.base)


def _counting(one: Filter) -> int:
    """Which result of the scan counts."""
    assert isinstance(one.scatter.exp, core.SegScatter)
    place = _place(one.scatter.exp)
    assert place is not None, "the scatter of a filter"
    return names_of(one.scan)[0].index(place[1])


def _part(
    s: Segop[core.SegScan],
    b: Builder,
    bounds: tuple[Operand, Operand],
    one: Filter,
    kept: list[Name],
    carry: tuple[Operand, ...],
    free: Operand,
) -> tuple[kir.KVar, ...]:
    """The scan of a chunk, which stores what it keeps; gives the totals. What is stored is computed behind the scan if
    it is made of what is scanned. What is below `free` others store to only behind this block: all of it where it is
    alone, as they wait for its total."""
    exp, op, index = s.exp, k_lambda(b, s.exp.scans), b.fresh("j", Prim.I64)
    values, (names, _), where = values_of(one), names_of(one.scan), _counting(one)
    late = any(name in names for name in free_in_body(values))
    refs = [row_of(b, output(b, name), ()) for name, _ in s.outs]
    with b.nested() as body:
        b.env[exp.space.dims[-1][0]] = index
        now = exp.body if late else Body((*exp.body.stms, *values.stms), (*exp.body.result, *values.result))
        given = gen_body(b, now, Mode.THREAD)
        for ref, value in zip(refs, given[len(names) :], strict=False):
            put(b, ref, index, value, Mode.THREAD)
        scanned = tuple(scalar(v) for v in given[: len(names)])
        stored = given[len(names) + len(refs) :]
    prefixes = tuple(b.fresh("prefix", v.prim) for v in op.left)
    totals = tuple(b.fresh("total", v.prim) for v in op.left)
    keep = next(
        let.rhs.arg
        for let in body
        if isinstance(let, kir.KLet) and let.var == scanned[where] and isinstance(let.rhs, kir.KConvert)
    )
    with b.nested() as after:
        if late:
            found = prefixes if goes_on(exp) else combined(b, exp, carry, prefixes)
            b.env.update(zip(names, found, strict=True))
            stored = gen_body(b, values, Mode.THREAD)
            at = b.sub(found[where], ONE)
        else:
            at = b.sub(prefixes[where] if goes_on(exp) else b.add(carry[where], prefixes[where]), ONE)
        stores = tuple(kir.Store(output(b, name).mem, at, scalar(v)) for name, v in zip(kept, stored, strict=True))
        b.emit(kir.KIf(keep, stores, ()))
    neutral = neutral_of(b, exp.scans)
    start = carry if goes_on(exp) else neutral
    scan = kir.BlockScan(prefixes, totals, index, *bounds, tuple(body), scanned, op, start, neutral, tuple(after))
    b.emit(replace(scan, free=free))
    return totals


FILTER = Schedule("filter", run_filter, is_filter)
