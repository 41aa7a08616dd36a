"""Rows of which a lane has one, or a few, or an element: how short they are, and their loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import reduce

from ....ir import core
from ....ir.core import Body, Fix, SegSpace
from ....ir.ops import COMPARISONS, DIVISIONS, EXPENSES, Expense, Op
from ....ir.polynomials import atom, constant, mul, sub
from ....ir.traverse import all_stms, index_atoms, may_fail
from ....ir.types import Atom, Const, Name, Prim, Type, Var, i64
from ...analysis.cost import EXTENT
from ...analysis.long_rows import writes_rows
from ...kernel_ir.affine import Environment, Poly
from ...kernel_ir.nodes import KLet, Threads
from ...kernel_ir.traverse import all_statements
from ...passes.flat_rows import LONGEST, flat_rows
from ..host_builder import HostBuilder, Made
from ..kernel_builder import Builder, Mode, NotLowerable, Operand
from ..space import OPEN, Chunk, chunk_of, lanes_over_chunk, segment_results
from ..statements import gen_stm
from ..table import Segop
from .factors import dependents
from .lanes_kernel import LanesKernel, chunk_length, first_chunk

SHORT_ROW, SHORT_BYTES, ENDED_BYTES = 8, 40, 128
"""Rows of fewer elements leave most lanes idle; of this many bytes that they read and write, twice as many elements at
most, a lane does not read and write them in fewer instructions; where rows have ends, of the last number."""


def short_row(exp: core.SegMap, depth: int) -> int:
    """The length from which on rows keep the lanes busy, where a lane has the `depth` innermost dimensions else: the
    longer, the fewer bytes an element moves whose neighbours are not those of the next lane; longer too where it calls
    functions, for which no lane should be idle, and where each row is cut in pieces."""
    lane, *inner = exp.space.indices[-1 - depth :]
    of_lanes, of_elements = (dependents(exp.body.stms, set(names)) for names in ((lane,), inner))
    moved, calls = sum(t.prim.bytes for t in exp.ret), False
    most = ENDED_BYTES if _has_ends(exp.body, inner[-1]) else SHORT_BYTES
    for stm in exp.body.stms:
        names = {p.name for p in stm.pat}
        if of_elements.isdisjoint(names):
            continue
        for one in all_stms(Body((stm,), ())):
            if isinstance(one.exp, core.Index) and not of_lanes.isdisjoint(names) and not _is_along(one.exp, of_lanes):
                moved += one.pat[0].type.prim.bytes
            calls |= isinstance(one.exp, core.PrimOp) and EXPENSES[one.exp.op] is Expense.CALL
    return max(SHORT_ROW if calls else 1, min(2 * SHORT_ROW, most // moved))


def short_row_in_vectors(exp: core.SegMap) -> int:
    """The same where the elements of rows have lanes (`passes/flat_rows.py`)."""
    return min(LONGEST, ENDED_BYTES // sum(t.prim.bytes for t in exp.ret)) + 1


def _has_ends(body: Body, index: Name) -> bool:
    """Whether what is computed of an index is compared, clamped or divided, so that a row of lanes has pieces."""
    counted = {index}
    for stm in all_stms(body):
        match stm.exp:
            case core.PrimOp(op, Prim.I64, args) if any(isinstance(a, Var) and a.name in counted for a in args):
                if op in DIVISIONS or op in COMPARISONS or op in (Op.MIN, Op.MAX):
                    return True
                counted.add(stm.pat[0].name)
            case _:
                pass
    return False


def _is_along(exp: core.Index, of_lanes: set[Name]) -> bool:
    """Whether it is the last index of an array alone that differs between lanes."""
    *first, last = exp.dims
    others = {exp.array, *(atom.name for atom in index_atoms(tuple(first)) if isinstance(atom, Var))}
    return of_lanes.isdisjoint(others) and isinstance(last, Fix)


def goes_alone(looped: LanesKernel) -> bool:
    """Whether threads with such loops go one after the other (`analysis/long_rows.py`): then rows are short as long as
    the loops are, and need not be many."""
    made = looped.made
    loops = (stm for stm in all_statements(made.kernel.body) if isinstance(stm, Threads))
    return any(writes_rows(stm.body, made.facts) for stm in loops)


def loops(
    b: Builder,
    outs: list[tuple[Name, Type]],
    at: tuple[Operand, ...],
    dims: tuple[tuple[Name, Atom], ...],
    body: Body,
) -> None:
    """The results of all points of `dims` at indices `at` of those around them; each statement in the outermost loop
    that it does not depend on. One that may fail is executed only if there are points."""
    if not dims:
        segment_results(b, body, outs, at, Mode.THREAD)
        return
    varying = dependents(body.stms, {index for index, _ in dims})
    early = [stm for stm in body.stms if varying.isdisjoint(p.name for p in stm.pat)]
    late = tuple([stm for stm in body.stms if stm not in early])
    with where_points(b, dims, early):
        for stm in early:
            gen_stm(b, stm, Mode.THREAD)
        (inner, width), *others = dims
        k = b.index(inner)
        b.inside.add((k, b.operand(width)))
        with b.loop(k, b.operand(width)):
            loops(b, outs, (*at, k), tuple(others), Body(late, body.result))


def where_points(
    b: Builder, dims: tuple[tuple[Name, Atom], ...], early: Iterable[core.Stm]
) -> AbstractContextManager[object]:
    """A branch on whether there are points of `dims`, if one of the statements ahead of their loops may fail."""
    if not any(may_fail(stm.exp) for stm in all_stms(Body(tuple(early), ()))):
        return nullcontext()
    positive = [b.op(Op.LT, Prim.I64, i64(0), b.operand(width)) for _, width in dims]
    return b.when(reduce(lambda x, y: b.op(Op.AND, Prim.BOOL, x, y), positive))


def looped_kernel(s: Segop[core.SegMap], depth: int, point: Callable[..., None] = loops) -> LanesKernel:
    """`threads i` over a chunk of the dimension before the `depth` innermost ones, each with loops over these, whose
    points are made by `point`; where elements of rows read neighbours alone, `threads t` over the elements."""
    dims = s.exp.space.dims

    def build(chunk: Chunk, flat: bool = False) -> Made:
        b = s.h.builder()
        lanes_over_chunk(b, SegSpace(dims[:-depth]), chunk, lambda at: point(b, s.outs, at, dims[-depth:], s.exp.body))
        if flat:
            in_vectors(s.h, b)
        return s.h.finish(b, s.base)

    first = first_chunk(s.exp.space.widths[-1 - depth])
    made = build(first)
    each = made.cost / EXTENT
    length = chunk_length(each * (SHORT_ROW / EXTENT) ** depth)
    chunk = first if first is OPEN else chunk_of(length)
    if depth == 1 and point is loops and not any(t.shape for t in s.exp.ret):
        try:
            return LanesKernel(build(chunk, flat=True), length, each, 1, flat=True)
        except NotLowerable:
            pass
    return LanesKernel(made if first is OPEN else build(chunk), length, each, 1)


def in_vectors(h: HostBuilder, b: Builder) -> None:
    """The loop over rows that `b` has built, as one over their elements (`passes/flat_rows.py`). Raises NotLowerable
    where these are no neighbours in all that is read."""
    values = Environment()
    for name, var in b.scalars.items():
        match h.computed.get(name):
            case core.PrimOp(Op.SUB, Prim.I64, (Var(x), Const(_, int(y)))) if x in b.scalars:
                values.polys[var.name] = sub(atom(b.scalars[x].name), constant(y))
            case _:
                pass
    for stm in b.prologue:
        if isinstance(stm, KLet):
            values.note(stm)
    sizes = {array: size_of(b, h.types[name].shape, values) for name, array in b.arrays.items() if name in h.types}
    found = flat_rows(tuple(b.stms), values, sizes, lambda base: b.fresh(base, Prim.I64))
    if found is None:
        raise NotLowerable("rows whose elements are no neighbours")
    b.stms[:] = found


def size_of(b: Builder, shape: tuple[Atom, ...], values: Environment) -> Poly:
    """The elements of an array of the host."""
    return reduce(mul, [values.of(b.operand(n)) for n in shape])
