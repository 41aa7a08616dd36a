"""Scatters of equal widths into the same arrays as one, which writes several times for each point.

    let d' = segscatter (i < n) d { (k, x) }     ⟶  let d'' = segscatter (i < n) d { (k, x, l, y) }       [M-Scatters]
    let d'' = segscatter (j < n) d' { (l, y) }

The parts of a scatter of concatenations are such (F-Parts): what they share is computed once then, and writes side by
side are vectors of them. Of other scatters the later one must win. Neither reads what is written, and nothing is
overwritten in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ...ir.attributes import PART, is_opaque
from ...ir.core import Body, Prog, SegOp, SegScatter, Stm
from ...ir.rename import substitute_body
from ...ir.traverse import bodies, free_in_body, free_in_stm, map_bodies
from ...ir.types import Name, Var
from ..aliasing.classes import Sharing, sharing_in
from ..aliasing.fresh import are_apart
from ..fusion.graph import node_of

WRITES = 8
"""The most writes of a point."""


def merge_scatters(prog: Prog) -> Prog:
    """`prog` with the scatters of its host merged."""
    sharing = sharing_in(prog)

    def on_body(body: Body) -> Body:
        stms = tuple(
            stm if isinstance(stm.exp, SegOp) or not bodies(stm.exp) else replace(stm, exp=map_bodies(on_body, stm.exp))
            for stm in body.stms
        )
        return Body(_merged(stms, body, sharing), body.result)

    return replace(prog, functions=tuple(replace(fun, body=on_body(fun.body)) for fun in prog.functions))


def _merged(stms: tuple[Stm, ...], body: Body, sharing: Sharing) -> tuple[Stm, ...]:
    made = {p.name: stm for stm in stms for p in stm.pat}
    uses = Counter(name for stm in stms for name in free_in_stm(stm))
    uses.update(atom.name for atom in body.result if isinstance(atom, Var))
    out: list[Stm] = []
    for stm in stms:
        pair = _with_earlier(out, stm, stm.exp, made, uses, sharing) if isinstance(stm.exp, SegScatter) else None
        if pair is not None:
            earlier, stm = pair
            out.remove(earlier)
            made |= {p.name: stm for p in stm.pat}
        out.append(stm)
    return tuple(out)


def _with_earlier(
    before: list[Stm], stm: Stm, exp: SegScatter, made: Mapping[Name, Stm], uses: Counter[Name], sharing: Sharing
) -> tuple[Stm, Stm] | None:
    """The scatter that gives the destinations, and both as one; None where they stay two."""
    earlier = made.get(exp.dests[0])
    if earlier is None or earlier not in before or PART not in stm.attrs or is_opaque(stm) or is_opaque(earlier):
        return None
    first = earlier.exp
    if not isinstance(first, SegScatter) or (first.level, first.rank) != (exp.level, exp.rank):
        return None
    if first.space.widths != exp.space.widths:
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
    return earlier, replace(
        stm, certs=certs, exp=replace(exp, dests=first.dests, body=both, safe=first.safe and exp.safe)
    )
