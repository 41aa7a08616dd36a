"""The table of scalar operations: one enumeration, their types, and (in `ir/scalar.py`) their one meaning."""

from __future__ import annotations

from enum import Enum

from .types import Prim


class Op(Enum):
    """An operation at an operand type. Integer `DIV`/`MOD` round to minus infinity, `QUOT`/`REM` to zero."""

    # arithmetic; ADD SUB MUL DIV POW on ints and floats, MOD on both (float: of the sign of the divisor)
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MOD = "mod"
    QUOT = "quot"
    REM = "rem"
    POW = "pow"
    MIN = "min"
    MAX = "max"
    FMA = "fma"  # fma x y z = x*y + z, one rounding (floats)
    # bits
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    SHR = "shr"  # arithmetic on signed, logical on unsigned
    USHR = "ushr"  # logical on any
    NOT = "not"  # complement; logical on bool
    POPC = "popc"  # popcount, gives i32
    CLZ = "clz"  # gives i32
    CTZ = "ctz"  # gives i32
    MULHI = "mulhi"
    # comparison, gives bool
    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    # unary
    NEG = "neg"
    ABS = "abs"
    SGN = "sgn"
    # floats
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    CBRT = "cbrt"
    EXP = "exp"
    EXP2 = "exp2"
    EXP10 = "exp10"
    EXPM1 = "expm1"
    LOG = "log"
    LOG2 = "log2"
    LOG10 = "log10"
    LOG1P = "log1p"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    SINPI = "sinpi"
    COSPI = "cospi"
    TANPI = "tanpi"
    ATAN2 = "atan2"
    HYPOT = "hypot"
    GAMMA = "gamma"
    LGAMMA = "lgamma"
    ERF = "erf"
    ERFC = "erfc"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"
    ROUND = "round"  # half to even
    ISNAN = "isnan"  # gives bool
    ISINF = "isinf"  # gives bool
    COPYSIGN = "copysign"
    NEXTAFTER = "nextafter"
    LDEXP = "ldexp"  # x : float, n : i32 as second operand
    TO_BITS = "to_bits"  # float to unsigned int of the same width
    FROM_BITS = "from_bits"  # at the float type: unsigned int of the same width to float
    # control
    SELECT = "select"  # select c x y at the type of x; c is bool

    __hash__ = object.__hash__  # as in `Prim`


COMPARISONS = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE})
PREDICATES = frozenset({Op.ISNAN, Op.ISINF})
COUNTS = frozenset({Op.POPC, Op.CLZ, Op.CTZ})
TERNARY = frozenset({Op.FMA, Op.SELECT})
BINARY = frozenset(
    {
        Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD, Op.QUOT, Op.REM, Op.POW, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR,
        Op.SHL, Op.SHR, Op.USHR, Op.MULHI, Op.ATAN2, Op.HYPOT, Op.COPYSIGN, Op.NEXTAFTER, Op.LDEXP,
    }
) | COMPARISONS  # fmt: skip
COMMUTATIVE = frozenset({Op.ADD, Op.MUL, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR, Op.EQ, Op.NE})


class Expense(Enum):
    """How long an operation takes, from the shortest: a column of the table, which all cost models read."""

    INSTRUCTION = "one instruction"
    FEW = "a few instructions"
    DIVISION = "divides or takes a root"
    CALL = "a function of a library"


_INSTRUCTIONS = COMPARISONS | {
    Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR, Op.NOT, Op.NEG, Op.ABS, Op.FMA, Op.SELECT, Op.SHL,
    Op.SHR, Op.USHR,
}  # fmt: skip
_FEW = PREDICATES | COUNTS | {
    Op.MULHI, Op.SGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ROUND, Op.COPYSIGN, Op.TO_BITS, Op.FROM_BITS,
}  # fmt: skip
DIVISIONS = frozenset({Op.DIV, Op.MOD, Op.QUOT, Op.REM, Op.SQRT})
EXPENSES = dict.fromkeys(Op, Expense.CALL) | {
    op: expense
    for ops, expense in (
        (_INSTRUCTIONS, Expense.INSTRUCTION), (_FEW, Expense.FEW), (DIVISIONS, Expense.DIVISION),
    )
    for op in ops
}  # fmt: skip


def is_short(op: Op) -> bool:
    """Neither a division nor a call."""
    return EXPENSES[op] in (Expense.INSTRUCTION, Expense.FEW)


def arity(op: Op) -> int:
    """How many operands `op` has: 1, 2 or 3."""
    return 3 if op in TERNARY else 2 if op in BINARY else 1


def unsigned_of(prim: Prim) -> Prim:
    """The unsigned integer type as wide as `prim`."""
    return Prim(f"u{prim.bits}")


def operand_types(op: Op, prim: Prim) -> tuple[Prim, ...]:
    """Types of the operands of `op` at `prim`."""
    match op:
        case Op.SELECT:
            return (Prim.BOOL, prim, prim)
        case Op.LDEXP:
            return (prim, Prim.I32)
        case Op.FROM_BITS:
            return (unsigned_of(prim),)
        case _:
            return (prim,) * arity(op)


def result_type(op: Op, prim: Prim) -> Prim:
    """Type of the result of `op` at `prim`."""
    if op in COMPARISONS or op in PREDICATES:
        return Prim.BOOL
    if op in COUNTS:
        return Prim.I32
    if op is Op.TO_BITS:
        return unsigned_of(prim)
    return prim


def can_fail(op: Op, prim: Prim) -> bool:
    """Integer division by zero, and a negative integer exponent, are run-time errors (R0102)."""
    return prim.is_int and op in {Op.DIV, Op.MOD, Op.QUOT, Op.REM, Op.POW}
