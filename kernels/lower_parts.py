"""Versions that are not lowered before a call needs them: what stands for them, in a program that leaves some out."""

from __future__ import annotations

from ..ir import core
from ..ir.core import Param, Stm
from ..ir.types import Atom, Const, Names, Prim, Type, Var, i64, zero
from .host_ir.nodes import HostBody, HostProgram, HostStm, statements

LEFT_OUT = "left-out"
"""The code with which a version fails that was not lowered."""


def left_out(names: Names, stm: Stm) -> HostBody:
    """What stands for a side of the guard `stm` that no call has needed: it fails, and would give empty arrays."""
    never = Param(names.fresh("never"), Type(Prim.BOOL, ()))
    stms = [HostStm((never,), core.Assert(Const(Prim.BOOL, False), LEFT_OUT, ()), stm.loc)]
    results: list[Atom] = []
    for param in stm.pat:
        prim, rank = param.type.prim, param.type.rank
        empty = Param(names.again(param.name), Type(prim, (i64(0),) * rank))
        stms += [HostStm((empty,), core.Scratch(empty.type), stm.loc)] if rank else []
        results.append(Var(empty.name) if rank else zero(prim))
    return HostBody(tuple(stms), tuple(results))


def leaves_out(program: HostProgram) -> bool:
    """Whether versions of a program were not lowered."""
    stms = (stm for fun in program.functions for stm in statements(*fun.bodies))
    return any(isinstance(stm.exp, core.Assert) and stm.exp.code == LEFT_OUT for stm in stms)
