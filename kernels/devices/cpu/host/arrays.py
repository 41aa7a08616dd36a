"""Arrays of a native host program: views change descriptors, bulk operations fill fresh buffers.

A view of `array[i, j]` starts at data + i * stride0 + j * stride1, in bytes; a slice multiplies its stride.
"""

from __future__ import annotations

import math

import numpy as np

from .....ir import core
from .....ir.core import Fix, Slice
from .....ir.errors import Loc
from .....ir.scalar import DTYPES
from .....ir.types import Atom, Const, i64
from ....host_ir.in_frame import MOST
from ....host_ir.nodes import HostStm, Over
from .failure_sites import BoundsSite
from .frame import (
    DATA,
    SIZES,
    Array,
    Emitter,
    allocate,
    ask,
    bind_scalar,
    call,
    declare_array,
    descriptor,
    fail_if,
    get,
    is_array,
    number,
    obtain,
    operand,
    put,
    release,
    size,
    sizes,
    stride,
    unless_memory,
    value,
)  # fmt: skip

# ---- views -------------------------------------------------------------------------------------------------------


def alias(h: Emitter, target: Array, source: Array) -> None:
    """target = source, of the same rank, with a reference of its own."""
    call(h, "soac_host_alias", target.pointer, source.pointer, str(source.rank))


def set_sizes(h: Emitter, array: Array, listed: tuple[str, ...]) -> None:
    """The sizes of a descriptor := i64 texts, one for each dimension."""
    for k, text in enumerate(listed):
        put(h, array, SIZES + k, text)


def set_strides(h: Emitter, array: Array, listed: tuple[str, ...]) -> None:
    """The strides of a descriptor, in bytes := i64 texts, one for each dimension."""
    for k, text in enumerate(listed):
        put(h, array, SIZES + array.rank + k, text)


def rearrange(h: Emitter, stm: HostStm, exp: core.Rearrange) -> None:
    """The same buffer with its dimensions in the order `perm`: a view, not known to be dense."""
    source = h.arrays[exp.array]
    target = declare_array(h, stm.pat[0], False)
    moved = tuple((size(h, source, k), stride(h, source, k)) for k in exp.perm)
    alias(h, target, source)
    set_sizes(h, target, tuple(n for n, _ in moved))
    set_strides(h, target, tuple(s for _, s in moved))


def reshape(h: Emitter, stm: HostStm, exp: core.Reshape) -> None:
    """The same elements, in other dimensions; what is not dense is copied."""
    source = h.arrays[exp.array]
    target = declare_array(h, stm.pat[0], True)
    obtain(h, "bind", target, source, stm.loc)
    set_sizes(h, target, tuple(number(h, n) for n in exp.shape))
    lay(h, target)


def lay(h: Emitter, array: Array) -> None:
    """The strides of a dense array of these sizes."""
    ask(h, "soac_host_lay", array.pointer, str(array.rank), width(array))


def width(array: Array) -> str:
    """The bytes of an element, as text."""
    return str(array.prim.bytes)


# ---- places ------------------------------------------------------------------------------------------------------


def starts(dims: tuple[core.DimIndex, ...]) -> tuple[Atom, ...]:
    """Where a place begins: the index, or the first element of the slice, for each dimension."""
    return tuple(d.index if isinstance(d, Fix) else d.start for d in dims)


def address(h: Emitter, array: Array, dims: tuple[core.DimIndex, ...]) -> str:
    """i64: where the place starts."""
    at = get(h, array, DATA)
    for k, start in enumerate(starts(dims)):
        offset = h.code.op(f"mul i64 {number(h, start)}, {stride(h, array, k)}")
        at = h.code.op(f"add i64 {at}, {offset}")
    return at


