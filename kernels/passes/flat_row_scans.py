"""Scans of rows, one after the other in a loop of the block, as one scan that goes over the elements as they lie.

    for r < n { scan op (threads j in 0..m { .. xs[(p + r)*m + j] .. }) { .. out[(p + r)*m + j] := y } }
    ⟶ scan op in rows of m (threads t in 0..n*m { .. xs[p*m + t] .. }) { .. out[p*m + t] := y }

so that a vector holds several short rows (`lanes/row_scans.py`), and rows of any length wait for nothing between them.
What an element needs must be plain operations, and read and write memory at `start + r*m + j` alone, in arrays that are
only read, or written once. Where the elements of a row go another way, or r or j is used in itself, rows stay a loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.ops import Op
from ...ir.polynomials import constant, divided
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.affine_code import PolyCode
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import BlockScan, For, Kernel, KLet, KLoad, KOp, KStm, KVar, Operand, RowScan, Store
from ..kernel_ir.traverse import assigned, defined, loaded_arrays, names, rhs_operands, stored_arrays, used_by_operator

ZERO = Const(Prim.I64, 0)


def flat_row_scans(kernel: Kernel) -> Kernel:
    """The kernel with the scans of its rows as one; the same one where it has none."""
    finder = _Finder(Environment(assigned(kernel.body), divides=True), NewNames("r"))
    body = tuple(new for stm in kernel.body for new in finder.statement(stm))
    return replace(kernel, body=body) if any(isinstance(stm, RowScan) for stm in body) else kernel


def row_scan_of(kernel: Kernel) -> RowScan | None:
    """The scan of rows that a kernel is."""
    return next((stm for stm in flat_row_scans(kernel).body if isinstance(stm, RowScan)), None)


@dataclass(slots=True)
class _Finder:
    """`values`: of the variables so far."""

    values: Environment
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...]:
        match stm:
            case KLet():
                self.values.note(stm)
                return (stm,)
            case For(row, _, (*before, BlockScan() as scan)) if row.prim is Prim.I64 and self.is_plain(before, scan):
                return self.rows(stm, before, scan) or (stm,)
            case _:
                return (stm,)

    def is_plain(self, before: Iterable[KStm], scan: BlockScan) -> bool:
        """Whole rows from their start, of plain operations on elements; what is written is touched nowhere else."""
        parts = (*scan.body, *scan.after)
        touched = [array for part in parts for array in (*loaded_arrays(part), *stored_arrays(part))]
        written = [part.array for part in parts if isinstance(part, Store)]
        fresh = scan.index.prim is Prim.I64 and scan.lo == ZERO and scan.carry == scan.neutral
        plain = all(isinstance(stm, (KLet, Store)) for stm in parts) and all(isinstance(stm, KLet) for stm in before)
        return fresh and plain and all(touched.count(array) == 1 for array in written)

    def rows(self, loop: For, before: Iterable[KStm], scan: BlockScan) -> tuple[KStm, ...] | None:
        """The loop as one scan; None where that is not what it says."""
        inside = defined((loop,))
        if inside & names(scan.hi, *scan.neutral):
            return None
        for stm in (*before, *scan.body, *scan.after):
            if isinstance(stm, KLet):
                self.values.note(stm)
        code = PolyCode(self.values.prims, self.new.name)
        moved = _Moved(self, loop.index.name, scan, inside | self.values.mutable, self.new.name("t"), code, {})
        stms = [moved.statement(stm) for stm in (*before, *scan.body)]
        after = [moved.statement(stm) for stm in scan.after]
        used = used_by_operator(scan.op) | names(*scan.values)
        kept_after, used = _live(after, used)
        kept, used = _live((*moved.indices, *stms), used)
        if used & {loop.index.name, scan.index.name}:
            return None
        count = code.let(Op.MUL, loop.bound, scan.hi)
        made = RowScan(scan.scanned, moved.index, count, scan.hi, kept, scan.values, scan.op, scan.neutral, kept_after)
        return (*code.out, made)


@dataclass(slots=True)
class _Moved:
    """Accesses of a scan of rows, by the element's place. `inside`: what the loop over the rows makes, or changes;
    `found`: the variables of indices, by where they start."""

    finder: _Finder
    row: str
    scan: BlockScan
    inside: frozenset[str]
    index: KVar
    code: PolyCode
    found: dict[Poly, KVar]

    @property
    def indices(self) -> list[KStm]:
        """What makes the variables of `found`, at the beginning of the body."""
        made: list[KStm] = []
        for start, var in self.found.items():
            if var != self.index:
                made.append(KLet(var, KOp(Op.ADD, Prim.I64, (self.code.value(start), self.index), True)))
        return made

    def statement(self, stm: KStm) -> KStm:
        """A statement with its access where the element is; one that goes another way still uses row or step."""
        match stm:
            case KLet(var, KLoad(array, index)):
                return KLet(var, KLoad(array, self.place(index)))
            case Store(array, index):
                return replace(stm, index=self.place(index))
            case _:
                return stm

    def place(self, index: Operand) -> Operand:
        pitch, rest = divided(self.finder.values.of(index), self.row)
        step, start = divided(rest, self.scan.index.name)
        known = all(name in self.finder.values.prims and name not in self.inside for term, _ in start for name in term)
        if pitch != self.finder.values.of(self.scan.hi) or step != constant(1) or not known:
            return index
        if start not in self.found:
            self.found[start] = self.finder.new.name("at") if start else self.index
        return self.found[start]


def _live(stms: Iterable[KStm], used: frozenset[str]) -> tuple[tuple[KStm, ...], frozenset[str]]:
    """The stores, and what they and the variables used need; and all that is used."""
    kept: list[KStm] = []
    for stm in reversed(tuple(stms)):
        match stm:
            case KLet(var, rhs) if var.name in used:
                used |= names(*rhs_operands(rhs))
                kept.append(stm)
            case Store(_, index, value):
                used |= names(index, value)
                kept.append(stm)
            case _:
                pass
    return tuple(reversed(kept)), used
