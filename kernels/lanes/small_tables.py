"""Lookups in small tables: a permutation of registers instead of a load for each lane.

    xs[i]        xs: a table of n elements (`analysis/small_tables.py`)

What a kernel looks up is copied once to the stack, where registers may be loaded whole whatever n is. Of n that only
the call knows, a lookup asks whether they are few, unless the type of its index says so. Here a lookup is a function
with a load for each lane; what a processor has for it, `runtime/lookups.py` puts in its place.
"""

from __future__ import annotations

from ...ir.types import Const, Prim
from ..analysis.small_tables import held, small_tables
from ..kernel_ir.nodes import KArray, Operand
from ..llvm.text import Code, Module, memory_type, vector
from .gathers import masked_gather
from .values import Lanes, Table, Varying, operand, scalar

LOOKUP = "soac.lookup."
"""The functions of a table, at a pointer to whole registers, and of numbers, which are unsigned and as wide as its
elements: its elements, as integers, at these numbers; any at greater ones."""
REGISTER = 64
"""Bytes of the largest registers."""


def hold_tables(e: Lanes) -> None:
    """Copy the small tables of the kernel to the stack."""
    for array, size in small_tables(e.kernel, e.facts).items():
        e.tables[array] = _held(e, array, size)


def _held(e: Lanes, array: KArray, size: Operand) -> Table:
    code, each, most = e.code, array.prim.bytes, held(array.prim)
    known = int(size.value) if isinstance(size, Const) and int(size.value) <= most else None
    slot = code.slot(f"[{max(REGISTER, (1 << ((known or most) - 1).bit_length()) * each)} x i8]")
    if known is not None:
        _copy(code, slot, e.places[array].pointer, str(known * each))
        return Table(slot, known, "")
    count = scalar(e, operand(e, size))
    few = e.one.intrinsic("smin", Prim.I64, count, str(most))
    _copy(code, slot, e.places[array].pointer, code.op(f"mul i64 {few}, {each}"))
    return Table(slot, most, count)


def _copy(code: Code, to: str, source: str, size: str) -> None:
    code.module.declare("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1"))
    args = (("ptr", to), ("ptr", source), ("i64", size), ("i1", "false"))
    code.call_void("llvm.memcpy.p0.p0.i64", args)


def reached(e: Lanes, index: Operand, table: Table) -> int | None:
    """How many elements of a table an index may reach; None where it may reach those that are not held."""
    last = e.interval(index)[1]
    return max(1, min(table.most, last + 1)) if not table.count or last < table.most else None


def looked_up(e: Lanes, prim: Prim, table: Table, index: Varying, count: int) -> tuple[str, ...]:
    """The elements of the first `count` of a table at an index, as they lie in memory."""
    bits, width, element = prim.bits, e.width, memory_type(prim)
    numbers, own = vector(f"i{bits}", width), vector(element, width)
    name, made = lookup(e.code.module, bits, count, width), list[str]()
    for text in index.texts:
        small = text if bits == Prim.I64.bits else e.code.op(f"trunc {e.vec.raw('i64')} {text} to {numbers}")
        x = e.code.call(name, numbers, (("ptr", table.slot), (numbers, small)))
        made.append(x if own == numbers else e.code.op(f"bitcast {numbers} {x} to {own}"))
    return tuple(made)


def lookup(module: Module, bits: int, count: int, width: int) -> str:
    """The name of the function for `count` elements of some bits at `width` numbers: as one gathers."""
    name, t = f"{LOOKUP}v{width}i{bits}.{count}", vector(f"i{bits}", width)
    last = (1 << (count - 1).bit_length()) - 1

    def write(code: Code) -> str:
        inside = code.op(f"and {t} %1, splat (i{bits} {last})")
        wide = inside if bits == Prim.I64.bits else code.op(f"zext {t} {inside} to <{width} x i64>")
        places = code.op(f"getelementptr i{bits}, ptr %0, <{width} x i64> {wide}")
        return masked_gather(code, f"i{bits}", bits // 8, width, places, "splat (i1 true)")

    module.function(name, t, ("ptr", t), write, " alwaysinline")
    return name
