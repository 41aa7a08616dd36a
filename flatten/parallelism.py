"""How much parallelism a body holds, and whether it is worth exploiting or worth running in one thread.

Parallelism can be exploited where its width, the trip counts of the loops and the conditions of the branches around
it do not vary over the nest; the rest stays in the thread (irregular: DESIGN 2.5).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.core import Body, Exp, ForLoop, Hist, If, Lambda, Loop, Scatter, Screma, Stm
from ..ir.traverse import free_in_stm, names_in_types
from ..ir.types import Atom, Const, Name, Var
from .levels import Mode
from .nest import Flow
from .weight import HEAVY, is_total, weight_of

SMALL = 32
"""Parallelism of a constant width below this is not worth a version."""


def is_small(width: Atom) -> bool:
    return isinstance(width, Const) and int(width.value) < SMALL


def counts(flow: Flow, width: Atom) -> bool:
    """Whether parallelism of this width is looked for; when everything is to be flattened it always is."""
    return flow.mode is Mode.FULL or not is_small(width)


def is_sequential(stm: Stm) -> bool:
    """`#[sequential]`."""
    return any(attr.name == "sequential" for attr in stm.attrs)


def exploitable(flow: Flow, body: Body, params: Iterable[Name]) -> bool:
    """Whether `body`, run for every point of a nest in which `params` vary, holds parallelism to flatten."""
    return _exploitable(flow, body, set(params))


def _exploitable(flow: Flow, body: Body, varies: set[Name]) -> bool:
    """`varies` grows by what is bound in the body; names are unique, so it need not shrink."""
    for stm in body.stms:
        if exploitable_stm(flow, stm, varies):
            return True
        if not is_total(stm.exp) or not _is_invariant_stm(flow, stm, varies):
            varies.update(p.name for p in stm.pat)
    return False


def _is_invariant_stm(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    return not any(name in varies or flow.is_variant(name) for name in free_in_stm(stm))


def exploitable_stm(flow: Flow, stm: Stm, varies: set[Name]) -> bool:
    """As `exploitable`, for one statement."""
    if is_sequential(stm):
        return False

    def invariant(atom: Atom) -> bool:
        return not (isinstance(atom, Var) and (atom.name in varies or flow.is_variant(atom.name)))

    def regular() -> bool:
        return all(invariant(Var(name)) for name in names_in_types(p.type for p in stm.pat))

    match stm.exp:
        case Screma(width, _, f, _, _) | Hist(width, _, f, _, _, _) | Scatter(width, _, f, _, _):
            if not (invariant(width) and regular()):
                return False
            return counts(flow, width) or _exploitable_lambda(flow, f, varies)
        case Loop(params, _, ForLoop(index, bound, _), body):
            inner = {p.name for p in params}
            sizes_stay = all(
                name not in inner and invariant(Var(name)) for name in names_in_types(p.type for p in params)
            )
            return invariant(bound) and sizes_stay and _exploitable(flow, body, varies | inner | {index})
        case If(cond, then, orelse):
            if not (invariant(cond) and regular()):
                return False
            return _exploitable(flow, then, set(varies)) or _exploitable(flow, orelse, set(varies))
        case _:
            return False


def _exploitable_lambda(flow: Flow, f: Lambda, varies: set[Name]) -> bool:
    return _exploitable(flow, f.body, varies | {p.name for p in f.params})


def is_plain_map(exp: Exp) -> bool:
    return isinstance(exp, Screma) and not exp.scans and not exp.reds


def is_perfect(body: Body) -> bool:
    """A map and nothing else but what costs nothing: its nest goes on inside."""
    dear = [stm for stm in body.stms if weight_of(stm.exp) >= HEAVY]
    return len(dear) == 1 and is_plain_map(dear[0].exp)


def score(body: Body) -> int:
    """How much a thread has to do for it to be worth a version (the published policy; it must exceed 1).

    A reduction or scan counts 1, and 1 more for a redomap that is directly inside the map; its own lambda counts too;
    maps are transparent; a loop counts its body tenfold, a branch the better side twice.
    """
    return _score(body, 0)


def _score(body: Body, depth: int) -> int:
    return sum(_score_of(stm.exp, depth) for stm in body.stms if not is_sequential(stm))


def _score_of(exp: Exp, depth: int) -> int:
    match exp:
        case Screma(width, _, f, scans, reds):
            if not scans and not reds:
                return _score(f.body, depth)
            directly = 1 if depth == 0 and not scans else 0
            return (0 if is_small(width) else 1 + directly) + _score(f.body, depth + 1)
        case Hist(width, _, f, _, _, _):
            return (0 if is_small(width) else 1) + _score(f.body, depth + 1)
        case Scatter(_, _, f, _, _):
            return _score(f.body, depth)
        case Loop(_, _, ForLoop(), body):
            return 10 * _score(body, depth + 1)
        case If(_, then, orelse):
            return 2 * max(_score(then, depth), _score(orelse, depth))
        case _:
            return 0
