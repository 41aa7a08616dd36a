"""Buffers of two halves: what an iteration of a loop makes anew goes where the last iteration's does not lie."""

from __future__ import annotations

from dataclasses import replace

from ...ir.records import dataclass
from ...ir.types import Name, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KVar
from .array_values import copy_into, prim_of, shape_of
from .kernel_builder import ONE, ZERO, ArrayRef, Builder, Mode, Operand, Value


@dataclass(frozen=True, slots=True)
class Turns:
    """Two halves of a buffer for an array parameter: the one that begins at `turn * distance`, turn 0 or 1, has its
    value; the statement that binds `made` fills the other one."""

    first: ArrayRef
    distance: Operand
    turn: KVar
    made: Name


APART = 1024  # bytes


def take_turns(b: Builder, made: Name, base: str, init: Value, mode: Mode) -> Turns:
    """Both halves, the first of which holds the initial value. On a CPU they are `APART`: where the addresses of a load
    and of a store before it agree in their last 12 bits, the processor takes them for one place and the load waits."""
    prim, shape = prim_of(init), shape_of(init)
    distance = b.product(shape)
    if not b.has_threads:
        distance = b.add(distance, i64(APART // prim.bytes if mode is Mode.BLOCK else 1))
    both = b.alloc(base, prim, (b.mul(i64(2), distance),), mode.space)
    first = ArrayRef(both.mem, ZERO, shape, b.strides(shape), True)
    copy_into(b, first, init, mode)
    return Turns(first, distance, b.declare("turn", ZERO), made)


def reading(b: Builder, slot: Value | Turns) -> Value:
    """The value that a parameter has now."""
    match slot:
        case Turns(first, distance, turn):
            return replace(first, offset=b.mul(b.copy(turn), distance))
        case KVar():
            return b.copy(slot)
        case _:
            return slot


def making(b: Builder, slot: Value | Turns) -> Value:
    """Where the next value of a parameter belongs."""
    if not isinstance(slot, Turns):
        return slot
    half = replace(slot.first, offset=b.mul(other(b, slot), slot.distance))
    b.destinations[slot.made] = half
    return half


def other(b: Builder, slot: Turns) -> Operand:
    """The turn after the present one: 1 - turn."""
    return b.sub(ONE, b.copy(slot.turn))


def turn_over(b: Builder, slot: Value | Turns) -> None:
    """At the end of an iteration: the next one reads what this one has made."""
    if isinstance(slot, Turns):
        b.emit(kir.Assign(slot.turn, other(b, slot)))
