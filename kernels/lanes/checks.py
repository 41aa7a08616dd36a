"""Checks: a failing one records its site and values once for the launch, in a cold block, and leaves the kernel.

The failure record is a table of i64: site + 1 (0: nothing failed, -1: out of scratch memory), then the values, sign- or
zero-extended, floats as the bits of their f64. They are those of the first lane that failed. Lanes are never switched
off and continued, so whatever stands after a check may rely on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.types import Prim
from ..analysis.cost import VECTOR_BITS
from ..kernel_ir.nodes import BoundsCheck, Check, Operand
from ..llvm.convert import convert, from_memory, to_memory, to_record
from ..llvm.text import Code, Module, memory_type, vector
from .flipped_bits import vectors_outside
from .values import (
    Lanes,
    LaneValue,
    Linear,
    Mask,
    Uniform,
    Varying,
    any_lane,
    intersect,
    mask_of,
    operand,
    pointwise,
    splat,
    vectors,
)  # fmt: skip
from .windows import ends_outside

MAX_VALUES = 15
OUT_OF_MEMORY = -1


def check(e: Lanes, stm: Check) -> None:
    """Leave the kernel with the site unless `ok` holds: in every lane that is on, where it varies."""
    ok = operand(e, stm.ok)
    bad = pointwise(e, Prim.BOOL, (ok,), lambda v, a: v.negate(*a))
    values = tuple(operand(e, x) for x in stm.values)
    if isinstance(bad, Uniform):
        fail_if(e, bad.text, stm.site + 1, values)
        return
    fail_in_lanes(e, mask_of(e, bad), stm.site + 1, values)


def bounds_check(e: Lanes, stm: BoundsCheck) -> None:
    """Leave with the site unless 0 <= index < size, by one unsigned comparison; of a linear index and a uniform size,
    the lanes are compared only if the first or the last is outside."""
    index, size = operand(e, stm.index), operand(e, stm.size)
    values = tuple(operand(e, x) for x in stm.values)
    match index, size:
        case Uniform(prim, i), Uniform(_, n):
            fail_if(e, e.one.ins("icmp uge", prim, i, n), stm.site + 1, values)
        case Linear(), Uniform():
            ends = _ends_outside(e, index, size)
            with unlikely(e, ends):
                fail_in_lanes(e, _lanes_outside(e, index, size), stm.site + 1, values)
        case Varying(_, texts), Uniform(_, n) if texts in e.windows:
            with unlikely(e, ends_outside(e, e.windows[texts], n)):
                fail_in_lanes(e, _lanes_outside(e, index, size), stm.site + 1, values)
        case Varying(_, texts), Uniform(_, n) if texts in e.flipped:
            with unlikely(e, vectors_outside(e, e.flipped[texts], n)):
                fail_in_lanes(e, _lanes_outside(e, index, size), stm.site + 1, values)
        case Varying(), Uniform() if (narrow := _narrow(e, stm.index)) is not None:
            fail_in_lanes(e, _narrow_lanes_outside(e, index, size, *narrow), stm.site + 1, values)
        case _:
            fail_in_lanes(e, _lanes_outside(e, index, size), stm.site + 1, values)


def _ends_outside(e: Lanes, index: Linear, size: Uniform) -> str:
    """i1: is the first or the last lane outside? If neither is, no lane is: the steps are small and constant. Under a
    mask the answer may be yes in vain."""
    v = e.one
    last = v.ins("add", index.prim, index.base, str((e.lanes - 1) * index.stride))
    low = v.ins("icmp uge", index.prim, index.base, size.text)
    return v.either(low, v.ins("icmp uge", index.prim, last, size.text))


def _lanes_outside(e: Lanes, index: LaneValue, size: LaneValue) -> Mask:
    indices, sizes = vectors(e, index), vectors(e, size)
    outside = tuple(e.vec.ins("icmp uge", index.prim, i, n) for i, n in zip(indices, sizes, strict=True))
    return intersect(e, e.mask, outside)


def _narrow(e: Lanes, index: Operand) -> tuple[Prim, int] | None:
    """The integer that has all values of an index, where a vector of lanes has many more of them, and how many of its
    values, from 0 on, are indices."""
    least, greatest = e.interval(index)
    for prim in (Prim.U8, Prim.U16, Prim.U32):
        end = 1 << prim.bits if least >= 0 else 1 << prim.bits - 1
        if greatest < end and least >= end - (1 << prim.bits) and e.width * Prim.I64.bits > VECTOR_BITS:
            return prim, end
    return None


def _narrow_lanes_outside(e: Lanes, index: Varying, size: Uniform, prim: Prim, end: int) -> Mask:
    """As `_lanes_outside`: an index is greater than the last, or there is none."""
    one, vec = e.one, e.vec
    few = one.intrinsic("umin", Prim.U64, size.text, str(end))
    last = splat(e, prim, one.cast("trunc", Prim.U64, prim, one.ins("sub", Prim.U64, few, "1")))
    none = splat(e, Prim.BOOL, one.ins("icmp eq", Prim.U64, size.text, "0"))
    small = (vec.cast("trunc", Prim.U64, prim, text) for text in index.texts)
    return intersect(e, e.mask, tuple(vec.either(vec.ins("icmp ugt", prim, i, last), none) for i in small))


@contextmanager
def unlikely(e: Lanes, cond: str) -> Iterator[None]:
    """Code that runs where `cond` holds, out of the way; it joins again behind itself."""
    code = e.code
    cold, joined = code.fresh("cold"), code.fresh("joined")
    with code.rarely(cond, cold, joined):
        yield
        code.jump(joined)


def fail_if(e: Lanes, bad: str, record: int, values: tuple[LaneValue, ...]) -> None:
    """Leave with a failure if the scalar `bad` holds; values are those of the first lane that is on."""
    with failing(e, bad):
        lane = first_lane(e, e.mask) if e.mask is not None else "0"
        report(e, record, tuple(value_at(e, x, lane) for x in values[:MAX_VALUES]))


def fail_in_lanes(e: Lanes, bad: Mask, record: int, values: tuple[LaneValue, ...]) -> None:
    """Leave with a failure if a lane is `bad`; values are those of the first that is, at most MAX_VALUES of them."""
    with failing(e, any_lane(e, bad)):
        lane = first_lane(e, bad)
        report(e, record, tuple(value_at(e, x, lane) for x in values[:MAX_VALUES]))


@contextmanager
def failing(e: Lanes, cond: str) -> Iterator[None]:
    """Code that runs where `cond` holds, then leaves the kernel."""
    with e.code.rarely(cond, e.code.fresh("fail"), e.code.fresh("fine")):
        yield
        e.code.do("ret void")


def first_lane(e: Lanes, mask: Mask) -> str:
    """i64: the first lane of the mask, which is not empty."""
    code, bits = e.code, f"i{e.width}"
    code.module.declare(f"llvm.cttz.{bits}", bits, (bits, "i1"))
    lane = "0"
    for j in range(e.unroll - 1, -1, -1):
        group = code.op(f"bitcast <{e.width} x i1> {mask[j]} to {bits}")
        inside = code.call(f"llvm.cttz.{bits}", bits, ((bits, group), ("i1", "false")))
        inside = inside if e.width == 64 else code.op(f"zext {bits} {inside} to i64")
        position = code.op(f"add i64 {inside}, {j * e.width}")
        lane = code.op(f"select i1 {code.op(f'icmp ne {bits} {group}, 0')}, i64 {position}, i64 {lane}")
    return lane


def value_at(e: Lanes, value: LaneValue, lane: str) -> str:
    """i64: what the record holds of a value in one lane."""
    return to_record(e.one, value.prim, element_at(e, value, lane))


def element_at(e: Lanes, value: LaneValue, lane: str) -> str:
    """The scalar of a value in a lane known at run time."""
    match value:
        case Uniform(_, text):
            return text
        case Linear(prim, base, stride, _):
            offset = convert(e.one, Prim.I64, prim, e.code.op(f"mul i64 {lane}, {stride}"))
            return e.one.ins("add", prim, base, offset)
        case Varying(prim, texts):
            memory = spill(e, prim, texts)
            element = memory_type(prim)
            address = e.code.op(f"getelementptr {element}, ptr {memory}, i64 {lane}")
            return from_memory(e.one, prim, e.code.op(f"load {element}, ptr {address}"))


def spill(e: Lanes, prim: Prim, texts: tuple[str, ...]) -> str:
    """Store the vectors in stack memory that is shared by all who spill; gives its address."""
    element = memory_type(prim)
    key = f"{element}.{e.lanes}"
    if key not in e.scratch:
        e.scratch[key] = e.code.slot(f"[{e.lanes} x {element}]")
    memory, t = e.scratch[key], vector(element, e.width)
    for j, text in enumerate(texts):
        stored = to_memory(e.vec, prim, text)
        address = e.code.op(f"getelementptr {element}, ptr {memory}, i64 {j * e.width}")
        e.code.do(f"store {t} {stored}, ptr {address}, align {prim.bytes}")
    return memory


def report(e: Lanes, record: int, words: tuple[str, ...]) -> None:
    """Write the failure record, unless another failure was first."""
    if "words" not in e.scratch:
        e.scratch["words"] = e.code.slot(f"[{MAX_VALUES} x i64]")
    memory = e.scratch["words"]
    for k, text in enumerate(words):
        e.code.do(f"store i64 {text}, ptr {e.code.op(f'getelementptr i64, ptr {memory}, i64 {k}')}")
    define_fail(e.code.module)
    args = (
        ("ptr", "%record"),
        ("i64", str(record)),
        ("ptr", memory),
        ("i64", str(len(words))),
    )
    e.code.call_void("soac.fail", args)


def define_fail(module: Module) -> None:
    """The function `soac.fail(record, first word, values, count)`, which writes the record if its first word was 0: of
    workers that fail at once, one does."""

    def write(code: Code) -> str:
        won = code.op("cmpxchg ptr %0, i64 0, i64 %1 seq_cst seq_cst")
        code.branch(code.op(f"extractvalue {{i64, i1}} {won}, 1"), "won", "lost")
        code.label("won")
        target = code.op("getelementptr i64, ptr %0, i64 1")
        size = code.op("mul i64 %3, 8")
        module.declare("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1"))
        code.call_void("llvm.memcpy.p0.p0.i64", (("ptr", target), ("ptr", "%2"), ("i64", size), ("i1", "false")))
        code.jump("lost")
        code.label("lost")
        return ""

    module.function("soac.fail", "void", ("ptr", "i64", "ptr", "i64"), write)
