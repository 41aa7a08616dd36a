"""Loops: the type of the loop parameter, and which of its sizes stay the same from turn to turn."""

from __future__ import annotations

from collections.abc import Collection

from ...ir.errors import Label, Loc
from ..source import syntax as s
from ..source.types import BOOL, Size, SizeConst, SizeVar, TArray, TRecord, TVar, Ty
from .bindings import bind_sizes, check_covers
from .constraints import INTS, needs_prim
from .errors import bound_twice, fault
from .patterns import Bound, bind_pattern
from .size_expressions import hide
from .sizes import SizeClash, is_unknown
from .state import Work
from .type_expressions import Anonymous
from .unify import Solver
from .unknowns import deeper

CHANGES = "each turn of the loop changes this size"
Becomes = tuple[Size, tuple[Size, ...]]
DIFFER = "the loop needs that two dimensions of its parameter stay equal, and gives them different sizes"


def infer_loop(work: Work, exp: s.Loop) -> Ty:
    """`loop p = init for .. do body`. The sizes of the loop parameter are unknown while the body is looked at: one that
    the body gives back as it got it is that of the initial value, any other may change from turn to turn."""
    init = work.exp(exp.init)
    over = _loop_over(work, exp.form)
    work.pending.data_only.append((init, exp.init.loc, "loop parameter"))
    mark, mark_id, bound = work.scope.mark(), work.solver.fresh_id(), Bound()
    later: list[tuple[TVar, Ty]] = []
    ty, sizes = work.solver.refresh_sizes(_apart(work.solver, init, later))
    work.solver.carried |= {var.id for var, _ in sizes}
    ids = set[int]()
    bind_sizes(work, exp.sizes, exp.loc, ids, bound)
    bind_pattern(work, exp.pat, ty, bound, Anonymous.FREE)
    check_covers(work, ty, (exp.pat,), exp.pat)
    _loop_form(work, exp.form, over, exp.loc, bound)
    body = work.exp(exp.body)
    work.scope.leave(mark)
    for part, first in later:
        sizes += _sizes_found(work, exp.init.loc, first, part, mark_id)
    _check_parameter(work, exp, ty, sizes, mark_id)
    changing = _close_loop(work, exp, ty, body, {var.id: start for var, start in sizes})
    fresh: dict[int, Size] = {}
    for var, _ in sizes:
        if var.id in changing:
            after, some = changing[var.id]
            label = _changed_at(work.solver, exp.body, after)
            inside = work.solver.existential(label)
            work.solver.bound_sizes[var.id] = inside
            made = fresh[inside.id] = work.exists(exp.id, label.loc, label.text)
            if all(_is_seen(work.solver, one, mark_id) for one in some):
                work.solver.joined[made.id] = some
    _start_sizes(work, exp, init, ty, sizes, fresh.keys())
    result = hide(work, ty, ids | bound.ids, {}, exp.id, exp.loc)
    return work.record(exp.id, work.solver.replace_sizes(result, fresh))


def _apart(solver: Solver, ty: Ty, later: list[tuple[TVar, Ty]], depth: int = 0) -> Ty:
    """The type of a first value with a new unknown (in `later`, with the old one) for each that nothing was said of."""
    ty, inside = solver.resolve(ty), deeper(depth)
    if isinstance(ty, TRecord):
        return TRecord(tuple([(name, _apart(solver, field, later, inside)) for name, field in ty.fields]))
    if isinstance(ty, TVar) and solver.is_bare(ty):
        later.append((solver.unknown(), ty))
        return later[-1][0]
    return ty


def _sizes_found(work: Work, loc: Loc, init: Ty, ty: Ty, mark: int) -> list[tuple[SizeVar, Size]]:
    """What the body says of a part of the parameter holds of its first value too, but for the sizes that are the
    parameter's own: these, each with that of the first value."""
    solver, own = work.solver, list[tuple[SizeVar, Size]]()
    first, pairs = solver.refresh_sizes(ty)

    def unify() -> None:
        solver.unify(first, init)
        for start, size in pairs:
            if isinstance(size, SizeVar) and is_unknown(size) and solver.age(size) >= mark:
                own.append((size, start))
            else:
                solver.unify_size(start, size)

    work.guarded(unify, ty, init, loc, "initial value of a loop")
    return own


def _check_parameter(work: Work, exp: s.Loop, ty: Ty, sizes: list[tuple[SizeVar, Size]], mark: int) -> None:
    """E0226: the size of a loop parameter cannot be one that comes up in the body."""
    solver = work.solver
    for tag in sorted({tag for var, _ in sizes for tag in solver.names_in(var)}):
        if tag in solver.origins and tag > mark:
            message = "the loop parameter has a size that is known inside the loop only"
            origin = solver.origins[tag]
            label = f"its type is `{work.show(ty)}`"
            raise fault("E0226", message, exp.init.loc, label, [origin] if origin is not None else [])


def _loop_over(work: Work, form: s.ForLess | s.ForIn | s.While) -> Ty | None:
    """The type of what is counted through, which does not see the loop parameter; of an array, that of its elements."""
    match form:
        case s.ForLess(bound=limit):
            ty = work.exp(limit)
            work.ask(ty, needs_prim(INTS, limit.loc, "the bound of a loop"))
            return ty
        case s.ForIn(array=array):
            elem = work.solver.unknown()
            whole = TArray(work.solver.unknown_size(), elem)
            work.expect(whole, work.exp(array), array.loc, "what a loop runs over")
            return elem
        case s.While():
            return None


