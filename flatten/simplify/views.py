"""Rules for arrays that need not exist: an index is fused into what makes the array, views into views.

What is read must not have been overwritten in the meantime. A view shares memory with its source, so whoever may read
the view may read the source; a copy does not, so its source must be one that is never consumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import (
    ArrayLit,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Exp,
    Fix,
    If,
    Index,
    Iota,
    Param,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Screma,
    Slice,
    Stm,
)
from ...ir.ops import Op
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64, scalar
from .env import Env, FrameKind, is_one, is_zero, known_i64, with_certs

ZERO, ONE = i64(0), i64(1)


# ---- arithmetic on indices ----------------------------------------------------------------------------------------


def plus(x: Atom, y: Atom, env: Env) -> Atom:
    """Emits `x + y` of two i64."""
    return env.emit("i", PrimOp(Op.ADD, Prim.I64, (x, y)), I64)


def times(x: Atom, y: Atom, env: Env) -> Atom:
    """Emits `x * y` of two i64."""
    return env.emit("i", PrimOp(Op.MUL, Prim.I64, (x, y)), I64)


def whole(size: Atom) -> Slice:
    """All of a dimension."""
    return Slice(ZERO, size, ONE)


def is_whole(dim: DimIndex, size: Atom) -> bool:
    """Whether a slice takes all of a dimension of this size, in order."""
    return isinstance(dim, Slice) and is_zero(dim.start) and is_one(dim.stride) and dim.count == size


# ---- index of ... -------------------------------------------------------------------------------------------------


def indexed(stm: Stm, env: Env) -> Stm | None:
    """The statement that binds the array of which this one takes elements; None if it takes none."""
    return env.producer(stm.exp.array) if isinstance(stm.exp, Index) else None


def index_whole(stm: Stm, env: Env) -> Stm | None:
    """xs[0:n, 0:m]  ⟶  xs, where xs : [n][m]        [S-IndexWhole]"""
    match stm.exp:
        case Index(array, dims):
            shape = env.types[array].shape
            if all(is_whole(dim, size) for dim, size in zip(dims, shape, strict=True)):
                return replace(stm, exp=Copied(Var(array)))
            return None
        case _:
            return None


def index_of_index(stm: Stm, env: Env) -> Stm | None:
    """xs[i, a:+n*s][j]  ⟶  xs[i, a + j*s]        [S-IndexIndex]

    Where the slice is checked its bounds must not be lost: then only whole dimensions and fixed ones are merged, and
    not deeper inside, where they would be checked more often."""
    match stm.exp, indexed(stm, env):
        case Index(view, dims, safe), Stm(exp=Index(source, taken, is_safe)) as inner:
            pass
        case _:
            return None
    shape = env.types[source].shape
    plain = all(isinstance(d, Fix) or is_whole(d, size) for d, size in zip(taken, shape, strict=True))
    if not is_safe and not (plain and env.levels[view] == len(env.frames) - 1):
        return None
    if not plain and not safe:
        return None
    return with_certs(stm, Index(source, _compose(taken, dims, env), safe and is_safe), inner)


def _compose(taken: tuple[DimIndex, ...], dims: tuple[DimIndex, ...], env: Env) -> tuple[DimIndex, ...]:
    rest = iter(dims)
    return tuple(dim if isinstance(dim, Fix) else _within(dim, next(rest), env) for dim in taken)


def _within(outer: Slice, dim: DimIndex, env: Env) -> DimIndex:
    match dim:
        case Fix(j):
            return Fix(plus(outer.start, times(j, outer.stride, env), env))
        case Slice(start, count, stride):
            first = plus(outer.start, times(start, outer.stride, env), env)
            return Slice(first, count, times(outer.stride, stride, env))


def index_of_rearrange(stm: Stm, env: Env) -> Stm | None:
    """(rearrange (1,0) xs)[i, j]  ⟶  xs[j, i]; what stays an array is rearranged then        [S-IndexRearrange]"""
    match stm.exp, indexed(stm, env):
        case Index(_, dims, safe), Stm(exp=Rearrange(perm, source)) as inner:
            pass
        case _:
            return None
    place = dict(zip(perm, dims, strict=True))
    exp = Index(source, tuple(place[k] for k in range(len(perm))), safe)
    kept = [k for k, dim in zip(perm, dims, strict=True) if isinstance(dim, Slice)]
    if kept == sorted(kept):
        return with_certs(stm, exp, inner)
    if stm.certs or inner.certs or not safe:
        return None
    (param,) = stm.pat
    order = sorted(kept)
    size = dict(zip(kept, param.type.shape, strict=True))
    taken = env.emit(param.name.base, exp, Type(param.type.prim, tuple(size[k] for k in order)))
    assert isinstance(taken, Var)
    return replace(stm, exp=Rearrange(tuple(order.index(k) for k in kept), taken.name))


def index_of_copy(stm: Stm, env: Env) -> Stm | None:
    """(copy xs)[i]  ⟶  xs[i], where xs is never consumed        [S-IndexCopy]"""
    match stm.exp, indexed(stm, env):
        case Index(_, dims, safe), Stm(exp=Copy(source)) as inner if not env.sharing.consumed(source):
            return with_certs(stm, Index(source, dims, safe), inner)
        case _:
            return None


def index_of_iota(stm: Stm, env: Env) -> Stm | None:
    """(iota n from a by s)[i]  ⟶  a + i*s  (safe)        [S-IndexIota]

    (iota n from a by s)[b:+k*t]  ⟶  iota k from a + b*s by s*t"""
    match stm.exp, indexed(stm, env):
        case Index(_, (dim,), True), Stm(exp=Iota() as iota) as inner:
            pass
        case _:
            return None

    def element(i: Atom) -> Exp:
        scaled = env.emit("i", PrimOp(Op.MUL, iota.prim, (_to(iota.prim, i, env), iota.step)), scalar(iota.prim))
        return PrimOp(Op.ADD, iota.prim, (iota.start, scaled))

    match dim:
        case Fix(index):
            return with_certs(stm, element(index), inner)
        case Slice(start, count, stride):
            first = env.emit("i", element(start), scalar(iota.prim))
            step = PrimOp(Op.MUL, iota.prim, (iota.step, _to(iota.prim, stride, env)))
            return with_certs(stm, Iota(count, first, env.emit("s", step, scalar(iota.prim)), iota.prim), inner)


def _to(prim: Prim, x: Atom, env: Env) -> Atom:
    return env.emit("i", Convert(Prim.I64, prim, x), scalar(prim))


def index_of_replicate(stm: Stm, env: Env) -> Stm | None:
    """(replicate [n] x)[i, j]  ⟶  x[j]  (safe)        [S-IndexReplicate]

    (replicate [n][m] x)[i, a:+k]  ⟶  replicate [k] x"""
    match stm.exp, indexed(stm, env):
        case Index(_, dims, True), Stm(exp=Replicate(shape, value)) as inner:
            outer, rest = dims[: len(shape)], dims[len(shape) :]
        case _:
            return None
    counts = tuple(dim.count for dim in outer if isinstance(dim, Slice))
    if not rest:
        return with_certs(stm, Replicate(counts, value) if counts else Copied(value), inner)
    if counts or not isinstance(value, Var) or env.sharing.consumed(value.name):
        return None
    return with_certs(stm, Index(value.name, rest, True), inner)


def index_of_concat(stm: Stm, env: Env) -> Stm | None:
    """(xs ++ ys)[i]  ⟶  if i < n then xs[i] else ys[i - n], where xs : [n]  (safe)        [S-IndexConcat]

    Of scalars, where the two are executed equally often, so that nothing is gained by making the array."""
    match stm.exp, indexed(stm, env):
        case Index(array, (Fix(index), *rest), True), Stm(exp=Concat(parts)) as inner if not stm.pat[0].type.shape:
            pass
        case _:
            return None
    if any(map(env.sharing.consumed, parts)):
        return None
    if any(frame.kind is not FrameKind.BRANCH for frame in env.frames[env.levels[array] + 1 :]):
        return None
    return with_certs(stm, _of_part(list(parts), index, rest, stm.pat[0].type, env), inner)


def _of_part(arrays: list[Name], index: Atom, rest: Sequence[DimIndex], t: Type, env: Env) -> Exp:
    """The element at `index` of these arrays, one after the other."""
    first, *others = arrays
    here = Index(first, (Fix(index), *rest), True)
    if not others:
        return here
    size = env.types[first].shape[0]
    cond = env.emit("is_first", PrimOp(Op.LT, Prim.I64, (index, size)), scalar(Prim.BOOL))
    last = env.emit("i", PrimOp(Op.SUB, Prim.I64, (index, size)), I64)

    def body(exp: Exp) -> Body:
        param = Param(env.names.fresh("x"), t)
        return Body((Stm((param,), exp, (), (), env.loc),), (Var(param.name),))

    return If(cond, body(here), body(_of_part(others, last, rest, t, env)))


def index_of_literal(stm: Stm, env: Env) -> Stm | None:
    """[x, y, z][1]  ⟶  y;  [xs, ys][1, j]  ⟶  ys[j];  [x][i]  ⟶  x  (safe)        [S-IndexLiteral]"""
    match stm.exp, indexed(stm, env):
        case Index(_, (Fix(index), *rest), safe), Stm(exp=ArrayLit(elems)) as inner:
            k = 0 if safe and len(elems) == 1 else known_i64(index)
        case _:
            return None
    if k is None or not 0 <= k < len(elems):
        return None
    elem = elems[k]
    if not rest:
        return with_certs(stm, Copied(elem), inner)
    if not isinstance(elem, Var) or env.sharing.consumed(elem.name):
        return None
    return with_certs(stm, Index(elem.name, tuple(rest), safe), inner)


def index_of_reshape(stm: Stm, env: Env) -> Stm | None:
    """(reshape [n][m] xs)[i, j]  ⟶  xs[i*m + j], where xs : [k]  (safe)        [S-IndexReshape]

    (reshape [6] xs)[4]  ⟶  xs[1, 1], where xs : [2][3];  (reshape [k] xs)[i]  ⟶  xs[i / m, i % m], where xs : [n][m] is
    a view whose rows are apart in memory, and the element is the only one"""
    match stm.exp, indexed(stm, env):
        case Index(view, dims, True), Stm(exp=Reshape(shape, source)) as inner if env.types[source].rank > 1:
            place = _place_of(dims, shape, env.types[source].shape)
            if not place and env.levels[view] == env.here and _is_apart(source, env):
                place = _divided(dims, env.types[source].shape, env)
            return with_certs(stm, Index(source, place, True), inner) if place else None
        case Index(_, (*outer, last), True), Stm(exp=Reshape(shape, source)) as inner:
            pass
        case _:
            return None
    if not all(isinstance(dim, Fix) for dim in outer):
        return None
    flat: Atom = ZERO
    for dim, size in zip(outer, shape, strict=False):
        assert isinstance(dim, Fix)
        flat = plus(times(flat, size, env), dim.index, env)
    flat = times(flat, shape[-1], env)
    match last:
        case Fix(index):
            flattened: DimIndex = Fix(plus(flat, index, env))
        case Slice(start, count, stride):
            flattened = Slice(plus(flat, start, env), count, stride)
    return with_certs(stm, Index(source, (flattened,), True), inner)


def _place_of(dims: tuple[DimIndex, ...], shape: tuple[Atom, ...], source: tuple[Atom, ...]) -> tuple[Fix, ...]:
    """Where the element at constant indices of an array of constant shape is in one of another; none if they are not
    constant."""
    at = [known_i64(dim.index) if isinstance(dim, Fix) else None for dim in dims]
    inner, others = [known_i64(size) for size in shape[1:]], [known_i64(size) for size in source[1:]]
    rest = 0
    for index, size in zip(at, (1, *inner), strict=True):
        if index is None or size is None:
            return ()
        rest = rest * size + index
    found: list[Fix] = []
    for size in reversed(others):
        if not size:
            return ()
        found.append(Fix(i64(rest % size)))
        rest //= size
    return (Fix(i64(rest)), *reversed(found))


def _is_apart(array: Name, env: Env) -> bool:
    """Whether neighbours of an array do not lie side by side: a view of another one."""
    match env.definition(Var(array)):
        case Index(_, dims):
            return any(isinstance(dim, Slice) for dim in dims)
        case Rearrange():
            return True
        case _:
            return False


def _divided(dims: tuple[DimIndex, ...], source: tuple[Atom, ...], env: Env) -> tuple[Fix, ...]:
    """Where element `i` of a flattened array is in it."""
    match dims:
        case (Fix(rest),):
            pass
        case _:
            return ()
    found: list[Fix] = []
    for size in reversed(source[1:]):
        found.append(Fix(env.emit("i", PrimOp(Op.MOD, Prim.I64, (rest, size)), I64)))
        rest = env.emit("i", PrimOp(Op.DIV, Prim.I64, (rest, size)), I64)
    return (Fix(rest), *reversed(found))


# ---- views and copies -----------------------------------------------------------------------------------------------


def merge_rearranges(stm: Stm, env: Env) -> Stm | None:
    """rearrange p (rearrange q xs) ⟶ rearrange (q ∘ p) xs        [S-Rearrange]

    The identity ⟶ xs;  of a replicated scalar ⟶ replicate."""
    match stm.exp:
        case Rearrange(perm, array):
            inner = env.producer(array)
        case _:
            return None
    if perm == tuple(range(len(perm))):
        return replace(stm, exp=Copied(Var(array)))
    match inner:
        case Stm(exp=Rearrange(first, source)):
            return with_certs(stm, Rearrange(tuple(first[k] for k in perm), source), inner)
        case Stm(exp=Replicate(shape, value)) if len(shape) == len(perm):
            return with_certs(stm, Replicate(tuple(shape[k] for k in perm), value), inner)
        case _:
            return None


def merge_reshapes(stm: Stm, env: Env) -> Stm | None:
    """reshape s (reshape t xs) ⟶ reshape s xs        [S-Reshape]

    To the shape it has ⟶ xs;  of a replicated scalar ⟶ replicate."""
    match stm.exp:
        case Reshape(shape, array):
            inner = env.producer(array)
        case _:
            return None
    if shape == env.types[array].shape:
        return replace(stm, exp=Copied(Var(array)))
    match inner:
        case Stm(exp=Reshape(_, source)):
            return with_certs(stm, Reshape(shape, source), inner)
        case Stm(exp=Replicate(_, value)) if not env.type_of(value).shape:
            return with_certs(stm, Replicate(shape, value), inner)
        case _:
            return None


def merge_replicates(stm: Stm, env: Env) -> Stm | None:
    """replicate [n] (replicate [m] x) ⟶ replicate [n][m] x;  replicate [] x ⟶ x        [S-Replicate]"""
    match stm.exp:
        case Replicate((), value):
            return replace(stm, exp=Copied(value))
        case Replicate(shape, Var(name)):
            inner = env.producer(name)
            if inner is None or not isinstance(inner.exp, Replicate):
                return None
            value = inner.exp.value
            if isinstance(value, Var) and env.type_of(value).shape and env.sharing.consumed(value.name):
                return None
            return with_certs(stm, Replicate(shape + inner.exp.shape, value), inner)
        case _:
            return None


def merge_concats(stm: Stm, env: Env) -> Stm | None:
    """concat (concat xs ys) zs ⟶ concat xs ys zs;  concat xs ⟶ copy xs        [S-Concat]"""
    match stm.exp:
        case Concat((array,), _):
            return replace(stm, exp=Copy(array))
        case Concat(arrays, width):
            parts = [_parts(array, env) for array in arrays]
            if all(part == (array,) for part, array in zip(parts, arrays, strict=True)):
                return None
            return replace(stm, exp=Concat(tuple(name for part in parts for name in part), width))
        case _:
            return None


def _parts(array: Name, env: Env) -> tuple[Name, ...]:
    exp = env.definition(Var(array))
    if isinstance(exp, Concat) and not any(env.sharing.consumed(a) for a in exp.arrays):
        return exp.arrays
    return (array,)


def drop_copy(stm: Stm, env: Env) -> Stm | None:
    """copy xs  ⟶  xs, where neither is ever consumed        [S-Copy]

    A copy of a rearranged array stays: it may be there to lay the elements out anew."""
    match stm.exp:
        case Copy(array):
            (param,) = stm.pat
            if env.sharing.consumed(array) or env.sharing.consumed(param.name):
                return None
            inner = env.producer(array)
            if inner is not None and isinstance(inner.exp, Rearrange):
                return None
            return replace(stm, exp=Copied(Var(array)))
        case _:
            return None


def copy_of_fresh(stm: Stm, env: Env) -> Stm | None:
    """ys = e; xs = copy ys  ⟶  xs = ys, where e makes a new array and only the copy uses it        [S-CopyFresh]"""
    match stm.exp:
        case Copy(array):
            inner = env.producer(array)
            here = len(env.frames) - 1
            if inner is None or env.uses.get(array) != 1 or env.levels[array] != here or not _makes_new(inner.exp):
                return None
            env.sharing.link(array, stm.pat[0].name)
            return replace(stm, exp=Copied(Var(array)))
        case _:
            return None


def _makes_new(exp: Exp) -> bool:
    return isinstance(exp, Iota | Replicate | ArrayLit | Concat | Copy | Screma)
