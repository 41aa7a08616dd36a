"""Loads, stores and atomics.

An index that is linear with stride 1 over the lanes makes a plain vector access, stride -1 a reversed one, a uniform
index a scalar one; anything else is a gather or scatter. PRIVATE arrays are interleaved over the lanes, so that a
uniform index is a vector access there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...ir.errors import IRError
from ...ir.ops import Op
from ...ir.types import Prim
from ..analysis.small_tables import HELD
from ..kernel_ir.nodes import Atomic, KArray, KVar, Operand, Space, Store
from ..llvm.convert import convert, from_memory, to_memory
from ..llvm.ops import apply
from ..llvm.text import Code, Vec, mangled, memory_type, vector
from .checks import element_at
from .gathers import GATHERED, gather, gather_from_array, gathered_indices, scatter, scatter_to_array
from .neighbours import Neighbour
from .prefetch import LINE, fetch
from .row_ends import is_end_in_place, store_first
from .small_tables import looked_up, reached
from .values import (
    ALL_ON,
    Flipped,
    Lanes,
    LaneValue,
    Linear,
    Mask,
    Place,
    Run,
    Table,
    Uniform,
    Varying,
    Window,
    any_lane,
    complement,
    full_mask,
    intersect,
    operand,
    splat,
    steps,
    vectors,
)  # fmt: skip
from .windows import permuted

Way = tuple[str, Callable[[], tuple[str, ...]]]
"""A condition (an i1 text), and how elements are loaded where it holds."""


def load(e: Lanes, array: KArray, index: Operand) -> LaneValue:
    """An element for each lane: by one scalar access, a vector for a group, or a gather, as the index has it."""
    at, table = as_index(e, index), e.tables.get(array)
    if table is None or not isinstance(at, Varying) or _flipped_at(e, array.prim, at.texts):
        return load_at(e, array, at, _ahead(e, index))
    count = reached(e, index, table)
    if count is None:
        return loaded(e, array.prim, _load_held(e, array, table, at))
    return loaded(e, array.prim, looked_up(e, array.prim, table, at, count))


def load_at(e: Lanes, array: KArray, i: LaneValue, ahead: int = 0) -> LaneValue:
    """As `load`, of an index that is a value; lines `ahead` bytes behind a run are asked for."""
    place, prim = e.places[array], array.prim
    if place.lanes:
        return loaded(e, prim, _load_private(e, place, prim, i))
    match i:
        case Uniform(_, text):
            element = memory_type(prim)
            raw = e.code.op(f"load {element}, ptr {address(e, element, place.pointer, text)}, align {prim.bytes}")
            return Uniform(prim, from_memory(e.one, prim, raw))
        case Linear(_, _, 1 | -1, _):
            return loaded(e, prim, _load_run(e, place, prim, i, ahead if array.space is Space.GLOBAL else 0))
        case Varying(_, texts) if e.mask is None and (window := e.windows.get(texts)) is not None:
            return loaded(e, prim, _load_window(e, place, prim, texts, window))
        case Varying(_, texts) if (flipped := _flipped_at(e, prim, texts)) is not None:
            return loaded(e, prim, _load_flipped(e, array, i, flipped))
        case Varying(_, texts) if (runs := e.runs.get(texts)) is not None:
            return loaded(e, prim, _load_runs(e, place, prim, runs))
        case _:
            return loaded(e, prim, _gathered(e, array, i))


def _load_held(e: Lanes, array: KArray, table: Table, index: Varying) -> tuple[str, ...]:
    """A lookup among few elements or more, or a gather where there are too many."""
    prim, ways = array.prim, list[Way]()
    for count in HELD[prim.bytes] if prim.bytes < GATHERED else HELD[prim.bytes][:1]:
        few = e.code.op(f"icmp sle i64 {table.count}, {count}")
        ways.append((few, partial(looked_up, e, prim, table, index, count)))
    return _first_way(e, prim, ways, partial(_gathered, e, array, index))


def _first_way(e: Lanes, prim: Prim, ways: list[Way], otherwise: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """What is loaded in the first way whose condition holds, or `otherwise`."""
    code, t = e.code, vector(memory_type(prim), e.width)
    slots, joined = [code.slot(t) for _ in range(e.unroll)], code.fresh("taken")

    def put(found: tuple[str, ...]) -> None:
        for slot, x in zip(slots, found, strict=True):
            code.do(f"store {t} {x}, ptr {slot}")
        code.jump(joined)

    for cond, way in ways:
        here, others = code.fresh("here"), code.fresh("others")
        code.branch(cond, here, others)
        code.label(here)
        put(way())
        code.label(others)
    put(otherwise())
    code.label(joined)
    return tuple(code.op(f"load {t}, ptr {slot}") for slot in slots)


def _flipped_at(e: Lanes, prim: Prim, index: tuple[str, ...]) -> Flipped | None:
    """What is known of an index with flipped bits, where elements are loaded under the mask as fast as without."""
    return e.flipped.get(index) if e.mask is None or e.masks or prim.bytes >= GATHERED else None


def _load_flipped(e: Lanes, array: KArray, index: Varying, flipped: Flipped) -> tuple[str, ...]:
    """A vector for each group, permuted where it is not in order; gathers where a group begins elsewhere."""
    prim, one, pointer = array.prim, e.one, e.places[array].pointer

    def in_order(masks: Mask) -> tuple[str, ...]:
        starts = (address(e, memory_type(prim), pointer, base) for base in flipped.bases)
        return tuple(masked_load(e, prim, start, mask) for start, mask in zip(starts, masks, strict=True))

    def permuting() -> tuple[str, ...]:
        low = splat(e, Prim.I32, one.cast("trunc", Prim.I64, Prim.I32, flipped.low))
        lanes, masks = e.vec.ins("xor", Prim.I32, steps(Prim.I32, 0, 1, e.width), low), full_mask(e)
        if e.mask is not None:
            numbers = (permuted(e, Prim.I32, e.vec.cast("sext", Prim.BOOL, Prim.I32, m), lanes) for m in masks)
            masks = tuple(e.vec.cast("trunc", Prim.I32, Prim.BOOL, x) for x in numbers)
        return tuple(permuted(e, prim, x, lanes) for x in in_order(masks))

    straight = one.both(flipped.holds, one.ins("icmp eq", Prim.I64, flipped.low, "0"))
    ways: list[Way] = [(straight, partial(in_order, full_mask(e))), (flipped.holds, permuting)]
    return _first_way(e, prim, ways, partial(_gathered, e, array, index))


def _gathered(e: Lanes, array: KArray, index: LaneValue) -> tuple[str, ...]:
    indices, masks = gathered_indices(e, array.prim, index)
    pointers = _pointers(e, array.prim, e.places[array].pointer, indices)
    return tuple(gather_from_array(e, array.prim, p, m) for p, m in zip(pointers, masks, strict=True))


def _load_window(e: Lanes, place: Place, prim: Prim, index: tuple[str, ...], window: Window) -> tuple[str, ...]:
    """A vector and a permutation for each group; a gather where the window is not known to hold."""
    code, t = e.code, vector(memory_type(prim), e.width)
    slots = [code.slot(t) for _ in index]
    gathered, near, joined = code.fresh("gathered"), code.fresh("near"), code.fresh("taken")
    code.branch_rarely(e.one.negate(window.holds), gathered, near)
    code.label(near)
    for slot, base, offsets, last in zip(slots, window.bases, window.offsets, window.lasts, strict=True):
        pointer = address(e, memory_type(prim), place.pointer, base)
        mask = e.vec.ins("icmp ule", Prim.U32, steps(Prim.U32, 0, 1, e.width), splat(e, Prim.U32, last))
        code.do(f"store {t} {permuted(e, prim, masked_load(e, prim, pointer, mask), offsets)}, ptr {slot}")
    code.jump(joined)
    code.label(gathered)
    for slot, pointers in zip(slots, _pointers(e, prim, place.pointer, index), strict=True):
        code.do(f"store {t} {gather_from_array(e, prim, pointers, ALL_ON)}, ptr {slot}")
    code.jump(joined)
    code.label(joined)
    return tuple(code.op(f"load {t}, ptr {slot}") for slot in slots)


def _load_runs(e: Lanes, place: Place, prim: Prim, runs: tuple[Run, ...]) -> tuple[str, ...]:
    """The runs under masks, one into the other; an element is read where a lane wants it."""
    t, bits, left = vector(memory_type(prim), e.width), e.vec.raw("i1"), full_mask(e)
    found: tuple[str, ...] = ("zeroinitializer",) * e.unroll
    for run in runs:
        on = intersect(e, left, run.mask)
        left = intersect(e, left, complement(e, run.mask))
        if isinstance(run.at, Linear):
            with e.masked(on):
                here = _load_run(e, place, prim, run.at, 0)
        else:
            here = (_splat_where(e, place, prim, run.at.text, any_lane(e, on)),) * e.unroll
        found = tuple(
            e.code.op(f"select {bits} {m}, {t} {x}, {t} {y}") for m, x, y in zip(on, here, found, strict=True)
        )
    return found


def _splat_where(e: Lanes, place: Place, prim: Prim, index: str, wanted: str) -> str:
    """An element in all lanes, as it is in memory; any value where it is not wanted, as it may not be there."""
    element = memory_type(prim)
    spare = e.code.slot(element)
    e.code.do(f"store {element} zeroinitializer, ptr {spare}")
    there = address(e, element, place.pointer, index)
    pointer = e.code.op(f"select i1 {wanted}, ptr {there}, ptr {spare}")
    x = e.code.op(f"load {element}, ptr {pointer}, align {prim.bytes}")
    return e.code.splat(element, e.width, x)


def _ahead(e: Lanes, index: Operand) -> int:
    return e.ahead.get(index.name, 0) if isinstance(index, KVar) else 0


def load_beside(e: Lanes, array: KArray, index: Operand, near: Neighbour) -> LaneValue:
    """As `load`, where `near` has been loaded. What cannot be had from it, or not in fewer instructions, is loaded."""
    place, prim, i, source = e.places[array], array.prim, as_index(e, index), e.env[near.source.name]
    whole = e.mask is None and e.unroll > 1 and e.width * prim.bytes >= LINE and not place.lanes
    if not (whole and isinstance(i, Linear) and i.stride == 1 and isinstance(source, Varying)):
        return load_at(e, array, i, _ahead(e, index))
    t, late = vector(memory_type(prim), e.width), near.shift > 0
    pairs = zip(source.texts, source.texts[1:], strict=False)
    first = near.shift % e.width
    shared = [e.code.shuffle(t, x, y, range(first, first + e.width)) for x, y in pairs]
    pointer = _run_start(e, place, prim, i, e.unroll - 1 if late else 0)
    alone = e.code.op(f"load {t}, ptr {pointer}, align {prim.bytes}")
    return Varying(prim, (*shared, alone) if late else (alone, *shared))


def store(e: Lanes, stm: Store) -> None:
    """`array[index] := value` in the lanes that are on. Full runs of a line of the cache or more into an array of the
    kernel's `streams` go past the caches."""
    store_at(e, stm.array, as_index(e, stm.index), operand(e, stm.value))


