"""Bounds of sizes that change from round to round of a loop, known before it.

    loop .. for k < n do let m = n - (k + 1) in e        0 ≤ k ≤ n - 1,  0 ≤ m ≤ n - 1

By interval arithmetic over the scalars of a body and the counters of its loops, which the host does in i64, whatever
integers they are. Numbers do not wrap around in it: a bound of what does may be wrong, so that bounds may choose
a version, but set aside no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ...ir.core import Body, Convert, Copied, Exp, ForLoop, Loop, PrimOp, SegOp
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import all_stms
from ...ir.types import I64, Atom, Const, Name, Prim, Type, Var, i64
from ..context.nest import Flow

DEPTH = 12
"""How many definitions a bound looks through."""


@dataclass(frozen=True, slots=True)
class Between:
    """At least `low`, at most `high`, both known before; None where nothing is known."""

    low: Atom | None
    high: Atom | None


NOTHING = Between(None, None)


@dataclass(slots=True)
class Bounds:
    """The bounds of names of a body: `is_known` before it are some atoms, `values` has what others are, `types` their
    types, `counters` what counters from 0 are below; `found`: the bounds so far."""

    flow: Flow
    is_known: Callable[[Atom], bool]
    values: dict[Name, Exp] = field(default_factory=dict)
    types: dict[Name, Type] = field(default_factory=dict)
    counters: dict[Name, Atom] = field(default_factory=dict)
    found: dict[Name, Between] = field(default_factory=dict)

    def most(self, size: Atom) -> Atom | None:
        """A bound of a size that is known before the body; None if there is none."""
        return self.of(size, DEPTH).high

    def most_of_all(self, sizes: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
        """The bounds of sizes; None if one has none."""
        found = tuple(most for size in sizes if (most := self.most(size)) is not None)
        return found if len(found) == len(sizes) else None

    def of(self, atom: Atom, depth: int) -> Between:
        """The bounds of an integer that i64 holds, after at most `depth` definitions."""
        prim = self.prim_of(atom)
        if prim is None or not prim.is_int or prim is Prim.U64:
            return NOTHING
        if self.is_known(atom):
            wide = self.in_i64(prim, atom)
            return Between(wide, wide)
        assert isinstance(atom, Var)
        if atom.name not in self.found:
            self.found[atom.name] = self.of_name(atom.name, depth - 1) if depth > 0 else NOTHING
        return self.found[atom.name]

    def prim_of(self, atom: Atom) -> Prim | None:
        """The element type of an atom; None of what only a version of the body binds, and not as a value or counter."""
        if isinstance(atom, Const):
            return atom.prim
        type_ = self.types.get(atom.name) or self.flow.known.types.get(atom.name)
        return type_.prim if type_ is not None else Prim.I64 if atom.name in self.counters else None

    def of_name(self, name: Name, depth: int) -> Between:
        """The bounds of what the body binds."""
        if (count := self.counters.get(name)) is not None:
            return Between(i64(0), self.op(Op.SUB, self.of(count, depth).high, i64(1)))
        exp = self.values.get(name)
        return NOTHING if exp is None else self.of_value(exp, depth)

    def of_value(self, exp: Exp, depth: int) -> Between:
        """The bounds of what an expression gives."""
        match exp:
            case Copied(x) | Convert(_, _, x):
                return self.of(x, depth)
            case PrimOp(Op.ADD, _, (x, y)):
                return self.each(Op.ADD, self.of(x, depth), self.of(y, depth))
            case PrimOp(Op.SUB, _, (x, y)):
                y = self.of(y, depth)
                return self.each(Op.SUB, self.of(x, depth), Between(y.high, y.low))
            case PrimOp(Op.MIN | Op.MAX as op, _, (x, y)):
                return self.least_or_most(op, self.of(x, depth), self.of(y, depth))
            case PrimOp(Op.SELECT, _, (_, x, y)):
                return self.either(self.of(x, depth), self.of(y, depth))
            case PrimOp(Op.MUL | Op.DIV | Op.QUOT as op, _, (x, Const(_, k))) if k > 0:
                return self.each(op, self.of(x, depth), Between(i64(int(k)), i64(int(k))))
            case _:
                return NOTHING

    def each(self, op: Op, x: Between, y: Between) -> Between:
        """The operation on both lower and on both upper bounds."""
        return Between(self.op(op, x.low, y.low), self.op(op, x.high, y.high))

    def least_or_most(self, op: Op, x: Between, y: Between) -> Between:
        """Of `min`, an upper bound of either is one; of `max`, a lower bound."""
        low, high = self.op(op, x.low, y.low), self.op(op, x.high, y.high)
        if op is Op.MIN:
            return Between(low, high or x.high or y.high)
        return Between(low or x.low or y.low, high)

    def either(self, x: Between, y: Between) -> Between:
        """What holds for both."""
        return Between(self.op(Op.MIN, x.low, y.low), self.op(Op.MAX, x.high, y.high))

    def in_i64(self, prim: Prim, atom: Atom) -> Atom:
        if isinstance(atom, Const):
            return i64(int(atom.value))
        return atom if prim is Prim.I64 else Var(self.flow.emit_as("wide", I64, Convert(prim, Prim.I64, atom)))

    def op(self, op: Op, x: Atom | None, y: Atom | None) -> Atom | None:
        return None if x is None or y is None else self.flow.op("most", op, x, y)


def bounds_in(flow: Flow, body: Body, is_known: Callable[[Atom], bool], *around: Loop) -> Bounds:
    """The bounds of the names of a body, that of a loop `around` or what has become of it."""
    stms = tuple(all_stms(body))
    values = {stm.pat[0].name: stm.exp for stm in stms if len(stm.pat) == 1}
    types = {p.name: p.type for stm in stms for p in stm.pat}
    exps = (*around, *(stm.exp for stm in stms))
    return Bounds(flow, is_known, values, types, dict(counter for exp in exps for counter in _counters(exp)))


def _counters(exp: Exp) -> tuple[tuple[Name, Atom], ...]:
    """What counts from 0, below which bound: the index of a loop, those of a space."""
    match exp:
        case Loop(form=ForLoop(index, bound)):
            return ((index, bound),)
        case exp if isinstance(exp, SegOp):
            return exp.space.dims
        case _:
            return ()
