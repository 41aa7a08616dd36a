"""Costs that depend on sizes: sums of products, `4 + 30*d + 2.5*d*⌈u/16⌉`, that add and multiply as numbers do.

A size is a name of the host, which knows its value only when it runs (`schedule/choose.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ...ir.types import Name


class Role(Enum):
    """What a size n counts: `n` steps; the groups of lanes that it fills, ⌈n/16⌉, at least one; how many times as much
    an access weighs whose lanes lie n elements apart (`kernels/analysis/cost.py`)."""

    STEPS = "steps"
    GROUPS = "groups"
    FAR = "far"


Factor = tuple[Name, Role]
Product = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Products of factors in order, with their coefficients."""

    terms: Mapping[Product, float]

    def __add__(self, other: Cost) -> Sum:
        terms = dict(self.terms)
        for product, c in terms_of(other):
            terms[product] = terms.get(product, 0.0) + c
        return Sum(terms)

    __radd__ = __add__

    def __mul__(self, other: Cost) -> Sum:
        terms: dict[Product, float] = {}
        for mine, c in self.terms.items():
            for theirs, d in terms_of(other):
                both = tuple(sorted((*mine, *theirs), key=_order))
                terms[both] = terms.get(both, 0.0) + c * d
        return Sum(terms)

    __rmul__ = __mul__

    def __truediv__(self, by: float) -> Sum:
        return self * (1.0 / by)

    def __sub__(self, other: Sum) -> Sum:
        return self + other * -1.0


Cost = float | Sum


def size(name: Name, role: Role) -> Sum:
    return Sum({((name, role),): 1.0})


def terms_of(cost: Cost) -> list[tuple[Product, float]]:
    return list(cost.terms.items()) if isinstance(cost, Sum) else [((), cost)]


def _order(factor: Factor) -> tuple[int, str]:
    name, role = factor
    return name.tag, role.value
