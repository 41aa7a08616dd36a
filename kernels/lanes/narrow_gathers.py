"""Gathers of elements, those of less than 32 bits too, which no machine has as an instruction.

Of narrow elements lanes that are off access a spare one, since a branch for each takes longer than its access. What an
array holds is gathered by a function with a load for each lane, in whose place `runtime/narrow_gathers.py` puts what
a processor has.
"""

from __future__ import annotations

from ..llvm.text import Code, Module, mangled, vector

NARROW = "soac.narrow."
"""The functions of pointers and a mask: the elements, as integers; any in lanes that are off."""


def narrow_gather(module: Module, bits: int, width: int) -> str:
    """The name of the function for `width` elements of some bits."""
    name, element = f"{NARROW}v{width}i{bits}", f"i{bits}"

    def write(code: Code) -> str:
        pointers = everywhere(code, element, width, "%0", "%1")
        return masked_gather(code, element, bits // 8, width, pointers, "splat (i1 true)")

    params = (vector("ptr", width), vector("i1", width))
    module.function(name, vector(element, width), params, write, " alwaysinline")
    return name


def everywhere(code: Code, element: str, width: int, pointers: str, mask: str) -> str:
    """Pointers for all lanes: those that are off have a spare element."""
    ptrs, spare = vector("ptr", width), code.slot(element)
    code.do(f"store {element} zeroinitializer, ptr {spare}")
    spares = code.splat("ptr", width, spare)
    return code.op(f"select {vector('i1', width)} {mask}, {ptrs} {pointers}, {ptrs} {spares}")


def masked_gather(code: Code, element: str, size: int, width: int, pointers: str, mask: str) -> str:
    """The elements of `size` bytes at some pointers; 0 in lanes that `mask` leaves out."""
    t, ptrs, flags = (vector(x, width) for x in (element, "ptr", "i1"))
    name = f"llvm.masked.gather.{mangled(element, width)}.{mangled('ptr', width)}"
    code.module.declare(name, t, (ptrs, "i32", flags, t))
    return code.call(name, t, ((ptrs, pointers), ("i32", str(size)), (flags, mask), (t, "zeroinitializer")))
