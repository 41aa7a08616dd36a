"""Counted loops in lanes; one ends where a flag has settled (`analysis/settled.py`), when no lane needs more rounds."""

from __future__ import annotations

from ..analysis.settled import Settled, is_costly, settling
from ..kernel_ir.nodes import For, KConvert, KIf, KLet, KLoad, KOp, KStm, Operand, Store
from ..llvm.text import llvm_type
from .control import Run, owning
from .last_lanes import last_lanes, more_than, most_alone
from .values import Lanes, LaneValue, Mask, Uniform, any_lane, complement, intersect, operand, splat, vectors

FEW = 16
"""Rounds that are not worth a test each: those of a tile, which LLVM unrolls."""
STRIP = 1 << 12
"""Rounds that are done before there is a test, where LLVM may make vectors of them."""


def for_loop(e: Lanes, stm: For, run: Run, since: str = "0") -> None:
    """A counted loop, its counter uniform, from `since` on. Where the bound varies, it runs as long as a lane wants it,
    under the mask of those that do. It ends where all flags have settled that it is for."""
    code, prim, bound = e.code, stm.index.prim, operand(e, stm.bound)
    t = llvm_type(prim)
    less = "icmp slt" if prim.is_signed else "icmp ult"
    limits = () if isinstance(bound, Uniform) else vectors(e, bound)
    counter = code.slot(t, 8)
    code.do(f"store {t} {since}, ptr {counter}")
    flag, each = flag_tested(e, stm) or (None, False)
    alone = most_alone(e, stm) if limits and flag is None else 0

    def rounds(end: str) -> None:
        with code.loop("for", "do", "done", scatters(stm), unroll=stm.unroll if e.mask is None else 1) as test:
            i = code.op(f"load {t}, ptr {counter}")
            e.env[stm.index.name] = Uniform(prim, i)
            if isinstance(bound, Uniform):
                wanted = e.one.ins(less, prim, i, end)
                test(code.op(f"and i1 {wanted}, {any_open(e, flag, run)}") if flag is not None and each else wanted)
                run(e, stm.body)
            else:
                here = splat(e, prim, i)
                mask = intersect(e, e.mask, tuple(e.vec.ins(less, prim, here, n) for n in limits))
                if flag is not None:
                    mask = intersect(e, mask, open_lanes(e, flag, run))
                test(more_than(e, alone, mask) if alone else any_lane(e, mask))
                with owning(e, stm, mask):
                    run(e, stm.body)
            code.do(f"store {t} {code.op(f'add {t} {i}, 1')}, ptr {counter}")

    if flag is None or each or not isinstance(bound, Uniform):
        rounds(bound.text if isinstance(bound, Uniform) else "")
        if alone:
            done = code.op(f"load {t}, ptr {counter}")
            here = splat(e, prim, done)
            left = intersect(e, e.mask, tuple(e.vec.ins(less, prim, here, n) for n in limits))
            last_lanes(e, stm, left, lambda: for_loop(e, stm, run, done))
        return
    with code.loop("strip", "open", "settled") as test:
        i = code.op(f"load {t}, ptr {counter}")
        test(code.op(f"and i1 {e.one.ins(less, prim, i, bound.text)}, {any_open(e, flag, run)}"))
        left = e.one.intrinsic("umin", prim, code.op(f"sub {t} {bound.text}, {i}"), str(STRIP))
        rounds(code.op(f"add {t} {i}, {left}"))


def scatters(stm: For) -> bool:
    """Does a loop store where loaded numbers say? As a loop over vectors, which LLVM may make of it, it would take
    several times as long: a scatter is not faster than its stores, and what may be equal is tested first."""
    loaded: set[Operand] = set()

    def in_body(stms: tuple[KStm, ...]) -> bool:
        found = False
        for inner in stms:
            match inner:
                case KLet(var, KLoad()):
                    loaded.add(var)
                case KLet(var, KOp(_, _, args)) if loaded.intersection(args):
                    loaded.add(var)
                case KLet(var, KConvert(_, _, arg)) if arg in loaded:
                    loaded.add(var)
                case KIf(_, then, orelse):
                    found = found or in_body(then) or in_body(orelse)
                case Store(_, index, _):
                    found = found or index in loaded
                case _:
                    pass
        return found

    return in_body(stm.body)


def flag_tested(e: Lanes, stm: For) -> tuple[Settled, bool] | None:
    """The flag that ends a loop where it has settled, and whether each round tests it. A loop of a few rounds is done
    to its end."""
    most = e.interval(stm.bound)[1]
    if most <= FEW or (settled := settling(stm)) is None:
        return None
    each = (e.facts.varies(settled.flag) and not e.alone) or is_costly(stm)
    return (settled, each) if each or most > STRIP else None


def open_lanes(e: Lanes, settled: Settled, run: Run) -> Mask:
    """The lanes whose flag may still change."""
    return _not_settled(e, settled, _made(e, settled, run))


def any_open(e: Lanes, settled: Settled, run: Run) -> str:
    """i1: is there a lane whose flag may still change?"""
    flag = _made(e, settled, run)
    if isinstance(flag, Uniform):
        return e.code.op(f"xor i1 {flag.text}, {str(settled.value).lower()}")
    return any_lane(e, intersect(e, e.mask, _not_settled(e, settled, flag)))


def _made(e: Lanes, settled: Settled, run: Run) -> LaneValue:
    run(e, settled.test)
    return operand(e, settled.flag)


def _not_settled(e: Lanes, settled: Settled, flag: LaneValue) -> Mask:
    holds = vectors(e, flag)
    return complement(e, holds) if settled.value else holds