def store_at(e: Lanes, array: KArray, i: LaneValue, value: LaneValue) -> None:
    """As `store`, of an index and an element that are values."""
    place, prim = e.places[array], array.prim
    if place.lanes:
        _store_private(e, place, prim, i, stored(e, value))
        return
    match i, value:
        case Uniform(_, text), Uniform():
            element = memory_type(prim)
            raw = to_memory(e.one, prim, value.text)
            e.code.do(f"store {element} {raw}, ptr {address(e, element, place.pointer, text)}, align {prim.bytes}")
        case Linear(_, _, 1 | -1, _), _:
            streams = array in e.streams and e.mask is None and e.lanes * prim.bytes >= LINE
            if i.stride == 1 and is_end_in_place(e, array):
                store_first(e, prim, _run_start(e, place, prim, i, 0), stored(e, value)[0])
                return
            (_store_past_caches if streams else _store_run)(e, place, prim, i, stored(e, value))
        case _:
            pointers = _pointers(e, prim, place.pointer, vectors(e, i))
            for p, x, m in zip(pointers, stored(e, value), full_mask(e), strict=True):
                scatter_to_array(e, prim, p, x, m)


def as_index(e: Lanes, index: Operand) -> LaneValue:
    """The value of an index; raises IRError for any type but i64."""
    value = operand(e, index)
    if value.prim is not Prim.I64:
        raise IRError(f"lanes: an index of type {value.prim.value}")
    return value


