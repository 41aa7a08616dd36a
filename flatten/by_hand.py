"""Kernels by hand as versions of the functions that they implement.

    let ys = f xs   ⟶   if threshold <= par then f xs by kernel k else stms of f [xs / params]       par: elements of ys

`with_versions` writes that down before flattening, as a branch with the attribute `by_hand`; `by_hand_rule`, which is
tried before the rules of flattening, makes it a guard and goes on in the second side. Where a threshold is not set the
first one is never taken: `soac test` has to compare a kernel with the other versions before commands set it
(`soac/by_hand.py`).
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.by_hand import BY_HAND, attr_of, guard_kind
from ..ir.core import Apply, Attr, Body, Copied, FunDef, If, Param, Prog, Stm
from ..ir.machine import Mode
from ..ir.traverse import rewritten
from ..ir.types import Const, Name, Names, Prim, Var
from .context.nest import Flow, Nest
from .context.trace import Rule
from .inline import called
from .versions.guards import Version, guarded, product_of

TRUE, FALSE = Const(Prim.BOOL, True), Const(Prim.BOOL, False)


def with_versions(prog: Prog) -> Prog:
    """The program with a branch for each call of a function with kernels, and for each of these."""
    functions = {fun.name: fun for fun in prog.functions if fun.kernels}
    if not functions:
        return prog
    names = Names(prog.next_name)
    changed = tuple(replace(fun, body=_body(fun.body, functions, names)) for fun in prog.functions)
    return Prog(_body(Body(prog.consts, ()), functions, names).stms, changed, names.next)


def _body(body: Body, functions: dict[Name, FunDef], names: Names) -> Body:
    def on_stm(stm: Stm) -> tuple[Stm, ...] | None:
        fun = functions.get(stm.exp.function) if isinstance(stm.exp, Apply) else None
        if not isinstance(stm.exp, Apply) or fun is None:
            return None
        return (_versions(fun, stm, stm.exp, fun.kernels, names),)

    return rewritten(body, on_stm)


def _versions(fun: FunDef, stm: Stm, call: Apply, kernels: tuple[FunDef, ...], names: Names) -> Stm:
    """The call by the first kernel, or else by the others, or else what it does."""
    first, *others = kernels
    attr = Attr(BY_HAND, (Attr(first.name.base, ()),))
    sides: list[Body] = []
    for by_hand in (True, False):
        own = replace(stm, pat=tuple(Param(names.again(p.name), p.type) for p in stm.pat))
        if by_hand:
            stms = [replace(own, attrs=(attr,))]
        elif others:
            stms = [_versions(fun, own, call, tuple(others), names)]
        else:
            stms = called(fun, own, call.args, names)
        sides.append(Body(tuple(stms), tuple(Var(p.name) for p in own.pat)))
    return replace(stm, exp=If(TRUE, *sides), attrs=(attr,))


def by_hand_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(•, f x by k or e)  ⟶  if t <= par then f x by k else G(•, e)"""
    attr = attr_of(stm, BY_HAND)
    match stm.exp:
        case If(_, then, orelse) if attr is not None and not nest.dims:
            pass
        case _:
            return None
    (kernel,) = attr.args

    def by_kernel(pat: tuple[Param, ...]) -> None:
        (call,) = then.stms
        flow.keep(replace(call, pat=pat))

    def flattened(pat: tuple[Param, ...]) -> None:
        flow.context.walk_top(flow, orelse)
        for param, atom in zip(pat, orelse.result, strict=True):
            flow.emit((param,), Copied(atom))

    wanted = flow.context.mode in (Mode.INCREMENTAL, Mode.EVERY)
    par = Version(guard_kind(kernel.name), lambda: product_of(flow, stm.pat[-1].type.shape), by_kernel, FALSE)
    guarded(flow, stm.pat, (par,) if wanted else (), flattened)
    return Rule.INCREMENTAL
