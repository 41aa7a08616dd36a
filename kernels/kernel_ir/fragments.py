"""Fragments of tensor cores: which element of a small matrix each register of each lane of a warp holds.

    mma: sum[m][n] += left[m][k] · right[k][n], by the 32 threads of a warp, each with some registers of each

A layout is linear: an element is where the bits of its lane's number, and of its register's, lead to together. What
computes, prints and checks takes it from here. Source: PTX ISA, "Matrix fragments for mma.m16n8k16" and "m16n8k8".
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from ...ir.floats import bits_of, of_bits
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.scalar import meaning
from ...ir.types import Prim

LANES = 32

Place = tuple[int, int]
"""A row and a column."""


class Role(Enum):
    """What a fragment is to the product."""

    LEFT = "left"
    RIGHT = "right"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Layout:
    """How far each bit of the number of a lane leads, and each bit of that of a register."""

    lanes: tuple[Place, ...]
    registers: tuple[Place, ...]

    @property
    def count(self) -> int:
        """Registers of a lane."""
        return 1 << len(self.registers)

    @property
    def pitches(self) -> Place:
        """From lane to lane, how far it is to the next row, and to the next column."""
        rows, columns = ([1 << bit for bit, place in enumerate(self.lanes) if place[d]] for d in (0, 1))
        return min(rows, default=0), min(columns, default=0)

    def __str__(self) -> str:
        return "a row for every {} threads, columns for every {}".format(*self.pitches)


def place(layout: Layout, lane: int, register: int) -> Place:
    """The element that a register of a lane holds."""
    bits = (*(lane >> k & 1 for k in range(len(layout.lanes))), *(register >> k & 1 for k in range(8)))
    led = [there for there, bit in zip((*layout.lanes, *layout.registers), bits) if bit]
    return sum(row for row, _ in led), sum(column for _, column in led)


@dataclass(frozen=True, slots=True)
class Instruction:
    """`mma.sync` for elements of a type: the length of the rows that it takes, its layouts."""

    depth: int
    layouts: Mapping[Role, Layout]


ROWS, COLUMNS = 16, 8
"""Of a sum."""


def _instruction(pair: int) -> Instruction:
    """For elements of which a register of 32 bits holds `pair`: the four lanes of a group have as many neighbours each,
    and as many again, 4 · `pair` further on."""
    both = ((0, 1),) if pair == 2 else ()
    group, rows = ((0, pair), (0, 2 * pair)), ((1, 0), (2, 0), (4, 0))
    left = Layout((*group, *rows), (*both, (8, 0), (0, 4 * pair)))
    right = Layout(tuple((k, n) for n, k in left.lanes), tuple((k, n) for n, k in (*both, (0, 4 * pair))))
    total = Layout(((0, 2), (0, 4), *rows), ((0, 1), (8, 0)))
    return Instruction(8 * pair, {Role.LEFT: left, Role.RIGHT: right, Role.SUM: total})


INSTRUCTIONS: Mapping[Prim, Instruction] = {
    Prim.F16: _instruction(2),
    Prim.BF16: _instruction(2),
    Prim.F32: _instruction(1),
}
"""By the type of the elements that are multiplied; those of f32 are rounded to 11 digits (`tf32`). A product is exact;
the sum of f32 is rounded after each, in the order of k (a GPU has an order of its own)."""


MATRICES: Mapping[int, Layout] = {
    bytes: Layout(((0, 4 // bytes), (0, 8 // bytes), (1, 0), (2, 0), (4, 0)), ((0, 1),) if bytes == 2 else ())
    for bytes in (2, 4)
}
"""By the bytes of an element, of a matrix of eight rows of 16 bytes, as `ldmatrix` gives it to the lanes of a warp:
"Matrix fragments for ldmatrix", each register of 32 bits holds neighbours."""


def layout_of(role: Role, prim: Prim) -> Layout | None:
    """The layout of a distributed array of a type in its role, if there is such an instruction."""
    found = INSTRUCTIONS.get(prim)
    return found.layouts[role] if found is not None else None


def multiplied(instruction: Instruction, x: float, y: float, total: float) -> float:
    """total + x · y as the comment above says."""
    if instruction is INSTRUCTIONS[Prim.F32]:
        x, y = tf32(x), tf32(y)
    return meaning(Op.FMA, Prim.F32)(x, y, total)


def tf32(x: float) -> float:
    """An f32 with 11 digits, the nearest, ties away from zero."""
    if x != x:
        return x
    return of_bits(Prim.F32)(bits_of(Prim.F32)(x) + 0x1000 & ~0x1FFF)
