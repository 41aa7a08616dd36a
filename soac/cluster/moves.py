"""Statements that compute nothing of their own: rows stay where they are, are cut there, or go to other blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, Protocol

from ..ir.core import Concat, Copied, Copy, DimIndex, Fix, Index, Rearrange, Reshape, Scatter, Slice, Stm, Update
from ..ir.errors import IRError
from ..ir.types import Atom, Name, Type, Var
from . import worker
from .arrays import Piece, Pieces, bounds_of, pieces_of
from .engine import Engine, Handle


class Values(Protocol):
    """What moves ask of a run: its engine, in how many blocks arrays are, and what names stand for."""

    @property
    def engine(self) -> Engine: ...
    @property
    def blocks(self) -> int: ...
    @property
    def env(self) -> Mapping[Name, Any]: ...
    def atom(self, atom: Atom) -> Any: ...
    def known(self, atom: Atom) -> Any: ...
    def shape(self, t: Type) -> tuple[int, ...]: ...


def move(run: Values, stm: Stm) -> list[Any]:
    """What the statement gives, once what it relies on holds."""
    env = run.env
    for cert in stm.certs:
        run.known(Var(cert))
    match stm.exp:
        case Copied(atom):
            return [run.atom(atom)]
        case Copy(array):
            return [env[array]]
        case Concat(arrays):
            return [Pieces(tuple(piece for array in arrays for piece in env[array].pieces))]
        case Index(array, (Slice() as rows, *rest)):
            inner = [python_index(run, dim) for dim in rest]
            is_all = inner == [slice(0, size, 1) for size in run.shape(stm.pat[0].type)[1:]]
            return [taken(run.engine, env[array], places_of(run, rows), inner, is_all)]
        case Update(array, (first, *rest), value):
            inner = [python_index(run, dim) for dim in rest]
            return [written(run, env[array], first, inner, run.atom(value))]
        case Reshape(_, array):
            return [reshaped(run, env[array], run.shape(stm.pat[0].type))]
        case Rearrange(perm, array):
            return [exchanged(run, env[array], perm, run.shape(stm.pat[0].type)[0])]
        case Scatter(_, arrays, _, dests, rank):
            return scattered(run.engine, [env[xs] for xs in arrays], [env[xs] for xs in dests], rank)
        case _:
            raise IRError("no move")


# ---- parts of dimensions ------------------------------------------------------------------------------------------


def python_index(run: Values, dim: DimIndex) -> int | slice:
    """An index of a dimension as NumPy has it."""
    start, count, stride = places_of(run, dim)
    return start if isinstance(dim, Fix) else slice_of(start, count, stride)


def places_of(run: Values, dim: DimIndex) -> tuple[int, int, int]:
    """Start, count and stride of the places that an index of a dimension names."""
    if isinstance(dim, Fix):
        return int(run.known(dim.index)), 1, 1
    return int(run.known(dim.start)), int(run.known(dim.count)), int(run.known(dim.stride))


def slice_of(start: int, count: int, stride: int) -> slice:
    """`count` places from `start` on."""
    stop = start + count * stride
    return slice(start, None if stop < 0 else stop, stride) if count else slice(0, 0, 1)


def turns_in(start: int, count: int, stride: int, lo: int, hi: int) -> range:
    """Which of the places `start + j * stride` are among `lo .. hi`: their j."""
    if stride == 0:
        return range(count if lo <= start < hi else 0)
    if stride < 0:
        return range(max(0, (start - hi) // -stride + 1), min(count, (start - lo) // -stride + 1))
    return range(max(0, -((start - lo) // stride)), min(count, -((start - hi) // stride)))


def taken(engine: Engine, array: Pieces, rows: tuple[int, int, int], inner: list[Any], is_all: bool) -> Pieces:
    """A slice, each worker of its own rows; nothing is done for rows in one stretch that are taken whole."""
    start, count, stride = rows
    if stride == 1 and is_all:
        return array.part(start, start + count)
    found: list[Piece] = []
    placed = list(array.placed())
    for first, piece in reversed(placed) if stride < 0 else placed:
        own = turns_in(start, count, stride, first, first + piece.stop - piece.start)
        if own:
            at = slice_of(start + own.start * stride - first + piece.start, len(own), stride)
            found.append(Piece(engine.submit(worker.indexed, piece.handle, (at, *inner)), 0, len(own), len(own)))
    none = (slice(0, 0), *inner)
    return Pieces(tuple(found) or (Piece(engine.submit(worker.indexed, placed[0][1].handle, none), 0, 0, 0),))


def written(run: Values, array: Pieces, dim: DimIndex, inner: list[Any], value: Any) -> Pieces:
    """An array with other elements in a slice: the blocks that have rows of it are made again."""
    engine, found = run.engine, list[Piece]()
    start, count, stride = places_of(run, dim)
    for first, piece in array.placed():
        own = turns_in(start, count, stride, first, first + piece.stop - piece.start)
        if not own:
            found.append(piece)
            continue
        at = start + own.start * stride - first
        place = at if isinstance(dim, Fix) else slice_of(at, len(own), stride)
        given = value
        if isinstance(value, Pieces):
            part = value if isinstance(dim, Fix) else value.part(own.start, own.stop)
            given = part.handles(engine)
        made = engine.submit(worker.written, piece.handle, piece.start, piece.stop, (place, *inner), given)
        found.append(Piece(made, 0, piece.stop - piece.start, piece.stop - piece.start))
    return Pieces(tuple(found))


# ---- other blocks -------------------------------------------------------------------------------------------------


def blocks_like(run: Values, array: Pieces, rows: int) -> list[tuple[int, int]]:
    """The blocks of an array that is made of another one: one if that is in one piece."""
    return list(pairwise(bounds_of(rows, run.blocks if len(array.pieces) > 1 else 1)))


def reshaped(run: Values, array: Pieces, shape: tuple[int, ...]) -> Pieces:
    """The same elements in rows of another size: each block of them from the rows that have these elements."""
    size, parts = prod(shape[1:]), blocks_like(run, array, shape[0])
    before = prod(shape) // max(array.rows, 1) or 1
    handles: list[Handle] = []
    for lo, hi in parts:
        first = lo * size // before
        rows = array.part(first, -(-hi * size // before)).handles(run.engine)
        handles.append(run.engine.submit(worker.reshaped, rows, lo * size - first * before, (hi - lo, *shape[1:])))
    return pieces_of(handles, parts)


def exchanged(run: Values, array: Pieces, perm: tuple[int, ...], count: int) -> Pieces:
    """All to all: block k of the result has rows k of each block, side by side."""
    engine, handles, parts = run.engine, array.handles(run.engine), blocks_like(run, array, count)
    if len(handles) == 1:
        return pieces_of([engine.submit(worker.turned, handles[0], perm)], parts)
    bounds = [0, *(hi for _, hi in parts)]
    pieces = [
        [engine.submit(worker.pick, sides, k) for k in range(len(parts))]
        for sides in [engine.submit(worker.split, xs, perm, bounds) for xs in handles]
    ]
    blocks = [engine.submit(worker.gathered, list(column), perm.index(0)) for column in zip(*pieces)]
    return pieces_of(blocks, parts)


def scattered(engine: Engine, arrays: Sequence[Pieces], dests: Sequence[Pieces], rank: int) -> list[Pieces]:
    """`arrays` have, row by row, places and a value for each destination: values go to the blocks that have the rows of
    their places. Which blocks these may be is asked of the workers first, unless there is one."""
    sources = list(zip(*(array.handles(engine) for array in arrays), strict=True))
    if all(len(dest.pieces) == 1 for dest in dests):
        spans = [(0, dests[0].rows)] * len(sources)
    else:
        spans = engine.values([engine.submit(worker.span, columns[0]) for columns in sources])
    pairs = list(zip(sources, spans, strict=True))
    return [scattered_to(engine, dest, pairs, rank, k) for k, dest in enumerate(dests)]


def scattered_to(engine: Engine, dest: Pieces, pairs: Sequence[tuple[Any, Any]], rank: int, value: int) -> Pieces:
    """One of the destinations of a scatter."""

    def parts(lo: int, hi: int) -> Iterator[Handle]:
        for columns, (least, most) in pairs:
            if least < hi and most >= lo:
                yield engine.submit(worker.addressed, list(columns[:rank]), columns[rank + value], lo, hi)

    found: list[Piece] = []
    for first, piece in dest.placed():
        rows = piece.stop - piece.start
        given = list(parts(first, first + rows))
        if given:
            made = engine.submit(worker.scattered, piece.handle, piece.start, piece.stop, given)
            piece = Piece(made, 0, rows, rows)
        found.append(piece)
    return Pieces(tuple(found))
