"""Which rows around its own a block needs of an array that it reads by index: a stencil's neighbours.

An index is `i + c`, with i the number of the row at hand, under `max 0`, `min (n-1)` and `select`: it stays in an
interval around i. Other indices say nothing, and the array is needed whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..ir.core import Body, Exp, Fix, Index, PrimOp, Slice
from ..ir.ops import Op
from ..ir.polynomials import Polynomial, add, atom, constant, mul, sub
from ..ir.traverse import all_exps, bodies, operands
from ..ir.types import Atom, Const, Name, Prim, Var

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scope:
    """What is known of scalars: their definitions, and how far the numbers of rows are from the row at hand."""

    width: Atom
    definitions: Mapping[Name, Exp]
    rows: Mapping[Name, int]


def neighbours(scope: Scope, array: Name, shape: tuple[Atom, ...], body: Body) -> Interval | None:
    """The rows around its own that the body of a row needs of `array`: none if it has another use than by an index near
    the row at hand, or one whose check would report something else for a part."""
    reached: list[Interval] = []
    for exp in own_uses(array, body):
        if not (isinstance(exp, Index) and exp.array == array and has_one_check(exp, shape)):
            return None
        first = exp.dims[0]
        near = interval(scope, first.index) if isinstance(first, Fix) else None
        if near is None:
            return None
        reached.append(near)
    return (min(low for low, _ in reached), max(high for _, high in reached)) if reached else None


def own_uses(array: Name, body: Body) -> Iterator[Exp | None]:
    """The expressions of a body that use an array themselves; None for a body that gives it."""
    used = Var(array)
    if used in body.result:
        yield None
    for exp in all_exps(body):
        if used in operands(exp):
            yield exp
        yield from (None for inner in bodies(exp) if used in inner.result)


def has_one_check(index: Index, shape: tuple[Atom, ...]) -> bool:
    """Whether one assertion says all that the check of an index does: every dimension is an index, or all but the first
    are taken whole."""
    rest = zip(index.dims[1:], shape[1:])
    is_row = all(dim == Slice(Const(Prim.I64, 0), size, Const(Prim.I64, 1)) for dim, size in rest)
    return index.safe or is_row or all(isinstance(dim, Fix) for dim in index.dims)


def interval(scope: Scope, index: Atom) -> Interval | None:
    """How far an index is from the number of the row at hand, least and most."""
    if isinstance(index, Const):
        return None
    if index.name in scope.rows:
        return scope.rows[index.name], scope.rows[index.name]
    match scope.definitions.get(index.name):
        case PrimOp(Op.ADD, _, (x, Const(_, c))) | PrimOp(Op.ADD, _, (Const(_, c), x)):
            return shifted(interval(scope, x), int(c))
        case PrimOp(Op.SUB, _, (x, Const(_, c))):
            return shifted(interval(scope, x), -int(c))
        case PrimOp(Op.MAX, _, (x, Const(_, c))) | PrimOp(Op.MAX, _, (Const(_, c), x)) if c <= 0:
            found = interval(scope, x)  # below c <= 0 <= i, what is above x is still no higher than i
            return found and (found[0], max(found[1], 0))
        case PrimOp(Op.MIN, _, (x, y)):
            x, y = (y, x) if is_last_row(scope, x) else (x, y)
            found = interval(scope, x) if is_last_row(scope, y) else None
            return found and (min(found[0], 0), found[1])
        case PrimOp(Op.SELECT, _, (_, x, y)):
            left, right = interval(scope, x), interval(scope, y)
            return left and right and (min(left[0], right[0]), max(left[1], right[1]))
        case _:
            return None


def shifted(found: Interval | None, by: int) -> Interval | None:
    """The interval `by` rows further."""
    return found and (found[0] + by, found[1] + by)


def is_last_row(scope: Scope, x: Atom) -> bool:
    """Whether `x` is n - 1 plus a constant that is not negative: no row at hand is above it."""
    apart = sub(polynomial_of(scope, x), sub(polynomial_of(scope, scope.width), constant(1)))
    return not apart or (len(apart) == 1 and apart[0][0] == () and apart[0][1] > 0)


def polynomial_of(scope: Scope, x: Atom) -> Polynomial[int]:
    """A size as a polynomial in the tags of names."""
    if isinstance(x, Const):
        return constant(x.value)
    match scope.definitions.get(x.name):
        case PrimOp(Op.ADD, Prim.I64, (y, z)):
            return add(polynomial_of(scope, y), polynomial_of(scope, z))
        case PrimOp(Op.SUB, Prim.I64, (y, z)):
            return sub(polynomial_of(scope, y), polynomial_of(scope, z))
        case PrimOp(Op.MUL, Prim.I64, (y, z)):
            return mul(polynomial_of(scope, y), polynomial_of(scope, z))
        case _:
            return atom(x.name.tag)
