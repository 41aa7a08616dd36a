"""A broken program with fewer statements: results, statements and bodies that are not needed are left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from soac.flatten.simplify.dead_code import remove_dead
from soac.ir.check import Stage, check
from soac.ir.core import Body, Copied, FunDef, If, Prog, Replicate, Stm
from soac.ir.entry_points import Entry, EntryResult
from soac.ir.errors import IRError
from soac.ir.traverse import bodies, with_bodies
from soac.ir.types import Const, Prim
from tests.support.property.generate import Case


def reduced(case: Case, fails: Callable[[Case], bool], seconds: float) -> Case:
    """`case` after every step that leaves it broken, as long as there are any and time lasts."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for prog in _steps(case.prog):
            if time.monotonic() > end:
                return case
            tried = replace(case, prog=prog)
            if _is_program(prog) and fails(tried):
                case, smaller = tried, True
                break
    return case


def _is_program(prog: Prog) -> bool:
    try:
        check(prog, Stage.CORE)
    except IRError:
        return False
    return True


def _steps(prog: Prog) -> Iterator[Prog]:
    """Smaller programs: without dead code, with one result, with a statement left out or made smaller, without a
    function that is not called. The entry stands last."""
    *others, fun = prog.functions
    without_dead = remove_dead(prog)
    if size_of(without_dead) < size_of(prog):
        yield without_dead
    if len(fun.results) > 1:
        for k in range(len(fun.results)):
            yield replace(prog, functions=(*others, _with_result(fun, k)))
    for body in _smaller_bodies(fun.body):
        yield replace(prog, functions=(*others, replace(fun, body=body)))
    for k, other in enumerate(others):
        yield replace(prog, functions=(*others[:k], *others[k + 1 :], fun))
        for body in _smaller_bodies(other.body):
            yield replace(prog, functions=(*others[:k], replace(other, body=body), *others[k + 1 :], fun))


def size_of(prog: Prog) -> int:
    """The number of statements at all depths."""
    return sum(_count(fun.body) for fun in prog.functions)


def _count(body: Body) -> int:
    return sum(1 + sum(map(_count, bodies(stm.exp))) for stm in body.stms)


def _with_result(fun: FunDef, k: int) -> FunDef:
    entry = fun.entry
    assert entry is not None
    said = Entry(entry.name, entry.sizes, entry.params, (EntryResult("", (0,)),))
    body = Body(fun.body.stms, (fun.body.result[k],))
    return replace(fun, results=(fun.results[k],), body=body, entry=said)


def _smaller_bodies(body: Body) -> Iterator[Body]:
    """The body with one statement, here or deeper, replaced by something smaller; the last statements first."""
    for k in reversed(range(len(body.stms))):
        stm = body.stms[k]
        for instead in _instead(stm):
            yield Body((*body.stms[:k], *instead, *body.stms[k + 1 :]), body.result)
        inner = bodies(stm.exp)
        for j, one in enumerate(inner):
            for smaller in _smaller_bodies(one):
                exp = with_bodies(stm.exp, (*inner[:j], smaller, *inner[j + 1 :]))
                yield Body((*body.stms[:k], replace(stm, exp=exp), *body.stms[k + 1 :]), body.result)


def _instead(stm: Stm) -> Iterator[tuple[Stm, ...]]:
    """Nothing; constants for what it binds; one of the sides of a branch."""
    yield ()
    if isinstance(stm.exp, If):
        for side in (stm.exp.then, stm.exp.orelse):
            named = zip(stm.pat, side.result, strict=True)
            yield (*side.stms, *(Stm((p,), Copied(atom), stm.certs, (), stm.loc) for p, atom in named))
    if isinstance(stm.exp, Replicate) or (isinstance(stm.exp, Copied) and isinstance(stm.exp.atom, Const)):
        return
    yield tuple(_constant(stm, k) for k in range(len(stm.pat)))


def _constant(stm: Stm, k: int) -> Stm:
    param = stm.pat[k]
    prim = param.type.prim
    one = Const(prim, True if prim is Prim.BOOL else 1.0 if prim.is_float else 1)
    exp = Replicate(param.type.shape, one) if param.type.shape else Copied(one)
    return Stm((param,), exp, (), (), stm.loc)