def address(e: Lanes, element: str, pointer: str, index: str) -> str:
    """ptr: where element `index` (an i64) of an array at `pointer` is."""
    return e.code.op(f"getelementptr {element}, ptr {pointer}, i64 {index}")


# ---- between memory and registers --------------------------------------------------------------------------------


def loaded(e: Lanes, prim: Prim, raw: tuple[str, ...]) -> Varying:
    """Vectors as they lie in memory, as a value."""
    return Varying(prim, tuple(from_memory(e.vec, prim, x) for x in raw))


def stored(e: Lanes, value: LaneValue) -> tuple[str, ...]:
    """A value as vectors that lie in memory."""
    return tuple(to_memory(e.vec, value.prim, x) for x in vectors(e, value))


# ---- vector accesses ---------------------------------------------------------------------------------------------


def _run_start(e: Lanes, place: Place, prim: Prim, index: Linear, group: int) -> str:
    """Address of the lowest element that a group of a run touches."""
    first = group * e.width if index.stride == 1 else -(group * e.width + e.width - 1)
    start = address(e, memory_type(prim), place.pointer, index.base)
    return address(e, memory_type(prim), start, str(first)) if first else start


def _reversed(e: Lanes, t: str, x: str) -> str:
    return e.code.shuffle(t, x, "poison", range(e.width - 1, -1, -1))


