"""Indices as polynomials, and when two equal indices must belong to the same thread.

An index is `fixed + c1*x1 + c2*x2 + ..`: `fixed` and the coefficients are polynomials over values that do not change
between the two accesses compared; the digits x range over 0 <= x < bound: the number k of a thread's index in its loop
(index lo + k is executed by thread k mod t), and the indices of loops. If each coefficient is the next one times the
next one's bound, as in the address of a dense array, the digits are those of a mixed-radix number: equal indices have
equal digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from math import gcd

from ...ir.ops import Op
from ...ir.polynomials import ZERO, Monomial, Polynomial, add, atom, constant, mul, polynomial, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from . import nodes as kir
from .nodes import KVar, Operand
from .traverse import rhs_operands

Poly = Polynomial[str]
"""A polynomial over i64 values."""
MOST = 1000
"""Letters of the names in a polynomial that is followed, which squares of squares have twice as many of each time."""


def is_long(poly: Poly) -> bool:
    """Whether a value is better known by its name alone."""
    return sum(len(name) for monomial, _ in poly for name in monomial) > MOST


def value_poly(rhs: kir.Rhs, args: list[Poly]) -> Poly | None:
    """The polynomial of a right-hand side whose operands are `args`; None where it is none."""
    match rhs:
        case kir.KOp(Op.ADD, Prim.I64, _):
            return add(*args)
        case kir.KOp(Op.SUB, Prim.I64, _):
            return sub(*args)
        case kir.KOp(Op.MUL, Prim.I64, _):
            return mul(*args)
        case kir.KOp(Op.NEG, Prim.I64, _):
            return sub(ZERO, args[0])
        case kir.KConvert(source, Prim.I64) if source.is_signed:
            return args[0]
        case _:
            return None


@dataclass(slots=True)
class Environment:
    """What is known of i64 values: the polynomial of each variable in others that do not change, and the types of
    these. Variables of `mutable` are not looked through. With `divides`, x rem n is x - n*(x quot n), where the
    quotient is an atom: `quotients` has the names that it is made of."""

    mutable: frozenset[str] = frozenset()
    divides: bool = False
    polys: dict[str, Poly] = field(default_factory=dict)
    prims: dict[str, Prim] = field(default_factory=dict)
    quotients: dict[str, frozenset[str]] = field(default_factory=dict)

    def of(self, x: Operand) -> Poly:
        """The polynomial of an operand: of a variable of which nothing is known, itself."""
        if isinstance(x, Const):
            return constant(x.value) if isinstance(x.value, int) else atom(repr(x))
        self.prims.setdefault(x.name, x.prim)
        return self.polys.get(x.name, atom(x.name))

    def value(self, rhs: kir.Rhs) -> Poly | None:
        """The polynomial of a right-hand side; None where it is none."""
        args = rhs_operands(rhs)
        variables = [x for x in args if isinstance(x, KVar)]
        for x in variables:
            if x.name in self.mutable:
                return None
        if not isinstance(rhs, kir.KConvert) and not (isinstance(rhs, kir.KOp) and rhs.prim is Prim.I64):
            for x in variables:
                self.prims.setdefault(x.name, x.prim)
            return None
        polys = [self.of(x) for x in args]
        match rhs:
            case kir.KOp(Op.QUOT, Prim.I64) if self.divides:
                found = self._quotient(*polys)
            case kir.KOp(Op.REM, Prim.I64) if self.divides:
                found = sub(polys[0], mul(polys[1], self._quotient(*polys)))
            case _:
                found = value_poly(rhs, polys)
        return None if found is None or is_long(found) else found

    def _quotient(self, x: Poly, y: Poly) -> Poly:
        name = f"{x} quot {y}"
        self.quotients[name] = self.mentioned(x) | self.mentioned(y)
        return atom(name)

    def note(self, let: kir.KLet) -> None:
        """A variable gets its value."""
        known = self.value(let.rhs)
        if known is None:
            self.prims[let.var.name] = let.var.prim
        self.polys[let.var.name] = atom(let.var.name) if known is None else known

    def copy(self) -> Environment:
        """The same, of which others learn nothing."""
        return replace(self, polys=dict(self.polys), prims=dict(self.prims), quotients=dict(self.quotients))

    def mentioned(self, poly: Poly) -> frozenset[str]:
        """The names on which a polynomial depends, those of quotients among them."""
        return frozenset(n for monomial, _ in poly for name in monomial for n in (name, *self.quotients.get(name, ())))


@dataclass(frozen=True, slots=True)
class Digit:
    """A factor x of a term of an index, 0 <= x < bound (None: no bound that is a polynomial). `is_thread`: x is the
    number of the thread's index in its loop. `below`: a constant that it does not reach, if one is known."""

    bound: Poly | None
    is_thread: bool
    below: int | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """`fixed + sum of coefficient * digit`, the digits by falling weight where that is known."""

    fixed: Poly
    digits: tuple[tuple[Poly, Digit], ...]


