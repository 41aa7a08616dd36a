"""Normal forms of i64 arithmetic: what tells the elaborator that two sizes are the same number.

A polynomial maps monomials (sorted variable tags) to coefficients modulo 2^64. The i64 operations `+ - *` are exact
in that ring, so equal polynomials are equal values, whatever wraps: `(n+1)-1` is `n`, `k+(n-k)` is `n`.
"""

from __future__ import annotations

from ...ir.ops import Op

Monomial = tuple[int, ...]
Polynomial = tuple[tuple[Monomial, int], ...]  # sorted by monomial, no coefficient 0

MODULUS = 1 << 64
MAX_TERMS = 12  # larger forms are not worth comparing


def constant(value: int) -> Polynomial:
    value %= MODULUS
    return (((), value),) if value else ()


def variable(tag: int) -> Polynomial:
    return (((tag,), 1),)


def as_constant(form: Polynomial) -> int | None:
    """The value (signed) of a form without variables."""
    match form:
        case ():
            return 0
        case (((), value),):
            return value - MODULUS if value >= MODULUS // 2 else value
        case _:
            return None


def combine(op: Op, left: Polynomial, right: Polynomial) -> Polynomial | None:
    """The form of `left op right`, None where it is no polynomial or a large one."""
    match op:
        case Op.ADD:
            return _normal([*left, *right])
        case Op.SUB:
            return _normal([*left, *((monomial, -factor) for monomial, factor in right)])
        case Op.MUL:
            if len(left) * len(right) > MAX_TERMS:
                return None
            return _normal([(tuple(sorted(a + b)), x * y) for a, x in left for b, y in right])
        case _:
            return None


def _normal(terms: list[tuple[Monomial, int]]) -> Polynomial | None:
    sums: dict[Monomial, int] = {}
    for monomial, factor in terms:
        sums[monomial] = (sums.get(monomial, 0) + factor) % MODULUS
    found = tuple(sorted((monomial, factor) for monomial, factor in sums.items() if factor))
    return found if len(found) <= MAX_TERMS else None
