"""Statements without what they write to some accumulators: what else they compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import Body, If, Lambda, Loop, Screma, Stm, WithAcc
from ...ir.types import Name
from .trace import Roots, trace


def without_writes(stms: Sequence[Stm], accs: Sequence[Name]) -> tuple[Stm, ...]:
    """`stms` without the accumulators `accs`."""
    roots: Roots = {name: name for name in accs}
    trace(Body(tuple(stms), ()), roots)
    return _statements(stms, roots)


def _statements(stms: Sequence[Stm], roots: Roots) -> tuple[Stm, ...]:
    found = [_statement(stm, roots) for stm in stms]
    return tuple([stm for stm in found if stm is not None])


def _statement(stm: Stm, roots: Roots) -> Stm | None:
    """The statement with the results that are left; None if there are none."""
    kept = [k for k, p in enumerate(stm.pat) if p.name not in roots]
    if len(kept) == len(stm.pat):
        return stm
    if not kept:
        return None
    pat = tuple([stm.pat[k] for k in kept])
    match stm.exp:
        case If(cond, then, orelse):
            return replace(stm, pat=pat, exp=If(cond, _body(then, kept, roots), _body(orelse, kept, roots)))
        case Loop(params, inits, form, body):
            left = tuple([params[k] for k in kept]), tuple([inits[k] for k in kept])
            return replace(stm, pat=pat, exp=Loop(*left, form, _body(body, kept, roots)))
        case WithAcc(width, arrays, f, dests):
            count = len(dests)
            own = [k for k in kept if k < count]
            params = (*[f.params[k] for k in own], *f.params[count:])
            g = Lambda(params, _body(f.body, kept, roots), tuple([f.ret[k] for k in kept]))
            exp = WithAcc(width, arrays, g, tuple([dests[k] for k in own])) if own else Screma(width, arrays, g, (), ())
            return replace(stm, pat=pat, exp=exp)
        case _:
            return None


def _body(body: Body, kept: Sequence[int], roots: Roots) -> Body:
    return Body(_statements(body.stms, roots), tuple([body.result[k] for k in kept]))
