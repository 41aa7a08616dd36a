"""Indices of lanes that are close together: all elements that a vector of lanes reads are in one vector of memory.

    i of lane l  =  base + offset(l)        0 <= offset(l) <= last < W, each offset up to last that of some lane

An access is one load of a vector, masked behind `last`, and one permutation of it, where a gather takes an access for
each lane.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.ops import Op
from ...ir.types import Prim
from ..llvm.text import Code, memory_type
from .small_tables import REGISTER, lookup
from .values import Lanes, LaneValue, Uniform, Varying, Window

MOST_MOVED = 1 << 24
"""Numbers added to small indices, which do not wrap."""


def moved(e: Lanes, op: Op, args: tuple[LaneValue, ...], result: LaneValue) -> None:
    """What is known of the sum or difference of an index and a number."""
    match op, args:
        case Op.ADD | Op.SUB, (Varying(Prim.I64, texts), Uniform(_, text)) if texts in e.windows:
            pass
        case Op.ADD, (Uniform(_, text), Varying(Prim.I64, texts)) if texts in e.windows:
            pass
        case _:
            return
    known = e.windows[texts]
    bases = tuple(e.one.ins("sub" if op is Op.SUB else "add", Prim.I64, base, text) for base in known.bases)
    if isinstance(result, Varying):
        few = known.few and not text.startswith("%") and abs(int(text)) < MOST_MOVED
        e.windows[result.texts] = replace(known, bases=bases, few=few)


def permuted(e: Lanes, prim: Prim, x: str, offsets: str) -> str:
    """The lanes that the offsets name of a vector: elements of a small table, which a processor has in a register."""
    code, bits = e.code, 8 * prim.bytes
    own, t = e.vec.raw(memory_type(prim)), e.vec.raw(f"i{bits}")
    slot = code.slot(f"[{max(REGISTER, e.width * prim.bytes)} x i8]")
    code.do(f"store {t} {_cast(code, own, x, t)}, ptr {slot}")
    numbers = offsets if bits == Prim.I32.bits else _resized(code, e.vec.raw("i32"), offsets, t, bits)
    found = code.call(lookup(code.module, bits, e.width, e.width), t, (("ptr", slot), (t, numbers)))
    return _cast(code, t, found, own)


def _cast(code: Code, t: str, x: str, to: str) -> str:
    return x if t == to else code.op(f"bitcast {t} {x} to {to}")


def _resized(code: Code, t: str, x: str, to: str, bits: int) -> str:
    return code.op(f"{'zext' if bits > Prim.I32.bits else 'trunc'} {t} {x} to {to}")


def ends_outside(e: Lanes, window: Window, size: str) -> str:
    """i1: may an index be outside of 0 .. size - 1?"""
    one = e.one
    last = one.ins("add", Prim.I64, window.bases[-1], one.cast("zext", Prim.I32, Prim.I64, window.lasts[-1]))
    ends = (one.ins("icmp uge", Prim.I64, end, size) for end in (window.bases[0], last))
    return one.either(one.negate(window.holds), one.either(*ends))