def _run_mask(e: Lanes, index: Linear, mask: Mask, group: int) -> str:
    return mask[group] if index.stride == 1 else _reversed(e, e.vec.raw("i1"), mask[group])


def masked_load(e: Lanes, prim: Prim, pointer: str, mask: str) -> str:
    """The elements of one vector from the pointer on, as they lie in memory; 0 in lanes that `mask` leaves out."""
    t, bits = vector(memory_type(prim), e.width), e.vec.raw("i1")
    name = f"llvm.masked.load.{mangled(memory_type(prim), e.width)}.p0"
    e.code.module.declare(name, t, ("ptr", "i32", bits, t))
    return e.code.call(name, t, (("ptr", pointer), ("i32", str(prim.bytes)), (bits, mask), (t, "zeroinitializer")))


def masked_store(e: Lanes, prim: Prim, pointer: str, value: str, mask: str) -> None:
    """Store the elements of one vector, as they lie in memory, from the pointer on, in the lanes of `mask`."""
    e.code.masked_store(memory_type(prim), prim.bytes, e.width, value, pointer, mask)


def _load_run(e: Lanes, place: Place, prim: Prim, index: Linear, ahead: int) -> tuple[str, ...]:
    t, raw = vector(memory_type(prim), e.width), []
    for j in range(e.unroll):
        pointer = _run_start(e, place, prim, index, j)
        if e.mask is None:
            if ahead and j * e.width * prim.bytes % LINE == 0:
                fetch(e.code, pointer, ahead)
            x = e.code.op(f"load {t}, ptr {pointer}, align {prim.bytes}")
        else:
            x = masked_load(e, prim, pointer, _run_mask(e, index, e.mask, j))
        raw.append(x if index.stride == 1 else _reversed(e, t, x))
    return tuple(raw)