def form_of(index: Poly, digits: Mapping[str, Digit], varying: frozenset[str] | set[str]) -> Form | None:
    """The form of an index; None if it is not linear in its digits, or has values that vary over the threads in an
    unknown way."""
    fixed: dict[Monomial[str], int] = {}
    factors: dict[str, dict[Monomial[str], int]] = {}
    for monomial, c in index:
        found = [name for name in monomial if name in digits]
        if len(found) > 1 or any(name in varying for name in monomial):
            return None
        if not found:
            fixed[monomial] = c
            continue
        rest = list(monomial)
        rest.remove(found[0])
        factors.setdefault(found[0], {})[tuple(rest)] = c
    terms = [(polynomial(terms.items()), digits[name]) for name, terms in factors.items()]
    return Form(polynomial(fixed.items()), in_order(terms))


def in_order(terms: list[tuple[Poly, Digit]]) -> tuple[tuple[Poly, Digit], ...]:
    """The terms from the heaviest to the lightest: each weight is the next one times the next bound. Terms that make no
    such chain stay as they are."""
    if len(terms) < 2:
        return tuple(terms)
    for lightest in terms:
        chain, rest = [lightest], [t for t in terms if t is not lightest]
        while rest:
            weight, digit = chain[0]
            heavier = [t for t in rest if digit.bound is not None and t[0] == mul(weight, digit.bound)]
            if not heavier:
                break
            chain.insert(0, heavier[0])
            rest.remove(heavier[0])
        if not rest:
            return tuple(chain)
    return tuple(terms)


def is_radix(form: Form) -> bool:
    """Do the digits make a mixed-radix number? Weights are taken not to be 0: an array with a stride of 0 has no
    elements that are accessed."""
    pairs = zip(form.digits, form.digits[1:])
    return all(light[1].bound is not None and heavy[0] == mul(light[0], light[1].bound) for heavy, light in pairs)


def same_thread(x: Form | None, y: Form | None) -> bool:
    """Do equal indices of two thread loops mean the same thread?

    Either both are the same mixed-radix number, or both are the same number below R plus multiples of R + c: rows of R
    elements, or arrays of R, whichever they are, with room between them."""
    if x is None or y is None:
        return False
    if x.digits == y.digits and is_radix(x) and any(digit.is_thread for _, digit in x.digits):
        apart, whole = sub(x.fixed, y.fixed), width_of(x)
        if apart == ZERO or (whole is not None and is_in_rows(apart, whole)):
            return True
    first, second = within_row(x), within_row(y)
    return first is not None and first == second and is_in_rows(sub(x.fixed, y.fixed), first.width)


def width_of(form: Form) -> Poly | None:
    """What a mixed-radix number stays below; None where that is not known."""
    if not form.digits or not is_radix(form):
        return None
    (heaviest, digit), lightest = form.digits[0], form.digits[-1][0]
    return None if digit.bound is None or not is_unit(lightest) else mul(heaviest, digit.bound)


@dataclass(frozen=True, slots=True)
class Row:
    """The digits of an index from the thread's down, and R: what they count is at least 0 and below R."""

    digits: tuple[tuple[Poly, Digit], ...]
    width: Poly


