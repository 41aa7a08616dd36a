"""Statements about registers: arrays distributed over threads, and products of them. `nodes.py` has them too."""

from __future__ import annotations

from ...ir.records import dataclass
from .fragments import Role
from .values import KArray, KVar, Operand


@dataclass(frozen=True, slots=True)
class Distribute:
    """`array = new registers prim[threads][count]`: an array of `count` elements for each index of the loops `threads i
    in 0..threads`, which the thread of that index keeps from one of them to the next; uninitialised.

    It is used in such loops alone, and stands for the one of their index there. Where its own indices are constants,
    or become such when loops of constant bounds are unrolled, it is registers. `role`: each warp's are fragments of
    matrices (`fragments.py`). `length`, at most `threads`: the loops go over 0..length, in reductions too."""

    array: KArray
    threads: int
    count: int
    role: Role | None = None
    length: Operand | None = None


@dataclass(frozen=True, slots=True)
class LoadMatrix:
    """`vars[k] = array[index + offsets[k]]`, by all threads of a warp together (`ldmatrix`), from SHARED memory: two
    or four matrices (`MATRIX` of `fragments.py`) of eight rows of 16 bytes. Thread 8·j + i of the warp names the i-th
    row of matrix j, which begins at array[`row`]; `across`: a thread gets what is in the transposed matrix."""

    vars: tuple[KVar, ...]
    array: KArray
    index: Operand
    offsets: tuple[Operand, ...]
    row: Operand
    across: bool = False


@dataclass(frozen=True, slots=True)
class Mma:
    """`sum[to ..] += left[at ..] · right[start ..]`, products of small matrices, by every warp of the block: collective
    of a warp, whose fragments begin at these elements. The types of the elements say by which instruction."""

    sum: KArray
    to: Operand
    left: KArray
    at: Operand
    right: KArray
    start: Operand
