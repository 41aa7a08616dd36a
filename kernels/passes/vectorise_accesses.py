"""Maps of a GPU whose elements are neighbours, in rows of up to 16 bytes.

    threads p in lo..hi { ys[p] := f xs[p] }
      ⟶  if aligned xs[lo], ys[lo] and (hi - lo) % 4 == 0
          then threads r in 0..(hi - lo) / 4 { (x0, .., x3) = xs[lo + 4*r ..]; ys[lo + 4*r ..] := (f x0, .., f x3) }
          else threads p in lo..hi { ys[p] := f xs[p] }

Whether rows begin where one access can reach them depends on where the arrays begin, so it is found out when the kernel
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...ir.ops import Op
from ...ir.polynomials import atom, sub
from ...ir.records import dataclass
from ...ir.types import Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.dead_code import needed
from ..kernel_ir.nodes import KArray, Kernel, KLet, KLoad, KOp, KStm, KVar, Operand, Space
from ..kernel_ir.traverse import defined, map_mentions, statements, variables_in
from .straighten_indices import straighten_indices

ROW_BYTES, MOST_WIDE, MOST_STATEMENTS = 16, 4, 40


# ---- indices as polynomials --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Values:
    """The values at a point of a loop over threads, and what the loop makes."""

    known: Environment
    index: KVar
    inside: frozenset[str]

    def beside(self, x: Operand) -> Poly | None:
        """What `x` is beside the index itself, if that is the same for all threads."""
        rest = sub(self.known.of(x), atom(self.index.name))
        return None if self.known.mentioned(rest) & self.inside else rest

    def differs(self, x: Operand) -> bool:
        """Whether threads may have another value each."""
        return bool(self.known.mentioned(self.known.of(x)) & self.inside)


def thread_loop(kernel: Kernel) -> kir.Threads | None:
    """The loop of a kernel that is nothing but one, after uniform values."""
    *head, last = kernel.body
    good = isinstance(last, kir.Threads) and all(isinstance(stm, (KLet, kir.Note)) for stm in head)
    return last if good and isinstance(last, kir.Threads) else None


def values_before(kernel: Kernel, loop: kir.Threads) -> Values:
    """What is known where a kernel's loop over threads begins."""
    values = Values(Environment(divides=True), loop.index, defined((loop,)))
    for stm in kernel.body:
        if isinstance(stm, KLet):
            values.known.note(stm)
    return values


# ---- rows --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """The accesses of a loop that may go in rows of `width`: numbers of its statements, arrays, indices."""

    width: int
    loads: tuple[tuple[int, KArray, Operand], ...]
    stores: tuple[tuple[int, KArray, Operand], ...]