def _loop_form(work: Work, form: s.ForLess | s.ForIn | s.While, over: Ty | None, loc: Loc, bound: Bound) -> None:
    """Bind what counts, or check the condition, which sees the loop parameter."""
    match form:
        case s.ForLess(name=name, bound=limit):
            assert over is not None
            tag = work.solver.fresh_id()
            bound.ids.add(tag)
            if name in bound.names:
                raise bound_twice("name in a loop", name, limit.loc, bound.names[name])
            work.bind(name, tag, over, loc)
        case s.ForIn(pat=pat):
            assert over is not None
            bind_pattern(work, pat, over, bound, Anonymous.FREE)
            check_covers(work, over, (pat,), pat)
        case s.While(cond=cond):
            work.expect(BOOL, work.exp(cond), cond.loc, "condition of a loop")


def _close_loop(work: Work, exp: s.Loop, ty: Ty, body: Ty, own: dict[int, Size]) -> dict[int, Becomes]:
    """Unify the loop parameter with the body; gives those of its sizes (`own`, with their first values) that change,
    with what the body makes of them, and all that they may become so. What branches, or turns of an inner loop, choose
    among sizes that stay is such a size too. A size may turn out to be another one behind its first dimension: that is
    looked at again."""
    solver = work.solver

    def close(before: Size, after: Size) -> None:
        before, after = solver.size(before), solver.size(after)
        is_open = isinstance(after, SizeVar) and is_unknown(after) and after.id not in own
        if not isinstance(before, SizeVar) or before.id not in own or is_open:
            for one in solver.either(after):
                solver.unify_size(before, one)
            if isinstance(after, SizeVar) and after.id in solver.joined:
                solver.bound_sizes[after.id] = before

    label = Label(exp.init.loc, f"the initial value is `{work.show(ty)}`")
    before = None
    while before != (rest := own.keys() - solver.bound_sizes.keys()):
        before = rest
        work.expect_with(ty, body, close, exp.body.loc, "body of a loop", [label])
    pairs = zip(solver.sizes_in(ty), solver.sizes_in(body), strict=True)
    passed = [(old.id, new) for old, new in pairs if isinstance(old, SizeVar) and old.id in own]
    changing = _changing(solver, passed, own)
    solver.bound_sizes |= {
        after.id: SizeVar("", size)
        for size, after in passed
        if size not in changing and isinstance(after, SizeVar) and after.id in solver.joined
    }
    work.guarded(lambda: _agree(solver, passed, changing), ty, body, exp.body.loc, "body of a loop", [label])
    return {size: (after, _may_be(solver, size, passed, own)) for size, after in passed if size in changing}


def _is_seen(solver: Solver, size: Size, mark: int) -> bool:
    """Whether a size speaks of nothing that came up after `mark`."""
    names = solver.names_in(size).values()
    older = [name.id <= mark or (is_unknown(name) and solver.age(name) <= mark) for name in names]
    return isinstance(size, SizeConst) or (bool(older) and all(older))


def _may_be(solver: Solver, size: int, passed: list[tuple[int, Size]], own: dict[int, Size]) -> tuple[Size, ...]:
    """The first value of a size, and what turns make of it; of other sizes of the parameter, what these may be."""
    found, todo = dict[int, Size]({size: own[size]}), [size]
    others: list[Size] = []
    while todo:
        at = todo.pop()
        for one in [one for old, whole in passed if old == at for one in solver.either(whole)]:
            if not isinstance(one, SizeVar) or one.id not in own:
                others.append(one)
            elif one.id not in found:
                found[one.id] = own[one.id]
                todo.append(one.id)
    return (*found.values(), *others)


def _changed_at(solver: Solver, body: s.Exp, after: Size) -> Label:
    """Where a loop changes a size to `after`: in its body, or in that of a loop inside of it."""
    while isinstance(body, s.Let):
        body = body.body
    after = solver.size(after)
    inner = solver.origins.get(after.id) if isinstance(after, SizeVar) else None
    return inner if inner is not None and inner.text == CHANGES else Label(body.loc, CHANGES)


def _agree(solver: Solver, passed: list[tuple[int, Size]], changing: set[int]) -> None:
    """A size that changes, and that several dimensions share, becomes the same in all of them."""
    becomes: dict[int, Size] = {}
    for size, after in passed:
        if size in changing and not solver.same_size(becomes.setdefault(size, after), after):
            raise SizeClash(becomes[size], after, DIFFER)


def _changing(solver: Solver, passed: list[tuple[int, Size]], own: dict[int, Size]) -> set[int]:
    """The sizes that get something else than their first value, at once or from another that changes."""
    changing, before = set[int](), -1
    while before != len(changing):
        before = len(changing)
        for size, after in [(size, one) for size, whole in passed for one in solver.either(whole)]:
            origin = after.id if isinstance(after, SizeVar) and after.id in own else None
            first = own[origin] if origin is not None else after
            if origin in changing or not solver.same_size(own[size], first):
                changing.add(size)
    return changing


def _start_sizes(
    work: Work, exp: s.Loop, init: Ty, ty: Ty, sizes: list[tuple[SizeVar, Size]], changing: Collection[int]
) -> None:
    """The first values have the sizes that stay; one that changes starts the same in all dimensions that share it."""
    solver, starts = work.solver, dict[int, Size]()

    def start() -> None:
        for var, size in sizes:
            known = solver.size(var)
            if isinstance(known, SizeVar) and known.id in changing:
                solver.unify_size(starts.setdefault(known.id, size), size)
            else:
                solver.unify_size(var, size)

    work.guarded(start, ty, init, exp.init.loc, "initial value of a loop")
