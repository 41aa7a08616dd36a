"""Versions: which there are of a map, how they are guarded, and what the guards are called.

    G(Σ, map (λx̄ → e) x̄s)  ⟶  if t ≤ Par(Σ') then segmap Σ' e else G(Σ', e)        [incremental rule]
    Σ' = Σ, ⟨x̄ ∈ x̄s⟩

Versions are bounded top-down, while flattening: a policy leaves out those that cannot win, attributes of the source
override it, and an entry holds no more than the machine's budget of them. Names of thresholds are
`ENTRY.BINDING.suff_outer_k`: stable under edits of other bindings.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ..ir.core import Attr, Body, GuardCmp, If, Param, PrimOp, Stm
from ..ir.ops import Op
from ..ir.types import BOOL, I64, Atom, Const, Prim, Var, i64
from .levels import Mode
from .nest import Flow, Nest, host_body
from .parallelism import is_perfect, score
from .trace import Rule


class Choice(Enum):
    """The versions of a map: its body in one thread, flattened, or both under a guard."""

    OUTER = "outer"
    INNER = "inner"
    BOTH = "both"


def has_attr(attrs: tuple[Attr, ...], name: str) -> bool:
    return any(attr.name == name for attr in attrs)


def flattening_attrs(attrs: tuple[Attr, ...]) -> frozenset[str]:
    """The arguments of `#[flattening(...)]`."""
    return frozenset(arg.name for attr in attrs if attr.name == "flattening" for arg in attr.args)


def choose(flow: Flow, stm: Stm, body: Body) -> Choice:
    """The versions of a map with this body, which holds parallelism that can be exploited."""
    asked = _asked(stm.attrs)
    if asked is not None:
        return asked
    match flow.mode:
        case Mode.FULL:
            return Choice.INNER
        case _ if is_perfect(body):
            return Choice.INNER
        case Mode.OUTER:
            return Choice.OUTER
        case Mode.INCREMENTAL:
            return _within_budget(flow) if score(body) > 1 else Choice.INNER


def choose_reduction(flow: Flow, stm: Stm) -> Choice:
    """The versions of a redomap or scanomap whose map holds parallelism that can be exploited."""
    asked = _asked(stm.attrs)
    if asked is not None:
        return asked
    match flow.mode:
        case Mode.FULL:
            return Choice.INNER
        case Mode.OUTER:
            return Choice.OUTER
        case Mode.INCREMENTAL:
            return _within_budget(flow)


def _asked(attrs: tuple[Attr, ...]) -> Choice | None:
    """What the attributes of the source say."""
    if has_attr(attrs, "sequential_inner"):
        return Choice.OUTER
    if flattening_attrs(attrs) & {"no_outer", "only_inner"}:
        return Choice.INNER
    return None


def _within_budget(flow: Flow) -> Choice:
    """Both versions, or all parallelism when the entry has as many versions as it may."""
    if flow.guards.made + 1 < flow.machine.max_versions:
        return Choice.BOTH
    flow.guards.dropped += 1
    return Choice.INNER


# ---- guards --------------------------------------------------------------------------------------------------------

Version = Callable[[tuple[Param, ...]], None]
"""Emits a version that binds the given names."""


def guarded(flow: Flow, nest: Nest, pat: tuple[Param, ...], outer: Version, inner: Version) -> None:
    """`if t <= Par(nest) then outer else inner`, binding `pat`."""
    guards = flow.guards
    threshold = _threshold(flow)
    guards.made += 1
    flow.note(Rule.INCREMENTAL, threshold)
    enough = flow.emit_as("enough", BOOL, GuardCmp(threshold, parallelism_of(flow, nest), guards.path))
    then = _version(flow, pat, threshold, True, outer)
    orelse = _version(flow, pat, threshold, False, inner)
    flow.emit(pat, If(Var(enough), then, orelse))


def _version(flow: Flow, pat: tuple[Param, ...], threshold: str, side: bool, emit: Version) -> Body:
    results = flow.again(pat)
    path = flow.guards.path
    flow.guards.path = (*path, (threshold, side))

    def work() -> tuple[Atom, ...]:
        emit(results)
        return tuple(Var(p.name) for p in results)

    body = host_body(flow, work)
    flow.guards.path = path
    return body


def _threshold(flow: Flow) -> str:
    guards, kind = flow.guards, flow.machine.lowest.guard
    stem = f"{guards.entry}.{guards.binding}.{kind}"
    number = guards.counts.get(stem, 0)
    guards.counts[stem] = number + 1
    return f"{stem}_{number}"


def parallelism_of(flow: Flow, nest: Nest) -> Atom:
    """Par(Σ): the number of points of the nest."""
    known = 1
    product: Atom | None = None
    for width in nest.widths:
        if isinstance(width, Const):
            known *= int(width.value)
        else:
            product = width if product is None else _times(flow, product, width)
    if product is None:
        return i64(known)
    return product if known == 1 else _times(flow, product, i64(known))


def _times(flow: Flow, left: Atom, right: Atom) -> Atom:
    return Var(flow.emit_as("par", I64, PrimOp(Op.MUL, Prim.I64, (left, right))))
