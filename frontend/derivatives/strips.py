"""`#[stripmine(d)]`: the loop as d + 1 loops one inside the other, before it is swept backward.

    for k < n do body   ⟶   for i < ceil (n / m) do for j < m do if i m + j < n then body        (d = 1, m = ⌈√n⌉)

Each loop keeps the states of its own iterations, and the inner ones are run again: about (d + 1) n^(1 / (d + 1)) states
are kept in place of n, for d further runs of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Copied, ForLoop, Loop, Param, Stm, WhileLoop
from ...ir.ops import Op
from ...ir.types import I64, Atom, Const, Prim, Var, i64, scalar
from ..building.code import Code
from .loops import counted


def in_strips(code: Code, stm: Stm) -> list[Stm]:
    """The statements for `stm`, a loop with the attribute or anything else."""
    depth = next((int(a.args[0].name) for a in stm.attrs if a.name == "stripmine" and _is_number(a.args)), 0)
    if depth == 0 or not isinstance(stm.exp, Loop):
        return [stm]
    outer = code.inside()
    loop = counted(outer, stm.exp) if isinstance(stm.exp.form, WhileLoop) else stm.exp
    assert isinstance(loop.form, ForLoop)
    count = outer.iterations(loop.form)
    size, parts = _strips(outer, count, depth)
    found = _level(outer, loop, count, (parts, *[size] * depth), loop.inits, i64(0))
    outer.copies(stm, found)
    return outer.stms


def _is_number(args: Sequence[object]) -> bool:
    return len(args) == 1 and getattr(args[0], "name", "").isdigit()


def _strips(code: Code, count: Atom, depth: int) -> tuple[Atom, Atom]:
    """How long the inner loops are, and the outermost; all together not shorter than `count`."""
    total = code.convert(Prim.F64, count)
    root = code.op(Op.CEIL, code.op(Op.POW, total, Const(Prim.F64, 1 / (depth + 1))))
    size = code.op(Op.MAX, code.convert(Prim.I64, root), i64(1))
    inner = code.convert(Prim.F64, code.product([size] * depth))
    return size, code.convert(Prim.I64, code.op(Op.CEIL, code.op(Op.DIV, total, inner)))


def _level(
    code: Code, loop: Loop, count: Atom, counts: Sequence[Atom], inits: Sequence[Atom], before: Atom
) -> Sequence[Atom]:
    """The loops of `counts`, the outermost first, behind `before` iterations of what they stand for."""
    if not counts:
        return _iteration(code, loop, count, inits, before)
    params = [code.like(p, "") for p in loop.params]
    index = code.param("i", I64)
    inner = code.inside()
    own = inner.op(Op.ADD, before, Var(index.name))
    if len(counts) > 1:
        own = inner.op(Op.MUL, own, counts[1])
    nexts = _level(inner, loop, count, counts[1:], [Var(p.name) for p in params], own)
    return code.loop(params, inits, ForLoop(index.name, counts[0], Prim.I64), inner.body(nexts))


def _iteration(code: Code, loop: Loop, count: Atom, inits: Sequence[Atom], number: Atom) -> Sequence[Atom]:
    """Iteration `number`, if there is one."""
    form = loop.form
    assert isinstance(form, ForLoop)

    def run(inner: Code) -> Sequence[Atom]:
        index = inner.convert(form.prim, number)
        inner.emit((Param(form.index, scalar(form.prim)),), Copied(index))
        for param, init in zip(loop.params, inits, strict=True):
            inner.emit((param,), Copied(init))
        for stm in loop.body.stms:
            inner.keep(stm)
        return loop.body.result

    types = [p.type for p in loop.params]
    return code.choose(code.op(Op.LT, number, count), run, lambda inner: inits, types)
