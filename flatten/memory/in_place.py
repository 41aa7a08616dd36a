"""In-place maps: what is computed only to overwrite a part of an array is written there by the threads that compute it.

    let ys = segmap (i < n, j < m) { e }  ⟶  segscatter (i < n, j < m) a { (s + i*t, k, u + j, e) }        [P-Update]
    in a with [s :+ n*t, k, u :+ m] <- ys

    a with [r1] <- v with [r2] <- ys  ⟶  a with [r2] <- ys with [r1] <- v                                  [P-Swap]

    let ys = segmap (i < n, j < m) { .. a[i, k] .. }  ⟶  let c = copy a[:, k]                              [P-Take]
    in a with [:, :] <- ys                                in segscatter (i < n, j < m) a { .. c[i] .. }

The array between is never there; results of one map that overwrite the same part of several arrays go into one scatter.
Sound where threads see of `a` only what no other thread overwrites: their own place, or places that are not in the part
(`flatten/aliasing/regions.py`), and where nothing that they read is overwritten in between; some of what else they read
of each other's places is copied before (`taken_parts.py`). [P-Swap] for parts that do not meet brings an update next to
the map that it takes. After Munksgaard et al., "Memory Optimizations in an Array Language" (SC'22), and the in-place
lowering of Futhark.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import (
    Body,
    DimIndex,
    Fix,
    Index,
    Level,
    Prog,
    SegMap,
    SegScatter,
    Slice,
    Stm,
    Update,
)
from ...ir.ops import Op
from ...ir.traverse import free_in_stm, host_stms, types_in
from ...ir.types import Atom, Name, Names, Var
from ..aliasing.classes import sharing_in
from ..aliasing.regions import Place, are_apart, is_plain, part_of, reads_beside
from .scope import Scope, may_move, op_in, places_in, uses_in
from .taken_parts import can_be_taken, take


def in_place(prog: Prog) -> Prog:
    """`prog` with its maps in place where they overwrite a part of an array."""
    names, sharing, types = Names(prog.next_name), sharing_in(prog), types_in(prog)
    defined: dict[Name, Stm] = {}

    def on_body(body: Body) -> Body:
        defined.update((p.name, stm) for stm in body.stms for p in stm.pat)
        stms = list(host_stms(on_body, body))
        if not any(isinstance(stm.exp, Update) for stm in stms):
            return Body(tuple(stms), body.result)
        scope = Scope(names, sharing, types, defined, stms, uses_in(stms, body.result), places_in(stms))
        _rewrite(scope)
        return Body(tuple(scope.stms), body.result)

    functions = tuple(replace(fun, body=on_body(fun.body)) for fun in prog.functions)
    return Prog(prog.consts, functions, names.next)


def _rewrite(scope: Scope) -> None:
    """Every update of the body, the last one first: what it takes the others may still read."""
    k = len(scope.stms) - 1
    while k >= 0:
        match scope.stms[k].exp:
            case Update(_, _, Var(), _):
                k = _update(scope, k)
            case _:
                k -= 1


# ---- updates -------------------------------------------------------------------------------------------------------


def _update(scope: Scope, k: int) -> int:
    """P-Update for the update at `k`, after P-Swap where that makes it possible; gives where to go on."""
    found = _made_for(scope, k)
    if found is None:
        return k - 1
    number, places = found
    order = _swapped(scope, number, k) if len(places) == 1 else None
    stms, at = (scope.stms, k) if order is None else (order, k - 1)
    map_, updates = stms[number], [stms[place] for place in places] if order is None else [stms[at]]
    between = [stm for stm in stms[number + 1 : at] if stm not in updates]
    taken: list[Stm] = []
    for update in updates:
        beside = _reads_beside(scope, map_, update, between)
        if beside is None:
            return k - 1
        copies, map_ = take(scope, map_, update, beside)
        taken += copies
    scope.change([*stms[:number], *between, *taken, _scattered(scope, map_, updates), *stms[at + 1 :]])
    return at + len(taken) if order is not None else at - 1 - len(updates)


def _made_for(scope: Scope, k: int) -> tuple[int, list[int]] | None:
    """The map over threads with plain statements that the update at `k` alone uses, or with others of the same part, of
    which it is the last; and the updates by the results of the map."""
    exp = scope.stms[k].exp
    assert isinstance(exp, Update)
    assert isinstance(exp.value, Var)
    number = scope.places.get(exp.value.name)
    if number is None or not _is_plain_map(scope.stms[number]):
        return None
    map_ = scope.stms[number].exp
    assert isinstance(map_, SegMap)
    if len(map_.space.dims) != sum(isinstance(dim, Slice) for dim in exp.dims):
        return None
    places: list[int] = []
    for made in scope.stms[number].pat:
        uses = (j for j in range(number + 1, k + 1) if _overwrites(scope.stms[j], exp.dims, made.name))
        places += [j for j in uses if scope.uses[made.name] == 1]
    if len(places) < len(scope.stms[number].pat):
        return None
    given = {scope.stms[place].pat[0].name for place in places}
    return None if any(given & free_in_stm(stm).keys() for stm in scope.stms[number + 1 : k + 1]) else (number, places)


def _overwrites(stm: Stm, dims: tuple[DimIndex, ...], value: Name) -> bool:
    """Whether a statement overwrites such a part by what has this name."""
    return isinstance(stm.exp, Update) and stm.exp.dims == dims and stm.exp.value == Var(value)


def _is_plain_map(stm: Stm) -> bool:
    """Scalars for each thread, by statements that a scatter can hold as well as a map."""
    match stm.exp:
        case SegMap(Level.THREAD, _, body, ret):
            return not any(t.shape for t in ret) and is_plain(body)
        case _:
            return False


def _swapped(scope: Scope, number: int, k: int) -> list[Stm] | None:
    """The statements with the update at `k` before the one whose result it overwrites, if that comes after the map."""
    second = scope.stms[k]
    assert isinstance(second.exp, Update)
    j = scope.places.get(second.exp.array)
    if j is None or j < number or scope.uses[second.exp.array] > 1:
        return None
    first = scope.stms[j]
    match first.exp:
        case Update(array, dims, _, _) as one if are_apart(dims, second.exp.dims, scope.defined):
            pass
        case _:
            return None
    between = scope.fresh(second.pat[0])
    early = replace(second, pat=(between,), exp=replace(second.exp, array=array))
    late = replace(first, pat=second.pat, exp=replace(one, array=between.name))
    return [*scope.stms[:j], *scope.stms[j + 1 : k], early, late, *scope.stms[k + 1 :]]


def _reads_beside(scope: Scope, map_: Stm, update: Stm, between: list[Stm]) -> dict[Name, Place] | None:
    """What the map reads of each other's places, if it can be executed where the update is, behind what is between
    them, by threads that see nothing of each other's writes when these places are copied before; None if not."""
    exp, to = map_.exp, update.exp
    assert isinstance(exp, SegMap)
    assert isinstance(to, Update)
    part = part_of(to.dims, exp.space, scope.defined)
    if part is None or not _is_checked(scope, map_, to) or not may_move(scope.sharing, map_, between):
        return None
    beside = reads_beside(exp.body, to.array, part, scope.sharing, scope.defined)
    return beside if beside is not None and can_be_taken(scope, exp, to, part, beside) else None


