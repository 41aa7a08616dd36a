"""Flattening: core with nested SOACs to segops in several versions (DESIGN 2.5).

The driver of the rules. `flatten` walks the statements of each function in a nest Σ, empty at first; a statement is
rewritten by the first rule that applies. At the top level what no rule rewrites stays (G0); in a nest it is deferred:
it travels into the kernels that need it. Rules that descend (G2, interchange) walk their bodies in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..ir.core import Body, Copied, FunDef, Hist, If, Loop, Prog, Scatter, Screma, Stm
from ..ir.errors import Diagnostic, Label
from ..ir.machine import Machine, Mode
from ..ir.records import dataclass
from ..ir.thresholds import Threshold
from ..ir.traverse import free_in_lambda, free_in_stm, types_in
from ..ir.types import Atom, Name, Names, Type, Var
from .aliasing.classes import overwritten_names
from .by_hand import by_hand_rule, with_versions
from .context.nest import TOP, Context, Flow, Guards, Known, Lifts, Nest, Output, Walked
from .context.segop_bodies import defer
from .context.trace import Fired, Rule
from .irregular.appends import append_rule
from .irregular.calls import call_rule, lift
from .irregular.control import varying_if_rule, varying_loop_rule
from .irregular.rows import row_operators_rule, rows_of_rows_rule
from .irregular.soacs import varying_rule
from .irregular.updates import varying_update_rule
from .irregular.writes import varying_concat_rule, varying_write_rule
from .memory.thread_fusion import sequentialise
from .rules.branch_writes import branch_write_rule
from .rules.bulk import alias_rule, concat_rule, invariant_rule, rearrange_rule, reshape_rule, slice_rule
from .rules.control import map_if, map_loop, top_rule
from .rules.maps import map_rule, sequential_rule
from .rules.reductions import reduction_rule
from .rules.writes import hist_rule, scatter_rule, update_rule
from .versions.call_stacks import operators_on_stacks
from .versions.in_nests import parts_in_nests
from .versions.irregular import versions_rule

RuleFunction = Callable[[Flow, Nest, Stm], Rule | None]

RULES: tuple[RuleFunction, ...] = (
    sequential_rule,
    map_rule,
    reduction_rule,
    scatter_rule,
    hist_rule,
    append_rule,
    top_rule,
    map_loop,
    map_if,
    row_operators_rule,
    rows_of_rows_rule,
    varying_rule,
    varying_write_rule,
    varying_if_rule,
    varying_loop_rule,
    invariant_rule,
    alias_rule,
    rearrange_rule,
    reshape_rule,
    slice_rule,
    concat_rule,
    varying_concat_rule,
    update_rule,
    branch_write_rule,
    varying_update_rule,
    call_rule,
)
"""In the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Flattened:
    """The flat program, the rules that fired, and what the user should hear."""

    prog: Prog
    trail: tuple[Fired, ...]
    warnings: tuple[Diagnostic, ...]


def flatten(prog: Prog, mode: Mode, machine: Machine) -> Prog:
    """`prog` with every SOAC a segop, or inside one."""
    return flatten_traced(prog, mode, machine).prog


def flatten_traced(prog: Prog, mode: Mode, machine: Machine) -> Flattened:
    """As `flatten`, with the rules that fired and warnings."""
    prog = operators_on_stacks(with_versions(prog))
    names = Names(prog.next_name)
    types, consumed = types_in(prog), overwritten_names(prog)
    trail: list[Fired] = []
    warnings: list[Diagnostic] = []
    counts: dict[Threshold, int] = {}
    lifts = Lifts({fun.name: fun for fun in prog.functions if not fun.kernels})

    def flow_for(entry: str, mode: Mode = mode) -> Flow:
        known = Known(types, consumed, varying=mode in (Mode.INCREMENTAL, Mode.EVERY))
        context = Context(names, mode, machine, False, walk, walk_top, lifts)
        return Flow(context, known, Output(Guards(entry, "", counts, (), 0, 0), trail))

    globals_ = flow_for("consts")
    walk_top(globals_, Body(prog.consts, ()))
    functions: list[FunDef] = []
    for fun in prog.functions:
        one = Mode.FULL if fun.kernels else mode  # the versions of what it does are those of its calls
        flow = flow_for(fun.entry.name if fun.entry is not None else fun.name.base, one)
        flow.known.replicates.update(globals_.known.replicates)
        flow.known.numbers |= globals_.known.numbers
        body = parts_in_nests(flow, fun.body) if machine.keeps_rows else fun.body
        walk_top(flow, body)
        functions.append(replace(fun, body=Body(tuple(flow.output.stms), body.result)))
        warnings += _over_budget(flow, fun)
    while lifts.waiting:
        lifted = lifts.waiting.pop()
        functions.append(lift(flow_for(lifted.name.base, mode), lifted))
    flat = sequentialise(Prog(tuple(globals_.output.stms), tuple(functions), names.next), machine, globals_.note)
    return Flattened(flat, tuple(trail), tuple(warnings))


