"""Arrays of a cluster: rows in order, in pieces that are on the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.devices.device import OnDevice
from . import worker
from .engine import Engine, Handle

if TYPE_CHECKING:
    import dask.array

SMALL = 1 << 16
"""Bytes of an array that is not worth more than one piece."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The rows `start .. stop` of an array on a worker that has `rows` of them."""

    handle: Handle
    start: int
    stop: int
    rows: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """An array of a cluster as tasks see it."""

    pieces: tuple[Piece, ...]

    @property
    def rows(self) -> int:
        return sum(piece.stop - piece.start for piece in self.pieces)

    def placed(self) -> Iterator[tuple[int, Piece]]:
        """Each piece, with the number of its first row."""
        first = 0
        for piece in self.pieces:
            yield first, piece
            first += piece.stop - piece.start

    def part(self, start: int, stop: int) -> Pieces:
        """Some of the rows, as far as there are such: nothing is moved for it."""
        found: list[Piece] = []
        for first, piece in self.placed():
            lo, hi = max(start - first, 0) + piece.start, min(stop - first, piece.stop - piece.start) + piece.start
            if lo < hi:
                found.append(Piece(piece.handle, lo, hi, piece.rows))
        empty = Piece(self.pieces[0].handle, 0, 0, self.pieces[0].rows)
        return Pieces(tuple(found) or (empty,))

    def handles(self, engine: Engine) -> list[Handle]:
        """The rows as arrays, one after the other; part of a piece is cut out where it is."""
        return [
            piece.handle
            if (piece.start, piece.stop) == (0, piece.rows)
            else engine.submit(worker.cut, piece.handle, piece.start, piece.stop)
            for piece in self.pieces
        ]


def bounds_of(rows: int, blocks: int) -> list[int]:
    """The partition: where the blocks of an array begin and end. It decides the bits of reductions and scans."""
    count = max(1, min(blocks, rows))
    return [rows * k // count for k in range(count + 1)]


def pieces_of(handles: Sequence[Handle], parts: Sequence[tuple[int, int]]) -> Pieces:
    """An array of which each block has its rows."""
    return Pieces(tuple(Piece(handle, 0, hi - lo, hi - lo) for handle, (lo, hi) in zip(handles, parts)))


@dataclass(frozen=True, slots=True)
class DistributedArray(OnDevice):
    """An array whose rows are on the workers of a cluster. `held`: what it would be computed from again."""

    engine: Engine = field(repr=False)
    pieces: Pieces = field(repr=False)
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    held: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def collect(self) -> np.ndarray:
        """The whole array, here."""
        parts = self.engine.values(self.pieces.handles(self.engine))
        return np.concatenate(parts).reshape(self.shape)

    def numpy(self) -> np.ndarray:
        return self.collect()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.collect() if dtype is None else self.collect().astype(dtype)

    def to_dask(self) -> dask.array.Array:
        """The same as an array of Dask, a chunk for each piece."""
        import dask.array as da
        from dask.delayed import delayed

        handles = self.pieces.handles(self.engine)
        chunks = [
            da.from_delayed(delayed(worker.same)(handle), (piece.stop - piece.start, *self.shape[1:]), self.dtype)
            for handle, piece in zip(handles, self.pieces.pieces)
        ]
        return da.concatenate(chunks)

    def save(self, path: str | Path) -> None:
        """Writes a file of NumPy's format (`.npy`), else a Zarr array, on a path that all workers have: each worker
        writes what it has."""
        place, engine = str(Path(path).absolute()), self.engine
        first = self.pieces.pieces[0]
        rows = max(1, first.stop - first.start)
        if place.endswith(".npy"):
            np.lib.format.open_memmap(place, "w+", self.dtype, self.shape).flush()
            write = worker.write
        else:
            import zarr

            chunks = (rows, *(max(1, size) for size in self.shape[1:]))
            zarr.create_array(place, shape=self.shape, dtype=self.dtype, chunks=chunks, overwrite=True)
            write = worker.write_zarr
        starts = range(0, self.shape[0], rows)
        engine.wait([engine.submit(write, place, lo, self.pieces.part(lo, lo + rows).handles(engine)) for lo in starts])
