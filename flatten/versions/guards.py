"""Versions: which there are of a map, how they are guarded, and what the guards are called.

    G(Σ, map (λx̄ → e) x̄s)  ⟶  if t ≤ Par(Σ') then segmap Σ' e                                    [incremental rule]
                               elif t' ≤ Par(e_mid) and e fits l then segmap^l Σ' e_mid    (each level l)
                               else G(Σ', e)
    Σ' = Σ, ⟨x̄ ∈ x̄s⟩,  e_mid = G(•, e) with the threads of a collective of level l

Versions are bounded top-down, while flattening: a policy leaves out those that cannot win, attributes of the source
override it, and an entry holds no more than the machine's budget of them. Names of thresholds are
`ENTRY.BINDING.suff_outer_k`: stable under edits of other bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...ir.attributes import has_attr
from ...ir.core import Attr, Body, Copied, Exp, GuardCmp, If, Level, Param, Screma, Stm
from ...ir.machine import LevelRow, Mode
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import refreshing, rewrite_body
from ...ir.show import show_body
from ...ir.thresholds import next_of
from ...ir.types import BOOL, Atom, Const, Names, Prim, Var, i64
from ..context.found_sizes import has_place
from ..context.nest import Flow, Nest, host_body
from ..context.trace import Rule
from ..context.widths import is_small
from .parallelism import is_perfect
from .policy import score, score_inside


@dataclass(frozen=True, slots=True)
class Choice:
    """The versions of a map, least parallel first: its body in one thread, with threads inside a collective of each of
    these levels, flattened. Where it is not to be flattened, the body in one thread is what is left."""

    outer: bool
    inside: tuple[LevelRow, ...]
    full: bool


OUTER = Choice(True, (), False)
FULL = Choice(False, (), True)


def flattening_attrs(attrs: tuple[Attr, ...]) -> frozenset[str]:
    """The arguments of `#[flattening(...)]`."""
    return frozenset(arg.name for attr in attrs if attr.name == "flattening" for arg in attr.args)


def choose(flow: Flow, stm: Stm, body: Body, varies: bool) -> Choice:
    """The versions of a map with this body, which holds parallelism that can be exploited; `varies` if its width varies
    over the nest: then there is always a version beside it that is sequential."""
    asked = _asked(flow, stm)
    if asked is not None:
        return asked
    if flow.context.inside:
        in_arrays = flow.known.in_rounds and flow.context.machine.keeps_rows
        return FULL if is_perfect(body) or leaves_room(stm.exp) or in_arrays else OUTER
    match flow.context.mode:
        case Mode.FULL:
            return FULL
        case Mode.OUTER:
            return FULL if is_perfect(body) else OUTER
        case Mode.INCREMENTAL:
            machine = flow.context.machine
            levels = machine.higher if score_inside(machine, body) > 1 else _for_rows(flow) if varies else ()
            wanted = Choice(varies or score(machine, body) > 1, levels, True)
            return FULL if is_perfect(body) else _within_budget(flow, _allowed(stm.attrs, wanted))
        case Mode.EVERY:
            return _within_budget(flow, _allowed(stm.attrs, Choice(True, flow.context.machine.higher, True)))


def choose_uniform(flow: Flow, stm: Stm) -> Choice:
    """The versions of a map whose loops or branches vary over the nest, with parallelism inside: for the threads of a
    collective they are uniform. Beside these the sequential one."""
    asked = _asked(flow, stm)
    if asked is not None and asked.inside:
        return asked
    if asked is not None or flow.context.inside or flow.context.mode in (Mode.FULL, Mode.OUTER):
        return OUTER
    return _within_budget(flow, _allowed(stm.attrs, Choice(True, flow.context.machine.higher, False)))


def choose_calls(flow: Flow, stm: Stm) -> Choice:
    """The versions of a map whose calls a thread can do on a stack: that, and level by level."""
    arguments = flattening_attrs(stm.attrs)
    if flow.context.inside or flow.context.mode is Mode.OUTER or has_attr(stm.attrs, "sequential_inner"):
        return OUTER
    if flow.context.mode is Mode.FULL or not arguments.isdisjoint(("only_inner", "no_outer")):
        return FULL
    return _within_budget(flow, Choice(True, (), True))


def _for_rows(flow: Flow) -> tuple[LevelRow, ...]:
    """The levels where a row of varying length is worth a collective though it is read once: its threads load what is
    side by side, and wait for no longer row. Blocks have too many threads for that."""
    return tuple(row for row in flow.context.machine.higher if row.level is Level.WARP)


def choose_reduction(flow: Flow, stm: Stm, has_rows: bool) -> Choice:
    """The versions of a redomap or scanomap whose map holds parallelism that can be exploited, or (`has_rows`) that has
    an operator on rows."""
    asked = _asked(flow, stm)
    if asked is not None:
        return asked
    if flow.context.inside:
        return FULL if has_rows or leaves_room(stm.exp) else OUTER
    match flow.context.mode:
        case Mode.FULL:
            return FULL
        case Mode.OUTER:
            return OUTER
        case Mode.INCREMENTAL | Mode.EVERY:
            return _within_budget(flow, _allowed(stm.attrs, Choice(True, (), True)))


def _asked(flow: Flow, stm: Stm) -> Choice | None:
    """The only version that the attributes of the source leave, or that there can be."""
    attrs, arguments = stm.attrs, flattening_attrs(stm.attrs)
    if flow.known.varying and not has_place(stm):
        return FULL
    if has_attr(attrs, "sequential_inner"):
        return OUTER
    if "only_intra" in arguments and flow.context.machine.higher and not flow.context.inside:
        return Choice(False, flow.context.machine.higher[-1:], False)
    has_one = flow.context.inside or flow.context.mode in (Mode.FULL, Mode.OUTER)
    if "only_inner" in arguments or ("no_outer" in arguments and has_one):
        return FULL
    return None


def leaves_room(exp: Exp) -> bool:
    """Inside a level there are no guards: parallelism is distributed until the level is filled, and sequential below.
    What is known to be small does not fill it."""
    return isinstance(exp, Screma) and is_small(exp.width)


def _allowed(attrs: tuple[Attr, ...], choice: Choice) -> Choice:
    """Without the versions that the source does not want."""
    arguments = flattening_attrs(attrs)
    outer = choice.outer and "no_outer" not in arguments
    return replace(choice, outer=outer, inside=() if "no_intra" in arguments else choice.inside)


def _within_budget(flow: Flow, choice: Choice) -> Choice:
    """Without versions beyond those that the entry may have: those inside a level go first."""
    left = flow.context.machine.max_versions - 1 - flow.output.guards.made
    outer = choice.outer and left > 0
    inside = choice.inside[: max(0, left - outer)]
    flow.output.guards.dropped += (choice.outer - outer) + len(choice.inside) - len(inside)
    return replace(choice, outer=outer, inside=inside)


# ---- guards --------------------------------------------------------------------------------------------------------

Emit = Callable[[tuple[Param, ...]], None]
"""Emits a version that binds the given names."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version that is taken where `threshold <= par`; `par` emits the parallelism, `kind` names the threshold. By
    default it is taken only where it `pays` too."""

    kind: str
    par: Callable[[], Atom]
    emit: Emit
    pays: Atom = Const(Prim.BOOL, True)


def outer_version(flow: Flow, nest: Nest, emit: Emit) -> Version:
    """Taken where the nest alone has parallelism enough."""
    return Version(flow.context.machine.lowest.guard, lambda: parallelism_of(flow, nest), emit)


def guarded(flow: Flow, pat: tuple[Param, ...], versions: Sequence[Version], last: Emit) -> None:
    """`if t <= par then version elif .. else last`, binding `pat`."""
    if not versions:
        last(pat)
        return
    first, *rest = versions
    guards = flow.output.guards
    threshold, before = named(flow, first.kind), len(flow.output.stms)
    guards.made += 1
    flow.note(Rule.INCREMENTAL, threshold)
    enough = flow.emit_as("enough", BOOL, GuardCmp(threshold, first.par(), guards.path, first.pays))
    then = _side(flow, pat, threshold, True, first.emit)
    orelse = _side(flow, pat, threshold, False, lambda to: guarded(flow, to, rest, last))
    if not alike(flow, then, orelse):
        flow.emit(pat, If(Var(enough), then, orelse))
        return
    guards.made -= 1
    flow.output.stms[before:] = orelse.stms
    for param, result in zip(pat, orelse.result, strict=True):
        flow.emit((param,), Copied(result))


def alike(flow: Flow, then: Body, orelse: Body) -> bool:
    """Whether two versions are the same but for names: what was thought to be parallel stayed in the thread."""
    kinds = [[type(stm.exp) for stm in body.stms] for body in (then, orelse)]
    if kinds[0] != kinds[1]:
        return False
    first, second = (rewrite_body(body, refreshing(Names(flow.context.names.next))) for body in (then, orelse))
    return show_body(first) == show_body(second)


def _side(flow: Flow, pat: tuple[Param, ...], threshold: str, side: bool, emit: Emit) -> Body:
    results = flow.again(pat)
    path = flow.output.guards.path
    flow.output.guards.path = (*path, (threshold, side))

    def work() -> tuple[Atom, ...]:
        emit(results)
        return tuple(Var(p.name) for p in results)

    body = host_body(flow, work)
    flow.output.guards.path = path
    return body


def named(flow: Flow, kind: str) -> str:
    """The next threshold or size parameter of this kind for the binding at hand."""
    guards = flow.output.guards
    return next_of(guards.counts, guards.entry, guards.binding, kind)


def parallelism_of(flow: Flow, nest: Nest) -> Atom:
    """Par(Σ): the number of points of the nest."""
    return product_of(flow, nest.widths)


def both(flow: Flow, x: Atom, y: Atom) -> Atom:
    """Whether a version pays for two reasons."""
    if isinstance(x, Const) or isinstance(y, Const):
        known, other = (x, y) if isinstance(x, Const) else (y, x)
        return other if isinstance(known, Const) and known.value else known
    return flow.op("pays", Op.AND, x, y)


def product_of(flow: Flow, widths: tuple[Atom, ...]) -> Atom:
    """Emits the product of widths, an i64; constants are multiplied at once."""
    known = 1
    product: Atom | None = None
    for width in widths:
        if isinstance(width, Const):
            known *= int(width.value)
        else:
            product = width if product is None else times(flow, product, width)
    if product is None:
        return i64(known)
    return product if known == 1 else times(flow, product, i64(known))


def times(flow: Flow, left: Atom, right: Atom) -> Atom:
    """Emits `left * right` of two i64, as a parallelism."""
    return flow.op("par", Op.MUL, left, right)
