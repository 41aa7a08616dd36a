"""For every rule of flattening and of fusion, random programs of the shape that the rule matches.

`SHAPES` has one entry for each name that a trace can show, and some for rules that share a name. A program is a nest of
the depth that the rule needs (none, one, two or three maps), in it the statements of the shape, whose operators, types,
sizes and captured variables are left to chance, and a little of everything around them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from soac.flatten.context.trace import Rule
from soac.ir.core import Attr
from soac.ir.machine import Mode
from soac.ir.types import Names, Prim, Var
from tests.support.property.choices import Decide, Drawn
from tests.support.property.generate import Case, chain_stm, closed, decided, fill, opened
from tests.support.property.make import Block, Maker
from tests.support.property.parts import (
    indices,
    nested,
)
from tests.support.property.shapes_calls import with_append, with_call
from tests.support.property.shapes_flat import (
    attributed,
    use_of,
    with_alias,
    with_branch,
    with_branch_write,
    with_concat,
    with_expensive,
    with_fission,
    with_hist,
    with_hist_of_rows,
    with_invariant,
    with_loop,
    with_map,
    with_parallel_map,
    with_rearrange,
    with_reduction,
    with_replicate,
    with_reshape,
    with_rounds,
    with_rows_operated,
    with_scan,
    with_scatter,
    with_slice,
    with_top,
    with_update,
)
from tests.support.property.shapes_fusion import (
    with_any_of_count,
    with_ends,
    with_filter,
    with_first_kept,
    with_flat_rows,
    with_gathered,
    with_joined,
    with_last_of_scan,
    with_late_rows,
    with_loop_of_map,
    with_map_hist,
    with_map_map,
    with_map_reduce,
    with_map_scan,
    with_map_scatter,
    with_neighbours,
    with_parts,
    with_redomap_map,
    with_sink,
    with_sums,
    with_sums_of_shared_rows,
)
from tests.support.property.shapes_varying import (
    with_flat_bulk,
    with_flat_map,
    with_flat_reduction,
    with_flat_scan,
    with_flat_scatter,
    with_rows_of_rows,
    with_variant_trip_count,
    with_varying_loop,
    with_varying_rows,
)

FUEL = 4
ALL = tuple(Mode)
FLAT = (Mode.FULL, Mode.INCREMENTAL, Mode.EVERY)
GUARDED = (Mode.INCREMENTAL, Mode.EVERY)


@dataclass(frozen=True, slots=True)
class Shape:
    """Statements for a body in a nest of one of these depths, whose innermost arrays have this rank, and the
    modes of flattening in which the rule can fire."""

    make: Callable[[Block], None]
    depths: tuple[int, ...] = (1, 2)
    rank: int = 1
    modes: tuple[Mode, ...] = ALL


def shape_of(name: str, number: int) -> Case:
    """Program `number` for a rule."""
    return shape_case(SHAPES[name], Drawn(Random(f"{name} {number}")))


def shape_cases(name: str) -> st.SearchStrategy[tuple[Mode, Case]]:
    """Programs to which a rule applies, and a mode of flattening in which it can fire."""
    shape = SHAPES[name]
    return st.tuples(st.sampled_from(shape.modes), decided(lambda decide: shape_case(shape, decide)))


def shape_case(shape: Shape, decide: Decide) -> Case:
    """A program of the shape and its arguments, by the decisions given."""
    names = Names(0)
    n, k = names.fresh("n"), names.fresh("m")
    lengths = {name: (3, 2, 1, 0, 2)[decide(5)] for name in (n, k)}
    seed = decide(1 << 16)
    maker = Maker(decide, names, (Var(n), Var(k)), FUEL)
    shapes = (
        ("s", Prim.I32, ()), ("c", Prim.BOOL, ()), ("xs", Prim.I32, (n,)), ("ys", Prim.I32, (k,)),
        ("fs", Prim.F32, (n,)), ("xss", Prim.I32, (n, k)), ("cube", Prim.I32, (n, k, n)),
        ("deep", Prim.I32, (n, k, n, k)),
    )  # fmt: skip
    block = opened(maker, shapes)
    if maker.chance(30):
        fill(block, 1)
    nested(block, maker.pick(shape.depths), shape.rank, shape.make)
    if maker.chance(30):
        fill(block, 1)
    return closed(block, lengths, seed)


def _attr(name: str, *args: str) -> Attr:
    return Attr(name, tuple(Attr(arg, ()) for arg in args))


TOP = (0,)
DEEP = (1, 2, 3)

SHAPES: dict[str, Shape] = {
    Rule.G0.value: Shape(with_top, TOP),
    Rule.G1.value: Shape(with_map, (0, *DEEP)),
    Rule.G2.value: Shape(with_map, DEEP),
    Rule.GR_RED.value: Shape(with_reduction, (0, *DEEP)),
    Rule.GR_SCAN.value: Shape(with_scan, (0, *DEEP)),
    Rule.GR_SCATTER.value: Shape(with_scatter, (0, *DEEP)),
    Rule.GR_HIST.value: Shape(with_hist, (0, *DEEP)),
    Rule.HIST_ROWS.value: Shape(with_hist_of_rows, (0, *DEEP)),
    Rule.G6.value: Shape(with_expensive, DEEP, 1, FLAT),
    Rule.SPLIT.value: Shape(with_parallel_map, (0, 1, 2), 2),
    Rule.FISSION.value: Shape(with_fission, (0, 1, 2), 2),
    Rule.IRWIM.value: Shape(with_rows_operated(False), (0, 1, 2), 2),
    Rule.ISWIM.value: Shape(with_rows_operated(True), (0, 1, 2), 2),
    Rule.INVARIANT.value: Shape(with_invariant, DEEP),
    Rule.ALIAS.value: Shape(with_alias, DEEP, 1, FLAT),
    Rule.REARRANGE.value: Shape(with_rearrange, (1, 2), 2),
    Rule.RESHAPE.value: Shape(with_reshape, DEEP),
    Rule.REPLICATE.value: Shape(with_replicate, DEEP),
    Rule.IOTA.value: Shape(lambda b: use_of(b, indices(b, b.maker.size())), DEEP),
    Rule.SLICE.value: Shape(with_slice, DEEP),
    Rule.CONCAT.value: Shape(with_concat, DEEP),
    Rule.UPDATE.value: Shape(with_update, DEEP),
    Rule.BRANCH_WRITE.value: Shape(with_branch_write, DEEP, 1, FLAT),
    Rule.MAP_LOOP.value: Shape(with_loop, DEEP),
    Rule.MAP_IF.value: Shape(with_branch(False), DEEP),
    Rule.SEQ_OUTER.value: Shape(attributed(_attr("sequential_outer")), TOP, 2),
    Rule.INCREMENTAL.value: Shape(with_expensive, (1, 2), 1, GUARDED),
    Rule.INSIDE.value: Shape(with_expensive, (1, 2), 1, GUARDED),
    Rule.ROUNDS.value: Shape(with_rounds, TOP, 1, GUARDED),
    Rule.BALANCE.value: Shape(with_flat_reduction, (1, 2), 1, GUARDED),
    Rule.SEGMENTS.value: Shape(with_flat_bulk, (1, 2), 1, GUARDED),
    Rule.FLAT_MAP.value: Shape(with_flat_map, (1, 2), 1, GUARDED),
    Rule.FLAT_SCAN.value: Shape(with_flat_scan, (1, 2), 1, GUARDED),
    Rule.FLAT_RED.value: Shape(with_flat_reduction, (1, 2), 1, GUARDED),
    Rule.FLAT_SCATTER.value: Shape(with_flat_scatter, (1, 2), 1, GUARDED),
    Rule.VARYING_IF.value: Shape(with_branch(True), (1, 2), 1, GUARDED),
    Rule.VARYING_LOOP.value: Shape(with_varying_loop, (1, 2), 1, GUARDED),
    Rule.APPEND.value: Shape(with_append, (0, 1, 2), 1, GUARDED),
    Rule.CALL.value: Shape(with_call, (1, 2), 1, GUARDED),
    Rule.SEQUENTIAL.value: Shape(attributed(_attr("sequential")), TOP, 2),
    Rule.SEQUENTIALISE.value: Shape(chain_stm, (0, *DEEP)),
    Rule.IRREGULAR.value: Shape(with_variant_trip_count, (1, 2), 1, FLAT),
    Rule.SKIP_SCALARS.value: Shape(with_map, DEEP),
    "fuse_map_map": Shape(with_map_map, (0, *DEEP)),
    "fuse_map_reduce": Shape(with_map_reduce, (0, *DEEP)),
    "fuse_map_scan": Shape(with_map_scan, (0, *DEEP)),
    "fuse_redomap_map": Shape(with_redomap_map, (0, *DEEP)),
    "fuse_map_hist": Shape(with_map_hist, (0, *DEEP)),
    "split_at_rows": Shape(with_late_rows, (0, *DEEP)),
    "fuse_map_scatter": Shape(with_map_scatter, (0, *DEEP)),
    "fuse_horizontally": Shape(with_neighbours, (0, *DEEP)),
    "fuse_hists": Shape(with_sums, (0, *DEEP)),
    "fuse_gather": Shape(with_gathered, (0, *DEEP)),
    "join": Shape(with_joined, DEEP),
    "map_with_ends": Shape(with_ends, (0, *DEEP)),
    "reduce_rows": Shape(with_flat_rows, (0, *DEEP)),
    "read_through_filters": Shape(with_filter, (0, *DEEP)),
    "scatter_parts": Shape(with_parts, (0, *DEEP)),
    "last_of_scan": Shape(with_last_of_scan, (0, *DEEP)),
    "read_first_kept": Shape(with_first_kept, (0, *DEEP)),
    "any_of_count": Shape(with_any_of_count, (0, *DEEP)),
    "loop_to_map": Shape(with_loop_of_map, (0, *DEEP)),
    "sink": Shape(with_sink, TOP),
    "rows of rows": Shape(with_rows_of_rows, (1, 2), 1, GUARDED),
    "rows of varying number": Shape(with_varying_rows, (1, 2), 1, GUARDED),
    "tile": Shape(with_sums_of_shared_rows, TOP, 1, (Mode.OUTER, *GUARDED)),
}
