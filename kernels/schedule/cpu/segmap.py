"""SegMap as kernels, and statements without segops as kernels of one block.

segmap (i < n, j < m)     block = (i, chunk of j): threads j; or block = (i, j): the body spreads its SOACs
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce

from ....ir import core
from ....ir.core import Body, Fix, Param, SegSpace, Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.traverse import free_in_stm
from ....ir.types import Atom, Const, Name, Type, Var, i64
from ...analysis.cost import EXTENT, LANES, cost_at, lanes_of
from ...analysis.uniformity import loops_vary
from ...kernel_ir.nodes import COLUMNS
from ...passes.join_channels import has_channels
from ..choose import extra_cost, is_positive
from ..host_builder import FALSE, TRUE, HostBuilder, Made
from ..inner_segops import as_soacs
from ..kernel_builder import Mode, NotLowerable
from ..own_elements import own_elements
from ..queries import arrays_of_loops, copies_arrays, gives_arrays, has_loop, has_soac, overwritten
from ..space import bind_space, segment_results
from ..table import Schedule, Segop, Table, in_memory, run
from ..widths import copied_width, loop_bound, middle_width, row_width
from .columns import with_columns
from .factors import needed
from .few_points import FEW_POINTS, most_alone
from .lanes_kernel import LanesKernel, lanes_over_points, launch_lanes, sized
from .packed_panels import can_pack
from .points_as_they_lie import Joined, joined_kernel, launch_joined
from .products import LEAST_COLUMNS, LEAST_DEPTH, LEAST_ROWS, Cut, cut_of, launch_cut, launch_panels
from .rows_of_sums import loops_over_sums, most_elements
from .rows_side_by_side import are_streams, launch_rows, matrix_of_rows
from .segred import SPLIT_K, STREAMED, in_chunks
from .segscatter import alias
from .short_rows import SHORT_ROW, goes_alone, looped_kernel, short_row, short_row_in_vectors
from .split_k import as_segred, is_narrow, reads_columns
from .streamed_rows import as_one_row, can_stream, is_tall
from .unroll_and_jam import ROWS, can_jam, is_plain, is_reduction, jam_over_chunk, reductions_in

JAM_GAIN = 0.8  # jamming must bring an element's cost below this share


# ---- the table --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Points(Segop[core.SegMap]):
    """A map of threads with its kernels: lanes over the points, also of several rows at once, as they lie, or with
    results made apart, or over the elements of a point, or no lanes."""

    lanes: LanesKernel
    spread: Made | None
    alone: Made | None
    jammed: LanesKernel | None
    apart: LanesKernel | None
    joined: Joined | str


def points_of(s: Segop[core.SegMap]) -> Points:
    """The kernels of a map of threads, and memory for its results."""
    exp = replace(s.exp, body=with_columns(s.h.names, s.exp.body))
    s = in_memory(replace(s, exp=exp))
    soac = has_soac(exp.body)
    lanes, spread = lanes_over_points(s), block_a_point(s) if soac or copies_arrays(exp) else None
    can = not any(t.shape for t in exp.ret) and can_jam(exp.space, exp.body)
    looped = arrays_of_loops(exp.body)
    apart = lanes_over_points(s, looped) if looped else None
    alone = block_a_point(s) if spread is None and has_loop(exp.body) else None
    jammed = jammed_kernel(s) if can else None
    joined = "its body has a SOAC" if soac else joined_kernel(s)
    return Points(s.h, s.stm, exp, s.base, s.outs, lanes, spread, alone, jammed, apart, joined)


def is_collective(s: Segop[core.SegMap]) -> bool | str:
    """Applies where a point is a block's work, or there is but one point; else why not."""
    return s.exp.level is not core.Level.THREAD or not s.exp.space.dims or "its points are threads"


def run_collective(s: Segop[core.SegMap], _: bool) -> None:
    """A block for every point of the space, whose threads are in the segops of the body."""
    s = in_memory(s)
    body = as_soacs(s.h.names, s.exp.body)
    launch_a_point(s, block_a_point(replace(s, exp=replace(s.exp, body=body))))


