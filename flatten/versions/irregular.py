"""Versions of parallelism of varying width: how they are guarded by what is measured of the widths.

    if   t0 ≤ n ∧ ε_thread ≤ s0       then segmap^thread Σ { e sequential }
    elif t1 ≤ n ∧ ε_warp ≤ s1         then segmap^warp Σ { G(•, e) }
    elif t2 * n ≤ m ∧ longest ≤ s2    then segmap^block Σ { G(•, e) }
    else                                   G(Σ, e)

with n = Par(Σ) rows of m elements together; ε is the padded work of a version (`flatten/versions/skew.py`). The t
are thresholds, `main.ys.suff_outer_0`; the s are parameters of a tuning file too, `main.ys.skew_0`, in thousandths, and
`main.ys.longest_0`. On a machine without warps the first is t0 ≤ 3/2 (m + n) / (longest + 1), `main.ys.suff_even_0`;
where the body has loops, whose lanes wait for the longest of their rows (threads with a histogram or a scatter go one
after the other), the longest row counts `LOCKSTEP` times, and threads are taken only where rows as long as the longest
beside them have at most 3 (m + n) elements.
Where little is to be done, what lanes wait for included, the first guard sees all elements as its parallelism. Where
widths are expensive to know, it is the usual one, and there are none inside. In a nest with other parallelism,
statements of varying width have versions of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.core import Body, Hist, If, Level, Loop, Param, PrimOp, Scatter, Screma, SizeParam, Stm
from ...ir.machine import EVEN, LevelRow
from ...ir.ops import Op
from ...ir.reachable import reachable
from ...ir.traverse import all_exps, bodies, free_in_stm
from ...ir.types import BOOL, I64, Atom, Const, Name, Prim, Var, i64
from ..context.distribute import expand_into, frontier
from ..context.found_sizes import has_place
from ..context.nest import Elem, Flow, Nest
from ..context.recompute_cost import HEAVY, LIMIT, weight_of
from ..context.segop_bodies import emit_segmap
from ..context.trace import Rule
from .guards import Emit, Version, guarded, named, outer_version
from .parallelism import flattens_varying, is_varying_stm
from .skew import Lengths, Measures, has_warps, where

GRAIN = 1 << 14
"""Work that is done before the kernels of the flat version are started: its elements count as parallelism."""

FEWEST_ROWS = 256
"""Rows from which on warps are the default for them."""

SKEW = 2000
"""The padded work that is worth it, in thousandths of the work, unless a tuning file says otherwise."""

FLAT_COSTS = 3, 2
"""The time of the flat version over that of the sequential one, per element and thread (sums of CSR rows: 1.1 to 2.6,
mostly 1.3). So threads are taken if the longest row ends before the flat version would."""

UNSEEN = 256
"""Elements of padded rows whose steps take no longer than starting the kernels of the flat version."""

LOCKSTEP = 8
"""The time of a step of a vector's lanes in a loop, over that of one element."""

# ---- the guards ------------------------------------------------------------------------------------------------------


def sequential_version(flow: Flow, nest: Nest, lengths: Lengths | None, emit: Emit) -> Version:
    """The version that runs the body in the threads of the nest, taken where these have enough to do alike."""
    if lengths is None:
        return outer_version(flow, nest, emit)
    guard = flow.context.machine.lowest.guard if has_warps(flow) else EVEN
    return Version(guard, lambda: parallelism_of_threads(flow, lengths), emit)


def parallelism_of_threads(flow: Flow, lengths: Lengths) -> Atom:
    """`n` where ε_thread ≤ s0; on a machine without warps the threads that would be done with the flat version when the
    longest row ends. `m` where that is more, but below `GRAIN`."""
    found = lengths.measured(flow)
    if found.skew is not None:
        even = where(flow, Op.LE, found.skew.thread, parameter(flow, "skew", SKEW), found.rows)
    else:
        even = _threads_beside_the_longest(flow, found)
    little = where(flow, Op.LT, found.elements, i64(GRAIN), found.elements)
    if found.padded is not None:
        little = where(flow, Op.LE, found.padded, _most_padded(flow, found, UNSEEN), little)
    return flow.op("par", Op.MAX, even, little)


