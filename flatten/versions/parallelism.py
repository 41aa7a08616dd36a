"""Whether a body holds parallelism, and of which kind.

Parallelism can be exploited where the trip counts of the loops and the conditions of the branches around it do not
vary over the nest. Where its width varies it is flattened on segments (`flatten/irregular/soacs.py`), if its rows and
operators allow it; the rest stays in the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...ir.core import Apply, Body, Exp, ForLoop, Hist, If, Lambda, Loop, Reduction, Scatter, Screma, Stm
from ...ir.traverse import all_exps, bodies, consumed_by, free_in_lambda, free_in_stm, names_in_types
from ...ir.types import Atom, Const, Name, Var
from ..context.found_sizes import has_place, own_sizes
from ..context.nest import Flow
from ..context.recompute_cost import HEAVY, is_movable, weight_of
from ..context.widths import counts, is_small
from .row_operators import row_operator


def is_sequential(stm: Stm) -> bool:
    """`#[sequential]`, where one thread can do it."""
    return any(attr.name == "sequential" for attr in stm.attrs) and has_place(stm)


def may_be_flattened(flow: Flow, stm: Stm) -> bool:
    """Whether parallelism of varying width is flattened in a statement: while there is budget left, and where no thread
    can do it."""
    return flow.known.varying and not is_sequential(stm) and (flow.has_segments_left or not has_place(stm))


def exploitable(flow: Flow, body: Body, params: Iterable[Name]) -> bool:
    """Whether `body`, run for every point of a nest in which `params` vary, holds parallelism to flatten."""
    return _exploitable(flow, body, set(params))


def _exploitable(flow: Flow, body: Body, varies: set[Name]) -> bool:
    """`varies` grows by what is bound in the body; names are unique, so it need not shrink."""
    for stm in body.stms:
        if exploitable_stm(flow, stm, varies) or is_varying_stm(flow, stm, varies):
            return True
        if not is_movable(stm) or not _is_invariant_stm(flow, stm, varies):
            varies.update(p.name for p in stm.pat)
    return False


def _is_invariant_stm(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    return not any(name in varies or flow.is_variant(name) for name in free_in_stm(stm))


def _variance(flow: Flow, varies: set[Name]) -> Callable[[Atom], bool]:
    """Whether an atom varies over the nest, where these names do too."""
    return lambda atom: isinstance(atom, Var) and (atom.name in varies or flow.is_variant(atom.name))


def exploitable_stm(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """As `exploitable`, for one statement."""
    if is_sequential(stm):
        return False

    variant = _variance(flow, varies)

    def regular() -> bool:
        return not own_sizes(stm.pat) and not any(map(variant, map(Var, names_in_types(p.type for p in stm.pat))))

    match stm.exp:
        case Screma(width, _, f, _, _) | Hist(width, _, f, _, _, _) | Scatter(width, _, f, _, _):
            if variant(width) or not regular():
                return False
            return counts(flow, width) or _exploitable_lambda(flow, f, varies)
        case Loop(params, _, ForLoop(index, bound, _), body):
            inner = {p.name for p in params}
            sizes_stay = all(
                name not in inner and not variant(Var(name)) for name in names_in_types(p.type for p in params)
            )
            return not variant(bound) and sizes_stay and _exploitable(flow, body, varies | inner | {index})
        case If(cond, then, orelse):
            if variant(cond) or not regular():
                return False
            return _exploitable(flow, then, set(varies)) or _exploitable(flow, orelse, set(varies))
        case Apply():
            return may_be_flattened(flow, stm)
        case _:
            return False


def flattens_varying(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """Whether a map, reduction or scan whose width varies over the nest is flattened: its operators are the same for
    all segments, and on scalars or on rows of one size, row by row; a map may give rows whose size varies, too."""
    match stm.exp:
        case Screma(width, _, f, scans) as exp if may_be_flattened(flow, stm):
            ops = exp.ops
        case _:
            return False

    def invariant(name: Name) -> bool:
        return name not in varies and not flow.is_variant(name)

    if isinstance(width, Const) or invariant(width.name):
        return False
    free = {name for op in ops for name in free_in_lambda(op.op)}
    free |= {name for op in ops for name in _names(op.neutral)}
    sizes = [size for t in f.ret for size in (t.shape if ops else t.shape[1:])]
    works = all(_is_flat(flow, op, bool(scans)) for op in ops)
    return works and all(map(invariant, (*free, *_names(sizes))))


def gives_varying_rows(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """Whether a map whose width is the same all over the nest, or beside a reduction or scan a map of any width, gives
    rows whose size varies; these have rows of one shape themselves."""
    match stm.exp:
        case Screma(width, _, f) as exp if may_be_flattened(flow, stm):
            values = exp.num_ops
        case _:
            return False

    variant = _variance(flow, varies)
    shapes = [t.shape for t in f.ret[values:]]
    if not values and variant(width):
        return False
    fits = not any(variant(size) for shape in shapes for size in shape[1:])
    return fits and any(variant(shape[0]) for shape in shapes if shape)


def works_on_varying_rows(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """Whether a reduction or scan has an operator that works row by row, on rows whose size varies over the nest."""
    match stm.exp:
        case Screma(_, _, _, scans, reds) if may_be_flattened(flow, stm):
            bodies_ = [op.op.body.stms for op in scans + reds]
        case _:
            return False
    inner = [stms[0].exp for stms in bodies_ if len(stms) == 1]
    widths = [exp.width for exp in inner if isinstance(exp, Screma) and is_plain_map(exp)]
    return any(map(_variance(flow, varies), widths))


def _is_flat(flow: Flow, op: Reduction, is_scan: bool) -> bool:
    """Whether an operator is on scalars, or on rows: in a scan, rows of scalars."""
    if not any(t.shape for t in op.op.ret):
        return True
    rows = row_operator(flow, op)
    return rows is not None and not (is_scan and any(len(replicate.shape) > 1 for replicate in rows.neutral))


def _names(atoms: Iterable[Atom]) -> Iterable[Name]:
    return (atom.name for atom in atoms if isinstance(atom, Var))


def writes_varying(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """Whether a scatter or histogram of varying width is flattened: its values have one shape, and so have the rows
    that it writes to."""
    match stm.exp:
        case Scatter(width, _, f, _, rank) | Hist(width, _, f, _, _, rank):
            pass
        case _:
            return False
    if not may_be_flattened(flow, stm):
        return False

    variant = _variance(flow, varies)
    if not variant(width) or any(variant(Var(name)) for name in names_in_types(f.ret)):
        return False
    op = stm.exp.op if isinstance(stm.exp, Hist) else None
    if op is not None and any(variant(Var(name)) for name in (*free_in_lambda(op.op), *_names(op.neutral))):
        return False
    shapes = [p.type.shape[1:] if rank == 1 else p.type.shape for p in stm.pat]
    return not any(variant(size) for shape in shapes for size in shape)


def is_varying_stm(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """Whether there is parallelism in it that is flattened though width, condition or trip count vary."""
    rows = (gives_varying_rows, works_on_varying_rows)
    kinds = (flattens_varying, *rows, writes_varying, branches_vary, loop_varies)
    return any(holds(flow, stm, varies) for holds in kinds)


def branches_vary(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """A branch of varying condition that holds parallelism, or one that gives rows of varying number, unless it writes
    to them; these are of one shape."""
    match stm.exp:
        case If(cond, then, orelse) if may_be_flattened(flow, stm):
            pass
        case _:
            return False

    variant = _variance(flow, varies)
    own = set(map(Var, own_sizes(stm.pat)))

    def regular(sizes: Iterable[Atom]) -> bool:
        return all(size not in own and not variant(size) for size in sizes)

    if not all(regular(p.type.shape[1:]) for p in stm.pat):
        return False
    if not all(regular(p.type.shape[:1]) for p in stm.pat) and (own or not _writes(stm.exp)):
        return True
    if not variant(cond):
        return False
    return _exploitable(flow, then, set(varies)) or _exploitable(flow, orelse, set(varies))


def _writes(exp: If) -> bool:
    return any(consumed_by(inner) for body in (exp.then, exp.orelse) for inner in all_exps(body))


def loop_varies(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """A loop that holds parallelism and carries arrays of varying size, or that changes the sizes of its arrays; these
    have rows of one shape. Where the trip count alone varies the loop stays in the thread, if it can."""
    match stm.exp:
        case Loop(params, _, form, body) if may_be_flattened(flow, stm):
            own = {p.name for p in params}
        case _:
            return False

    variant = _variance(flow, varies)
    sizes = set(map(Var, own_sizes(params)))
    if any(variant(size) or size in sizes for p in params for size in p.type.shape[1:]):
        return False
    if sizes:
        return True
    index = {form.index} if isinstance(form, ForLoop) else set[Name]()
    has_rows = any(p.type.shape and variant(p.type.shape[0]) for p in params)
    return (has_rows or not has_place(stm)) and _exploitable(flow, body, varies | own | index)


def holds_varying(flow: Flow, body: Body, params: Iterable[Name]) -> bool:
    """Whether a statement of the body is parallelism of varying width."""
    return any(is_varying_stm(flow, stm, varies) for stm, varies in _varying(flow, body, params))


def _varying(flow: Flow, body: Body, params: Iterable[Name]) -> Iterator[tuple[Stm, set[Name]]]:
    """The statements of a body, each with the names before it that vary with the parameters."""
    varies = set(params)
    for stm in body.stms:
        yield stm, varies
        if not is_movable(stm) or not _is_invariant_stm(flow, stm, varies):
            varies.update(p.name for p in stm.pat)


def holds_uniform(body: Body) -> bool:
    """Whether a loop or branch of the body holds parallelism, however often it runs: the threads of a collective do it
    together. Parallelism that is known to be small does not count."""
    return any(holds_wide(inner) for stm in body.stms if not is_sequential(stm) for inner in _controlled(stm.exp))


def _controlled(exp: Exp) -> tuple[Body, ...]:
    return bodies(exp) if isinstance(exp, Loop | If) else ()


def holds_wide(body: Body) -> bool:
    """Whether there is a SOAC in it, in loops and branches too, that is not known to be small."""
    for stm in body.stms:
        match stm.exp:
            case Screma(width) | Hist(width) | Scatter(width) if not is_small(width) and not is_sequential(stm):
                return True
            case exp if any(map(holds_wide, _controlled(exp))):
                return True
            case _:
                pass
    return False


def is_mixed(flow: Flow, body: Body, params: Iterable[Name]) -> bool:
    """Whether the body holds parallelism of varying width and other parallelism beside it."""
    if not holds_varying(flow, body, params):
        return False
    return any(exploitable_stm(flow, stm, varies) for stm, varies in _varying(flow, body, params))


def _exploitable_lambda(flow: Flow, f: Lambda, varies: set[Name]) -> bool:
    return _exploitable(flow, f.body, varies | {p.name for p in f.params})


def is_plain_map(exp: Exp) -> bool:
    """Whether an expression is a map: a screma without scans and reductions."""
    return isinstance(exp, Screma) and not exp.scans and not exp.reds


def is_perfect(body: Body) -> bool:
    """A map and nothing else but what costs nothing: its nest goes on inside."""
    expensive = [stm for stm in body.stms if weight_of(stm.exp) >= HEAVY]
    return len(expensive) == 1 and is_plain_map(expensive[0].exp)
