r"""Rows that a map makes for nothing but a write behind it: a second map makes them, which may be fused with the write.

    xs, rss = map (\y -> S; T; x, r) ys   ⟶   xs, cs = map (\y -> S; x, c) ys;  rss = map (\y c -> T; r) ys cs

T is what the rows alone need; it holds no SOAC, so a thread is done with it alone, and of S it needs the scalars c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import Apply, Body, If, Lambda, Param, PrimOp, Soac, Stm
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_lambda
from ...ir.traverse import all_exps, all_params, bodies, free_in_stm
from ...ir.types import Name, Names, Var


@dataclass(frozen=True, slots=True)
class LateRows:
    """The two maps. `late`: which results the second gives. The first gives the others, then the scalars that the
    second needs; the parameters of the second are these, then the parameters `used` of the map as it was."""

    late: tuple[int, ...]
    first: Lambda
    second: Lambda
    used: tuple[int, ...]


def late_rows(f: Lambda, wanted: Sequence[int], names: Names) -> LateRows | None:
    """`f` in two, if there is something to compute for results `wanted` alone."""
    rows = {atom.name for k in wanted if f.ret[k].shape and isinstance(atom := f.body.result[k], Var)}
    in_first = {atom.name for atom in f.body.result if isinstance(atom, Var)} - rows
    in_second, first, second = set(rows), list[Stm](), list[Stm]()
    stms = [part for stm in f.body.stms for part in _apart(stm)]
    for stm in reversed(stms):
        made = {p.name for p in stm.pat}
        if not made & in_first and not _is_wide(stm):
            second.insert(0, stm)
            in_second.update(free_in_stm(stm))
        else:
            first.insert(0, stm)
            in_first.update(free_in_stm(stm))
    own = {p.name: p for stm in second for p in stm.pat}
    late = tuple(k for k in wanted if f.ret[k].shape and _name(f, k) in own)
    between = {p.name: p for stm in first for p in stm.pat if p.name in in_second}
    given = {cert for stm in second for cert in stm.certs} - own.keys()
    if not late or given or any(p.type.shape for p in between.values()):
        return None
    passed = tuple(between.values())
    used = tuple(k for k, p in enumerate(f.params) if p.name in in_second)
    early = [k for k in range(len(f.ret)) if k not in late]
    result = (*(f.body.result[k] for k in early), *(Var(p.name) for p in passed))
    before = Lambda(f.params, Body(tuple(first), result), (*(f.ret[k] for k in early), *(p.type for p in passed)))
    params: tuple[Param, ...] = (*passed, *(f.params[k] for k in used))
    rest = Lambda(params, Body(tuple(second), tuple(f.body.result[k] for k in late)), tuple(f.ret[k] for k in late))
    return LateRows(late, before, rename_lambda(rest, names), used)


def _apart(stm: Stm) -> list[Stm]:
    """A branch with the scalars among its results that are there before it chosen beside it."""
    match stm.exp:
        case If(cond, then, orelse):
            inside = {p.name for body in (then, orelse) for p in all_params(body)}
        case _:
            return [stm]
    chosen: list[Stm] = []
    kept: list[int] = []
    for k, (p, x, y) in enumerate(zip(stm.pat, then.result, orelse.result, strict=True)):
        if p.type.shape or any(isinstance(atom, Var) and atom.name in inside for atom in (x, y)):
            kept.append(k)
        else:
            chosen.append(replace(stm, pat=(p,), exp=PrimOp(Op.SELECT, p.type.prim, (cond, x, y))))
    if not chosen or not kept:
        return [stm]
    sides = (Body(body.stms, tuple(body.result[k] for k in kept)) for body in (then, orelse))
    return [*chosen, replace(stm, pat=tuple(stm.pat[k] for k in kept), exp=If(cond, *sides))]


def _name(f: Lambda, k: int) -> Name | None:
    atom = f.body.result[k]
    return atom.name if isinstance(atom, Var) else None


def _is_wide(stm: Stm) -> bool:
    inside = (exp for body in bodies(stm.exp) for exp in all_exps(body))
    return any(isinstance(exp, Soac | Apply) for exp in (stm.exp, *inside))
