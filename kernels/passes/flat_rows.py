"""Rows of a few elements, a lane for each element: several rows in a vector.

    threads i in lo..hi { for j < m { .. if 0 < j < m - 1 { .. xs[i*m + j + c] .. } .. } }
      ⟶  threads t in a*m..b*m { x = xs[t + c]; let j = t mod m; .. if 0 < j < m - 1 { .. x .. } .. }
          for i in lo..a and b..hi { as it was }

Indices may say nothing but what neighbours are: elements lie at `i*m + j` and a number that is the same for all lanes,
or at a choice of two such places, of which both are read. So are those that a branch reads: between the rows a and b
all of these are in the array. Clamps and remainders of neighbours are choices,

    max 0 (j-1) = j - 1 + [j < 1]      min (m-1) (j+1) = j + 1 - [j >= m-1]      (j + 1) mod m = j + 1 - m [j >= m-1]

for j as for i, if that is known to be less than its bound; those of i are none between a and b, nor are comparisons
that change at one of the first rows or the last. The remainder is one of small numbers (`LONGEST`), which lanes have in
few bits (`lanes/linear_division.py`). It is one of u64, since passes cut loops where i64 are divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import partial, reduce

from ...ir.core import Level
from ...ir.ops import COMPARISONS, Op
from ...ir.polynomials import ZERO, add, atom, constant, divided, mul, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, Poly, as_constant, is_constant, is_unit
from ..kernel_ir.affine_code import PolyCode
from ..kernel_ir.dead_code import needed
from ..kernel_ir.nodes import (
    BoundsCheck,
    For,
    KArray,
    KConvert,
    KIf,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    Operand,
    Space,
    Store,
    Threads,
)
from ..kernel_ir.signs import Ranges
from ..kernel_ir.traverse import (
    Stms,
    assigned,
    children,
    defined,
    names,
    rewritten,
    statements,
    variables_in,
    with_children,
)
from .join_rows import Fresh

LONGEST = 32
"""Elements of a row, at most."""
FAR = 1 << 61
"""Beyond every index."""
SMALL = 1 << 20
"""Numbers added to an index: no sum wraps."""
MOST_PLACES = 4
"""Elements of which one is chosen."""
ROWS = 4
"""Rows at an end, which go as they did."""
MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
LATE = {Op.LT: 0, Op.GE: 0, Op.LE: 1, Op.GT: 1}
"""How far behind its bound a comparison changes."""
PLAIN = KLet, Store, KIf, kir.Declare, kir.Assign, kir.Check, BoundsCheck


class _Other(Exception):
    """An index says more than what neighbours are."""


def flat_rows(stms: Stms, values: Environment, sizes: Mapping[KArray, Poly], fresh: Fresh) -> Stms | None:
    """A kernel's statements with its loop over threads, each of which goes over a row of at most `LONGEST` elements, as
    one over the elements; rows are counted from 0. `values`: what is known before them, `sizes`: how many elements
    arrays have. None where there is no such loop, or rows do not lie so."""
    *early, loop = stms
    row = _row(loop.body) if isinstance(loop, Threads) and loop.unit is Level.THREAD else None
    if row is None or not isinstance(loop, Threads) or loop.index.prim is not Prim.I64:
        return None
    inner, body = row
    inside = defined(body) | {loop.index.name, inner.index.name}
    if names(inner.bound) & inside or not all(isinstance(stm, PLAIN) for stm in statements(body)):
        return None
    values, ranges = replace(values, mutable=assigned(body)), Ranges()
    for stm in statements(early):
        ranges.note(stm)
        if isinstance(stm, KLet):
            values.note(stm)
    bounds = {loop.index: ranges.positive_with(loop.hi), inner.index: frozenset({inner.bound})}
    rows = _Rows(values, sizes, fresh, loop, inner, frozenset(inside), bounds, fresh("t"), fresh("element"))
    try:
        return (*early, *rows.loops(rewritten(body, rows.statement)))
    except _Other:
        return None


def _row(body: Stms) -> tuple[For, Stms] | None:
    """The loop along a row, and what a thread does at an element of it."""
    found: list[For] = []

    def taken(stms: Stms) -> Stms:
        out: list[KStm] = []
        positive = dict(_lengths_asked(stms))
        for stm in stms:
            match stm:
                case For():
                    found.append(stm)
                    out += stm.body
                case KIf(cond, then, ()) if cond in positive:
                    out += taken(then)
                    if not found or found[-1].bound != positive[cond]:
                        raise _Other
                case Store():
                    raise _Other
                case _:
                    out.append(stm)
        return tuple(out)

    try:
        made = taken(body)
    except _Other:
        return None
    return (found[0], made) if len(found) == 1 else None


def _lengths_asked(stms: Stms) -> Iterator[tuple[Operand, Operand]]:
    """Conditions that a number is more than 0, with the number."""
    for stm in stms:
        match stm:
            case KLet(var, KOp(Op.LT, Prim.I64, (Const(_, 0), length))):
                yield var, length
            case _:
                pass


@dataclass(slots=True)
class _Rows:
    """`bounds`: what an index is below; `ahead`: what is computed before the loops, `first` in that over elements;
    `since`, `until`: bounds of the rows between a and b; `choices`: numbers that are the first of two where something
    holds, else the second; `within`: indices known to be in range; `loaded`: what is read, by its places; `offsets`:
    by the sizes of arrays, how far off that is."""

    values: Environment
    sizes: Mapping[KArray, Poly]
    fresh: Fresh
    loop: Threads
    inner: For
    inside: frozenset[str]
    bounds: dict[KVar, frozenset[Operand]]
    point: KVar
    element: KVar
    ahead: list[KStm] = field(default_factory=list)
    first: list[KStm] = field(default_factory=list)
    since: list[Operand] = field(default_factory=list)
    until: list[Operand] = field(default_factory=list)
    choices: dict[str, tuple[Operand, Poly, Poly]] = field(default_factory=dict)
    within: set[tuple[Operand, Operand]] = field(default_factory=set)
    loaded: dict[tuple[KArray, Poly], KVar] = field(default_factory=dict)
    offsets: dict[Poly, list[Operand]] = field(default_factory=dict)
    stored: dict[KArray, Poly] = field(default_factory=dict)

    def loops(self, body: Stms) -> Stms:
        """The loop over the elements between the rows a and b, and those over the other rows. Raises _Other."""
        body = needed(body, set())
        if (
            not self.says_no_more(body)
            or not self.stored.keys().isdisjoint(array for array, _ in self.loaded)
            or not self.stored
        ):
            raise _Other
        if self.offsets:
            self.reach()
        a, b = self.loop.lo, self.loop.hi
        for bound in self.since:
            a = self.let_ahead(Op.MAX, a, bound)
        for bound in self.until:
            b = self.let_ahead(Op.MIN, b, bound)
        a = self.let_ahead(Op.MIN, a, self.loop.hi)
        b = self.let_ahead(Op.MAX, a, b)
        flat = Threads(self.point, self.times(a), self.times(b), needed((*self.indices(), *self.first, *body), set()))
        if not self.since and not self.until:
            return (*self.ahead, flat)
        end, is_first = self.fresh("end"), replace(self.fresh("first"), prim=Prim.BOOL)
        lo, hi, count, turn = (self.fresh(base) for base in ("lo", "hi", "count", "turn"))
        ends = (
            KLet(is_first, KOp(Op.EQ, Prim.I64, (end, i64(0)))),
            KLet(lo, KOp(Op.SELECT, Prim.I64, (is_first, self.loop.lo, b))),
            KLet(hi, KOp(Op.SELECT, Prim.I64, (is_first, a, self.loop.hi))),
            KLet(count, KOp(Op.SUB, Prim.I64, (hi, lo))),
            For(turn, count, (KLet(self.loop.index, KOp(Op.ADD, Prim.I64, (lo, turn))), *self.loop.body)),
        )
        return (*self.ahead, flat, For(end, i64(2), ends))

    def indices(self) -> Stms:
        """The place along the row, of the number of the element."""
        u = Prim.U64
        point, size, least, length, column = (
            replace(self.fresh(base), prim=u) for base in ("point", "size", "least", "length", "column")
        )
        return (
            KLet(point, KConvert(Prim.I64, u, self.point)),
            KLet(size, KConvert(Prim.I64, u, self.inner.bound)),
            KLet(least, KOp(Op.MIN, u, (size, Const(u, LONGEST)))),
            KLet(length, KOp(Op.MAX, u, (least, Const(u, 1)))),
            KLet(column, KOp(Op.MOD, u, (point, length))),
            KLet(self.inner.index, KConvert(u, Prim.I64, column)),
            KLet(self.element, KConvert(u, Prim.I64, point)),
        )

    def says_no_more(self, body: Stms) -> bool:
        """Whether nothing but comparisons is left of the index along a row, and of that of the row nothing."""
        counted = names(self.inner.index)
        for stm in statements((*self.first, *body)):
            found = variables_in(with_children(stm, ((),) * len(children(stm))))
            match stm:
                case KLet(var, KOp(Op.ADD | Op.SUB, Prim.I64, _)) if found & counted:
                    counted |= {var.name}
                case KLet(_, KOp(op)) if op in COMPARISONS:
                    pass
                case _ if found & counted:
                    return False
                case _:
                    pass
            if self.loop.index.name in found:
                return False
        return True

    def times(self, x: Operand) -> Operand:
        """The first element of a row."""
        return self.let_ahead(Op.MUL, x, self.inner.bound)

    def let_ahead(self, op: Op, x: Operand, y: Operand) -> KVar:
        var = self.fresh("t")
        self.ahead.append(KLet(var, KOp(op, Prim.I64, (x, y))))
        return var

    def is_outside(self, poly: Poly) -> bool:
        return self.values.mentioned(poly).isdisjoint({*self.inside, *self.choices})

    # ---- statements ----------------------------------------------------------------------------------------------

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        match stm:
            case KLet(var, KLoad(array, index)):
                self.values.note(stm)
                return self.load(var, array, index)
            case Store(array, index, value):
                place = self.place(self.values.of(index))
                if array.space is not Space.GLOBAL or self.stored.setdefault(array, place) != place:
                    raise _Other
                at, code = self.by_point(place)
                return (*code, Store(array, at, value))
            case KLet(var, KOp(op, Prim.I64, (x, y))) if op in LATE and (asked := self.asked(op, x, y)) is not None:
                return (KLet(var, asked),)
            case KLet(var, KOp(op, Prim.I64, args)) if self.is_chosen(var, op, args):
                return (stm,)
            case KLet():
                self.values.note(stm)
                return (stm,)
            case BoundsCheck(index, size) if (index, size) in self.within or self.is_below(index, size):
                return ()
            case _:
                return None

    def is_below(self, index: Operand, size: Operand) -> bool:
        return isinstance(index, KVar) and size in self.bounds.get(index, ())

    def asked(self, op: Op, x: Operand, y: Operand) -> kir.Rhs | None:
        """`i + c op y`: known between a and b if it changes at one of the first rows or the last, else a comparison
        with the first element of a row."""
        left, right, row = self.values.of(x), self.values.of(y), atom(self.loop.index.name)
        if (c := as_constant(sub(left, row))) is None:
            left, right, op, y = right, left, MIRRORED[op], x
            c = as_constant(sub(left, row))
        if c is None or abs(c) >= SMALL or not self.is_outside(right) or names(y) & self.inside:
            return None
        more, way = LATE[op] - c, Op.LT if op in (Op.LT, Op.LE) else Op.GE
        if isinstance(y, Const):
            first = i64(max(-FAR, min(FAR, int(y.value))) + more)
            if int(first.value) <= ROWS:
                self.since.append(first)
                return KConvert(Prim.BOOL, Prim.BOOL, Const(Prim.BOOL, way is Op.GE))
        else:
            near = self.near(y)
            first = self.let_ahead(Op.ADD, near, i64(more)) if more else near
            left_over = (as_constant(sub(self.values.of(n), right)) for n in self.bounds[self.loop.index])
            if any(n is not None and n - more <= ROWS for n in left_over):
                self.until.append(first)
                return KConvert(Prim.BOOL, Prim.BOOL, Const(Prim.BOOL, way is Op.LT))
        first = self.let_ahead(Op.MIN, self.let_ahead(Op.MAX, first, self.loop.lo), self.loop.hi)
        return KOp(way, Prim.I64, (self.element, self.times(first)))

    def near(self, x: Operand) -> Operand:
        """A number as one that is no further off than any index."""
        return self.let_ahead(Op.MIN, self.let_ahead(Op.MAX, x, i64(-FAR)), i64(FAR))

    # ---- choices -------------------------------------------------------------------------------------------------

    def is_chosen(self, var: KVar, op: Op, args: tuple[Operand, ...]) -> bool:
        """Whether it is a clamp or a remainder of a neighbour, or a choice, which is noted: a number and one of two
        others."""
        if op is Op.SELECT:
            cond, x, y = args
            some, others = self.values.of(x), self.values.of(y)
            if self.is_outside(some) or not self.is_outside(apart := sub(some, others)):
                return False
            self.note_choice(var, others, (cond, apart, ZERO))
            return True
        if len(args) != 2:
            return False
        for index, sizes in self.bounds.items():
            for size in sorted(sizes, key=str):
                if (found := self.neighbour(op, args, index, size)) is not None:
                    self.note_neighbour(var, index, size, *found)
                    return True
        return False

    def neighbour(self, op: Op, args: tuple[Operand, ...], index: KVar, size: Operand) -> tuple[bool, int, Poly] | None:
        """(does the last index have another one, not the first; how far off the others have theirs; what is added)"""
        x, y = map(self.values.of, args)
        here, n = atom(index.name), self.values.of(size)
        after, before = add(here, constant(1)), sub(here, constant(1))
        if op in (Op.MOD, Op.REM) and y == n and x == after:
            return True, 1, sub(ZERO, n)
        if op in (Op.MOD, Op.REM) and y == n and x == add(before, n):
            return False, -1, n
        if op is Op.MOD and y == n and x == before:
            return False, -1, n
        if op is Op.MIN and {x, y} == {sub(n, constant(1)), after}:
            return True, 1, constant(-1)
        if op is Op.MAX and {x, y} == {ZERO, before}:
            return False, -1, constant(1)
        return None

    def note_neighbour(self, var: KVar, index: KVar, size: Operand, is_last: bool, step: int, more: Poly) -> None:
        """`var` is the neighbour of an index; between a and b rows have theirs."""
        here, bound = add(atom(index.name), constant(step)), self.let_ahead(Op.SUB, size, i64(1)) if is_last else i64(1)
        self.within.add((var, size))
        if index == self.loop.index:
            (self.until if is_last else self.since).append(bound)
            self.values.polys[var.name] = here
            return
        cond = replace(self.fresh("ends"), prim=Prim.BOOL)
        self.first.append(KLet(cond, KOp(Op.GE if is_last else Op.LT, Prim.I64, (index, bound))))
        self.note_choice(var, here, (cond, more, ZERO))

    def note_choice(self, var: KVar, rest: Poly, ways: tuple[Operand, Poly, Poly]) -> None:
        which = self.fresh("which").name
        self.choices[which] = ways
        self.values.polys[var.name] = add(rest, atom(which))

    # ---- elements ------------------------------------------------------------------------------------------------

    def place(self, index: Poly) -> Poly:
        """How far an element is from that of the thread. Raises _Other."""
        step, rest = divided(index, self.inner.index.name)
        rows, rest = divided(rest, self.loop.index.name)
        if not is_unit(step) or rows != self.values.of(self.inner.bound):
            raise _Other
        if not self.values.mentioned(rest).isdisjoint(self.inside):
            raise _Other
        return rest

    def load(self, var: KVar, array: KArray, index: Operand) -> tuple[KStm, ...]:
        """The element that is read, chosen of those at all places where it may be. Raises _Other."""
        out: list[KStm] = []
        found = self.chosen(out, array, self.place(self.values.of(index)), MOST_PLACES)
        return (*out, KLet(var, KConvert(var.prim, var.prim, found)))

    def chosen(self, out: list[KStm], array: KArray, place: Poly, most: int) -> KVar:
        which = next((name for monomial, _ in place for name in monomial if name in self.choices), None)
        if which is None:
            return self.at(array, place)
        if most == 1:
            raise _Other
        cond, *ways = self.choices[which]
        factor, rest = divided(place, which)
        some, other = (self.chosen(out, array, add(rest, mul(factor, way)), most // 2) for way in ways)
        x = replace(self.fresh("x"), prim=array.prim)
        out.append(KLet(x, KOp(Op.SELECT, array.prim, (cond, some, other))))
        return x

    def at(self, array: KArray, place: Poly) -> KVar:
        """The element of an array that many elements off, loaded first of all; between a and b it is there."""
        if (array, place) not in self.loaded:
            if array not in self.sizes:
                raise _Other
            self.bound(place, self.sizes[array])
            x, (at, code) = replace(self.fresh("x"), prim=array.prim), self.by_point(place)
            self.first += (*code, KLet(x, KLoad(array, at)))
            self.loaded[array, place] = x
        return self.loaded[array, place]

    def by_point(self, place: Poly) -> tuple[Operand, list[KStm]]:
        """The index of an element that is so far off, and the code for it. Raises _Other."""
        if not self.is_outside(place):
            raise _Other
        self.values.prims.setdefault(self.point.name, Prim.I64)
        code = PolyCode(self.values.prims, self.fresh)
        return code.value(add(atom(self.point.name), place)), code.out

    def bound(self, place: Poly, size: Poly) -> None:
        """Between a and b an element so far off is one of the array, which has `size`."""
        width = self.values.of(self.inner.bound)
        if not place and any(size == mul(width, self.values.of(n)) for n in self.bounds[self.loop.index]):
            return
        far = place[0][1] if is_constant(place) else FAR
        off = i64(as_constant(place) or 0) if abs(far) < SMALL else self.near(self.ahead_of(place))
        self.offsets.setdefault(size, []).append(off)

    def ahead_of(self, value: Poly) -> Operand:
        return PolyCode(self.values.prims, self.fresh, self.ahead).value(value)

    def reach(self) -> None:
        """Where the rows between a and b begin and end, by what they read."""
        length = self.let_ahead(Op.MAX, self.inner.bound, i64(1))
        for size, offsets in self.offsets.items():
            least, most = (reduce(partial(self.let_ahead, op), offsets) for op in (Op.MIN, Op.MAX))
            back = self.let_ahead(Op.SUB, self.let_ahead(Op.SUB, length, i64(1)), least)
            self.since.append(self.let_ahead(Op.DIV, back, length))
            self.until.append(self.let_ahead(Op.DIV, self.let_ahead(Op.SUB, self.ahead_of(size), most), length))
