"""Loops of a thread along a row of its own, in tiles: rows are read and written as they lie in memory.

    threads i { for j < m { x = a[i*m + j]; .. out[i*m + j] := y } }

has lanes on the rows, so that step j reads a column: a gather. With tiles of T columns,

    threads i { for b < ceil (m / T) {
      load tile[0 .. T] = a[i*m + b*T ..]                          rows are loaded as they lie, and transposed
      for k < min T (m - b*T) { x = tile[k]; .. made[k] := y }     a tile is interleaved over the lanes: plain accesses
      store out[i*m + b*T ..] = made } }

the same values in the same order at the speed of memory (`lanes/tiles.py`). An access may take part where its index is
`start + i*pitch + j`, in every step of the loop; an array that is written, where the loop touches it nowhere else. A
tile is read ahead of the steps that use it: so what stands behind a check, by which its index may be in bounds, is not
read in tiles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from ...ir.ops import Op
from ...ir.polynomials import constant, polynomial
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..analysis.uniformity import Affine, Facts, find_facts
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.affine_code import PolyCode
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import (
    COLUMNS,
    For,
    KArray,
    Kernel,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    LoadTile,
    Operand,
    Space,
    Store,
    StoreTile,
)
from ..kernel_ir.traverse import (
    assigned,
    children,
    defined,
    loaded_arrays,
    statements,
    stored_arrays,
    with_children,
)
from .choose_lanes import body_size

MOST_TILES = 8
"""Tiles of a loop: they are to stay in the first cache."""
LIGHT = 24
"""Statements of a loop over rows in tiles that waits for memory alone: more groups at once would only touch more lines
of the same sets of the cache."""


def tile_rows(kernel: Kernel) -> Kernel:
    """The kernel with its rows in tiles; the same one where it has none."""
    assert kernel.lanes is not None, "lanes are chosen before"
    tiler = _tiler(kernel, min(kernel.lanes.width, COLUMNS))
    if tiler is None:
        return kernel
    body = tiler.statements(kernel.body, None)
    if not tiler.tiled:
        return kernel
    is_light = body_size(kernel.body) <= LIGHT
    lanes = replace(kernel.lanes, unroll=1) if is_light else kernel.lanes
    return replace(kernel, body=body, lanes=lanes)


def tiled_accesses(kernel: Kernel, facts: Facts) -> frozenset[str | KArray]:
    """What is read and written in tiles: the variables loaded, and the arrays stored."""
    tiler = _tiler(kernel, COLUMNS, facts)
    if tiler is None:
        return frozenset()
    tiler.statements(kernel.body, None)
    return frozenset(tiler.tiled)


def _may_be_rows(stm: KStm, facts: Facts) -> bool:
    """Whether a statement accesses memory in steps from lane to lane that are not 1."""
    match stm:
        case KLet(_, KLoad(_, index)) | Store(_, index, _):
            found = facts.of(index)
            return isinstance(found, Affine) and found.stride != 1
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Row:
    """The index `start + i*pitch + j`, i the thread and j the step of a loop."""

    start: Poly
    pitch: Poly


def _tiler(kernel: Kernel, columns: int, facts: Facts | None = None) -> _Tiler | None:
    """None where no loop of a thread can go along a row. `facts`: of the kernel, where they are known."""
    every = tuple(statements(kernel.body))
    if not any(isinstance(stm, For) for stm in every):
        return None
    facts = facts or find_facts(kernel.body)
    if not any(_may_be_rows(stm, facts) for stm in every):
        return None
    return _Tiler(facts.varying, Environment(assigned(kernel.body)), columns)


@dataclass(slots=True)
class _Tiler:
    """`varying`: names of what differs from lane to lane; `values`: of the variables so far."""

    varying: frozenset[str]
    values: Environment
    columns: int
    tiled: set[str | KArray] = field(default_factory=set)
    new: NewNames = field(default_factory=lambda: NewNames(""))

    def statements(self, stms: Iterable[KStm], thread: KVar | None) -> tuple[KStm, ...]:
        return tuple(new for stm in stms for new in self.statement(stm, thread))

    def statement(self, stm: KStm, thread: KVar | None) -> tuple[KStm, ...]:
        match stm:
            case KLet():
                self.values.note(stm)
                return (stm,)
            case kir.Threads(index=index) | kir.BlockReduce(index=index) | kir.BlockScan(index=index):
                return (self.inside(stm, index if index.prim is Prim.I64 else None),)
            case For() if thread is not None:
                return self.loop(stm, thread)
            case For():
                return (self.inside(stm, None),)
            case kir.KIf(cond) | kir.KWhile(_, cond):
                return (self.inside(stm, None if self.varies(cond) else thread),)
            case _:
                return (stm,)

    def inside(self, stm: KStm, thread: KVar | None) -> KStm:
        return with_children(stm, tuple(self.statements(part, thread) for part in children(stm)))

    def varies(self, x: Operand) -> bool:
        return isinstance(x, KVar) and x.name in self.varying

    # ---- indices ------------------------------------------------------------------------------------------------

    def row(self, index: Operand, loop: For, thread: KVar, inside: frozenset[str]) -> _Row | None:
        """The row that a loop goes along with this index; None where it goes another way, or lanes lie side by side
        anyhow."""
        step, start, pitch = 0, dict[tuple[str, ...], int](), dict[tuple[str, ...], int]()
        for names, c in self.values.of(index):
            if names == (loop.index.name,):
                step = c
                continue
            rest = tuple(name for name in names if name != thread.name)
            if len(names) - len(rest) > 1 or any(self.changes(name, inside) for name in rest):
                return None
            (start if rest == names else pitch)[rest] = c
        apart = polynomial(pitch.items())
        return _Row(polynomial(start.items()), apart) if step == 1 and apart and apart != constant(1) else None

    def changes(self, name: str, inside: frozenset[str]) -> bool:
        return name in inside or name in self.varying or name in self.values.mutable

    # ---- loops --------------------------------------------------------------------------------------------------

    def loop(self, stm: For, thread: KVar) -> tuple[KStm, ...]:
        """A loop in tiles, or as it is."""
        body = self.statements(stm.body, thread if not self.varies(stm.bound) else None)
        whole = For(stm.index, stm.bound, body)
        if self.varies(stm.bound) or stm.index.prim is not Prim.I64:
            return (whole,)
        inside = defined((stm,))
        plan = _Plan(self, stm, thread, inside)
        plan.find(body)
        return plan.emitted(body) if plan.loads or plan.stores else (whole,)

    def tile(self, prim: Prim) -> KArray:
        self.new.made += 1
        return KArray(f"tile.{self.new.made}", prim, Space.PRIVATE)


@dataclass(slots=True)
class _Plan:
    """A loop that is to be in tiles: a tile for each row that is read, and for each array that is written."""

    tiler: _Tiler
    stm: For
    thread: KVar
    inside: frozenset[str]
    loads: dict[tuple[KArray, _Row], KArray] = field(default_factory=dict)
    stores: dict[KArray, tuple[_Row, KArray]] = field(default_factory=dict)
    read: dict[str, KArray] = field(default_factory=dict)

    def find(self, body: tuple[KStm, ...]) -> None:
        """What of the loop's own statements goes into tiles."""
        written = {array for s in statements(body) for array in stored_arrays(s)}
        touched = [array for s in statements(body) for array in (*loaded_arrays(s), *stored_arrays(s))]
        checked = False
        for stm in body:
            checked = checked or any(isinstance(s, (kir.Check, kir.BoundsCheck)) for s in statements((stm,)))
            match stm:
                case KLet(var, KLoad(array, index)) if not checked and array not in written:
                    row = self.row(array, index)
                    if row is not None:
                        self.read[var.name] = self.loads.setdefault((array, row), self.tiler.tile(array.prim))
                        self.tiler.tiled.add(var.name)
                case Store(array, index, _) if touched.count(array) == 1:
                    row = self.row(array, index)
                    if row is not None:
                        self.stores[array] = row, self.tiler.tile(array.prim)
                        self.tiler.tiled.add(array)
                case _:
                    pass

    def row(self, array: KArray, index: Operand) -> _Row | None:
        is_full = len(self.loads) + len(self.stores) >= MOST_TILES
        if is_full or array.space is Space.PRIVATE:
            return None
        return self.tiler.row(index, self.stm, self.thread, self.inside)

    def emitted(self, body: tuple[KStm, ...]) -> tuple[KStm, ...]:
        tiler, bound, size = self.tiler, self.stm.bound, Const(Prim.I64, self.tiler.columns)
        code = PolyCode(tiler.values.prims, tiler.new.name)
        tiles = [*self.loads.values(), *(tile for _, tile in self.stores.values())]
        code.out += [kir.Alloc(tile, size) for tile in tiles]
        rows = {row: (code.value(row.start), code.value(row.pitch)) for row in self.rows()}
        more = code.let(Op.ADD, bound, Const(Prim.I64, tiler.columns - 1))
        count = code.let(Op.QUOT, more, size)
        before, code.out = code.out, []
        number = tiler.new.name("tile")
        first = code.let(Op.MUL, number, size)
        here = code.let(Op.MIN, code.let(Op.SUB, bound, first), size)
        starts = {row: code.let(Op.ADD, start, first) for row, (start, _) in rows.items()}
        for (array, row), tile in self.loads.items():
            code.out.append(LoadTile(tile, array, starts[row], self.thread, rows[row][1], here))
        step = tiler.new.name("k")
        own = KLet(self.stm.index, KOp(Op.ADD, Prim.I64, (first, step), True))
        code.out.append(For(step, here, (own, *(self.moved(s, step) for s in body))))
        for array, (row, tile) in self.stores.items():
            code.out.append(StoreTile(array, starts[row], self.thread, rows[row][1], here, tile))
        return (*before, For(number, count, tuple(code.out)))

    def rows(self) -> list[_Row]:
        return [*(row for _, row in self.loads), *(row for row, _ in self.stores.values())]

    def moved(self, stm: KStm, step: KVar) -> KStm:
        """A statement with its access in a tile."""
        match stm:
            case KLet(var, KLoad()) if var.name in self.read:
                return KLet(var, KLoad(self.read[var.name], step))
            case Store(array, _, value) if array in self.stores:
                return Store(self.stores[array][1], step, value)
            case _:
                return stm
