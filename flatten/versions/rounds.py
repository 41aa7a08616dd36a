"""Versions of loops of the host: batches of rounds in one collective, where each round is little work.

    G(•, loop z̄' = z̄ for i < n do e)
      ⟶  if t ≤ room then loop z̄" = z̄ for b < ⌈n / k⌉ do
                            segmap^l (_ < 1) { G(•, loop z̄' = z̄" for j < min k (n - b k) do e[i = b k + j]) }
         else loop z̄' = z̄ for i < n do G(•, e)
    G(•, loop z̄' = z̄ while c do e)
      ⟶  if t ≤ room then loop z̄" = z̄ while c do
                            segmap^l (_ < 1) { G(•, loop z̄' = z̄" while c, at most k times, do e) }
         else loop z̄' = z̄ while c do G(•, e)

A round of the host costs a launch for each segop, and memory for its arrays. In a collective it costs neither, but no
other threads help: so a loop has this version where the points of its segops compute scalars alone, and takes it by
default where the largest array that a round makes has at most `Machine.rounds` elements, and a segop goes through at
most `PASSES` times as many; `room` is by how many they are less, and negative where they do not fit. Widths that change
from round to round count by their bounds (`width_bounds.py`). Of loops inside one another the outermost that can has
it. Where there are caches, what a round computes is flattened in full; a collective goes from row to row there, so that
a short row costs what `ROW` elements do. Elements that are mapped as they lie have no rows.

A launch cannot be stopped: so the host comes between after k rounds, which go through `BATCH` elements, or `COPIES`
times what the batch copies, where a round counts as `LEAST` at least. The rounds of loops inside have bounds before the
loop, and all of those in one round go through fewer than `TURNS`. A round of a loop of scalars counts as `SCALARS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...ir.attributes import has_attr
from ...ir.core import (
    Apply,
    Body,
    Convert,
    Copy,
    Exp,
    Fix,
    ForLoop,
    If,
    Index,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Screma,
    SegHist,
    SegMap,
    SegOp,
    SegScatter,
    Soac,
    Stm,
    Update,
    WhileLoop,
)
from ...ir.machine import ROUNDS, Mode
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import all_exps, all_stms, bodies, bound_in_body, free_names
from ...ir.types import BOOL, I64, Atom, Const, Name, Prim, Type, Var, i64, scalar
from ..aliasing.classes import made_of, overwritten_in
from ..context.found_sizes import own_sizes
from ..context.nest import TOP, Flow, host_body
from ..context.segop_bodies import element_of
from .guards import Version, flattening_attrs, product_of
from .intra import (
    Inside,
    Widths,
    arrays_in,
    flat_inside,
    folded,
    g_inside,
    in_order,
    is_known,
    is_view,
    spaces_in,
    statements_of,
    where_it_fits,
)
from .width_bounds import Bounds, bounds_in

BATCH = 1 << 20
COPIES = 64
TURNS = 1 << 25
LEAST = 32
SCALARS = 4
"""Of elements: what the rounds of a batch have together, which is about a millisecond, but for each element that the
batch copies before it overwrites it that many; what all loops of a round may have, which is some tens of milliseconds;
what a round costs beside them; what a round of a loop of scalars does."""
SHORT, ROW = 8, 64
"""Rows of fewer elements are short, and what one costs."""
PASSES = 4
"""How often a segop of a round may go through the elements of the largest array: sums for each point do."""


def rounds_version(flow: Flow, stm: Stm) -> Version | None:
    """The version of a loop at the top level in which collectives go through its rounds."""
    levels, mode = flow.context.machine.higher, flow.context.mode
    if not levels or flow.context.inside or flow.known.in_rounds or mode not in (Mode.INCREMENTAL, Mode.EVERY):
        return None
    if not _is_asked_for(stm) or not isinstance(stm.exp, Loop) or own_sizes(stm.exp.params):
        return None
    if any(isinstance(exp, Apply) for exp in all_exps(stm.exp.body)):
        return None
    if flow.output.guards.made >= flow.context.machine.max_versions - 1:
        return None
    counts = _counts(flow, stm.exp)
    if counts is None:
        return None
    batches = _batches(flow, stm, stm.exp)
    rounds = _rounds(flow, batches)
    if rounds is None:
        return None
    return Version(
        ROUNDS,
        lambda: _room(flow, rounds, batches, counts),
        lambda to: _emit(flow, to, rounds.middle, batches),
    )


def _is_asked_for(stm: Stm) -> bool:
    wanted = flattening_attrs(stm.attrs).isdisjoint({"no_intra", "only_inner"})
    return wanted and not any(has_attr(stm.attrs, name) for name in ("sequential", "sequential_outer"))


# ---- batches -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batches:
    """A loop in batches of at most `most` rounds: `f` gives the next values of `params` after batch number `number`."""

    loop: Loop
    params: tuple[Param, ...]
    number: Param
    most: Param
    f: Lambda


def _batches(flow: Flow, stm: Stm, loop: Loop) -> Batches:
    """A batch has its own copies of the arrays that it overwrites."""
    params, number, most = flow.again(loop.params), flow.fresh_param("batch", I64), flow.fresh_param("most", I64)
    overwritten, results = overwritten_in(loop.body), flow.again(stm.pat)

    def work() -> tuple[Atom, ...]:
        inits = tuple(
            Var(flow.emit_as(p.name.base, p.type, Copy(p.name)) if own.name in overwritten else p.name)
            for own, p in zip(loop.params, params, strict=True)
        )
        started = replace(loop, inits=inits)
        if isinstance(loop.form, ForLoop):
            batch, more = _counted(flow, started, loop.form, number, most), ()
        else:
            batch, more = _checked(flow, started, loop.form, most), flow.again((most, Param(most.name, BOOL)))
        flow.keep(replace(stm, pat=(*results, *more), exp=batch))
        return tuple(Var(p.name) for p in results)

    return Batches(loop, params, number, most, Lambda((), host_body(flow, work), tuple(p.type for p in params)))


def _counted(flow: Flow, loop: Loop, form: ForLoop, number: Param, most: Param) -> Loop:
    """Round `number * most` and those after it, at most `most` of them."""
    bound = _as_i64(flow, form.prim, form.bound)
    start = flow.op("start", Op.MUL, Var(number.name), Var(most.name))
    count = flow.op("count", Op.MIN, Var(most.name), flow.op("left", Op.SUB, bound, start))
    j, index = flow.fresh_param("j", I64), Param(form.index, scalar(form.prim))

    def at() -> tuple[Atom, ...]:
        i: Exp = PrimOp(Op.ADD, Prim.I64, (start, Var(j.name)))
        if form.prim is not Prim.I64:
            i = Convert(Prim.I64, form.prim, Var(flow.emit_as("i", I64, i)))
        flow.emit((index,), i)
        return ()

    body = Body((*host_body(flow, at).stms, *loop.body.stms), loop.body.result)
    return replace(loop, form=ForLoop(j.name, count, Prim.I64), body=body)


def _checked(flow: Flow, loop: Loop, form: WhileLoop, most: Param) -> Loop:
    """Rounds as long as the condition holds, at most `most` of them."""
    done, goes_on = flow.fresh_param("done", I64), flow.fresh_param("goes_on", BOOL)
    place = [p.name for p in loop.params].index(form.cond)

    def after() -> tuple[Atom, ...]:
        count = flow.op("done", Op.ADD, Var(done.name), i64(1))
        fewer = flow.op("fewer", Op.LT, count, Var(most.name))
        return count, flow.op("goes_on", Op.AND, fewer, loop.body.result[place])

    tail = host_body(flow, after)
    body = Body((*loop.body.stms, *tail.stms), (*loop.body.result, *tail.result))
    inits = (*loop.inits, i64(0), loop.inits[place])
    return Loop((*loop.params, done, goes_on), inits, WhileLoop(goes_on.name), body)


def _emit(flow: Flow, to: tuple[Param, ...], middle: Inside, batches: Batches) -> None:
    """The loop of batches: each a collective, and what it gives: the only elements of its results."""
    loop, params, one = batches.loop, batches.params, i64(1)

    def work() -> tuple[Atom, ...]:
        arrays = tuple(flow.fresh_param(p.name.base, p.type.array_of(one)) for p in params)
        point = TOP.inside((flow.fresh_param("i", I64).name, one))
        g_inside(flow, point, arrays, middle, batches.f.ret, flow.context.machine.higher[-1])
        elements = [element_of(array.name, array.type.shape, (i64(0),)) for array in arrays]
        return tuple(Var(flow.emit_as(p.name.base, p.type, x)) for p, x in zip(params, elements, strict=True))

    if isinstance(loop.form, ForLoop):
        bound = flow.op("last", Op.MAX, _as_i64(flow, loop.form.prim, loop.form.bound), one)
        last = flow.op("last", Op.QUOT, flow.op("last", Op.SUB, bound, one), Var(batches.most.name))
        form = ForLoop(batches.number.name, flow.op("batches", Op.ADD, last, one), Prim.I64)
    else:
        form = WhileLoop(next(p.name for own, p in zip(loop.params, params, strict=True) if own.name == loop.form.cond))
    flow.emit(to, Loop(params, loop.inits, form, host_body(flow, work)))


def _as_i64(flow: Flow, prim: Prim, atom: Atom) -> Atom:
    return atom if prim is Prim.I64 else Var(flow.emit_as("count", I64, Convert(prim, Prim.I64, atom)))


# ---- how many rounds -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """Bounds of the rounds of loops inside of one: `product` has those of loops around arrays, an item of `scalars`
    those of a loop of scalars and the loops in it."""

    product: tuple[Atom, ...]
    scalars: tuple[tuple[Atom, ...], ...]


def _counts(flow: Flow, loop: Loop) -> Counts | None:
    """Bounds for the loops inside of one; None where they are not known before it, or i64 does not hold them."""
    known = frozenset(free_names(loop))
    bounds = bounds_in(flow, loop.body, lambda a: isinstance(a, Const) or a.name in known, loop)

    def bound(one: Loop) -> Atom | None:
        return bounds.most(one.form.bound) if isinstance(one.form, ForLoop) else None

    loops = [exp for exp in all_exps(loop.body) if isinstance(exp, Loop)]
    if None in map(bound, loops) or (isinstance(loop.form, ForLoop) and loop.form.prim is Prim.U64):
        return None
    nests = [(one, *(exp for exp in all_exps(one.body) if isinstance(exp, Loop))) for one in _scalar_loops(loop.body)]
    apart = {id(one) for nest in nests for one in nest}
    around = [one for one in loops if id(one) not in apart]
    return Counts(tuple(filter(None, map(bound, around))), tuple(tuple(filter(None, map(bound, n))) for n in nests))


def _scalar_loops(body: Body) -> Iterator[Loop]:
    """The outermost loops, but for those in functions of SOACs, that make no arrays: they store elements at most."""
    for stm in body.stms:
        if isinstance(stm.exp, Loop) and all(map(_is_scalar, all_stms(stm.exp.body))):
            yield stm.exp
        elif not isinstance(stm.exp, Soac):
            for inner in bodies(stm.exp):
                yield from _scalar_loops(inner)


def _is_scalar(stm: Stm) -> bool:
    match stm.exp:
        case Update(dims=dims):
            return all(isinstance(dim, Fix) for dim in dims)
        case Loop() | If():
            return True
        case exp:
            return not isinstance(exp, Soac) and not any(p.type.shape for p in stm.pat)


def _times(flow: Flow, steps: Atom, counts: tuple[Atom, ...]) -> Atom:
    """The product, TURNS at most."""
    for bound in counts:
        count = flow.op("count", Op.MAX, bound, i64(1))
        count = flow.op("count", Op.MIN, count, i64(TURNS))
        steps = flow.op("steps", Op.MIN, flow.op("steps", Op.MUL, steps, count), i64(TURNS))
    return steps


def _room(flow: Flow, rounds: Rounds, batches: Batches, counts: Counts) -> Atom:
    """By how many elements the largest array that a round makes and a quarter of the work of a segop are below the
    limit; negative if they do not fit, or if a round has too many rounds of other loops. Binds how many rounds a batch
    has at most."""
    limit, middle = flow.context.machine.rounds, rounds.middle
    row = replace(flow.context.machine.higher[-1], most=PASSES * limit)
    work = [product_of(flow, widths) for widths in rounds.work]
    if rounds.rows:
        work.append(folded(flow, Op.ADD, tuple(_cost_of_rows(flow, widths) for widths in rounds.rows)))
    steps = folded(flow, Op.MAX, tuple(work))
    arrays = [product_of(flow, shape) for shape in rounds.made]
    widest = folded(flow, Op.MAX, (flow.op("steps", Op.QUOT, steps, i64(PASSES)), *arrays))
    room = flow.op("room", Op.SUB, i64(limit), widest)
    steps = folded(flow, Op.MAX, (i64(LEAST), steps, widest))
    for scalars in counts.scalars:
        steps = flow.op("steps", Op.ADD, steps, _times(flow, i64(SCALARS), scalars))
    steps = _times(flow, steps, counts.product)
    is_short = flow.op("is_short", Op.LT, steps, i64(TURNS))
    overwritten = overwritten_in(batches.loop.body)
    copied = (p.type.shape for p in batches.loop.params if p.name in overwritten)
    copies = (flow.op("copied", Op.MUL, product_of(flow, shape), i64(COPIES)) for shape in dict.fromkeys(copied))
    elements = folded(flow, Op.MAX, (i64(BATCH), *copies))
    batch = flow.op("most", Op.QUOT, elements, steps)
    flow.emit((batches.most,), PrimOp(Op.MAX, Prim.I64, (batch, i64(1))))
    room = Var(flow.emit_as("room", I64, PrimOp(Op.SELECT, Prim.I64, (is_short, room, i64(-1)))))
    return where_it_fits(flow, middle.spaces, middle.arrays, row, room)


def _cost_of_rows(flow: Flow, widths: Widths) -> Atom:
    """What rows cost if they are short, else nothing."""
    *outer, width = widths
    is_short = flow.op("is_short", Op.LT, width, i64(SHORT))
    rows = flow.op("rows", Op.MUL, product_of(flow, tuple(outer)), i64(ROW))
    return Var(flow.emit_as("rows", I64, PrimOp(Op.SELECT, Prim.I64, (is_short, rows, i64(0)))))


# ---- what is little work -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rounds:
    """A batch as a collective does it. Of a round: the shapes of the arrays that it makes, and the widths of each segop
    with those of the loops inside of its points; where these change from round to round, bounds of them. The widths of
    what a collective goes through row by row, if there are caches."""

    middle: Inside
    made: tuple[Widths, ...]
    work: tuple[Widths, ...]
    rows: tuple[Widths, ...]


def _rounds(flow: Flow, batches: Batches) -> Rounds | None:
    """What a collective does in a batch; None where its sizes are neither known before the loop nor have bounds, or
    where a point makes arrays. The memory of the blocks of a GPU is set aside before a launch: there sizes are known,
    and what is updated in place is made too."""
    body, trail = flat_inside(flow, batches.f, in_rounds=True)
    local = set(bound_in_body(body))
    if flow.context.machine.keeps_rows:
        bounds = bounds_in(flow, body, lambda a: is_known(flow, a, local), batches.loop)
        arrays = _made(Body(tuple(stm for stm in body.stms if not isinstance(stm.exp, Copy)), ()))
        made = tuple(t for stm in body.stms if isinstance(stm.exp, Loop) for t in _made(stm.exp.body))
    else:
        bounds = Bounds(flow, lambda a: is_known(flow, a, local))
        arrays = made = arrays_in(body)
    known = spaces_in(body)
    spaces, shapes = _bounded(bounds, known), _bounded(bounds, (t.shape for t in arrays))
    of_rounds, work = _bounded(bounds, (t.shape for t in made)), _bounded(bounds, _work(body))
    rows = _bounded(bounds, _rows(body) if flow.context.machine.keeps_rows else ())
    if not spaces or shapes is None or of_rounds is None or work is None or rows is None:
        return None
    if spaces != known:
        spaces = (*spaces, (i64(1),))  # a bound may be negative
    types = tuple(Type(t.prim, shape) for t, shape in zip(arrays, shapes, strict=True))
    inside = Inside(body, _distinct(spaces), types, frozenset(), trail)
    return Rounds(inside, _distinct(of_rounds), _distinct(work), rows)


def _bounded(bounds: Bounds, every: Iterable[Widths | None]) -> tuple[Widths, ...] | None:
    """Bounds of all widths; None where some have none."""
    found: list[Widths] = []
    for widths in every:
        most = None if widths is None else bounds.most_of_all(widths)
        if most is None:
            return None
        found.append(most)
    return tuple(found)


def _distinct(every: tuple[Widths, ...]) -> tuple[Widths, ...]:
    return tuple(dict.fromkeys(map(in_order, every)))


def _made(body: Body) -> tuple[Type, ...]:
    """The types of the arrays that a collective makes: neither views, nor what it updates in place."""
    overwritten = overwritten_in(body)
    return tuple(t for stm in statements_of(body) for t in _made_by(stm, overwritten))


def _made_by(stm: Stm, overwritten: set[Name]) -> tuple[Type, ...]:
    match stm.exp:
        case Update() | SegScatter() | SegHist():
            return ()
        case Loop(params, _, _, inner):
            carried = zip(stm.pat, params, inner.result, strict=True)
            own = (p for p, param, x in carried if param.name not in overwritten or not _is_of(param, x, inner))
        case exp:
            own = (p for p in stm.pat if not is_view(exp))
    return tuple(p.type for p in own if p.type.shape)


def _is_of(param: Param, result: Atom, body: Body) -> bool:
    """Whether what a round gives is what it was given, in place; else it is copied there."""
    return isinstance(result, Var) and result.name in made_of(param.name, body.stms)


def _work(body: Body) -> Iterator[Widths | None]:
    """The widths of each segop of a round with those of the loops inside of its points; None where these are not
    counted, or where a point makes arrays."""
    for exp in all_exps(body):
        if isinstance(exp, SegOp):
            inner = (path for own in bodies(exp) for path in _paths(own))
            yield from (None if path is None else (*exp.space.widths, *path) for path in inner)


def _rows(body: Body) -> Iterator[Widths]:
    """The widths of the segops of several dimensions in which indices do not only say where elements lie."""
    for exp in all_exps(body):
        if isinstance(exp, SegOp) and len(exp.space.dims) > 1:
            here = tuple(Fix(Var(index)) for index in exp.space.indices)
            own = (stm.exp for stm in exp.body.stms)
            used = {
                name for one in own if not (isinstance(one, Index) and one.dims == here) for name in free_names(one)
            }
            if not isinstance(exp, SegMap) or not used.isdisjoint(exp.space.indices):
                yield exp.space.widths


def _paths(body: Body) -> Iterator[Widths | None]:
    """The widths of the loops of a thread, outermost first, for each that has none inside; None where one is not
    counted, or an array is made."""
    yield ()
    for stm in body.stms:
        if any(p.type.shape for p in stm.pat) and not is_view(stm.exp):
            yield None
        match stm.exp:
            case If():
                own: Widths = ()
            case Loop(form=ForLoop(_, bound, Prim.I64)):
                own = (bound,)
            case Screma(width):
                own = (width,)
            case exp if any(True for _ in bodies(exp)):
                yield None
                continue
            case _:
                continue
        for path in (path for inner in bodies(stm.exp) for path in _paths(inner)):
            yield None if path is None else (*own, *path)