def _over_budget(flow: Flow, fun: FunDef) -> list[Diagnostic]:
    guards = flow.output.guards
    if not guards.dropped:
        return []
    message = f"pruned to {guards.made + 1} versions of `{guards.entry}`, {guards.dropped} dropped"
    hint = "choose versions with #[flattening(no_outer)] or #[sequential_inner] where you know which is best"
    return [Diagnostic("W0302", message, Label(fun.loc, "its nests of parallelism have more"), hint=hint)]


# ---- statements ----------------------------------------------------------------------------------------------------


def walk_top(flow: Flow, body: Body) -> None:
    """Flatten the statements of a body at the top level; guards are named after the statement they are made for."""
    _count_uses(flow, body.stms, body.result)
    for stm in body.stms:
        if stm.pat:
            flow.output.guards.binding = stm.pat[-1].name.base
        _step(flow, TOP, stm)


def walk(flow: Flow, nest: Nest, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> None:
    """Flatten statements in the nest; `result` is what their body gives."""
    _count_uses(flow, stms, result)
    at = Walked(stms, result)
    flow.output.walked.append(at)
    while at.place < len(stms):
        done = versions_rule(flow, nest, stms[at.place :], result) if flow.known.mixed else 0
        if not done:
            _step(flow, nest, stms[at.place])
        at.place += done or 1
    flow.output.walked.pop()


def _count_uses(flow: Flow, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> None:
    """How many statements of its body use a name (the result counts as one)."""
    for stm in stms:
        for name in (*free_in_stm(stm), *_read_otherwise(stm)):
            flow.known.uses[name] = flow.known.uses.get(name, 0) + 1
    for name in {atom.name for atom in result if isinstance(atom, Var)}:
        flow.known.uses[name] = flow.known.uses.get(name, 0) + 1


def _read_otherwise(stm: Stm) -> tuple[Name, ...]:
    """Inputs of a SOAC that it reads in another way too: as a whole, or as another of its inputs."""
    match stm.exp:
        case Screma(_, arrays, f) | Hist(_, arrays, f) | Scatter(_, arrays, f):
            whole = free_in_lambda(f)
            return tuple(dict.fromkeys(xs for xs in arrays if xs in whole or arrays.count(xs) > 1))
        case _:
            return ()


def _step(flow: Flow, nest: Nest, stm: Stm) -> None:
    loc, certs, lent = flow.output.loc, flow.output.certs, flow.known.lent
    flow.output.loc, flow.known.lent = stm.loc, set()
    inner = _with_certs_inside(flow, stm)
    flow.output.certs = (*certs, *inner.certs)
    if not any(rule(flow, nest, inner) is not None for rule in (by_hand_rule, *RULES)):
        _leave(flow, nest, stm)
    flow.known.fresh |= flow.known.lent
    flow.output.loc, flow.output.certs, flow.known.lent = loc, certs, lent


def _leave(flow: Flow, nest: Nest, stm: Stm) -> None:
    """What no rule rewrites: at the top level it stays, in a nest it waits for the kernels that need it.

    G(•, e)  ⟶  e        [G0]
    """
    if nest.dims:
        if isinstance(stm.exp, Screma | Scatter | Hist):
            flow.note(Rule.IRREGULAR, ", ".join(str(p.name) for p in stm.pat))
        defer(flow, nest, (stm,))
    else:
        flow.keep(stm)


def _with_certs_inside(flow: Flow, stm: Stm) -> Stm:
    """A compound statement that relies on checks of the nest: its values rely on them instead, inside its bodies."""
    variant = tuple(c for c in stm.certs if flow.is_variant(c))
    if not variant:
        return stm
    match stm.exp:
        case Screma() | Scatter() | Hist():
            f = stm.exp.map
            exp = replace(stm.exp, map=replace(f, body=_relying(flow, f.body, f.ret, variant)))
        case If(cond, then, orelse):
            types = tuple(p.type for p in stm.pat)
            exp = If(cond, _relying(flow, then, types, variant), _relying(flow, orelse, types, variant))
        case Loop():
            body = _relying(flow, stm.exp.body, tuple(p.type for p in stm.exp.params), variant)
            exp = replace(stm.exp, body=body)
        case _:
            return stm
    return replace(stm, exp=exp, certs=tuple(c for c in stm.certs if c not in variant))


def _relying(flow: Flow, body: Body, types: tuple[Type, ...], certs: tuple[Name, ...]) -> Body:
    """`body` whose results rely on `certs`."""
    params = tuple(flow.fresh_param("x", t) for t in types)
    stms = tuple(
        Stm((param,), Copied(atom), certs, (), flow.output.loc) for param, atom in zip(params, body.result, strict=True)
    )
    return Body(body.stms + stms, tuple(Var(p.name) for p in params))
