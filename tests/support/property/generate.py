"""Random well-typed core programs, for the law that every pass keeps the meaning.

Sizes are symbols (two size parameters, small constants, sizes computed in a nest), so that arrays are regular by
construction. Values are i32, i64, bool and f32 that hold small integers, so that all versions agree exactly. Nests go
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
from soac.ir.core import Attr, Body, FunDef, Lambda, Param, Prog, Reduction, Stm
from soac.ir.entry_points import Entry, EntryParam, EntryResult
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.scalar import DTYPES
from soac.ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar
from tests.support.property.choices import Decide
from tests.support.property.make import I32, Block, Maker, array, forget, outcome, some_type, value
from tests.support.property.operators import commutative_operator, operator
from tests.support.property.simple import bulk_stm, failing_stm, scalar_stm, sizes_with, small_size, varying_size

DEPTH = 4
FUEL = 23
"""How many statements with bodies or of bulk a program has at most."""
MOST_RESULTS = 10
ATTRIBUTES = (
    (Attr("sequential", ()),),
    (Attr("sequential_outer", ()),),
    (Attr("sequential_inner", ()),),
    (Attr("flattening", (Attr("no_outer", ()),)),),
    (Attr("flattening", (Attr("only_inner", ()),)),),
    (Attr("flattening", (Attr("no_intra", ()),)),),
    (Attr("flattening", (Attr("only_intra", ()),)),),
)


Argument = np.ndarray | np.generic
Inputs = tuple[tuple[Name, Type], ...]
"""Arrays of one width, with their types."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program with arguments for its entry `main`."""

    prog: Prog
    args: tuple[Argument, ...]


# ---- SOACs, loops, branches ---------------------------------------------------------------------------------------


def inputs(b: Block, width: Atom) -> Inputs:
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
    taken = tuple(found[-1 - min(m.number(5), len(found) - 1)] for _ in range(count))
    name, t = taken[0]
    if t.rank == 1 and t.prim.is_int and m.chance(30):
        return ((made_before(b, name, t), t), *taken[1:])
    return taken


def made_before(b: Block, source: Name, t: Type) -> Name:
    """A map of an array, for one reader only."""
    m = b.maker
    x, y = m.param("x", t.row()), m.param("y", t.row())
    exp = core.PrimOp(m.pick((Op.ADD, Op.MUL, Op.XOR)), t.prim, (Var(x.name), value(b, t.row())))
    f = Lambda((x,), Body((Stm((y,), exp, (), (), NOWHERE),), (Var(y.name),)), (t.row(),))
    made = b.let("mp", t, core.Screma(t.shape[0], (source,), f, (), ())).name
    b.env.pop(made)
    return made


def mapping(b: Block, taken: Inputs, types: tuple[Type, ...], extra: int) -> Lambda:
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
    known = [name for name, t in b.env.items() if all(isinstance(s, Const) or s in outside for s in t.shape)]
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
    if scans and reds:
        scans, reds = (scans, ()) if m.chance(50) else ((), reds)
    taken = inputs(b, width)
    operated = tuple(t for op in scans + reds for t in op.op.ret)
    mapped = m.pick((0, 0, 1)) if operated else 1 + m.number(2)
    f = mapping(b, taken, operated, mapped)
    scanned = sum(len(op.neutral) for op in scans)
    pat = tuple(m.param("y", t if scanned <= k < len(operated) else t.array_of(width)) for k, t in enumerate(f.ret))
    b.lets(pat, core.Screma(width, tuple(name for name, _ in taken), f, scans, reds), attributes(m))


def attributes(m: Maker) -> tuple[Attr, ...]:
    """Now and then what the source may say on versions."""
    return m.pick(ATTRIBUTES) if m.chance(8) else ()


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
    width = b.maker.size()
    scatter_of(b, inputs(b, width), width)