@dataclass(frozen=True, slots=True)
class Reduced:
    """The first of the reductions of a map as a segmented one, and the map of what follows its results `pat`."""

    exp: core.SegRed
    pat: tuple[Param, ...]
    rest: core.SegMap | None


def reduction_of(
    s: Segop[core.SegMap], suits: Callable[[HostBuilder, core.SegRed], bool] = reads_columns
) -> Reduced | str:
    """The segmented reduction that a map begins with, if it reads columns of what is stored by rows; else why not."""
    names, body = s.h.names, with_columns(s.h.names, s.exp.body)
    found = reductions_in(body)
    if not found or not all(is_plain(stm) or is_reduction(stm) for stm in body.stms):
        return "not a map of reductions"
    (stm, _), results = found[0], tuple(Var(p.name) for p in found[0][0].pat)
    product = Body((*needed(body, free_in_stm(stm), ()), stm), results)
    reduction = as_segred(names, replace(s.exp, body=product, ret=tuple(p.type for p in stm.pat)))
    if reduction is None:
        return "not a map of reductions"
    if not suits(s.h, reduction):
        return "reads no columns"
    if body.result == results:
        return Reduced(reduction, (), None)
    pat = tuple(Param(names.again(p.name), p.type.array_of(*s.exp.space.widths)) for p in stm.pat)
    at = tuple(Fix(Var(name)) for name in s.exp.space.indices)
    pairs = zip(stm.pat, pat, strict=True)
    loads = (Stm((p,), core.Index(array.name, at, True), (), (), stm.loc) for p, array in pairs)
    wanted = [a.name for a in body.result if isinstance(a, Var)]
    rest = [other for other in needed(body, wanted, [stm]) if other is not stm]
    return Reduced(reduction, pat, replace(s.exp, body=Body((*loads, *rest), body.result)))


def reduced_by(table: Table) -> Callable[[Segop[core.SegMap], Reduced], None]:
    """Runs the reduction by a table, then what follows it."""

    def build(s: Segop[core.SegMap], found: Reduced) -> None:
        stm = s.stm if found.rest is None else replace(s.stm, pat=found.pat)
        in_chunks(Segop(s.h, stm, found.exp, s.base, []), table)
        if found.rest is not None:
            run(replace(s, exp=found.rest), SEGMAP)

    return build


def tall_reduction_of(s: Segop[core.SegMap]) -> Reduced | str:
    """The reduction of columns, if rows of what it reads may pass by; else why not."""
    found = reduction_of(s, can_stream)
    return found if isinstance(found, str) else replace(found, exp=as_one_row(s.h, found.exp))


def can_pack_points(s: Points) -> LanesKernel | str:
    """The kernel of several rows at once, where rows share an operand that may be packed; else why not."""
    if s.jammed is None:
        return "not a reduction for each point of a matrix"
    return s.jammed if can_pack(s.exp.space, s.exp.body) else "no operand is shared by rows"


def are_enough_to_pack(s: Points, jammed: LanesKernel) -> Atom:
    """What is not worth jamming as it is (rows by rows, say) is in panels, if there are columns enough too; what is,
    where sums are long enough to pay for the panels."""
    *_, rows, columns = s.exp.space.widths
    if jam_pays(s, jammed):
        return at_least(s.h, rows_if_long(s, rows, LEAST_DEPTH), LEAST_ROWS)
    many = s.h.op(Op.GE, rows, i64(ROWS), base="many")
    return at_least(s.h, s.h.choice(many, columns, i64(0), "columns"), LEAST_COLUMNS)


def pack(s: Points, _: LanesKernel) -> None:
    """As a product of matrices, of packed panels."""
    run(s, PANELS)


def pack_whole(s: Points, _: bool) -> None:
    """A block for some rows and columns."""
    assert s.jammed is not None
    launch_panels(s, s.jammed.cost)


def pack_pieces(s: Points, cut: Cut) -> None:
    """A block for some rows and columns of a piece of the sums."""
    assert s.jammed is not None
    launch_cut(s, cut, s.jammed.cost)


