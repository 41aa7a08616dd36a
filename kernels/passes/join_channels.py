"""Loops over threads whose points have a few elements that lie side by side: the elements as they lie.

    threads j in lo..hi { ys[3*j] := f xs[3*j + c]; ys[3*j + 1] := f xs[3*j + 1 + c]; ys[3*j + 2] := f xs[3*j + 2 + c] }
      ⟶  threads t in 3*lo..3*hi { ys[t] := f xs[t + c] }

where the elements of a point (its colours, the parts of a vector) are computed alike: what differs between them is
where they lie, or a value that all points share, which is then chosen by t rem 3, if enough else is done. So vectors
of neighbours are loaded and stored whole, where points in lanes part and join rows. A loop over the elements of a
point, `for c < k`, is the same. Of a loop whose ends differ this is done in the middle; the ends go one by one
(`peel_boundaries.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from ...ir.ops import Op
from ...ir.polynomials import ZERO, add, atom, constant, divided, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, as_constant
from ..kernel_ir.affine_code import PolyCode
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import For, KArray, Kernel, KIf, KLet, KLoad, KOp, KStm, KVar, Operand, Space, Store, Threads
from ..kernel_ir.traverse import (
    Stms,
    assigned,
    defined,
    loaded_arrays,
    map_rhs,
    names,
    operands,
    rewritten,
    rhs_operands,
    statements,
)
from .join_rows import joined_apart
from .peel_boundaries import peel_boundaries, peel_remainders

MOST, MOST_STATEMENTS = 16, 400
"""Elements of a point, and what all of them take."""
LOADS = 4
"""Elements that are read for each value that is chosen by the number of the element, which takes as long."""
Values = tuple[Operand, ...]
"""What is the same for the elements of a point, one for each."""


def join_channels(kernel: Kernel) -> Kernel:
    """The kernel with such loops joined; the same one where there are none."""
    joiner = _Joiner(Environment(assigned(kernel.body)), NewNames("c", exact=True))
    body = rewritten(kernel.body, joiner.statement)
    return replace(kernel, body=body) if joiner.joined else kernel


def has_channels(kernel: Kernel) -> bool:
    """Whether loops of the kernel are joined, in their middles at least, when it has been through the passes."""
    cut = peel_boundaries(peel_remainders(kernel))
    return join_channels(cut) is not cut


class _Differ(Exception):
    """The elements of a point are not computed alike."""


@dataclass(slots=True)
class _Joiner:
    """`values`: of the variables so far; `joined`: how many loops were."""

    values: Environment
    new: NewNames
    joined: int = 0

    def statement(self, stm: KStm) -> Iterable[KStm] | None:
        if isinstance(stm, KLet):
            self.values.note(stm)
        if not isinstance(stm, Threads | kir.PeeledThreads) or stm.index.prim is not Prim.I64:
            return None
        found = self.elements(stm)
        if found is None:
            return (stm,)
        self.joined += 1
        return self.loop(stm, *found)

    def elements(self, stm: Threads | kir.PeeledThreads) -> tuple[Operand, KVar, Stms] | None:
        """How many elements a point has, the number of one among those of all points, and what makes it; None where
        they are not made alike."""
        body = stm.middle if isinstance(stm, kir.PeeledThreads) else stm.body
        point = self.new.name("t", Prim.I64)
        match body:
            case (*lets, For(index, count, inner)) if all(isinstance(one, KLet) for one in lets):
                if count.prim is not Prim.I64 or (isinstance(count, KVar) and count.name in defined(body)):
                    return None
                nest = (stm.index, count), (index, count)
                stms = joined_apart((*lets, *inner), nest, point, self.values, self.new.name)
                return None if stms is None else (count, point, stms)
            case _:
                try:
                    stores = _stores(body)
                    alike = _Alike(self.values.copy(), self.new, stm.index, point, len(stores[0]))
                    return i64(alike.count), point, alike.joined(body, stores)
                except _Differ:
                    return None

    def loop(self, stm: Threads | kir.PeeledThreads, count: Operand, point: KVar, body: Stms) -> Iterator[KStm]:
        """The loop over elements, and the points at the ends one by one."""
        out: list[KStm] = []
        a, b = stm.lo, stm.hi
        if isinstance(stm, kir.PeeledThreads):
            a = self.new.let(out, Op.MIN, stm.since, stm.hi)
            b = self.new.let(out, Op.MAX, stm.until, a)
        lo, hi = (self.new.let(out, Op.MUL, x, count) for x in (a, b))
        yield from out
        yield Threads(point, lo, hi, body)
        if isinstance(stm, kir.PeeledThreads):
            yield from self.ends(stm, a, b)

    def ends(self, stm: kir.PeeledThreads, a: Operand, b: Operand) -> Iterator[KStm]:
        """The points before a and from b on, one after the other."""
        out: list[KStm] = []
        k = self.new.name("end", Prim.I64)
        before = self.new.let(out, Op.SUB, a, stm.lo)
        count = self.new.let(out, Op.ADD, before, self.new.let(out, Op.SUB, stm.hi, b))
        late = self.new.let(out, Op.SUB, b, before)
        yield from out
        copy = self.new.copy()
        first, start = self.new.name("first", Prim.BOOL), self.new.name("start", Prim.I64)
        at = (
            KLet(first, KOp(Op.LT, Prim.I64, (k, before))),
            KLet(start, KOp(Op.SELECT, Prim.I64, (first, stm.lo, late))),
            KLet(copy.made(stm.index), KOp(Op.ADD, Prim.I64, (start, k), True)),
        )
        yield For(k, count, (*at, *copy.rewritten(stm.body)))


# ---- elements of a constant number ------------------------------------------------------------------------------


def _stores(body: Stms) -> list[tuple[Store, ...]]:
    """The stores of each array, which no other statement touches, as many of each. Raises _Differ."""
    found: dict[KArray, list[Store]] = {}
    for stm in body:
        match stm:
            case Store(array, _, _, False) if array.space is not Space.PRIVATE:
                found.setdefault(array, []).append(stm)
            case KLet() | kir.Declare() | kir.Assign() | KIf() | kir.Note():
                pass
            case _:
                raise _Differ
    inner = [one for one in statements(body) if not isinstance(one, Store)]
    counts = {len(stores) for stores in found.values()}
    if len(inner) > MOST_STATEMENTS or len(counts) != 1 or not 2 <= max(counts) <= MOST:
        raise _Differ
    if not all(isinstance(one, KLet | kir.Declare | kir.Assign | KIf | kir.Note) for one in inner):
        raise _Differ
    if any(array in found for one in inner for array in loaded_arrays(one)):
        raise _Differ
    return [tuple(stores) for stores in found.values()]


@dataclass(frozen=True, slots=True)
class _Branch:
    """The value of a variable that is assigned once on each side of a branch, nowhere else, and used behind it."""

    cond: Operand
    init: Operand
    then: Operand
    orelse: Operand


@dataclass(slots=True)
class _Alike:
    """What makes the elements of a point, as one of them. `point`: the number of an element; `made`: where a value of
    the elements, one operand for each, is already, in the list of statements under construction and those around it;
    `made_by`: what makes the variables of the body, which are those `inside`; `first`: statements ahead of all others;
    `choices`: how many are made by the number of the element; `shared`: which variables are the same for all points, of
    those that were asked for."""

    values: Environment
    new: NewNames
    index: KVar
    point: KVar
    count: int
    made_by: dict[str, kir.Rhs | _Branch] = field(default_factory=dict)
    inside: frozenset[str] = frozenset()
    made: list[dict[Values, Operand]] = field(default_factory=lambda: [{}])
    out: list[KStm] = field(default_factory=list)
    first: list[KStm] = field(default_factory=list)
    choices: int = 0
    shared: dict[str, bool] = field(default_factory=dict)

    def joined(self, body: Stms, stores: Iterable[tuple[Store, ...]]) -> Stms:
        """The statements of an element. Raises _Differ where elements are not alike."""
        self.inside = defined(body) | {self.index.name}
        self.note(body, Counter(one.var.name for one in statements(body) if isinstance(one, kir.Assign)))
        self.values.prims[self.point.name] = Prim.I64
        for several in stores:
            start = several[0].index
            row = sorted(several, key=lambda one: self.offset(one.index, start))
            value = self.value(tuple([one.value for one in row]))
            place = self.place(tuple([one.index for one in row]))
            self.out.append(replace(row[0], index=place, value=value))
        loads = sum(isinstance(one, KLet) and isinstance(one.rhs, KLoad) for one in statements(self.out))
        if loads < LOADS * self.choices:
            raise _Differ
        return (*self.first, *self.out)

    def note(self, stms: Stms, counts: Mapping[str, int]) -> frozenset[str]:
        """What makes the variables; gives the names that statements read. `counts`: how often each is assigned."""
        fresh: dict[str, Operand] = {}
        read: set[str] = set()
        for stm in stms:
            read |= names(*operands(stm))
            match stm:
                case KLet(var, rhs):
                    self.values.note(stm)
                    self.made_by[var.name] = rhs
                case kir.Declare(var, init):
                    self.values.prims[var.name] = var.prim
                    fresh[var.name] = init
                case kir.Assign(var, value) if var.name in fresh.keys() - read and counts[var.name] == 1:
                    self.made_by[var.name] = kir.KConvert(var.prim, var.prim, value)
                case KIf(cond, then, orelse):
                    read |= self.note(then, counts) | self.note(orelse, counts)
                    first, second = _assigned(then), _assigned(orelse)
                    for name in (first.keys() & second.keys() & fresh.keys()) - read:
                        if counts[name] == 2:
                            self.made_by[name] = _Branch(cond, fresh[name], first[name], second[name])
                case _:
                    pass
        return frozenset(read)

    def offset(self, x: Operand, y: Operand) -> int:
        """How far a place is behind another one."""
        found = as_constant(sub(self.values.of(x), self.values.of(y)))
        if found is None:
            raise _Differ
        return found

    def place(self, places: Values) -> Operand:
        """Where the elements are that have these places: side by side, or all at one."""
        step, rest = divided(self.values.of(places[0]), self.index.name)
        offsets = [self.offset(x, places[0]) for x in places]
        if not {name for monomial, _ in rest for name in monomial} <= self.values.prims.keys() - self.inside:
            raise _Differ
        code = PolyCode(self.values.prims, lambda base: self.new.name(base, Prim.I64))
        if step == constant(self.count) and offsets == list(range(self.count)):
            at = code.value(add(atom(self.point.name), rest))
        elif step == ZERO and not any(offsets):
            at = code.value(rest)
        else:
            raise _Differ
        self.out += code.out
        return at

    def value(self, values: Values) -> Operand:
        """A value of the elements, made where it is not yet."""
        for scope in self.made:
            if values in scope:
                return scope[values]
        if len(set(values)) > 1 and all(map(self.is_shared, values)):
            return self.shared_value(values)
        elif self.is_outside(values[0]) and len(set(values)) == 1:
            found = values[0]
        else:
            found = self.computed(values)
        self.made[-1][values] = found
        return found

    def shared_value(self, values: Values) -> Operand:
        """A value that all points share but for the number of the element, made ahead of all branches."""
        out, made = self.out, self.made
        self.out, self.made = self.first, made[:1]
        found = self.chosen(tuple([self.value((x,) * self.count) for x in values]))
        made[0][values] = found
        self.out, self.made = out, made
        return found

    def is_outside(self, x: Operand) -> bool:
        """Is it known before the loop?"""
        return isinstance(x, Const) or x.name not in self.inside

    def is_shared(self, x: Operand) -> bool:
        """Is it the same for all points: known before the loop, or computed of what is?"""
        if isinstance(x, Const) or self.is_outside(x):
            return True
        if x.name not in self.shared:
            rhs = self.made_by.get(x.name)
            same = isinstance(rhs, kir.KOp | kir.KConvert) and all(map(self.is_shared, rhs_operands(rhs)))
            self.shared[x.name] = same
        return self.shared[x.name]

    def chosen(self, values: Values) -> Operand:
        """What all points share, by the number of the element where elements differ."""
        found = common = max(values, key=values.count)
        for k, one in enumerate(values):
            if one != common:
                self.choices += 1
                here = self.new.let(self.out, Op.EQ, self.number, i64(k))
                found = self.let(kir.KOp(Op.SELECT, one.prim, (here, one, found)), one.prim)
        return found

    @property
    def number(self) -> Operand:
        """That of the element in its point."""
        return self.new.let(self.out, Op.REM, self.point, i64(self.count))

    def let(self, rhs: kir.Rhs, prim: Prim) -> KVar:
        var = self.new.name("same", prim)
        self.out.append(KLet(var, rhs))
        return var

    def computed(self, values: Values) -> Operand:
        """What is made in the loop, if each element is made as the others are. Raises _Differ."""
        first, *others = [self.made_by.get(x.name) if isinstance(x, KVar) else None for x in values]
        prim = values[0].prim
        match first:
            case KLoad(array) if all(isinstance(one, KLoad) and one.array == array for one in others):
                at = self.place(tuple([one.index for one in (first, *others) if isinstance(one, KLoad)]))
                return self.let(KLoad(array, at), prim)
            case kir.KOp() | kir.KConvert() if all(_shape(one) == _shape(first) for one in others):
                rows = zip(*[rhs_operands(one) for one in (first, *others) if not isinstance(one, _Branch | None)])
                found = iter([self.value(row) for row in rows])
                return self.let(map_rhs(first, lambda _: next(found)), prim)
            case _Branch():
                branches = [one for one in (first, *others) if isinstance(one, _Branch)]
                if len(branches) == len(values):
                    return self.branch(branches, prim)
            case _:
                pass
        raise _Differ

    def branch(self, branches: list[_Branch], prim: Prim) -> Operand:
        """A variable that a branch decides."""
        cond = self.value(tuple([one.cond for one in branches]))
        var = self.new.name("same", prim)
        then = self.side(var, tuple([one.then for one in branches]))
        orelse = self.side(var, tuple([one.orelse for one in branches]))
        self.out += [kir.Declare(var, branches[0].init), KIf(cond, then, orelse)]
        return var

    def side(self, var: KVar, values: Values) -> Stms:
        """One of its sides: what is made there is known there alone."""
        out, self.out = self.out, []
        self.made.append({})
        found = self.value(values)
        self.made.pop()
        made, self.out = (*self.out, kir.Assign(var, found)), out
        return made


def _assigned(stms: Stms) -> dict[str, Operand]:
    """What this list itself assigns."""
    return {stm.var.name: stm.value for stm in stms if isinstance(stm, kir.Assign)}


def _shape(rhs: object) -> object:
    """An operation without its operands."""
    match rhs:
        case kir.KOp(op, prim, args, exact):
            return op, prim, len(args), exact
        case kir.KConvert(source, target):
            return source, target
        case _:
            return None
