"""Statements of kernel IR that only the lanes of a CPU have: rows of a matrix, a row to a thread (`row_tiles.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kir import KArray, KVar, Operand


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