def _is_checked(scope: Scope, map_: Stm, to: Update) -> bool:
    """Whether the part is in bounds where the map is executed: because it is marked so, or because the map reads a view
    of just this part, which has been checked."""
    if to.safe:
        return True
    views = (scope.defined[name].exp for name in free_in_stm(map_) if name in scope.defined)
    shape = scope.types[to.array].shape
    return any(isinstance(v, Index) and v.dims == to.dims and scope.types[v.array].shape == shape for v in views)


def _scattered(scope: Scope, map_: Stm, updates: list[Stm]) -> Stm:
    """segscatter (i < n) a { (s + i*t, e) }"""
    exp, to = map_.exp, [update.exp for update in updates if isinstance(update.exp, Update)]
    assert isinstance(exp, SegMap)
    stms, places, indices = list(exp.body.stms), list[Atom](), iter(exp.space.indices)
    for dim in to[0].dims:
        match dim:
            case Fix(index):
                places.append(index)
            case Slice(start, _, stride):
                step = op_in(scope, stms, Op.MUL, Var(next(indices)), stride, map_.loc)
                places.append(op_in(scope, stms, Op.ADD, start, step, map_.loc))
    body = Body(tuple(stms), (*places, *exp.body.result))
    certs = tuple(dict.fromkeys(cert for stm in (map_, *updates) for cert in stm.certs))
    attrs = tuple(dict.fromkeys(attr for stm in (map_, *updates) for attr in stm.attrs))
    dests = tuple(update.array for update in to)
    scatter = SegScatter(exp.level, exp.space, dests, len(to[0].dims), body, safe=True)
    return Stm(tuple(update.pat[0] for update in updates), scatter, certs, attrs, map_.loc)
