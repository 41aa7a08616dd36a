"""Unroll-and-jam in a thread's loop: steps that each reduce share one inner loop, over a dense copy of what is common.

    loop i < w { y = redomap over l < d of f(a[l], b[i, l]); acc := acc ⊙ g(y) }
    ⟶  p = copy a                                                          the thread's own, if d is at most DEPTH
        loop i0 < w/R { loop l < d { x = p[l]; for each r < R: y_r ⊕= f(x, b[R·i0 + r, l]) }
                        acc := acc ⊙ g(y_0) ⊙ .. ⊙ g(y_R-1) }
        loop the last i as it was

x is read once for R steps, and R sums that do not wait for each other hide the latency of an addition; `b[i, l]` is the
same for all lanes, or not, as it was. The order of both reductions stays. (As `unroll_and_jam.py`, for rows that are
reduced too.)
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir import core
from ....ir.core import Stm
from ....ir.ops import Op
from ....ir.traverse import bound_in_body
from ....ir.types import Atom, Const, Name, Prim, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KVar, Space
from .. import soacs
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, Value
from ..soacs import apply_lambda, only_scalars
from .unroll_and_jam import ROWS, Part, accumulate, is_plain, is_reduction, jam_stm

DEPTH = 1 << 11
"""Elements of a copy that the nearer caches hold for all lanes."""


def gen_soac(b: Builder, stm: Stm, mode: Mode) -> tuple[Value, ...]:
    """Emit a SOAC; gives the values of the statement's pattern."""
    if mode is Mode.THREAD and not b.has_threads and isinstance(stm.exp, core.Screma) and can_jam(b, stm, stm.exp):
        return jammed(b, stm.exp)
    return soacs.gen_soac(b, stm, mode)


def can_jam(b: Builder, stm: Stm, exp: core.Screma) -> bool:
    """A reduction to scalars of what one inner reduction gives, with plain statements around it, as often and as long
    in every thread."""
    if not (exp.num_reds == len(stm.pat) and not exp.scans and all(soacs.is_simple(r.op) for r in exp.reds)):
        return False
    stms = exp.map.body.stms
    inner = [s for s in stms if isinstance(s.exp, core.Screma)]
    if len(inner) != 1 or not is_reduction(inner[0]) or not all(is_plain(s) for s in stms if s is not inner[0]):
        return False
    (screma,) = (s.exp for s in inner if isinstance(s.exp, core.Screma))
    return all(_is_uniform(b, width) for width in (exp.width, screma.width)) and bool(_common(b, exp, screma))


def _is_uniform(b: Builder, atom: Atom) -> bool:
    return isinstance(atom, Const) or atom.name in b.scope.types


def _common(b: Builder, exp: core.Screma, inner: core.Screma) -> tuple[Name, ...]:
    """Arrays in the memory of the device whose scalars every step reads."""
    own = {p.name for p in exp.map.params} | set(bound_in_body(exp.map.body))
    found = [a for a in dict.fromkeys(inner.arrays) if a not in own]
    return tuple(a for a in found if _is_stored(b.input(a)))


def _is_stored(array: Value) -> bool:
    return isinstance(array, ArrayRef) and len(array.shape) == 1 and array.mem.space is Space.GLOBAL


def jammed(b: Builder, exp: core.Screma) -> tuple[Value, ...]:
    """The loop over groups of ROWS steps, and that over the last steps."""
    inner = next(s.exp for s in exp.map.body.stms if isinstance(s.exp, core.Screma))
    width, depth = b.operand(exp.width), b.operand(inner.width)
    accs = [b.declare("acc", b.operand(a)) for r in exp.reds for a in r.neutral]
    fits = b.op(Op.LE, Prim.I64, depth, i64(DEPTH))
    groups = b.op(Op.SELECT, Prim.I64, fits, b.op(Op.QUOT, Prim.I64, width, i64(ROWS)), ZERO, base="groups")
    rest = b.op(Op.SELECT, Prim.I64, fits, b.op(Op.REM, Prim.I64, width, i64(ROWS)), width, base="rest")
    some = b.op(Op.GT, Prim.I64, groups, ZERO)
    with b.when(some):
        loads = {a: _packed(b, a, depth) for a in _common(b, exp, inner)}
        _groups(b, exp, inner, loads, groups, accs)
    with b.loop(b.fresh("k", Prim.I64), rest) as k:
        _step(b, exp, b.add(b.mul(groups, i64(ROWS)), k), accs)
    return tuple(map(b.copy, accs))


def _packed(b: Builder, array: Name, depth: Operand) -> Callable[[Operand], Operand]:
    """A copy of an array of the thread's own; gives how an element of it is read."""
    source = b.array(array)
    assert isinstance(source, ArrayRef), "what is common is stored"
    copy = b.alloc("near", source.mem.prim, (depth,), Space.PRIVATE)
    with b.loop(b.fresh("k", Prim.I64), depth) as k:
        (value,) = only_scalars([b.element(source, (k,))])
        b.emit(kir.Store(copy.mem, k, value))
    return lambda at: b.let("x", source.mem.prim, kir.KLoad(copy.mem, at))


def _groups(
    b: Builder,
    exp: core.Screma,
    inner: core.Screma,
    loads: dict[Name, Callable[[Operand], Operand]],
    groups: Operand,
    accs: list[KVar],
) -> None:
    """`loop g < groups`: ROWS steps whose inner reductions are one loop."""
    with b.loop(b.fresh("g", Prim.I64), groups) as g:
        first = b.mul(g, i64(ROWS))
        numbers = [b.add(first, i64(r)) for r in range(ROWS)]
        envs: list[dict[Name, Value]] = [
            {p.name: b.element(b.input(a), (i,)) for p, a in zip(exp.map.params, exp.arrays, strict=True)}
            for i in numbers
        ]
        neutral = [b.operand(a) for r in inner.reds for a in r.neutral]
        part = Part(ZERO, b.operand(inner.width), [neutral] * ROWS, loads)
        varying = {p.name for p in exp.map.params}
        for stm in exp.map.body.stms:
            jam_stm(b, stm, varying, envs, part)
        for env in envs:
            b.env.update(env)
            accumulate(b, exp, accs, [b.atom(a) for a in exp.map.body.result])


def _step(b: Builder, exp: core.Screma, index: Operand, accs: list[KVar]) -> None:
    """One step by itself."""
    rows = [b.element(b.input(a), (index,)) for a in exp.arrays]
    accumulate(b, exp, accs, list(apply_lambda(b, exp.map, rows, Mode.THREAD)))