def narrow(h: Emitter, target: Array, source: Array, dims: tuple[core.DimIndex, ...]) -> None:
    """`target`, which has a slice for each of its dimensions, as the place `dims` of `source`; the buffer is not
    touched."""
    put(h, target, DATA, address(h, source, dims))
    slices = [(k, d) for k, d in enumerate(dims) if isinstance(d, Slice)]
    set_sizes(h, target, tuple(number(h, d.count) for _, d in slices))
    steps = (h.code.op(f"mul i64 {number(h, d.stride)}, {stride(h, source, k)}") for k, d in slices)
    set_strides(h, target, tuple(steps))


def check_place(h: Emitter, array: Array, dims: tuple[core.DimIndex, ...], loc: Loc) -> None:
    """R0101 unless every index and every slice that is not empty is inside."""
    bad = "false"
    for k, dim in enumerate(dims):
        n = size(h, array, k)
        bad = h.one.either(bad, outside_index(h, dim, n) if isinstance(dim, Fix) else outside_slice(h, dim, n))
    site = BoundsSite(tuple(isinstance(d, Slice) for d in dims), loc)
    fail_if(h, bad, site, lambda: (*place_values(h, dims), *sizes(h, array)))


def place_values(h: Emitter, dims: tuple[core.DimIndex, ...]) -> tuple[str, ...]:
    """What a `BoundsSite` records of a place: the index, or start, count and stride, for each dimension."""
    listed: list[Atom] = []
    for dim in dims:
        listed += (dim.index,) if isinstance(dim, Fix) else (dim.start, dim.count, dim.stride)
    return tuple(number(h, atom) for atom in listed)


def outside_index(h: Emitter, dim: Fix, n: str) -> str:
    """i1: is an index not in 0 .. n-1? One unsigned comparison."""
    return h.code.op(f"icmp uge i64 {number(h, dim.index)}, {n}")


def outside_slice(h: Emitter, dim: Slice, n: str) -> str:
    """count < 0, or count > 0 and the first or the last element is outside; the last in 128 bits, where nothing
    wraps."""
    code = h.code
    start, count, step = (number(h, x) for x in (dim.start, dim.count, dim.stride))
    first = code.op(f"icmp uge i64 {start}, {n}")
    wide_start, wide_count, wide_step, wide_n = (code.op(f"sext i64 {x} to i128") for x in (start, count, step, n))
    steps = code.op(f"sub i128 {wide_count}, 1")
    last = code.op(f"add i128 {wide_start}, {code.op(f'mul i128 {steps}, {wide_step}')}")
    ends = h.one.either(first, code.op(f"icmp uge i128 {last}, {wide_n}"))
    some = code.op(f"icmp sgt i64 {count}, 0")
    return h.one.either(code.op(f"icmp slt i64 {count}, 0"), h.one.both(some, ends))


def index(h: Emitter, stm: HostStm, exp: core.Index) -> None:
    """An element, or a view of a part; R0101 unless it is known to be inside."""
    source = h.arrays[exp.array]
    if not exp.safe:
        check_place(h, source, exp.dims, stm.loc)
    (param,) = stm.pat
    if not param.type.shape:
        found = h.backend.read(h, source.prim, address(h, source, exp.dims))
        bind_scalar(h, param.name, source.prim, found)
        return
    *outer, last = exp.dims
    is_row = all(isinstance(d, Fix) for d in outer) and isinstance(last, Slice) and last.stride == i64(1)
    target = declare_array(h, param, source.dense and is_row)
    share_buffer(h, target, source)
    narrow(h, target, source, exp.dims)


def share_buffer(h: Emitter, target: Array, source: Array) -> None:
    """A reference to the buffer, without sizes and strides."""
    call(h, "soac_host_alias", target.pointer, source.pointer, "0")


def update(h: Emitter, stm: HostStm, exp: core.Update) -> None:
    """Write in place; the result is the array under another name."""
    source = h.arrays[exp.array]
    if not exp.safe:
        check_place(h, source, exp.dims, stm.loc)
    if all(isinstance(d, Fix) for d in exp.dims):
        h.backend.write(h, source.prim, value(h, exp.value), address(h, source, exp.dims))
    else:
        write_slice(h, source, exp, stm.loc)
    alias(h, declare_array(h, stm.pat[0], source.dense), source)


