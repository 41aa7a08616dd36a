"""Brackets: indexing, slices, in-place updates, ranges; with their run-time checks."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.basic import whole
from ...ir.core import Copy, DimIndex, Fix, Index, Iota, Slice, Update
from ...ir.errors import IRError, Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Atom, Const, Prim, Type, Var, i64
from ..source import syntax as s
from ..source.atoms import FieldStep, RangeEnd
from .assertions import check_once, emit_assert, is_size
from .scalars import conjunction
from .shapes import coerce_like, shape_parts
from .state import Certs, Stage, emit, prim_op, to_i64, union
from .values import Arr, Component, Env, Rec, Value, array_of, arrays_of, components, field_of, sizes_of, with_atoms

Parts = tuple[str | Atom, ...]  # of a message


@dataclass(frozen=True, slots=True)
class Bounds:
    """`start:end:stride` of a slice; which ends are left out matters for the checks that are needed."""

    start: Atom | None
    end: Atom | None
    stride: Atom


# ---- reading ------------------------------------------------------------------------------------------------------


def index_value(st: Stage, value: Value, indices: tuple[s.DimIndex, ...], env: Env, loc: Loc, hint: str) -> Value:
    """`value[indices]`."""
    dims, certs = _dims(st, value, indices, env, loc)
    return _read(st, value, dims, certs, loc, hint)


def _read(st: Stage, value: Value, dims: list[DimIndex], certs: Certs, loc: Loc, hint: str) -> Value:
    result = _part(value, dims)
    fixed = any(isinstance(dim, Fix) for dim in dims)
    atoms = []
    for (array, type), (_, part) in zip(arrays_of(value), components(result), strict=True):
        exp = Index(array.name, (*dims, *whole(type.shape[len(dims) :])), st.unsafe or not fixed)
        atoms.append(emit(st, hint or array.name.base, exp, part, loc, certs))
    return with_atoms(result, atoms)


def _part(value: Value, dims: list[DimIndex]) -> Value:
    """The tree of `value[dims]`, its atoms still those of `value`."""
    if not dims:
        return value
    assert isinstance(value, Arr)
    row = _part(value.row, dims[1:])
    match dims[0]:
        case Fix():
            return row
        case Slice(_, count, _):
            return Arr(count, row)


def element(st: Stage, xs: Arr, index: Atom, loc: Loc, hint: str) -> Value:
    """`xs[index]`, known to be in bounds."""
    atoms = []
    for array, type in arrays_of(xs):
        exp = Index(array.name, (Fix(index), *whole(type.shape[1:])), True)
        atoms.append(emit(st, hint or "x", exp, type.row(), loc))
    return with_atoms(xs.row, atoms)


# ---- indices ------------------------------------------------------------------------------------------------------


def _dims(st: Stage, value: Value, indices: tuple[s.DimIndex, ...], env: Env, loc: Loc) -> tuple[list[DimIndex], Certs]:
    bounds = [_bounds(st, index, env) for index in indices]
    sizes = sizes_of(value)[: len(indices)]
    shown = [_shown(bound, size) for bound, size in zip(bounds, sizes, strict=True)]
    place = tuple([part for k, parts in enumerate(shown) for part in ("index [" if k == 0 else ", ", *parts)])
    outside = (*place, "] out of bounds for array of shape ", *shape_parts(sizes))
    dims: list[DimIndex] = []
    certs: Certs = ()
    for bound, size in zip(bounds, sizes, strict=True):
        match bound:
            case Bounds():
                dim, needed = _slice(st, size, bound, outside, loc)
                dims.append(dim)
                certs += needed
            case _:
                dims.append(Fix(bound))
    return dims, certs


def _bounds(st: Stage, index: s.DimIndex, env: Env) -> Atom | Bounds:
    match index:
        case s.Point(exp):
            return _index_atom(st, exp, env)
        case s.SliceIndex(start, end, stride):
            first, last = (None if exp is None else _index_atom(st, exp, env) for exp in (start, end))
            return Bounds(first, last, i64(1) if stride is None else _index_atom(st, stride, env))


def _shown(bound: Atom | Bounds, size: Atom) -> tuple[str | Atom, ...]:
    """An index as a message shows it; what is left out of a slice is filled in, unless its stride decides."""
    match bound:
        case Bounds(start, end, stride):
            if stride == i64(1):
                return start or i64(0), ":", end or size
            return start or "", ":", end or "", ":", stride
        case _:
            return (bound,)


def _index_atom(st: Stage, exp: s.Exp, env: Env) -> Atom:
    part = st.evaluate(exp, env, "")
    assert isinstance(part, Component)
    return to_i64(st, part.atom, part.prim, exp.loc)


def _slice(st: Stage, size: Atom, bounds: Bounds, outside: Parts, loc: Loc) -> tuple[Slice, Certs]:
    """`start:end:stride` of a dimension of `size`; `outside` is what to say if it is not in bounds."""
    start, end, stride = bounds.start, bounds.end, bounds.stride
    if stride == i64(1):
        return _slice_forward(st, size, start, end, outside, loc)
    if stride == i64(-1) and start is None and end is None:
        return Slice(_sub(st, size, i64(1), loc), size, stride), ()
    return _slice_strided(st, size, bounds, outside, loc)


def _slice_forward(
    st: Stage, size: Atom, start: Atom | None, end: Atom | None, outside: Parts, loc: Loc
) -> tuple[Slice, Certs]:
    first, last = start or i64(0), end or size
    dim = Slice(first, _sub(st, last, first, loc), i64(1))
    if st.unsafe:
        return dim, ()

    def emit_check() -> Certs:
        low = start or last  # the lesser of the two that must not be negative
        if _is_window(st, dim, size):
            room = _sub(st, size, dim.count, loc)
            conds = [_compare(st, Op.LE, i64(0), dim.count, loc), _compare(st, Op.LE, first, room, loc)]
        else:
            conds = [_compare(st, Op.LE, first, last, loc)] if start is not None else []
            conds += [_compare(st, Op.LE, last, size, loc)] if end is not None else []
        known = is_size(st, low)
        if known is None:
            conds.append(_compare(st, Op.LE, i64(0), low, loc))
        return _check_slice(st, conds, known or (), dim, outside, loc)

    return dim, check_once(st, ("slice", first, last, size), emit_check)


def _is_window(st: Stage, dim: Slice, size: Atom) -> bool:
    """`xs[i:i + w]`: the width and the size are known further out than the start, which is compared with what they
    leave. Where 0 <= w and 0 <= i <= n - w nothing wraps around. Not of a multiple of an index, for which kernels would
    be cut."""
    if not isinstance(dim.start, Var) or not isinstance(dim.count, Var):
        return False
    if any(len(tags) > 1 or (tags and factor != 1) for tags, factor in st.form_of.get(dim.start.name.tag, ())):
        return False
    moves = st.home[dim.start.name.tag]
    return not st.is_local(dim.count, moves) and not st.is_local(size, moves)


def _check_slice(st: Stage, conds: list[Atom], known: Certs, dim: Slice, outside: Parts, loc: Loc) -> Certs:
    """R0101 unless all `conds` hold or nothing is taken; `known`: what was checked before and they leave out."""
    ok = conjunction(st, conds, loc)
    if ok != Const(Prim.BOOL, True):
        empty = _compare(st, Op.EQ, dim.count, i64(0), loc)
        ok = prim_op(st, Op.OR, Prim.BOOL, (empty, ok), loc)
    certs = union(known, emit_assert(st, ok, "R0101", outside, loc))
    if isinstance(dim.count, Var) and certs:
        st.builder.checked["size", dim.count] = certs
    return certs


def _slice_strided(st: Stage, size: Atom, bounds: Bounds, outside: Parts, loc: Loc) -> tuple[Slice, Certs]:
    """Any stride: `ceil((end - start) / stride)` elements, first and last of them in bounds."""
    start, end, stride = bounds.start, bounds.end, bounds.stride
    backwards = _compare(st, Op.LT, stride, i64(0), loc)
    first = start or _choose(st, backwards, _sub(st, size, i64(1), loc), i64(0), loc)
    last = end or _choose(st, backwards, i64(-1), size, loc)
    nonzero = _compare(st, Op.NE, stride, i64(0), loc)
    divisor = _choose(st, nonzero, stride, i64(1), loc)
    count = _steps(st, _sub(st, last, first, loc), prim_op(st, Op.SGN, Prim.I64, (stride,), loc), divisor, loc)
    reached = _add(st, first, prim_op(st, Op.MUL, Prim.I64, (_sub(st, count, i64(1), loc), stride), loc), loc)
    dim = Slice(first, count, stride)
    if st.unsafe:
        return dim, ()
    along = _choose(
        st,
        backwards,
        conjunction(st, [_compare(st, Op.LE, i64(-1), last, loc), _compare(st, Op.LE, last, first, loc)], loc),
        conjunction(st, [_compare(st, Op.LE, i64(0), first, loc), _compare(st, Op.LE, first, last, loc)], loc),
        loc,
        Prim.BOOL,
    )
    inside = [_compare(st, Op.LE, i64(0), reached, loc), _compare(st, Op.LT, reached, size, loc)]
    inside += [_compare(st, Op.LE, i64(0), first, loc), _compare(st, Op.LT, first, size, loc)]
    certs = emit_assert(st, nonzero, "R0101", (*outside, ": a stride is not 0"), loc)
    return dim, _check_slice(st, [along, *inside], certs, dim, outside, loc)


def _steps(st: Stage, span: Atom, last: Atom, step: Atom, loc: Loc) -> Atom:
    """How many steps begin in a span that ends `last` before its end; no sum is larger than the span."""
    whole = prim_op(st, Op.DIV, Prim.I64, (_sub(st, span, last, loc), step), loc)
    return prim_op(st, Op.ADD, Prim.I64, (whole, i64(1)), loc, "count")


def _choose(st: Stage, cond: Atom, yes: Atom, no: Atom, loc: Loc, prim: Prim = Prim.I64) -> Atom:
    if isinstance(cond, Const):
        return yes if cond.value else no
    return prim_op(st, Op.SELECT, prim, (cond, yes, no), loc)


def _compare(st: Stage, op: Op, left: Atom, right: Atom, loc: Loc) -> Atom:
    if left == right:
        return Const(Prim.BOOL, op in {Op.LE, Op.GE, Op.EQ})
    return prim_op(st, op, Prim.I64, (left, right), loc)


def _sub(st: Stage, left: Atom, right: Atom, loc: Loc) -> Atom:
    return prim_op(st, Op.SUB, Prim.I64, (left, right), loc)


def _add(st: Stage, left: Atom, right: Atom, loc: Loc) -> Atom:
    return prim_op(st, Op.ADD, Prim.I64, (left, right), loc)


# ---- writing ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """How far a path has gone through array dimensions: their indices, their sizes, the checks of their slices."""

    dims: tuple[DimIndex, ...]
    sizes: tuple[Atom, ...]
    certs: Certs


def update_value(
    st: Stage, target: Value, path: tuple[s.Step, ...], value: Value, env: Env, loc: Loc, hint: str
) -> Value:
    """`target with path = value`."""
    return _update(st, target, path, Place((), (), ()), value, env, loc, hint)


def _update(
    st: Stage, target: Value, path: tuple[s.Step, ...], place: Place, value: Value, env: Env, loc: Loc, hint: str
) -> Value:
    """`target` is what is below `place`; its components are the whole arrays."""
    if not path:
        return _write(st, target, place, value, loc, hint)
    step, rest = path[0], path[1:]
    match step, target:
        case FieldStep(field), Rec(fields):
            changed = _update(st, field_of(target, field), rest, place, value, env, loc, hint)
            return Rec(tuple([(name, changed if name == field else old) for name, old in fields]))
        case s.IndexStep(indices), Arr():
            dims, certs = _dims(st, target, indices, env, loc)
            further = Place((*place.dims, *dims), (*place.sizes, *sizes_of(target)[: len(dims)]), place.certs + certs)
            if rest and any(isinstance(dim, Slice) for dim in dims):
                slice_ = copy_value(st, _read(st, target, dims, certs, loc, ""), loc, "")
                value, rest = update_value(st, slice_, rest, value, env, loc, ""), ()
            return _under(target, len(dims), lambda part: _update(st, part, rest, further, value, env, loc, hint))
        case _:
            raise IRError(f"elaborate: update path at {loc}")


def _under(value: Value, depth: int, change: Callable[[Value], Value]) -> Value:
    """Change what is below `depth` array dimensions."""
    if depth == 0:
        return change(value)
    assert isinstance(value, Arr)
    return Arr(value.size, _under(value.row, depth - 1, change))


def _write(st: Stage, target: Value, place: Place, value: Value, loc: Loc, hint: str) -> Value:
    """Replace what is at `place`."""
    if not place.dims:
        return value
    wanted = array_of([dim.count for dim in place.dims if isinstance(dim, Slice)], target)
    value = coerce_like(st, value, wanted, "the new value", loc)
    safe = st.unsafe or not any(isinstance(dim, Fix) for dim in place.dims)
    atoms: list[Atom] = []
    for (array, inner), (new, _) in zip(components(target), components(value), strict=True):
        assert isinstance(array, Var)
        exp = Update(array.name, (*place.dims, *whole(inner.shape)), new, safe)
        atoms.append(emit(st, hint or array.name.base, exp, inner.array_of(*place.sizes), loc, place.certs))
    return with_atoms(target, atoms)


def copy_value(st: Stage, value: Value, loc: Loc, hint: str) -> Value:
    """Fresh arrays with the same elements."""
    atoms: list[Atom] = []
    for atom, type in components(value):
        if type.shape:
            assert isinstance(atom, Var)
            atom = emit(st, hint or atom.name.base, Copy(atom.name), type, loc)
        atoms.append(atom)
    return with_atoms(value, atoms)


def distinct_arrays(st: Stage, value: Value, loc: Loc) -> Value:
    """`value` with an array that occurs twice copied, since each occurrence may be overwritten on its own."""
    seen: set[Atom] = set()
    atoms: list[Atom] = []
    for atom, type in components(value):
        if type.shape and atom in seen and isinstance(atom, Var):
            atom = emit(st, atom.name.base, Copy(atom.name), type, loc)
        seen.add(atom)
        atoms.append(atom)
    return with_atoms(value, atoms)


# ---- ranges -------------------------------------------------------------------------------------------------------


def range_value(st: Stage, exp: s.Range, env: Env, hint: str) -> Value:
    """`start..second...end` and its relatives."""
    start, end = st.evaluate(exp.start, env, ""), st.evaluate(exp.end, env, "")
    second = None if exp.second is None else st.evaluate(exp.second, env, "")
    assert isinstance(start, Component)
    assert isinstance(end, Component)
    prim, loc = start.prim, exp.loc
    if second is None:
        step: Atom = Const(prim, -1 if exp.kind is RangeEnd.DOWN_TO else 1)
        count, certs = _unit_range(st, exp.kind, start, end, loc)
    else:
        assert isinstance(second, Component)
        step = prim_op(st, Op.SUB, prim, (second.atom, start.atom), loc)
        count, certs = _stepped_range(st, exp.kind, start, second, end, loc)
    iota = Iota(count, start.atom, step, prim)
    return Arr(count, Component(emit(st, hint or "range", iota, Type(prim, (count,)), loc, certs), prim))


def _unit_range(st: Stage, kind: RangeEnd, start: Component, end: Component, loc: Loc) -> tuple[Atom, Certs]:
    first, last = (to_i64(st, part.atom, part.prim, loc) for part in (start, end))
    low, high = (last, first) if kind is RangeEnd.DOWN_TO else (first, last)
    distance = _sub(st, high, low, loc)
    count = _add(st, distance, i64(1), loc) if kind is RangeEnd.THROUGH else distance
    needed = is_size(st, count) if kind is not RangeEnd.THROUGH else is_size(st, distance)
    if needed is not None or st.unsafe:
        return count, needed or ()

    def emit_check() -> Certs:
        ok = _compare(st, Op.LE, low, high, loc)
        return emit_assert(st, ok, "R0104", ("range ", start.atom, kind.value, end.atom, " is invalid"), loc)

    certs = check_once(st, ("range", low, high), emit_check)
    st.builder.checked["size", count] = certs
    return count, certs


def _stepped_range(
    st: Stage, kind: RangeEnd, start: Component, second: Component, end: Component, loc: Loc
) -> tuple[Atom, Certs]:
    """`ceil(distance / |step|)` elements, one more distance unit where the end is included."""
    first, next_one, last = (to_i64(st, part.atom, part.prim, loc) for part in (start, second, end))
    step = _sub(st, next_one, first, loc)
    downwards: Atom = _compare(st, Op.LT, step, i64(0), loc)
    size = prim_op(st, Op.ABS, Prim.I64, (step,), loc)
    nonzero = _compare(st, Op.LT, i64(0), size, loc)  # so that -2^63 is no step
    divisor = _choose(st, nonzero, size, i64(1), loc)
    distance = _choose(st, downwards, _sub(st, first, last, loc), _sub(st, last, first, loc), loc)
    count = _steps(st, distance, i64(0 if kind is RangeEnd.THROUGH else 1), divisor, loc)
    if st.unsafe:
        return count, ()
    direction = {
        RangeEnd.THROUGH: nonzero,
        RangeEnd.UP_TO: _compare(st, Op.LT, i64(0), step, loc),
        RangeEnd.DOWN_TO: _compare(st, Op.LT, step, i64(0), loc),
    }[kind]
    ok = conjunction(st, [direction, _compare(st, Op.LE, i64(0), distance, loc)], loc)
    parts = ("range ", start.atom, "..", second.atom, kind.value, end.atom, " is invalid")
    certs = emit_assert(st, ok, "R0104", parts, loc)
    if isinstance(count, Var):
        st.builder.checked["size", count] = certs
    return count, certs