def _most_padded(flow: Flow, found: Measures, more: int) -> Atom:
    """How many elements padded rows may have, `more` than what the flat version does in the same time."""
    work = flow.op("work", Op.ADD, found.rows, found.elements)
    flat = Var(flow.emit_as("flat", I64, PrimOp(Op.MUL, Prim.I64, (work, i64(FLAT_COSTS[0])))))
    return Var(flow.emit_as("most", I64, PrimOp(Op.ADD, Prim.I64, (flat, i64(more)))))


def _threads_beside_the_longest(flow: Flow, found: Measures) -> Atom:
    lanes = 1 if found.padded is None else LOCKSTEP
    flat, sequential = (i64(cost * times) for cost, times in zip(FLAT_COSTS, (1, lanes), strict=True))
    work = flow.op("work", Op.ADD, found.rows, found.elements)
    most = Var(flow.emit_as("most", I64, PrimOp(Op.ADD, Prim.I64, (found.longest, i64(1)))))
    all_flat, alone = (
        Var(flow.emit_as(base, I64, PrimOp(Op.MUL, Prim.I64, pair)))
        for base, pair in (("flat", (work, flat)), ("alone", (most, sequential)))
    )
    par = flow.op("par", Op.QUOT, all_flat, alone)
    return par if found.padded is None else where(flow, Op.LE, found.padded, all_flat, par)


def parallelism_of_collectives(flow: Flow, lengths: Lengths, row: LevelRow) -> Atom:
    """Of the highest level below which rows are padded, the warp, `n` where ε_warp ≤ s1; above it `m / n`, the mean
    length, where longest ≤ s2; else 0."""
    found = lengths.measured(flow)
    if row.level is Level.WARP:
        assert found.skew is not None, "a machine with warps"
        return where(flow, Op.LE, found.skew.warp, parameter(flow, "skew_warp", SKEW), found.rows)
    rows = flow.emit_as("rows", I64, PrimOp(Op.MAX, Prim.I64, (found.rows, i64(1))))
    mean = Var(flow.emit_as("mean", I64, PrimOp(Op.QUOT, Prim.I64, (found.elements, Var(rows)))))
    return where(flow, Op.LE, found.longest, parameter(flow, "longest", row.most), mean)


def collectives_pay(flow: Flow, lengths: Lengths, row: LevelRow) -> Atom:
    """Whether there are rows enough, where it is rows that count, not their length."""
    enough = PrimOp(Op.LE, Prim.I64, (i64(FEWEST_ROWS), lengths.measured(flow).rows))
    return Var(flow.emit_as("pays", BOOL, enough)) if row.level is Level.WARP else Const(Prim.BOOL, True)


def parameter(flow: Flow, kind: str, default: int) -> Atom:
    """A size parameter `ENTRY.BINDING.kind_k`."""
    return Var(flow.emit_as(kind, I64, SizeParam(named(flow, kind), default)))


def lengths_of(flow: Flow, nest: Nest, stms: tuple[Stm, ...]) -> Lengths | None:
    """The widths that vary among these statements, and what computes them; None if that is not cheap."""
    bound = {p.name: stm for stm in stms for p in stm.pat}
    widths = tuple(dict.fromkeys(width for stm in stms for width in _varying_widths(flow, stm, set(bound))))
    varying = (width.name for width in widths if isinstance(width, Var))
    needed = reachable(varying, lambda name: free_in_stm(bound[name]) if name in bound else ())
    before = tuple(stm for stm in stms if any(p.name in needed for p in stm.pat))
    if not widths or any(weight_of(stm.exp) > LIMIT or any(p.type.shape for p in stm.pat) for stm in before):
        return None
    given = {name for stm in before for name in free_in_stm(stm)} | {w.name for w in widths if isinstance(w, Var)}
    if frontier(flow, given - set(bound)) is None:
        return None
    inner = (exp for stm in stms if isinstance(stm.exp, If) for body in bodies(stm.exp) for exp in all_exps(body))
    exps = (*(stm.exp for stm in stms), *inner)
    in_turn = any(isinstance(exp, Hist | Scatter) for exp in exps)
    return Lengths(nest, before, widths, not in_turn and any(isinstance(exp, Loop) for exp in exps), None)