def within_row(form: Form) -> Row | None:
    """The digits of an index within its row, where the others count whole rows."""
    threads = [term for term in form.digits if term[1].is_thread]
    if len(threads) != 1 or threads[0][1].bound is None:
        return None
    ((weight, digit),) = threads
    assert digit.bound is not None
    width = mul(weight, digit.bound)
    low = in_order([term for term in form.digits if not is_multiple(term[0], width)])
    if low[:1] != (threads[0],) or not is_radix(Form(ZERO, low)) or not is_unit(low[-1][0]):
        return None
    return Row(low, width)


def is_unit(x: Poly) -> bool:
    """Whether a polynomial is the constant 1."""
    return x == constant(1)


def is_multiple(x: Poly, y: Poly) -> bool:
    """Is `x` a multiple of `y`, which has one term? (0 is.)"""
    if len(y) != 1:
        return False
    ((names, factor),) = y
    return all(c % factor == 0 and not Counter(names) - Counter(monomial) for monomial, c in x)


def is_in_rows(x: Poly, width: Poly) -> bool:
    """Is `x` a number of whole rows of this width, with room between them or not?"""
    return rows_in(x, width) is not None


def rows_in(x: Poly, width: Poly) -> Poly | None:
    """The polynomial q of `x` = q * (width + c) for a constant c >= 0; None if there is none. `width` has one term."""
    if len(width) != 1:
        return None
    ((names, factor),) = width
    whole = {m: c for m, c in x if c % factor == 0 and not Counter(names) - Counter(m)}
    rest = tuple((m, c) for m, c in x if m not in whole)
    q = polynomial((tuple(sorted((Counter(m) - Counter(names)).elements())), c // factor) for m, c in whole.items())
    apart = dict(rest).get(q[0][0], 0) // q[0][1] if q else 0
    return q if apart >= 0 and rest == mul(constant(apart), q) else None


def disjoint(x: Form | None, y: Form | None) -> bool:
    """Are two indices never equal? Known where their fixed parts differ by c + g*z, for a constant c and any integer z,
    and the digits make up for none of these numbers: a constant alone, or the other half of a double buffer. Of a
    width that is no constant: where the digits of both stay below it, and they are apart by such a number of rows."""
    if x is None or y is None:
        return False
    apart = sub(x.fixed, y.fixed)
    whole = width_of(x)
    if whole is not None and whole == width_of(y):
        rows = rows_in(apart, whole)
        if rows is not None and misses(rows, 0, 0):
            return True
    below, above = reach(x), reach(y)
    if below is None or above is None:
        return False
    return misses(apart, below, above)


def misses(x: Poly, below: int, above: int) -> bool:
    """Is `x` no number from -below to above, whatever its variables are?"""
    terms = dict(x)
    c, g = terms.pop((), 0), gcd(*terms.values())
    least = (c + below) % g - below if g else c  # of the numbers c + g*z that are not under -below
    return not -below <= least <= above


def reach(form: Form) -> int | None:
    """The most that its digits add up to, if that is known."""
    total = 0
    for weight, digit in form.digits:
        factor = as_constant(weight)
        if factor is None or factor < 0 or digit.below is None:
            return None
        total += factor * max(0, digit.below - 1)
    return total


def as_constant(x: Poly) -> int | None:
    """The value of a constant polynomial; None for others."""
    if x == ZERO:
        return 0
    return x[0][1] if is_constant(x) else None


def name_of(x: Poly) -> str:
    """The name that a polynomial is, or none."""
    match x:
        case (((name,), 1),):
            return name
        case _:
            return ""


def first_thread(uniform: Form | None, each: Form | None) -> bool:
    """Where a thread loop meets the index that the first thread uses, is it the first thread too? The thread's digit
    must be the heaviest, and the rest of the index below its weight."""
    if uniform is None or each is None or uniform.digits or not each.digits:
        return False
    weight, heaviest = each.digits[0]
    if not (heaviest.is_thread and is_radix(each)):
        return False
    rest = sub(uniform.fixed, each.fixed)
    if rest == ZERO:
        return True
    return is_constant(rest) and is_constant(weight) and 0 < rest[0][1] < weight[0][1]


def is_constant(x: Poly) -> bool:
    """A number other than 0."""
    return len(x) == 1 and x[0][0] == ()
