"""Random well-typed core programs, for the law that every pass keeps the meaning.

Sizes are symbols (two size parameters, small constants, sizes computed in a nest), so that arrays are regular by
construction. Values are i32, bool and f64 that hold small integers, so that all versions agree exactly. Nests go
`DEPTH` deep: maps, reductions, scans and mixtures (associative operators that do not commute, on tuples and on rows),
scatters, histograms, branches and loops of invariant and variant condition and trip count, bulk operations, updates,
captured variables. Programs may fail; what then holds is the law of failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import strategies as st

from soac.ir import core
from soac.ir.core import Body, Entry, EntryParam, EntryResult, FunDef, Lambda, Param, Prog, Reduction
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar
from tests.property.make import I32, Block, Maker, array, forget, outcome, some_type, value
from tests.property.operators import binary, operator
from tests.property.simple import bulk_stm, failing_stm, scalar_stm, small_size

DEPTH = 4
MOST_RESULTS = 10


@dataclass(frozen=True, slots=True)
class Case:
    """A program with arguments for its entry `main`."""

    prog: Prog
    args: tuple[np.ndarray | np.generic, ...]


# ---- SOACs, loops, branches ---------------------------------------------------------------------------------------


def inputs(b: Block, width: Atom) -> tuple[tuple[Name, Type], ...]:
    """One to three arrays of this width; an iota if there is none."""
    m = b.maker
    found = [(name, t) for name, t in b.arrays() if t.shape[0] == width]
    if not found or m.chance(15):
        step = Const(Prim.I32, m.pick((1, 1, -2)))
        is_ = b.let("is", I32.array_of(width), core.Iota(width, value(b, I32), step, Prim.I32))
        found = [(is_.name, b.env[is_.name])]
    deep = [pair for pair in found if pair[1].rank > 1]
    if deep and b.depth > 1 and m.chance(60):
        found = deep
    count = 1 + m.number(min(3, len(found)))
    return tuple(found[-1 - min(m.number(5), len(found) - 1)] for _ in range(count))


def mapping(b: Block, taken: tuple[tuple[Name, Type], ...], types: tuple[Type, ...], extra: int) -> Lambda:
    """A lambda that gives values of `types` and up to `extra` more."""
    m = b.maker
    params = tuple(m.param("x", t.row()) for _, t in taken)
    inner = b.inner(params)
    fill(inner)
    outside = {size for t in b.env.values() for size in t.shape} | set(m.sizes)
    more = tuple(some_result(inner, outside) for _ in range(extra))
    result = (*(outcome(inner, t) for t in types), *more)
    ret = (*types, *(type_in(inner, atom) for atom in more))
    return Lambda(params, inner.body(result), ret)


def some_result(b: Block, outside: set[Atom]) -> Atom:
    """Something computed in the body whose size is known outside of it."""
    known = [
        name for name, t in b.env.items() if t != I64 and all(isinstance(s, Const) or s in outside for s in t.shape)
    ]
    found = [name for name in b.own() if name in known] or known
    if not found or b.maker.chance(25):
        return b.digest()
    return Var(b.maker.late(found))


def type_in(b: Block, atom: Atom) -> Type:
    return b.env[atom.name] if isinstance(atom, Var) else scalar(atom.prim)


def soac_stm(b: Block) -> None:
    m = b.maker
    width: Atom = small_size(b) if m.chance(12) else m.size()
    scans = tuple(operator(b) for _ in range(m.pick((0, 0, 0, 1, 1, 2))))
    reds = tuple(operator(b) for _ in range(m.pick((0, 0, 0, 1, 1, 2))))
    taken = inputs(b, width)
    operated = tuple(t for op in scans + reds for t in op.op.ret)
    mapped = m.pick((0, 0, 1)) if operated else 1 + m.number(2)
    f = mapping(b, taken, operated, mapped)
    scanned = sum(len(op.neutral) for op in scans)
    pat = tuple(m.param("y", t if scanned <= k < len(operated) else t.array_of(width)) for k, t in enumerate(f.ret))
    b.lets(pat, core.Screma(width, tuple(name for name, _ in taken), f, scans, reds))


def chain_stm(b: Block) -> None:
    """A scan, and a reduction of what was scanned: in one thread they are one loop."""
    m = b.maker
    width: Atom = small_size(b) if m.chance(60) else m.size()
    scan, red = operator(b), operator(b)
    taken = inputs(b, width)
    f = mapping(b, taken, scan.op.ret, 0)
    pat = tuple(m.param("cs", t.array_of(width)) for t in f.ret)
    scanned = b.lets(pat, core.Screma(width, tuple(name for name, _ in taken), f, (scan,), ()))
    also = tuple((v.name, p.type) for v, p in zip(scanned, pat, strict=True))
    again = (*also, *(inputs(b, width) if m.chance(30) else ()))
    f = mapping(b, again, red.op.ret, 0)
    reduced = tuple(m.param("r", t) for t in f.ret)
    b.lets(reduced, core.Screma(width, tuple(name for name, _ in again), f, (), (red,)))
    if m.chance(70):
        for v in scanned:
            b.env.pop(v.name)


def scatter_stm(b: Block) -> None:
    """Writes at distinct places, some of them out of range."""
    m = b.maker
    t, width = some_type(m, 1), m.size()
    n = m.size()
    if m.chance(50):
        dest = b.let("dest", t.array_of(n), core.Copy(array(b, t.array_of(n)))).name
    else:
        dest = b.let("dest", t.array_of(n), core.Replicate((n,), value(b, t))).name
    places = b.let("is", I64.array_of(width), core.Iota(width, i64(m.number(3) - 1), i64(m.pick((1, -1, 2))), Prim.I64))
    taken = ((places.name, I64.array_of(width)), *inputs(b, width))
    f = mapping(b, taken, (t,), 0)
    f = Lambda(f.params, Body(f.body.stms, (Var(f.params[0].name), *f.body.result)), (I64, t))
    result = m.param("sc", b.env[dest])
    b.lets((result,), core.Scatter(width, tuple(name for name, _ in taken), f, (dest,), 1))
    forget(b, dest)


def hist_stm(b: Block) -> None:
    m = b.maker
    n, width = m.size(), m.size()
    dest = b.let("dest", I32.array_of(n), core.Replicate((n,), value(b, I32))).name
    combine, neutral = m.pick(((Op.ADD, 0), (Op.MIN, 2**31 - 1)))
    op = Reduction(binary(m, combine, Prim.I32), (Const(Prim.I32, neutral),), True)
    taken = inputs(b, width)
    f = mapping(b, taken, (I32, I32), 0)
    inner = Block(m, {}, 0, list(f.body.stms))
    place = inner.let("i", I64, core.Convert(Prim.I32, Prim.I64, f.body.result[0]))
    f = Lambda(f.params, inner.body((place, f.body.result[1])), (I64, I32))
    result = m.param("h", I32.array_of(n))
    b.lets((result,), core.Hist(width, tuple(name for name, _ in taken), f, op, (dest,), 1))
    forget(b, dest)


def if_stm(b: Block) -> None:
    m = b.maker
    cond = value(b, BOOL)
    types = tuple(some_type(m) for _ in range(1 + m.number(2)))
    then, orelse = branch(b, types), branch(b, types)
    b.lets(tuple(m.param("z", t) for t in types), core.If(cond, then, orelse))


def branch(b: Block, types: tuple[Type, ...]) -> Body:
    inner = b.inner(())
    fill(inner)
    return inner.body(tuple(outcome(inner, t) for t in types))


def loop_stm(b: Block) -> None:
    m = b.maker
    types = tuple(some_type(m) for _ in range(1 + m.number(2)))
    inits = tuple(value(b, t) for t in types)
    bound: Atom = small_size(b) if m.chance(35) else m.pick((i64(0), i64(1), i64(2), *m.sizes))
    params = tuple(m.param("s", t) for t in types)
    index = m.param("it", I64)
    inner = b.inner((*params, index))
    index32 = inner.let("it", I32, core.Convert(Prim.I64, Prim.I32, Var(index.name)))
    del index32
    fill(inner)
    body = inner.body(tuple(outcome(inner, t) for t in types))
    b.lets(
        tuple(m.param("z", t) for t in types), core.Loop(params, inits, core.ForLoop(index.name, bound, Prim.I64), body)
    )


def nest_stm(b: Block) -> None:
    """A map over rows whose body does several things with them, some in parallel."""
    m = b.maker
    deep = [(name, t) for name, t in b.arrays() if t.rank > 1]
    if not deep:
        soac_stm(b)
        return
    name, t = m.pick(deep)
    others = [(other, u) for other, u in b.arrays() if u.shape[0] == t.shape[0] and other != name]
    taken = ((name, t), *([m.pick(others)] if others and m.chance(50) else []))
    params = tuple(m.param("row", u.row()) for _, u in taken)
    inner = b.inner(params)
    fill(inner, 2 + m.number(3))
    outside = {size for u in b.env.values() for size in u.shape} | set(m.sizes)
    result = tuple(some_result(inner, outside) for _ in range(1 + m.number(3)))
    ret = tuple(type_in(inner, atom) for atom in result)
    f = Lambda(params, inner.body(result), ret)
    pat = tuple(m.param("y", u.array_of(t.shape[0])) for u in ret)
    b.lets(pat, core.Screma(t.shape[0], tuple(name for name, _ in taken), f, (), ()))


def fill(b: Block, count: int | None = None) -> None:
    """A few statements, compound ones only while depth and fuel last."""
    m = b.maker
    for _ in range(count or 1 + m.number(3)):
        if m.fuel <= 0:
            scalar_stm(b)
            return
        m.fuel -= 1
        kind = m.number(25) if b.depth > 0 else m.number(8)
        match kind:
            case 0 | 1 | 2:
                scalar_stm(b)
            case 3 | 4 | 5 | 6:
                bulk_stm(b)
            case 7:
                failing_stm(b) if m.chance(50) else scalar_stm(b)
            case 8 | 9:
                if_stm(b)
            case 10 | 11 | 12:
                loop_stm(b)
            case 13:
                scatter_stm(b)
            case 14:
                hist_stm(b)
            case 15:
                chain_stm(b)
            case 16 | 17 | 18 | 19:
                nest_stm(b)
            case _:
                soac_stm(b)


# ---- programs ----------------------------------------------------------------------------------------------


@st.composite
def cases(draw: Callable) -> Case:
    """A program and its arguments."""
    names = Names(0)
    n, k = names.fresh("n"), names.fresh("m")
    lengths = {name: draw(st.sampled_from((0, 1, 2, 3, 3))) for name in (n, k)}
    seed = draw(st.integers(0, 2**32 - 1))
    numbers = np.random.default_rng(seed)
    maker = Maker(draw, names, (Var(n), Var(k)), 26, Random(f"{seed} {lengths}"))
    sizes = (Param(n, I64), Param(k, I64))
    shapes = (
        ("xs", Prim.I32, (n,)), ("ys", Prim.I32, (k,)), ("xss", Prim.I32, (n, k)), ("cube", Prim.I32, (n, 2, k, 1)),
        ("bs", Prim.BOOL, (k,)), ("fs", Prim.F64, (n,)), ("s", Prim.I32, ()), ("c", Prim.BOOL, ()),
    )  # fmt: skip
    params = tuple(maker.param(base, Type(prim, tuple(map(_size, shape)))) for base, prim, shape in shapes)
    block = Block(maker, {p.name: p.type for p in params}, DEPTH)
    fill(block, 2)
    nest_stm(block)
    fill(block, 3)
    found = list(block.env)[len(params) :]
    chosen = [name for name in found if _is_outside(block.env[name], maker)][-MOST_RESULTS:]
    results = tuple(maker.param("res", block.env[name]) for name in chosen)
    fun = FunDef(
        names.fresh("main"), sizes + params, (), results, block.body(tuple(Var(name) for name in chosen)),
        Entry(
            "main", 2,
            tuple(EntryParam(p.name.base, "", 1, False) for p in params),
            tuple(EntryResult("", (i,)) for i in range(len(results))),
        ),
        (), NOWHERE,
    )  # fmt: skip
    prog = Prog((), (fun,), names.next)
    return Case(prog, tuple(argument(numbers, p.type, lengths) for p in params))


def _size(size: Name | int) -> Atom:
    return i64(size) if isinstance(size, int) else Var(size)


def _is_outside(t: Type, m: Maker) -> bool:
    """Whether a type can be that of a result: its sizes are the program's."""
    return t != I64 and all(isinstance(size, Const) or size in m.sizes for size in t.shape)


def argument(numbers: np.random.Generator, t: Type, lengths: dict[Name, int]) -> np.ndarray | np.generic:
    """Small numbers of the type."""
    shape = tuple(lengths[size.name] if isinstance(size, Var) else int(size.value) for size in t.shape)
    dtype = {Prim.I32: np.int32, Prim.BOOL: np.bool_, Prim.F64: np.float64}[t.prim]
    high = 2 if t.prim is Prim.BOOL else 10
    data = numbers.integers(-3 if t.prim is not Prim.BOOL else 0, high, shape)
    return data.astype(dtype) if shape else dtype(data)
