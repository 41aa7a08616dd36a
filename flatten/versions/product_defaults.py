"""Which version is the default where a nest holds products: rows of its points with a matrix that points share.

    map (\\x → let ys = map (\\w → reduce ⊕ d (map2 ⊗ x w)) ws in e) xs        n points, m rows of `ws`, of p elements

Flattened, the product is a kernel of its own over (i < n, j < m), which reads both operands in tiles and keeps results
in registers. In the thread of a point, or in its collective, every row of `ws` is read once for each point. The arrays
between cost the flat version one pass each, so that the others pay only where the product is too small for tiles:

    pays = n < POINTS ∨ m < ROWS ∨ p < DEPTH        for each product of the body

A body that is one SOAC alone is left out: there is nothing between, and its threads share what they read
(`kernels/schedule/cpu/unroll_and_jam.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.core import Body, PrimOp, Rearrange, Screma, Stm
from ...ir.ops import Op
from ...ir.types import BOOL, Atom, Const, Name, Prim, Var, i64
from ..context.nest import Flow, Nest

POINTS, ROWS, DEPTH = 8, 16, 16
"""From this number of points, of rows and of elements of a row on, the product of a flat version in tiles and panels
(`kernels/schedule/cpu/packed_panels.py`) is worth the passes over what is between."""


def in_threads_pays(flow: Flow, nest: Nest, body: Body) -> Atom:
    """Whether versions that keep each point of the nest together are worth being the default: emits what tells it."""
    pays: Atom = Const(Prim.BOOL, True)
    if flow.context.machine.keeps_rows and sum(isinstance(stm.exp, Screma) for stm in body.stms) > 1:
        for rows, depth in dict.fromkeys(product_widths(flow, nest, body)):
            few = _either(flow, _below(flow, nest.widths[-1], POINTS), _below(flow, rows, ROWS))
            few = _either(flow, few, _below(flow, depth, DEPTH))
            pays = few if isinstance(pays, Const) else _op(flow, Op.AND, Prim.BOOL, pays, few)
    return pays


def _below(flow: Flow, size: Atom, least: int) -> Atom:
    return _op(flow, Op.LT, Prim.I64, size, i64(least))


def _either(flow: Flow, x: Atom, y: Atom) -> Atom:
    return _op(flow, Op.OR, Prim.BOOL, x, y)


def _op(flow: Flow, op: Op, prim: Prim, x: Atom, y: Atom) -> Atom:
    return Var(flow.emit_as("pays", BOOL, PrimOp(op, prim, (x, y))))


# ---- products ------------------------------------------------------------------------------------------------------


def product_widths(flow: Flow, nest: Nest, body: Body) -> Iterator[tuple[Atom, Atom]]:
    """The rows of the matrices that the points of the nest share, and their length, for each product whose results are
    an array."""
    shared = {p.name for stm in body.stms if _is_view_of_shared(flow, nest, stm) for p in stm.pat}
    local = {p.name for stm in body.stms for p in stm.pat} - shared
    for stm in body.stms:
        match stm.exp:
            case Screma(width, arrays, f, (), _) if any(p.type.shape for p in stm.pat) and flow.is_invariant(width):
                rows = {p.name for p in f.params if p.type.shape}
                matrices = {p.name: array for p, array in zip(f.params, arrays, strict=True)}
                depth, read = _reduced_with_others(f.body, rows)
                if any(matrices[row] not in local and is_shared(flow, nest, matrices[row]) for row in read):
                    yield width, depth if flow.is_invariant(depth) else i64(DEPTH)
            case _:
                pass


def _reduced_with_others(body: Body, rows: set[Name]) -> tuple[Atom, set[Name]]:
    """The rows that the only SOAC of a body reduces, together with something that is no row, after its width."""
    inner = [stm.exp for stm in body.stms if isinstance(stm.exp, Screma)]
    match inner:
        case [Screma(width, arrays, _, (), (_, *_))] if not rows.issuperset(arrays):
            return width, rows.intersection(arrays)
        case _:
            return i64(0), set()


def _is_view_of_shared(flow: Flow, nest: Nest, stm: Stm) -> bool:
    return isinstance(stm.exp, Rearrange) and is_shared(flow, nest, stm.exp.array)


def is_shared(flow: Flow, nest: Nest, array: Name) -> bool:
    """Whether an array is the same for all points of the innermost dimension of the nest."""
    if (elem := flow.known.elems.get(array)) is not None:
        return nest.indices[-1] not in elem.indices
    deferred = flow.known.deferred.get(array)
    return deferred is None or deferred.depth < nest.depth
