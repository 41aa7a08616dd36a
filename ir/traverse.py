"""Walking the IR: sub-bodies, uses, free names, types in scope. Substitution and renaming: `ir/rename.py`.

An expression is seen in two parts. Its *bodies* (of branches, loops, lambdas, segops), each with the parameters that
are in scope there: `scoped_bodies`, put back by `with_bodies`. And its *uses*: operands, arrays, sizes and neutral
elements, all of the surrounding scope. Free names follow from the two; so do most passes.

Names are unique in a program, so substitution cannot capture and one mapping `types_in` gives the types of all names.
Sets of names are dicts in order of first occurrence, for the same output in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any

from .core import (
    Accumulate,
    Apply,
    Assert,
    Body,
    DimIndex,
    Exp,
    Fix,
    ForLoop,
    FunDef,
    Hist,
    If,
    Index,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Prog,
    Reduction,
    Remembered,
    Scatter,
    Screma,
    SegHist,
    SegMap,
    SegOp,
    SegRed,
    SegScan,
    SegScatter,
    SegSpace,
    Slice,
    Soac,
    Stm,
    Update,
    WithAcc,
)
from .ops import can_fail
from .reachable import reachable
from .syntax import FIELDS
from .types import I64, Atom, Name, Type, Var, scalar

NameSet = dict[Name, None]
"""Names in order of first occurrence; `name in names` as with a set."""

COMPOUND: frozenset[type] = frozenset(
    {If, Loop, Screma, Hist, Scatter, Accumulate, WithAcc, SegMap, SegRed, SegScan, SegScatter, SegHist}
)  # fmt: skip
"""The expressions with bodies: most are not, and one look-up says so (passes spend their time walking)."""


# ---- bodies and lambdas ------------------------------------------------------------------------------------------


def scoped_bodies(exp: Exp) -> tuple[tuple[tuple[Param, ...], Body], ...]:
    """The bodies directly inside `exp`, each with the parameters that are in scope there besides the outer names."""
    if type(exp) not in COMPOUND:
        return ()
    match exp:
        case If():
            return (((), exp.then), ((), exp.orelse))
        case Loop(params=params, form=ForLoop() as form, body=body):
            return (((*params, Param(form.index, scalar(form.prim))), body),)
        case Loop(params=params, body=body):
            return ((params, body),)
        case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
            return (*[(f.params, f.body) for f in lambdas(exp)], (space_params(exp.space), exp.body))
        case _:
            return tuple([(f.params, f.body) for f in lambdas(exp)])


def with_bodies(exp: Exp, bodies: Iterable[Body]) -> Exp:
    """`exp` with its bodies replaced, in the order of `scoped_bodies`."""
    given = tuple(bodies)
    match exp:
        case If():
            then, orelse = given
            return If(exp.cond, then, orelse)
        case Loop():
            (body,) = given
            return Loop(exp.params, exp.inits, exp.form, body)
        case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
            return replace(_with_lambda_bodies(exp, given[:-1]), body=given[-1])
        case _:
            return _with_lambda_bodies(exp, given)


def _with_lambda_bodies(exp: Exp, bodies: tuple[Body, ...]) -> Exp:
    old = lambdas(exp)
    return with_lambdas(exp, [Lambda(f.params, body, f.ret) for f, body in zip(old, bodies, strict=True)])


def bodies(exp: Exp) -> tuple[Body, ...]:
    """The bodies directly inside `exp`."""
    return tuple([body for _, body in scoped_bodies(exp)]) if type(exp) in COMPOUND else ()


def map_bodies(on_body: Callable[[Body], Body], exp: Exp) -> Exp:
    """`exp` with `on_body` applied to each body directly inside, lambdas included; the same object if none changes."""
    if type(exp) not in COMPOUND:  # most are not
        return exp
    old = bodies(exp)
    new = [on_body(body) for body in old]
    return exp if all(map(is_, new, old)) else with_bodies(exp, new)


def rewritten(body: Body, on_stm: Callable[[Stm], Iterable[Stm] | None]) -> Body:
    """The body with what `on_stm` gives for a statement in its place; where that is None, the bodies inside of the
    statement are rewritten."""
    stms: list[Stm] = []
    for stm in body.stms:
        made = on_stm(stm)
        if made is None:
            exp = map_bodies(lambda inner: rewritten(inner, on_stm), stm.exp)
            made = (stm if exp is stm.exp else replace(stm, exp=exp),)
        stms += made
    return Body(tuple(stms), body.result)


def host_stms(on_body: Callable[[Body], Body], body: Body) -> tuple[Stm, ...]:
    """The statements of a body of the host, with `on_body` applied to the bodies inside; segops stay."""
    return tuple(
        stm if isinstance(stm.exp, SegOp) or not bodies(stm.exp) else replace(stm, exp=map_bodies(on_body, stm.exp))
        for stm in body.stms
    )


def reductions(exp: Exp) -> tuple[Reduction, ...]:
    """The operators of a SOAC or segop, in order."""
    match exp:
        case Screma():
            return exp.ops
        case SegRed():
            return exp.reds
        case SegScan():
            return exp.scans
        case Hist() | SegHist():
            return (exp.op,)
        case Accumulate(op=Reduction() as op):
            return (op,)
        case _:
            return ()


def lambdas(exp: Exp) -> tuple[Lambda, ...]:
    """The lambdas of `exp`: that of a map first, then the operators."""
    if type(exp) not in COMPOUND:
        return ()
    ops = tuple([r.op for r in reductions(exp)])
    return (exp.map, *ops) if isinstance(exp, Soac | WithAcc) else ops


def with_lambdas(exp: Exp, fs: Iterable[Lambda]) -> Exp:
    """`exp` with its lambdas replaced, in the order of `lambdas`."""
    given = tuple(fs)
    ops = given[1:] if isinstance(exp, Soac | WithAcc) else given
    reds = tuple(Reduction(op, r.neutral, r.comm) for op, r in zip(ops, reductions(exp), strict=True))
    match exp:
        case Screma():
            scans, reds = (reds, ()) if exp.scans else ((), reds)
            return Screma(exp.width, exp.arrays, given[0], scans, reds)
        case Hist():
            return Hist(exp.width, exp.arrays, given[0], reds[0], exp.dests, exp.rank)
        case Scatter():
            return Scatter(exp.width, exp.arrays, given[0], exp.dests, exp.rank)
        case WithAcc():
            return replace(exp, map=given[0])
        case Accumulate():
            return replace(exp, op=reds[0]) if reds else exp
        case SegRed():
            return SegRed(exp.level, exp.space, reds, exp.body, exp.ret, exp.ends)
        case SegScan():
            return SegScan(exp.level, exp.space, reds, exp.body, exp.ret)
        case SegHist():
            return SegHist(exp.level, exp.space, reds[0], exp.dests, exp.rank, exp.body)
        case _:
            return exp


def space_params(space: SegSpace) -> tuple[Param, ...]:
    """The indices of a space as parameters (all i64)."""
    return tuple(Param(name, I64) for name in space.indices)


def all_stms(body: Body) -> Iterator[Stm]:
    """Every statement in `body` at any depth, a statement before those inside it."""
    pending = [iter(body.stms)]
    while pending:
        for stm in pending[-1]:
            yield stm
            if type(stm.exp) in COMPOUND:
                pending.extend(iter(inner.stms) for inner in reversed(bodies(stm.exp)))
                break
        else:
            pending.pop()


def all_exps(body: Body) -> Iterator[Exp]:
    """Every expression in `body` at any depth, an expression before those inside it."""
    return (stm.exp for stm in all_stms(body))


def all_params(body: Body) -> Iterator[Param]:
    """Everything that is bound in `body`, at any depth."""
    for stm in all_stms(body):
        yield from stm.pat
        for params, _ in scoped_bodies(stm.exp):
            yield from params


# ---- uses and free names -----------------------------------------------------------------------------------------


def operands(exp: Exp) -> tuple[Atom, ...]:
    """What `exp` itself uses: atoms, arrays, widths, neutral elements and the sizes of `scratch` and literals;
    not what its bodies use, not the types of its parameters, not the function it calls."""
    if isinstance(exp, PrimOp):  # most are
        return exp.args
    if isinstance(exp, Loop):
        return (*exp.inits, exp.form.bound) if isinstance(exp.form, ForLoop) else exp.inits
    return tuple([atom for name, used in _USED[type(exp)] for atom in used(getattr(exp, name))])


def index_atoms(dims: tuple[DimIndex, ...]) -> Iterator[Atom]:
    """The atoms of an index, in order."""
    for dim in dims:
        match dim:
            case Fix(index=index):
                yield index
            case Slice(start=start, count=count, stride=stride):
                yield start
                yield count
                yield stride


def _one(atom: Atom) -> tuple[Atom, ...]:
    return (atom,)


def _all(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
    return atoms


def _neutral(reds: tuple[Reduction, ...]) -> Iterator[Atom]:
    return (atom for red in reds for atom in red.neutral)


_BY_KIND: Mapping[str, Callable[[Any], Iterable[Atom]]] = {
    "operand": _one,
    "operands": _all,
    "elements": _all,
    "shape": _all,
    "where": _one,
    "name": lambda name: (Var(name),),
    "names": lambda names: map(Var, names),
    "rows": lambda ends: () if ends is None else (Var(ends),),
    "type": lambda t: t.shape,
    "dims": index_atoms,
    "said": lambda parts: (part for part in parts if not isinstance(part, str)),
    "space": lambda space: space.widths,
    "reduction": lambda red: red.neutral,
    "reductions": _neutral,
    "scans": _neutral,
    "optional": lambda red: () if red is None else red.neutral,
}
_USED: Mapping[type, tuple[tuple[str, Callable[[Any], Iterable[Atom]]], ...]] = {
    node: tuple((name, _BY_KIND[kind]) for name, kind in found if kind in _BY_KIND) for node, found in FIELDS.items()
}
"""What each field uses; others use nothing."""


def result_types(exp: Exp) -> tuple[Type, ...]:
    """The types written in `exp` for results: of its lambdas and of a segop's body."""
    ret = tuple(t for f in lambdas(exp) for t in f.ret)
    return ret + exp.ret if isinstance(exp, SegMap | SegRed | SegScan) else ret


