"""Checks over what lanes compute: searches that go with the index, and bytes in 64 bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..ir.core import Index, Loop, Soac, Stm
from ..ir.ops import COMPARISONS, DIVISIONS, Op
from ..kernels.analysis.intervals import Interval, find_intervals
from ..kernels.analysis.uniformity import Affine, Facts, Varying, depending, find_facts
from ..kernels.kernel_ir import nodes as kir
from ..kernels.kernel_ir.nodes import Kernel, KStm, KVar, Space
from ..kernels.kernel_ir.traverse import all_statements, assigned, children, names, rhs_operands
from .kernels import LANES, has_lanes
from .subject import Finding, Subject, first_of, inside

NARROW, WIDE = 16, 64
"""Bits of elements of which a vector holds many, and of numbers of which it holds few."""
FITS = 1 << 31
"""Numbers below it need no 64 bits: LLVM computes with 32 then."""


def searches(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0508: each point searches an array for its own number, and does nothing else that takes long."""
    if not (arrays := subject.in_all(stm, searched)):
        return
    loops = [[*_reads(s)] for s in inside(stm.exp) if isinstance(s.exp, Loop | Soac)]
    reads = [[s for s in loop if isinstance(s.exp, Index) and s.exp.array.base in arrays] for loop in loops]
    if loops and all(reads):
        (first, *_), *_ = reads
        assert isinstance(first.exp, Index), "a read"
        array = first.exp.array.base
        label = f"each point searches `{array}` for its own number, and each step waits for the one before"
        hint = "mark where the elements begin (`scatter`, `reduce_by_index`) and `scan` the marks: one pass, no search"
        yield Finding(first.loc, "a search at each index", label, hint)


def _reads(loop: Stm) -> Iterator[Stm]:
    return (s for s in inside(loop.exp) if isinstance(s.exp, Index))


def searched(kernel: Kernel) -> tuple[str, ...]:
    """The arrays, as the source calls them, that loops of lanes search for what counts with the lanes: what is read
    is compared with it, and the comparison says what is read next."""
    facts = find_facts(kernel.body)
    loops = _loops(kernel.body, False)
    return tuple(array.rpartition("_")[0] or array for loop in loops for array in _searched(loop, facts))


def _loops(stms: tuple[KStm, ...], lanes: bool) -> Iterator[tuple[KStm, ...]]:
    """The statements of each loop of lanes."""
    for stm in stms:
        if lanes and isinstance(stm, kir.For | kir.KWhile):
            yield tuple(all_statements((stm,)))
        for inner in children(stm):
            yield from _loops(inner, lanes or isinstance(stm, LANES))


def _searched(loop: tuple[KStm, ...], facts: Facts) -> Iterator[str]:
    carried = assigned(loop)
    moved = depending(loop, carried)
    for stm in loop:
        match stm:
            case kir.KLet(x, kir.KLoad(array, index)) if array.space is Space.GLOBAL and names(index) & moved:
                seen = depending(_without_loads(loop), {x.name})
                steps = {s.var.name for s in loop if isinstance(s, kir.KLet) and _asks(s, seen, facts)}
                if steps and depending(_without_loads(loop), steps) & carried:
                    yield array.name
            case _:
                pass


def _without_loads(loop: tuple[KStm, ...]) -> tuple[KStm, ...]:
    return tuple(s for s in loop if not (isinstance(s, kir.KLet) and isinstance(s.rhs, kir.KLoad)))


def _asks(stm: kir.KLet, seen: frozenset[str], facts: Facts) -> bool:
    """Whether a statement compares what has been read with a number that counts with the lanes."""
    match stm.rhs:
        case kir.KOp(op, _, (x, y)) if op in COMPARISONS:
            pairs = ((x, y), (y, x))
            return any(isinstance(a, KVar) and a.name in seen and isinstance(facts.of(b), Affine) for a, b in pairs)
        case _:
            return False


def wide_arithmetic(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0509: elements of 16 bits or less, of which products and quotients are made in 64 bits."""
    if ops := subject.in_all(stm, widened):
        label = "a vector holds 8 of these numbers, and many more of the elements"
        hint = "compute in `i32`, or in a type that is as wide as the numbers become"
        yield Finding(first_of(stm, ops, (WIDE,)), "small elements are computed with in 64 bits", label, hint)


def widened(kernel: Kernel) -> tuple[Op, ...]:
    """Products and divisions of 64 bits, and not known to fit in 32, between loads and stores of small elements."""
    stms = tuple(_of_lanes(kernel.body, False))
    loads = [s.rhs.array for s in stms if isinstance(s, kir.KLet) and isinstance(s.rhs, kir.KLoad)]
    stores = [s.array for s in stms if isinstance(s, kir.Store)]
    if not loads or not stores or any(array.prim.bits > NARROW or array.prim.is_float for array in (*loads, *stores)):
        return ()
    facts, intervals = find_facts(kernel.body), find_intervals(kernel.body)
    whole, low = _stored(stms)
    found: list[Op] = []
    for stm in stms:
        match stm:
            case kir.KLet(var, kir.KOp(op, prim, args)) if prim.is_int and prim.bits == WIDE:
                numbers = [*args, var] if op in DIVISIONS else [var]
                wanted = whole | low if op in DIVISIONS else whole if op is Op.MUL else frozenset()
                if var.name in wanted and isinstance(facts.of(var), Varying):
                    found += [] if all(_fits(intervals, x) for x in numbers) else [op]
            case _:
                pass
    return tuple(found)


def _fits(intervals: Mapping[str, Interval], x: kir.Operand) -> bool:
    least, greatest = intervals.get(x.name, (-FITS - 1, 0)) if isinstance(x, KVar) else (0, 0)
    return least >= -FITS and greatest < FITS


def _of_lanes(stms: tuple[KStm, ...], lanes: bool) -> Iterator[KStm]:
    """The statements of lanes; of two forms of a loop those of the first, which is the better one."""
    for stm in stms:
        if lanes:
            yield stm
        match stm:
            case kir.KIf(_, then, orelse) if not lanes and has_lanes(then) and has_lanes(orelse):
                yield from _of_lanes(then, lanes)
            case _:
                for inner in children(stm):
                    yield from _of_lanes(inner, lanes or isinstance(stm, LANES))


LOW = frozenset({Op.ADD, Op.SUB, Op.MUL, Op.AND, Op.OR, Op.XOR})
"""Operations whose low bits are made of low bits."""


def _stored(stms: tuple[KStm, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """What stored values are made of, by operations alone, and of what they need low bits alone."""
    found, low = {name for s in stms if isinstance(s, kir.Store) for name in names(s.value)}, set[str]()
    for stm in reversed(stms):
        match stm:
            case kir.KLet(var, kir.KConvert(source, target, x)) if var.name in found | low and source.is_int:
                (low if target.bits < source.bits or var.name not in found else found).update(names(x))
            case kir.KLet(var, kir.KOp(op, _, args)) if var.name in low - found and op in LOW:
                low |= names(*args)
            case kir.KLet(var, kir.KOp() | kir.KConvert() as rhs) if var.name in found | low:
                found |= names(*rhs_operands(rhs))
            case kir.Declare(var, value) | kir.Assign(var, value) if var.name in found | low:
                (found if var.name in found else low).update(names(value))
            case _:
                pass
    return frozenset(found), frozenset(low)
