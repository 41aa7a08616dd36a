"""The widths of the SOACs of a body, as far as the host knows them before the kernel runs."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import core
from ...ir.core import Body
from ...ir.ops import Op
from ...ir.traverse import bodies
from ...ir.types import Atom, Const, Prim, Var, i64
from .host_builder import HostBuilder


def row_width(h: HostBuilder, body: Body) -> Var | None:
    """The width of the first SOAC of the body that is known before the kernel runs but not now."""
    return next((w for w in widths_in(body) if isinstance(w, Var) and w.name in h.types), None)


def copied_width(h: HostBuilder, exp: core.SegMap) -> Var | None:
    """The length of the rows of the arrays that a point gives, if it is known before the kernel runs but not now."""
    return next((n for t in exp.ret for n in reversed(t.shape) if isinstance(n, Var) and n.name in h.types), None)


def loop_bound(h: HostBuilder, body: Body) -> Var | None:
    """Where all widths follow from sizes that are known before the kernel runs and from counters of loops: the first
    bound of a loop that is such a size."""
    known, first = set(h.types), list[Var]()

    def follow(a: Atom) -> bool:
        return isinstance(a, Const) or a.name in known

    def are_known(inner: Body) -> bool:
        for stm in inner.stms:
            match stm.exp:
                case core.Loop(form=core.ForLoop(index, bound)) if follow(bound):
                    known.add(index)
                    if isinstance(bound, Var) and bound.name in h.types:
                        first.append(bound)
                case core.PrimOp(Op.ADD | Op.SUB | Op.MIN | Op.MAX, _, args) if all(map(follow, args)):
                    known.update(p.name for p in stm.pat)
                case core.Screma(width) | core.Scatter(width) | core.Hist(width) if not follow(width):
                    return False
                case _:
                    pass
            if isinstance(stm.exp, core.Loop | core.If) and not all(map(are_known, bodies(stm.exp))):
                return False
        return True

    return first[0] if are_known(body) and first else None


def middle_width(h: HostBuilder, exp: core.SegMap) -> Var | None:
    """The width of the first SOAC that counts with the points (`xs[:i]`, `xs[k:]`), as the point in the middle has
    it."""
    extents = dict(exp.space.dims)
    made = {p.name: stm.exp for stm in exp.body.stms for p in stm.pat}

    def in_the_middle(a: Atom) -> Atom | None:
        if isinstance(a, Const) or a.name in h.types:
            return a
        if a.name in extents:
            return h.op(Op.QUOT, extents[a.name], i64(2), base="middle")
        match made.get(a.name):
            case core.PrimOp(Op.ADD | Op.SUB | Op.MIN | Op.MAX as op, Prim.I64, (x, y)):
                left, right = in_the_middle(x), in_the_middle(y)
                return None if left is None or right is None else h.op(op, left, right, base="middle")
            case _:
                return None

    first = next((w for w in widths_in(exp.body) if isinstance(w, Var)), None)
    found = None if first is None else in_the_middle(first)
    return found if isinstance(found, Var) else None


def widths_in(body: Body) -> Iterator[Atom]:
    """The widths of the SOACs of a body, in its loops and branches too."""
    for stm in body.stms:
        match stm.exp:
            case core.Screma(width) | core.Scatter(width) | core.Hist(width):
                yield width
            case core.Loop() | core.If():
                for inner in bodies(stm.exp):
                    yield from widths_in(inner)
            case _:
                pass
