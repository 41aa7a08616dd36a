"""Integer operations that LLVM has no good instruction for: division, powers, shifts, high products.

Vector division is scalarised by LLVM (ten times slower). Up to 32 bits it goes through floats, where the quotient is
exact; 64 bits do the same where all operands are below 2^50. Divisors are never zero here: the emitter puts 1 into
lanes that are off. `min / -1` traps in the instruction and is undefined in LLVM, so -1 is negation. A rest of scalars
asks first whether one difference is enough.
"""

from __future__ import annotations

from ...ir.ops import Op
from ...ir.types import Prim
from .text import SCALAR, Vec, literal

FLOAT_EXACT = 50
"""Operands of this many bits have an f64 quotient on the right side of every integer: x / y is wrong by x / 2^52 y."""


def divide(v: Vec, op: Op, prim: Prim, x: str, y: str) -> str:
    """DIV and MOD round to minus infinity, QUOT and REM to zero."""
    if v.width == SCALAR and y.startswith("%") and prim.bits >= 32 and op in (Op.MOD, Op.REM):
        return _scalar_rest(v, op, prim, x, y)
    if v.width == SCALAR or not y.startswith("%"):
        quotient, rest = _divide_plain(v, prim, x, y)
    elif prim.bits == 64:
        args = (prim, x), (prim, y), (Prim.F64, _inverse(v, prim, y, Prim.F64))
        quotient = v.helper(f"quot.{prim.value}", prim, args, lambda w, a: _quotient_64(w, prim, *a))
        rest = _rest(v, prim, x, y, quotient)
    else:
        through = Prim.F64 if prim.bits == 32 else Prim.F32
        quotient = _quotient_by_float(v, prim, x, _inverse(v, prim, y, through), through)
        if prim.is_signed:
            is_minus_one = v.ins("icmp eq", prim, y, v.const(prim, -1))
            quotient = v.select(prim, is_minus_one, v.ins("sub", prim, v.const(prim, 0), x), quotient)
        rest = _rest(v, prim, x, y, quotient)
    return _rounded(v, op, prim, y, quotient, rest)


def _rounded(v: Vec, op: Op, prim: Prim, y: str, quotient: str, rest: str) -> str:
    """What an operation gives of the truncated quotient and its rest."""
    match op:
        case Op.DIV if prim.is_signed:
            return v.ins("sub", prim, quotient, _extend(v, prim, _rounds_up(v, prim, y, rest)))
        case Op.MOD if prim.is_signed:
            wrong = _rounds_up(v, prim, y, rest)
            return v.ins("add", prim, rest, v.select(prim, wrong, y, v.const(prim, 0)))
        case Op.DIV | Op.QUOT:
            return quotient
        case _:
            return rest


def _scalar_rest(v: Vec, op: Op, prim: Prim, x: str, y: str) -> str:
    """x or x - y, where 0 <= x < 2y, as mostly of counters that wrap around (`(i + 1) % n`): a fifth of a division."""
    code, t = v.code, v.type(prim)
    less = v.ins("sub", prim, x, y)
    small = v.ins("icmp slt", prim, less, y)
    positive = v.ins("icmp sge", prim, v.ins("or", prim, x, y), v.const(prim, 0))
    result, divided, joined = code.slot(t), code.fresh("divided"), code.fresh("joined")
    code.do(f"store {t} {v.intrinsic('umin', prim, x, less)}, ptr {result}")
    code.branch(v.both(positive, small), joined, divided)
    code.label(divided)
    code.do(f"store {t} {_rounded(v, op, prim, y, *_divide_plain(v, prim, x, y))}, ptr {result}")
    code.jump(joined)
    code.label(joined)
    return code.op(f"load {t}, ptr {result}")


def _rest(v: Vec, prim: Prim, x: str, y: str, quotient: str) -> str:
    return v.ins("sub", prim, x, v.ins("mul", prim, quotient, y))


def _extend(v: Vec, prim: Prim, flag: str) -> str:
    return v.cast("zext", Prim.BOOL, prim, flag)


def _rounds_up(v: Vec, prim: Prim, y: str, rest: str) -> str:
    """Was the truncated quotient above floor(x / y)? If there is a rest and its sign is not the divisor's."""
    signs = v.ins("icmp slt", prim, v.ins("xor", prim, rest, y), v.const(prim, 0))
    return v.both(v.ins("icmp ne", prim, rest, v.const(prim, 0)), signs)


def _without_minus_one(v: Vec, prim: Prim, y: str) -> tuple[str, str]:
    """(is y -1?, y with 1 for -1)"""
    is_minus_one = v.ins("icmp eq", prim, y, v.const(prim, -1))
    return is_minus_one, v.select(prim, is_minus_one, v.const(prim, 1), y)


def _divide_plain(v: Vec, prim: Prim, x: str, y: str) -> tuple[str, str]:
    """(quotient, rest) by the instructions: scalars, and constant divisors, which LLVM turns into products."""
    if prim.is_unsigned:
        return v.ins("udiv", prim, x, y), v.ins("urem", prim, x, y)
    if not y.startswith("%") and y != v.const(prim, -1):
        return v.ins("sdiv", prim, x, y), v.ins("srem", prim, x, y)
    minus_one, safe = _without_minus_one(v, prim, y)
    negated = v.ins("sub", prim, v.const(prim, 0), x)
    quotient = v.select(prim, minus_one, negated, v.ins("sdiv", prim, x, safe))
    return quotient, v.ins("srem", prim, x, safe)


def _inverse(v: Vec, prim: Prim, y: str, through: Prim) -> str:
    """1 / y: where a divisor does not change, a loop makes it once."""
    cast = "uitofp" if prim.is_unsigned else "sitofp"
    return v.ins("fdiv", through, v.const(through, 1.0), v.cast(cast, prim, through, y))


