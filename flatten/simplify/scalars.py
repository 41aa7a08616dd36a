"""Rules for scalar expressions: folding of constants, and identities that are exact for every value.

Exact for floats means bit for bit, -0 and nan included: `x * 1`, `x - 0` and `x + -0` are x, `x + 0` and `x * 0` are
not simplified. Powers of floats alone, which libraries give within some ulp, are products instead. An operation that
fails is never folded: it stays where it fails.
"""

from __future__ import annotations

from ...ir import scalar
from ...ir.core import Convert, Copied, Exp, PrimOp
from ...ir.floats import DIGITS
from ...ir.ops import COMPARISONS, Op, result_type
from ...ir.types import Atom, Const, Prim, Var
from ...ir.types import scalar as scalar_type
from .env import Env, is_one, is_zero

_MIRRORED = {Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE, Op.EQ: Op.NE, Op.NE: Op.EQ}
_TRUE_OF_SAME = frozenset({Op.EQ, Op.LE, Op.GE})
_SAME_IF_SAME = frozenset({Op.MIN, Op.MAX, Op.AND, Op.OR})
_IDEMPOTENT = frozenset({Op.ABS, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ROUND, Op.SGN})

TRUE, FALSE = Const(Prim.BOOL, True), Const(Prim.BOOL, False)


def fold_constants(exp: Exp, env: Env) -> Exp | None:
    """op c1 c2  ⟶  c        [S-Fold], unless it fails"""
    match exp:
        case PrimOp(op, prim, args) if all(isinstance(a, Const) for a in args):
            values = tuple(a.value for a in args if isinstance(a, Const))
            try:
                return Copied(Const(result_type(op, prim), scalar.apply(op, prim, values)))
            except scalar.ScalarFailure:
                return None
        case Convert(source, target, Const(_, value)):
            return Copied(Const(target, scalar.convert(source, target, value)))
        case _:
            return None


def simplify_conversion(exp: Exp, env: Env) -> Exp | None:
    """t.t x  ⟶  x;    t.u (u.s x)  ⟶  t.s x where u holds every s, and t too if floats saturate        [S-Convert]"""
    match exp:
        case Convert(source, target, arg) if source is target:
            return Copied(arg)
        case Convert(middle, target, arg):
            inner = env.definition(arg)
            if isinstance(inner, Convert) and _is_as_direct(inner.source, middle, target):
                return Convert(inner.source, target, inner.arg)
            return None
        case _:
            return None


def _is_as_direct(source: Prim, middle: Prim, target: Prim) -> bool:
    """Whether a conversion in two steps gives what one does: nothing is lost on the way, and a float, which saturates
    where an integer drops bits, is no way between integers unless there are bits enough. A negative number becomes the
    same bits of an unsigned type either way."""
    if middle.is_float and source.is_int and target.is_int:
        target = target if source.is_unsigned or target.is_signed else Prim(f"i{target.bits}")
        return _holds(middle, source) and _holds(target, source)
    return _holds(middle, source)


def _holds(wide: Prim, narrow: Prim) -> bool:
    """Whether every value of `narrow` is one of `wide`."""
    if narrow is Prim.BOOL or wide is Prim.BOOL:
        return narrow is wide
    if narrow.is_float:
        return wide is narrow or (wide.is_float and wide.bits > narrow.bits)
    if wide.is_float:
        return DIGITS[wide] >= narrow.bits
    if narrow.is_unsigned:
        return wide.bits > narrow.bits or (wide.is_unsigned and wide.bits == narrow.bits)
    return wide.is_signed and wide.bits >= narrow.bits


def simplify_arithmetic(exp: Exp, env: Env) -> Exp | None:
    """x + 0, x - 0, x * 1, x / 1, x ** 1 ⟶ x;  x * 0, x - x, x % 1 ⟶ 0 (integers)        [S-Arith]"""
    match exp:
        case PrimOp(op, prim, (x, y)) if prim.is_int:
            return _int_identity(op, prim, x, y)
        case PrimOp(op, prim, (x, y)) if prim.is_float:
            return _float_identity(op, prim, x, y)
        case _:
            return None


