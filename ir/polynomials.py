"""Polynomials: the one form in which the compiler compares sizes, indices and costs.

A polynomial is a sum of products, in order, with coefficients that are not 0: integers, or floats for costs. A factor
is anything with an order: a variable's tag or name, a size and what it counts. Equal polynomials are equal values in
any commutative ring, so also modulo 2^64 (`reduced`), whatever wraps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar


class Ordered(Protocol):
    """What has an order among its like."""

    def __lt__(self, other: Any, /) -> bool: ...


F = TypeVar("F", bound=Ordered)  # a factor
Monomial = tuple[F, ...]
Polynomial = tuple[tuple[tuple[F, ...], Any], ...]

ZERO: Polynomial[Any] = ()


def polynomial(terms: Iterable[tuple[tuple[F, ...], Any]]) -> Polynomial[F]:
    """The sum of `terms`, of which several may be of one monomial."""
    sums: dict[tuple[F, ...], Any] = {}
    for monomial, c in terms:
        sums[monomial] = sums.get(monomial, 0) + c
    return tuple(sorted((m, c) for m, c in sums.items() if c))


def atom(factor: F) -> Polynomial[F]:
    """The polynomial of one factor, with coefficient 1."""
    return (((factor,), 1),)


def constant(value: Any) -> Polynomial[Any]:
    """The polynomial of a number; zero has no term."""
    return (((), value),) if value else ()


def add(x: Polynomial[F], y: Polynomial[F]) -> Polynomial[F]:
    """x + y, in normal form."""
    return polynomial((*x, *y)) if x and y else x or y


def mul(x: Polynomial[F], y: Polynomial[F]) -> Polynomial[F]:
    """x * y, in normal form."""
    return polynomial((tuple(sorted(m + n)), c * d) for m, c in x for n, d in y)


def sub(x: Polynomial[F], y: Polynomial[F]) -> Polynomial[F]:
    """x - y, in normal form."""
    return polynomial((*x, *((m, -c) for m, c in y)))


def divided(value: Polynomial[F], factor: F) -> tuple[Polynomial[F], Polynomial[F]]:
    """(q, r) with `value = q*factor + r`, no term of r with the factor."""
    has = [(m, c, m.index(factor)) for m, c in value if factor in m]
    quotient = polynomial(((*m[:at], *m[at + 1 :]), c) for m, c, at in has)
    return quotient, tuple(term for term in value if factor not in term[0])


def reduced(value: Polynomial[F], modulus: int) -> Polynomial[F]:
    """With coefficients from 0 to `modulus - 1`."""
    return tuple((m, c % modulus) for m, c in value if c % modulus)