def scatter_of(b: Block, given: Inputs, width: Atom) -> None:
    """Writes of what is computed from these arrays at distinct places, some of them out of range."""
    m = b.maker
    t = some_type(m, 1)
    n = m.size()
    if m.chance(50):
        dest = b.let("dest", t.array_of(n), core.Copy(array(b, t.array_of(n)))).name
    else:
        dest = b.let("dest", t.array_of(n), core.Replicate((n,), value(b, t))).name
    places = b.let("is", I64.array_of(width), core.Iota(width, i64(m.number(3) - 1), i64(m.pick((1, -1, 2))), Prim.I64))
    taken = ((places.name, I64.array_of(width)), *given)
    f = mapping(b, taken, (t,), 0)
    f = Lambda(f.params, Body(f.body.stms, (Var(f.params[0].name), *f.body.result)), (I64, t))
    result = m.param("sc", b.env[dest])
    b.lets((result,), core.Scatter(width, tuple(name for name, _ in taken), f, (dest,), 1))
    forget(b, dest)


def hist_stm(b: Block) -> None:
    width = b.maker.size()
    hist_of(b, inputs(b, width), width)


def hist_of(b: Block, taken: Inputs, width: Atom, op: Reduction | None = None) -> None:
    """What is computed from these arrays, into an array or a matrix of numbers, of pairs or of rows; some places are
    out of range."""
    m = b.maker
    op = op or commutative_operator(b)
    dims = tuple(m.size() for _ in range(m.pick((1, 1, 2))))
    types = tuple(t.array_of(*dims) for t in op.op.ret)
    dests = tuple(b.let("dest", t, core.Replicate(t.shape, value(b, I32))).name for t in types)
    f = mapping(b, taken, (*(I32 for _ in dims), *op.op.ret), 0)
    inner = Block(m, {}, 0, list(f.body.stms))
    places = tuple(inner.let("i", I64, core.Convert(Prim.I32, Prim.I64, atom)) for atom in f.body.result[: len(dims)])
    ret = (*(I64 for _ in dims), *op.op.ret)
    f = Lambda(f.params, inner.body((*places, *f.body.result[len(dims) :])), ret)
    pat = tuple(m.param("h", t) for t in types)
    b.lets(pat, core.Hist(width, tuple(name for name, _ in taken), f, op, dests, len(dims)))
    for dest in dests:
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


def while_stm(b: Block) -> None:
    """A loop that counts for itself."""
    m = b.maker
    types = tuple(some_type(m) for _ in range(1 + m.number(2)))
    bound = small_size(b) if m.chance(50) else m.pick((*m.sizes, i64(2)))
    enters = b.let("go", BOOL, core.PrimOp(Op.LT, Prim.I64, (i64(0), bound)))
    inits = (enters, i64(0), *(value(b, t) for t in types))
    go, count = m.param("go", BOOL), m.param("it", I64)
    params = (go, count, *(m.param("s", t) for t in types))
    inner = b.inner(params)
    fill(inner)
    after = inner.let("it", I64, core.PrimOp(Op.ADD, Prim.I64, (Var(count.name), i64(1))))
    again = inner.let("go", BOOL, core.PrimOp(Op.LT, Prim.I64, (after, bound)))
    body = inner.body((again, after, *(outcome(inner, t) for t in types)))
    pat = (m.param("went", BOOL), m.param("count", I64), *(m.param("z", t) for t in types))
    b.lets(pat, core.Loop(params, inits, core.WhileLoop(go.name), body))


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

    def work(inner: Block) -> None:
        varying = (varying_size(inner),) if m.chance(25) else ()
        with sizes_with(m, varying):
            fill(inner, 2 + m.number(3))
            if varying and m.fuel > 0:
                m.pick((loop_stm, if_stm))(inner)

    map_over(b, taken, work, attributes(m))


def map_over(b: Block, taken: Inputs, work: Callable[[Block], None], attrs: tuple[Attr, ...] = ()) -> None:
    """A map over these arrays; `work` makes its body, some of which are the results."""
    m = b.maker
    params = tuple(m.param("row", t.row()) for _, t in taken)
    inner = b.inner(params)
    work(inner)
    outside = {size for t in b.env.values() for size in t.shape} | set(m.sizes)
    result = tuple(some_result(inner, outside) for _ in range(1 + m.number(3)))
    ret = tuple(type_in(inner, atom) for atom in result)
    width = taken[0][1].shape[0]
    pat = tuple(m.param("y", t.array_of(width)) for t in ret)
    f = Lambda(params, inner.body(result), ret)
    b.lets(pat, core.Screma(width, tuple(name for name, _ in taken), f, (), ()), attrs)


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
                while_stm(b) if m.chance(15) else loop_stm(b)
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
def decided(draw: Callable, make: Callable[[Decide], Case]) -> Case:
    """A program and its arguments by `make`. The decisions are those of Hypothesis, moved on by a seed: alone they
    repeat parts of earlier programs too often."""
    salt = Random(draw(st.integers(0, 2**32 - 1)))
    return make(lambda below: (draw(st.integers(0, below - 1)) + salt.randrange(below)) % below)