def _int_identity(op: Op, prim: Prim, x: Atom, y: Atom) -> Exp | None:
    zero = Const(prim, 0)
    match op:
        case Op.ADD if is_zero(x):
            return Copied(y)
        case Op.ADD | Op.SUB if is_zero(y):
            return Copied(x)
        case Op.SUB if x == y:
            return Copied(zero)
        case Op.SUB if is_zero(x):
            return PrimOp(Op.NEG, prim, (y,))
        case Op.MUL if is_zero(x) or is_zero(y):
            return Copied(zero)
        case Op.MUL if is_one(x):
            return Copied(y)
        case Op.MUL | Op.DIV | Op.QUOT | Op.POW if is_one(y):
            return Copied(x)
        case Op.MOD | Op.REM if is_one(y):
            return Copied(zero)
        case Op.POW if is_zero(y):
            return Copied(Const(prim, 1))
        case _:
            return None


def _float_identity(op: Op, prim: Prim, x: Atom, y: Atom) -> Exp | None:
    one, minus_zero = Const(prim, 1.0), Const(prim, -0.0)
    match op:
        case Op.ADD if x == minus_zero:
            return Copied(y)
        case Op.ADD if y == minus_zero:
            return Copied(x)
        case Op.SUB if y == Const(prim, 0.0):
            return Copied(x)
        case Op.MUL if x == one:
            return Copied(y)
        case Op.MUL | Op.DIV if y == one:
            return Copied(x)
        case Op.MIN | Op.MAX if x == y:
            return Copied(x)
        case _:
            return None


POWERS = {True: 6, False: 64}
"""The greatest exponents that become products, of floats (2.5 ulp at most) and of integers."""


def expand_power(exp: Exp, env: Env) -> Exp | None:
    """x ** 2 ⟶ x * x, x ** 2k ⟶ (x ** k) * (x ** k), x ** (2k+1) ⟶ x ** 2k * x;  1 and 1/x (floats)        [S-Power]"""
    match exp:
        case PrimOp(Op.POW, prim, (x, Const(_, k))) if (
            isinstance(x, Var) and -1 <= k <= POWERS[prim.is_float] and k == int(k)
        ):
            pass
        case _:
            return None
    if prim.is_float and k in (-1, 0, 1):
        one = Const(prim, 1.0)
        return PrimOp(Op.DIV, prim, (one, x)) if k == -1 else Copied(x if k == 1 else one)
    if k < 2:
        return None
    rest = int(k) // 2 if k % 2 == 0 else int(k) - 1
    power: Atom = x
    if rest > 1:
        power = env.emit(
            "power", PrimOp(Op.POW, prim, (x, Const(prim, float(rest) if prim.is_float else rest))), scalar_type(prim)
        )
    return PrimOp(Op.MUL, prim, (power, power if k % 2 == 0 else x))


def fold_negation(exp: Exp, env: Env) -> Exp | None:
    """x * -1 ⟶ -x;  x + -y ⟶ x - y;  x - -y ⟶ x + y        [S-Negate] (integers)"""
    match exp:
        case PrimOp(Op.MUL, prim, (x, Const(_, -1)) | (Const(_, -1), x)) if prim.is_int:
            return PrimOp(Op.NEG, prim, (x,))
        case PrimOp(Op.ADD | Op.SUB as op, prim, (x, y)) if prim.is_int:
            pass
        case _:
            return None
    match op, env.definition(x), env.definition(y):
        case _, _, PrimOp(Op.NEG, _, (z,)):
            return PrimOp(Op.SUB if op is Op.ADD else Op.ADD, prim, (x, z))
        case Op.ADD, PrimOp(Op.NEG, _, (z,)), _:
            return PrimOp(Op.SUB, prim, (y, z))
        case _:
            return None


