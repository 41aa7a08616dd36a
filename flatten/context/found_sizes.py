"""Sizes that branches and loops find, as those of arrays in a thread, which takes memory before it fills it.

let k (ys: [k]t) = if c then (a, xs) else (b, zs)  ⟶  let k = if c then a else b; let (ys: [k]t) = if c then xs else zs

The sizes that a branch finds are computed in a branch of their own before it. There is no such thing for a loop whose
arrays change their size, and for calls: they run flattened only.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import compress

from ...ir.core import Apply, Body, If, Loop, Param, Stm
from ...ir.traverse import bodies, free_in_body, live, names_in_types
from ...ir.types import Name
from ..aliasing.classes import overwritten_in


def own_sizes(pat: tuple[Param, ...]) -> frozenset[Name]:
    """What of a pattern is the size of an array of the same pattern."""
    sizes = set(names_in_types(p.type for p in pat))
    return frozenset(p.name for p in pat if p.name in sizes)


def has_place(stm: Stm) -> bool:
    """Whether a thread knows the sizes of all arrays of a statement before it makes them."""
    match stm.exp:
        case Loop(params) if own_sizes(params):
            return False
        case If() if own_sizes(stm.pat) and sizes_first(stm) is None:
            return False
        case Apply():
            return False
        case exp:
            return all(has_place(inner) for body in bodies(exp) for inner in body.stms)


def sizes_first(stm: Stm) -> tuple[Stm, Stm] | None:
    """The branch that finds the sizes, and the one that gives the rest; None where it finds none, or where the first
    would overwrite what the second reads."""
    if not isinstance(stm.exp, If):
        return None
    sizes = own_sizes(stm.pat)
    if not sizes:
        return None
    first, second = (_results(stm, stm.exp, [(p.name in sizes) == wanted for p in stm.pat]) for wanted in (True, False))
    assert isinstance(first.exp, If)
    overwritten = (overwritten_in(body) & set(free_in_body(body)) for body in (first.exp.then, first.exp.orelse))
    return None if any(overwritten) else (first, second)


def _results(stm: Stm, exp: If, wanted: list[bool]) -> Stm:
    """Only some of the results of a branch, and what computes these."""
    pat = tuple(compress(stm.pat, wanted))
    then, orelse = (Body(body.stms, tuple(compress(body.result, wanted))) for body in (exp.then, exp.orelse))
    return replace(stm, pat=pat, exp=If(exp.cond, live(then), live(orelse)))