def are_several(s: Points, cut: Cut) -> Atom:
    """bool: is there more than one piece?"""
    return s.h.op(Op.GT, cut.pieces, i64(1), base="several")


def can_jam_points(s: Points) -> LanesKernel | str:
    """The kernel of several rows at once, if there is one; else why not."""
    return s.jammed or "not a reduction for each point of a matrix"


def are_enough_to_jam(s: Points, jammed: LanesKernel) -> Atom:
    """bool: are there `ROWS` rows, of more than one element to sum, and is it cheaper?"""
    if not jam_pays(s, jammed):
        return FALSE
    return at_least(s.h, rows_if_long(s, s.exp.space.widths[-2], 2), ROWS)


def rows_if_long(s: Points, rows: Atom, least: int) -> Atom:
    """The rows, none where a point sums fewer elements than this."""
    depth = row_width(s.h, s.exp.body)
    if depth is None:
        return rows
    long = s.h.op(Op.GE, depth, i64(least), base="long")
    return s.h.choice(long, rows, i64(0), "rows")


def jam_pays(s: Points, jammed: LanesKernel) -> bool:
    """Whether an element costs at most `JAM_GAIN` of what it does by lanes alone, and long rows are not cheaper spread
    over the lanes."""
    return jammed.cost <= JAM_GAIN * s.lanes.cost and not (s.spread and spread_pays(jammed, s.spread, LONG))


def at_least(h: HostBuilder, size: Atom, least: int) -> Atom:
    """bool: is a size at least this?"""
    return h.op(Op.GE, size, i64(least), base="enough")


def can_make_apart(s: Points) -> LanesKernel | str:
    """The kernel whose results are arrays of the threads until they are done, if that is cheaper; else why not."""
    if s.apart is None:
        return "no result is an array that a loop works on"
    return s.apart if s.apart.cost <= APART_GAIN * s.lanes.cost else "a thread's results are best where they go"


def are_small(s: Points, apart: LanesKernel) -> Atom:
    """bool: do the results of a point fit the cache for all lanes, and are lanes over its elements no cheaper?"""
    h = s.h
    first, *others = (h.product(type_.shape) for type_ in s.exp.ret if type_.shape)
    total = reduce(partial(h.op, Op.ADD), others, first)
    small = h.op(Op.LE, total, i64(MOST_APART), base="small")
    if s.spread is None or small == FALSE:
        return small
    spread = is_long_to_spread(replace(s, lanes=apart), s.spread)
    return h.choice(spread, FALSE, small, "apart")


def can_be_alone(s: Points) -> Made | str:
    """The kernel with a point to a block and no lanes, if its body is a loop without SOACs; else why not."""
    return s.alone or "no loop without a SOAC"


def are_few_alone(s: Points, alone: Made) -> Atom:
    """bool: are there so few points that a group of lanes would take longer?"""
    most = most_alone(s.lanes.made, alone, s.exp.body)
    return s.h.op(Op.LE, s.h.product(s.exp.space.widths), i64(most), base="few")


def can_spread(s: Points) -> Made | str:
    """The kernel with lanes over the elements of a point, if its body has a SOAC or copies arrays; else why not."""
    return s.spread or "no SOAC in its body, and no array that it copies"


def is_long_to_spread(s: Points, spread: Made) -> Atom:
    """By all sizes that matter, the number of points among them; by how long rows are where there are too many."""
    h, lanes = s.h, s.lanes
    points = h.product(s.exp.space.widths[s.joined.outer if isinstance(s.joined, Joined) else -1 :])
    width = row_width(h, s.exp.body) or loop_bound(h, s.exp.body) or copied_width(h, s.exp)
    if width is None:
        if lanes.cost_of_unlike_rows > spread.cost:
            return TRUE
        return at_least(h, middle_width(h, s.exp) or i64(0), COUNTED)
    least = least_to_spread(lanes, spread)
    if least is not None and least <= SHORT:
        return TRUE
    more = extra_cost(points, lanes.made, lanes.rows, spread, width.name)
    if more is None:
        return FALSE if least is None else h.op(Op.GE, width, i64(least), base="enough")
    pays = is_positive(h, more)
    gathered = extra_cost(points, replace(lanes.made, tiled=frozenset()), lanes.rows, spread, width.name)
    if gathered is None or gathered == more:
        return pays
    few = h.op(Op.LT, points, i64(FEW), base="few")
    return h.choice(few, is_positive(h, gathered), pays, "pays")


