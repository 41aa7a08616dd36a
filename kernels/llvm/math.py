"""Elementary functions on vectors: which are our own code, and the C library, lane by lane, for the rest.

Ours (`math_exp.py`, `math_trig.py`) are exp, log, tanh, sin, cos and pow, within 2 ulp, and in f64, within 4 ulp, what
`math_arc.py` and `math_more.py` have. Other f32 versions are the f64 ones rounded. Each function is an internal
function of the module, so that a kernel holds its code once; LLVM inlines it where that is good.
"""

from __future__ import annotations

from ...ir.errors import IRError
from ...ir.ops import Op
from ...ir.types import Prim
from .convert import convert
from .formulas import Num, clamp, where
from .math_arc import acos, asin, atan, atan2
from .math_exp import exp, exp2, log, log2, log10, pow32, pow64, power_of_two, tanh
from .math_more import acosh, asinh, atanh, cbrt, cosh, expm1, hypot, log1p, sinh
from .math_trig import cos, cospi, sin, sinpi, tan
from .text import SCALAR, Vec

_OURS = {
    (Op.EXP, Prim.F32): exp, (Op.EXP, Prim.F64): exp, (Op.LOG, Prim.F32): log, (Op.LOG, Prim.F64): log,
    (Op.TANH, Prim.F32): tanh, (Op.TANH, Prim.F64): tanh, (Op.SIN, Prim.F32): sin, (Op.SIN, Prim.F64): sin,
    (Op.COS, Prim.F32): cos, (Op.COS, Prim.F64): cos, (Op.SINPI, Prim.F64): sinpi, (Op.COSPI, Prim.F64): cospi,
    (Op.POW, Prim.F32): pow32, (Op.POW, Prim.F64): pow64, (Op.EXP2, Prim.F32): exp2, (Op.EXP2, Prim.F64): exp2,
    (Op.LOG2, Prim.F32): log2, (Op.LOG2, Prim.F64): log2, (Op.LOG10, Prim.F32): log10, (Op.LOG10, Prim.F64): log10,
    (Op.HYPOT, Prim.F32): hypot, (Op.HYPOT, Prim.F64): hypot, (Op.EXPM1, Prim.F64): expm1, (Op.LOG1P, Prim.F64): log1p,
    (Op.SINH, Prim.F64): sinh, (Op.COSH, Prim.F64): cosh, (Op.ASINH, Prim.F64): asinh, (Op.ACOSH, Prim.F64): acosh,
    (Op.ATANH, Prim.F64): atanh, (Op.TAN, Prim.F64): tan, (Op.ATAN, Prim.F64): atan, (Op.ATAN2, Prim.F64): atan2,
    (Op.ASIN, Prim.F64): asin, (Op.ACOS, Prim.F64): acos, (Op.CBRT, Prim.F64): cbrt,
}  # fmt: skip

_LIBM = {
    Op.SIN: "sin", Op.COS: "cos", Op.TAN: "tan", Op.GAMMA: "tgamma", Op.LGAMMA: "lgamma", Op.ERF: "erf",
    Op.ERFC: "erfc",
}  # fmt: skip

TRIG_LIMIT = {Prim.F32: 30000.0, Prim.F64: float(1 << 20)}
"""Arguments up to here are reduced by our own code; larger ones need more digits of pi."""


