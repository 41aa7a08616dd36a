"""Loops along the columns of a matrix, all columns of a block at once: loop interchange.

    threads j in lo..hi { before; var s = x; for i < n { .. s .. xs[i*m + j] .. }; after }
      ⟶  if hi - lo and n are large {
            for tile of lo..hi {
              threads j { before; ss[0][j] := x }
              for i < n { threads j { var s = ss[i % 2][j]; .. s .. xs[i*m + j] ..; ss[1 - i % 2][j] := s } }
              threads j { s = ss[n % 2][j]; after }
            }
          } else { as it was }

Averages, filters and extrema of many series that lie side by side. A group of lanes has some columns, and would go
through the matrix a part of a row at a time, as often as there are groups: from memory that takes two to three times as
long as rows in order, which processors fetch ahead. What is carried is in a near cache. So it is done where the
threads of a kernel go through its space once, each step of a loop touches rows of what is in memory, and little is
carried.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.core import Level
from ...ir.ops import Op, result_type
from ...ir.reachable import reachable
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..analysis.speculation import is_harmless
from ..analysis.uniformity import Affine, Facts, find_facts
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import For, KArray, Kernel, KIf, KLet, KLoad, KOp, KStm, KVar, Operand, Space, Store, Threads
from ..kernel_ir.traverse import (
    Renamed,
    Stms,
    assigned,
    bound,
    defined,
    loaded_arrays,
    mentions,
    names,
    operands,
    statements,
)

LEAST, SIZE, OF_MANY, KEPT = 256, 1 << 19, 1 << 15, 1 << 16
"""Bytes of a row of a block, and of all its rows, also where it has one of many matrices, from which it goes by rows;
bytes of what it keeps of the columns that it has at once, in two halves."""
MOST, CARRIED = 60, 6
"""Statements of a step, and variables that are kept from one to the next."""
STRAIGHT = KLet | Store | kir.Declare | kir.Check | kir.BoundsCheck
FAR = 64
"""Elements of a row from which the next one is not side by side, where this is a constant."""


def columns_by_rows(kernel: Kernel) -> Kernel:
    """The kernel with such loops of threads by rows; the same one where there are none."""
    if not any(isinstance(stm, Threads) and any(isinstance(s, For) for s in stm.body) for stm in kernel.body):
        return kernel
    parts = _parts(kernel)
    turner = _Turner(parts, find_facts(kernel.body), Environment(assigned(kernel.body)), NewNames("c"))
    body = tuple(one for stm in kernel.body for one in turner.statement(stm))
    return replace(kernel, body=body) if turner.new.made else kernel


Kept = tuple[KVar, ...]


@dataclass(frozen=True, slots=True)
class _Turner:
    """`parts`: the numbers that a block's own consists of; `values`: what is known of integers so far."""

    parts: frozenset[str]
    facts: Facts
    values: Environment
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...]:
        match stm:
            case KLet():
                self.values.note(stm)
            case Threads(index, unit=Level.THREAD) if index.prim is Prim.I64:
                loops = [k for k, one in enumerate(stm.body) if isinstance(one, For)]
                if len(loops) == 1 and (kept := self.kept(stm, loops[0])) is not None:
                    return self.by_rows(stm, loops[0], kept)
            case _:
                pass
        return (stm,)

    def op(self, out: list[KStm], op: Op, x: Operand, y: Operand, prim: Prim = Prim.I64) -> KVar:
        """A new variable for an operation, which does not wrap around."""
        var = self.new.name("t", result_type(op, prim))
        out.append(KLet(var, KOp(op, prim, (x, y), op in (Op.ADD, Op.SUB, Op.MUL))))
        return var

    def kept(self, stm: Threads, at: int) -> Kept | None:
        """What a thread keeps from before its loop, or from step to step; None where it does not go by rows."""
        before, loop, after = stm.body[:at], stm.body[at], stm.body[at + 1 :]
        assert isinstance(loop, For)
        apart = all(isinstance(s, STRAIGHT) for s in (*before, *after))
        plain = all(isinstance(s, STRAIGHT | KIf | kir.Assign) for s in statements(loop.body))
        if (
            not (plain and apart)
            or isinstance(loop.bound, Const)
            or loop.index.prim is not Prim.I64
            or self.facts.varies(loop.bound)
        ):
            return None
        if len(tuple(statements(loop.body))) > MOST or not self.goes_by_rows((*before, *loop.body), loop, stm):
            return None
        if _bounds(stm, before, loop) is None:
            return None
        again = {var for one in _again(before) for var in bound(one)}
        used = {one for one in mentions((loop.body, after)) if isinstance(one, KVar)}
        kept = tuple(v for one in before for v in bound(one) if v in used and v not in again)
        carried = assigned(loop.body)
        return kept if len(kept) <= CARRIED and any(var.name in carried for var in kept) else None

    def goes_by_rows(self, stms: Iterable[KStm], loop: For, threads: Threads) -> bool:
        """Whether all that steps read and write is a row each, or one element for all threads; and each block goes
        where no other one goes."""
        values, inside, rows = self.values.copy(), {id(one) for one in statements(loop.body)}, 0
        values.note(KLet(threads.index, kir.KConvert(Prim.I64, Prim.I64, threads.lo)))
        for stm in statements(stms):
            if isinstance(stm, KLet):
                values.note(stm)
            match stm:
                case KLet(_, KLoad(array, place)) | Store(array, place) if id(stm) in inside:
                    if array.space is not Space.GLOBAL:
                        return False
                    if isinstance(stm, Store) or self.facts.varies(place):
                        found, mentioned = self.facts.of(place), {n for names, _ in values.of(place) for n in names}
                        if not isinstance(found, Affine) or found.stride != 1 or not _is_row(values, place, loop):
                            return False
                        if not self.parts <= mentioned:
                            return False
                        rows += 1
                case _:
                    pass
        return rows > 0

    def by_rows(self, stm: Threads, at: int, kept: Kept) -> tuple[KStm, ...]:
        before, loop, after = stm.body[:at], stm.body[at], stm.body[at + 1 :]
        assert isinstance(loop, For)
        again = _again(before)
        arrays = {var: KArray(self.new.name(var.name, var.prim).name, var.prim, Space.SHARED) for var in kept}
        out: list[KStm] = []
        if bounds := _bounds(stm, before, loop):
            ahead = self.new.copy()
            out += ahead.rewritten(bounds)
            loop = replace(loop, bound=ahead.read(loop.bound))
        count = self.op(out, Op.SUB, stm.hi, stm.lo)
        most = KEPT // (2 * sum(var.prim.bytes for var in kept)) // 16 * 16
        tile = self.new.name("tile", Prim.I64)
        tiles = self.op(out, Op.QUOT, self.op(out, Op.ADD, count, i64(most - 1)), i64(most))
        inner: list[KStm] = []
        lo = self.op(inner, Op.ADD, stm.lo, self.op(inner, Op.MUL, tile, i64(most)))
        hi = self.op(inner, Op.MIN, stm.hi, self.op(inner, Op.ADD, lo, i64(most)))

        def threads(body: Stms, read: Kept, here: Operand, stored: Kept, there: Operand, copy: Renamed) -> Threads:
            """A loop over the tile: what is kept is read `here`, what changes of it is stored `there`."""
            index, made = copy.made(stm.index), list[KStm]()
            place = self.op(made, Op.SUB, index, lo)
            for var in read:
                at = self.op(made, Op.ADD, place, here) if var in changing else place
                value = self.new.name(var.name, var.prim)
                made += KLet(value, KLoad(arrays[var], at)), kir.Declare(copy.made(var), value)
            made += copy.rewritten(body)
            for var in stored:
                value = self.new.name(var.name, var.prim)
                made.append(KLet(value, kir.KConvert(var.prim, var.prim, copy.read(var))))
                made.append(Store(arrays[var], self.op(made, Op.ADD, place, there), value))
            return replace(stm, index=index, lo=lo, hi=hi, body=tuple(made))

        def half(turn: Operand, out: list[KStm]) -> KVar:
            """Where what is kept is at the beginning of a turn: what a turn reads it does not overwrite."""
            return self.op(out, Op.MUL, self.op(out, Op.AND, turn, i64(1)), i64(most))

        changing = tuple(var for var in kept if var.name in assigned(loop.body))
        steps, row, zero = self.new.copy(), list[KStm](), i64(0)
        turn = steps.made(loop.index)
        here = half(turn, row)
        there = self.op(row, Op.SUB, i64(most), here)
        row.append(threads((*again, *loop.body), kept, here, changing, there, steps))
        inner += threads(before, (), zero, kept, zero, self.new.copy()), replace(loop, index=turn, body=tuple(row))
        if after:
            last = half(loop.bound, inner)
            inner.append(threads((*again, *after), kept, last, (), zero, self.new.copy()))
        turned = (*(kir.Alloc(array, i64(2 * most)) for array in arrays.values()), For(tile, tiles, tuple(inner)))
        widest = max(array.prim.bytes for one in statements(loop.body) for array in _touched(one))
        least, large = (i64(-(-size // widest)) for size in (LEAST, SIZE if len(self.parts) == 1 else OF_MANY))
        wide = self.op(out, Op.GE, count, least)
        space = self.new.name("t", Prim.I64)  # may wrap around: either way is right
        out.append(KLet(space, KOp(Op.MUL, Prim.I64, (count, loop.bound))))
        many = self.op(out, Op.AND, wide, self.op(out, Op.GE, space, large), Prim.BOOL)
        return (*out, KIf(many, turned, (stm,)))


def _parts(kernel: Kernel) -> frozenset[str]:
    """The numbers of matrices and of a piece of columns that the number of a block is divided into."""
    divided: dict[str, set[str]] = {}
    for stm in kernel.body:
        match stm:
            case KLet(var, KOp(Op.QUOT | Op.REM, Prim.I64, (KVar(name), _))):
                divided.setdefault(name, set()).add(var.name)
            case _:
                pass
    return frozenset(reachable([kernel.block.name], lambda name: divided.get(name, ()))) - divided.keys()


def _again(before: Stms) -> Stms:
    """What of it is computed again where it is needed: operations on the index and what all threads know."""
    made, found = defined(before), list[KStm]()
    for stm in before:
        if isinstance(stm, KLet) and is_harmless(stm) and made.isdisjoint(names(*operands(stm))):
            found.append(stm)
            made -= {stm.var.name}
    return tuple(found)


def _bounds(threads: Threads, before: Stms, loop: For) -> Stms | None:
    """What computes the bound of the loop from what all threads know; None where that takes a load or the index."""
    wanted, found = names(loop.bound), list[KStm]()
    for stm in reversed(_again(before)):
        if isinstance(stm, KLet) and stm.var.name in wanted:
            found.insert(0, stm)
            wanted = wanted - {stm.var.name} | names(*operands(stm))
    return tuple(found) if wanted.isdisjoint({threads.index.name, *defined(before)}) else None


def _touched(stm: KStm) -> tuple[KArray, ...]:
    return (stm.array,) if isinstance(stm, Store) else loaded_arrays(stm)


def _is_row(values: Environment, place: Operand, loop: For) -> bool:
    """Whether the next turn is another row of this place."""
    turns = [(monomial, factor) for monomial, factor in values.of(place) if loop.index.name in monomial]
    match turns:
        case [((_, _), _)]:
            return True
        case [((_,), factor)]:
            return abs(factor) >= FAR
        case _:
            return False