def can_be_side_by_side(s: Points) -> Name | str:
    """The matrix whose rows are reduced, if there is one; else why not."""
    if s.spread is None or gives_arrays(s.exp):
        return "not a reduction for each point"
    return matrix_of_rows(s.exp) or "does not read rows of one matrix"


def are_large_rows(s: Points, matrix: Name) -> Atom:
    """bool: is the matrix large, and are lanes over the elements of a row cheaper?"""
    assert s.spread is not None
    long = is_long_to_spread(s, s.spread)
    return long if long == FALSE else s.h.choice(are_streams(s.h, s.h.types[matrix]), long, FALSE, "rows")


def launch_a_point(s: Segop[core.SegMap], spread: Made) -> None:
    """A block for each point."""
    points = s.h.product(s.exp.space.widths)
    s.h.launch(spread, points, points, spread.cost, s.stm.loc)


def block_a_point(s: Segop[core.SegMap]) -> Made:
    """One block, or one warp, for every point of the space."""
    h, level = s.h, s.exp.level

    def build() -> Made:
        b = h.builder()
        b.collective = core.Level.BLOCK if level is core.Level.THREAD else level
        b.own = own_elements(s.exp.body) if b.has_threads else b.own
        indices = bind_space(b, s.exp.space, b.block)
        segment_results(b, s.exp.body, s.outs, indices, Mode.BLOCK)
        return h.finish(b, s.base)

    return h.best_layout(s.depth, build, s.exp.space.widths)


def launch_found(s: Points, found: LanesKernel) -> None:
    """Launch the kernel that was found to apply."""
    launch_lanes(s.h, found, s.exp.space, s.stm.loc)


def can_loop(s: Points) -> LanesKernel | str:
    """The kernel with a row to a lane, where a point is cheap and its rows may be short; else why not."""
    return looped(s, 1)


def can_loop_twice(s: Points) -> LanesKernel | str:
    """As `can_loop`, with a few short rows to a lane."""
    return looped(s, 2)


def looped(s: Points, depth: int) -> LanesKernel | str:
    """The kernel with loops over the innermost dimensions, where these may be short; else why not."""
    if len(s.exp.space.dims) <= depth or s.spread is not None:
        return "its points are no elements of rows"
    if gives_arrays(s.exp) and (depth > 1 or not all(isinstance(n, Const) for t in s.exp.ret for n in t.shape)):
        return "its points are arrays"
    *_, width = s.exp.space.widths
    few = s.exp.space.widths[-2] if depth > 1 else i64(0)
    most = 2 * SHORT_ROW if gives_arrays(s.exp) else short_row(s.exp, depth)
    length = int(width.value) if isinstance(width, Const) else 0
    if length >= most and length > COLUMNS:
        return "rows are not short"
    if isinstance(few, Const) and int(few.value) >= 2 * FEW:
        return "rows are not few"
    found = looped_kernel(s, depth)
    return "rows are not short" if length >= most and not goes_alone(found) else found


def are_short(s: Points, looped: LanesKernel) -> Atom:
    """bool: have rows fewer than `short_row` elements, and are there enough of them? Where the rows' loops differ in
    their steps, lanes wait for the longest: then a row must cost less than half a group of lanes over its elements."""
    h, (*_, rows, width), most = s.h, s.exp.space.widths, short_row(s.exp, 1)
    if goes_alone(looped):
        return at_least(h, rows, SHORT_ROW)
    if gives_arrays(s.exp):
        most = min(2 * SHORT_ROW, int((ROW_STARTS + LANES * s.lanes.cost) / (looped.cost / EXTENT)))
    if loops_vary(looped.made.kernel.body, looped.made.facts):
        most = min(most, int((ROW_STARTS + LANES / 2 * s.lanes.cost) / (looped.cost / EXTENT)))
    most = short_row_in_vectors(s.exp) if looped.flat else most
    alike = not looped.flat and has_channels(looped.made.kernel)
    least = FEW if gives_arrays(s.exp) else 2 * FEW
    most, least = (2 * SHORT_ROW, SHORT_ROW) if alike else (most, least)
    short = h.op(Op.LT, width, i64(most), base="short")
    return at_least(h, h.choice(short, rows, i64(0), "rows"), least)


