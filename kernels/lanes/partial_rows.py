"""Some elements of a short row for each lane, at a place of its own: the row as a word, and a function that stores it.

The function is as one scatters elements that no machine scatters: one by one, those that are left out at a spare place.
A processor that stores some bytes of a register stores a row at once (`kernels/devices/cpu/runtime/partial_rows.py`).
"""

from __future__ import annotations

from ..kernel_ir.nodes import StoreSome
from ..llvm.text import Code, Module, vector
from .memory import as_index, stored
from .values import Lanes, mask_of, operand, vectors

SOME = "soac.some."
"""Functions of an array, of the place of a row for each lane, of its elements as a word and of bits that say which are
stored."""


def store_some(e: Lanes, stm: StoreSome) -> None:
    """`array[index + k] := values[k]` where `keeps[k]` holds, in the lanes that are on."""
    code, bits, width = e.code, stm.array.prim.bits, e.width
    words, flags = vector("i64", width), vector("i8", width)
    name = storing(code.module, width, bits, len(stm.values))
    columns = [stored(e, operand(e, value)) for value in stm.values]
    masks = [mask_of(e, operand(e, keep)) for keep in stm.keeps]
    for group, at in enumerate(vectors(e, as_index(e, stm.index))):
        word, keep = "zeroinitializer", "zeroinitializer"
        for k, (column, mask) in enumerate(zip(columns, masks, strict=True)):
            wide = code.op(f"zext {vector(f'i{bits}', width)} {column[group]} to {words}")
            word = code.op(f"or {words} {word}, {code.op(f'shl {words} {wide}, splat (i64 {k * bits})')}")
            bit = f"select <{width} x i1> {mask[group]}, {flags} splat (i8 {1 << k}), {flags} zeroinitializer"
            keep = code.op(f"or {flags} {keep}, {code.op(bit)}")
        args = (("ptr", e.places[stm.array].pointer), (words, at), (words, word), (flags, keep))
        code.call_void(name, args)


def storing(module: Module, width: int, bits: int, count: int) -> str:
    """The name of the function for `width` rows of `count` elements of some bits: as one stores elements one by one."""
    name = f"{SOME}v{width}i{bits}.{count}"
    words, flags, ptrs = vector("i64", width), vector("i8", width), vector("ptr", width)
    element, t = f"i{bits}", vector(f"i{bits}", width)

    def write(code: Code) -> str:
        spares = code.splat("ptr", width, code.slot(element))
        for k in range(count):
            x = code.op(f"trunc {words} {code.op(f'lshr {words} %2, splat (i64 {k * bits})')} to {t}")
            bit = code.op(f"and {flags} %3, splat (i8 {1 << k})")
            keep = code.op(f"icmp ne {flags} {bit}, zeroinitializer")
            at = code.op(f"add {words} %1, splat (i64 {k})")
            place = code.op(f"getelementptr {element}, ptr %0, {words} {at}")
            to = code.op(f"select <{width} x i1> {keep}, {ptrs} {place}, {ptrs} {spares}")
            code.masked_scatter(element, bits // 8, width, x, to, "splat (i1 true)")
        return ""

    module.function(name, "void", ("ptr", words, words, flags), write, " alwaysinline")
    return name