def _store_run(e: Lanes, place: Place, prim: Prim, index: Linear, values: tuple[str, ...]) -> None:
    t = vector(memory_type(prim), e.width)
    for j, value in enumerate(values):
        pointer = _run_start(e, place, prim, index, j)
        x = value if index.stride == 1 else _reversed(e, t, value)
        if e.mask is None:
            e.code.do(f"store {t} {x}, ptr {pointer}, align {prim.bytes}")
        else:
            masked_store(e, prim, pointer, x, _run_mask(e, index, e.mask, j))


def _store_past_caches(e: Lanes, place: Place, prim: Prim, index: Linear, values: tuple[str, ...]) -> None:
    """Non-temporal stores, where the run begins at a multiple of a vector; what is no multiple is stored as usual."""
    t, code, e.streamed = vector(memory_type(prim), e.width), e.code, True
    size = min(LINE, e.width * prim.bytes)
    starts = [_run_start(e, place, prim, index, j) for j in range(len(values))]
    texts = [x if index.stride == 1 else _reversed(e, t, x) for x in values]
    rest = code.op(f"and i64 {code.op(f'ptrtoint ptr {starts[0]} to i64')}, {size - 1}")
    past, through, end = code.fresh("past"), code.fresh("through"), code.fresh("stored")
    code.branch(code.op(f"icmp eq i64 {rest}, 0"), past, through)
    for label, how in ((past, f"align {size}, !nontemporal !2"), (through, f"align {prim.bytes}")):
        code.label(label)
        for x, pointer in zip(texts, starts, strict=True):
            code.do(f"store {t} {x}, ptr {pointer}, {how}")
        code.jump(end)
    code.label(end)


def _pointers(e: Lanes, prim: Prim, pointer: str, indices: tuple[str, ...]) -> tuple[str, ...]:
    element, t = memory_type(prim), e.vec.raw("i64")
    return tuple(e.code.op(f"getelementptr {element}, ptr {pointer}, {t} {i}") for i in indices)


# ---- private arrays ----------------------------------------------------------------------------------------------


def _private_row(e: Lanes, place: Place, prim: Prim, index: str) -> tuple[str, ...]:
    """Addresses of the vectors that hold element `index` of every lane."""
    element = memory_type(prim)
    row = address(e, element, place.pointer, e.code.op(f"mul i64 {index}, {place.lanes}"))
    return tuple(address(e, element, row, str(j * e.width)) if j else row for j in range(e.unroll))


def _private_pointers(e: Lanes, place: Place, prim: Prim, index: LaneValue) -> tuple[str, ...]:
    scaled = []
    for j, i in enumerate(vectors(e, index)):
        row = e.vec.ins("mul", Prim.I64, i, e.vec.const(Prim.I64, place.lanes))
        scaled.append(e.vec.ins("add", Prim.I64, row, steps(Prim.I64, j * e.width, 1, e.width)))
    return _pointers(e, prim, place.pointer, tuple(scaled))


def _load_private(e: Lanes, place: Place, prim: Prim, index: LaneValue) -> tuple[str, ...]:
    assert place.lanes == e.lanes, "a private array of another number of lanes"
    if isinstance(index, Uniform):
        t = vector(memory_type(prim), e.width)
        rows = _private_row(e, place, prim, index.text)
        return tuple(e.code.op(f"load {t}, ptr {p}, align {prim.bytes * e.width}") for p in rows)
    pointers = _private_pointers(e, place, prim, index)
    return tuple(gather(e, prim, p, m) for p, m in zip(pointers, full_mask(e), strict=True))


def _store_private(e: Lanes, place: Place, prim: Prim, index: LaneValue, values: tuple[str, ...]) -> None:
    assert place.lanes == e.lanes, "a private array of another number of lanes"
    if not isinstance(index, Uniform):
        for p, x, m in zip(_private_pointers(e, place, prim, index), values, full_mask(e), strict=True):
            scatter(e, prim, p, x, m)
        return
    t = vector(memory_type(prim), e.width)
    for j, (p, x) in enumerate(zip(_private_row(e, place, prim, index.text), values, strict=True)):
        if e.mask is not None and e.mask is not place.mask:
            old = e.code.op(f"load {t}, ptr {p}, align {prim.bytes * e.width}")
            x = e.code.op(f"select {e.vec.raw('i1')} {e.mask[j]}, {t} {x}, {t} {old}")
        e.code.do(f"store {t} {x}, ptr {p}, align {prim.bytes * e.width}")