def names_in_types(types: Iterable[Type]) -> Iterator[Name]:
    """The variables among the sizes of `types`."""
    for t in types:
        for size in t.shape:
            if isinstance(size, Var):
                yield size.name


def free_names(exp: Exp) -> NameSet:
    """The names that `exp` needs from outside (without function names)."""
    found: NameSet = {}
    _free_in_exp(exp, set(), found)
    return found


def free_in_stm(stm: Stm) -> NameSet:
    """The names that a statement needs: of its expression, certificates, and sizes in its pattern."""
    found: NameSet = {}
    _free_in_stms((stm,), set(), found)
    return found


def free_in_body(body: Body) -> NameSet:
    """The names that a body uses and does not bind, those in types included, in order of first use."""
    return _free_of(body).copy()


def free_in_lambda(f: Lambda) -> NameSet:
    """The names that a lambda uses and does not bind, those in types included, in order of first use."""
    found: NameSet = {}
    bound = {p.name for p in f.params}
    _note(names_in_types(p.type for p in f.params), bound, found)
    _note(_free_of(f.body), bound, found)
    _note(names_in_types(f.ret), bound, found)
    return found


def _note(names: Iterable[Name], bound: set[Name], found: NameSet) -> None:
    for name in names:
        if name not in bound:
            found[name] = None


