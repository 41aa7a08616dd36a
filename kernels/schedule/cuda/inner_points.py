"""What the threads of a block do inside of it, on a machine with many: a map over several dimensions at once.

    segmap^thread (i < n, j < m) { e }  in a block   ⟶   threads p in 0..n*m { i = p / m; j = p % m; e }

Lanes of a CPU take one dimension (`schedule/inner_segops.py`), and loops the others; a block's threads are too many for
that.
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import Stm
from ....ir.types import Const, Prim
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KVar
from ..array_values import copy_into, flat_indices
from ..kernel_builder import ONE, ZERO, ArrayRef, Builder, Mode, Operand, Value
from ..statements import gen_body, new_array


def points(b: Builder, stm: Stm, exp: core.SegMap) -> tuple[Value, ...]:
    """A thread for each point; gives the arrays of the statement's pattern."""
    arrays = [new_array(b, p.name, p.type, Mode.BLOCK) for p in stm.pat]
    shape = tuple(b.operand(width) for width in exp.space.widths)
    total: Operand = ONE
    for width in shape:
        total = b.mul(total, width, "points")
    point = b.fresh("point", Prim.I64)
    with b.nested() as stms:
        indices = flat_indices(b, shape, point)
        b.env.update((name, index) for (name, _), index in zip(exp.space.dims, indices, strict=True))
        for array, value in zip(arrays, gen_body(b, exp.body, Mode.THREAD), strict=True):
            put_at(b, array, indices, value)
    b.emit(kir.Threads(point, ZERO, total, tuple(stms)))
    return tuple(arrays)


def put_at(b: Builder, array: ArrayRef, indices: tuple[Operand, ...], value: Value) -> None:
    """`array[indices] := value` for a scalar; a row is copied by the thread."""
    if isinstance(value, (KVar, Const)):
        b.emit(kir.Store(array.mem, b.address(array, indices), value))
        return
    row = b.element(array, indices)
    assert isinstance(row, ArrayRef)
    copy_into(b, row, value, Mode.THREAD)
