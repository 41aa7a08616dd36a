"""Versions whose threads are inside a collective: a warp or a block for each point of the nest.

    G(Σ, map (λx̄ → e) x̄s)  ⟶  segmap^l Σ' { G(•, e) }        Σ' = Σ, ⟨x̄ ∈ x̄s⟩, l a level above the thread

What the collective does is flattened as a program of its own, at the top level, whose segops are of the lowest level:
arrays between them are in the memory of the collective. There are no guards inside; one policy decides (`choose` in
`flatten/versions/guards.py`). The version runs where all segops inside fit: then its parallelism is what the least of
them has, else a negative number, which no threshold allows. Widths that vary over the nest vary from collective to
collective; their guard is measured (`flatten/versions/irregular.py`), and what fits is what the longest row takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ...ir.core import (
    Body,
    Copied,
    Exp,
    Index,
    Iota,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    SegOp,
    Stm,
)
from ...ir.machine import LevelRow, Mode
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import bodies, bound_in_body
from ...ir.types import BOOL, Atom, Const, Name, Prim, Type, Var, i64
from ..context.nest import Flow, Known, Nest, Output
from ..context.segop_bodies import emit_segmap_at
from ..context.trace import Fired, Rule
from ..context.widths import is_small
from .guards import Version, both, parallelism_of, product_of
from .irregular import collectives_pay, parallelism_of_collectives, parameter
from .nested import rows_to
from .shared_rows import read_once
from .skew import Lengths

Widths = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Inside:
    """The body of a collective: the widths of its segops, the types of the arrays that stay in its memory, which of
    these sizes vary over the nest, and the rules that made it."""

    body: Body
    spaces: tuple[Widths, ...]
    arrays: tuple[Type, ...]
    varying: frozenset[Atom]
    trail: tuple[Fired, ...]

    @property
    def known(self) -> tuple[Widths, ...]:
        """The widths of the segops of which none varies."""
        return tuple(space for space in self.spaces if self.varying.isdisjoint(space))


def inside(flow: Flow, f: Lambda, lengths: Lengths | None) -> Inside | None:
    """G(•, e) for the body of `f`; None where nothing in it is parallel, or where it has sizes that are neither known
    nor measured before the version runs."""
    body, trail = flat_inside(flow, f)
    spaces, arrays = spaces_in(body), arrays_in(body)
    local = {*bound_in_body(body), *(p.name for p in f.params)}
    sizes = [size for shape in (*spaces, *(t.shape for t in arrays)) for size in shape]
    varying = frozenset(size for size in sizes if not is_known(flow, size, local))
    if not spaces or not varying <= frozenset(lengths.widths if lengths is not None else ()):
        return None
    return Inside(body, spaces, arrays, varying, trail)


def flat_inside(flow: Flow, f: Lambda, in_rounds: bool = False) -> tuple[Body, tuple[Fired, ...]]:
    """G(•, e) for the body of `f`, and the rules that fired. `in_rounds`: it is rounds of a loop, whose arrays are
    small."""
    flow.known.types.update((p.name, p.type) for p in f.params)
    own = Flow(
        replace(flow.context, mode=Mode.OUTER, inside=True),
        Known(flow.known.types, flow.known.consumed, varying=False, in_rounds=in_rounds),
        Output(replace(flow.output.guards), [], loc=flow.output.loc, next_order=flow.output.next_order),
    )
    own.context.walk_top(own, f.body)
    body = Body(tuple(own.output.stms), f.body.result)
    if not flow.context.machine.keeps_rows:
        body = read_once(body, flow.context.names)
    return body, tuple(own.output.trail)


def spaces_in(body: Body) -> tuple[Widths, ...]:
    """The widths of the segops that a collective executes."""
    segops = (stm.exp for stm in statements_of(body) if isinstance(stm.exp, SegOp))
    return tuple(dict.fromkeys(in_order(exp.space.widths) for exp in segops))


def arrays_in(body: Body) -> tuple[Type, ...]:
    """The types of the arrays that a collective leaves in its memory."""
    results = {atom.name for atom in body.result if isinstance(atom, Var)}
    return tuple(t for stm in statements_of(body) if not is_view(stm.exp) for t in _arrays(stm, results))


def in_order(widths: Widths) -> Widths:
    """Widths of which only the product counts."""
    return tuple(sorted(widths, key=str))


def statements_of(body: Body) -> Iterator[Stm]:
    """The statements that the collective executes, those in its loops and branches included; not those of a thread."""
    for stm in body.stms:
        yield stm
        if not isinstance(stm.exp, SegOp):
            for inner in bodies(stm.exp):
                yield from statements_of(inner)


def _arrays(stm: Stm, results: set[Name]) -> Iterator[Type]:
    """The types of the arrays that a statement leaves in the memory of the collective; its results are outside, but for
    what a loop carries."""
    return (p.type for p in stm.pat if p.type.shape and (p.name not in results or isinstance(stm.exp, Loop)))


def is_view(exp: Exp) -> bool:
    """Whether an array needs no memory of its own."""
    return isinstance(exp, Copied | Index | Rearrange | Reshape | Iota | Replicate)


def is_known(flow: Flow, size: Atom, local: set[Name]) -> bool:
    """Whether a size is known before a body that binds these names."""
    return isinstance(size, Const) or (size.name not in local and flow.is_invariant(size))


# ---- versions ------------------------------------------------------------------------------------------------------


def inside_version(
    flow: Flow, nest: Nest, f: Lambda, middle: Inside, row: LevelRow, lengths: Lengths | None
) -> Version:
    """`segmap^l Σ' { G(•, e) }`, taken where `t ≤ Par(e_mid)` and `e_mid` fits a collective of the level."""

    def emit(to: tuple[Param, ...]) -> None:
        g_inside(flow, nest, to, middle, f.ret, row)

    if middle.varying and lengths is not None:
        pays = collectives_pay(flow, lengths, row)
        return Version(row.guard, lambda: parallelism_of_rows(flow, middle, row, lengths), emit, pays)
    return Version(row.guard, lambda: parallelism_inside(flow, middle, row), emit)


def unless_inside(flow: Flow, nest: Nest, middle: Inside, rows: tuple[LevelRow, ...]) -> Atom:
    """Whether points are given to threads by default: where these fill the machine, or no collective is filled. The
    threads of a collective read what is side by side, and its arrays are near."""
    lacks: Atom = Const(Prim.BOOL, True)
    full = flow.context.machine.full
    if full is None or middle.varying:
        return lacks
    for row in rows:
        par = parallelism_inside(flow, middle, row)
        lacks = both(flow, lacks, flow.op("lacks", Op.LT, par, i64(row.threads)))
    fills = flow.op("fills", Op.LE, i64(full), parallelism_of(flow, nest))
    return flow.op("pays", Op.OR, fills, lacks)


FEW_POINTS = 4
"""Fewer leave most lanes of a vector idle."""


def in_few(flow: Flow, nest: Nest) -> Atom:
    """Whether collectives are the default where threads are the only other version. On a machine whose threads are
    lanes of a core, a core's turn is a schedule of these threads too, which costs choose
    (`kernels/schedule/cpu/segmap.py`): then only where the points are few."""
    if not flow.context.machine.keeps_rows:
        return Const(Prim.BOOL, True)
    return Var(flow.emit_as("pays", BOOL, PrimOp(Op.LT, Prim.I64, (nest.widths[-1], i64(FEW_POINTS)))))


def g_inside(
    flow: Flow, nest: Nest, pat: tuple[Param, ...], middle: Inside, ret: tuple[Type, ...], row: LevelRow
) -> Rule:
    """A collective of level l for each point of the nest; the segops inside are of the lowest level, or where they
    reduce rows and there is a level between, of that one's collectives (`nested.py`).

    G(Σ, e)  ⟶  segmap^l Σ { G(•, e) }
    """
    flow.note(Rule.INSIDE, f"{', '.join(str(p.name) for p in pat)} ({row.level.value})")
    flow.output.trail += middle.trail
    between = [level for level in flow.context.machine.higher if level is not row and level.threads < row.threads]
    body = rows_to(between[-1].level, middle.body, flow.context.names) if between else middle.body
    emit_segmap_at(flow, row.level, nest.dims, pat, body, ret)
    return Rule.INSIDE


def parallelism_inside(flow: Flow, middle: Inside, row: LevelRow) -> Atom:
    """Par(e_mid): that of its least parallel segop where everything fits; else minus that of the most parallel one."""
    wide = tuple(space for space in middle.spaces if not all(map(is_small, space))) or middle.spaces
    least = folded(flow, Op.MIN, tuple(product_of(flow, space) for space in _smallest(wide)))
    return where_it_fits(flow, middle.spaces, middle.arrays, row, least)


def parallelism_of_rows(flow: Flow, middle: Inside, row: LevelRow, lengths: Lengths) -> Atom:
    """What the guard of collectives with rows of varying length measures, where all fits that is in the memory of one
    or has a width that is known. The threads of a collective go over a long row several times."""
    par, longest = parallelism_of_collectives(flow, lengths, row), lengths.measured(flow).longest
    arrays = tuple(
        Type(t.prim, tuple(longest if size in middle.varying else size for size in t.shape)) for t in middle.arrays
    )
    if not arrays and not middle.known:
        return par
    rows: tuple[Widths, ...] = () if arrays == middle.arrays and middle.known else ((longest,),)
    if not middle.known:
        rows = (*rows, (i64(1),))
    return where_it_fits(flow, middle.known, arrays, row, par, rows)


def where_it_fits(
    flow: Flow,
    spaces: tuple[Widths, ...],
    arrays: tuple[Type, ...],
    row: LevelRow,
    par: Atom,
    rows: tuple[Widths, ...] = (),
) -> Atom:
    """`par`, or minus the most parallelism of a segop where that or the arrays are too much for a collective."""
    most = folded(flow, Op.MAX, tuple(product_of(flow, space) for space in (*_largest(spaces), *rows)))
    fits: Atom = Const(Prim.BOOL, True)
    if spaces:
        fits = flow.op("fits", Op.LE, most, i64(row.most))
    if (taken := bytes_inside(flow, spaces, arrays, row)) is not None:
        room = parameter(flow, "shared", row.bytes) if row.opt_in else i64(row.bytes)
        enough = flow.op("fits", Op.LE, taken, room)
        fits = flow.op("fits", Op.AND, fits, enough)
    too_many = flow.op("par", Op.NEG, most)
    return flow.op("par", Op.SELECT, fits, par, too_many)


def _smallest(spaces: tuple[Widths, ...]) -> tuple[Widths, ...]:
    """Without spaces that have all dimensions of another one."""
    return tuple(space for space in spaces if not any(Counter(other) < Counter(space) for other in spaces))


def _largest(spaces: tuple[Widths, ...]) -> tuple[Widths, ...]:
    """Without spaces whose dimensions another one has too."""
    return tuple(space for space in spaces if not any(Counter(space) < Counter(other) for other in spaces))


def bytes_inside(flow: Flow, spaces: tuple[Widths, ...], arrays: tuple[Type, ...], row: LevelRow) -> Atom | None:
    """The memory that the arrays of a collective take; None where they fit as soon as the segops do."""
    together = Counter[Widths]()
    for t in arrays:
        together[in_order(t.shape)] += t.prim.bytes
    if all(shape in spaces for shape in together) and together.total() * row.most <= row.bytes:
        return None
    return folded(flow, Op.ADD, tuple(product_of(flow, (*shape, i64(each))) for shape, each in together.items()))


def folded(flow: Flow, op: Op, atoms: tuple[Atom, ...]) -> Atom:
    """Emits what an operation on i64 makes of all atoms."""
    first, *rest = atoms
    for atom in rest:
        first = flow.op("par", op, first, atom)
    return first
