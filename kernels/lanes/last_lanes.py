"""The last lanes that are on in a loop: one after the other, in scalar code.

    while { before; cond } { body }   in lanes
    ⟶ while { before; more than MOST lanes stay } { body }   for each lane that stays while { before; cond } { body }

A turn of a vector takes as long as several turns of scalar code, whatever lanes are on: where one of a hundred points
takes a thousand turns, and the others few, nearly all lanes would be off in most turns.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.ops import DIVISIONS, EXPENSES, Expense, can_fail
from ...ir.types import Const
from ..kernel_ir.nodes import Assign, Declare, For, KConvert, KIf, KLet, KOp, KStm, KVar, KWhile, Note
from ..kernel_ir.traverse import assigned, children, defined, mentions, statements
from ..llvm.text import llvm_type
from .checks import element_at
from .values import Lanes, Mask, Slot, Uniform, load_slot

MOST, OF_LONG_TURNS = 4, 1
"""Lanes that are left to scalar code: of a loop whose turns take some instructions, of one that divides or calls."""
WORD = 64
"""Bits that tell which lanes are on."""


def most_alone(e: Lanes, stm: For | KWhile) -> int:
    """How many lanes scalar code goes on with; 0 where the loop does more than compute."""
    found = tuple(one for stms in children(stm) for one in statements(stms))
    again = isinstance(stm, KWhile) and assigned(stm.before)
    if e.alone or e.lanes > WORD or again or not all(map(_computes, found)):
        return 0
    long = any(_expense(one) in (Expense.DIVISION, Expense.CALL) for one in found)
    return min(OF_LONG_TURNS if long else MOST, e.lanes // 4)


def _computes(stm: KStm) -> bool:
    match stm:
        case KLet(_, KOp(op, _, (_, Const(_, by)))) if op in DIVISIONS:
            return bool(by)
        case KLet(_, KOp(op, prim, _)):
            return not can_fail(op, prim)
        case KLet(_, KConvert()) | Declare() | Assign() | KIf() | Note():
            return True
        case _:
            return False


def _expense(stm: KStm) -> Expense | None:
    match stm:
        case KLet(_, KOp(op, prim, (_, Const()))) if op in DIVISIONS and prim.is_int:
            return Expense.FEW
        case KLet(_, KOp(op)):
            return EXPENSES[op]
        case _:
            return None


def more_than(e: Lanes, count: int, mask: Mask) -> str:
    """i1: are more lanes on than this?"""
    e.code.module.declare("llvm.ctpop.i64", "i64", ("i64",))
    on = e.code.call("llvm.ctpop.i64", "i64", (("i64", _bits(e, mask)),))
    return e.code.op(f"icmp ugt i64 {on}, {count}")


def _bits(e: Lanes, mask: Mask) -> str:
    """i64: a bit for each lane."""
    code, joined = e.code, "0"
    for j, lanes in enumerate(mask):
        word = code.op(f"bitcast <{e.width} x i1> {lanes} to i{e.width}")
        wide = word if e.width == WORD else code.op(f"zext i{e.width} {word} to i64")
        joined = code.op(f"or i64 {joined}, {code.op(f'shl i64 {wide}, {j * e.width}')}")
    return joined


def last_lanes(e: Lanes, stm: For | KWhile, mask: Mask, loop: Callable[[], None]) -> None:
    """Go on with each lane of the mask alone; `loop` writes the loop, whose variables are scalars then."""
    with e.code.each_bit(_bits(e, mask), WORD) as lane:
        _alone(e, stm, lane, loop)


def _alone(e: Lanes, stm: For | KWhile, lane: str, loop: Callable[[], None]) -> None:
    """The loop for one lane; what it assigns is put back."""
    changed, inside, outside = assigned((stm,)), defined((stm,)), dict(e.env)
    put_back: list[tuple[Slot, Slot]] = []
    for var in dict.fromkeys(one for one in mentions(stm) if isinstance(one, KVar) and one.name not in inside):
        value = outside[var.name]
        if isinstance(value, Slot) and (value.varying or var.name in changed):
            own = Slot(var.prim, False, (e.code.slot(llvm_type(var.prim)),), None)
            text = element_at(e, load_slot(e, value), lane)
            e.code.do(f"store {llvm_type(var.prim)} {text}, ptr {own.pointers[0]}")
            e.env[var.name] = own
            if value.varying and var.name in changed:
                put_back.append((value, own))
        elif not isinstance(value, Slot | Uniform):
            e.env[var.name] = Uniform(var.prim, element_at(e, value, lane))
    e.alone = True
    with e.masked(None):
        loop()
    e.alone, e.env = False, outside
    for slot, own in put_back:
        _put(e, slot, load_slot(e, own), lane)


def _put(e: Lanes, slot: Slot, value: Uniform, lane: str) -> None:
    code, t, scalar = e.code, e.type(slot.prim), llvm_type(slot.prim)
    group, at = code.op(f"udiv i64 {lane}, {e.width}"), code.op(f"urem i64 {lane}, {e.width}")
    for j, pointer in enumerate(slot.pointers):
        old = code.op(f"load {t}, ptr {pointer}")
        new = code.op(f"insertelement {t} {old}, {scalar} {value.text}, i64 {at}")
        here = code.op(f"icmp eq i64 {group}, {j}")
        code.do(f"store {t} {code.op(f'select i1 {here}, {t} {new}, {t} {old}')}, ptr {pointer}")
