"""First-order array functions of the prelude, and the table of all intrinsics by name."""

from __future__ import annotations

from ...ir.core import Concat, Iota, Rearrange, Replicate, Reshape, Scratch
from ...ir.errors import IRError, Loc
from ...ir.ops import Op
from ...ir.types import Atom, Prim, Type, i64
from .accumulators import acc_write_value, hist_stream_value, scatter_stream_value
from .appended_rows import appended_rows_value
from .assertions import require_equal, require_size
from .by_hand import BY_HAND, Intrinsic
from .indexing import copy_value
from .shapes import coerce_like, shape_parts
from .soacs import (
    hist_value,
    map_value,
    redomap_value,
    reduce_comm_value,
    reduce_value,
    same_width,
    scan_value,
    scanomap_value,
    scatter_value,
)
from .state import Certs, Stage, emit, prim_op
from .values import (
    Arr,
    Component,
    Native,
    Rec,
    Value,
    array_of,
    arrays_of,
    atom_of,
    components,
    sizes_of,
    tuple_of,
    with_atoms,
)

Args = tuple[Value, ...]


def intrinsic(name: str, arity: int, loc: Loc) -> Native:
    """The function that `#[intrinsic] def name` stands for."""
    run = INTRINSICS.get(name) or _numbered(name)
    if run is None:
        raise IRError(f"elaborate: there is no intrinsic `{name}` ({loc})")
    return Native(name, arity, run)


def _numbered(name: str) -> Intrinsic | None:
    """`redomap3`: for three arrays; `rearrange_2_1_0`: by that permutation."""
    if name.startswith("rearrange_"):
        perm = tuple([int(place) for place in name.split("_")[1:]])
        return lambda st, args, loc, hint: rearranged(st, perm, args[0], loc, hint)
    return INTRINSICS.get(name.rstrip("0123456789"))


def _array(value: Value) -> Arr:
    assert isinstance(value, Arr)
    return value


# ---- making arrays ------------------------------------------------------------------------------------------------


