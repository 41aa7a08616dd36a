"""Stores of what is kept, in lanes: what a vector keeps is moved to its front, and stored as it lies. No branch."""

from __future__ import annotations

from ...ir.types import Prim
from ..kernel_ir.kept_stores import KeptStores
from ..kernel_ir.nodes import BlockScan
from ..llvm.text import mangled, memory_type, vector
from .collectives import block_scan
from .control import Run, first_lanes, thread_loop
from .memory import address, arena_mark, arena_release, stored
from .prefetch import own_places
from .values import Lanes, LaneValue, Uniform, Varying, mask_of, operand, scalar, vectors

BITS = 512
"""What is moved at once: LLVM's code for wider vectors stores their second half to where it need not be aligned, and
for elements below 32 bits it has none on some machines."""


def store_kept(e: Lanes, stm: BlockScan, kept: KeptStores, run: Run, run_keeping: Run) -> None:
    """The position moves on by the number of lanes that keep their element; what else the scan has is scanned first."""
    code, component = e.code, kept.component
    start = scalar(e, operand(e, stm.carry[component]))
    for term in kept.before:
        start = code.op(f"add i64 {start}, {scalar(e, operand(e, term))}")
    position = code.slot("i64", 8)
    code.do(f"store i64 {start}, ptr {position}")

    def body() -> None:
        mark = arena_mark(e)
        run_keeping(e, stm.body)
        _store_group(e, kept, position)
        arena_release(e, mark)

    if kept.rest is None:
        e.ahead = own_places(e.kernel, stm)
        thread_loop(e, stm.index, stm.lo, stm.hi, body, lambda: None)
        e.ahead = {}
    else:
        block_scan(e, kept.rest, run, run_keeping, lambda: _store_group(e, kept, position))
    end = code.op(f"load i64, ptr {position}")
    first = scalar(e, operand(e, stm.carry[component]))
    total = code.op(f"add i64 {first}, {code.op(f'sub i64 {end}, {start}')}")
    e.env[stm.carry_out[component].name] = Uniform(Prim.I64, total)


def _store_group(e: Lanes, kept: KeptStores, position: str) -> None:
    """Store what a group of lanes keeps, and move the position on."""
    code, mask = e.code, mask_of(e, operand(e, kept.keep))
    size = min(e.width, BITS // max(32, *(store.array.prim.bits for store in kept.stores)))
    columns = [_raw(e, operand(e, store.value)) for store in kept.stores]
    for j, lanes in enumerate(mask):
        for first in range(0, e.width, size):
            at = code.op(f"load i64, ptr {position}")
            some = _part(e, "i1", lanes, first, size)
            with e.shaped(size, 1):
                count = _count(e, some)
                front = first_lanes(e, Prim.I64, count)
            for store, column in zip(kept.stores, columns, strict=True):
                element = memory_type(store.array.prim)
                value = _part(e, element, column[j], first, size)
                target = address(e, element, e.places[store.array].pointer, at)
                with e.shaped(size, 1):
                    _store_front(e, element, _compressed(e, store.array.prim, value, some), target, front)
            code.do(f"store i64 {code.op(f'add i64 {at}, {count}')}, ptr {position}")


def _count(e: Lanes, lanes: str) -> str:
    """i64: how many lanes of a mask are on."""
    bits = f"i{e.width}"
    e.code.module.declare(f"llvm.ctpop.{bits}", bits, (bits,))
    found = e.code.call(f"llvm.ctpop.{bits}", bits, ((bits, e.code.op(f"bitcast <{e.width} x i1> {lanes} to {bits}")),))
    return found if e.width == 64 else e.code.op(f"zext {bits} {found} to i64")


def _raw(e: Lanes, value: LaneValue) -> tuple[str, ...]:
    """A value as it lies in memory, written out."""
    return stored(e, Varying(value.prim, vectors(e, value)))


def _part(e: Lanes, element: str, value: str, first: int, size: int) -> str:
    """`size` lanes of a vector, from `first` on."""
    if size == e.width:
        return value
    t, lanes = vector(element, e.width), ", ".join(f"i32 {first + k}" for k in range(size))
    return e.code.op(f"shufflevector {t} {value}, {t} poison, <{size} x i32> <{lanes}>")


def _compressed(e: Lanes, prim: Prim, value: str, lanes: str) -> str:
    """The elements of a vector where the mask holds, at its front, moved as integers of 32 or 64 bits."""
    own, moved = vector(memory_type(prim), e.width), "i64" if prim.bits == 64 else "i32"
    t, bits, code = vector(moved, e.width), e.vec.raw("i1"), e.code
    name = f"llvm.experimental.vector.compress.{mangled(moved, e.width)}"
    code.module.declare(name, t, (t, bits, t))
    small = prim.bits < 32
    value = code.op(f"{'zext' if small else 'bitcast'} {own} {value} to {t}")
    front = code.call(name, t, ((t, value), (bits, lanes), (t, "poison")))
    return code.op(f"{'trunc' if small else 'bitcast'} {t} {front} to {own}")


def _store_front(e: Lanes, element: str, value: str, target: str, front: str) -> None:
    t, bits = vector(element, e.width), e.vec.raw("i1")
    name = f"llvm.masked.store.{mangled(element, e.width)}.p0"
    e.code.module.declare(name, "void", (t, "ptr", "i32", bits))
    e.code.call_void(name, ((t, value), ("ptr", target), ("i32", "1"), (bits, front)))
