"""Normal forms of i64 arithmetic: what tells the elaborator that two sizes are the same number.

The i64 operations `+ - *` are exact modulo 2^64: `(n+1)-1` is `n`, `k+(n-k)` is `n`. Factors are tags of variables.
"""

from __future__ import annotations

from ...ir.ops import Op
from ...ir.polynomials import Polynomial, add, constant, mul, reduced, sub

SizeForm = Polynomial[int]

MODULUS = 1 << 64
MAX_TERMS = 12  # and factors of a term: larger forms are not worth comparing


def of_constant(value: int) -> SizeForm:
    return constant(value % MODULUS)


def as_constant(form: SizeForm) -> int | None:
    """The value (signed) of a form without variables."""
    match form:
        case ():
            return 0
        case (((), value),):
            return value - MODULUS if value >= MODULUS // 2 else value
        case _:
            return None


def combine(op: Op, left: SizeForm, right: SizeForm) -> SizeForm | None:
    """The form of `left op right`, None where it is no polynomial or a large one."""
    combined = {Op.ADD: add, Op.SUB: sub, Op.MUL: mul}.get(op)
    if combined is None or (op is Op.MUL and len(left) * len(right) > MAX_TERMS):
        return None
    form = reduced(combined(left, right), MODULUS)
    return form if max(len(form), *(len(monomial) for monomial, _ in form), 0) <= MAX_TERMS else None