def _iota(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`iota n`: 0 .. n-1."""
    count = atom_of(args[0])
    certs = require_size(st, count, "iota", loc)
    exp = Iota(count, i64(0), i64(1), Prim.I64)
    return Arr(count, Component(emit(st, hint or "is", exp, Type(Prim.I64, (count,)), loc, certs), Prim.I64))


def _replicate(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`replicate n x`."""
    count, value = atom_of(args[0]), args[1]
    certs = require_size(st, count, "replicate", loc)
    atoms = [
        emit(st, hint or "rep", Replicate((count,), atom), type.array_of(count), loc, certs)
        for atom, type in components(value)
    ]
    return Arr(count, with_atoms(value, atoms))


def _scratch(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`scratch n xs`: n rows like those of xs, to be written before they are read; n is known to be a size."""
    count, xs = atom_of(args[0]), _array(args[1])
    types = [type.row().array_of(count) for _, type in components(xs)]
    st.builder.checked["size", count] = ()
    return Arr(count, with_atoms(xs.row, [emit(st, hint or "dest", Scratch(type), type, loc) for type in types]))


def _copy(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    return copy_value(st, args[0], loc, hint)


# ---- changing shape -----------------------------------------------------------------------------------------------


def _length(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    return Component(_array(args[0]).size, Prim.I64)


def _transpose(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    return rearranged(st, (1, 0), args[0], loc, hint)


def rearranged(st: Stage, perm: tuple[int, ...], value: Value, loc: Loc, hint: str) -> Value:
    """Dimension i of the result is dimension perm[i] of `value`."""
    sizes = sizes_of(value)
    row = value
    for _ in perm:
        row = _array(row).row
    atoms: list[Atom] = []
    for array, type in arrays_of(value):
        full = perm + tuple(range(len(perm), type.rank))
        result = Type(type.prim, tuple([type.shape[k] for k in full]))
        atoms.append(emit(st, hint or array.name.base, Rearrange(full, array.name), result, loc))
    return array_of([sizes[k] for k in perm], with_atoms(row, atoms))


def _flatten(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`[n][m]t -> [n*m]t`."""
    outer = _array(args[0])
    inner = _array(outer.row)
    total = prim_op(st, Op.MUL, Prim.I64, (outer.size, inner.size), loc, "nm")
    return _reshaped(st, args[0], (total,), 2, inner.row, (), loc, hint)


def _unflatten(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`unflatten_to n m xs`: `[n*m]t -> [n][m]t`."""
    n, m, xs = atom_of(args[0]), atom_of(args[1]), _array(args[2])
    fault = ('Cannot unflatten an array of shape "[', xs.size, ']" to shape "', *shape_parts((n, m)), '"')
    certs = require_size(st, n, fault, loc) + require_size(st, m, fault, loc)
    total = prim_op(st, Op.MUL, Prim.I64, (n, m), loc, "nm")
    certs += require_equal(st, xs.size, total, fault, loc)
    return _reshaped(st, xs, (n, m), 1, xs.row, certs, loc, hint)


def _reshaped(
    st: Stage, value: Value, outer: tuple[Atom, ...], dropped: int, row: Value, certs: Certs, loc: Loc, hint: str
) -> Value:
    """`value` with its first `dropped` dimensions replaced by `outer`; `row` is what is below them."""
    atoms: list[Atom] = []
    for array, type in arrays_of(value):
        result = Type(type.prim, outer + type.shape[dropped:])
        atoms.append(emit(st, hint or array.name.base, Reshape(result.shape, array.name), result, loc, certs))
    return array_of(outer, with_atoms(row, atoms))


def _concat(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`xs ++ ys`."""
    xs, ys = _array(args[0]), _array(args[1])
    width = prim_op(st, Op.ADD, Prim.I64, (xs.size, ys.size), loc, "nm")
    ys = coerce_like(st, ys, Arr(ys.size, xs.row), "a row", loc)
    atoms = [
        emit(st, hint or "xs", Concat((left.name, right.name), width), type.row().array_of(width), loc)
        for (left, type), (right, _) in zip(arrays_of(xs), arrays_of(ys), strict=True)
    ]
    return Arr(width, with_atoms(xs.row, atoms))


# ---- tuples -------------------------------------------------------------------------------------------------------


def _zip(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`zip xs ys ..`: nothing happens, an array of tuples is a tuple of arrays."""
    arrays = same_width(st, args, loc)
    return Arr(arrays[0].size, tuple_of(*[xs.row for xs in arrays]))


def _unzip(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    xs = _array(args[0])
    assert isinstance(xs.row, Rec)
    return tuple_of(*[Arr(xs.size, field) for _, field in xs.row.fields])


def _same(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    return args[0]


def _derivative(name: str) -> Intrinsic:
    """A differential operator. What it needs is imported for the first program that has one."""

    def run(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
        from . import derivatives

        return getattr(derivatives, name)(st, args, loc, hint)

    return run


INTRINSICS: dict[str, Intrinsic] = {
    "map": map_value, "map1": map_value, "map2": map_value, "map3": map_value, "map4": map_value, "map5": map_value,
    "reduce": reduce_value, "reduce_comm": reduce_comm_value, "redomap": redomap_value,
    "scan": scan_value, "scanomap": scanomap_value,
    "scatter": scatter_value, "scatter_2d": scatter_value, "scatter_3d": scatter_value,
    "reduce_by_index": hist_value, "reduce_by_index_2d": hist_value, "reduce_by_index_3d": hist_value,
    "appended_rows": appended_rows_value,
    "iota": _iota, "replicate": _replicate, "scratch": _scratch, "copy": _copy, "length": _length,
    "transpose": _transpose, "flatten": _flatten, "unflatten_to": _unflatten,
    "concat": _concat, "++": _concat,
    "zip": _zip, "zip2": _zip, "zip3": _zip, "zip4": _zip, "zip5": _zip,
    "unzip": _unzip, "unzip2": _unzip, "unzip3": _unzip, "unzip4": _unzip, "unzip5": _unzip,
    "jvp2": _derivative("jvp_value"), "vjp2": _derivative("vjp_value"), "with_vjp": _derivative("with_vjp_value"),
    "scatter_stream": scatter_stream_value, "hist_stream": hist_stream_value, "acc_write": acc_write_value,
    "opaque": _same, "trace": _same, **BY_HAND,
}  # fmt: skip
