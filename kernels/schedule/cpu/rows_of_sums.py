"""A few short sums for each row: a lane has a row, with loops over its sums.

    segmap (i < n, j < m) { redomap over k < d of f(a[i,k], b[j,k]) }      m < LANES, d < most_elements
    ⟶  threads i { p = copy a[i]; for j < m { acc = ne; for k < d { acc ⊕= f(p[k], b[j,k]) }; ys[i,j] = acc } }

Lanes over j or k would mostly be off, and each row would be a block. The copy is in memory of the thread, where
elements of neighbouring lanes lie side by side; columns do so anyway. The order of the sums stays.
"""

from __future__ import annotations

from ....ir.core import Body, Screma
from ....ir.traverse import all_exps
from ....ir.types import Atom, Name, Prim, Type
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import Kernel, Space
from ...kernel_ir.traverse import all_statements
from ..kernel_builder import ONE, ArrayRef, Builder, Mode, Operand, Value
from ..soacs import only_scalars
from ..statements import gen_stm
from .factors import dependents
from .short_rows import loops, where_points

OF_COPIES, OF_COLUMNS = 32, 256
"""From this many elements on, lanes over the elements of a sum are no worse, where rows are copied, and where they
lie as columns."""


def most_elements(kernel: Kernel) -> int:
    """From how many elements of a sum on lanes over them are no worse."""
    return OF_COPIES if any(isinstance(stm, kir.Alloc) for stm in all_statements(kernel.body)) else OF_COLUMNS


def loops_over_sums(
    b: Builder,
    outs: list[tuple[Name, Type]],
    at: tuple[Operand, ...],
    dims: tuple[tuple[Name, Atom], ...],
    body: Body,
) -> None:
    """The results of all points of `dims` at indices `at` of those around them, the last of which is that of the
    lanes."""
    of_elements = dependents(body.stms, {index for index, _ in dims})
    read = {name for exp in all_exps(body) if isinstance(exp, Screma) for name in exp.arrays}
    early = [stm for stm in body.stms if of_elements.isdisjoint(p.name for p in stm.pat)]
    late = tuple([stm for stm in body.stms if stm not in early])
    with where_points(b, dims, early):
        for stm in early:
            gen_stm(b, stm, Mode.THREAD)
            b.env.update({p.name: near(b, b.env[p.name]) for p in stm.pat if p.name in read})
        loops(b, outs, at, dims, Body(late, body.result))


def near(b: Builder, row: Value) -> Value:
    """A copy in memory of the thread of a row whose elements are contiguous; else as it is."""
    if not isinstance(row, ArrayRef) or row.mem.space is not Space.GLOBAL or row.strides != (ONE,):
        return row
    copy = b.alloc("near", row.mem.prim, row.shape, Space.PRIVATE)
    with b.loop(b.fresh("k", Prim.I64), row.shape[0]) as k:
        (value,) = only_scalars([b.element(row, (k,))])
        b.emit(kir.Store(copy.mem, k, value))
    return copy