def are_few(s: Points, looped: LanesKernel) -> Atom:
    """bool: are rows short, but few, and is there much of what has them?"""
    h, (*_, many, rows, width) = s.h, s.exp.space.widths
    if goes_alone(looped):
        return at_least(h, many, SHORT_ROW)
    short = h.op(Op.LT, width, i64(short_row(s.exp, 2)), base="short")
    few = h.choice(h.op(Op.LT, rows, i64(2 * FEW), base="few"), many, i64(0), "many")
    return at_least(h, h.choice(short, few, i64(0), "many"), FEW)


def launch_looped(s: Points, looped: LanesKernel) -> None:
    """A block for each chunk of rows."""
    launch_lanes(s.h, looped, SegSpace(s.exp.space.dims[:-1]), s.stm.loc)


def launch_looped_twice(s: Points, looped: LanesKernel) -> None:
    """A block for each chunk of what has rows."""
    launch_lanes(s.h, looped, SegSpace(s.exp.space.dims[:-2]), s.stm.loc)


def can_loop_sums(s: Points) -> LanesKernel | str:
    """The kernel with a row to a lane and loops over its sums, where these are plain and may be few; else why not."""
    if s.jammed is None:
        return "not a reduction for each point of a matrix"
    width = s.exp.space.widths[-1]
    if isinstance(width, Const) and int(width.value) >= LANES:
        return "its rows have more sums than there are lanes"
    return looped_kernel(s, 1, loops_over_sums)


def are_few_sums(s: Points, looped: LanesKernel) -> Atom:
    """bool: are there fewer sums in a row than lanes, of few elements each, and many rows?"""
    h, (*_, rows, width) = s.h, s.exp.space.widths
    depth = reductions_in(s.exp.body)[0][1].width
    few = h.op(Op.LT, width, i64(LANES), base="few")
    short = h.op(Op.LT, depth, i64(most_elements(looped.made.kernel)), base="short")
    return at_least(h, h.choice(h.choice(few, short, FALSE, "few"), rows, i64(0), "rows"), 2 * FEW)


PANELS: Table = (
    Schedule("split-K", pack_pieces, cut_of, are_several),
    Schedule("whole sums", pack_whole),
)
POINTS: Table = (
    Schedule("lanes over rows of sums", launch_looped, can_loop_sums, are_few_sums),
    Schedule("panels", pack, can_pack_points, are_enough_to_pack, PANELS),
    Schedule("unroll-and-jam", launch_found, can_jam_points, are_enough_to_jam),
    Schedule(FEW_POINTS, launch_a_point, can_be_alone, are_few_alone),
    Schedule("lanes, results apart", launch_found, can_make_apart, are_small),
    Schedule("rows side by side", launch_rows, can_be_side_by_side, are_large_rows),
    Schedule("block a point", launch_a_point, can_spread, is_long_to_spread),
    Schedule("points as they lie", launch_joined, lambda s: s.joined),
    Schedule("lanes over rows", launch_looped, can_loop, are_short),
    Schedule("lanes over few rows", launch_looped_twice, can_loop_twice, are_few),
    Schedule("lanes", launch_found, lambda s: s.lanes),
)
SEGMAP: Table = (
    Schedule("collective", run_collective, is_collective),
    Schedule(
        "streamed rows", reduced_by(STREAMED), tall_reduction_of, lambda s, found: is_tall(s, found.exp), STREAMED
    ),
    Schedule("split-K", reduced_by(SPLIT_K), reduction_of, lambda s, found: is_narrow(s, found.exp), SPLIT_K),
    Schedule("points", lambda s, _: run(points_of(s), POINTS), rows=POINTS),
)


