"""Costs that depend on sizes: sums of products, `4 + 30*d + 2.5*d*⌈u/16⌉`, that add and multiply as numbers do.

A size is a name of the host, which knows its value only when it runs (`schedule/choose.py`).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ...ir.polynomials import ZERO, Polynomial, add, atom, constant, mul
from ...ir.records import dataclass
from ...ir.types import Name


class Role(Enum):
    """What a size n counts: `n` steps; the groups of lanes that it fills, ⌈n/16⌉, at least one; how many times as much
    an access weighs whose lanes lie n elements apart (`kernels/analysis/cost.py`)."""

    STEPS = "steps"
    GROUPS = "groups"
    FAR = "far"


class Factor(NamedTuple):
    """A size and its role; ordered by `tag` and `what`, which say the same."""

    tag: int
    what: str
    name: Name
    role: Role


Product = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """A polynomial with operators."""

    terms: Polynomial[Factor] = ZERO

    def __add__(self, other: Cost) -> Sum:
        return Sum(add(self.terms, terms_of(other)))

    __radd__ = __add__

    def __mul__(self, other: Cost) -> Sum:
        return Sum(mul(self.terms, terms_of(other)))

    __rmul__ = __mul__

    def __truediv__(self, by: float) -> Sum:
        return self * (1.0 / by)

    def __sub__(self, other: Sum) -> Sum:
        return self + other * -1.0


Cost = float | Sum


def size(name: Name, role: Role) -> Sum:
    """The number that a size stands for in `role`."""
    return Sum(atom(Factor(name.tag, role.value, name, role)))


def terms_of(cost: Cost) -> Polynomial[Factor]:
    """The polynomial of a cost; a number is a constant one."""
    return cost.terms if isinstance(cost, Sum) else constant(cost)