def rows_of(kernel: Kernel) -> Rows | None:
    """None where rows are not possible, or not worth it: where any access is of neither a row nor one place."""
    loop = thread_loop(kernel) if kernel.body else None
    if loop is None or not _is_plain(loop.body):
        return None
    values, loads, stores = values_before(kernel, loop), [], []
    written = {s.array for s in statements(loop.body) if isinstance(s, kir.Store)}
    read = {s.rhs.array for s in statements(loop.body) if isinstance(s, KLet) and isinstance(s.rhs, KLoad)}
    checked, strided = False, False
    for number, stm in enumerate(loop.body):
        match stm:
            case KLet(_, KLoad(array, at)) if _is_row(values, array, at) and not checked:
                loads.append((number, array, at))
            case kir.Store(array, at, _) if _is_row(values, array, at):
                stores.append((number, array, at))
            case kir.Check() | kir.BoundsCheck():
                checked = True
            case _:
                pass
        rows = {k for k, _, _ in (*loads, *stores)}
        for inner in statements((stm,)):
            if number not in rows:
                strided = strided or _is_strided(values, inner)
            if isinstance(inner, KLet):
                values.known.note(inner)
    if strided or written & read or not stores or len({array for _, array, _ in stores}) < len(stores):
        return None
    widest = max(array.prim.bytes for _, array, _ in (*loads, *stores))
    width = min(MOST_WIDE, ROW_BYTES // widest)
    return Rows(width, tuple(loads), tuple(stores)) if width > 1 else None


def _is_plain(body: tuple[KStm, ...]) -> bool:
    """Short code without loops, memory of its own or changing variables."""
    found = list(statements(body))
    kinds = (KLet, kir.Store, kir.KIf, kir.Check, kir.BoundsCheck, kir.Declare, kir.Assign, kir.Note)
    return len(found) <= MOST_STATEMENTS and all(isinstance(stm, kinds) for stm in found)


def _is_row(values: Values, array: KArray, at: Operand) -> bool:
    return array.space is Space.GLOBAL and values.beside(at) is not None


def _is_strided(values: Values, stm: KStm) -> bool:
    """Does each thread access another element, which in rows the threads of a warp would do far from each other?"""
    match stm:
        case KLet(_, KLoad(_, at)) | kir.Store(_, at, _):
            return values.differs(at)
        case _:
            return False


def row_width(kernel: Kernel) -> int:
    """How many neighbouring elements a thread may take at once; 1 where rows are not possible, or not worth it."""
    rows = rows_of(straighten_indices(kernel))
    return 1 if rows is None else rows.width


def vectorise_accesses(kernel: Kernel) -> Kernel:
    """A loop whose threads are to take rows, in rows, or, where they are not aligned or the last one is not whole, as
    it is; other kernels as they are."""
    loop = thread_loop(kernel) if kernel.body else None
    rows = rows_of(kernel) if loop is not None and loop.row > 1 else None
    if loop is None or rows is None or rows.width != loop.row:
        return kernel
    made = Made(loop, rows)
    count, row, start, several, rest, past = map(made.var, ("count", "row", "start", "rows", "rest", "past"))
    whole, good, wide = made.var("whole", Prim.BOOL), made.var("good", Prim.BOOL), i64(rows.width)
    tests, aligned = made.alignment()
    body = (_let(past, Op.MUL, row, wide), _let(start, Op.ADD, loop.lo, past), *made.row(start))
    stms = (
        *kernel.body[:-1],
        *tests,
        _let(count, Op.SUB, loop.hi, loop.lo),
        _let(rest, Op.REM, count, wide),
        _let(several, Op.QUOT, count, wide),
        KLet(whole, KOp(Op.EQ, Prim.I64, (rest, i64(0)))),
        KLet(good, KOp(Op.AND, Prim.BOOL, (aligned, whole))),
        kir.KIf(good, (kir.Threads(row, i64(0), several, body),), (loop,)),
    )
    return replace(kernel, body=stms)


def _let(var: KVar, op: Op, *args: Operand) -> KLet:
    return KLet(var, KOp(op, Prim.I64, args, op in (Op.ADD, Op.SUB, Op.MUL)))


@dataclass(slots=True)
class Made:
    """The parts of a loop in rows under construction."""

    loop: kir.Threads
    rows: Rows
    number: int = 0

    def var(self, base: str, prim: Prim = Prim.I64) -> KVar:
        self.number += 1
        return KVar(f"{base}_r{self.number}", prim)

    def renaming(self, stms: Iterable[KStm], index: Operand) -> dict[str, Operand]:
        """New names for what the statements bind; `index` for the loop's."""
        bound = (s.var for s in statements(tuple(stms)) if isinstance(s, (KLet, kir.Declare)))
        return {self.loop.index.name: index} | {v.name: self.var(v.name, v.prim) for v in bound}

    def place(self, at: Operand, index: Operand) -> tuple[tuple[KStm, ...], Operand]:
        """The index `at` where the loop's is `index`, with the statements that compute it."""
        wanted, slice_ = set(variables_in(at)), []
        for stm in reversed(self.loop.body):
            if isinstance(stm, KLet) and stm.var.name in wanted:
                slice_.append(stm)
                wanted |= variables_in(stm.rhs)
        names = self.renaming(slice_, index)
        return tuple(substituted(stm, names) for stm in reversed(slice_)), substituted(at, names)

    def alignment(self) -> tuple[tuple[KStm, ...], Operand]:
        """Is every row one access?"""
        stms: list[KStm] = []
        good: Operand | None = None
        for array, at in dict.fromkeys((array, at) for _, array, at in (*self.rows.loads, *self.rows.stores)):
            before, index = self.place(at, self.loop.lo)
            test = self.var("good", Prim.BOOL)
            stms += [*before, KLet(test, kir.KAligned(array, index, self.rows.width))]
            if good is not None:
                both = self.var("good", Prim.BOOL)
                stms.append(KLet(both, KOp(Op.AND, Prim.BOOL, (good, test))))
                test = both
            good = test
        assert good is not None
        return tuple(stms), good

    def row(self, start: KVar) -> tuple[KStm, ...]:
        """Load the rows, do the body for each element, store the rows."""
        width, stms = self.rows.width, list[KStm]()
        loaded: dict[int, tuple[KVar, ...]] = {}
        for number, array, at in self.rows.loads:
            before, index = self.place(at, start)
            loaded[number] = tuple(self.var("x", array.prim) for _ in range(width))
            stms += [*before, kir.LoadRow(loaded[number], array, index)]
        values: dict[int, list[Operand]] = {number: [] for number, _, _ in self.rows.stores}
        for k in range(width):
            stms += self.element(start, k, loaded, values)
        for number, array, at in self.rows.stores:
            before, index = self.place(at, start)
            stms += [*before, kir.StoreRow(array, index, tuple(values[number]))]
        return needed(tuple(stms), set())

    def element(
        self, start: KVar, k: int, loaded: dict[int, tuple[KVar, ...]], values: dict[int, list[Operand]]
    ) -> list[KStm]:
        index = self.var(self.loop.index.name) if k else start
        names, done = self.renaming(self.loop.body, index), list[KStm]()
        if k:
            done.append(_let(index, Op.ADD, start, i64(k)))
        for number, stm in enumerate(self.loop.body):
            if number in loaded:
                assert isinstance(stm, KLet)
                names[stm.var.name] = loaded[number][k]
            elif number in values:
                assert isinstance(stm, kir.Store)
                values[number].append(substituted(stm.value, names))
            elif k == 0 or not isinstance(stm, kir.Note):
                done.append(substituted(stm, names))
        return done


def substituted(node: Any, names: Mapping[str, Operand]) -> Any:
    """A piece of kernel IR with other operands for some variables."""
    return map_mentions(node, lambda one: names.get(one.name, one) if isinstance(one, KVar) else one)