def elementary(v: Vec, op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    """`op` at f32 or f64."""
    if (op, prim) in _OURS:
        typed = tuple((prim, x) for x in args)
        return v.helper(f"{op.value}.{prim.value}", prim, typed, lambda w, a: _ours(w, op, prim, a))
    if prim is Prim.F32:
        wide = tuple(convert(v, prim, Prim.F64, x) for x in args)
        return convert(v, Prim.F64, prim, elementary(v, op, Prim.F64, wide))
    match op:
        case Op.EXP10:
            return elementary(v, Op.POW, prim, (v.const(prim, 10.0), *args))
        case Op.TANPI:
            return v.ins("fdiv", prim, *(elementary(v, part, prim, args) for part in (Op.SINPI, Op.COSPI)))
        case _ if op in _LIBM:
            return libm(v, _LIBM[op], args)
        case _:
            raise IRError(f"lanes: no operation {op.value}_{prim.value}")


def _ours(v: Vec, op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    nums = tuple(Num(v, prim, x) for x in args)
    result = _OURS[op, prim](*nums)
    if op in (Op.SIN, Op.COS, Op.TAN):
        return _unless_large(v, nums[0], result, _LIBM[op])
    return result.text


def _unless_large(v: Vec, x: Num, ours: Num, name: str) -> str:
    """The library's result in lanes with arguments that are too large for ours (infinities among them)."""
    code, t = v.code, v.type(x.prim)
    large = x.unary("fabs") > TRIG_LIMIT[x.prim]
    slot = code.slot(t)
    code.do(f"store {t} {ours.text}, ptr {slot}")
    some, end = code.fresh("large"), code.fresh("end")
    code.branch_rarely(v.any(large.text), some, end)
    code.label(some)
    theirs = convert(v, Prim.F64, x.prim, libm(v, name, (convert(v, x.prim, Prim.F64, x.text),)))
    code.do(f"store {t} {v.select(x.prim, large.text, theirs, ours.text)}, ptr {slot}")
    code.jump(end)
    code.label(end)
    return code.op(f"load {t}, ptr {slot}")


# ---- the C library -----------------------------------------------------------------------------------------------


def libm(v: Vec, name: str, args: tuple[str, ...]) -> str:
    """A function of the C library on f64, lane by lane."""
    doubles = ("double",) * len(args)
    v.code.module.declare(name, "double", doubles, " #1")
    if v.width == SCALAR:
        return v.code.call(name, "double", tuple(zip(doubles, args, strict=True)))
    return v.helper(f"libm.{name}", Prim.F64, tuple((Prim.F64, x) for x in args), lambda w, a: _each_lane(w, name, a))


def _each_lane(v: Vec, name: str, args: tuple[str, ...]) -> str:
    """A loop over the lanes, through memory."""
    code, t = v.code, v.type(Prim.F64)
    slots = [code.slot(t) for _ in args]
    for slot, x in zip(slots, args, strict=True):
        code.do(f"store {t} {x}, ptr {slot}")
    counter = code.slot("i64", 8)
    code.do(f"store i64 0, ptr {counter}")
    code.jump("lane")
    code.label("lane")
    k = code.op(f"load i64, ptr {counter}")
    places = [code.op(f"getelementptr double, ptr {slot}, i64 {k}") for slot in slots]
    operands = tuple(("double", code.op(f"load double, ptr {p}, align 8")) for p in places)
    code.do(f"store double {code.call(name, 'double', operands)}, ptr {places[0]}, align 8")
    following = code.op(f"add i64 {k}, 1")
    code.do(f"store i64 {following}, ptr {counter}")
    code.branch(code.op(f"icmp ult i64 {following}, {v.width}"), "lane", "end")
    code.label("end")
    return code.op(f"load {t}, ptr {slots[0]}")


# ---- ldexp -------------------------------------------------------------------------------------------------------


def ldexp(v: Vec, prim: Prim, x: str, n: str) -> str:
    """x * 2^n, rounded once. Up to f32 the f64 product is exact."""
    if prim is Prim.F64:
        return v.helper("ldexp.f64", prim, ((prim, x), (Prim.I32, n)), lambda w, a: _ldexp_64(w, *a))
    wide, count = Num(v, Prim.F64, convert(v, prim, Prim.F64, x)), Num(v, Prim.I32, n)
    scaled = wide * power_of_two(clamp(count, -600, 600).to(Prim.I64), Prim.F64)
    return scaled.to(prim).text


def _ldexp_64(v: Vec, x: str, n: str) -> str:
    """In three steps, the first two of which lose nothing that the last would keep: the step down leaves 53 bits of
    room above the subnormals."""
    value, count = Num(v, Prim.F64, x), clamp(Num(v, Prim.I32, n), -3000, 3000).to(Prim.I64)
    for _ in range(2):
        step = where(count < -1022, -969, where(count > 1023, 1023, count))
        value = value * power_of_two(step, Prim.F64)
        count = count - step
    return (value * power_of_two(clamp(count, -1022, 1023), Prim.F64)).text
