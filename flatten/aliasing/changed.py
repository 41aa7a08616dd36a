"""Bounds of the points at which a map over an array gives something else than the element that was there.

    map i j: if i <= k then a[i, j] else e         changes points from (k + 1, 0) on

Bounds are linear forms of what the map's points share. They come from comparisons of an index that decide between the
element and something else; what else they decide only makes the true bounds narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from ...ir.core import Copied, If, PrimOp, Stm
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Atom, Const, Name, Prim, Var
from .regions import Defined, Form, at_most, form_of, minus, plus

Bounds = tuple[Form | None, Form | None]
"""The least index of a dimension, and the first one that is too large; None where there is no bound but that of the
dimension."""


@dataclass(frozen=True, slots=True)
class Box:
    """Bounds of each dimension."""

    dims: tuple[Bounds, ...]

    def both(self, other: Box) -> Box:
        """What is in both."""
        pairs = zip(self.dims, other.dims, strict=True)
        return Box(tuple((_narrower(a, c, larger=True), _narrower(b, d, larger=False)) for (a, b), (c, d) in pairs))

    def around(self, other: Box) -> Box:
        """What has both inside."""
        pairs = zip(self.dims, other.dims, strict=True)
        return Box(tuple((_wider(a, c, larger=False), _wider(b, d, larger=True)) for (a, b), (c, d) in pairs))


def hull(boxes: Iterator[Box | None]) -> Box | None:
    """What has all boxes inside; None is the empty one."""
    found: Box | None = None
    for box in boxes:
        found = found if box is None else box if found is None else found.around(box)
    return found


def _narrower(x: Form | None, y: Form | None, *, larger: bool) -> Form | None:
    if x is None or y is None:
        return x if y is None else y
    return y if (at_most(x, y) if larger else at_most(y, x)) else x


def _wider(x: Form | None, y: Form | None, *, larger: bool) -> Form | None:
    if x is None or y is None:
        return None
    if at_most(x, y):
        return y if larger else x
    return (x if larger else y) if at_most(y, x) else None


# ---- what changes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Changes:
    """The points of a map with these `indices`, of which `is_old` knows the atoms that are the element of before;
    `inside`: what is bound by the code of a point, `small`: sizes and counters, sums of which do not overflow."""

    indices: tuple[Name, ...]
    defined: Defined
    inside: Collection[Name]
    small: Collection[Name]
    is_old: Callable[[Atom], bool]

    @property
    def all(self) -> Box:
        return Box(tuple((None, None) for _ in self.indices))

    def box(self, atom: Atom) -> Box | None:
        """Bounds of the points at which `atom` is not the element of before; None if there is none."""
        stm = self.defined.get(atom.name) if isinstance(atom, Var) and not self.is_old(atom) else None
        match stm.exp if stm is not None else None:
            case Copied(source):
                return self.box(source)
            case If(cond, then, orelse) if stm is not None:
                place = next(k for k, p in enumerate(stm.pat) if Var(p.name) == atom)
                return self.sides(cond, then.result[place], orelse.result[place])
            case PrimOp(Op.SELECT, _, (cond, x, y)):
                return self.sides(cond, x, y)
            case _:
                return None if self.is_old(atom) else self.all

    def sides(self, cond: Atom, x: Atom, y: Atom) -> Box | None:
        boxes = ((self.box(atom), self.where(cond, holds)) for atom, holds in ((x, True), (y, False)))
        return hull(box.both(where) if box is not None else None for box, where in boxes)

    def where(self, cond: Atom, holds: bool) -> Box:
        """Bounds of the points at which a condition holds, or does not."""
        stm = self.defined.get(cond.name) if isinstance(cond, Var) else None
        match stm.exp if stm is not None else None:
            case Copied(source):
                return self.where(source, holds)
            case PrimOp(Op.NOT, _, (x,)):
                return self.where(x, not holds)
            case PrimOp(Op.AND | Op.OR as op, Prim.BOOL, (x, y)):
                first, second = self.where(x, holds), self.where(y, holds)
                return first.both(second) if (op is Op.AND) == holds else first.around(second)
            case PrimOp(op, Prim.I64, (x, y)) if op in NEGATED:
                op = op if holds else NEGATED[op]
                return self.compared(op, x, y) or self.compared(MIRRORED[op], y, x) or self.all
            case _:
                return self.all

    def compared(self, op: Op, x: Atom, y: Atom) -> Box | None:
        """Bounds of the points at which x op y, for an index x and what all points share; no less, and no more."""
        own, bound = form_of(x, self.defined), self.shared(y)
        names = [name for name in own if name is not None]
        number = own.get(None, 0)
        if len(names) != 1 or names[0] not in self.indices or own[names[0]] != 1 or bound is None or abs(number) > MOST:
            return None
        bounds = _bounds(op, minus(bound, {None: number}))
        return Box(tuple(bounds if name == names[0] else (None, None) for name in self.indices))

    def shared(self, atom: Atom) -> Form | None:
        """A number that all points share, as a form whose sums do not overflow."""
        form = form_of(atom, self.defined)
        if isinstance(atom, Const) or all(name in self.small for name in form if name is not None):
            return form if abs(form.get(None, 0)) <= MOST else None
        return None if atom.name in self.inside or atom.name in self.indices else {atom.name: 1}


MOST = 1 << 32
"""The most that is added to a bound."""

NEGATED = {Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE, Op.EQ: Op.NE, Op.NE: Op.EQ}
MIRRORED = {Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}


def _bounds(op: Op, bound: Form) -> Bounds:
    """Those of an index with `index op bound`."""
    after = plus(bound, {None: 1})
    match op:
        case Op.LT:
            return None, bound
        case Op.LE:
            return None, after
        case Op.GT:
            return after, None
        case Op.GE:
            return bound, None
        case Op.EQ:
            return bound, after
        case _:
            return None, None


def folded(changes: Changes, stm: Stm, box: Box) -> Stm:
    """A comparison that holds at all points of the box, or at none, as the constant that it is there."""
    match stm.exp:
        case PrimOp(op, Prim.I64, _) if op in NEGATED and op not in (Op.EQ, Op.NE):
            for holds in (True, False):
                if _implied(changes.where(Var(stm.pat[0].name), holds), box):
                    return replace(stm, exp=Copied(Const(Prim.BOOL, holds)))
        case _:
            pass
    return stm


def _implied(where: Box, box: Box) -> bool:
    """Whether all points of `box` are within the one bound that `where` has."""
    for (low, high), (least, end) in zip(where.dims, box.dims, strict=True):
        if low is not None:
            return least is not None and at_most(low, least)
        if high is not None:
            return end is not None and at_most(end, high)
    return False
