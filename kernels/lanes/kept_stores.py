"""Stores of what is kept, in lanes: what a vector keeps is moved to its front and stored there. No branch.

Where what follows may be overwritten, whole vectors are stored, each from where the one before has its last element
that is kept; else as many elements as are kept. Both are functions, which processors may have in other ways
(`kernels/devices/cpu/runtime/avx2.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.types import Prim
from ..kernel_ir.kept_stores import KeptStores
from ..kernel_ir.nodes import BlockScan
from ..llvm.text import Code, Module, mangled, memory_type, vector
from .allocation import arena_mark, arena_release
from .collectives import block_scan
from .control import Run, thread_loop
from .memory import address, stored
from .prefetch import own_places
from .values import (
    Lanes,
    LaneValue,
    Linear,
    Mask,
    Uniform,
    Varying,
    any_lane,
    mask_of,
    operand,
    scalar,
    steps,
    vectors,
)  # fmt: skip

KEEP, KEEP_EXACTLY, KEEP_COUNTED = "soac.keep.", "soac.keep.exactly.", "soac.keep.counted."
"""Functions of a vector of integers, or of the first of integers that count with the lanes, of the word of bits that
says which are kept, and of where to store these; those that count also take whether a fourth is kept, and whole
vectors may be stored."""
MANY = 4
"""Of as many lanes more than one is kept: then elements are not taken one by one."""
MOST_LANES = 64
"""As many as a word has bits."""
BITS = 512
"""What is moved at once: LLVM's code for wider vectors stores their second half to where it need not be aligned, and
for elements below 32 bits it has none on some machines."""
LONG = 32
"""Lanes of which one asks whether any is kept."""


def store_kept(e: Lanes, stm: BlockScan, kept: KeptStores, run: Run, run_keeping: Run) -> None:
    """The position moves on by the number of lanes that keep their element; what else the scan has is scanned first."""
    code, component = e.code, kept.component
    start = scalar(e, operand(e, stm.carry[component]))
    for term in kept.before:
        start = code.op(f"add i64 {start}, {scalar(e, operand(e, term))}")
    position = code.slot("i64", 8)
    code.do(f"store i64 {start}, ptr {position}")
    free = None if stm.free is None else scalar(e, operand(e, stm.free))

    def body() -> None:
        mark = arena_mark(e)
        run_keeping(e, stm.body)
        _store_group(e, kept, position, free)
        arena_release(e, mark)

    if kept.rest is None:
        e.ahead = own_places(e.kernel, stm)
        thread_loop(e, stm.index, stm.lo, stm.hi, body, lambda: None)
        e.ahead = {}
    else:
        block_scan(e, kept.rest, run, run_keeping, lambda: _store_group(e, kept, position, free))
    end = code.op(f"load i64, ptr {position}")
    first = scalar(e, operand(e, stm.carry[component]))
    total = code.op(f"add i64 {first}, {code.op(f'sub i64 {end}, {start}')}")
    e.env[stm.carry_out[component].name] = Uniform(Prim.I64, total)


def _store_group(e: Lanes, kept: KeptStores, position: str, free: str | None) -> None:
    """Store what a group of lanes keeps, and move the position on."""
    code, mask = e.code, mask_of(e, operand(e, kept.keep))
    with _some(e, mask):
        columns = [_column(e, operand(e, store.value)) for store in kept.stores]
        for j, lanes in enumerate(mask):
            at = code.op(f"load i64, ptr {position}")
            word, fits = _word(e, lanes), _fits(e, at, free)
            for store, column in zip(kept.stores, columns, strict=True):
                prim = store.array.prim
                target = address(e, memory_type(prim), e.places[store.array].pointer, at)
                if isinstance(column, Linear):
                    _keep_counted(e, column, j, word, target, fits)
                else:
                    _keep(e, prim.bits, column[j], word, target, fits)
            code.do(f"store i64 {code.op(f'add i64 {at}, {ones(code, word)}')}, ptr {position}")


@contextmanager
def _some(e: Lanes, mask: Mask) -> Iterator[None]:
    """Code that may be left out where no lane keeps its element, which is asked of many lanes at once."""
    if e.lanes < LONG:
        yield
        return
    some, none = e.code.fresh("some"), e.code.fresh("none")
    e.code.branch(any_lane(e, mask), some, none)
    e.code.label(some)
    yield
    e.code.jump(none)
    e.code.label(none)


def _fits(e: Lanes, at: str, free: str | None) -> str | None:
    """i1: may a whole vector be stored? None: it may not."""
    if free is None or e.mask is not None:
        return None
    return e.code.op(f"icmp sle i64 {e.code.op(f'add i64 {at}, {e.width}')}, {free}")


def _keep(e: Lanes, bits: int, x: str, word: str, to: str, fits: str | None) -> None:
    """Store what a word keeps of a vector; whole vectors only where they fit."""
    code = e.code
    args = ((f"<{e.width} x i{bits}>", x), ("i64", word), ("ptr", to))
    exactly = keeping(code.module, e.width, bits, True)
    if fits is None:
        code.call_void(exactly, args)
        return
    near, end = code.fresh("near"), code.fresh("kept")
    with code.rarely(code.op(f"xor i1 {fits}, true"), near, code.fresh("free")):
        code.call_void(exactly, args)
        code.jump(end)
    code.call_void(keeping(code.module, e.width, bits, False), args)
    code.jump(end)
    code.label(end)


def _keep_counted(e: Lanes, x: Linear, group: int, word: str, to: str, fits: str | None) -> None:
    """As `_keep`, of an index that counts with the lanes."""
    prim, code = x.prim, e.code
    first = e.one.ins("add", prim, x.base, str(group * e.width * x.stride % (1 << prim.bits))) if group else x.base
    many = code.op(f"icmp ugt i64 {ones(code, word)}, {e.width // MANY}")
    room = "false" if fits is None else code.op(f"and i1 {fits}, {many}")
    args = ((f"i{prim.bits}", first), ("i64", word), ("ptr", to), ("i1", room))
    code.call_void(keeping_counted(code.module, e.width, prim, x.stride), args)


def _word(e: Lanes, lanes: str) -> str:
    """i64: a mask as bits."""
    bits = e.code.op(f"bitcast <{e.width} x i1> {lanes} to i{e.width}")
    return bits if e.width == MOST_LANES else e.code.op(f"zext i{e.width} {bits} to i64")


def ones(code: Code, word: str) -> str:
    """i64: how many bits of a word are set."""
    code.module.declare("llvm.ctpop.i64", "i64", ("i64",))
    return code.call("llvm.ctpop.i64", "i64", (("i64", word),))


def _column(e: Lanes, value: LaneValue) -> Linear | tuple[str, ...]:
    """A value as memory has it, written out, as integers; what counts with the lanes stays as it is."""
    if isinstance(value, Linear):
        return value
    element = memory_type(value.prim)
    own, t = vector(element, e.width), vector(f"i{value.prim.bits}", e.width)
    raw = stored(e, Varying(value.prim, vectors(e, value)))
    return raw if own == t else tuple(e.code.op(f"bitcast {own} {x} to {t}") for x in raw)


# ---- the functions -----------------------------------------------------------------------------------------------


def keeping(module: Module, lanes: int, bits: int, exactly: bool) -> str:
    """The name of the function of a vector."""
    name = f"{KEEP_EXACTLY if exactly else KEEP}v{lanes}i{bits}"
    how = " noinline" if exactly else " alwaysinline"
    params = (f"<{lanes} x i{bits}>", "i64", "ptr")
    module.function(name, "void", params, lambda code: _written(code, lanes, bits, "%0", exactly), how)
    return name


def keeping_counted(module: Module, lanes: int, prim: Prim, stride: int) -> str:
    """The name of the function of integers that count with the lanes."""

    def write(code: Code) -> str:
        t = f"<{lanes} x i{prim.bits}>"
        first = code.splat(f"i{prim.bits}", lanes, "%0")
        return _written(code, lanes, prim.bits, code.op(f"add {t} {first}, {steps(prim, 0, stride, lanes)}"), True)

    name = f"{KEEP_COUNTED}v{lanes}i{prim.bits}.{stride}"
    module.function(name, "void", (f"i{prim.bits}", "i64", "ptr", "i1"), write, " alwaysinline")
    return name


def _written(code: Code, lanes: int, bits: int, x: str, exactly: bool) -> str:
    """The elements of `x` that the bits of %1 keep, from %2 on, in parts of `BITS`."""
    to, size = "%2", min(lanes, BITS // max(32, bits))
    for first in range(0, lanes, size):
        word = code.op(f"lshr i64 %1, {first}") if first else "%1"
        if size < MOST_LANES:
            word = code.op(f"and i64 {word}, {(1 << size) - 1}")
        part = code.shuffle(f"<{lanes} x i{bits}>", x, "poison", range(first, first + size))
        count = ones(code, word)
        _store_front(code, size, bits, _compressed(code, size, bits, part, word), to, count if exactly else None)
        to = code.op(f"getelementptr i{bits}, ptr {to}, i64 {count}")
    return ""


def _compressed(code: Code, lanes: int, bits: int, x: str, word: str) -> str:
    """The elements that are kept at the front of the vector, moved as integers of 32 or 64 bits."""
    own, moved = f"<{lanes} x i{bits}>", f"i{max(32, bits)}"
    t, flags = vector(moved, lanes), f"<{lanes} x i1>"
    small = code.op(f"trunc i64 {word} to i{lanes}") if lanes < MOST_LANES else word
    keep = code.op(f"bitcast i{lanes} {small} to {flags}")
    name = f"llvm.experimental.vector.compress.{mangled(moved, lanes)}"
    code.module.declare(name, t, (t, flags, t))
    value = code.op(f"zext {own} {x} to {t}") if bits < 32 else x
    front = code.call(name, t, ((t, value), (flags, keep), (t, "poison")))
    return code.op(f"trunc {t} {front} to {own}") if bits < 32 else front


def _store_front(code: Code, lanes: int, bits: int, value: str, to: str, count: str | None) -> None:
    """Store the first `count` elements of a vector, or all of them."""
    if count is None:
        code.do(f"store <{lanes} x i{bits}> {value}, ptr {to}, align 1")
        return
    counts = code.splat("i64", lanes, count)
    steps = ", ".join(f"i64 {k}" for k in range(lanes))
    front = code.op(f"icmp ult <{lanes} x i64> <{steps}>, {counts}")
    code.masked_store(f"i{bits}", 1, lanes, value, to, front)
