"""Floats that all lanes divide by the same number: four products in place of a division.

    z = 1/y   z' = (1 - y*z) * z                      once
    q = x*z + x*z'   r = x - q*y   x/y = q + r*z      each a fused product and sum

q is less than a unit in the last place off, z is rounded once, so that the last line gives the rounded quotient
(Markstein 1990), if r is exact and nothing overflows: where |y| and |x| are in `RANGES`, or x is zero. That is asked
of all lanes at once; else they are divided. Signs are put in behind. A division of 8 f64 occupies a core for 10 to 16
cycles, in which it does other things, and what stands here for 6. So it is done where little else is computed, with
divisors that the kernel is given, or that are known before a loop around: what they need is found once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...ir.ops import Op, is_short, unsigned_of
from ...ir.types import Const, Prim
from ..analysis.uniformity import Facts
from ..kernel_ir.execution import written_arrays
from ..kernel_ir.nodes import For, Kernel, KLet, KOp, KStm, Operand
from ..kernel_ir.traverse import all_statements, children, loaded_arrays, names, operands
from .values import Lanes, LaneValue, Uniform, Varying, any_lane, splat

RANGES = {Prim.F64: (100, 850), Prim.F32: (24, 98)}
"""Exponents of 2, of either sign: those of |y|, and of |x|. With p bits and least exponent e: the last bit of r is at
x - 2p, and of x*z' no more is lost than what is far below the last bit of q."""
MANTISSA, BIAS = {Prim.F64: 52, Prim.F32: 23}, {Prim.F64: 1023, Prim.F32: 127}
MOST = {Prim.F64: 12, Prim.F32: 3}
"""Operations on floats in the same list of statements, for each division."""
REGISTER = 512


def uniform_quotients(kernel: Kernel, facts: Facts) -> frozenset[str]:
    """The quotients that are worth it."""
    given, written = {var.name for var in kernel.scalars}, written_arrays(kernel)
    for stm in all_statements(kernel.body):
        if isinstance(stm, KLet) and written.isdisjoint(loaded_arrays(stm)) and given.issuperset(names(*operands(stm))):
            given.add(stm.var.name)
    return frozenset(_in_lists(kernel.body, given, facts))


def _in_lists(stms: tuple[KStm, ...], given: set[str], facts: Facts) -> Iterator[str]:
    """Those of a list and of all in it; the body of a loop is given what all lanes know before it."""
    yield from _worth(stms, given, facts)
    before = set(given)
    for stm in stms:
        if isinstance(stm, KLet) and not facts.varies(stm.var):
            before.add(stm.var.name)
        for inner in children(stm):
            yield from _in_lists(inner, before if isinstance(stm, For) else given, facts)


def _worth(stms: tuple[KStm, ...], given: set[str], facts: Facts) -> list[str]:
    """The quotients of a list of statements that has little else."""
    found, room = list[str](), 0
    for stm in stms:
        match stm:
            case KLet(var, KOp(op, prim, args)) if prim.is_float and facts.varies(var):
                if op is Op.DIV and prim in MOST and _is_known(args[1], given):
                    found.append(var.name)
                    room += MOST[prim]
                else:
                    room -= 1 if is_short(op) else REGISTER
            case _:
                pass
    return found if room >= 0 else []


def _is_known(y: Operand, given: set[str]) -> bool:
    """Whether a divisor is known before all loops, and no power of 2, by which LLVM multiplies."""
    return abs(math.frexp(y.value)[0]) != 0.5 if isinstance(y, Const) else y.name in given


def by_uniform(e: Lanes, x: LaneValue, y: LaneValue) -> Varying | None:
    """x / y; None where one of them is not as it is to be, or vectors are short."""
    if not (isinstance(x, Varying) and isinstance(y, Uniform)) or e.width * x.prim.bits < REGISTER:
        return None
    prim = x.prim
    bits, one, v, code, t = unsigned_of(prim), e.one, e.vec, e.code, e.type(prim)
    (widest, far), sign = RANGES[prim], 1 << (prim.bits - 1)

    def power(exponent: int) -> int:
        return (BIAS[prim] + exponent) << MANTISSA[prim]

    def known(value: int, otherwise: int) -> str:
        return splat(e, bits, code.op(f"select i1 {good}, i{prim.bits} {value}, i{prim.bits} {otherwise}"))

    word = one.cast("bitcast", prim, bits, y.text)
    size = one.ins("and", bits, word, str(sign - 1))
    above = one.ins("sub", bits, size, str(power(-widest)))
    good = one.ins("icmp ule", bits, above, str(power(widest) - power(-widest)))
    divisor = one.cast("bitcast", bits, prim, size)
    inverse = one.ins("fdiv", prim, one.const(prim, 1.0), divisor)
    rest = one.intrinsic("fma", prim, code.op(f"fneg {one.type(prim)} {divisor}"), inverse, one.const(prim, 1.0))
    low = splat(e, prim, one.ins("fmul", prim, rest, inverse))
    divisor, inverse = splat(e, prim, divisor), splat(e, prim, inverse)
    signs = splat(e, bits, one.ins("and", bits, word, str(sign)))
    zero, least, span = known(0, -1), known(power(-far), -1), known(power(far) - power(-far), 0)  # no lane, if not good
    fails, quotients = list[str](), list[str]()
    for text in x.texts:
        word = v.cast("bitcast", prim, bits, text)
        size = v.ins("and", bits, word, v.const(bits, sign - 1))
        outside = v.ins("icmp ugt", bits, v.ins("sub", bits, size, least), span)
        fails.append(v.both(outside, v.ins("icmp sgt", bits, size, zero)))
        size = v.cast("bitcast", bits, prim, size)
        q = v.intrinsic("fma", prim, size, inverse, v.ins("fmul", prim, size, low))
        r = v.intrinsic("fma", prim, code.op(f"fneg {t} {q}"), divisor, size)
        q = v.cast("bitcast", prim, bits, v.intrinsic("fma", prim, r, inverse, q))
        minus = v.ins("and", bits, v.ins("xor", bits, word, signs), v.const(bits, sign))
        quotients.append(v.cast("bitcast", bits, prim, v.ins("or", bits, q, minus)))
    slots = [code.slot(t) for _ in x.texts]
    end = code.fresh("quotients")
    for slot, q in zip(slots, quotients, strict=True):
        code.do(f"store {t} {q}, ptr {slot}")
    with code.rarely(any_lane(e, tuple(fails)), code.fresh("far"), end):
        by = splat(e, prim, y.text)
        for slot, text in zip(slots, x.texts, strict=True):
            code.do(f"store {t} {v.ins('fdiv', prim, text, by)}, ptr {slot}")
        code.jump(end)
    return Varying(prim, tuple(code.op(f"load {t}, ptr {slot}") for slot in slots))
