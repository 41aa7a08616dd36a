"""Random core programs that are rich in what simplification and fusion look for.

Straight lines of SOACs, views, updates, loops and branches over i32 arrays of few shapes, in which each statement
prefers what is not yet used, and everything unused in the end is a result. The lambdas hold such lines again.
A program is drawn from a seed: fast, and a failing seed is a test case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np
from hypothesis import strategies as st

from soac.ir import core
from soac.ir.core import (
    Body,
    Fix,
    ForLoop,
    FunDef,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Prog,
    Reduction,
    Screma,
    Slice,
    Stm,
)
from soac.ir.entry_points import Entry, EntryParam, EntryResult
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar

I32 = scalar(Prim.I32)
DEPTH = 2


@dataclass(frozen=True, slots=True)
class Case:
    """A program with arguments for its entry `main`."""

    prog: Prog
    args: tuple[np.ndarray | np.generic, ...]


@dataclass(slots=True)
class Line:
    """A body under construction: `own` are the names it binds, `unused` those that are not yet used."""

    random: Random
    names: Names
    sizes: tuple[Atom, ...]
    types: dict[Name, Type]
    depth: int
    stms: list[Stm] = field(default_factory=list)
    own: list[Name] = field(default_factory=list)
    unused: dict[Name, None] = field(default_factory=dict)

    # ---- binding and choosing ------------------------------------------------------------------------------------

    def bind(self, exp: core.Exp, *types: Type, certs: tuple[Name, ...] = ()) -> list[Name]:
        pat = tuple(Param(self.names.fresh("v"), t) for t in types)
        self.stms.append(Stm(pat, exp, certs, (), NOWHERE))
        for param in pat:
            self.types[param.name] = param.type
            self.own.append(param.name)
            self.unused[param.name] = None
        return [param.name for param in pat]

    def let(self, exp: core.Exp, t: Type, certs: tuple[Name, ...] = ()) -> Var:
        return Var(self.bind(exp, t, certs=certs)[0])

    def inner(self, params: tuple[Param, ...]) -> Line:
        types = {**self.types, **{p.name: p.type for p in params}}
        return Line(self.random, self.names, self.sizes, types, self.depth - 1, unused={p.name: None for p in params})

    def use(self, name: Name) -> Name:
        self.unused.pop(name, None)
        return name

    def choose(self, fits: Callable[[Type], bool]) -> Name | None:
        """A name of a fitting type; rather one that is not used yet."""
        fresh = [name for name in self.unused if fits(self.types[name])]
        found = fresh if fresh and self.random.random() < 0.7 else [n for n, t in self.types.items() if fits(t)]
        return self.use(self.random.choice(found[-12:])) if found else None

    def forget(self, name: Name) -> None:
        """`name` was consumed."""
        self.types.pop(name)
        self.use(name)
        self.own.remove(name)

    def scalar(self) -> Atom:
        name = self.choose(lambda t: t == I32) if self.random.random() < 0.8 else None
        return Var(name) if name else Const(Prim.I32, self.random.choice((0, 1, -1, 2, 7)))

    def array(self, rank: int | None = None) -> Name | None:
        return self.choose(lambda t: t.prim is Prim.I32 and t.rank > 0 and rank in (None, t.rank))

    def size(self) -> Atom:
        return self.random.choice(self.sizes)

    def fill(self, count: int) -> None:
        for _ in range(count):
            statements = STATEMENTS if self.random.random() < 0.89 else RISKY
            self.random.choice(statements)(self)

    def row_of(self, t: Type) -> Atom:
        """Something of type `t` for a result."""
        name = self.choose(lambda found: found == t)
        if name is not None and self.random.random() < 0.9:
            return Var(name)
        return self.scalar() if not t.shape else self.let(core.Replicate(t.shape, self.scalar()), t)


# ---- scalars --------------------------------------------------------------------------------------------------------


def arithmetic(line: Line) -> None:
    op = line.random.choice((Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.XOR, Op.AND, Op.OR))
    line.let(PrimOp(op, Prim.I32, (line.scalar(), line.scalar())), I32)


def division(line: Line) -> None:
    op = line.random.choice((Op.DIV, Op.MOD, Op.QUOT))
    divisor = line.scalar() if line.random.random() < 0.3 else Const(Prim.I32, 3)
    line.let(PrimOp(op, Prim.I32, (line.scalar(), divisor)), I32)


def asserted(line: Line) -> None:
    cond = line.let(PrimOp(Op.LE, Prim.I32, (line.scalar(), line.scalar())), BOOL)
    if line.random.random() < 0.5:
        cond = line.let(PrimOp(Op.OR, Prim.BOOL, (cond, Const(Prim.BOOL, True))), BOOL)
    ok = line.let(core.Assert(cond, "R0103", ("not ", line.scalar())), BOOL)
    array = line.array()
    if array is not None and line.random.random() < 0.5:
        line.let(core.Copied(Var(array)), line.types[array], (ok.name,))
    else:
        line.let(core.Copied(line.scalar()), I32, (ok.name,))


def choice(line: Line) -> None:
    cond = line.let(PrimOp(Op.LT, Prim.I32, (line.scalar(), line.scalar())), BOOL)
    array = line.array()
    t = line.types[array] if array is not None and line.random.random() < 0.4 else I32
    branches = []
    for _ in range(2):
        inner = line.inner(())
        inner.fill(line.random.randrange(2) if line.depth > 0 else 0)
        result = (inner.row_of(t), inner.scalar())
        branches.append(Body(tuple(inner.stms), result))
    line.bind(core.If(cond, branches[0], branches[1]), t, I32)


# ---- arrays ---------------------------------------------------------------------------------------------------------


def fresh_array(line: Line) -> None:
    n = line.size()
    match line.random.randrange(4):
        case 0:
            line.let(core.Iota(n, line.scalar(), Const(Prim.I32, 1), Prim.I32), I32.array_of(n))
        case 1:
            line.let(core.Replicate((n,), line.scalar()), I32.array_of(n))
        case 2:
            k = line.size()
            line.let(core.Replicate((n, k), line.scalar()), I32.array_of(n, k))
        case _:
            elems = (line.scalar(), line.scalar(), line.scalar())
            line.let(core.ArrayLit(elems, I32), I32.array_of(i64(3)))


def view(line: Line) -> None:
    array = line.array()
    if array is None:
        return
    t = line.types[array]
    first = t.shape[0]
    rest = tuple(Slice(i64(0), size, i64(1)) for size in t.shape[1:])
    match line.random.randrange(6):
        case 0 if t.rank > 1:
            perm = tuple(line.random.sample(range(t.rank), t.rank))
            line.let(core.Rearrange(perm, array), Type(t.prim, tuple(t.shape[k] for k in perm)))
        case 1 if t.rank == 2:
            flat = line.let(PrimOp(Op.MUL, Prim.I64, t.shape), I64)
            line.let(core.Reshape((flat,), array), I32.array_of(flat))
        case 2:
            back = line.let(core.Reshape((i64(1), *t.shape), array), t.array_of(i64(1)))
            line.let(core.Reshape(t.shape, line.use(back.name)), t)
        case 3:
            last = line.let(PrimOp(Op.SUB, Prim.I64, (first, i64(1))), I64)
            line.let(core.Index(array, (Slice(last, first, i64(-1)), *rest), True), t)
        case 4:
            line.let(core.Copy(array), t)
        case _:
            both = line.let(PrimOp(Op.ADD, Prim.I64, (first, first)), I64)
            line.let(core.Concat((array, array), both), t.row().array_of(both))


def element(line: Line) -> None:
    """A checked index: a constant one, or one that is known."""
    array = line.array()
    if array is None:
        return
    t = line.types[array]
    index = line.choose(lambda found: found == I64) if line.random.random() < 0.6 else None
    at = Var(index) if index else i64(line.random.choice((0, 0, 0, 1)))
    if line.random.random() < 0.5 or t.rank == 1:
        rest = tuple(Slice(i64(0), size, i64(1)) for size in t.shape[1:])
        line.let(core.Index(array, (Fix(at), *rest), False), t.row())
    else:
        line.let(core.Index(array, (*(Fix(i64(0)) for _ in t.shape[1:]), Fix(at)), False), I32)


def update(line: Line) -> None:
    """A copy, one place of which is replaced; where there is one."""
    array = line.array()
    if array is None:
        return
    t = line.types[array]
    value = line.row_of(t.row())
    positive = line.let(PrimOp(Op.LT, Prim.I64, (i64(0), t.shape[0])), BOOL)
    copy, new = Param(line.names.fresh("c"), t), Param(line.names.fresh("u"), t)
    stms = (
        Stm((copy,), core.Copy(array), (), (), NOWHERE),
        Stm((new,), core.Update(copy.name, index_rows((Fix(i64(0)),), t), value, False), (), (), NOWHERE),
    )
    line.let(core.If(positive, Body(stms, (Var(new.name),)), Body((), (Var(array),))), t)


def overwrite(line: Line) -> None:
    """All of a fresh array is replaced, backwards."""
    array = line.array()
    if array is None:
        return
    t = line.types[array]
    other = line.row_of(t)
    fresh: core.Exp = core.Copy(array) if line.random.random() < 0.5 else core.Replicate(t.shape, line.scalar())
    dest = line.let(fresh, t).name
    last = line.let(PrimOp(Op.SUB, Prim.I64, (t.shape[0], i64(1))), I64)
    dims = (Slice(last, t.shape[0], i64(-1)), *index_rows((), t.row()))
    line.let(core.Update(dest, dims, other, True), t)
    line.forget(dest)


def index_rows(dims: tuple[core.DimIndex, ...], t: Type) -> tuple[core.DimIndex, ...]:
    return dims + tuple(Slice(i64(0), size, i64(1)) for size in t.shape[len(dims) :])


# ---- SOACs and loops ------------------------------------------------------------------------------------------------


def operator(line: Line, op: Op) -> Reduction:
    x, y, z = (Param(line.names.fresh(base), I32) for base in "xyz")
    stm = Stm((z,), PrimOp(op, Prim.I32, (Var(x.name), Var(y.name))), (), (), NOWHERE)
    neutral = {Op.ADD: 0, Op.MUL: 1, Op.MAX: -(2**31), Op.XOR: 0}[op]
    f = Lambda((x, y), Body((stm,), (Var(z.name),)), (I32,))
    return Reduction(f, (Const(Prim.I32, neutral),), line.random.random() < 0.3)


def inputs(line: Line) -> tuple[Atom, list[Name]]:
    first = line.array()
    if first is None:
        n = line.size()
        return n, [line.let(core.Iota(n, i64(0), i64(1), Prim.I64), I64.array_of(n)).name]
    width = line.types[first].shape[0]
    arrays = [first]
    for _ in range(line.random.choice((0, 0, 1, 2))):
        other = line.choose(lambda t: t.prim is Prim.I32 and t.rank > 0 and t.shape[0] == width)
        arrays.extend([other] if other else [])
    if line.random.random() < 0.3:
        arrays.append(line.let(core.Iota(width, i64(0), i64(1), Prim.I64), I64.array_of(width)).name)
    return width, [line.use(array) for array in arrays]


def screma(line: Line) -> None:
    width, arrays = inputs(line)
    params = tuple(Param(line.names.fresh("p"), line.types[array].row()) for array in arrays)
    inner = line.inner(params)
    inner.fill(line.random.randrange(1, 4) if line.depth > 0 else 1)
    ops = (Op.ADD, Op.MAX, Op.XOR, Op.MUL)
    scans = tuple(operator(line, line.random.choice(ops)) for _ in range(line.random.choice((0, 0, 0, 1))))
    reds = tuple(operator(line, line.random.choice(ops)) for _ in range(0 if scans else line.random.choice((0, 1, 2))))
    operated = tuple(inner.scalar() for _ in scans + reds)
    mapped: list[Atom] = []
    for _ in range(line.random.choice((0, 1, 1, 2)) if operated else line.random.choice((1, 1, 2))):
        known = {size for t in line.types.values() for size in t.shape} | set(line.sizes)
        name = inner.choose(lambda t, known=known: t.prim is Prim.I32 and all(s in known for s in t.shape))
        mapped.append(Var(name) if name else inner.scalar())
    result = (*operated, *mapped)
    ret = tuple(inner.types[a.name] if isinstance(a, Var) else I32 for a in result)
    scanned = len(scans)
    types = [t if scanned <= k < len(operated) else t.array_of(width) for k, t in enumerate(ret)]
    f = Lambda(params, Body(tuple(inner.stms), result), ret)
    line.bind(Screma(width, tuple(arrays), f, scans, reds), *types)


def loop(line: Line) -> None:
    bound = line.random.choice((i64(0), i64(1), i64(3), *line.sizes))
    array = line.array()
    types = [I32, I32] if array is None else [I32, I32, line.types[array]]
    inits = tuple(line.row_of(t) for t in types)
    params = tuple(Param(line.names.fresh("s"), t) for t in types)
    index = line.names.fresh("i")
    inner = line.inner((*params, Param(index, I64)))
    inner.fill(line.random.randrange(1, 4) if line.depth > 0 else 1)
    result = tuple(Var(param.name) if line.random.random() < 0.25 else inner.row_of(param.type) for param in params)
    form = ForLoop(index, bound, Prim.I64)
    line.bind(Loop(params, inits, form, Body(tuple(inner.stms), result)), *types)


def scatter(line: Line) -> None:
    width, arrays = inputs(line)
    n = line.size()
    dest = line.let(core.Replicate((n,), line.scalar()), I32.array_of(n)).name
    places = line.let(core.Iota(width, i64(-1), i64(1), Prim.I64), I64.array_of(width)).name
    params = tuple(Param(line.names.fresh("p"), line.types[array].row()) for array in (places, *arrays))
    inner = line.inner(params)
    inner.fill(1)
    f = Lambda(params, Body(tuple(inner.stms), (Var(params[0].name), inner.scalar())), (I64, I32))
    line.let(core.Scatter(width, (places, *arrays), f, (dest,), 1), I32.array_of(n))
    line.forget(dest)


STATEMENTS: tuple[Callable[[Line], None], ...] = (
    arithmetic, arithmetic, arithmetic, choice, fresh_array, fresh_array, view, view, view, update, overwrite,
    screma, screma, screma, screma, screma, screma, loop, scatter,
)  # fmt: skip

RISKY: tuple[Callable[[Line], None], ...] = (element, element, asserted, division)
"""Statements that may fail."""


# ---- programs -------------------------------------------------------------------------------------------------------


def program(seed: int) -> Case:
    """The program and arguments of a seed."""
    random, names = Random(seed), Names(0)
    n, m = names.fresh("n"), names.fresh("m")
    sizes = (Param(n, I64), Param(m, I64))
    params = tuple(
        Param(names.fresh("xs"), I32.array_of(*shape))
        for shape in ((), (Var(n),), (Var(m),), (Var(n), Var(m)), (Var(m), Var(n)))
    )
    types = {p.name: p.type for p in (*sizes, *params)}
    line = Line(random, names, (Var(n), Var(m), i64(2)), types, DEPTH, unused={p.name: None for p in params})
    line.fill(random.randrange(2, 14))
    known = {Var(n), Var(m), i64(1), i64(2), i64(3)}
    chosen = [name for name in line.own if name in line.unused and set(types[name].shape) <= known]
    results = tuple(Param(names.fresh("res"), types[name]) for name in chosen)
    entry = Entry(
        "main",
        2,
        tuple(EntryParam(p.name.base, "", 1, False) for p in params),
        tuple(EntryResult("", (k,)) for k in range(len(results))),
    )
    body = Body(tuple(line.stms), tuple(Var(name) for name in chosen))
    fun = FunDef(names.fresh("main"), sizes + params, (), results, body, entry, (), NOWHERE)
    values = {n: random.choice((0, 1, 2, 3, 3, 3)), m: random.choice((0, 1, 2, 4, 4))}
    return Case(Prog((), (fun,), names.next), tuple(_argument(random, p.type, values) for p in params))


def _argument(random: Random, t: Type, values: dict[Name, int]) -> np.ndarray | np.generic:
    shape = tuple(values[size.name] for size in t.shape if isinstance(size, Var))
    flat = np.array([random.randrange(-3, 6) for _ in range(int(np.prod(shape)))], np.int32)
    return flat.reshape(shape) if shape else np.int32(random.randrange(-3, 6))


def cases() -> st.SearchStrategy[Case]:
    return st.integers(0, 2**32).map(program)
