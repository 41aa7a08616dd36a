"""The programs of tasks: statements over all rows as a program over the rows of a block, and what combines blocks.

Names are those of the host program, but for what a block has of its own: its number of rows, its rows of the arrays
that it goes over (`Rows`), and the rows around them of the arrays that it reads by index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..ir.aliases import consumed_params
from ..ir.basic import whole
from ..ir.core import (
    Assert,
    Body,
    Convert,
    Exp,
    Fix,
    FunDef,
    Hist,
    Index,
    Iota,
    Lambda,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Scratch,
    Screma,
    Stm,
)
from ..ir.entry_points import plain_entry
from ..ir.errors import IRError, Loc
from ..ir.ops import Op
from ..ir.rename import rename_lambda, substitute_type
from ..ir.traverse import called_functions, free_in_body, free_in_stm, map_bodies, names_in_types, needed_functions
from ..ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar
from .plan import All, Count, First, Given, Local, Part, Task


@dataclass(frozen=True, slots=True)
class Source:
    """The program that tasks are parts of, with the types of all its names. `generators`: the iotas and replicates so
    far, which every task makes for itself."""

    prog: Prog
    fun: FunDef
    types: dict[Name, Type]
    names: Names
    generators: dict[Name, Stm]

    @property
    def entry(self) -> str:
        return self.fun.entry.name if self.fun.entry else self.fun.name.base


@dataclass(slots=True)
class Rows:
    """What a task has of its own, by what it is given: a parameter for each."""

    source: Source
    params: dict[Given, Param] = field(default_factory=dict)

    def scalar(self, base: str, given: Given) -> Name:
        return self._param(base, given, I64)

    def array(self, part: Part) -> Name:
        """The parameter for rows of an array."""
        rest = self.source.types[part.name].shape[1:]
        size = Var(self.scalar("m", Count(part if part.below or part.above else None)))
        return self._param(part.name.base, part, Type(self.source.types[part.name].prim, (size, *rest)))

    def local(self, base: str, position: int, t: Type) -> Name:
        return self._param(base, Local(position), t)

    def _param(self, base: str, given: Given, t: Type) -> Name:
        if given not in self.params:
            self.params[given] = Param(self.source.names.fresh(base), t)
        return self.params[given].name


def task_of(rows: Rows, body: Body, results: Sequence[Type]) -> Task:
    """The task of a body that gives values of types `results`; what it uses besides the parameters in `rows` it is
    given whole."""
    source = rows.source
    own = {param.name: (param, given) for given, param in rows.params.items()}
    functions = functions_called(source.prog, body)
    consts = source.prog.consts if functions else ()
    bound = {p.name for stm in (*consts, *body.stms) for p in stm.pat}
    needed: dict[Name, tuple[Param, Given]] = {}
    made: set[Name] = set()
    pending = [*free_in_body(body), *names_in_types(results)]
    while pending:
        name = pending.pop()
        if name in needed or name in made or name in bound:
            continue
        if name in source.generators and name not in own:
            made.add(name)
            pending.extend(free_in_stm(source.generators[name]))
            continue
        needed[name] = own.get(name) or (Param(name, source.types[name]), All(name))
        pending.extend(names_in_types((needed[name][0].type,)))
    body = Body((*(stm for name, stm in source.generators.items() if name in made), *body.stms), body.result)
    ordered = sorted(needed.values(), key=lambda pair: (pair[0].type.rank > 0, pair[0].name.tag))
    params = tuple(param for param, _ in ordered)
    fun = function_of(source, params, body, results)
    prog = Prog(consts, (*functions, fun), source.names.next)
    taken = consumed_params(prog, fun)
    return Task(
        replace(prog, functions=(*functions, replace(fun, consumes=taken))), tuple(given for _, given in ordered)
    )


def function_of(source: Source, params: tuple[Param, ...], body: Body, types: Sequence[Type]) -> FunDef:
    """The entry of a task: one argument for each parameter, sizes among them, one value for each result."""
    results: list[Param] = []
    inside: dict[Name, Atom] = {}
    for atom, t in zip(body.result, types, strict=True):
        result = Param(source.names.fresh("result"), substitute_type(t, inside))
        results.append(result)
        if isinstance(atom, Var) and all(atom.name != p.name for p in params):
            inside.setdefault(atom.name, Var(result.name))
    taken = [(p.name.base, p.type.prim) for p in params]
    entry = plain_entry(source.entry, 0, taken, [r.type.prim for r in results])
    return FunDef(source.names.fresh("task"), params, (), tuple(results), body, entry, (), source.fun.loc)


def functions_called(prog: Prog, body: Body) -> tuple[FunDef, ...]:
    """The functions that a body calls, and those that they call; all that constants may call, if there are any."""
    called = called_functions(body)
    found = needed_functions(prog.functions, called | called_functions(Body(prog.consts, ())) if called else ())
    return tuple(replace(f, entry=None) for f in prog.functions if f.name in found)


# ---- statements over the rows of a block --------------------------------------------------------------------------


def generator_of_block(rows: Rows, stm: Stm) -> list[Stm]:
    """The rows that a block has of an iota or replicate, under a fresh name, that of the last statement."""
    source, (param,) = rows.source, stm.pat
    name = source.names.again(param.name)
    count = Var(rows.scalar("rows", Count(None)))
    pat = (Param(name, Type(param.type.prim, (count, *param.type.shape[1:]))),)
    match stm.exp:
        case Iota(_, start, step, prim):
            first, far, low = (source.names.fresh(base) for base in ("first", "far", "low"))
            lo = Var(rows.scalar("lo", First(None)))
            t = scalar(prim)
            return [
                Stm((Param(low, t),), Convert(Prim.I64, prim, lo), (), (), stm.loc),
                Stm((Param(far, t),), PrimOp(Op.MUL, prim, (Var(low), step)), (), (), stm.loc),
                Stm((Param(first, t),), PrimOp(Op.ADD, prim, (start, Var(far))), (), (), stm.loc),
                replace(stm, pat=pat, exp=Iota(count, Var(first), step, prim)),
            ]
        case Replicate(shape, value):
            return [replace(stm, pat=pat, exp=Replicate((count, *shape[1:]), value))]
        case Scratch():
            return [replace(stm, pat=pat, exp=Scratch(pat[0].type))]
        case _:
            raise IRError("no generator")


def member_of_block(rows: Rows, stm: Stm, own: Mapping[Name, Name], near: Mapping[Name, Part]) -> list[Stm]:
    """A statement over all rows as one over the rows of a block: `own` has its inputs, `near` the arrays of which it
    needs rows around its own."""
    if isinstance(stm.exp, Iota | Replicate | Scratch):
        made = generator_of_block(rows, stm)
        return [*made[:-1], replace(made[-1], pat=(replace(made[-1].pat[0], name=stm.pat[0].name),))]
    count = Var(rows.scalar("rows", Count(None)))
    exp = replace_near(rows, stm.exp, near)
    pat = [Param(p.name, Type(p.type.prim, (count, *p.type.shape[1:]))) for p in stm.pat]
    before: list[Stm] = []
    match exp:
        case Screma(_, arrays, f, scans, reds):
            exp = Screma(count, tuple(own.get(xs, xs) for xs in arrays), f, scans, reds)
            pat[: exp.num_reds] = stm.pat[: exp.num_reds]
        case Hist(_, arrays, f, op, dests, rank):
            types = [rows.source.types[name] for name in dests]
            fresh = [Param(rows.source.names.again(name), t) for name, t in zip(dests, types)]
            for param, neutral in zip(fresh, op.neutral, strict=True):
                before.append(Stm((param,), Replicate(param.type.shape[:rank], neutral), (), (), stm.loc))
            exp = Hist(count, tuple(own.get(xs, xs) for xs in arrays), f, op, tuple(p.name for p in fresh), rank)
            pat = list(stm.pat)
        case Rearrange(perm, array):
            exp = Rearrange(perm, own.get(array, array))
        case Reshape(shape, array):
            exp = Reshape((count, *shape[1:]), own.get(array, array))
        case _:
            raise IRError("no statement over rows")
    return [*before, replace(stm, pat=tuple(pat), exp=exp)]


def replace_near(rows: Rows, exp: Exp, near: Mapping[Name, Part]) -> Exp:
    """`exp` with what it reads of `near` arrays read from the rows that the block has of them, behind the checks of the
    whole arrays."""
    if not near:
        return exp

    def in_body(body: Body) -> Body:
        stms: list[Stm] = []
        for stm in body.stms:
            inner = replace(stm, exp=map_bodies(in_body, stm.exp))
            if isinstance(inner.exp, Index) and inner.exp.array in near:
                stms += near_index(rows, inner, inner.exp, near[inner.exp.array])
            else:
                stms.append(inner)
        return Body(tuple(stms), body.result)

    return map_bodies(in_body, exp)


def near_index(rows: Rows, stm: Stm, index: Index, part: Part) -> list[Stm]:
    """xs[i, j]  ⟶  ok = assert 0 ≤ i < n ∧ 0 ≤ j < m, k = i - first row of the part relying on ok; part[k, j]"""
    (first, *rest) = index.dims
    assert isinstance(first, Fix)
    checks, certs = checked_index(rows.source, stm, index, rows.source.types[part.name].shape)
    place = Param(rows.source.names.fresh("place"), I64)
    origin = Var(rows.scalar("origin", First(part)))
    away = Stm((place,), PrimOp(Op.SUB, Prim.I64, (first.index, origin)), certs, (), stm.loc)
    read = Index(rows.array(part), (Fix(Var(place.name)), *rest), True)
    return [*checks, away, replace(stm, exp=read, certs=certs)]


def checked_index(
    source: Source, stm: Stm, index: Index, shape: tuple[Atom, ...]
) -> tuple[list[Stm], tuple[Name, ...]]:
    """What an index relies on where an array of another shape is read for that of `shape`: an assertion with the text
    of its own failure."""
    if index.safe:
        return [], stm.certs
    stms: list[Stm] = []

    def let(base: str, exp: Exp) -> Var:
        name = source.names.fresh(base)
        stms.append(Stm((Param(name, BOOL),), exp, stm.certs, (), stm.loc))
        return Var(name)

    good: Atom = Const(Prim.BOOL, True)
    shown: list[str | Atom] = []
    for dim, size in zip(index.dims, shape):
        if isinstance(dim, Fix):
            shown += [", " if shown else "index [", dim.index]
            low = let("in", PrimOp(Op.LE, Prim.I64, (i64(0), dim.index)))
            high = let("in", PrimOp(Op.LT, Prim.I64, (dim.index, size)))
            both = let("in", PrimOp(Op.AND, Prim.BOOL, (low, high)))
            good = let("in", PrimOp(Op.AND, Prim.BOOL, (good, both)))
    sizes = [text for size in shape for text in ("[", size, "]")]
    ok = let("ok", Assert(good, "R0101", (*shown, "] out of bounds for array of shape ", *sizes)))
    return stms, (*stm.certs, ok.name)


# ---- what combines blocks -----------------------------------------------------------------------------------------


def combine_task(source: Source, op: Reduction, types: Sequence[Type], loc: Loc, before: Sequence[Stm] = ()) -> Task:
    """reduce op: one value of each of `types` from several. `before`: what makes the neutral elements."""
    rows = Rows(source)
    body = one_stm(source, replace(stacked(rows, types), reds=(copied_op(source, op),)), types, loc)
    return task_of(rows, Body((*before, *body.stms), body.result), types)


def carries_task(source: Source, op: Reduction, types: Sequence[Type], loc: Loc) -> Task:
    """scan op of the blocks' last rows."""
    rows = Rows(source)
    screma = replace(stacked(rows, types), scans=(copied_op(source, op),))
    results = [t.array_of(screma.width) for t in types]
    return task_of(rows, one_stm(source, screma, results, loc), results)


