"""What a host program uses last where, and which guards decide a condition: for both runners of host programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir import core
from ...ir.core import ForLoop, Param
from ...ir.ops import Op
from ...ir.traverse import free_names
from ...ir.types import Name, Prim, Var
from .nodes import HostBody, HostCall, HostIf, HostLoop, Interpret, Launch, Over, Workers


def dead_after(body: HostBody, params: tuple[Param, ...] = ()) -> list[tuple[Name, ...]]:
    """For each statement, the arrays bound in this body that nothing uses after it; also those that a loop carries, as
    `params`, if it is the loop's."""
    own = {p.name for p in (*params, *(p for stm in body.stms for p in stm.pat)) if p.type.shape}
    live = {a.name for a in body.result if isinstance(a, Var)}
    dead: list[tuple[Name, ...]] = []
    for stm in reversed(body.stms):
        used = uses(stm.exp)
        here = {n for n in used if n in own and n not in live} | {
            p.name for p in stm.pat if p.type.shape and p.name not in live
        }
        live |= used
        dead.append(tuple(sorted(here, key=lambda n: n.tag)))
    return dead[::-1]


def uses(exp: Any) -> set[Name]:
    """Names that a host expression uses, in nested bodies too."""
    match exp:
        case Launch(_, blocks, arrays, scalars, _, units):
            return {*arrays, *(a.name for a in (blocks, units, *scalars) if isinstance(a, Var))}
        case Interpret(_, _, args):
            return set(args)
        case Over(type_, operand):
            return {operand, *(d.name for d in type_.shape if isinstance(d, Var))}
        case Workers():
            return set()
        case HostCall(_, args):
            return {a.name for a in args if isinstance(a, Var)}
        case HostIf(cond, then, orelse):
            return uses_of_body(then) | uses_of_body(orelse) | {a.name for a in (cond,) if isinstance(a, Var)}
        case HostLoop(params, inits, form, body):
            bound = (form.bound,) if isinstance(form, ForLoop) else ()
            outside = {a.name for a in (*inits, *bound) if isinstance(a, Var)}
            types = {d.name for p in params for d in p.type.shape if isinstance(d, Var)}
            return uses_of_body(body) | outside | types
        case _:
            return set(free_names(exp))


def uses_of_body(body: HostBody) -> set[Name]:
    """The variables that a body uses: in its result, its statements and the sizes of its types."""
    found = {a.name for a in body.result if isinstance(a, Var)}
    for stm in body.stms:
        found |= uses(stm.exp)
        found |= {d.name for p in stm.pat for d in p.type.shape if isinstance(d, Var)}
    return found


def conjunction(exp: core.PrimOp, guards: Mapping[Name, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The thresholds behind `a && b` if guards decide both."""
    if exp.op is not Op.AND or exp.prim is not Prim.BOOL:
        return None
    parts = [guards.get(atom.name) if isinstance(atom, Var) else None for atom in exp.args]
    if any(part is None for part in parts):
        return None
    return tuple(dict.fromkeys(name for part in parts if part is not None for name in part))
