"""Simplification: rounds of one walk forward and one backward, until nothing is left behind the walk.

    forward   rules on every statement, sharing of common subexpressions, hoisting     (the other files)
    backward  removal of what is unused                                                (`dead_code.py`)

The walk keeps an `Env`: each statement is first resolved (its operands replaced by what they are known to be), then
rewritten by rules until none applies, its bodies are walked, and it is put where it belongs, unless an equal one is
there already. A statement with certificates that turns out to be a mere copy hands its certificates to its users.

Whatever a rule gives is simplified at once, so that one walk does nearly all: another one follows only where something
changed that the walk had passed (`Env.behind`): a result was taken out of a statement, a lambda got another row, or a
loop has a parameter that turned out not to change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import starmap

from ...ir.core import (
    Assert,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    Exp,
    ForLoop,
    FunDef,
    Hist,
    If,
    Index,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Scatter,
    Screma,
    SegHist,
    SegMap,
    SegOp,
    SegRed,
    SegScan,
    SegScatter,
    Soac,
    Stm,
    Update,
    WhileLoop,
)
from ...ir.traverse import operands, reductions, scoped_bodies, space_params, with_bodies, with_lambdas
from ...ir.types import Atom, Const, Name, Names, Var
from ..aliasing.classes import aliases, consumed_params, sharing_in
from . import views
from .bounds import assume, counting, decide_comparison, mark_in_bounds, restore, writes_in_bounds
from .control import EXPANSIONS, drop_equal_results, invariant_params, select_scalars, share_between_branches
from .cse import key_of, same_value
from .dead_code import remove_dead, without_dead
from .env import Env, FrameKind
from .hoist import level_for
from .literals import literals_of_branches, update_of_literal, view_of_literal
from .map_views import rearrange_of_nest, reshape_of_nest, slice_of_map
from .scalars import RULES as SCALAR_RULES
from .scalars import TRUE
from .soacs import INPUT_RULES, RESULT_RULES, note_inputs, take_row, with_rows

FEW = 16
"""A branch of no more statements is cleared of dead ones at once: without them it may be cheap."""

StmRule = Callable[[Stm, Env], Stm | None]

ROUNDS = 12
"""Programs settle after one to three rounds; this bounds the strange ones."""


def simplify(prog: Prog) -> Prog:
    """A program that computes the same with less."""
    prog = remove_dead(prog)
    for _ in range(ROUNDS):
        prog, behind = _round(prog)
        prog = remove_dead(prog)
        if not behind:
            break
    return prog


def _round(prog: Prog) -> tuple[Prog, bool]:
    """One walk over the program, and whether another one may find more."""
    env = Env(Names(prog.next_name), sharing_in(prog), consumed_params(prog), lambda stm: _simplify_stm(stm, env))
    env.uses = _uses(prog)
    env.open(FrameKind.ROOT, runs=True)
    _walk(prog.consts, env)
    functions = tuple(_simplify_fun(fun, env) for fun in prog.functions)
    consts = tuple(env.close())
    return Prog(consts, functions, env.names.next), env.behind


def _uses(prog: Prog) -> Counter[Name]:
    """How often each name is an operand or a result."""
    uses: Counter[Name] = Counter()
    pending = list(prog.bodies)
    while pending:
        body = pending.pop()
        atoms = [*body.result, *(a for stm in body.stms for a in operands(stm.exp))]
        uses.update([a.name for a in atoms if isinstance(a, Var)])
        for stm in body.stms:
            pending.extend(inner for _, inner in scoped_bodies(stm.exp))
    return uses


def _simplify_fun(fun: FunDef, env: Env) -> FunDef:
    env.open(FrameKind.ROOT, runs=False)
    env.bind(fun.params)
    body = _finish_body(fun.body, env)
    return replace(fun, body=body)


# ---- bodies -------------------------------------------------------------------------------------------------------


def _walk(stms: tuple[Stm, ...], env: Env) -> None:
    for stm in stms:
        _simplify_stm(stm, env)


def _finish_body(body: Body, env: Env) -> Body:
    """Walks a body in the innermost frame and closes the frame."""
    _walk(body.stms, env)
    result = tuple(env.resolve(atom) for atom in body.result)
    return Body(tuple(env.close()), result)


def _simplify_branch(body: Body, cond: Atom, truth: bool, env: Env) -> Body:
    env.open(FrameKind.BRANCH, runs=False)
    before = assume(cond, truth, env)
    simpler = _finish_body(body, env)
    restore(before, env)
    return without_dead(simpler) if len(simpler.stms) <= FEW else simpler


def _simplify_loop_body(loop: Loop, env: Env) -> Body:
    bound = loop.form.bound if isinstance(loop.form, ForLoop) else None
    env.open(FrameKind.LOOP, runs=_runs(loop, env), width=bound)
    env.bind(loop.params)
    if isinstance(loop.form, ForLoop):
        env.bind((Param(loop.form.index, env.type_of(loop.form.bound)),))
        if loop.form.prim.is_signed:
            env.ranges[loop.form.index] = counting(loop.form.bound, env)
    return _finish_body(loop.body, env)


def _runs(loop: Loop, env: Env) -> bool:
    """Whether the loop is known to have a first iteration."""
    match loop.form:
        case ForLoop(bound=Const(_, value)):
            return value >= 1
        case ForLoop(bound=bound):
            low = env.range_of(bound.name).low if isinstance(bound, Var) else None
            return low is not None and low >= 1
        case WhileLoop(cond):
            return loop.inits[[p.name for p in loop.params].index(cond)] == TRUE


def _simplify_operator(reduction: Reduction, env: Env) -> Reduction:
    env.open(FrameKind.LAMBDA, runs=False)
    env.bind(reduction.op.params)
    body = _finish_body(reduction.op.body, env)
    return Reduction(Lambda(reduction.op.params, body, reduction.op.ret), reduction.neutral, reduction.comm)


def _simplify_lambda(stm: Stm, soac: Soac, env: Env) -> Stm:
    runs = isinstance(soac.width, Const) and soac.width.value >= 1
    frame = env.open(FrameKind.LAMBDA, runs=runs, width=soac.width)
    env.bind(soac.map.params)
    note_inputs(soac, env)
    body = _finish_body(soac.map.body, env)
    env.behind |= bool(frame.rows)
    return with_rows(stm, replace(soac, map=Lambda(soac.map.params, body, soac.map.ret)), frame, env)


def _simplify_bodies(stm: Stm, env: Env) -> Stm:
    """`stm` with its bodies simplified, and what they show taken out."""
    exp = stm.exp
    match exp:
        case If(cond, then, orelse):
            branches = (_simplify_branch(then, cond, True, env), _simplify_branch(orelse, cond, False, env))
            stm = replace(stm, exp=with_bodies(exp, branches))
            return _first_rule((drop_equal_results,), stm, env)
        case Loop():
            loop = Loop(exp.params, exp.inits, exp.form, _simplify_loop_body(exp, env))
            env.behind |= bool(invariant_params(loop, env))
            return replace(stm, exp=loop)
        case Screma() | Hist() | Scatter():
            stm = _simplify_lambda(stm, exp, env)
            assert isinstance(stm.exp, Soac)
            ops = tuple(_simplify_operator(r, env).op for r in reductions(stm.exp))
            return _first_rule(RESULT_RULES, replace(stm, exp=with_lambdas(stm.exp, (stm.exp.map, *ops))), env)
        case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
            return replace(stm, exp=_simplify_segop(exp, env))
        case _:
            return stm


def _simplify_segop(segop: SegOp, env: Env) -> Exp:
    ops = tuple(_simplify_operator(r, env).op for r in reductions(segop))
    env.open(FrameKind.SEGOP, runs=False)
    env.bind(space_params(segop.space))
    for name, width in segop.space.dims:
        env.ranges[name] = counting(width, env)
    body = _finish_body(segop.body, env)
    if isinstance(segop, SegScatter) and not segop.safe and writes_in_bounds(segop, body, env):
        segop = replace(segop, safe=True)
    return with_bodies(segop, (*(op.body for op in ops), body))


# ---- statements ---------------------------------------------------------------------------------------------------


BASIC_RULES: Mapping[type, tuple[StmRule, ...]] = {
    PrimOp: (decide_comparison,),
    Index: (
        take_row, views.index_whole, views.index_of_index, views.index_of_rearrange, views.index_of_copy,
        views.index_of_iota, views.index_of_replicate, views.index_of_concat, views.index_of_literal,
        views.index_of_reshape, view_of_literal, slice_of_map, mark_in_bounds,
    ),
    Rearrange: (views.merge_rearranges, view_of_literal, rearrange_of_nest),
    Reshape: (views.merge_reshapes, view_of_literal, reshape_of_nest),
    Replicate: (views.merge_replicates,),
    Concat: (views.merge_concats, view_of_literal),
    Copy: (views.drop_copy, views.copy_of_fresh),
    Update: (update_of_literal, mark_in_bounds),
}  # fmt: skip
"""By the expressions that they may apply to, in the order in which they are tried."""


def _simplify_stm(stm: Stm, env: Env) -> None:
    """Simplifies a statement and puts it, or what becomes of it, into its frame."""
    pending = [stm]
    while pending:
        stm = env.resolve_stm(pending.pop())
        env.loc = stm.loc
        following = _next(stm, env)
        if following is None:
            stm = _simplify_bodies(stm, env)
            rules = (literals_of_branches, select_scalars, share_between_branches)  # of branches as they are now
            following = next((new for rule in rules if (new := rule(stm, env)) is not None), None)
        if following is None:
            _settle(stm, env)
            pending.extend(env.copies)
            env.copies.clear()
        else:
            pending.extend(reversed(following))


def _next(stm: Stm, env: Env) -> list[Stm] | None:
    """What takes the place of `stm` by the first rule that applies to it, before its bodies are looked at."""
    match stm.exp:
        case Copied():
            return None
        case If() | Loop():
            return next((new for rule in EXPANSIONS if (new := rule(stm, env)) is not None), None)
        case Screma() | Hist() | Scatter():
            new = _apply_first(INPUT_RULES, stm, env)
        case _:
            new = _rewrite_basic(stm, env)
    return None if new is None else [new]


def _rewrite_basic(stm: Stm, env: Env) -> Stm | None:
    if isinstance(stm.exp, PrimOp | Convert):
        for rule in SCALAR_RULES:
            exp = rule(stm.exp, env)
            if exp is not None:
                return replace(stm, exp=exp)
    match stm.exp:
        case Assert(Const() as cond) if cond == TRUE:
            return replace(stm, exp=Copied(TRUE))
        case _:
            return _apply_first(BASIC_RULES.get(type(stm.exp), ()), stm, env)


def _apply_first(rules: tuple[StmRule, ...], stm: Stm, env: Env) -> Stm | None:
    """What the first rule makes that applies, and that lets no arrays share memory of which one is overwritten."""
    for rule in rules:
        new = rule(stm, env)
        if new is not None and not any(starmap(env.are_to_stay_apart, aliases(new))):
            return new
    return None


def _first_rule(rules: tuple[StmRule, ...], stm: Stm, env: Env) -> Stm:
    """`stm` after each of `rules` had its turn."""
    for rule in rules:
        new = rule(stm, env)
        if new is not None:
            env.behind = True
            stm = new
    return stm


def _settle(stm: Stm, env: Env) -> None:
    """Aliases a copy, shares what is there already, places the rest."""
    if not stm.pat:
        return
    if isinstance(stm.exp, Copied):
        _settle_copy(stm, stm.exp.atom, env)
        return
    key = key_of(stm.exp)
    level = level_for(stm, env)
    earlier = _earlier(stm, key, env)
    if earlier is not None:
        certs = tuple(c for c in stm.certs if c not in earlier.certs)
        for param, same in zip(stm.pat, earlier.pat, strict=True):
            _settle_copy(Stm((param,), Copied(Var(same.name)), certs, (), stm.loc), Var(same.name), env)
        return
    env.place(stm, level)
    if key is not None:
        env.remember(key, stm, level)


def _earlier(stm: Stm, key: object, env: Env) -> Stm | None:
    """A statement known here that computes the same, and whose arrays may be shared        [S-Share]"""
    for earlier in env.seen.get(key, ()) if key is not None else ():
        types_agree = [x.type for x in earlier.pat] == [x.type for x in stm.pat]
        if types_agree and all(map(env.may_share, (*earlier.pat, *stm.pat))) and same_value(earlier, stm):
            return earlier
    return None


def _settle_copy(stm: Stm, atom: Atom, env: Env) -> None:
    """x = y  ⟶  [y/x]        [S-CopyProp]; with certificates, x keeps a statement for the results that name it."""
    (param,) = stm.pat
    env.types[param.name] = param.type
    if not stm.certs:
        env.alias(param.name, atom)
        return
    env.guard(param.name, atom, stm.certs)
    env.place(stm, env.here)
