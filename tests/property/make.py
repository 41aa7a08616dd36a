"""The kit of the program generator: what is being made, what is in scope, values of a type.

`Maker` draws all decisions, so that Hypothesis can repeat and shrink them; `Block` is a body under construction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st

from soac.ir import core
from soac.ir.core import Body, Param, Stm
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import BOOL, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar

I32, F64 = scalar(Prim.I32), scalar(Prim.F64)
SCALARS = (I32, I32, BOOL, F64)

Env = dict[Name, Type]
"""Variables in scope, in the order of their binding."""


@dataclass(slots=True)
class Maker:
    """The program under construction; `draw` decides, `fuel` bounds its size."""

    draw: Callable
    names: Names
    sizes: tuple[Atom, ...]
    fuel: int
    salt: Random

    def number(self, below: int) -> int:
        """A decision: one of Hypothesis, moved on by the program's own random numbers. Hypothesis alone repeats parts
        of earlier programs too often; with the salt it shrinks as before, since the decisions stay its own."""
        return (self.draw(st.integers(0, below - 1)) + self.salt.randrange(below)) % below

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

    def lets(self, pat: tuple[Param, ...], exp: core.Exp) -> tuple[Var, ...]:
        self.stms.append(Stm(pat, exp, (), (), NOWHERE))
        self.env.update((p.name, p.type) for p in pat)
        return tuple(Var(p.name) for p in pat)

    def inner(self, params: tuple[Param, ...]) -> Block:
        names = {p.name: p.type for p in params}
        return Block(self.maker, {**self.env, **names}, self.depth - 1, params=tuple(names))

    def own(self) -> list[Name]:
        """What this body binds itself."""
        return [p.name for stm in self.stms for p in stm.pat if p.name in self.env]

    def digest(self) -> Atom:
        """All i32 values of this body in one, so that none of them is computed for nothing."""
        mixed: Atom = Const(Prim.I32, 7)
        for name in (*self.params, *self.own()[-8:]):
            if self.env[name] == I32:
                scaled = self.let("h", I32, core.PrimOp(Op.MUL, Prim.I32, (mixed, Const(Prim.I32, 31))))
                mixed = self.let("h", I32, core.PrimOp(Op.ADD, Prim.I32, (scaled, Var(name))))
        return mixed

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
    """What a body gives where `t` is asked for: for an i32 often all it has computed."""
    return b.digest() if t == I32 and b.maker.chance(70) else value(b, t)


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
