"""Sizes that a branch finds, computed in a branch of their own before it: then the arrays that it gives have a place.

let k (ys: [k]t) = if c then (a, xs) else (b, zs)  ⟶  let k = if c then a else b; let (ys: [k]t) = if c then xs else zs
"""

from __future__ import annotations

from dataclasses import replace

from ...flatten.aliasing.overwritten import consumed_in
from ...ir.core import Body, If, Stm
from ...ir.traverse import free_in_body, free_in_stm, names_in_types
from ...ir.types import Atom, Name, Var


def sizes_first(stm: Stm) -> tuple[Stm, Stm] | None:
    """The branch that finds the sizes, and the one that gives the rest; None where it finds none, or where the first
    would overwrite what the second reads."""
    if not isinstance(stm.exp, If):
        return None
    inside = set(names_in_types(p.type for p in stm.pat))
    is_size = [p.name in inside for p in stm.pat]
    if not any(is_size):
        return None
    first, second = (_results(stm, stm.exp, [flag == wanted for flag in is_size]) for wanted in (True, False))
    assert isinstance(first.exp, If)
    overwritten = (consumed_in(body) & set(free_in_body(body)) for body in (first.exp.then, first.exp.orelse))
    return None if any(overwritten) else (first, second)


def _results(stm: Stm, exp: If, wanted: list[bool]) -> Stm:
    """Only some of the results of a branch, and what computes these."""
    pat = tuple(p for p, keep in zip(stm.pat, wanted, strict=True) if keep)
    then, orelse = (
        _needed(body.stms, tuple(atom for atom, keep in zip(body.result, wanted, strict=True) if keep))
        for body in (exp.then, exp.orelse)
    )
    return replace(stm, pat=pat, exp=If(exp.cond, then, orelse))


def _needed(stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> Body:
    used: set[Name] = {atom.name for atom in result if isinstance(atom, Var)}
    kept: list[Stm] = []
    for stm in reversed(stms):
        if any(p.name in used for p in stm.pat):
            kept.append(stm)
            used |= set(free_in_stm(stm))
    return Body(tuple(reversed(kept)), result)
