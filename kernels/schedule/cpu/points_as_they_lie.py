"""Maps over points that lie side by side: one dimension in the place of several.

    segmap (i < n, j < m) { .. xs[i, j] .. }   ⟶   threads t in a chunk of 0..n*m { .. xs[t] .. }

where the indices say nothing but where elements lie (`passes/join_rows.py`).
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import SegSpace
from ....ir.records import dataclass
from ....ir.types import Prim, Var
from ...analysis.cost import EXTENT
from ...kernel_ir.affine import Environment
from ...kernel_ir.nodes import KLet, KVar
from ...kernel_ir.traverse import assigned
from ...passes.join_rows import joined
from ..kernel_builder import Mode, NotLowerable, Operand
from ..space import OPEN, lanes_over_chunk, segment_results
from ..table import Segop
from .lanes_kernel import LanesKernel, chunk_length, launch_lanes


@dataclass(frozen=True, slots=True)
class Joined:
    """A kernel with lanes over the points of all dimensions but `outer` ones."""

    lanes: LanesKernel
    outer: int

    @property
    def cost(self) -> float:
        return self.lanes.cost


def joined_kernel(s: Segop[core.SegMap]) -> Joined | str:
    """The kernel that goes over the points of most dimensions as they lie, two at least; else why there is none."""
    for outer in range(len(s.exp.space.dims) - 1):
        try:
            return over_points(s, outer)
        except NotLowerable:
            pass
    return "its elements do not lie side by side"


def over_points(s: Segop[core.SegMap], outer: int) -> Joined:
    """`threads t` over a chunk of the points of the dimensions from `outer` on. Raises NotLowerable where these do not
    lie side by side."""
    b, dims = s.h.builder(), s.exp.space.dims
    point, points = s.h.names.fresh("point"), s.h.names.fresh("points")
    widths = tuple(b.operand(width) for _, width in dims[outer:])
    b.env[points] = b.product(widths)

    def fill(at: tuple[Operand, ...]) -> None:
        *before, index = at
        assert isinstance(index, KVar)
        nest = tuple(zip([b.index(name) for name, _ in dims[outer:]], widths, strict=True))
        b.inside |= set(nest)
        with b.nested() as stms:
            segment_results(b, s.exp.body, s.outs, (*before, *(var for var, _ in nest)), Mode.THREAD)
        values = Environment(assigned(stms))
        for stm in b.prologue:
            if isinstance(stm, KLet):
                values.note(stm)
        found = joined(tuple(stms), nest, index, values, lambda base: b.fresh(base, Prim.I64))
        if found is None:
            raise NotLowerable("points that do not lie side by side")
        b.stms += found

    lanes_over_chunk(b, SegSpace((*dims[:outer], (point, Var(points)))), OPEN, fill)
    made = s.h.finish(b, s.base)
    each = made.cost / EXTENT
    return Joined(LanesKernel(made, chunk_length(each), each, 1), outer)


def launch_joined(s: Segop[core.SegMap], joined: Joined) -> None:
    """A block for each chunk of points."""
    outer, inner = s.exp.space.dims[: joined.outer], s.exp.space.widths[joined.outer :]
    space = SegSpace((*outer, (s.h.names.fresh("point"), s.h.product(inner))))
    launch_lanes(s.h, joined.lanes, space, s.stm.loc)
