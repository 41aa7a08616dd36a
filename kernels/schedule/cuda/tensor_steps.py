"""Tiles of products on tensor cores (`tensor_tiles.py`): elements to shared memory, and to fragments.

    tile[stage][r][k]      neighbours in memory are elements of a row      [stages][rows][K + pad]
    tile[stage][k][r]      else                                           [stages][K][rows + pad]

So what are neighbours in memory are neighbours in the tile. Where all rows are inside, and each begins an access of 16
bytes, whole steps are copied by such, asynchronously: one stage is used while the others are on their way. Other steps,
and what is left, go through registers, one step ahead, with zeros beyond the last element. Fragments are loaded as
matrices, transposed where the tile is by k; those of f32 by k are not, for an element is more than half a word. The
rows of a matrix begin in different banks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ....flatten.tiling.block import Row
from ....ir.core import Slice
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Const, Prim, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.fragments import COLUMNS, INSTRUCTIONS, ROWS, Layout, Role, place
from ...kernel_ir.nodes import KArray, Space
from ...kernel_ir.shared_stack import STATIC_BYTES
from ..kernel_builder import ONE, ZERO, ArrayRef, Builder, NotLowerable, Operand, scalar
from .tile_block import MOST_SHARED, ROW_BYTES, THREADS, TileBlock

WARPS = (2, 4)
"""Of a block, along each tiled dimension."""

PIPELINES = ((16, 4), (16, 3), (16, 2))
"""Elements of a row that are copied at a time, half as many of f32, and how many such steps there are in shared
memory: the first pair that there is room for. With one step nothing is copied asynchronously, all goes through
registers."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the factors: its row, its tile of some stages of `depth` elements, its fragments. `place`: its tiled
    dimension; `step`: from one k to the next in the tile, `pitch`: from one row; `size`: elements of a stage.
    `is_long`: neighbours in memory are elements of a row. `wide` of them are copied at once, if `plain` holds (None:
    never)."""

    row: Row
    array: ArrayRef
    place: int
    mem: KArray
    ahead: KArray
    starts: KArray
    fragments: KArray
    layout: Layout
    depth: int
    stages: int
    step: int
    pitch: int
    size: int
    is_long: bool
    wide: int
    plain: Operand | None

    def index(self, block: TileBlock, stage: Operand, k: Operand, r: Operand) -> Operand:
        """The place of an element in the tile."""
        b = block.b
        inside = b.add(b.mul(k, i64(self.step)), b.mul(r, i64(self.pitch)))
        return b.add(b.mul(stage, i64(self.size)), inside)


def sides_of(block: TileBlock, rows: Sequence[Row], prim: Prim) -> tuple[Side, ...]:
    """The factors, left and right, with memory for as many steps as there is room for."""
    edge, names = block.shape.edge, {name for name, _ in block.found.tiled}
    arrays = [array for row in rows if isinstance(array := block.b.array(row.array), ArrayRef)]
    assert len(arrays) == 2, "rows in memory"
    long = [
        [array.strides[d] for d, name in row.of.items() if name in names] != [ONE]
        for row, array in zip(rows, arrays, strict=True)
    ]
    for halves, stages in PIPELINES:
        depth = halves * Prim.F16.bytes // prim.bytes
        forms = [_form(depth, edge, prim, is_long) for is_long in long]
        sizes = [max(2, stages) * size * prim.bytes for _, _, size in forms]
        if max(sizes) <= STATIC_BYTES and sum(sizes) <= MOST_SHARED:
            break
    else:
        raise NotLowerable("no room for tiles of this size")
    return tuple(_side(block, rows[d], arrays[d], d, long[d], (depth, stages, *forms[d])) for d in (0, 1))


def _form(depth: int, edge: int, prim: Prim, is_long: bool) -> tuple[int, int, int]:
    """Elements from one k to the next in a tile, from one row to the next, and of a stage. Rows are apart by 16 bytes
    more; k of f32, whose fragments take four of them and eight rows, by 32."""
    more = ROW_BYTES // prim.bytes
    if is_long:
        return 1, depth + more, edge * (depth + more)
    stride = edge + (more if prim.is_half else 2 * more)
    return stride, 1, depth * stride


def _side(
    block: TileBlock, row: Row, array: ArrayRef, d: int, is_long: bool, form: tuple[int, int, int, int, int]
) -> Side:
    b, edge, prim, base = block.b, block.shape.edge, array.mem.prim, row.array.base
    depth, stages, step, pitch, size = form
    role, rows = ((Role.LEFT, ROWS), (Role.RIGHT, COLUMNS))[d]
    layout, wide = INSTRUCTIONS[prim].layouts[role], ROW_BYTES // prim.bytes
    mem = KArray(b.fresh(f"{base}_tile", prim).name, prim, Space.SHARED)
    b.emit(kir.Alloc(mem, i64(max(2, stages) * size), wide))
    ahead = block.registers(f"{base}_ahead", prim, 1, depth * edge)
    starts = block.registers(f"{base}_from", Prim.I64, 1, min(THREADS, depth * edge // wide))
    held = fragments(block, f"{base}_{role.value}", prim, edge // WARPS[d] // rows * layout.count, role)
    plain = _plain(block, row, array, d, is_long, wide) if stages > 1 else None
    return Side(row, array, d, mem, ahead, starts, held, layout, depth, stages, step, pitch, size, is_long, wide, plain)


def _plain(block: TileBlock, row: Row, array: ArrayRef, d: int, is_long: bool, wide: int) -> Operand | None:
    """Are all rows of the tile inside, and does an access begin with the first element that is copied, and with one
    further? Then all do. None where neighbours in memory are none of the tile's."""
    b, base = block.b, block.bases[d]
    apart = [array.strides[k] for k, dim in enumerate(row.dims) if isinstance(dim, Slice) and dim.stride == i64(1)]
    if is_long and apart != [ONE]:
        return None
    whole = b.op(Op.LE, Prim.I64, b.add(base, i64(block.shape.edge)), block.widths[d], base="inside")
    for further in (ZERO, ONE):
        k, r = (ZERO, b.add(base, further)) if is_long else (further, base)
        good = b.let("aligned", Prim.BOOL, kir.KAligned(array.mem, b.address(array, block.element(row, k, r)), wide))
        whole = b.op(Op.AND, Prim.BOOL, whole, good, base=f"{row.array.base}_in_rows")
    return whole


