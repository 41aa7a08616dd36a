"""Where a statement may be executed: what cannot fail, what may leave a loop, a lambda or a segop.

A statement leaves a frame if all it needs is known outside, its arrays are not overwritten, and it either cannot fail
or is executed for sure. Nothing leaves a branch. Only scalars and views leave a segop: kernels share them for nothing.
"""

from __future__ import annotations

from ...ir.core import (
    Apply,
    ArrayLit,
    Assert,
    Concat,
    Convert,
    Copied,
    Copy,
    Exp,
    GuardCmp,
    If,
    Index,
    Iota,
    Loop,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Scratch,
    Screma,
    SizeParam,
    Stm,
    Update,
    WhileLoop,
)
from ...ir.ops import Op, can_fail
from ...ir.traverse import bodies, free_in_stm
from ...ir.types import Atom, Const
from .bounds import in_bounds, in_bounds_at
from .env import Env, FrameKind


def level_for(stm: Stm, env: Env) -> int:
    """The outermost frame in which `stm` may stand        [S-Hoist]"""
    level = env.here
    if env.frames[level].kind in (FrameKind.ROOT, FrameKind.BRANCH) or not _may_move(stm, env):
        return level
    needed = max((env.levels[name] for name in free_in_stm(stm)), default=0)
    if needed >= level:
        return level
    total = _is_total(stm.exp, env)
    while level > needed and level > 0:
        frame = env.frames[level]
        if frame.kind in (FrameKind.ROOT, FrameKind.BRANCH):
            break
        if frame.kind is FrameKind.SEGOP and not _is_free(stm.exp):
            break
        if not (frame.runs or total or _is_in_bounds(stm.exp, level - 1, env)):
            break
        level -= 1
    return level


def _may_move(stm: Stm, env: Env) -> bool:
    match stm.exp:
        case Scratch() | Update() | GuardCmp() | Apply():
            return False
        case PrimOp() | Convert() | Index() | Iota() | Replicate() | ArrayLit() | Rearrange() | Reshape() | Concat():
            pass
        case Copied() | Copy() | Assert() | If() | Loop() | Screma() | SizeParam():
            pass
        case _:  # what writes into its destinations, and segops with results of their own
            if any(env.sharing.consumed(p.name) for p in stm.pat):
                return False
    return not any(p.type.shape and env.sharing.consumed(p.name) for p in stm.pat)


def _is_free(exp: Exp) -> bool:
    """Costs next to nothing, wherever it is computed."""
    return isinstance(exp, PrimOp | Convert | Rearrange | Reshape | Copied)


def _is_total(exp: Exp, env: Env) -> bool:
    """Whether `exp` has a value whatever its operands are."""
    return _is_total_itself(exp, env, repeated=False) and _are_total(exp, env, repeated=False)


def _is_positive(divisor: Atom, env: Env) -> bool:
    """Whether a divisor is a positive constant, or at least one."""
    match env.value_of(divisor):
        case PrimOp(Op.MAX, _, args):
            return any(isinstance(arg, Const) and arg.value > 0 for arg in args)
        case _:
            return isinstance(divisor, Const) and divisor.value > 0


def _is_in_bounds(exp: Exp, level: int, env: Env) -> bool:
    return isinstance(exp, Index) and in_bounds_at(exp.array, exp.dims, level, env)


def _are_total(exp: Exp, env: Env, *, repeated: bool) -> bool:
    """The same of what is in the bodies of `exp`. In the body of a loop or lambda (`repeated`) an index that is known
    to be in bounds remains so wherever the whole is executed."""
    pending = [(body, repeated or not isinstance(exp, If)) for body in bodies(exp)]
    while pending:
        body, inside = pending.pop()
        for stm in body.stms:
            if not _is_total_itself(stm.exp, env, repeated=inside):
                return False
            pending.extend((inner, inside or not isinstance(stm.exp, If)) for inner in bodies(stm.exp))
    return True


def _is_total_itself(exp: Exp, env: Env, *, repeated: bool) -> bool:
    match exp:
        case PrimOp(op, prim, args):
            return not can_fail(op, prim) or _is_positive(args[-1], env)
        case Index(array, dims, safe):
            return (repeated and safe) or in_bounds(array, dims, env)
        case Update(array, dims, _, safe):
            return (repeated and safe) or in_bounds(array, dims, env)
        case Assert() | Apply() | GuardCmp():
            return False
        case Loop(form=form):
            return not isinstance(form, WhileLoop)
        case _:
            return True