# ---- where lanes run ----------------------------------------------------------------------------------------------

APART_GAIN = 0.8
"""Arrays of a thread must bring a point's cost below this share: they are copied at the end."""
MOST_APART = 1 << 12
"""Elements of such arrays: those of a group of lanes fit the second cache."""
SHORT, LONG, COUNTED = 4, 1024, 256
ROW_STARTS = 32.0
"""What it costs that a row is a block."""
FEW = 32
"""With fewer points the lanes of half of the groups or more are not all on; these gather what others read in tiles."""


def least_to_spread(lanes: LanesKernel, spread: Made) -> int | None:
    """The least length of rows, up to `LONG`, from which on lanes over the rows' elements are cheaper than lanes over
    the rows; None where they are not even at `LONG`."""
    groups = groups_of(lanes, spread)
    if not pays_at(lanes, spread, LONG, groups):
        return None
    return SHORT + bisect_left(range(SHORT, LONG), True, key=lambda length: pays_at(lanes, spread, length, groups))


def spread_pays(lanes: LanesKernel, spread: Made, length: float) -> bool:
    """Whether a point with rows of this length costs no more spread over the lanes than as one of them."""
    return pays_at(lanes, spread, length, groups_of(lanes, spread))


def groups_of(lanes: LanesKernel, spread: Made) -> tuple[int, int]:
    """The lanes of a group of each kernel."""
    made = lanes.made
    return lanes_of(made.kernel.body, made.facts), lanes_of(spread.kernel.body, spread.facts)


def pays_at(lanes: LanesKernel, spread: Made, length: float, groups: tuple[int, int]) -> bool:
    """As `spread_pays`, where `groups` of lanes are known: they take a walk over both kernels."""
    made, (of_rows, of_elements) = lanes.made, groups
    each = cost_at(made.kernel.body, length, EXTENT, made.tiled, made.facts, of_rows) / EXTENT / lanes.rows
    return cost_at(spread.kernel.body, length, length, spread.tiled, spread.facts, of_elements) <= each


def jammed_kernel(s: Segop[core.SegMap]) -> LanesKernel:
    """The same with `ROWS` indices of the next outer dimension in one loop
    (`kernels/schedule/cpu/unroll_and_jam.py`)."""
    return sized(s, lambda b, chunk: jam_over_chunk(b, s.exp.space, chunk, s.exp.body, s.outs), ROWS)


def sequential(h: HostBuilder, stm: Stm) -> None:
    """A statement without segops as a kernel of one block; scalar results are read back. What a loop takes over is
    overwritten where it is."""
    inner = tuple(Param(h.names.again(p.name), p.type) for p in stm.pat)
    own = {p.name for p in stm.pat}
    before = overwritten(stm) if isinstance(stm.exp, core.Loop) else {}
    outs: list[tuple[Name, Type]] = []
    for param in stm.pat:
        if any(isinstance(d, Var) and d.name in own for d in param.type.shape):
            raise NotLowerable("a result whose size is found inside the kernel")
        if param.name in before:
            outs.append((before[param.name], param.type))
            continue
        type_ = param.type if param.type.shape else Type(param.type.prim, (i64(1),))
        name = param.name if param.type.shape else h.names.fresh(param.name.base)
        h.emit((Param(name, type_),), core.Scratch(type_), stm.loc)
        outs.append((name, type_))
    renamed = Stm(inner, stm.exp, stm.certs, stm.attrs, stm.loc)
    body = Body((renamed,), tuple(Var(p.name) for p in inner))
    base = stm.pat[0].name.base if stm.pat else "seq"
    point = Segop(h, stm, core.SegMap(core.Level.BLOCK, SegSpace(()), body, ()), base, outs)
    launch_a_point(point, block_a_point(point))
    for param, (name, _) in zip(stm.pat, outs, strict=True):
        if not param.type.shape:
            h.emit((param,), core.Index(name, (Fix(i64(0)),), True), stm.loc)
        elif name != param.name:
            alias(h, replace(stm, pat=(param,)), (name,))
