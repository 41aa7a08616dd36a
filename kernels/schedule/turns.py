"""Buffers of what iterations make anew: of two halves, of which one has the last iteration's values, or of one, where a
map reads of these only the elements that it overwrites."""

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


@dataclass(frozen=True, slots=True)
class InPlace:
    """The buffer of an array parameter, which the statement that binds `made` overwrites."""

    buffer: ArrayRef
    made: Name


Slot = Value | Turns | InPlace
"""Where a parameter is: a variable, memory that results are copied into, or that they are made in."""

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


def reading(b: Builder, slot: Slot) -> Value:
    """The value that a parameter has now."""
    match slot:
        case Turns(first, distance, turn):
            return replace(first, offset=b.mul(b.copy(turn), distance))
        case InPlace(buffer):
            return buffer
        case KVar():
            return b.copy(slot)
        case _:
            return slot


def making(b: Builder, slot: Slot) -> Value:
    """Where the next value of a parameter belongs."""
    match slot:
        case Turns(first, distance, _, made):
            place = replace(first, offset=b.mul(other(b, slot), distance))
        case InPlace(place, made):
            pass
        case _:
            return slot
    b.destinations[made] = place
    return place


def other(b: Builder, slot: Turns) -> Operand:
    """The turn after the present one: 1 - turn."""
    return b.sub(ONE, b.copy(slot.turn))


def turn_over(b: Builder, slot: Slot) -> None:
    """At the end of an iteration: the next one reads what this one has made."""
    if isinstance(slot, Turns):
        b.emit(kir.Assign(slot.turn, other(b, slot)))