def write_slice(h: Emitter, array: Array, exp: core.Update, loc: Loc) -> None:
    """Elements that come from the same buffer are copied first: they may overlap."""
    target = descriptor(h, array.prim, sum(isinstance(d, Slice) for d in exp.dims), False)
    narrow(h, target, array, exp.dims)
    if not is_array(h, exp.value):
        h.backend.fill(h, target, exp.value)
        return
    source, apart = operand(h, exp.value), descriptor(h, target.prim, target.rank, False)
    how = ("%state", apart.pointer, source.pointer, array.pointer, str(source.rank), width(source))
    unless_memory(h, ask(h, "soac_host_apart", *how), source, loc)
    copy(h, target, apart)
    release(h, apart)


# ---- bulk operations ---------------------------------------------------------------------------------------------


def copy(h: Emitter, target: Array, source: Array) -> None:
    """All elements of `target`, which has memory, from those of `source`."""
    call(h, "soac_host_copy", "%state", target.pointer, source.pointer, str(target.rank), width(target))


def made(h: Emitter, stm: HostStm, shape: tuple[str, ...]) -> Array:
    """The array that a statement binds, with memory for a shape."""
    array, name = declare_array(h, stm.pat[0], True), stm.pat[0].name
    set_sizes(h, array, shape)
    if name in h.in_frame:
        slot = h.code.slot(f"[{MOST} x i64]", 64)
        put(h, array, DATA, h.code.op(f"ptrtoint ptr {slot} to i64"))
        counts = [int(n.value) for n in stm.pat[0].type.shape if isinstance(n, Const)]
        steps = [math.prod(counts[k + 1 :]) * array.prim.bytes for k in range(array.rank)]
        set_strides(h, array, tuple(map(str, steps)))
        return array
    if h.loops and h.backend.is_here:
        h.again.add(name)
    allocate(h, array, stm.loc, "again" if name in h.again else "scratch")
    return array


def scratch(h: Emitter, stm: HostStm, exp: core.Scratch) -> None:
    """An array with memory that holds nothing yet."""
    made(h, stm, numbers(h, exp.type.shape))


def scratch_over(h: Emitter, stm: HostStm, exp: Over) -> None:
    """The same in the memory of an operand, if nothing else refers to that."""
    array = declare_array(h, stm.pat[0], True)
    set_sizes(h, array, numbers(h, exp.type.shape))
    allocate(h, array, stm.loc, "over", h.arrays[exp.operand].pointer)


def numbers(h: Emitter, atoms: tuple[Atom, ...]) -> tuple[str, ...]:
    """Integers as i64, such as the sizes of a shape."""
    return tuple(number(h, a) for a in atoms)


def iota(h: Emitter, stm: HostStm, exp: core.Iota) -> None:
    """start, start + step, ..: a fresh array."""
    count, start, step = numbers(h, (exp.count, exp.start, exp.step))
    array = made(h, stm, (count,))
    call(h, "soac_host_iota", "%state", array.pointer, *sizes(h, array), start, step, width(array))


def replicate(h: Emitter, stm: HostStm, exp: core.Replicate) -> None:
    """A scalar or an array at every place of a shape, as a fresh array."""
    if not is_array(h, exp.value):
        array = made(h, stm, numbers(h, exp.shape))
        if stm.pat[0].name in h.in_frame:
            store_elements(h, array, (exp.value,) * math.prod(int(n.value) for n in exp.shape if isinstance(n, Const)))
        else:
            h.backend.fill(h, array, exp.value)
        return
    source = operand(h, exp.value)
    array = made(h, stm, (*numbers(h, exp.shape), *sizes(h, source)))
    strides = tuple(stride(h, source, k) for k in range(source.rank))
    copy(h, array, spread(h, array, get(h, source, DATA), strides))