def fragments(block: TileBlock, base: str, prim: Prim, count: int, role: Role) -> KArray:
    """Registers of fragments, `count` of a thread."""
    array = KArray(block.b.fresh(base, prim).name, prim, Space.REGISTERS)
    block.b.emit(kir.Distribute(array, THREADS, count, role))
    return array


# ---- whole steps, copied asynchronously ----------------------------------------------------------------------------


def copied_steps(block: TileBlock, sides: tuple[Side, ...], multiply: Callable[[Operand], None]) -> Operand:
    """if plain { for each whole step { multiply, while others are copied } }; gives the number of these steps."""
    b, (left, right) = block.b, sides
    if left.plain is None or right.plain is None:
        return ZERO
    plain = b.op(Op.AND, Prim.BOOL, left.plain, right.plain, base="plain")
    steps = b.exact(Op.QUOT, block.width, i64(left.depth), "steps")
    whole = b.let("whole", Prim.I64, kir.KOp(Op.SELECT, Prim.I64, (plain, steps, ZERO)))
    later = left.stages - 1
    with b.when(plain):
        for side in sides:
            _set_starts(block, side)
        for stage in range(later):
            _begin(block, sides, b.op(Op.LT, Prim.I64, i64(stage), whole, base="there"), i64(stage))
        with b.loop(b.fresh("s", Prim.I64), whole) as s:
            b.emit(kir.WaitCopies(later - 1))
            b.emit(kir.Fence())
            here, coming = b.exact(Op.REM, s, i64(left.stages), "here"), b.add(s, i64(later), "coming")
            far = b.add(here, i64(later))
            turn = b.exact(Op.QUOT, far, i64(left.stages), "turn")
            to = b.sub(far, b.mul(turn, i64(left.stages)), "to")
            _begin(block, sides, b.op(Op.LT, Prim.I64, coming, whole, base="more"), to)
            multiply(here)
        b.emit(kir.WaitCopies(0))
    return whole