def _note_atoms(atoms: Iterable[Atom], bound: set[Name], found: NameSet) -> None:
    for atom in atoms:
        if isinstance(atom, Var) and atom.name not in bound:
            found[atom.name] = None


def _free_of(body: Body) -> NameSet:
    """The free names of a body, which does not change: found once, since passes ask at every statement around it."""
    try:
        return body.free
    except AttributeError:
        pass
    found: NameSet = {}
    bound: set[Name] = set()
    _free_in_stms(body.stms, bound, found)
    _note_atoms(body.result, bound, found)
    _remember(body, found)
    return found


_remember: Callable[[Remembered, NameSet], None] = vars(Remembered)["free"].__set__


def _free_in_stms(stms: tuple[Stm, ...], bound: set[Name], found: NameSet) -> None:
    """Adds to `bound` what is bound on the way: names are unique, so it may stay there."""
    for stm in stms:
        _free_in_exp(stm.exp, bound, found)
        if stm.certs:
            _note(stm.certs, bound, found)
        for param in stm.pat:
            bound.add(param.name)
        for param in stm.pat:
            if shape := param.type.shape:
                _note_atoms(shape, bound, found)


def _free_in_exp(exp: Exp, bound: set[Name], found: NameSet) -> None:
    _note_atoms(operands(exp), bound, found)
    if type(exp) not in COMPOUND:
        return
    for params, body in scoped_bodies(exp):
        bound.update(p.name for p in params)
        _note(names_in_types(p.type for p in params), bound, found)
        _note(_free_of(body), bound, found)
    _note(names_in_types(result_types(exp)), bound, found)


