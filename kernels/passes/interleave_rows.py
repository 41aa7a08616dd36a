"""Neighbouring elements at a constant stride over the threads, as rows.

    threads i { x = a[3*i]; y = a[3*i + 1]; z = a[3*i + 2]; .. b[2*i] := u; b[2*i + 1] := v }
      ⟶  threads i { (x, y, z) = a[3*i ..]; .. b[2*i ..] := (u, v) }

So in reductions and scans. In lanes, each of these is a gather or a scatter; a row is read and written by whole vectors
(`lanes/interleaved.py`). A row begins where the first of its loads stands, or where the last of its stores does: the
array is not written, or not read, in the loop, and no check stands between, since a row reads nothing that the program
does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.ops import Op
from ...ir.polynomials import constant, sub
from ...ir.records import dataclass
from ...ir.types import Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.nodes import (
    KArray,
    KConvert,
    Kernel,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    LoadRow,
    Operand,
    PeeledThreads,
    Space,
    Store,
    StoreRow,
    Threads,
)
from ..kernel_ir.traverse import (
    assigned,
    children,
    defined,
    loaded_arrays,
    rewritten,
    statements,
    stored_arrays,
    with_children,
)

WIDEST, PICKED = 64, 8
"""The largest stride of a row, and of one whose columns are picked by shuffles each for itself."""
LONE = 4
"""The largest stride of an element that has no neighbours."""


def interleave_rows(kernel: Kernel) -> Kernel:
    """The kernel with its strided accesses in rows; the same one where there are none."""
    rows = _Rows(Environment(divides=True), assigned(kernel.body))
    body = rewritten(kernel.body, rows.statement)
    return replace(kernel, body=body) if rows.made else kernel


@dataclass(frozen=True, slots=True)
class _Access:
    """A load or store: the number of its statement, and its place, `rest + offset`, `stride` apart from thread to
    thread."""

    number: int
    array: KArray
    at: Operand
    rest: Poly
    offset: int
    stride: int


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop over threads, a reduction or a scan: its index, the variables that it makes, this among them, the arrays
    that it writes and those that it reads."""

    index: str
    inside: frozenset[str]
    stored: frozenset[KArray]
    loaded: frozenset[KArray]


