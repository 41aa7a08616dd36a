"""Scatters of equal widths into the same arrays as one, which writes several times for each point; histograms the same.

    let d' = segscatter (i < n) d { (k, x) }     ⟶  let d'' = segscatter (i < n) d { (k, x, l, y) }       [M-Scatters]
    let d'' = segscatter (j < n) d' { (l, y) }

    let d' = seghist (i < n) ⊕ d { (k, x) }      ⟶  let d'' = seghist (i < n) ⊕ d { (k, x, l, y) }        [M-Hists]
    let d'' = seghist (j < n) ⊕ d' { (l, y) }

The parts of a scatter or histogram of concatenations or literals are such (F-Parts, F-Literals): what they share is
computed once then, and writes side by side are vectors of them. Of other scatters the later one must win; the values of
a histogram change their order, so ⊕ has to be a commutative operation on scalars. Neither reads what is written, and
nothing is overwritten in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ...ir.attributes import PART, is_opaque
from ...ir.commute import componentwise, is_commutative
from ...ir.core import Body, Copied, PrimOp, Prog, SegHist, SegScatter, Stm
from ...ir.ops import Op
from ...ir.rename import substitute_body
from ...ir.traverse import bodies, free_in_body, free_in_stm, host_stms
from ...ir.types import Name, Var
from ..aliasing.classes import Sharing, sharing_in
from ..aliasing.fresh import are_apart
from ..fusion.graph import node_of

WRITES = 8
"""The most writes of a point."""


def merge_writes(prog: Prog) -> Prog:
    """`prog` with the scatters and the histograms of its host merged."""
    sharing = sharing_in(prog)

    def on_body(body: Body) -> Body:
        stms = host_stms(on_body, body)
        body = _named_once(Body(stms, body.result))
        return Body(_merged(body, sharing), body.result)

    return replace(prog, functions=tuple(replace(fun, body=on_body(fun.body)) for fun in prog.functions))


def _named_once(body: Body) -> Body:
    """A body in which what a write gives, and another overwrites, has one name."""
    dests = {dest for stm in body.stms if isinstance(stm.exp, SegScatter | SegHist) for dest in stm.exp.dests}
    for stm in body.stms:
        match stm:
            case Stm((param,), Copied(Var() as source), ()) if param.name in dests:
                rest = Body(tuple(s for s in body.stms if s is not stm), body.result)
                return _named_once(substitute_body(rest, {param.name: source}))
            case _:
                pass
    return body


def _merged(body: Body, sharing: Sharing) -> tuple[Stm, ...]:
    stms = body.stms
    made = {p.name: stm for stm in stms for p in stm.pat}
    uses = Counter(name for stm in stms for name in free_in_stm(stm))
    uses.update(atom.name for atom in body.result if isinstance(atom, Var))
    out: list[Stm] = []
    for stm in stms:
        if (pair := _with_earlier(out, stm, made, uses, sharing)) is not None:
            earlier, stm = pair
            out.remove(earlier)
            made |= {p.name: stm for p in stm.pat}
        out.append(stm)
    return tuple(out)


def _with_earlier(
    before: list[Stm], stm: Stm, made: Mapping[Name, Stm], uses: Counter[Name], sharing: Sharing
) -> tuple[Stm, Stm] | None:
    """The write that gives the destinations of one, and both as one; None where they stay two."""
    exp = stm.exp
    earlier = made.get(exp.dests[0]) if isinstance(exp, SegScatter | SegHist) else None
    if not isinstance(exp, SegScatter | SegHist) or earlier is None or earlier not in before:
        return None
    if is_opaque(stm) or is_opaque(earlier):
        return None
    first = earlier.exp
    if not isinstance(first, SegScatter | SegHist) or not _may_mix(first, stm, exp):
        return None
    if (first.level, first.rank, first.space.widths) != (exp.level, exp.rank, exp.space.widths):
        return None
    if tuple(p.name for p in earlier.pat) != exp.dests or any(uses[dest] != 1 for dest in exp.dests):
        return None
    if any(bodies(s.exp) or node_of(s).overwritten for s in before[before.index(earlier) + 1 :]):
        return None
    read = free_in_body(first.body) | free_in_body(exp.body)
    if any(sharing.consumed(x) and not all(are_apart(x, dest, made) for dest in first.dests) for x in read):
        return None
    same = {old: Var(new) for old, new in zip(first.space.indices, exp.space.indices, strict=True)}
    body = substitute_body(first.body, same)
    both = Body((*body.stms, *exp.body.stms), (*body.result, *exp.body.result))
    if len(both.result) > WRITES * (exp.rank + len(exp.dests)):
        return None
    certs = tuple(dict.fromkeys((*earlier.certs, *stm.certs)))
    return earlier, replace(stm, certs=certs, exp=_both(first, exp, both))


def _may_mix(first: SegScatter | SegHist, stm: Stm, second: SegScatter | SegHist) -> bool:
    """Scatters of which the later one need not win, or histograms by the same commutative operations."""
    match first, second:
        case SegScatter(), SegScatter():
            return PART in stm.attrs
        case SegHist(), SegHist():
            operations = _operations(first)
            return None not in operations and operations == _operations(second)
        case _:
            return False


def _operations(exp: SegHist) -> tuple[Op | None, ...]:
    """The commutative operation on scalars by which each component is combined."""
    op = exp.op.op
    if not is_commutative(op):
        return (None,)
    return tuple(e.op if isinstance(e, PrimOp) else None for e, _, _ in componentwise(op))


def _both(first: SegScatter | SegHist, second: SegScatter | SegHist, body: Body) -> SegScatter | SegHist:
    match first, second:
        case SegScatter(), SegScatter():
            return replace(second, dests=first.dests, body=body, safe=first.safe and second.safe)
        case _:
            return replace(second, dests=first.dests, body=body)
