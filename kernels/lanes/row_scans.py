"""Scans of rows in lanes: a vector holds as many whole rows as fit in it, or a part of one.

    m <= W    vectors begin every W - W mod m elements: lane l is element l mod m of its row
    m > W     vectors of a row begin every W elements, its last one where that many are left: lane l is element l

A step of the scan takes in the lane d = 1, 2, 4, .. before it where that is of the same row, which is the same lanes
for every vector; then the carry of the row, which moves on from vector to vector and starts anew with a row. So the
order in which elements are combined depends on their place in the row and on W, and on nothing else. All lanes are
stored: those behind the last whole row, or behind the end of a row, belong to the rows that come next, and are stored
again, as they should be, with these. Only the last vectors, where elements are fewer than lanes, are masked.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.records import dataclass
from ...ir.types import Prim
from ..kernel_ir.nodes import KLet, KLoad, RowScan, Store
from ..llvm.text import memory_type
from .collectives import (
    Tuple,
    as_varying,
    combine,
    combine_scalars,
    last_lane,
    operands,
    or_neutral,
    read_scalars,
    scalar_slots,
    shuffle,
    write_scalars,
)  # fmt: skip
from .control import Run, first_lanes
from .memory import address
from .prefetch import fetch, fetch_to_write
from .values import Lanes, Linear, Varying, operand, scalar, splat, steps


@dataclass(frozen=True, slots=True)
class _Rows:
    """A scan of rows while it is emitted. `total` elements; do rows fit in a vector; `stretch` from one start of the
    carry to the next; slots of the first element of the vector, of how many are left of the stretch, and of the carry.
    `same`: for each step of a scan, the lanes whose partner is of the same row."""

    stm: RowScan
    neutral: Tuple
    total: str
    fit: str
    stretch: str
    base: str
    left: str
    carry: tuple[str, ...]
    same: tuple[str, ...]


def row_scan(e: Lanes, stm: RowScan, run: Run) -> None:
    """Full vectors, of whole rows or not, and then what is left, under a mask."""
    with e.shaped(e.width, 1):
        rows = _begun(e, stm)
        e.in_threads = True
        if e.peeled:
            code = e.code
            whole, parts = code.fresh("whole"), code.fresh("parts")
            code.branch(rows.fit, whole, parts)
            code.label(whole)
            _loop(e, rows, e.width, lambda: _vector(e, rows, run, _next_rows))
            code.jump(parts)
            code.label(parts)
            _loop(e, rows, e.width, lambda: _vector(e, rows, run, _next_part))
        _loop(e, rows, 1, lambda: _masked(e, rows, run))
        e.in_threads = False


def _begun(e: Lanes, stm: RowScan) -> _Rows:
    """Lengths, masks and slots, ahead of the loops."""
    code, neutral = e.code, operands(e, stm.neutral)
    total, width = scalar(e, operand(e, stm.count)), scalar(e, operand(e, stm.width))
    row = e.one.intrinsic("umax", Prim.I64, width, "1")
    fit = code.op(f"icmp ule i64 {row}, {e.width}")
    few = e.one.intrinsic("umin", Prim.I64, row, str(e.width))
    packed = code.op(f"sub i64 {e.width}, {code.op(f'urem i64 {e.width}, {few}')}")
    stretch = code.op(f"select i1 {fit}, i64 {packed}, i64 {row}")
    base, left = code.slot("i64", 8), code.slot("i64", 8)
    code.do(f"store i64 0, ptr {base}")
    code.do(f"store i64 {stretch}, ptr {left}")
    return _Rows(stm, neutral, total, fit, stretch, base, left, scalar_slots(e, neutral), _same_row(e, few))


def _same_row(e: Lanes, few: str) -> tuple[str, ...]:
    """The lanes that are at least 1, 2, 4, .. elements behind the start of their row."""
    length = splat(e, Prim.U32, e.code.op(f"trunc i64 {few} to i32"))
    place = e.vec.ins("urem", Prim.U32, steps(Prim.U32, 0, 1, e.width), length)
    return tuple(e.vec.ins("icmp uge", Prim.U32, place, e.vec.const(Prim.U32, d)) for d in _distances(e))


def _distances(e: Lanes) -> tuple[int, ...]:
    return tuple(1 << k for k in range(e.width.bit_length() - 1))


def _loop(e: Lanes, rows: _Rows, least: int, body: Callable[[], None]) -> None:
    """As long as that many elements are left."""
    with e.code.loop("rows", "vector", "end") as test:
        test(e.code.op(f"icmp sge i64 {_ahead(e, rows)}, {least}"))
        body()


def _ahead(e: Lanes, rows: _Rows) -> str:
    """How many elements are left."""
    return e.code.op(f"sub i64 {rows.total}, {e.code.op(f'load i64, ptr {rows.base}')}")


def _masked(e: Lanes, rows: _Rows, run: Run) -> None:
    few = e.one.intrinsic("umin", Prim.I64, _ahead(e, rows), str(e.width))
    with e.masked((first_lanes(e, Prim.I64, few),)):
        _vector(e, rows, run, _next_part)


Next = Callable[[Lanes, _Rows, tuple[Varying, ...], Run], Tuple]
"""Moves on to the next vector, from the scans within this one; gives the carry that comes before these."""


def _vector(e: Lanes, rows: _Rows, run: Run, move_on: Next) -> None:
    stm, base = rows.stm, e.code.op(f"load i64, ptr {rows.base}")
    e.env[stm.index.name] = Linear(Prim.I64, base, 1, True)
    run(e, stm.body)
    if e.mask is None:
        _fetch_ahead(e, stm)
    values = or_neutral(e, as_varying(e, operands(e, stm.values)), rows.neutral)
    with e.masked(None):
        for d, same in zip(_distances(e), rows.same, strict=True):
            values = as_varying(e, combine(e, stm.op, _moved(e, rows, values, d, same), values, run))
        scanned = combine(e, stm.op, move_on(e, rows, values, run), values, run)
    for var, value in zip(stm.scanned, as_varying(e, scanned), strict=True):
        e.env[var.name] = value
    run(e, stm.after)


def _fetch_ahead(e: Lanes, stm: RowScan) -> None:
    """Ask for the lines that are read and written later: a block goes once through what is its own."""
    for part in (*stm.body, *stm.after):
        match part:
            case KLet(_, KLoad(array, index)):
                how = fetch
            case Store(array, index):
                how = fetch_to_write
            case _:
                continue
        place = operand(e, index)
        if isinstance(place, Linear):
            how(e.code, address(e, memory_type(array.prim), e.places[array].pointer, place.base))


def _moved(e: Lanes, rows: _Rows, values: tuple[Varying, ...], d: int, same: str) -> Tuple:
    """The lanes d before; the neutral element where that is another row."""
    pick = [max(lane - d, 0) for lane in range(e.width)]
    found: list[Varying] = []
    for x, ne in zip(values, rows.neutral, strict=True):
        before, other = shuffle(e, x.prim, x.texts[0], "poison", pick), splat(e, x.prim, scalar(e, ne))
        found.append(Varying(x.prim, (e.vec.select(x.prim, same, before, other),)))
    return tuple(found)


def _next_rows(e: Lanes, rows: _Rows, values: tuple[Varying, ...], run: Run) -> Tuple:
    """The carry is neutral, here and behind the whole rows of this vector."""
    base = e.code.op(f"load i64, ptr {rows.base}")
    e.code.do(f"store i64 {e.code.op(f'add i64 {base}, {rows.stretch}')}, ptr {rows.base}")
    return rows.neutral


def _next_part(e: Lanes, rows: _Rows, values: tuple[Varying, ...], run: Run) -> Tuple:
    """The carry of the row, which moves on with this vector, or is neutral again behind the last one of the row: by a
    branch, so that a row does not wait for the carry of the one before."""
    code, carry = e.code, read_scalars(e, values, rows.carry)
    base, left = (code.op(f"load i64, ptr {slot}") for slot in (rows.base, rows.left))
    last, on = code.fresh("last"), code.fresh("on")
    total = combine_scalars(e, rows.stm.op, carry, last_lane(e, values, 0), run)
    write_scalars(e, rows.carry, total)
    code.do(f"store i64 {code.op(f'add i64 {base}, {e.width}')}, ptr {rows.base}")
    code.do(f"store i64 {code.op(f'sub i64 {left}, {e.width}')}, ptr {rows.left}")
    with code.rarely(code.op(f"icmp ule i64 {left}, {e.width}"), last, on):
        code.do(f"store i64 {code.op(f'add i64 {base}, {left}')}, ptr {rows.base}")
        code.do(f"store i64 {rows.stretch}, ptr {rows.left}")
        write_scalars(e, rows.carry, rows.neutral)
        code.jump(on)
    return carry
