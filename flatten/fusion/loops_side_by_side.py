"""Fusion of loops beside each other: recurrences that go through the same steps do so together.

    let z̄ = loop z̄ = ā for i < n do e; ..; let ȳ = loop ȳ = b̄ for i < n do f
      ⟶  ..; let (z̄, ȳ) = loop (z̄, ȳ) = (ā, b̄) for i < n do (e, f)                                   [F-Loops]

A step of a recurrence waits for the one before: several at once take as long as one. The loops are scalar code that
fills arrays of their own, and neither reads what the other gives. What is between them stays before both, and so may
neither use the first nor overwrite what that reads.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...ir.core import (
    Assert,
    Body,
    Convert,
    Copied,
    Copy,
    Fix,
    ForLoop,
    Index,
    Iota,
    Loop,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Scratch,
    Screma,
    Stm,
    Update,
)
from ...ir.records import dataclass
from ...ir.rename import substitute_body
from ...ir.traverse import free_in_stm
from ...ir.types import Name, Var
from .loops import is_scalar

PURE = Assert | Convert | Copied | Copy | Index | Iota | PrimOp | Rearrange | Replicate | Reshape | Scratch | Screma
"""What overwrites nothing."""
FRESH = Copy | Replicate | Scratch


def loops_together(body: Body) -> Body | None:
    """One pair of such loops as one loop; None where there is none."""
    stms = body.stms
    if sum(isinstance(stm.exp, Loop) for stm in stms) < 2:
        return None
    uses = Counter(name for stm in stms for name in free_in_stm(stm))
    uses.update(atom.name for atom in body.result if isinstance(atom, Var))
    fresh = {stm.pat[0].name for stm in stms if isinstance(stm.exp, FRESH) and uses[stm.pat[0].name] == 1}
    for k, first in enumerate(stms):
        one = _recurrence(first, fresh)
        if one is None:
            continue
        made = {p.name for p in first.pat}
        for m in range(k + 1, len(stms)):
            if not made.isdisjoint(free_in_stm(stms[m])):
                break
            other = _recurrence(stms[m], fresh)
            if other is not None and (one.form.bound, one.form.prim) == (other.form.bound, other.form.prim):
                both = _both(first, one, stms[m], other)
                return Body((*stms[:k], *stms[k + 1 : m], both, *stms[m + 1 :]), body.result)
            if not isinstance(stms[m].exp, PURE):
                break
    return None


@dataclass(frozen=True, slots=True)
class _Recurrence:
    """A counted loop of scalar code, which carries a scalar and overwrites arrays that are made for it alone."""

    loop: Loop
    form: ForLoop


def _recurrence(stm: Stm, fresh: set[Name]) -> _Recurrence | None:
    match stm.exp:
        case Loop(params, inits, ForLoop() as form, body) if not stm.attrs:
            arrays = [init for p, init in zip(params, inits, strict=True) if p.type.shape]
            own = all(isinstance(init, Var) and init.name in fresh for init in arrays)
            fits = own and len(arrays) < len(params) and all(map(_is_step, body.stms))
            return _Recurrence(stm.exp, form) if fits else None
        case _:
            return None


def _is_step(stm: Stm) -> bool:
    match stm.exp:
        case Update(_, dims):
            return all(isinstance(dim, Fix) for dim in dims)
        case _:
            return is_scalar(stm)


def _both(first: Stm, one: _Recurrence, second: Stm, other: _Recurrence) -> Stm:
    """The steps of both in one loop, at the place of the second."""
    steps = substitute_body(other.loop.body, {other.form.index: Var(one.form.index)})
    body = Body((*one.loop.body.stms, *steps.stms), (*one.loop.body.result, *steps.result))
    loop = Loop((*one.loop.params, *other.loop.params), (*one.loop.inits, *other.loop.inits), one.form, body)
    certs = tuple(dict.fromkeys((*first.certs, *second.certs)))
    return replace(second, pat=(*first.pat, *second.pat), exp=loop, certs=certs)