def carry_task(source: Source, op: Reduction, types: Sequence[Type], loc: Loc) -> Task:
    """map (op carry): the rows of a block after what comes before it. Given first the carries, one row of each."""
    rows = Rows(source)
    count, one = Var(rows.scalar("rows", Count(None))), i64(1)
    carries = [rows.local("carry", k, t.array_of(one)) for k, t in enumerate(types)]
    arrays = [rows.local("xs", len(types) + k, t.array_of(count)) for k, t in enumerate(types)]
    f = rename_lambda(op.op, source.names)
    left = [Param(p.name, t) for p, t in zip(f.params, types)]
    takes = [
        Stm((p,), Index(xs, (Fix(i64(0)), *whole(p.type.shape)), True), (), (), loc) for p, xs in zip(left, carries)
    ]
    screma = Screma(count, tuple(arrays), Lambda(f.params[len(types) :], f.body, f.ret), (), ())
    results = [t.array_of(count) for t in types]
    body = one_stm(source, screma, results, loc)
    return task_of(rows, Body((*takes, *body.stms), body.result), results)


def stacked(rows: Rows, types: Sequence[Type]) -> Screma:
    """The identity over several values of each of `types`, one after the other."""
    count = Var(rows.scalar("count", Count(None)))
    arrays = tuple(rows.local("partial", k, t.array_of(count)) for k, t in enumerate(types))
    return Screma(count, arrays, identity(rows.source, types), (), ())


