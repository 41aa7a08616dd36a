"""The kit of the program generator: what is being made, what is in scope, values of a type.

`Maker` asks for every decision, so that they can be repeated and shrunk; `Block` is a body under construction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from soac.ir import core
from soac.ir.core import Body, Lambda, Param, Stm
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar
from tests.support.property.choices import Decide

I32, F32 = scalar(Prim.I32), scalar(Prim.F32)
SCALARS = (I32, I32, I32, BOOL, F32, I64)

DIGESTED = 6
"""How many of the latest values of a body go into its digest."""

Env = dict[Name, Type]
"""Variables in scope, in the order of their binding."""


@dataclass(slots=True)
class Maker:
    """The program under construction; `decide` makes the decisions, `fuel` bounds its size."""

    decide: Decide
    names: Names
    sizes: tuple[Atom, ...]
    fuel: int
    functions: list[core.FunDef] = field(default_factory=list[core.FunDef])

    def number(self, below: int) -> int:
        """A decision; 0 is the simplest."""
        return self.decide(below)

    def pick(self, choices):
        return choices[self.number(len(choices))]

    def late(self, choices):
        """One of the last few, so that code inside a nest works on what is of the nest."""
        return choices[-1 - min(self.number(5), len(choices) - 1)]

    def chance(self, percent: int) -> bool:
        return self.number(100) >= 100 - percent

    def size(self) -> Atom:
        return self.pick((*self.sizes, *self.sizes, i64(1), i64(2), i64(3)))

    def param(self, base: str, t: Type) -> Param:
        return Param(self.names.fresh(base), t)


@dataclass(slots=True)
class Block:
    """A body under construction: its statements so far and what is in scope."""

    maker: Maker
    env: Env
    depth: int
    stms: list[Stm] = field(default_factory=list)
    params: tuple[Name, ...] = ()

    def let(self, base: str, t: Type, exp: core.Exp) -> Var:
        return self.lets((self.maker.param(base, t),), exp)[0]

    def lets(self, pat: tuple[Param, ...], exp: core.Exp, attrs: tuple[core.Attr, ...] = ()) -> tuple[Var, ...]:
        self.stms.append(Stm(pat, exp, (), attrs, NOWHERE))
        self.env.update((p.name, p.type) for p in pat)
        return tuple(Var(p.name) for p in pat)

    def inner(self, params: tuple[Param, ...]) -> Block:
        names = {p.name: p.type for p in params}
        return Block(self.maker, {**self.env, **names}, self.depth - 1, params=tuple(names))

    def own(self) -> list[Name]:
        """What this body binds itself."""
        return [p.name for stm in self.stms for p in stm.pat if p.name in self.env]

    def digest(self) -> Atom:
        """What this body has and has computed in one i32, so that little of it is computed for nothing."""
        mixed: Atom = Const(Prim.I32, 7)
        for name in (*self.params, *self.own()[-DIGESTED:]):
            x = self.summary(name)
            if x is not None:
                scaled = self.let("h", I32, core.PrimOp(Op.MUL, Prim.I32, (mixed, Const(Prim.I32, 31))))
                mixed = self.let("h", I32, core.PrimOp(Op.ADD, Prim.I32, (scaled, x)))
        return mixed

    def summary(self, name: Name) -> Atom | None:
        """A value as an i32: a scalar converted, of an array mostly the sum of what it holds."""
        t = self.env[name]
        if t == I32:
            return Var(name)
        if not t.shape:
            return self.let("x", I32, core.Convert(t.prim, Prim.I32, Var(name)))
        return self.total(name, t) if name not in self.params and self.maker.chance(40) else None

    def total(self, name: Name, t: Type) -> Atom:
        """The sum of an array of any rank."""
        (size, *more), flat = t.shape, name
        for other in more:
            size = self.let("nm", I64, core.PrimOp(Op.MUL, Prim.I64, (size, other)))
        if more:
            flat = self.let("flat", Type(t.prim, (size,)), core.Reshape((size,), name)).name
        x, y, a, b, c = (self.maker.param(base, u) for base, u in zip("xyabc", (scalar(t.prim), I32, I32, I32, I32)))
        exp = core.Copied(Var(x.name)) if t.prim is Prim.I32 else core.Convert(t.prim, Prim.I32, Var(x.name))
        f = Lambda((x,), Body((Stm((y,), exp, (), (), NOWHERE),), (Var(y.name),)), (I32,))
        add = core.PrimOp(Op.ADD, Prim.I32, (Var(a.name), Var(b.name)))
        op = Lambda((a, b), Body((Stm((c,), add, (), (), NOWHERE),), (Var(c.name),)), (I32,))
        red = core.Reduction(op, (Const(Prim.I32, 0),), True)
        return self.let("sum", I32, core.Screma(size, (flat,), f, (), (red,)))

    def body(self, result: tuple[Atom, ...]) -> Body:
        return Body(tuple(self.stms), result)

    def of_type(self, t: Type) -> list[Name]:
        return [name for name, found in self.env.items() if found == t]

    def arrays(self) -> list[tuple[Name, Type]]:
        return [(name, t) for name, t in self.env.items() if t.shape]


# ---- values ----------------------------------------------------------------------------------------------


def constant(m: Maker, prim: Prim) -> Const:
    if prim is Prim.BOOL:
        return Const(prim, m.chance(50))
    if prim.is_float and m.chance(10):
        return Const(prim, math.nan)
    value = m.number(7) - 2
    return Const(prim, float(value) if prim.is_float else value)


def value(b: Block, t: Type) -> Atom:
    """Something of type `t`: what is in scope, preferring the latest, or a constant."""
    found = b.of_type(t)
    if found and not b.maker.chance(15):
        return Var(found[-1 - min(b.maker.number(4), len(found) - 1)])
    if not t.shape:
        return constant(b.maker, t.prim)
    return b.let("rep", t, core.Replicate(t.shape, value(b, scalar(t.prim))))


def outcome(b: Block, t: Type) -> Atom:
    """What a body gives where `t` is asked for: for a scalar often all it has computed."""
    if t.shape or not b.maker.chance(70):
        return small_float(b, value(b, t)) if t == F32 else value(b, t)
    digest = b.digest()
    if t == I32:
        return digest
    if t == I64:
        return b.let("l", I64, core.Convert(Prim.I32, Prim.I64, digest))
    low = b.let("a", I32, core.PrimOp(Op.AND, Prim.I32, (digest, Const(Prim.I32, 7))))
    if t == F32:
        return b.let("f", F32, core.Convert(Prim.I32, Prim.F32, low))
    return b.let("c", BOOL, core.PrimOp(Op.LT, Prim.I32, (low, Const(Prim.I32, 4))))


def small_float(b: Block, x: Atom) -> Atom:
    """`x` cut to -9 .. 9: sums of such numbers, and sums of sums, are exact."""
    cut: Atom = b.let("f", F32, core.PrimOp(Op.MIN, Prim.F32, (x, Const(Prim.F32, 9.0))))
    return b.let("f", F32, core.PrimOp(Op.MAX, Prim.F32, (cut, Const(Prim.F32, -9.0))))


def array(b: Block, t: Type) -> Name:
    found = value(b, t)
    assert isinstance(found, Var)
    return found.name


def some_type(m: Maker, max_rank: int = 2) -> Type:
    rank = m.pick((0, 0, 1, 1, 2)[: 3 + max_rank])
    return Type(m.pick(SCALARS).prim, tuple(m.size() for _ in range(min(rank, max_rank))))


def forget(b: Block, consumed: Name) -> None:
    """What is consumed, and what may share its memory, is out of scope."""
    b.env.pop(consumed, None)
    for stm in b.stms:
        match stm.exp:
            case (
                core.Rearrange(_, source)
                | core.Reshape(_, source)
                | core.Index(source, _, _)
                | core.Copied(Var(source))
            ):
                if source == consumed:
                    forget(b, stm.pat[0].name)
            case _:
                pass
