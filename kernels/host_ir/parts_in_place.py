"""Parts of a concatenation are written where they belong: memory short-circuiting of the host.

    let ys = scratch [m]t                    let zs = scratch [n+m]t
    launch k(ys, ..)                   ⟶     let ys = zs[n :+ m]
    let zs' = concat xs ys                   launch k(ys, ..)
                                             let zs' = zs with [0 :+ n] <- xs

for whatever launches write `ys`: maps, scans, reductions, in each of the branches of a guard. Parts along the outer
dimension are dense, so that kernels write them as arrays of their own. Nothing uses `ys` after the concatenation, which
would be an array of its own, and the sizes of all parts can be computed before the first of them is made. A last part
that is a prefix of what is made, as in `[0] ++ init (scan ..)`, gets room for all of it. After Munksgaard et al.,
"Memory Optimizations in an Array Language" (SC'22).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ...ir import core
from ...ir.basic import whole
from ...ir.core import Slice
from ...ir.errors import Loc
from ...ir.ops import Op, can_fail
from ...ir.records import dataclass
from ...ir.scalar import apply
from ...ir.types import Atom, Const, Name, Names, Prim, Type, Var, i64
from .liveness import uses, uses_of_body
from .nodes import (
    HostBody,
    HostFun,
    HostIf,
    HostLoop,
    HostProgram,
    HostStm,
    Launch,
    map_bodies,
    map_function,
    statements,
)

Types = dict[Name, Type]
View = Callable[[Type], core.Index]
"""A part of the memory of all, for an array of a type."""


def parts_in_place(program: HostProgram, names: Names) -> HostProgram:
    """The program with the parts of its concatenations in place."""
    return replace(program, functions=tuple(_of_function(fun, names) for fun in program.functions))


def _of_function(fun: HostFun, names: Names) -> HostFun:
    types = {p.name: p.type for one in (fun, *fun.callees) for p in one.params}
    for stm in statements(*fun.bodies):
        loop = stm.exp.params if isinstance(stm.exp, HostLoop) else ()
        types.update((p.name, p.type) for p in (*stm.pat, *loop))

    def of_body(body: HostBody) -> HostBody:
        stms = [replace(stm, exp=map_bodies(stm.exp, of_body)) for stm in body.stms]
        for stm in [stm for stm in stms if isinstance(stm.exp, core.Concat)]:
            stms = _short_circuited(stms, stms.index(stm), body.result, types, names)
        return replace(body, stms=tuple(stms))

    return map_function(fun, of_body)


# ---- what makes the memory of a part -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Made:
    """An array whose first rows are a part: bound by statement `at`, of `type`."""

    at: int
    name: Name
    type: Type


def _made(stms: Sequence[HostStm], part: Name, is_last: bool, later: set[Name], types: Types) -> _Made | None:
    """What makes the memory of a part, if that can be elsewhere; None for others."""
    number = _binding(stms, part)
    match None if number is None else stms[number].exp:
        case core.Index(array, (Slice(Const(value=0), _, Const(value=1)), *inner)) if is_last:
            if tuple(inner) != whole(types[array].shape[1:]) or part in later:
                return None
            part = array
        case _:
            pass
    found = _moved(stms, part, later, lambda type_: core.Index(part, whole(type_.shape), True))
    return None if found is None else _Made(found[0], part, types[part])


def _moved(stms: Sequence[HostStm], name: Name, others: set[Name], view: View) -> tuple[int, HostStm] | None:
    """The statement that makes the memory of an array, with a part of other memory in its place; None if it is made in
    another way, or if `others` use it."""
    number = _binding(stms, name)
    if number is None:
        return None
    stm = stms[number]
    match stm.exp:
        case core.Update(array=array) | core.Copied(Var(array)):
            return _moved(stms, array, others, view)
        case _ if not _aliases(stms[number + 1 :], name).isdisjoint(others):
            return None
        case core.Scratch(type_):
            return number, replace(stm, exp=view(type_))
        case HostIf(cond, then, orelse):
            place = [p.name for p in stm.pat].index(name)
            sides = [_moved_in(body, body.result[place], view) for body in (then, orelse)]
            return None if None in sides else (number, replace(stm, exp=HostIf(cond, *filter(None, sides))))
        case _:
            return None


def _moved_in(body: HostBody, result: Atom, view: View) -> HostBody | None:
    """A branch with the memory of one of its results elsewhere."""
    others = [a.name for a in body.result if isinstance(a, Var) and a != result]
    if not isinstance(result, Var) or body.result.count(result) > 1:
        return None
    found = _moved(body.stms, result.name, set(others), view)
    return None if found is None else replace(body, stms=_replaced(body.stms, dict([found])))


def _replaced(stms: Iterable[HostStm], by: Mapping[int, HostStm]) -> tuple[HostStm, ...]:
    return tuple(by.get(k, stm) for k, stm in enumerate(stms))


def _binding(stms: Iterable[HostStm], name: Name) -> int | None:
    return next((k for k, stm in enumerate(stms) if any(p.name == name for p in stm.pat)), None)


def _aliases(stms: Iterable[HostStm], name: Name) -> set[Name]:
    """What may share memory with an array, itself among it, behind these statements."""
    found = {name}
    for stm in stms:
        if not isinstance(stm.exp, Launch | core.Concat | core.Copy) and not found.isdisjoint(uses(stm.exp)):
            found.update(p.name for p in stm.pat if p.type.shape)
    return found


# ---- the concatenation ---------------------------------------------------------------------------------------------


def _short_circuited(
    stms: list[HostStm], k: int, result: tuple[Atom, ...], types: Types, names: Names
) -> list[HostStm]:
    """The statements with parts of the concatenation at `k` in place, if any can be."""
    exp = stms[k].exp
    assert isinstance(exp, core.Concat)
    later, last = uses_of_body(HostBody(tuple(stms[k + 1 :]), result)), len(exp.arrays) - 1
    once = [(n, part) for n, part in enumerate(exp.arrays) if exp.arrays.count(part) == 1]
    found = {n: made for n, part in once if (made := _made(stms[:k], part, n == last, later, types)) is not None}
    if len({made.name for made in found.values()}) < len(found):
        return stms
    for first in sorted({made.at for made in found.values()}):
        made = {n: one for n, one in found.items() if one.at >= first}
        sizes = [made[n].type.shape[0] if n in made else types[part].shape[0] for n, part in enumerate(exp.arrays)]
        shape = (*sizes, *stms[k].pat[0].type.shape[1:])
        early = _computed_before(stms[first:k], {a.name for a in shape if isinstance(a, Var)})
        if early is not None:
            return _joined(stms, k, first, made, sizes, early, types, names)
    return stms


def _computed_before(stms: Sequence[HostStm], needed: set[Name]) -> list[HostStm] | None:
    """The statements that give scalars, if they may be executed before all others; None if not."""
    early: list[HostStm] = []
    for stm in reversed(stms):
        if needed.isdisjoint(p.name for p in stm.pat):
            continue
        match stm.exp:
            case core.PrimOp(op, prim, args) if not can_fail(op, prim):
                needed = needed | {a.name for a in args if isinstance(a, Var)}
                early.append(stm)
            case _:
                return None
    return early[::-1]


def _joined(
    stms: list[HostStm],
    k: int,
    first: int,
    made: Mapping[int, _Made],
    sizes: list[Atom],
    early: list[HostStm],
    types: Types,
    names: Names,
) -> list[HostStm]:
    """All statements, with memory for all parts before statement `first`."""
    (param,), exp, loc = stms[k].pat, stms[k].exp, stms[k].loc
    assert isinstance(exp, core.Concat)
    inner = whole(param.type.shape[1:])
    before, behind, starts = list(early), list[HostStm](), list[Atom]([i64(0)])
    for size in sizes:
        starts.append(_sum(before, starts[-1], size, loc, names))
    memory = replace(
        param, name=names.again(param.name), type=replace(param.type, shape=(starts[-1], *param.type.shape[1:]))
    )
    before.append(HostStm((memory,), core.Scratch(memory.type), loc))

    def view(n: int) -> View:
        return lambda t: core.Index(memory.name, (Slice(starts[n], t.shape[0], i64(1)), *inner), True)

    changed: dict[int, HostStm] = {}
    for n, one in made.items():
        moved = _moved(_replaced(stms[:k], changed), one.name, set(), view(n))
        assert moved is not None
        changed |= dict([moved])
    array = memory.name
    for n, part in enumerate(exp.arrays):
        if n not in made:
            after = replace(memory, name=names.again(param.name))
            value = core.Update(array, (Slice(starts[n], sizes[n], i64(1)), *inner), Var(part), True)
            behind.append(HostStm((after,), value, loc))
            array = after.name
    types[array] = memory.type
    prefix = (Slice(i64(0), param.type.shape[0], i64(1)), *inner)
    is_all = all(made[n].type == types[exp.arrays[n]] for n in made)
    behind.append(replace(stms[k], exp=core.Copied(Var(array)) if is_all else core.Index(array, prefix, True)))
    between = [stm for stm in _replaced(stms[:k], changed)[first:] if stm not in early]
    return [*stms[:first], *before, *between, *behind, *stms[k + 1 :]]


def _sum(before: list[HostStm], x: Atom, y: Atom, loc: Loc, names: Names) -> Atom:
    match x, y:
        case Const(value=0), _:
            return y
        case Const(), Const():
            return i64(int(apply(Op.ADD, Prim.I64, (x.value, y.value))))
        case _:
            total = core.Param(names.fresh("n"), Type(Prim.I64, ()))
            before.append(HostStm((total,), core.PrimOp(Op.ADD, Prim.I64, (x, y)), loc))
            return Var(total.name)