def _begin(block: TileBlock, sides: tuple[Side, ...], cond: Operand, stage: Operand) -> None:
    """if cond { begin the copies of the next step }; they are a group, though it be empty."""
    b = block.b
    with b.when(cond):
        for side in sides:
            _copy(block, side, stage)
    b.emit(kir.CommitCopies())


@contextmanager
def _copies(block: TileBlock, side: Side) -> Iterator[tuple[Operand, Operand]]:
    """threads { .. }: k and the row of the first copy of a thread."""
    b, point = block.b, block.b.fresh("point", Prim.I64)
    inner = i64((side.depth if side.is_long else block.shape.edge) // side.wide)
    with b.threads(point, ZERO, i64(min(THREADS, side.depth * block.shape.edge // side.wide))):
        low = b.mul(b.exact(Op.REM, point, inner, "low"), i64(side.wide))
        high = b.exact(Op.QUOT, point, inner, "high")
        yield (low, high) if side.is_long else (high, low)


def _set_starts(block: TileBlock, side: Side) -> None:
    b = block.b
    with _copies(block, side) as (k, r):
        at = b.address(side.array, block.element(side.row, k, b.add(block.bases[side.place], r)))
        b.emit(kir.Store(side.starts, ZERO, at))


def _copy(block: TileBlock, side: Side, stage: Operand) -> None:
    """The copies of a step, each as far from the one before it as all are, and on to the next step."""
    b, names = block.b, {name for name, _ in block.found.tiled}
    at = [b.address(side.array, block.element(side.row, k, ZERO)) for k in (ZERO, ONE)]
    along = b.sub(at[1], at[0])
    (across,) = [side.array.strides[d] for d, name in side.row.of.items() if name in names]
    points = side.depth * block.shape.edge // side.wide
    each = min(THREADS, points)
    inner = (side.depth if side.is_long else block.shape.edge) // side.wide
    with _copies(block, side) as (k, r):
        start = b.let("start", Prim.I64, kir.KLoad(side.starts, ZERO))
        for further in range(0, points // inner, each // inner):
            there = (k, b.add(r, i64(further))) if side.is_long else (b.add(k, i64(further)), r)
            source = b.add(start, b.mul(i64(further), across if side.is_long else along))
            b.emit(kir.AsyncCopy(side.mem, side.index(block, stage, *there), side.array.mem, source, side.wide))
        b.emit(kir.Store(side.starts, ZERO, b.add(start, b.mul(i64(side.depth), along))))


# ---- steps by way of registers -------------------------------------------------------------------------------------


def loaded_steps(block: TileBlock, sides: tuple[Side, ...], done: Operand, multiply: Callable[[Operand], None]) -> None:
    """for each step from `done` on, the last one with zeros { multiply, while the next one comes to registers }"""
    b, depth = block.b, sides[0].depth
    all_steps = b.exact(Op.QUOT, b.add(block.width, i64(depth - 1)), i64(depth), "steps")
    steps = b.sub(all_steps, done, "left")
    if done != ZERO:
        b.emit(kir.Fence())

    def when(cond: Operand, act: Callable[[Side], None]) -> None:
        with b.when(cond):
            for side in sides:
                act(side)

    def both(side: Side) -> None:
        _load(block, side, b.mul(done, i64(depth), "first"))
        _store(block, side, ZERO)

    when(b.op(Op.LT, Prim.I64, ZERO, steps, base="any"), both)
    with b.loop(b.fresh("s", Prim.I64), steps) as step:
        b.emit(kir.Fence())
        here = b.exact(Op.REM, step, i64(2), "here")
        there, following = b.sub(ONE, here, "there"), b.add(step, ONE, "following")
        more = b.op(Op.LT, Prim.I64, following, steps, base="more")
        first = b.mul(b.add(done, following), i64(depth), "first")
        when(more, lambda side: _load(block, side, first))
        multiply(here)
        when(more, lambda side: _store(block, side, there))


@contextmanager
def _points(block: TileBlock, side: Side) -> Iterator[tuple[Operand, Operand]]:
    """threads { .. }: k and the row of each element of a step; neighbours in memory go to neighbouring threads."""
    b, point = block.b, block.b.fresh("point", Prim.I64)
    inner = side.depth if side.is_long else block.shape.edge
    with b.threads(point, ZERO, i64(side.depth * block.shape.edge)):
        low, high = b.exact(Op.REM, point, i64(inner), "low"), b.exact(Op.QUOT, point, i64(inner), "high")
        yield (low, high) if side.is_long else (high, low)


def _load(block: TileBlock, side: Side, first: Operand) -> None:
    """Elements from `first` on come to registers; zeros, where there are none."""
    b = block.b
    with _points(block, side) as (k, r):
        number, last = b.add(first, k), b.sub(block.width, ONE)
        index = block.last(side.place, b.add(block.bases[side.place], r))
        element = block.element(side.row, b.minimum(number, last), index)
        x = scalar(b.element(b.array(side.row.array), element))
        inside = b.op(Op.LE, Prim.I64, number, last, base="inside")
        b.emit(kir.Store(side.ahead, ZERO, b.op(Op.SELECT, side.mem.prim, inside, x, Const(side.mem.prim, 0.0))))


def _store(block: TileBlock, side: Side, stage: Operand) -> None:
    """What has come to registers goes to a stage of the tile."""
    b = block.b
    with _points(block, side) as (k, r):
        x = b.let("x", side.mem.prim, kir.KLoad(side.ahead, ZERO))
        b.emit(kir.Store(side.mem, side.index(block, stage, k, r), x))


# ---- fragments -----------------------------------------------------------------------------------------------------


def led(b: Builder, lane: Operand, layout: Layout) -> tuple[Operand, Operand]:
    """The row and the column that the number of a lane leads to, in a layout whose bits follow each other."""
    found = list[Operand]()
    for d in (0, 1):
        bits = [k for k, there in enumerate(layout.lanes) if there[d]]
        step = layout.lanes[bits[0]][d]
        assert [layout.lanes[k][d] for k in bits] == [step << k for k in range(len(bits))], "digits of a number"
        high = b.exact(Op.QUOT, lane, i64(1 << bits[0]), "high") if bits[0] else lane
        digit = b.exact(Op.REM, high, i64(1 << len(bits)), "digit") if bits[-1] < 4 else high
        found.append(b.mul(digit, i64(step)))
    return found[0], found[1]


def take(block: TileBlock, side: Side, lane: Operand, corner: Operand, stage: Operand, first: int) -> None:
    """The fragments of a side, from its tile, those of a thread from row `corner` and element `first` of the stage on:
    four matrices at once, or the two of a fragment that is alone."""
    b, d = block.b, side.place
    there, size = led(b, lane, side.layout), (ROWS, COLUMNS)[d]
    start = side.index(block, stage, b.add(there[1 - d], i64(first)), b.add(there[d], corner))
    count, each = block.shape.each // 2 * side.layout.count, 4 // side.mem.prim.bytes

    def offset(register: int) -> int:
        fragment, within = divmod(register, side.layout.count)
        led_to = place(side.layout, 0, within)
        return led_to[1 - d] * side.step + (fragment * size + led_to[d]) * side.pitch

    if not (side.is_long or side.mem.prim.is_half):
        for register in range(count):
            x = b.let("x", side.mem.prim, kir.KLoad(side.mem, b.add(start, i64(offset(register)))))
            b.emit(kir.Store(side.fragments, i64(register), x))
        return
    matrices = min(4, count // each)
    group = matrices * each
    row = side.index(block, stage, i64(first), corner)
    row = b.add(row, b.mul(b.exact(Op.REM, lane, i64(8), "row"), i64(side.pitch if side.is_long else side.step)))
    for bit in range(matrices.bit_length() - 1):
        number = b.exact(Op.REM, b.exact(Op.QUOT, lane, i64(8 << bit), "m"), i64(2), "m")
        row = b.add(row, b.mul(number, i64(offset(each << bit))))
    for register in range(0, count, group):
        found = tuple(b.fresh("x", side.mem.prim) for _ in range(group))
        offsets = tuple(i64(offset(register + k)) for k in range(group))
        of_row = b.add(row, i64(offset(register)))
        b.emit(kir.LoadMatrix(found, side.mem, start, offsets, of_row, not side.is_long))
        for k, x in enumerate(found):
            b.emit(kir.Store(side.fragments, i64(register + k), x))
