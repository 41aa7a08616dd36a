"""Kernels with lanes over the innermost dimension of a space: how long their chunks are, and their launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ....ir import core
from ....ir.core import SegSpace
from ....ir.errors import Loc
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Const, Name, Var, i64
from ...analysis.cost import EXTENT, LANES, lanes_of
from ...analysis.own_operands import own_operands
from ...analysis.widest_type import widest_type
from ...passes.columns_by_rows import columns_by_rows
from ...passes.one_by_one import goes_one_by_one
from ..host_builder import HostBuilder, Made
from ..kernel_builder import Builder, Mode, Operand
from ..space import OPEN, OPEN_LENGTH, OPEN_LESS, Chunk, chunk_of, closed, lanes_over_chunk, segment_results
from ..table import Segop

BLOCK_WORK = 20_000.0  # cost units worth one block
GROUPS, BLOCKS = 4 * 512, 4
"""Bits of the elements of all groups of lanes that run at once (`passes/choose_lanes.py`), and how many blocks of these
there must be for the cores to share."""
WIDEST = 1 << 12
"""Columns of a block that goes by rows: of narrower ones processors fetch less ahead."""
MANY = 16
"""Blocks whose work 64 elements may be, that cores can share."""
ENOUGH, ENOUGH_ROWS = 16, 8
"""Blocks of up to 64 elements, of one row or of several, that are enough for all cores, however long each takes:
several groups of lanes run at once there, and the last of a row reaches back."""


@dataclass(frozen=True, slots=True)
class LanesKernel:
    """A kernel with lanes over the innermost dimension: its chunk of that dimension, which the kernel may have left
    open, cost of an element, and how many indices of the next outer dimension a block handles at once. `flat`: lanes
    are over elements of the rows whose chunk this is; `wide`: a longer chunk, which is better for many elements;
    `by_rows`: it goes along columns, by rows that are as wide as cores leave them."""

    made: Made
    chunk: int
    cost: float
    rows: int
    flat: bool = False
    wide: int = 0
    by_rows: bool = False

    @property
    def cost_of_unlike_rows(self) -> float:
        """That of an element where rows vary in length: of all lanes, if they go one after the other then."""
        kernel, facts = self.made.kernel, self.made.facts
        return self.cost * (lanes_of(kernel.body, facts) if goes_one_by_one(kernel) else 1)


def sized(s: Segop[core.SegMap | core.SegScatter], fill: Callable[[Builder, Chunk], None], rows: int) -> LanesKernel:
    """Choose layout and chunk length by the cost of an element."""

    def build(chunk: Chunk) -> Made:
        b = s.h.builder()
        fill(b, chunk)
        return s.h.finish(b, s.base)

    first = first_chunk(s.exp.space.widths[-1])
    made = s.h.best_layout(s.depth, lambda: build(first))
    each = made.cost / EXTENT / rows
    chunk = chunk_length(each * rows)
    by_rows = columns_by_rows(made.kernel) is not made.kernel
    if first is not OPEN and (chunk == LANES or by_rows):
        made = s.h.best_layout(s.depth, lambda: build(OPEN))
    elif first is not OPEN:
        made = s.h.best_layout(s.depth, lambda: build(chunk_of(chunk)))
    wide = 0 if chunk == LANES else groups_of_all(made)
    return LanesKernel(made, chunk, each, rows, wide=wide if first is OPEN and wide > chunk else 0, by_rows=by_rows)


def groups_of_all(made: Made) -> int:
    """How many elements the groups of lanes take that run at once at most: more than 64 if these are small."""
    return GROUPS // widest_type(made.kernel.body, made.facts).bits


def first_chunk(width: Atom) -> Chunk:
    """The chunk with which a kernel is built to be estimated: one that is left open, so that it need not be built
    again, but where the width is constant, so that numbers which depend on both are."""
    return chunk_of(1 << 12) if isinstance(width, Const) else OPEN


def chunk_length(each: float) -> int:
    """Elements of one block of lanes, by the cost of one element: a multiple of 64; LANES where that would be the work
    of many blocks, and elements may be few."""
    if 64 * each >= MANY * BLOCK_WORK:
        return LANES
    return 64 * max(1, min(1 << 10, round(BLOCK_WORK / max(each, 1e-3) / 64)))


def lanes_over_points(s: Segop[core.SegMap], apart: frozenset[Name] = frozenset()) -> LanesKernel:
    """`threads j` over a chunk of the innermost dimension. Arrays `apart` are memory of each thread until they are
    done."""

    def fill(b: Builder, chunk: Chunk) -> None:
        def point(at: tuple[Operand, ...]) -> None:
            segment_results(b, s.exp.body, s.outs, at, Mode.THREAD, apart)

        lanes_over_chunk(b, s.exp.space, chunk, point)

    return sized(s, fill, 1)


def launch_lanes(h: HostBuilder, lanes: LanesKernel, space: SegSpace, loc: Loc, scatters: bool = False) -> None:
    """A block for each chunk of the innermost dimension at each index of the outer ones, or at each group of `rows`
    indices of the last of these."""
    widths = space.widths
    if lanes.rows > 1:
        widths = (*widths[:-2], h.ceil_div(widths[-2], lanes.rows), widths[-1])
    length: Atom = i64(lanes.chunk)
    if lanes.chunk == LANES:
        blocks = h.op(Op.MUL, h.product(widths[:-1]), h.ceil_div(widths[-1], 64))
        many = h.op(Op.GE, blocks, i64(ENOUGH_ROWS if len(space.dims) > 1 else ENOUGH), base="many")
        length = h.choice(many, i64(64), length, "chunk")
    if lanes.by_rows:
        length = h.share(h.product(widths), 64, WIDEST)
    elif lanes.wide:
        many = h.op(Op.GE, widths[-1], i64(BLOCKS * lanes.wide), base="many")
        length = h.choice(many, i64(lanes.wide), length, "chunk")
    blocks = h.op(Op.MUL, h.product(widths[:-1]), h.ceil_div(widths[-1], length))
    made = with_chunk(h, lanes.made, length)
    made = made if scatters else replace(made, kernel=replace(made.kernel, over=own_operands(made.kernel)))
    h.launch(made, blocks, h.product(space.widths), lanes.cost, loc)


def with_chunk(h: HostBuilder, made: Made, length: Atom) -> Made:
    """A kernel whose chunk is open, with its length, a constant or a number that the host decides."""
    if isinstance(length, Const):
        return replace(made, kernel=replace(made.kernel, body=closed(made.kernel.body, int(length.value))))
    less = h.op(Op.SUB, length, i64(1), base="less")
    assert isinstance(less, Var), "made of a variable"
    scalars = (*made.kernel.scalars, OPEN_LENGTH, OPEN_LESS)
    return replace(made, kernel=replace(made.kernel, scalars=scalars), scalars=(*made.scalars, length.name, less.name))