# ---- atomics -----------------------------------------------------------------------------------------------------


def atomic(e: Lanes, stm: Atomic) -> None:
    """One update outside of `Threads`; inside, one for each lane that is on, in order."""
    index, value, place = as_index(e, stm.index), operand(e, stm.value), e.places[stm.array]
    if place.lanes:
        raise IRError("lanes: an atomic update of a private array")
    if not e.in_threads:
        assert isinstance(index, Uniform), "code outside of threads is uniform"
        assert isinstance(value, Uniform), "code outside of threads is uniform"
        old = _update(e, stm, index.text, value.text)
        if stm.out is not None:
            e.env[stm.out.name] = Uniform(stm.prim, old)
        return
    for j, mask in enumerate(full_mask(e)):
        on = e.code.op(f"bitcast <{e.width} x i1> {mask} to i{e.width}")
        with e.code.each_bit(on, e.width) as first:
            lane = e.code.op(f"add i64 {first}, {j * e.width}")
            _update(e, stm, element_at(e, index, lane), element_at(e, value, lane))


_RMW = {Op.ADD: "add", Op.AND: "and", Op.OR: "or", Op.XOR: "xor"}


def _update(e: Lanes, stm: Atomic, index: str, value: str) -> str:
    """Gives the old value of an integer; others have none to give."""
    prim, op = stm.prim, stm.op
    pointer = address(e, memory_type(stm.array.prim), e.places[stm.array].pointer, index)
    if prim.is_int and (op in _RMW or op in (Op.MIN, Op.MAX)):
        name = _RMW.get(op) or ("" if prim.is_signed else "u") + op.value
        return e.code.op(f"atomicrmw {name} ptr {pointer}, {memory_type(prim)} {value} monotonic")
    if stm.out is not None:
        raise IRError(f"lanes: the old value of an atomic {op.value} of {prim.value}")
    name = f"soac.atomic.{op.value}.{prim.value}"
    t = e.one.type(prim)
    e.code.module.function(name, "void", ("ptr", t), lambda code: _compare_and_swap(code, op, prim))
    e.code.call_void(name, (("ptr", pointer), (t, value)))
    return ""


def _compare_and_swap(code: Code, op: Op, prim: Prim) -> str:
    """*%0 = op(*%0, %1), a compare-and-swap loop."""
    one, bits = Vec(code, 0), f"i{prim.bits}"
    old = code.slot(bits, 8)
    code.do(f"store {bits} {code.op(f'load atomic {bits}, ptr %0 monotonic, align {prim.bytes}')}, ptr {old}")
    code.jump("again")
    code.label("again")
    seen = code.op(f"load {bits}, ptr {old}")
    word = Prim.U8 if prim is Prim.BOOL else Prim(f"u{prim.bits}")
    before = convert(one, word, Prim.BOOL, seen) if prim is Prim.BOOL else _as(one, word, prim, seen)
    after = apply(one, op, prim, (before, "%1"))
    new = convert(one, Prim.BOOL, word, after) if prim is Prim.BOOL else _as(one, prim, word, after)
    pair = code.op(f"cmpxchg ptr %0, {bits} {seen}, {bits} {new} monotonic monotonic")
    code.do(f"store {bits} {code.op(f'extractvalue {{{bits}, i1}} {pair}, 0')}, ptr {old}")
    code.branch(code.op(f"extractvalue {{{bits}, i1}} {pair}, 1"), "done", "again")
    code.label("done")
    return ""


def _as(one: Vec, source: Prim, target: Prim, x: str) -> str:
    """The same bits as another type."""
    return one.cast("bitcast", source, target, x) if source.is_float or target.is_float else x