def needed(stms: Sequence[Stm], wanted: Iterable[Name]) -> tuple[Stm, ...]:
    """The statements of a body that the names `wanted` stand on."""
    names, kept = set(wanted), list[Stm]()
    for stm in reversed(stms):
        if any(p.name in names for p in stm.pat):
            kept.append(stm)
            names.update(free_in_stm(stm))
    return tuple(reversed(kept))


def live(body: Body) -> Body:
    """The body with the statements alone that its results stand on."""
    return Body(needed(body.stms, (atom.name for atom in body.result if isinstance(atom, Var))), body.result)


def bound_in_body(body: Body) -> NameSet:
    """All names bound in `body`, at any depth."""
    return dict.fromkeys(param.name for param in all_params(body))


def called_functions(body: Body) -> NameSet:
    """The functions that `body` calls, at any depth."""
    return dict.fromkeys(exp.function for exp in all_exps(body) if isinstance(exp, Apply))


def recursive_functions(functions: tuple[FunDef, ...]) -> frozenset[Name]:
    """The functions that call themselves, directly or through others."""
    calls = {fun.name: called_functions(fun.body) for fun in functions}
    return frozenset(name for name in calls if name in reachable(calls[name], calls.__getitem__))


def needed_functions(functions: Iterable[FunDef], called: Iterable[Name]) -> NameSet:
    """Of these functions those that are called, directly or through others."""
    by_name = {fun.name: fun.body for fun in functions}
    return reachable(called, lambda name: called_functions(by_name[name]))


def callees_first(functions: Sequence[FunDef], recursive: frozenset[Name]) -> list[FunDef]:
    """The functions in an order in which each comes after all that it calls, but for recursive ones."""
    by_name = {fun.name: fun for fun in functions}
    done: dict[Name, FunDef] = {}
    for root in functions:
        path: list[tuple[FunDef, Iterator[Name]]] = []
        pending = [root.name] if root.name not in done else []
        while pending or path:
            if pending:
                fun = by_name[pending.pop()]
                path.append((fun, iter(called_functions(fun.body))))
            fun, callees = path[-1]
            following = next((c for c in callees if c not in done and c not in recursive), None)
            if following is not None:
                pending.append(following)
            else:
                done[fun.name] = fun
                path.pop()
    return list(done.values())


def may_fail(exp: Exp) -> bool:
    """Whether `exp` has a check of its own, or calls what may have one."""
    match exp:
        case PrimOp(op, prim, _):
            return can_fail(op, prim)
        case Index(_, _, safe) | Update(_, _, _, safe):
            return not safe
        case _:
            return isinstance(exp, Assert | Apply)


def consumed_by(exp: Exp) -> tuple[Name, ...]:
    """Arrays that `exp` itself overwrites (a call and a loop consume more: see `ir/check.py`)."""
    match exp:
        case Update():
            return (exp.array,)
        case Hist() | Scatter() | WithAcc() | SegHist() | SegScatter():
            return exp.dests
        case Accumulate():
            return exp.accs
        case _:
            return ()


# ---- types in scope ----------------------------------------------------------------------------------------------


def type_of(atom: Atom, types: Mapping[Name, Type]) -> Type:
    """The type of an atom where names have `types`."""
    return types[atom.name] if isinstance(atom, Var) else scalar(atom.prim)


def types_in(prog: Prog) -> dict[Name, Type]:
    """The types of all names bound in a program, at any depth."""
    types: dict[Name, Type] = {}
    add_types(types, Body(prog.consts, ()))
    for fun in prog.functions:
        types.update((p.name, p.type) for p in (*fun.params, *fun.results))
        add_types(types, fun.body)
    return types


def add_types(types: dict[Name, Type], body: Body) -> None:
    """Adds the types of all names bound in `body`, at any depth."""
    types.update((param.name, param.type) for param in all_params(body))