def cases() -> st.SearchStrategy[Case]:
    """Programs of all kinds."""
    return decided(case_of)


def case_of(decide: Decide) -> Case:
    """A program and its arguments, by the decisions given."""
    names = Names(0)
    n, k = names.fresh("n"), names.fresh("m")
    lengths = {name: (3, 2, 1, 0, 3)[decide(5)] for name in (n, k)}
    seed = decide(1 << 16)
    maker = Maker(decide, names, (Var(n), Var(k)), FUEL)
    shapes = (
        ("xs", Prim.I32, (n,)), ("ys", Prim.I32, (k,)), ("xss", Prim.I32, (n, k)), ("cube", Prim.I32, (n, 2, k, 1)),
        ("bs", Prim.BOOL, (k,)), ("fs", Prim.F32, (n,)), ("ls", Prim.I64, (k,)), ("s", Prim.I32, ()),
        ("c", Prim.BOOL, ()),
    )  # fmt: skip
    block = opened(maker, shapes)
    fill(block, 2)
    nest_stm(block)
    fill(block, 3)
    return closed(block, lengths, seed)


def opened(maker: Maker, shapes: tuple[tuple[str, Prim, tuple[Name | int, ...]], ...]) -> Block:
    """The body of a program with these parameters beside its sizes."""
    params = tuple(maker.param(base, Type(prim, tuple(map(_size, shape)))) for base, prim, shape in shapes)
    return Block(maker, {p.name: p.type for p in params}, DEPTH)


def closed(block: Block, lengths: dict[Name, int], seed: int) -> Case:
    """The program of a body, which gives the latest of what it has computed and a digest of it, and its arguments."""
    maker = block.maker
    bound = {p.name for stm in block.stms for p in stm.pat}
    params = tuple(Param(name, t) for name, t in block.env.items() if name not in bound)
    found = [name for name in block.env if name in bound and _is_outside(block.env[name], maker)]
    digest = block.digest()
    chosen = found[-MOST_RESULTS:] + ([digest.name] if isinstance(digest, Var) else [])
    results = tuple(maker.param("res", block.env[name]) for name in chosen)
    fun = FunDef(
        maker.names.fresh("main"), tuple(Param(name, I64) for name in lengths) + params, (), results,
        block.body(tuple(Var(name) for name in chosen)),
        Entry(
            "main", len(lengths),
            tuple(EntryParam(p.name.base, "", 1, False) for p in params),
            tuple(EntryResult("", (i,)) for i in range(len(results))),
        ),
        (), NOWHERE,
    )  # fmt: skip
    numbers = np.random.default_rng(seed)
    return Case(
        Prog((), (*maker.functions, fun), maker.names.next), tuple(argument(numbers, p.type, lengths) for p in params)
    )


def _size(size: Name | int) -> Atom:
    return i64(size) if isinstance(size, int) else Var(size)


def _is_outside(t: Type, m: Maker) -> bool:
    """Whether a type can be that of a result: its sizes are the program's."""
    return all(isinstance(size, Const) or size in m.sizes for size in t.shape)


def argument(numbers: np.random.Generator, t: Type, lengths: dict[Name, int]) -> Argument:
    """Small numbers of the type; a float is now and then no number."""
    shape = tuple(lengths[size.name] if isinstance(size, Var) else int(size.value) for size in t.shape)
    low, high = (0, 2) if t.prim is Prim.BOOL else (-3, 10)
    data = np.asarray(numbers.integers(low, high, shape)).astype(DTYPES[t.prim])
    if t.prim.is_float:
        data[numbers.integers(0, 8, shape) == 0] = np.nan
    return data if shape else data[()]
