"""Division of an index that counts with the lanes by a number that is the same for all of them.

    (b + l*s) / m  =  b / m + (r + l*s) / m        r = b % m        lane l, stride s > 0, m > 0

The quotient and the remainder of b are scalars, computed once for all lanes. What is left has a small dividend: where
m is 2^20 at most, its quotient is exact by a product in f32 with the inverse, taken at half past each number. Lanes
divide for themselves by larger numbers and those that are not positive, beyond 2^61, and negative ones where quotients
are truncated. Quotients of neighbours, and remainders by a number of at most as many as there are lanes, are close
together (`windows.py`).
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Prim
from ..kernel_ir.nodes import Operand
from ..llvm.ops import apply
from ..llvm.text import literal
from .values import Lanes, Linear, Uniform, Varying, Window, operand, splat, steps, vectors

SMALL = 1 << 20
"""The largest divisor of which f32 has exact quotients."""
FAR = 1 << 61
"""Dividends below it do not wrap in any lane."""
LONGEST = 64
"""The largest stride."""
FEW, HALF, NARROW = 32, 1 << 15, 32
"""The largest divisor of which 16 bits have quotients, and half of the number of their values; lanes from which on that
many bits are for."""
ROUNDED_DOWN = {Op.DIV: True, Op.MOD: True, Op.QUOT: False, Op.REM: False}


def divided(e: Lanes, op: Op, x: Linear, y: Uniform) -> Varying | None:
    """The quotient or remainder; None where the divisor is known to be a power of two, large, or not positive."""
    if x.prim is not Prim.I64 or op not in ROUNDED_DOWN or not 0 < x.stride <= LONGEST:
        return None
    known = None if y.text.startswith("%") else int(y.text)
    if known is not None and (not 0 < known <= SMALL or known & (known - 1) == 0):
        return None
    code, one, t = e.code, e.one, Prim.I64
    good = one.ins("icmp ult", t, one.ins("add", t, x.base, str(FAR)), str(2 * FAR))
    if known is None:
        good = one.both(good, one.ins("icmp ult", t, one.ins("sub", t, y.text, "1"), str(SMALL)))
    if not ROUNDED_DOWN[op]:
        good = one.both(good, one.ins("icmp sge", t, x.base, "0"))
    several = _Several(e, e.type(t), e.vec.raw("i32"))
    slow, fast, joined = code.fresh("slow"), code.fresh("fast"), code.fresh("divided")
    code.branch_rarely(one.negate(good), slow, fast)
    code.label(fast)
    quick = _by_scalars(e, op, x, y.text)
    several.store(quick)
    code.jump(joined)
    code.label(slow)
    by_lanes = [apply(e.vec, op, t, (value, splat(e, t, y.text))) for value in vectors(e, x)]
    several.store(_Quotients(by_lanes, ["0"] * e.unroll, ["zeroinitializer"] * e.unroll, "false"))
    code.jump(joined)
    code.label(joined)
    found = several.load()
    if x.stride == 1 and e.mask is None:
        lasts = tuple(_last(e, op, v, y.text) for v in found.offsets)
        e.windows[tuple(found.values)] = Window(tuple(found.bases), tuple(found.offsets), lasts, found.narrow)
    return Varying(t, tuple(found.values))


def by_few(e: Lanes, op: Op, index: Operand, divisor: Operand) -> Varying | None:
    """The same by a number from 1 to `FEW`, rounded down: quotients of integers, of as many bits as lanes have, by a
    product with the inverse at half past each number."""
    x, y = operand(e, index), operand(e, divisor)
    if op not in (Op.DIV, Op.MOD) or not (isinstance(x, Linear) and x.stride == 1 and isinstance(y, Uniform)):
        return None
    least, most = e.interval(divisor)
    if not 1 <= least <= most <= FEW:
        return None
    one, vec, t, u = e.one, e.vec, Prim.I64, Prim.U32
    quotient, rest = _floor(e, x.base, y.text)
    lane = Prim.U16 if e.width >= NARROW else Prim.U32
    m, start = (one.cast("trunc", t, lane, number) for number in (y.text, rest))
    sizes = (one.cast("uitofp", t, Prim.F32, n) for n in (one.ins("add", t, y.text, str(HALF - 1)), y.text))
    inverse = one.cast("fptoui", Prim.F32, u, one.ins("fdiv", Prim.F32, *sizes))
    values, bases, offsets = list[str](), list[str](), list[str]()
    for group in range(e.unroll):
        here = vec.ins("add", lane, splat(e, lane, start), steps(lane, group * e.width, 1, e.width))
        twice = vec.ins("add", lane, vec.ins("add", lane, here, here), vec.const(lane, 1))
        wide = twice if lane is u else vec.cast("zext", lane, u, twice)
        product = vec.ins("mul", u, wide, splat(e, u, inverse))
        more = vec.ins("lshr", u, product, vec.const(u, 16))
        if op is Op.MOD:
            whole = more if lane is u else vec.cast("trunc", u, lane, more)
            left = vec.ins("sub", lane, here, vec.ins("mul", lane, whole, splat(e, lane, m)))
            bases.append("0")
            offsets.append(left if lane is u else vec.cast("zext", lane, u, left))
            values.append(vec.cast("zext", u, t, offsets[-1]))
        else:
            first = e.code.op(f"extractelement {vec.raw('i32')} {more}, i64 0")
            bases.append(one.ins("add", t, quotient, one.cast("zext", u, t, first)))
            offsets.append(vec.ins("sub", u, more, splat(e, u, first)))
            values.append(vec.ins("add", t, splat(e, t, bases[-1]), vec.cast("zext", u, t, offsets[-1])))
    narrow = one.ins("icmp ule", t, y.text, str(e.width)) if op is Op.MOD else "true"
    lasts = tuple(_last(e, op, v, y.text) for v in offsets)
    e.windows[tuple(values)] = Window(tuple(bases), tuple(offsets), lasts, narrow, few=True)
    return Varying(x.prim, tuple(values))


@dataclass(frozen=True, slots=True)
class _Quotients:
    """For each group the results, and a base with what is to be added to it; is that less than the lanes?"""

    values: list[str]
    bases: list[str]
    offsets: list[str]
    narrow: str


class _Several:
    """Stack slots for these, which two branches fill."""

    def __init__(self, e: Lanes, of_values: str, of_offsets: str) -> None:
        self.code, self.of_values, self.of_offsets = e.code, of_values, of_offsets
        groups = range(e.unroll)
        self.values, self.bases, self.offsets = (
            [self.code.slot(t) for _ in groups] for t in (of_values, "i64", of_offsets)
        )
        self.narrow = self.code.slot("i1")

    def store(self, found: _Quotients) -> None:
        ways = ((self.of_values, found.values, self.values), ("i64", found.bases, self.bases))
        for t, texts, slots in (*ways, (self.of_offsets, found.offsets, self.offsets)):
            for text, slot in zip(texts, slots, strict=True):
                self.code.do(f"store {t} {text}, ptr {slot}")
        self.code.do(f"store i1 {found.narrow}, ptr {self.narrow}")

    def load(self) -> _Quotients:
        ways = ((self.of_values, self.values), ("i64", self.bases), (self.of_offsets, self.offsets))
        values, bases, offsets = ([self.code.op(f"load {t}, ptr {slot}") for slot in slots] for t, slots in ways)
        return _Quotients(values, bases, offsets, self.code.op(f"load i1, ptr {self.narrow}"))


def _last(e: Lanes, op: Op, offsets: str, m: str) -> str:
    """The largest offset: of quotients that of the last lane, of remainders one less than the divisor."""
    if op in (Op.DIV, Op.QUOT):
        return e.code.op(f"extractelement {e.vec.raw('i32')} {offsets}, i64 {e.width - 1}")
    return e.one.cast("trunc", Prim.I64, Prim.I32, e.one.ins("sub", Prim.I64, m, "1"))


def _by_scalars(e: Lanes, op: Op, x: Linear, m: str) -> _Quotients:
    """Of a positive divisor."""
    one, vec, t = e.one, e.vec, Prim.I64
    quotient, rest = _floor(e, x.base, m)
    small, start = (one.cast("trunc", t, Prim.I32, number) for number in (m, rest))
    inverse = one.ins("fdiv", Prim.F32, literal(Prim.F32, 1.0), one.cast("sitofp", Prim.I32, Prim.F32, small))
    begin = splat(e, Prim.F32, one.cast("sitofp", Prim.I32, Prim.F32, start))
    made = _Quotients([], [], [], "true")
    if op in (Op.MOD, Op.REM):
        made = replace(made, narrow=one.ins("icmp ule", t, m, str(e.width)))
    for group in range(e.unroll):
        past = [(group * e.width + lane) * x.stride for lane in range(e.width)]
        halves = ", ".join(f"float {literal(Prim.F32, lane + 0.5)}" for lane in past)
        scaled = vec.ins("fmul", Prim.F32, vec.ins("fadd", Prim.F32, begin, f"<{halves}>"), splat(e, Prim.F32, inverse))
        more = vec.cast("fptosi", Prim.F32, Prim.I32, scaled)
        if op in (Op.DIV, Op.QUOT):
            first = e.code.op(f"extractelement {vec.raw('i32')} {more}, i64 0")
            made.bases.append(one.ins("add", t, quotient, one.cast("sext", Prim.I32, t, first)))
            made.offsets.append(vec.ins("sub", Prim.I32, more, splat(e, Prim.I32, first)))
            made.values.append(vec.ins("add", t, splat(e, t, quotient), vec.cast("sext", Prim.I32, t, more)))
        else:
            counted = ", ".join(f"i32 {lane}" for lane in past)
            here = vec.ins("add", Prim.I32, splat(e, Prim.I32, start), f"<{counted}>")
            left = vec.ins("sub", Prim.I32, here, vec.ins("mul", Prim.I32, more, splat(e, Prim.I32, small)))
            made.bases.append("0")
            made.offsets.append(left)
            made.values.append(vec.cast("sext", Prim.I32, t, left))
    return made


def _floor(e: Lanes, x: str, m: str) -> tuple[str, str]:
    """The quotient of scalars, rounded down, and the remainder, of a positive divisor."""
    one, t = e.one, Prim.I64
    quotient = one.ins("sdiv", t, x, m)
    rest = one.ins("sub", t, x, one.ins("mul", t, quotient, m))
    below = one.cast("zext", Prim.BOOL, t, one.ins("icmp slt", t, rest, "0"))
    return one.ins("sub", t, quotient, below), one.ins("add", t, rest, one.ins("mul", t, below, m))
