"""Arrays of which lanes take elements at numbers of their own, and which are so small that registers hold them.

check 0 <= i < n else ..    let x = xs[i]        the n elements of xs, of the one dimension that is checked
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import written_arrays
from ..kernel_ir.nodes import BoundsCheck, KArray, Kernel, KLet, KLoad, KStm, Operand
from ..kernel_ir.traverse import children, operators
from .uniformity import Facts, Varying

HELD = {1: (64, 256), 2: (32, 256), 4: (32, 128), 8: (16, 32)}
"""How many elements of a table registers hold, by their bytes: in one register of bytes and words or two of others, and
as many as take less time than to load each."""


def small_tables(kernel: Kernel, facts: Facts) -> Mapping[KArray, Operand]:
    """The arrays, which the kernel does not write, and how many elements they have: a constant, or a scalar of the
    kernel."""
    known: dict[KArray, Operand] = {array: i64(n) for array, n in kernel.lengths}
    read, written = set[KArray](), written_arrays(kernel)
    for array, index, size in _loads(kernel.body):
        if isinstance(facts.of(index), Varying) and array.space is kir.Space.GLOBAL and array not in written:
            read.add(array)
            if isinstance(size, Const) or size in kernel.scalars:
                known.setdefault(array, size)
    return {array: size for array, size in known.items() if array in read}


def held(prim: Prim) -> int:
    """How many elements of a type registers hold."""
    return HELD[prim.bytes][-1]


def _loads(stms: tuple[KStm, ...]) -> Iterator[tuple[KArray, Operand, Operand | None]]:
    """What is loaded at which index; where that has just been checked, and alone, against the size of the array, this
    size."""
    before: KStm | None = None
    for stm in stms:
        match stm, before:
            case KLet(_, KLoad(array, index)), BoundsCheck(checked, size, _, values) if index == checked and values == (
                checked,
                size,
            ):
                yield array, index, size
            case KLet(_, KLoad(array, index)), _:
                yield array, index, None
            case _:
                pass
        before = stm
        for inner in (*children(stm), *(op.body for op in operators(stm))):
            yield from _loads(inner)
