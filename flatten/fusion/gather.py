r"""Fusion through indices: a map that is only read once, at an index of the consumer's, is computed where it is read.

    ys = map g xs;  zs = map (\i -> .. ys[e] ..) is  ⟶  zs = map (\i -> .. g xs[e] ..) is                  [F-Gather]

Reversal, rotation and tabulation of what a map has made. For two of one width, scalar code, and an index that stands
in no loop of the consumer's: then g is applied no more often than before, and what is never read is not computed.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import Body, Copied, Fix, If, Index, Lambda, Screma, Soac, Stm
from ...ir.traverse import bodies, free_in_body, free_in_stm, with_bodies
from ...ir.types import Name, Var
from .loops import is_scalar


def fuse_gather(producer: Stm, consumer: Stm) -> Stm | None:
    r"""ys = map g xs;  zs = map (\i -> .. ys[e] ..) is  ⟶  zs = map (\i -> .. g xs[e] ..) is"""
    p, c = producer.exp, consumer.exp
    if not isinstance(p, Screma) or not isinstance(c, Soac) or not _is_scalar_map(producer, p):
        return None
    (ys,) = producer.pat
    body = _computed_there(c.map.body, ys.name, p)
    if body is None:
        return None
    certs = tuple(dict.fromkeys((*producer.certs, *consumer.certs)))
    fused = replace(consumer, exp=replace(c, map=Lambda(c.map.params, body, c.map.ret)), certs=certs)
    return None if ys.name in free_in_stm(fused) else fused


def _is_scalar_map(stm: Stm, exp: Screma) -> bool:
    """One array of scalars, by scalar code of scalars."""
    if exp.scans or exp.reds or stm.attrs or len(stm.pat) != 1 or not exp.arrays:
        return False
    return not any(t.shape for t in (*exp.map.ret, *(p.type for p in exp.map.params))) and all(
        map(is_scalar, exp.map.body.stms)
    )


def _computed_there(body: Body, ys: Name, p: Screma) -> Body | None:
    """`body` with g xs[e] in place of ys[e], if that is the one place where it has ys."""
    at = [k for k, stm in enumerate(body.stms) if ys in free_in_stm(stm)]
    if len(at) != 1 or Var(ys) in body.result:
        return None
    stm = body.stms[at[0]]
    match stm.exp:
        case Index(array, (Fix(index),)) if array == ys and index != Var(ys):
            made = _element(stm, stm.exp, p)
        case If(cond, then, orelse) if cond != Var(ys) and (ys in free_in_body(then)) != (ys in free_in_body(orelse)):
            sides = [_computed_there(b, ys, p) if ys in free_in_body(b) else b for b in bodies(stm.exp)]
            if any(side is None for side in sides):
                return None
            made = (replace(stm, exp=with_bodies(stm.exp, [side for side in sides if side is not None])),)
        case _:
            return None
    return Body((*body.stms[: at[0]], *made, *body.stms[at[0] + 1 :]), body.result)


def _element(stm: Stm, read: Index, p: Screma) -> tuple[Stm, ...]:
    """let x = xs[e] in g x; the names of g are not used elsewhere any more."""
    loads = tuple(
        replace(stm, pat=(param,), exp=Index(xs, read.dims, read.safe))
        for param, xs in zip(p.map.params, p.arrays, strict=True)
    )
    (value,) = p.map.body.result
    return (*loads, *p.map.body.stms, Stm(stm.pat, Copied(value), stm.certs, stm.attrs, stm.loc))
