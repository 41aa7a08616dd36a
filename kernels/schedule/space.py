"""Laying a space over blocks and threads: indices from block numbers, chunks, and the places of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import core
from ...ir.core import Body, Lambda, Param, Reduction, SegSpace, Stm
from ...ir.errors import NOWHERE
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import I64, Atom, Const, Name, Names, Prim, Type, Var, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KStm, KVar
from ..kernel_ir.traverse import map_operands
from .array_values import copy_into
from .kernel_builder import ZERO, ArrayRef, Builder, IotaRef, Mode, Operand, Value
from .queries import array_origins
from .soacs import gen_soac, spread
from .statements import gen_body


def bind_space(
    b: Builder, space: SegSpace, point: Operand, order: tuple[int, ...] | None = None
) -> tuple[Operand, ...]:
    """Unflatten the number of a point into the indices of a space; the last dimension runs fastest, or the last of
    `order`."""
    order = tuple(range(len(space.dims))) if order is None else order
    indices: dict[int, Operand] = {}
    rest = point
    for k in reversed(order):
        name, width = space.dims[k]
        n = b.operand(width)
        if k == order[0]:
            indices[k] = rest
        else:
            indices[k] = b.op(Op.REM, Prim.I64, rest, n, base=name.base)
            rest = b.op(Op.QUOT, Prim.I64, rest, n, base="point")
        b.env[name] = indices[k]
    return tuple(indices[k] for k in range(len(space.dims)))


def split_chunk(
    b: Builder, dims: tuple[tuple[Name, Atom], ...], chunks: Operand, number: Operand | None = None
) -> tuple[Operand, Operand]:
    """(number of the point of the outer dimensions, number of the chunk) of a number among all chunks, of which each
    point has `chunks`: the block's, unless one is given."""
    number = b.block if number is None else number
    if not dims:
        return ZERO, number
    point = b.op(Op.QUOT, Prim.I64, number, chunks, base="segment")
    return point, b.op(Op.REM, Prim.I64, number, chunks, base="chunk")


@dataclass(frozen=True, slots=True)
class Chunk:
    """How many points of the innermost dimension a block takes, and one less."""

    length: Operand
    less: Operand


def chunk_of(length: int) -> Chunk:
    """A chunk of a constant length."""
    return Chunk(i64(length), i64(length - 1))


OPEN_LENGTH, OPEN_LESS = KVar("chunk", Prim.I64), KVar("less", Prim.I64)
OPEN = Chunk(OPEN_LENGTH, OPEN_LESS)
"""A chunk whose length is decided when the kernel is there (`closed`), or by the host. No other variable has a name
without a number but `FAR` and `GROUP`."""


def closed(body: tuple[KStm, ...], length: int) -> tuple[KStm, ...]:
    """The body of a kernel with the length of its chunk, which its own statements use, not those inside of them."""
    decided: dict[Operand, Operand] = {OPEN.length: i64(length), OPEN.less: i64(length - 1)}
    return tuple(map_operands(stm, lambda x: decided.get(x, x)) for stm in body)


def lanes_over_chunk(b: Builder, space: SegSpace, chunk: Chunk, body: Callable[[tuple[Operand, ...]], None]) -> None:
    """`threads j` over one chunk of the innermost dimension; `body` gets the indices of the space."""
    (inner, width), outer = space.dims[-1], space.dims[:-1]
    n = b.operand(width)
    chunks: Operand = ZERO
    if outer:
        chunks = b.op(Op.QUOT, Prim.I64, b.add(n, chunk.less), chunk.length, base="chunks")
    point, number = split_chunk(b, outer, chunks)
    indices = bind_space(b, SegSpace(outer), point)
    lo = b.mul(number, chunk.length)
    hi = b.minimum(n, b.add(lo, chunk.length))
    index = b.index(inner)
    b.inside |= set(zip((*indices, index), map(b.operand, space.widths), strict=True))
    with b.threads(index, lo, hi):
        body((*indices, index))


def bind_segment(
    b: Builder, space: SegSpace, cut: tuple[Atom, Atom] | None, block: Operand
) -> tuple[tuple[Operand, ...], Operand, Operand, Operand]:
    """(indices of the segment, number of the chunk, its first index, its length). `cut`: the number of a segment's
    chunks and the length of each if they are several; None where a segment is not cut. `block` counts the chunks of
    all segments."""
    outer, width = space.dims[:-1], b.operand(space.widths[-1])
    if cut is None:
        return bind_space(b, SegSpace(outer), block), ZERO, ZERO, width
    n, whole = (b.operand(a) for a in cut)
    point, number = split_chunk(b, outer, n, block)
    indices = bind_space(b, SegSpace(outer), point)
    one = b.op(Op.EQ, Prim.I64, n, i64(1))
    length = b.op(Op.SELECT, Prim.I64, one, width, whole, base="length")
    lo = b.mul(number, length, base="lo")
    count = b.minimum(length, b.sub(width, lo))
    return indices, number, lo, count


