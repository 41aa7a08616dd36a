"""Array values of a kernel under construction: views, copies, memory."""

from __future__ import annotations

from ...ir import core
from ...ir.core import Fix, Slice
from ...ir.ops import Op
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KVar, Space
from .kernel_builder import (
    ONE,
    ZERO,
    ArrayRef,
    ArrayValue,
    Builder,
    IotaRef,
    Mode,
    NotLowerable,
    Operand,
    ReplicateRef,
    Value,
    is_const,
    scalar,
)


def view_of(b: Builder, exp: core.Exp) -> ArrayValue:
    """The value of a view expression: no element is touched."""
    match exp:
        case core.Rearrange(perm, array):
            return rearranged(b.array(array), perm)
        case core.Reshape(shape, array):
            return reshaped(b, b.array(array), tuple(b.operand(d) for d in shape))
        case core.Index(array, dims, _):
            value = sliced(b, b.array(array), dims)
            assert not isinstance(value, (KVar, Const))
            return value
        case _:
            raise AssertionError("not a view")


def rearranged(array: ArrayValue, perm: tuple[int, ...]) -> ArrayValue:
    """The dimensions in the order `perm`, as a view. Raises NotLowerable for a replicated array whose inner dimensions
    would move."""
    match array:
        case ArrayRef(mem, offset, shape, strides, row_major):
            same = row_major and perm == tuple(range(len(perm)))
            return ArrayRef(mem, offset, tuple(shape[k] for k in perm), tuple(strides[k] for k in perm), same)
        case ReplicateRef(shape, value) if len(shape) == len(perm):
            return ReplicateRef(tuple(shape[k] for k in perm), value)
        case IotaRef():
            return array
        case _:
            raise NotLowerable("rearrange of a replicated array")


def reshaped(b: Builder, array: ArrayValue, shape: tuple[Operand, ...]) -> ArrayValue:
    """Needs row-major memory: anything else is copied by the caller (`reshape_any`)."""
    if shape_of(array) == shape:
        return array
    match array:
        case ReplicateRef(_, value) if not shape_of(value):
            return ReplicateRef(shape, value)
        case ArrayRef(mem, offset, _, _, True):
            return ArrayRef(mem, offset, shape, b.strides(shape), True)
        case _:
            raise NotLowerable("reshape of a strided view")


def sliced(b: Builder, array: Value, dims: tuple[core.DimIndex, ...]) -> Value:
    """`array[dims]` without bounds checks: an element or a view."""
    fixed = 0
    while fixed < len(dims) and isinstance(dims[fixed], Fix):
        fixed += 1
    prefix = tuple(b.operand(d.index) for d in dims[:fixed] if isinstance(d, Fix))
    array, rest = b.element(array, prefix), dims[fixed:]
    if not rest:
        return array
    match array:
        case ArrayRef(mem, offset, _, strides):
            new_shape: list[Operand] = []
            new_strides: list[Operand] = []
            for k, dim in enumerate(rest):
                match dim:
                    case Fix(index):
                        offset = b.add(offset, b.mul(b.operand(index), strides[k]))
                    case Slice(start, count, stride):
                        offset = b.add(offset, b.mul(b.operand(start), strides[k]))
                        new_shape.append(b.operand(count))
                        new_strides.append(b.mul(strides[k], b.operand(stride)))
            return ArrayRef(mem, offset, tuple(new_shape), tuple(new_strides), is_run_of_rows(array, rest))
        case IotaRef(prim, _, start, step):
            (dim,) = rest
            assert isinstance(dim, Slice)
            first = b.iota_element(prim, start, step, b.operand(dim.start))
            stride = b.iota_element(prim, Const(prim, 0), step, b.operand(dim.stride))
            return IotaRef(prim, b.operand(dim.count), first, stride)
        case ReplicateRef(shape, value):
            counts = tuple(b.operand(d.count) for d in rest[: len(shape)] if isinstance(d, Slice))
            value = sliced(b, value, rest[len(shape) :])
            return ReplicateRef(counts, value) if counts else value
        case _:
            raise AssertionError("a scalar is not sliced")