def _varying_widths(flow: Flow, stm: Stm, varies: set[Name]) -> Iterator[Atom]:
    """The width of parallelism that is flattened though it varies; of a loop or branch, the widths inside it that are
    known before it."""
    match stm.exp:
        case Screma(width) if flattens_varying(flow, stm, varies):
            yield width
        case Hist(width) | Scatter(width) if is_varying_stm(flow, stm, varies):
            if isinstance(width, Var) and _varies(flow, width.name, varies):
                yield width
        case Loop() | If() | Screma() if is_varying_stm(flow, stm, varies):
            inner = (exp for body in bodies(stm.exp) for exp in all_exps(body))
            sizes = (exp.width for exp in inner if isinstance(exp, Screma | Scatter | Hist))
            yield from (size for size in sizes if isinstance(size, Var) and _varies(flow, size.name, varies))
        case _:
            pass


def _varies(flow: Flow, name: Name, varies: set[Name]) -> bool:
    return name in varies or flow.is_variant(name)


# ---- statements beside other parallelism -----------------------------------------------------------------------------


def versions_rule(flow: Flow, nest: Nest, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> int:
    """Statements of varying width that others of the nest follow, sequential or flat under a guard; gives how many of
    `stms`, the first ones, are done.

    G(Σ, let x̄ = e1 in e2)  ⟶  let x̄s = if t ≤ Par(Σ)/ε then segmap Σ e1 else G(Σ, e1) in G(Σ', e2)
    """
    count = _group(flow, stms)
    if not flow.known.mixed or not count or flow.output.guards.made + 1 >= flow.context.machine.max_versions:
        return 0
    group, rest = stms[:count], stms[count:]
    needed = {name for stm in rest for name in free_in_stm(stm)} | {a.name for a in result if isinstance(a, Var)}
    pat = tuple(p for stm in group for p in stm.pat if p.name in needed)
    wanted = {name for stm in group for name in free_in_stm(stm)}
    if any(p.type.shape for p in pat) or not pat or frontier(flow, wanted) is None or not all(map(has_place, group)):
        return 0
    atoms = tuple(Var(p.name) for p in pat)

    def in_threads(to: tuple[Param, ...]) -> None:
        flow.note(Rule.G1, ", ".join(str(p.name) for p in to))
        emit_segmap(flow, nest.dims, to, Body(group, atoms), tuple(p.type for p in pat))

    def flat(to: tuple[Param, ...]) -> None:
        mixed, flow.known.mixed = flow.known.mixed, False
        flow.context.walk(flow, nest, group, atoms)
        flow.known.mixed = mixed
        expand_into(flow, nest, atoms, to)

    arrays = tuple(flow.fresh_param(p.name.base, p.type.array_of(*nest.widths)) for p in pat)
    guarded(flow, arrays, [sequential_version(flow, nest, lengths_of(flow, nest, group), in_threads)], flat)
    for param, array in zip(pat, arrays, strict=True):
        flow.known.elems[param.name] = Elem(array.name, nest.indices)
        flow.known.fresh.add(array.name)
    return count


def _group(flow: Flow, stms: tuple[Stm, ...]) -> int:
    """How many of the first statements are of varying width, or cheap and between two that are."""
    varies: set[Name] = set()
    count = 0
    for place, stm in enumerate(stms):
        if is_varying_stm(flow, stm, varies):
            count = place + 1
        elif place == 0 or weight_of(stm.exp) >= HEAVY:
            break
        varies.update(p.name for p in stm.pat)
    return count