@dataclass(slots=True)
class _Rows:
    """`mutable`: variables that are assigned; `made` counts the names made."""

    values: Environment
    mutable: frozenset[str]
    made: int = 0

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        """Outside of loops over threads, reductions and scans."""
        if isinstance(stm, KLet):
            self.values.note(stm)
        if not isinstance(stm, Threads | PeeledThreads | kir.BlockReduce | kir.BlockScan):
            return None
        inside = [one for body in children(stm) for one in statements(body)]
        stored = frozenset(array for one in inside for array in stored_arrays(one))
        loaded = frozenset(array for one in inside for array in loaded_arrays(one))
        loop = _Loop(stm.index.name, defined((stm,)), stored, loaded)
        return (with_children(stm, [self.body(body, loop) for body in children(stm)]),)

    def body(self, stms: tuple[KStm, ...], loop: _Loop) -> tuple[KStm, ...]:
        """A list of statements: the runs of straight code without checks in it, and what is inside of the others."""
        out: list[KStm] = []
        run: list[KStm] = []
        accesses: list[_Access] = []
        for stm in stms:
            if not isinstance(stm, KLet | Store | kir.Note):
                out += (*self.run(run, accesses, loop), self.inside(stm, loop))
                run, accesses = [], []
                continue
            access = self.access(len(run), stm, loop)
            accesses += (access,) if access is not None else ()
            run.append(stm)
            if isinstance(stm, KLet):
                self.values.note(stm)
        return (*out, *self.run(run, accesses, loop))

    def inside(self, stm: KStm, loop: _Loop) -> KStm:
        if isinstance(stm, kir.For | kir.KIf | kir.KWhile):
            return with_children(stm, [self.body(inner, loop) for inner in children(stm)])
        return stm

    def access(self, number: int, stm: KStm, loop: _Loop) -> _Access | None:
        """None where it is none, or not at a constant stride over the threads."""
        match stm:
            case KLet(_, KLoad(array, at)) if array not in loop.stored:
                pass
            case Store(array, at) if array not in loop.loaded:
                pass
            case _:
                return None
        where = self.values.of(at)
        poly = dict(where)
        stride, offset = poly.get((loop.index,), 0), poly.get((), 0)
        alone = sum(loop.index in monomial for monomial in poly) == 1
        if array.space is not Space.GLOBAL or not alone or not 2 <= stride <= WIDEST:
            return None
        others = self.values.mentioned(tuple((part, one) for part, one in where if part != (loop.index,)))
        if others & (self.mutable | loop.inside):
            return None
        return _Access(number, array, at, sub(where, constant(offset)), offset, stride)

    def run(self, stms: list[KStm], accesses: list[_Access], loop: _Loop) -> list[KStm]:
        """Straight code with its rows."""
        placed: dict[int, list[KStm]] = {}
        for row in _rows(one for one in accesses if isinstance(stms[one.number], KLet)):
            if _pays(row):
                placed |= {one.number: [] for one in row} | {min(one.number for one in row): self.load(row, stms)}
        for row in _rows(one for one in accesses if isinstance(stms[one.number], Store)):
            if [one.offset - row[0].offset for one in row] == list(range(row[0].stride)):
                placed |= {one.number: [] for one in row} | {max(one.number for one in row): self.store(row, stms)}
        return [new for k, stm in enumerate(stms) for new in placed.get(k, (stm,))]

    def load(self, row: list[_Access], stms: list[KStm]) -> list[KStm]:
        first = min(row, key=lambda one: one.number)
        at, out = self.moved(first, row[0].offset)
        found: dict[int, KVar] = {}
        again: list[KStm] = []
        for one in row:
            stm = stms[one.number]
            assert isinstance(stm, KLet)
            if one.offset in found:
                again.append(KLet(stm.var, KConvert(one.array.prim, one.array.prim, found[one.offset])))
            else:
                found[one.offset] = stm.var
        places = range(row[0].offset, row[-1].offset + 1)
        vars_ = tuple(found.get(place) or self.name("unused", row[0].array.prim) for place in places)
        return [*out, LoadRow(vars_, first.array, at), *again]

    def store(self, row: list[_Access], stms: list[KStm]) -> list[KStm]:
        last = max(row, key=lambda one: one.number)
        at, out = self.moved(last, row[0].offset)
        values = [stm.value for one in row if isinstance(stm := stms[one.number], Store)]
        return [*out, StoreRow(last.array, at, tuple(values))]

    def moved(self, access: _Access, offset: int) -> tuple[Operand, list[KStm]]:
        """The index of an access at another offset of its row, and what computes it."""
        self.made += 1
        if offset == access.offset:
            return access.at, []
        at = self.name("row", Prim.I64)
        return at, [KLet(at, KOp(Op.ADD, Prim.I64, (access.at, i64(offset - access.offset)), True))]

    def name(self, base: str, prim: Prim) -> KVar:
        self.made += 1
        return KVar(f"{base}_i{self.made}", prim)


def _pays(row: list[_Access]) -> bool:
    """Whether loads have neighbours enough: of a long row, all of its columns are made."""
    stride, span = row[0].stride, row[-1].offset - row[0].offset
    if stride > PICKED:
        return max(LONE, span) < LONE * len({one.offset for one in row})
    return stride <= LONE * max(1, span)


def _rows(accesses: Iterable[_Access]) -> list[list[_Access]]:
    """Accesses of one array whose places are less than a stride apart, by place."""
    rows: list[list[_Access]] = []
    for one in sorted(accesses, key=lambda one: (one.array.name, one.rest, one.offset)):
        row = rows[-1] if rows else [one]
        if rows and (one.array, one.rest) == (row[0].array, row[0].rest) and one.offset < row[0].offset + one.stride:
            row.append(one)
        else:
            rows.append([one])
    return rows
