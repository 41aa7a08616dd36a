"""What a sum over all earlier rounds of a loop reads, as the scalar code of one of its elements.

    loop (l) for j < n { .. map w (λi → .. redomap j (λk → g(j, i, k)) ⊕ ..) .. }

The names of a round are looked through down to what stands before the loop and the arrays that the loop carries. What
is read of these must be older than a panel of rounds, and in bounds for all rounds of it, which linear forms decide:
no check of the program is made sooner than it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..frontend.building.code import Code
from ..ir.core import (
    Body,
    Convert,
    Copy,
    DimIndex,
    Fix,
    ForLoop,
    Index,
    Iota,
    Loop,
    PrimOp,
    Rearrange,
    Screma,
    Slice,
    Stm,
    Update,
)
from ..ir.ops import Op
from ..ir.records import dataclass
from ..ir.traverse import bound_in_body, may_fail, names_in_types
from ..ir.types import Atom, Const, Name, Prim, Var, i64
from .aliasing.classes import made_of, overwritten_in
from .aliasing.regions import Form, at_most, form_of, minus, plus
from .context.recompute_cost import LIMIT, weight_of

Defined = Mapping[Name, Stm]


class NotEarlierError(Exception):
    """A value is not known before its round."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The rounds `first + turn`; names of a point, of which there are `width` at most, and of an element that is older,
    of which there are `offset` more than rounds before the panel."""

    first: Name
    turn: Name
    point: Name
    earlier: Name
    width: Form
    offset: int


@dataclass(frozen=True, slots=True)
class Round:
    """A loop that counts: `defined` is what a round binds and what stands before the loop, `inside` all that is bound
    in a round, `carried` the arrays that rounds update, by all their names, with the name before a panel, and
    `writes` where, by that name."""

    counter: Name
    bound: Atom
    defined: Defined
    inside: frozenset[Name]
    carried: Mapping[Name, Name]
    writes: Mapping[Name, tuple[tuple[DimIndex, ...], ...]]

    def form(self, atom: Atom) -> Form:
        """A number of a round."""
        return form_of(atom, self.defined)

    def is_older(self, panel: Panel, array: Name, place: tuple[Form, ...]) -> bool:
        """Whether no round of the panel writes there: along a dimension, they write behind all that they read there."""
        own = [d for d, form in enumerate(place) if form == {panel.earlier: 1}]
        writes = self.writes.get(array)
        return writes is None or any(all(self._is_behind(panel, dims[d]) for dims in writes) for d in own)

    def _is_behind(self, panel: Panel, dim: DimIndex) -> bool:
        match dim:
            case Fix(index) | Slice(index, _, Const(_, 1)):
                return at_most(plus({self.counter: 1}, {None: panel.offset}), self.form(index))
            case _:
                return False


def round_of(loop: Loop, before: tuple[Name, ...], defined: Defined) -> Round | None:
    """The rounds of a loop whose arrays are called `before` ahead of a panel; None where it does not count in i64, or
    carries sizes."""
    match loop.form:
        case ForLoop(counter, bound, Prim.I64):
            pass
        case _:
            return None
    params = {p.name for p in loop.params}
    if not params.isdisjoint(names_in_types(p.type for p in loop.params)):
        return None
    carried: dict[Name, Name] = {}
    writes: dict[Name, tuple[tuple[DimIndex, ...], ...]] = {}
    for param, last, name in zip(loop.params, loop.body.result, before, strict=True):
        found = _updates(loop.body, param.name)
        if param.type.shape and found is not None and isinstance(last, Var) and last.name in found:
            carried.update(dict.fromkeys(found, name))
            writes[name] = tuple([dims for dims in found.values() if dims])
    inside = frozenset({counter, *params, *bound_in_body(loop.body)})
    own = {p.name: stm for stm in loop.body.stms for p in stm.pat}
    return Round(counter, bound, {**defined, **own}, inside, carried, writes)


def _updates(body: Body, array: Name) -> dict[Name, tuple[DimIndex, ...]] | None:
    """The names of an array as parts of it are overwritten, each with its part; None where other statements do so."""
    found: dict[Name, tuple[DimIndex, ...]] = {array: ()}
    same = made_of(array, body.stms)
    for stm in body.stms:
        match stm.exp:
            case Update(old, dims) if old in found:
                found[stm.pat[0].name] = dims
            case _ if same & overwritten_in(Body((stm,), ())):
                return None
            case _:
                pass
    return found


class Elements:
    """Scalars of a round as code ahead of it, inside of other such code: `given` are names with their values, `rows`
    parameters of maps with their arrays and the index; `reads`: the places that are read of arrays."""

    __slots__ = ("around", "code", "defined", "given", "reads", "round", "rows")

    def __init__(
        self,
        round_: Round,
        code: Code,
        around: tuple[Code, ...],
        given: Mapping[Name, Atom],
        rows: Mapping[Name, tuple[Name, Atom]],
        defined: Defined,
    ) -> None:
        self.round = round_
        self.code = code
        self.around = around
        self.given = dict(given)
        self.rows = rows
        self.defined = defined
        self.reads: list[tuple[Name, tuple[Form, ...]]] = []

    def scalar(self, atom: Atom) -> Atom:
        """The value of a scalar."""
        if isinstance(atom, Const) or (atom.name not in self.round.inside and atom.name not in self.given):
            return atom
        if atom.name not in self.given:
            self.given[atom.name] = self._made(atom.name)
        return self.given[atom.name]

    def _made(self, name: Name) -> Atom:
        if name in self.rows:
            array, index = self.rows[name]
            return self.element(array, (index,))
        stm = self.defined.get(name)
        match stm.exp if stm is not None else None:
            case PrimOp(op, prim, args) as exp if not may_fail(exp):
                made = PrimOp(op, prim, tuple([self.scalar(arg) for arg in args]))
            case Convert(source, target, arg):
                made = Convert(source, target, self.scalar(arg))
            case Index(array, dims):
                return self.element(array, tuple(self._through(dims, ())))
            case _:
                raise NotEarlierError
        return self.code.let(name.base, made, self.code.types[name])

    def element(self, array: Name, at: tuple[Atom, ...]) -> Atom:
        """`array[at]`"""
        if array in self.rows:
            rows, index = self.rows[array]
            return self.element(rows, (index, *at))
        stm = self.defined.get(array)
        counts = stm is not None and isinstance(stm.exp, Iota) and stm.exp.prim is Prim.I64
        if array in self.round.carried or (array not in self.round.inside and not counts):
            source = self.round.carried.get(array, array)
            defined = {p.name: stm for code in (*self.around, self.code) for stm in code.stms for p in stm.pat}
            place = tuple([form_of(index, defined) for index in at])
            self.reads.append((source, place))
            return self.code.at(Var(source), *map(self._sum, place))
        match stm.exp if stm is not None else None:
            case Index(below, dims):
                return self.element(below, tuple(self._through(dims, at)))
            case Rearrange(perm, below):
                return self.element(below, tuple([at[perm.index(k)] for k in range(len(perm))]))
            case Copy(below):
                return self.element(below, at)
            case Iota(_, start, step, Prim.I64):
                return self._along(start, at[0], step)
            case Screma(_, _, _, ()) as soac if stm is not None and len(at) == 1:
                return self._mapped(soac, [p.name for p in stm.pat].index(array), at[0])
            case _:
                raise NotEarlierError

    def _mapped(self, soac: Screma, result: int, index: Atom) -> Atom:
        """An element of what a map of the round gives, computed again, which is to be little work."""
        if result < soac.num_reds or sum(weight_of(stm.exp) for stm in soac.map.body.stms) > LIMIT:
            raise NotEarlierError
        rows = {p.name: (xs, index) for xs, p in zip(soac.arrays, soac.map.params, strict=True)}
        own = {p.name: stm for stm in soac.map.body.stms for p in stm.pat}
        known = {name: value for name, value in self.given.items() if name not in own and name not in rows}
        inner = Elements(self.round, self.code, self.around, known, {**self.rows, **rows}, {**self.defined, **own})
        value = inner.scalar(soac.map.body.result[result])
        self.reads += inner.reads
        return value

    def _through(self, dims: tuple[DimIndex, ...], at: tuple[Atom, ...]) -> Iterator[Atom]:
        """The place of `xs[dims][at]` in `xs`."""
        rest = iter(at)
        for dim in dims:
            match dim:
                case Fix(index):
                    yield self.scalar(index)
                case Slice(start, _, stride):
                    along = next(rest, None)
                    if along is None:
                        raise NotEarlierError
                    yield self._along(start, along, stride)

    def _along(self, start: Atom, index: Atom, step: Atom) -> Atom:
        return self.code.op(Op.ADD, self.code.op(Op.MUL, index, self.scalar(step)), self.scalar(start))

    def _sum(self, form: Form) -> Atom:
        """A number from its form, where terms that cancel are gone."""
        total: Atom = i64(0)
        for name, factor in form.items():
            term = i64(factor) if name is None else self.code.op(Op.MUL, Var(name), i64(factor))
            total = self.code.op(Op.ADD, total, term)
        return total

    # ---- what may be read ahead ----------------------------------------------------------------------------------

    def may_be_read(self, panel: Panel) -> bool:
        """Whether all that was read is older than the panel and in bounds, and read again: by several points, and in
        several rounds of the panel."""
        by_point, by_round = False, False
        for array, place in self.reads:
            along = {name for form in place for name in form}
            once = {panel.turn, panel.point, panel.earlier} <= along
            if once or not self._is_in_bounds(panel, array, place) or not self.round.is_older(panel, array, place):
                return False
            by_point |= {panel.point, panel.earlier} <= along
            by_round |= {panel.turn, panel.earlier} <= along
        return by_point and by_round

    def _is_in_bounds(self, panel: Panel, array: Name, place: tuple[Form, ...]) -> bool:
        """Whether a place is in bounds for all points, rounds of the panel and rounds before it."""
        sizes = map(self.round.form, self.code.types[array].shape)
        return all(self._is_below(panel, form, size) for form, size in zip(place, sizes, strict=True))

    def _is_below(self, panel: Panel, form: Form, size: Form) -> bool:
        """Whether an index is in bounds: a constant, an earlier round, the round's own or what is between the two, each
        and more, or a point behind a constant or the panel."""
        more, bound = form.get(None, 0), self.round.form(self.round.bound)
        last = plus(bound, {None: max(more, panel.offset)})
        number: Form = {panel.first: 1, panel.turn: 1}
        match minus(form, {None: more}):
            case names if names in ({}, number):
                return more >= 0 and at_most(last, size)
            case names if names == {panel.earlier: 1}:
                return more == 0 and at_most(last, size)
            case names if names == minus(number, {panel.earlier: 1}):
                return more >= panel.offset - 1 and at_most(last, size)
            case _:
                start = minus(form, {panel.point: 1})
                from_start = start.keys() <= {panel.first, None} and start.get(panel.first, 0) in (0, 1)
                return from_start and more >= 0 and at_most(plus(start, panel.width), size)