def identity(source: Source, types: Sequence[Type]) -> Lambda:
    """The function that gives its arguments."""
    params = tuple(Param(source.names.fresh("x"), t) for t in types)
    return Lambda(params, Body((), tuple(Var(p.name) for p in params)), tuple(types))


def copied_op(source: Source, op: Reduction) -> Reduction:
    """An operator for a program beside another one that has it."""
    return Reduction(rename_lambda(op.op, source.names), op.neutral, op.comm)


def one_stm(source: Source, exp: Exp, types: Sequence[Type], loc: Loc) -> Body:
    """The body of one expression."""
    pat = tuple(Param(source.names.fresh("y"), t) for t in types)
    return Body((Stm(pat, exp, (), (), loc),), tuple(Var(p.name) for p in pat))


def on_bins(source: Source, op: Reduction, types: Sequence[Type], rank: int, loc: Loc) -> tuple[Reduction, list[Stm]]:
    """map op: the operator of a histogram on all of its bins, and the statements that make its neutral elements."""
    shape = types[0].shape[:rank]
    f = rename_lambda(op.op, source.names)
    for size in reversed(shape):
        ret = tuple(t.array_of(size) for t in f.ret)
        params = tuple(Param(source.names.again(p.name), p.type.array_of(size)) for p in f.params)
        body = one_stm(source, Screma(size, tuple(p.name for p in params), f, (), ()), ret, loc)
        f = Lambda(params, body, ret)
    neutral = [Param(source.names.fresh("ne"), t) for t in types]
    stms = [Stm((p,), Replicate(shape, ne), (), (), loc) for p, ne in zip(neutral, op.neutral, strict=True)]
    return Reduction(f, tuple(Var(p.name) for p in neutral), op.comm), stms
