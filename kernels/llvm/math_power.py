"""Powers whose exponent or base is the same in all lanes.

    x^n = x^(n/2) x^(n/2), times x where n is odd        n a whole number, |n| <= MOST;  1 / x^-n where n < 0
    b^x = e^(x log b), log b once                        b a number of all lanes

f32 is computed in f64. A product of f64 is kept in two parts, of which the second is what roundings have lost: an error
of 1 ulp at most. There are reciprocals only where no lane is close to the ends of the range.

The logarithm of a base is half of the work or more, and a function of its own, which LLVM moves out of loops. What is
asked of a base (its sign, whether it is 1 or infinite) is asked once for all lanes. The bits are those of any power.
"""

from __future__ import annotations

from ...ir.ops import Op
from ...ir.types import Prim
from .convert import convert
from .formulas import Num, fma, where
from .math import elementary
from .math_exp import INF, exp, exp_of_product, log, log_two_parts, pow_edges
from .text import SCALAR, Vec, literal, llvm_type

MOST = 64
"""The largest exponent: products of more factors take as long as a logarithm."""
SAFE = 2.0**-900, 2.0**900
"""Between these a reciprocal is neither subnormal nor infinite, nor are its products."""

PAIR = "{ double, double }"
ANYWHERE = " memory(none) speculatable willreturn"
"""Attributes of a function that may be called before it is asked for."""

Parts = tuple[Num, ...]
"""A number, and for f64 what it has lost."""


def uniform_power(v: Vec, prim: Prim, x: str, exponent: str) -> str:
    """x^exponent of f32 or f64, `exponent` a scalar: as `elementary` does where it is not a small whole number."""
    t, scalar = v.type(prim), llvm_type(prim)
    name = f"soac.power.{prim.value}.{v.width or 's'}"
    v.code.module.function(name, t, (t, scalar), lambda code: _power(Vec(code, v.width), prim))
    return v.code.call(name, t, ((t, x), (scalar, exponent)))


def _power(v: Vec, prim: Prim) -> str:
    """Of the parameters %0 and %1; the general way is cold code."""
    code, t, one = v.code, v.type(prim), Vec(v.code, SCALAR)
    slot, end, general = code.slot(t), code.fresh("end"), code.fresh("general")
    count, small = _whole(one, prim, "%1")

    def give(result: Num) -> None:
        code.do(f"store {t} {convert(v, result.prim, prim, result.text)}, ptr {slot}")
        code.jump(end)

    with code.rarely(one.negate(small), general, code.fresh("whole")):
        give(Num(v, prim, elementary(v, Op.POW, prim, ("%0", in_every_lane(v, prim, "%1")))))
    product = _whole_power(Num(v, Prim.F64, convert(v, prim, Prim.F64, "%0")), count, kept=prim is Prim.F64)
    inverse, direct = code.fresh("inverse"), code.fresh("direct")
    code.branch(one.ins("fcmp olt", prim, "%1", literal(prim, 0.0)), inverse, direct)
    code.label(inverse)
    if prim is Prim.F64:
        size, inside = product[0].unary("fabs"), code.fresh("inside")
        code.branch_rarely(v.any(((size > SAFE[0]) & (size < SAFE[1])).inverse().text), general, inside)
        code.label(inside)
    give(_reciprocal(product))
    code.label(direct)
    give(_joined(product))
    code.label(end)
    return code.op(f"load {t}, ptr {slot}")


def _whole(one: Vec, prim: Prim, x: str) -> tuple[str, str]:
    """|x| as an i32, and whether it is a whole number of at most MOST, else the first is any such number."""
    size = one.intrinsic("fabs", prim, x)
    small = one.ins("fcmp ole", prim, size, literal(prim, MOST))
    count = one.cast("fptosi", prim, Prim.I32, one.select(prim, small, size, literal(prim, 0.0)))
    return count, one.ins("fcmp oeq", prim, one.cast("sitofp", Prim.I32, prim, count), size)


def power_of(v: Vec, prim: Prim, base: str, x: str) -> str:
    """base^x of f32 or f64, `base` a scalar: the bits of `elementary`."""
    t, own = v.type(prim), llvm_type(prim)
    logs, name = f"soac.logs.{prim.value}", f"soac.power_of.{prim.value}.{v.width or 's'}"
    v.code.module.function(logs, PAIR, (own,), lambda code: _logs(Vec(code, SCALAR), prim), ANYWHERE)
    v.code.module.function(name, t, (own, PAIR, t), lambda code: _power_of(Vec(code, v.width), prim))
    parts = v.code.call(logs, PAIR, ((own, base),))
    return v.code.call(name, t, ((own, base), (PAIR, parts), (t, x)))


