"""Bulk operations of the host as kernels: what those of all machines share, and iota.

    iota    to[i] = start + i * step, modulo the width of an element

Elements are words of their width. Strides count elements, and may be negative, or 0 in `from`, which repeats.
"""

from __future__ import annotations

from dataclasses import field

from ...ir.core import Level
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KArray, Kernel, KVar, Operand, Space
from .array_values import view_of
from .kernel_builder import Builder, HostScope, InnerSchedules
from .soacs import gen_soac

WORDS = (Prim.U8, Prim.U16, Prim.U32, Prim.U64)


def numbers(*names: str) -> tuple[KVar, ...]:
    """i64 scalars of a kernel by these names."""
    return tuple(KVar(name, Prim.I64) for name in names)


COUNT, START, STEP = numbers("count", "start", "step")


def builder() -> Builder:
    """Of a kernel that sees nothing of a program."""
    return Builder(HostScope({}, {}, {}, {}), view_of, InnerSchedules(gen_soac, None))


@dataclass(frozen=True, slots=True)
class Maker:
    """A kernel of words under construction."""

    prim: Prim
    b: Builder = field(default_factory=builder)

    @property
    def to(self) -> KArray:
        return KArray("to", self.prim, Space.GLOBAL)

    @property
    def source(self) -> KArray:
        return KArray("from", self.prim, Space.GLOBAL)

    def kernel(self, name: str, arrays: tuple[KArray, ...], scalars: tuple[KVar, ...]) -> Kernel:
        b = self.b
        return Kernel(f"{name}_{self.prim.bytes}", b.block, arrays, scalars, tuple(b.stms), (), Level.BLOCK)

    def parts(self, size: Operand, length: int) -> Operand:
        """How many pieces of this length."""
        b = self.b
        return b.exact(Op.QUOT, b.add(size, i64(length - 1)), i64(length), "parts")

    def divided(self, number: Operand, by: Operand) -> tuple[Operand, Operand]:
        """Quotient and rest; none is negative."""
        b = self.b
        quotient = b.exact(Op.QUOT, number, by, "quotient")
        return quotient, b.sub(number, b.mul(quotient, by))

    def piece(self, number: Operand, size: Operand, length: int) -> tuple[Operand, Operand, Operand]:
        """A number as that of a piece of `size`, which is cut in pieces of `length`: what numbers the rest, first index
        and end of the piece."""
        rest, part = self.divided(number, self.parts(size, length))
        return rest, *self.ends(part, size, length)

    def ends(self, part: Operand, size: Operand, length: int) -> tuple[Operand, Operand]:
        """First index and end of piece number `part`."""
        b = self.b
        lo = b.mul(part, i64(length))
        return lo, b.minimum(size, b.add(lo, i64(length)))

    def moved(self, to: Operand, source: Operand) -> None:
        self.b.emit(kir.Store(self.to, to, self.b.let("x", self.prim, kir.KLoad(self.source, source))))


def iota(prim: Prim, chunk: int) -> Kernel:
    """Blocks of `chunk` elements."""
    m = Maker(prim)
    b, i = m.b, m.b.fresh("i", Prim.I64)
    lo, hi = m.ends(b.block, COUNT, chunk)
    with b.threads(i, lo, hi):
        value = b.wrapping(Op.ADD, START, b.wrapping(Op.MUL, i, STEP))
        b.emit(kir.Store(m.to, i, b.let("x", prim, kir.KConvert(Prim.I64, prim, value))))
    return m.kernel("iota", (m.to,), (COUNT, START, STEP))