def simplify_bits(exp: Exp, env: Env) -> Exp | None:
    """x & x, x | 0, x ^ 0, x << 0 ⟶ x;  x & 0, x ^ x ⟶ 0        [S-Bits] (integers and bool)"""
    match exp:
        case PrimOp(op, prim, (x, y)) if prim.is_int or prim is Prim.BOOL:
            return _bits_identity(op, prim, x, y)
        case _:
            return None


def _bits_identity(op: Op, prim: Prim, x: Atom, y: Atom) -> Exp | None:
    zero, ones = (FALSE, TRUE) if prim is Prim.BOOL else (Const(prim, 0), scalar_ones(prim))
    if op in _SAME_IF_SAME and x == y:
        return Copied(x)
    match op:
        case Op.AND if zero in (x, y):
            return Copied(zero)
        case Op.AND if x == ones:
            return Copied(y)
        case Op.AND if y == ones:
            return Copied(x)
        case Op.OR if ones in (x, y):
            return Copied(ones)
        case Op.OR | Op.XOR if x == zero:
            return Copied(y)
        case Op.OR | Op.XOR if y == zero:
            return Copied(x)
        case Op.XOR if x == y:
            return Copied(zero)
        case Op.SHL | Op.SHR | Op.USHR if is_zero(y):
            return Copied(x)
        case _:
            return None


def scalar_ones(prim: Prim) -> Const:
    """The integer whose bits are all ones."""
    return Const(prim, scalar.apply(Op.NOT, prim, (0,)))


def simplify_comparison(exp: Exp, env: Env) -> Exp | None:
    """x == x, x <= x ⟶ true;  x < x, x != x ⟶ false (no floats);  b == true ⟶ b;  b == false ⟶ !b        [S-Compare]"""
    match exp:
        case PrimOp(op, prim, (x, y)) if op in COMPARISONS and not prim.is_float and x == y:
            return Copied(TRUE if op in _TRUE_OF_SAME else FALSE)
        case PrimOp(Op.EQ | Op.NE as op, Prim.BOOL, (x, y)) if isinstance(x, Const) or isinstance(y, Const):
            constant, other = (x, y) if isinstance(x, Const) else (y, x)
            keeps = (constant == TRUE) == (op is Op.EQ)
            return Copied(other) if keeps else PrimOp(Op.NOT, Prim.BOOL, (other,))
        case _:
            return None


def simplify_select(exp: Exp, env: Env) -> Exp | None:
    """select true x y, select c x x ⟶ x;  select c true false ⟶ c;  select c x false ⟶ c && x        [S-Select]"""
    match exp:
        case PrimOp(Op.SELECT, prim, (c, x, y)):
            if isinstance(c, Const):
                return Copied(x if c == TRUE else y)
            if x == y:
                return Copied(x)
            return _select_bool(c, x, y) if prim is Prim.BOOL else None
        case _:
            return None


def _select_bool(c: Atom, x: Atom, y: Atom) -> Exp | None:
    if y == FALSE:
        return PrimOp(Op.AND, Prim.BOOL, (c, x))
    if x == TRUE:
        return PrimOp(Op.OR, Prim.BOOL, (c, y))
    if (x, y) == (FALSE, TRUE):
        return PrimOp(Op.NOT, Prim.BOOL, (c,))
    return None


def simplify_unary(exp: Exp, env: Env) -> Exp | None:
    """-(-x), !(!b) ⟶ x;  abs (abs x) ⟶ abs x;  !(x < y) ⟶ x >= y (no floats)        [S-Unary]"""
    match exp:
        case PrimOp(op, prim, (x,)):
            inner = env.definition(x)
            if not isinstance(inner, PrimOp):
                return None
            if op in (Op.NEG, Op.NOT) and inner.op is op and inner.prim is prim:
                return Copied(inner.args[0])
            if op in _IDEMPOTENT and inner.op is op and inner.prim is prim:
                return Copied(x)
            if op is Op.NOT and inner.op in _MIRRORED and not inner.prim.is_float:
                return PrimOp(_MIRRORED[inner.op], inner.prim, inner.args)
            return None
        case _:
            return None


