"""Statements of kernel IR that only the lanes of a CPU have: rows of a matrix, a row to a thread (`row_tiles.py`), or
all rows as they lie (`row_scans.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kir import KArray, KLambda, KStm, KVar, Operand


@dataclass(frozen=True, slots=True)
class LoadTile:
    """`tile[k] := array[start + row*pitch + k]` for k < count, in every thread; tile is PRIVATE, row the thread's
    index, all else uniform. Every element is in bounds."""

    tile: KArray
    array: KArray
    start: Operand
    row: KVar
    pitch: Operand
    count: Operand


@dataclass(frozen=True, slots=True)
class StoreTile:
    """`array[start + row*pitch + k] := tile[k]` for k < count, as `LoadTile`."""

    array: KArray
    start: Operand
    row: KVar
    pitch: Operand
    count: Operand
    tile: KArray


@dataclass(frozen=True, slots=True)
class RowScan:
    """`threads t in 0..count { body; scanned = inclusive scan of values in its row; after }`: collective; a row is
    `width` elements, count a multiple of that. `body` and `after` are lets and stores, which go over the elements as
    they lie: what an element stores may be stored by others ahead of it, and loads read nothing that is stored."""

    scanned: tuple[KVar, ...]
    index: KVar
    count: Operand
    width: Operand
    body: tuple[KStm, ...]
    values: tuple[Operand, ...]
    op: KLambda
    neutral: tuple[Operand, ...]
    after: tuple[KStm, ...]
