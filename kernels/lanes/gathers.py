"""Gathers and scatters.

Few machines have instructions for them under a mask, and for elements of less than 32 bits none has; LLVM writes these
out with a branch for each lane, which takes longer than its access unless masks follow a pattern, as those of loops do,
which lanes leave once. There lanes that are off gather the first element of an array, and scatter to a spare one.
Narrow elements that an array holds are gathered by a function with a load for each lane, in whose place
`runtime/narrow_gathers.py` puts what a processor has.
"""

from __future__ import annotations

from ...ir.types import Prim
from ..llvm.text import Code, Module, mangled, memory_type, vector
from .values import ALL_ON, Lanes, LaneValue, Mask, full_mask, vectors

GATHERED = 4
"""Bytes of the smallest elements for which machines have gathers and scatters."""
NARROW = "soac.narrow."
"""The functions of pointers: the elements, as integers."""


def gathered_indices(e: Lanes, prim: Prim, index: LaneValue) -> tuple[tuple[str, ...], Mask]:
    """Indices and masks of gathers of one array. Lanes that are off may have 0: as no code runs with all lanes off, the
    array has an element."""
    if e.mask is None or _has_masks(e, prim):
        return vectors(e, index), full_mask(e)
    pairs = zip(vectors(e, index), e.mask, strict=True)
    return tuple(_on(e, prim, m, e.vec.raw("i64"), x, "zeroinitializer") for x, m in pairs), (ALL_ON,) * e.unroll


def gather(e: Lanes, prim: Prim, pointers: str, mask: str) -> str:
    """The elements at the pointers of one vector, as they lie in memory; any in lanes that `mask` leaves out."""
    pointers, mask = _everywhere(e, prim, pointers, mask) if prim.bytes < GATHERED else (pointers, mask)
    return masked_gather(e.code, memory_type(prim), prim.bytes, e.width, pointers, mask)


def gather_from_array(e: Lanes, prim: Prim, pointers: str, mask: str) -> str:
    """As `gather`; what is of the thread alone, and was just written, is not read in words."""
    if prim.bytes >= GATHERED:
        return gather(e, prim, pointers, mask)
    t, name = e.vec.raw(memory_type(prim)), narrow_gather(e.code.module, prim.bits, e.width)
    return e.code.call(name, t, ((e.vec.raw("ptr"), pointers),))


def scatter(e: Lanes, prim: Prim, pointers: str, value: str, mask: str) -> None:
    """Store the elements of one vector at its pointers, in the lanes of `mask`."""
    pointers, mask = _everywhere(e, prim, pointers, mask) if prim.bytes < GATHERED else (pointers, mask)
    e.code.masked_scatter(memory_type(prim), prim.bytes, e.width, value, pointers, mask)


def scatter_to_array(e: Lanes, prim: Prim, pointers: str, value: str, mask: str) -> None:
    """As `scatter`, for what is not of the thread alone, whose masks mostly follow a pattern."""
    pointers, mask = (pointers, mask) if _has_masks(e, prim) else _everywhere(e, prim, pointers, mask)
    scatter(e, prim, pointers, value, mask)


def _everywhere(e: Lanes, prim: Prim, pointers: str, mask: str) -> tuple[str, str]:
    """Pointers and mask of an access without an instruction: lanes that are off have a spare element."""
    if mask == ALL_ON:
        return pointers, mask
    ptrs, element, spare = e.vec.raw("ptr"), memory_type(prim), e.code.slot(memory_type(prim))
    e.code.do(f"store {element} zeroinitializer, ptr {spare}")
    return _on(e, prim, mask, ptrs, pointers, e.code.splat("ptr", e.width, spare)), ALL_ON


def _on(e: Lanes, prim: Prim, mask: str, t: str, x: str, otherwise: str) -> str:
    """`x` in the lanes that are on. Of the few lanes of wide elements mostly all are, and then nothing waits for the
    mask."""
    code, bits, flags = e.code, f"i{e.width}", e.vec.raw("i1")
    choice = f"select {flags} {mask}, {t} {x}, {t} {otherwise}"
    if prim.bytes < GATHERED:
        return code.op(choice)
    slot, off, on = code.slot(t), code.fresh("off"), code.fresh("on")
    code.do(f"store {t} {x}, ptr {slot}")
    with code.rarely(code.op(f"icmp ne {bits} {code.op(f'bitcast {flags} {mask} to {bits}')}, -1"), off, on):
        code.do(f"store {t} {code.op(choice)}, ptr {slot}")
        code.jump(on)
    return code.op(f"load {t}, ptr {slot}")


def _has_masks(e: Lanes, prim: Prim) -> bool:
    """Whether masks are instructions, or branches that follow a pattern."""
    return prim.bytes >= GATHERED and (e.masks or not e.branched)


def narrow_gather(module: Module, bits: int, width: int) -> str:
    """The name of the function for `width` elements of some bits."""
    name, element = f"{NARROW}v{width}i{bits}", f"i{bits}"

    def write(code: Code) -> str:
        return masked_gather(code, element, bits // 8, width, "%0", "splat (i1 true)")

    module.function(name, vector(element, width), (vector("ptr", width),), write, " alwaysinline")
    return name


def masked_gather(code: Code, element: str, size: int, width: int, pointers: str, mask: str) -> str:
    """The elements of `size` bytes at some pointers; 0 in lanes that `mask` leaves out."""
    t, ptrs, flags = (vector(x, width) for x in (element, "ptr", "i1"))
    name = f"llvm.masked.gather.{mangled(element, width)}.{mangled('ptr', width)}"
    code.module.declare(name, t, (ptrs, "i32", flags, t))
    return code.call(name, t, ((ptrs, pointers), ("i32", str(size)), (flags, mask), (t, "zeroinitializer")))