def is_run_of_rows(array: ArrayRef, dims: tuple[core.DimIndex, ...]) -> bool:
    """Whether a view takes rows side by side of what is row-major, and all of each."""
    match dims:
        case (Slice(_, _, stride), *rest) if array.row_major and stride == ONE:
            return not rest
        case _:
            return False


def copy_into(b: Builder, target: ArrayRef, source: Value, mode: Mode) -> None:
    """Element-wise copy; in BLOCK mode the innermost dimension is spread over the threads, or, where they are many, all
    dimensions are."""
    shape = target.shape
    if mode is Mode.BLOCK and b.has_threads and len(shape) > 1:
        copy_points(b, target, source)
        return

    def level(indices: tuple[Operand, ...]) -> None:
        k = len(indices)
        if k == len(shape):
            value = scalar(b.element(source, indices))
            b.emit(kir.Store(target.mem, b.address(target, indices), value))
            return
        if is_const(shape[k], 1):
            level((*indices, ZERO))
            return
        index = b.fresh("c", Prim.I64)
        spread = mode is Mode.BLOCK and k == len(shape) - 1
        with b.nested() as body:
            level((*indices, index))
        if spread:
            b.emit(kir.Threads(index, ZERO, shape[k], tuple(body)))
        else:
            b.emit(kir.For(index, shape[k], tuple(body)))

    level(())


def copy_points(b: Builder, target: ArrayRef, source: Value) -> None:
    """A thread for each element; what is in memory as one row is copied as one."""
    total = b.product(target.shape, "points")
    with b.threads(b.fresh("point", Prim.I64), ZERO, total) as point:
        if target.row_major and _is_one_row(source):
            where, place = b.add(target.offset, point), flat_element(b, source, point)
        else:
            indices = flat_indices(b, target.shape, point)
            where, place = b.address(target, indices), b.element(source, indices)
        b.emit(kir.Store(target.mem, where, scalar(place)))


def _is_one_row(source: Value) -> bool:
    match source:
        case ArrayRef(row_major=good):
            return good
        case ReplicateRef(_, value):
            return not shape_of(value)
        case _:
            return False


def flat_element(b: Builder, source: Value, point: Operand) -> Value:
    """Element number `point` of what is in memory as one row."""
    if isinstance(source, ArrayRef):
        return b.let("x", source.mem.prim, kir.KLoad(source.mem, b.add(source.offset, point)))
    assert isinstance(source, ReplicateRef)
    return source.value


def flat_indices(b: Builder, shape: tuple[Operand, ...], point: Operand) -> tuple[Operand, ...]:
    """The indices of element number `point`, in the order of rows."""
    rest, indices = point, list[Operand]()
    for width in reversed(shape[1:]):
        indices.append(b.op(Op.REM, Prim.I64, rest, width, base="i"))
        rest = b.op(Op.QUOT, Prim.I64, rest, width, base="row")
    return (rest, *reversed(indices))


def stored(b: Builder, value: Value, base: str, mode: Mode) -> ArrayRef:
    """A copy of an array value in memory of its own."""
    fresh = b.alloc(base, prim_of(value), shape_of(value), mode.space)
    copy_into(b, fresh, value, mode)
    return fresh


def owned(b: Builder, value: Value, base: str, mode: Mode) -> ArrayRef:
    """Memory that may be overwritten: the array itself if this kernel made it, else a copy. Registers that each thread
    has for its own indices are none for the others."""
    if isinstance(value, ArrayRef) and (
        value.mem.space not in (Space.GLOBAL, Space.REGISTERS) or value.mem in b.outputs
    ):
        return value
    return stored(b, value, base, mode)


def shape_of(value: Value) -> tuple[Operand, ...]:
    """The sizes of an array, outermost first; none for a scalar."""
    match value:
        case ArrayRef(_, _, shape):
            return shape
        case IotaRef(_, count, _, _):
            return (count,)
        case ReplicateRef(shape, inner):
            return shape + shape_of(inner)
        case _:
            return ()


def prim_of(value: Value) -> Prim:
    """The type of a scalar, or of an array's elements."""
    match value:
        case ArrayRef(mem, _, _, _):
            return mem.prim
        case IotaRef(prim, _, _, _):
            return prim
        case ReplicateRef(_, inner):
            return prim_of(inner)
        case KVar(_, prim) | Const(prim, _):
            return prim