def segment_screma(
    b: Builder,
    names: Names,
    exp: core.SegRed | core.SegScan,
    lo: Operand,
    count: Operand,
    outs: list[tuple[Name, Type]],
    indices: tuple[Operand, ...],
    types: list[Type],
    lanes: bool = False,
) -> tuple[Value, ...]:
    """One segment (or chunk of one) is a Screma over `iota`: the innermost index is its element.

    `outs`: the arrays of the kernel that its array results go to; gives the reduced values. `lanes`: elements go on the
    lanes whatever is in them; the operators are simple."""
    inner = exp.space.dims[-1][0]
    iota, width = names.fresh("iota"), names.fresh("w")
    b.env[iota] = IotaRef(Prim.I64, count, lo, i64(1), exact=True)
    b.env[width] = count
    index = Param(inner, I64)
    fun = Lambda((index,), exp.body, exp.ret)
    scans, reds = (exp.scans, ()) if isinstance(exp, core.SegScan) else ((), exp.reds)
    screma = core.Screma(Var(width), (iota,), fun, scans, reds)
    ns, nr = screma.num_scans, screma.num_reds
    pat: list[Param] = []
    for k, type_ in enumerate(exp.ret):
        name = names.fresh("r")
        element = types[k].row() if k < ns else type_
        pat.append(Param(name, types[k] if k < nr else element.array_of(Var(width))))
    for param, (out_name, _) in zip(pat[nr:], outs, strict=True):
        row = row_of(b, b.array(out_name), indices)
        offset = b.add(row.offset, b.mul(lo, row.strides[0]))
        b.destinations[param.name] = ArrayRef(row.mem, offset, (count, *row.shape[1:]), row.strides, row.row_major)
    stm = Stm(tuple(pat), screma, (), (), NOWHERE)
    values = spread(b, stm, screma) if lanes else gen_soac(b, stm, Mode.BLOCK)
    return values[:nr]


def reduced_rows(
    b: Builder, names: Names, reds: tuple[Reduction, ...], rows: Sequence[Value], types: list[Type], width: Atom
) -> tuple[Value, ...]:
    """The elements of `width` of rows, reduced by the block."""
    arrays = tuple(names.fresh("row") for _ in rows)
    b.env.update(zip(arrays, rows, strict=True))
    elems = tuple(Param(names.fresh("x"), type_) for type_ in types)
    identity = Lambda(elems, Body((), tuple(Var(e.name) for e in elems)), tuple(types))
    pat = tuple(Param(names.fresh("r"), type_) for type_ in types)
    screma = core.Screma(width, arrays, identity, (), reds)
    return gen_soac(b, Stm(pat, screma, (), (), NOWHERE), Mode.BLOCK)


def segment_results(
    b: Builder,
    body: Body,
    outs: list[tuple[Name, Type]],
    indices: tuple[Operand, ...],
    mode: Mode,
    apart: frozenset[Name] = frozenset(),
) -> None:
    """Emit a segmap's body and put its results in their places; an array is made in place where it can be, unless it
    is one of those to be made `apart` and copied."""
    places = [output(b, name) for name, _ in outs]
    origins = array_origins(body)
    for place, result in zip(places, body.result, strict=True):
        origin = origins.get(result.name) if isinstance(result, Var) else None
        row = b.element(place, indices) if len(indices) < len(place.shape) else None
        if origin is not None and isinstance(row, ArrayRef) and origin not in {*b.destinations, *apart}:
            b.destinations[origin] = row
    values = gen_body(b, body, mode)
    for place, value in zip(places, values, strict=True):
        if isinstance(value, (KVar, Const)):
            at = (*indices, ZERO)[: len(place.shape)]
            b.emit(kir.Store(place.mem, b.address(place, at), value))
            continue
        row = row_of(b, place, indices)
        if not (isinstance(value, ArrayRef) and value.mem == row.mem):
            copy_into(b, row, value, mode)


def output(b: Builder, name: Name) -> ArrayRef:
    """A result array of the kernel."""
    ref = b.array(name)
    assert isinstance(ref, ArrayRef)
    b.outputs.add(ref.mem)
    return ref


def row_of(b: Builder, array: Value, indices: tuple[Operand, ...]) -> ArrayRef:
    """The row of a result array at these indices."""
    row = b.element(array, indices)
    assert isinstance(row, ArrayRef)
    return row