def spread(h: Emitter, target: Array, data: str, strides: tuple[str, ...]) -> Array:
    """A view that has what is at `data` at every place of the outer dimensions of `target`: their strides are 0."""
    view = descriptor(h, target.prim, target.rank, False)
    put(h, view, DATA, data)
    set_strides(h, view, ("0",) * (target.rank - len(strides)) + strides)
    return view


def array_literal(h: Emitter, stm: HostStm, exp: core.ArrayLit) -> None:
    """A fresh array: copied from the module where all elements are constants, else stored element by element or row by
    row."""
    array = made(h, stm, numbers(h, stm.pat[0].type.shape))
    constants = [a for a in exp.elems if isinstance(a, Const)]
    if len(constants) == len(exp.elems):
        h.backend.constants(h, array, np.array([c.value for c in constants], DTYPES[array.prim]).tobytes())
    elif not exp.row.shape:
        store_elements(h, array, exp.elems)
    else:
        store_rows(h, array, exp.elems)


def constant(h: Emitter, data: bytes) -> str:
    """A constant of the module; its symbol."""
    module = h.code.module
    name = f"constants.{len(module.declarations)}"
    shown = "".join(f"\\{byte:02X}" for byte in data)
    module.declarations[name] = f'@{name} = private constant [{len(data)} x i8] c"{shown}"'
    return f"@{name}"


def store_elements(h: Emitter, array: Array, elems: tuple[Atom, ...]) -> None:
    """Scalars side by side from the beginning of an array of one dimension."""
    start = get(h, array, DATA)
    for k, elem in enumerate(elems):
        at = h.code.op(f"add i64 {start}, {k * array.prim.bytes}")
        h.backend.write(h, array.prim, value(h, elem), at)


def store_rows(h: Emitter, array: Array, rows: tuple[Atom, ...]) -> None:
    """Arrays as the rows of a dense one, each copied to its place."""
    row = descriptor(h, array.prim, array.rank - 1, True)
    set_strides(h, row, tuple(stride(h, array, k) for k in range(1, array.rank)))
    at = get(h, array, DATA)
    for atom in rows:
        set_sizes(h, row, sizes(h, operand(h, atom)))
        put(h, row, DATA, at)
        copy(h, row, operand(h, atom))
        at = h.code.op(f"add i64 {at}, {stride(h, array, 0)}")


def concatenate(h: Emitter, stm: HostStm, exp: core.Concat) -> None:
    """The parts one after the other in the outer dimension of a fresh array."""
    array = made(h, stm, numbers(h, stm.pat[0].type.shape))
    part = descriptor(h, array.prim, array.rank, True)
    set_strides(h, part, tuple(stride(h, array, k) for k in range(array.rank)))
    at = get(h, array, DATA)
    for name in exp.arrays:
        source = h.arrays[name]
        set_sizes(h, part, sizes(h, source))
        put(h, part, DATA, at)
        copy(h, part, source)
        at = h.code.op(f"add i64 {at}, {h.code.op(f'mul i64 {size(h, source, 0)}, {stride(h, array, 0)}')}")


def fresh(h: Emitter, stm: HostStm, exp: core.Copy) -> None:
    """A dense copy of an array; fails with a `MemorySite` where there is no memory for it."""
    obtain(h, "fresh", declare_array(h, stm.pat[0], True), h.arrays[exp.array], stm.loc)


def copied(h: Emitter, stm: HostStm, exp: core.Copied) -> None:
    """The same value under another name."""
    (param,) = stm.pat
    if is_array(h, exp.atom):
        source = operand(h, exp.atom)
        alias(h, declare_array(h, param, source.dense), source)
    else:
        bind_scalar(h, param.name, param.type.prim, value(h, exp.atom))
