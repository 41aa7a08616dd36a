"""Statements that only the lanes of a CPU have: rows of a matrix, one to a thread, and short rows of each thread."""

from __future__ import annotations

from ...ir.records import dataclass
from .values import KArray, KVar, Operand

COLUMNS = 16
"""Columns of a tile, where there are as many lanes."""


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
class StoreSome:
    """`array[index + k] := values[k]` for each k whose `keeps[k]` holds: neighbouring elements of a thread, of fewer
    than 32 bits, together at most 8 bytes. Other threads may store the same value at the same time."""

    array: KArray
    index: Operand
    values: tuple[Operand, ...]
    keeps: tuple[Operand, ...]