def _logs(one: Vec, prim: Prim) -> str:
    """log |%0|, for f64 in two parts."""
    size = Num(one, Prim.F64, convert(one, prim, Prim.F64, "%0")).unary("fabs")
    high, low = log_two_parts(size) if prim is Prim.F64 else (log(size), size.const(0.0))
    first = one.code.op(f"insertvalue {PAIR} poison, double {high.text}, 0")
    return one.code.op(f"insertvalue {PAIR} {first}, double {low.text}, 1")


def _power_of(v: Vec, prim: Prim) -> str:
    """%0^%2, %1 the logarithm of |%0|: e^(%2 %1) where 0 < %0 < infinity, but for 1; other bases are cold code."""
    code, t, one = v.code, v.type(prim), Vec(v.code, SCALAR)
    slot, end = code.slot(t), code.fresh("end")
    base = Num(one, Prim.F64, convert(one, prim, Prim.F64, "%0"))
    x = Num(v, Prim.F64, convert(v, prim, Prim.F64, "%2"))
    high, low = (_spread(v, code.op(f"extractvalue {PAIR} %1, {k}")) for k in range(2))
    size = exp_of_product(x, high, low) if prim is Prim.F64 else exp(x * high)

    def give(result: Num) -> None:
        code.do(f"store {t} {convert(v, Prim.F64, prim, result.text)}, ptr {slot}")

    give(size.unary("fabs"))
    plain = (base > 0.0) & (base < INF) & base.differs(1.0)
    with code.rarely(plain.inverse().text, code.fresh("edges"), end):
        give(pow_edges(_spread(v, base.text), x, size))
        code.jump(end)
    return code.op(f"load {t}, ptr {slot}")


def _spread(v: Vec, text: str) -> Num:
    return Num(v, Prim.F64, in_every_lane(v, Prim.F64, text))


def in_every_lane(v: Vec, prim: Prim, text: str) -> str:
    """A scalar in every lane."""
    return text if v.width == SCALAR else v.code.splat(llvm_type(prim), v.width, text)


def _whole_power(x: Num, count: str, kept: bool) -> Parts:
    """x^count, count >= 0 a scalar i32, with what it has lost where that is `kept`. Squares are made only where they
    are used, so that none overflows where the power does not."""
    code, t, multiply = x.v.code, x.v.type(x.prim), _product if kept else _rounded_product
    lost = (x.const(0.0),) if kept else ()
    power, base = ([code.slot(t) for _ in (x, *lost)] for _ in range(2))
    rest = code.slot("i32", 8)
    _write(power, (x.const(1.0), *lost))
    _write(base, (x, *lost))
    code.do(f"store i32 {count}, ptr {rest}")
    with code.loop("head", "body", "end") as test:
        n = code.op(f"load i32, ptr {rest}")
        test(code.op(f"icmp ne i32 {n}, 0"))
        odd, even, more, done = (code.fresh(name) for name in ("odd", "even", "more", "done"))
        code.branch(code.op(f"trunc i32 {n} to i1"), odd, even)
        code.label(odd)
        _write(power, multiply(_read(x, power), _read(x, base)))
        code.jump(even)
        code.label(even)
        half = code.op(f"lshr i32 {n}, 1")
        code.do(f"store i32 {half}, ptr {rest}")
        code.branch(code.op(f"icmp ne i32 {half}, 0"), more, done)
        code.label(more)
        _write(base, multiply(_read(x, base), _read(x, base)))
        code.jump(done)
        code.label(done)
    return _read(x, power)


def _rounded_product(x: Parts, y: Parts) -> Parts:
    return (x[0] * y[0],)


def _product(x: Parts, y: Parts) -> Parts:
    """x * y; what the product of the second parts would add is below the error."""
    high = x[0] * y[0]
    return high, fma(x[0], y[0], -high) + fma(x[0], y[1], x[1] * y[0])


def _joined(x: Parts) -> Num:
    """The sum of both parts: the first alone where the second is zero (-0 stays) or the sum is no number."""
    if len(x) == 1:
        return x[0]
    total = x[0] + x[1]
    return where(total.is_nan() | x[1].equals(0.0), x[0], total)


def _reciprocal(x: Parts) -> Num:
    """1 / x; with a second part, corrected by a step of Newton's."""
    inverse = 1.0 / x[0]
    if len(x) == 1:
        return inverse
    return fma(inverse, fma(-x[0], inverse, x[0].const(1.0)) - x[1] * inverse, inverse)


def _write(slots: list[str], values: Parts) -> None:
    for slot, value in zip(slots, values, strict=True):
        value.v.code.do(f"store {value.v.type(value.prim)} {value.text}, ptr {slot}")


def _read(like: Num, slots: list[str]) -> Parts:
    code, t = like.v.code, like.v.type(like.prim)
    return tuple(Num(like.v, like.prim, code.op(f"load {t}, ptr {slot}")) for slot in slots)