def gather_constants(exp: Exp, env: Env) -> Exp | None:
    """(x + c) + d ⟶ x + (c+d), x - c the same;  (x * c) * d ⟶ x * (c*d);  (x + y) - y, (x - y) + y ⟶ x;
    ((x + y) + c) - y ⟶ x + c;  x - (x - y) ⟶ y        [S-Gather] (integers)

    Exact since integers wrap."""
    match exp:
        case PrimOp(Op.SUB, prim, (x, y)) if prim.is_int:
            match env.definition(x), env.definition(y):
                case PrimOp(Op.ADD, _, (a, b)), _ if y in (a, b):
                    return Copied(a if b == y else b)
                case _, PrimOp(Op.SUB, _, (a, b)) if a == x:
                    return Copied(b)
                case inner, _:
                    less = _without(offset_of(inner), y, prim, env)
                    if less is not None:
                        return less
        case PrimOp(Op.ADD, prim, (x, y)) if prim.is_int:
            match env.definition(x), env.definition(y):
                case (PrimOp(Op.SUB, _, (a, b)), _) if b == y:
                    return Copied(a)
                case (_, PrimOp(Op.SUB, _, (a, b))) if b == x:
                    return Copied(a)
                case _:
                    pass
        case _:
            pass
    match exp:
        case PrimOp(Op.ADD | Op.SUB, prim, _) if prim.is_int:
            return _gather_sum(exp, env)
        case PrimOp(Op.MUL, prim, (x, y)) if prim.is_int:
            return _gather_product(prim, x, y, env)
        case _:
            return None


def offset_of(exp: Exp | None) -> tuple[Atom, int] | None:
    """`x + c`, `c + x` and `x - c` as (x, ±c)."""
    match exp:
        case PrimOp(Op.ADD, prim, (x, Const(_, c)) | (Const(_, c), x)) if prim.is_int:
            return x, int(c)
        case PrimOp(Op.SUB, prim, (x, Const(_, c))) if prim.is_int:
            return x, -int(c)
        case _:
            return None


def _without(found: tuple[Atom, int] | None, y: Atom, prim: Prim, env: Env) -> Exp | None:
    """x + c, where (x + y) + c was found."""
    match found and env.definition(found[0]):
        case PrimOp(Op.ADD, _, (a, b)) if found is not None and y in (a, b):
            return _plus_constant(prim, a if b == y else b, found[1])
        case _:
            return None


def _gather_sum(exp: PrimOp, env: Env) -> Exp | None:
    outer = offset_of(exp)
    inner = offset_of(env.definition(outer[0])) if outer else None
    if outer is None or inner is None:
        return None
    return _plus_constant(exp.prim, inner[0], outer[1] + inner[1])


def _plus_constant(prim: Prim, x: Atom, constant: int) -> PrimOp:
    """`x + c`, or `x - -c` where c is negative."""
    total = scalar.wrapping(prim)(constant)
    if total < 0 and prim.is_signed and scalar.wrapping(prim)(-total) > 0:
        return PrimOp(Op.SUB, prim, (x, Const(prim, -total)))
    return PrimOp(Op.ADD, prim, (x, Const(prim, total)))


def _gather_product(prim: Prim, x: Atom, y: Atom, env: Env) -> Exp | None:
    constant, other = (x, y) if isinstance(x, Const) else (y, x)
    inner = env.definition(other)
    match constant, inner:
        case Const(_, c), PrimOp(Op.MUL, _, (z, Const(_, d)) | (Const(_, d), z)):
            return PrimOp(Op.MUL, prim, (z, Const(prim, scalar.apply(Op.MUL, prim, (c, d)))))
        case _:
            return None


RULES = (
    fold_constants,
    simplify_conversion,
    simplify_arithmetic,
    expand_power,
    fold_negation,
    simplify_bits,
    simplify_comparison,
    simplify_select,
    simplify_unary,
    gather_constants,
)