def _quotient_by_float(v: Vec, prim: Prim, x: str, inverse: str, through: Prim) -> str:
    """Truncated quotient: (|x| + 1/2) / y is 1/2y away from every integer, or more, and its error less."""
    exact, half = v.cast("uitofp" if prim.is_unsigned else "sitofp", prim, through, x), v.const(through, 0.5)
    if prim.is_signed:
        half = v.intrinsic("copysign", through, half, exact)
    product = v.ins("fmul", through, v.ins("fadd", through, exact, half), inverse)
    return v.cast("fptoui" if prim.is_unsigned else "fptosi", through, prim, product)


def _quotient_64(v: Vec, prim: Prim, x: str, y: str, inverse: str) -> str:
    """Truncated quotient: by floats if all lanes allow it, else lane by lane."""
    code = v.code
    large = v.either(_exceeds(v, prim, x), _exceeds(v, prim, y))
    result = code.slot(v.type(prim))
    slow, fast, joined = code.fresh("slow"), code.fresh("fast"), code.fresh("joined")
    code.branch_rarely(v.any(large), slow, fast)
    code.label(fast)
    code.do(f"store {v.type(prim)} {_quotient_by_float(v, prim, x, inverse, Prim.F64)}, ptr {result}")
    code.jump(joined)
    code.label(slow)
    code.do(f"store {v.type(prim)} {_divide_plain(v, prim, x, y)[0]}, ptr {result}")
    code.jump(joined)
    code.label(joined)
    return code.op(f"load {v.type(prim)}, ptr {result}")


def _exceeds(v: Vec, prim: Prim, x: str) -> str:
    """Is |x| more than floats divide exactly?"""
    if prim.is_unsigned:
        return v.ins("icmp ugt", prim, x, v.const(prim, (1 << FLOAT_EXACT) - 1))
    moved = v.ins("add", prim, x, v.const(prim, 1 << (FLOAT_EXACT - 1)))
    return v.ins("icmp ugt", prim, moved, v.const(prim, (1 << FLOAT_EXACT) - 1))


# ---- powers, shifts, products, counts ----------------------------------------------------------------------------


def power(v: Vec, prim: Prim, x: str, n: str) -> str:
    """x^n, wrapping; n is not negative."""
    return v.helper(f"pow.{prim.value}", prim, ((prim, x), (prim, n)), lambda w, a: _power_loop(w, prim, *a))


def _power_loop(v: Vec, prim: Prim, x: str, n: str) -> str:
    """By squaring, while any lane has a bit of its exponent left."""
    code, t = v.code, v.type(prim)
    slots = [code.slot(t) for _ in range(3)]
    for slot, start in zip(slots, (v.const(prim, 1), x, n), strict=True):
        code.do(f"store {t} {start}, ptr {slot}")
    with code.loop("head", "body", "end") as test:
        result, base, rest = (code.op(f"load {t}, ptr {slot}") for slot in slots)
        test(v.any(v.ins("icmp ne", prim, rest, v.const(prim, 0))))
        odd = v.ins("icmp ne", prim, v.ins("and", prim, rest, v.const(prim, 1)), v.const(prim, 0))
        updates = (
            v.select(prim, odd, v.ins("mul", prim, result, base), result),
            v.ins("mul", prim, base, base),
            v.ins("lshr", prim, rest, v.const(prim, 1)),
        )
        for slot, update in zip(slots, updates, strict=True):
            code.do(f"store {t} {update}, ptr {slot}")
    return result


def shift(v: Vec, op: Op, prim: Prim, x: str, y: str) -> str:
    """A shift by the width or more gives 0, or the sign; the amount is read as unsigned."""
    last = v.const(prim, prim.bits - 1)
    if op is Op.SHR and prim.is_signed:
        return v.ins("ashr", prim, x, v.intrinsic("umin", prim, y, last))
    amount = v.ins("and", prim, y, last)
    shifted = v.ins("shl" if op is Op.SHL else "lshr", prim, x, amount)
    return v.select(prim, v.ins("icmp ule", prim, y, last), shifted, v.const(prim, 0))


def high_product(v: Vec, prim: Prim, x: str, y: str) -> str:
    """The upper half of the product."""
    bits, extend = prim.bits, "sext" if prim.is_signed else "zext"
    narrow, wide = v.type(prim), v.raw(f"i{2 * bits}")
    a, b = (v.code.op(f"{extend} {narrow} {z} to {wide}") for z in (x, y))
    product = v.code.op(f"mul {wide} {a}, {b}")
    high = v.code.op(f"lshr {wide} {product}, {v.spread(f'i{2 * bits}', literal(Prim.I64, bits))}")
    return v.code.op(f"trunc {wide} {high} to {narrow}")


def count(v: Vec, op: Op, prim: Prim, x: str) -> str:
    """Bit counts, as i32."""
    match op:
        case Op.POPC:
            n = v.intrinsic("ctpop", prim, x)
        case Op.CLZ:
            n = v.intrinsic_flag("ctlz", prim, x)
        case _:
            n = v.intrinsic_flag("cttz", prim, x)
    if prim.bits == 32:
        return n
    return v.cast("trunc" if prim.bits > 32 else "zext", prim, Prim.I32, n)


def sign(v: Vec, prim: Prim, x: str) -> str:
    """-1, 0 or 1"""
    zero = v.const(prim, 0)
    positive = _extend(v, prim, v.ins("icmp ne" if prim.is_unsigned else "icmp sgt", prim, x, zero))
    if prim.is_unsigned:
        return positive
    return v.ins("sub", prim, positive, _extend(v, prim, v.ins("icmp slt", prim, x, zero)))
