"""What a body holds, at any depth, and which statements may wait for others."""

from __future__ import annotations

from collections.abc import Iterable

from ...flatten.aliasing.classes import overwritten_in
from ...ir import core
from ...ir.aliases import taken_over
from ...ir.core import Body, Param, SegSpace, Stm
from ...ir.traverse import all_exps, bodies, free_in_body, free_in_stm
from ...ir.types import Name, Var


def has_soac(body: Body) -> bool:
    """Does a body hold a SOAC? Then the threads of a block can be put there."""
    return any(isinstance(e, (core.Screma, core.Scatter, core.Hist)) for e in all_exps(body))


def gives_arrays(exp: core.SegMap) -> bool:
    """Whether a point has arrays as results."""
    return any(t.shape for t in exp.ret)


def has_loop(body: Body) -> bool:
    """Does a body hold a loop?"""
    return any(isinstance(e, core.Loop) for e in all_exps(body))


def copies_arrays(exp: core.SegMap) -> bool:
    """Whether all that the points of a map do at length is to copy arrays of sizes that are not constant."""
    return any(isinstance(n, Var) for t in exp.ret for n in t.shape) and not has_loop(exp.body)


def carries_floats(body: Body) -> bool:
    """Does a loop of a body carry a float from step to step?"""
    loops = (e for e in all_exps(body) if isinstance(e, core.Loop))
    return any(p.type.prim.is_float and not p.type.shape for loop in loops for p in loop.params)


def has_segop(body: Body) -> bool:
    """Whether a body holds a segop."""
    segops = (core.SegMap, core.SegRed, core.SegScan, core.SegScatter, core.SegHist)
    return any(isinstance(e, segops) for e in all_exps(body))


def loop_depth(body: Body) -> int:
    """How many SOACs and loops are nested in a body."""
    depth = 0
    for stm in body.stms:
        inner = max((loop_depth(b) for b in bodies(stm.exp)), default=0)
        depth = max(depth, inner + isinstance(stm.exp, (core.Screma, core.Scatter, core.Hist, core.Loop)))
    return depth


def nest_depth(space: SegSpace, body: Body) -> int:
    """How many loops are around the innermost access of a segop."""
    return len(space.dims) + loop_depth(body)


MAKING = core.Screma | core.SegMap | core.Loop | core.If | core.Scratch | core.ArrayLit | core.Concat | core.Copy


def array_origins(body: Body, carried: Iterable[Name] = ()) -> dict[Name, Name]:
    """For each array a body makes, the statement's name whose memory it ends in: what is overwritten stays where it is.
    What is where `carried` do, which a loop around has made, is none of them."""
    origins: dict[Name, Name] = {}
    elsewhere = set(carried)
    for stm in body.stms:
        made = isinstance(stm.exp, MAKING)
        before = overwritten(stm)
        for param in stm.pat:
            old = before.get(param.name)
            if old in elsewhere:
                elsewhere.add(param.name)
            elif old in origins:
                origins[param.name] = origins[old]
            elif made and param.type.shape:
                origins[param.name] = param.name
    return origins


def arrays_of_loops(body: Body) -> frozenset[Name]:
    """The arrays (as `array_origins` names them) that end as results of a body and that a loop has worked on."""
    origins = array_origins(body)
    looped = {origins.get(p.name) for stm in body.stms if isinstance(stm.exp, core.Loop) for p in stm.pat}
    results = (origins.get(a.name) for a in body.result if isinstance(a, Var))
    return frozenset(name for name in results if name is not None and name in looped)


def made_here(body: Body) -> dict[Name, Name]:
    """`array_origins` without what is in memory from outside."""
    return array_origins(body, free_in_body(body))


def made_in_turns(body: Body, carried: Iterable[Param]) -> dict[Name, Name]:
    """`array_origins` without what branches give, which may be what was there before."""
    chosen = {p.name for stm in body.stms if isinstance(stm.exp, core.If) for p in stm.pat}
    origins = array_origins(body, (p.name for p in carried))
    return {name: origin for name, origin in origins.items() if origin not in chosen}


def made_anew(branch: core.If) -> list[int]:
    """The results that are arrays which a side of a branch makes itself."""
    return [k for k in range(len(branch.then.result)) if any(_makes(body, k) for body in (branch.then, branch.orelse))]


def _makes(body: Body, k: int) -> bool:
    atom = body.result[k]
    origin = made_here(body).get(atom.name) if isinstance(atom, Var) else None
    for stm in body.stms:
        for j, param in enumerate(stm.pat):
            if param.name == origin:
                return not isinstance(stm.exp, core.If) or j in made_anew(stm.exp)
    return False


def overwritten(stm: Stm) -> dict[Name, Name]:
    """For results that are what a statement overwrites, what that was before."""
    match stm.exp:
        case core.Update(array):
            return {stm.pat[0].name: array}
        case core.Scatter(dests=dests) | core.Hist(dests=dests):
            return {param.name: dest for param, dest in zip(stm.pat, dests, strict=True)}
        case core.Loop(inits=inits) as loop:
            taken = ((stm.pat[k].name, inits[k]) for k in taken_over(loop))
            return {name: init.name for name, init in taken if isinstance(init, Var)}
        case _:
            return {}


def stays(stm: Stm) -> bool:
    """Is it a map of threads, which needs no SOACs in its place?"""
    return isinstance(stm.exp, core.SegMap) and stm.exp.level is core.Level.THREAD


def may_wait(first: Stm, between: Iterable[Stm]) -> bool:
    """Whether a statement may be executed behind others: these overwrite nothing, and read nothing of what it gives."""
    made = {p.name for p in first.pat}
    return not any(
        made & set(free_in_stm(stm)) or isinstance(stm.exp, core.Apply) or overwritten_in(Body((stm,), ()))
        for stm in between
    )
