"""Register tiles: each thread of a tiled segmap of two dimensions (`tile.py`) computes R x R results.

    loop accs = replicate g g R R ne for s < ⌈p/t⌉ do                                                     [T3]
      xs' = copy xs[rows of the block, s·t :+ t]                          g·R rows of either, shared by the block
      ys' = copy ys[rows of the block, s·t :+ t]
      segmap^thread (k < g, l < g) { accs[k,l] ⊕ redomap t (f x_a y_b for a, b < R) ⊕ xs'[k + a·g] ys'[l + b·g] }

Every element that a thread loads is used R times. R is a constant of the code: the redomap has R² accumulators, which
are registers. The order of each reduction stays. Volkov & Demmel, "Benchmarking GPUs to tune dense linear algebra"
(SC'08); Futhark's block and register tiling.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.core import (
    ArrayLit,
    Body,
    Fix,
    ForLoop,
    Index,
    Lambda,
    Level,
    Loop,
    Param,
    Reduction,
    Replicate,
    Screma,
    SegMap,
    SegSpace,
    Slice,
    Stm,
)
from ..ir.ops import Op
from ..ir.rename import rename_body, rename_lambda, substitute_body
from ..ir.traverse import free_in_lambda, free_in_stm
from ..ir.types import Atom, Name, Prim, Type, Var, i64, scalar
from .tile_block import Let, Part, Shared, Tileable, Tiles, combined, needed, part_at, shared_rows

MOST_STATEMENTS = 12
"""Longer code is not repeated R² times."""


def fits_registers(found: Tileable) -> bool:
    """Two tiled dimensions, and code that is short enough."""
    screma = found.screma
    stms = (*found.before, *screma.map.body.stms, *(s for red in screma.reds for s in red.op.body.stms), *found.after)
    return len(found.tiled) == 2 and len(stms) <= MOST_STATEMENTS


@dataclass(frozen=True, slots=True)
class Grid:
    """A block's share of the tiled dimensions, `grid` threads along each of the two, of which each has `each` rows: k,
    k + grid, .."""

    tiles: Tiles
    grid: Atom
    each: int

    @property
    def shape(self) -> tuple[Atom, ...]:
        """Threads along both dimensions, results of each along both."""
        return (self.grid, self.grid, i64(self.each), i64(self.each))

    @property
    def results(self) -> list[tuple[int, int]]:
        """A thread's results, by the numbers of their rows."""
        return [(a, b) for a in range(self.each) for b in range(self.each)]


def register_body(grid: Grid, step: Atom, steps: Atom, exp: SegMap, let: Let) -> Body:
    """The body of a block: accumulators over all tiles, `steps` of `step` elements, then what follows the redomap."""
    found = grid.tiles.found
    accs = _accumulated(let, grid, step, steps)
    result = tuple(Var(a.name) for a in accs)
    if exp.body.result != tuple(Var(p.name) for p in found.redomap.pat):
        result = _finished(let, grid, accs, exp)
    return rename_body(let.body(result), let.names)


def _accumulated(let: Let, grid: Grid, step: Atom, steps: Atom) -> tuple[Param, ...]:
    """loop accs = replicate ne for s < steps: the next tile of every row, then every thread's part of it."""
    screma, pat = grid.tiles.found.screma, grid.tiles.found.redomap.pat
    neutral = [a for red in screma.reds for a in red.neutral]
    types = [p.type.array_of(*grid.shape) for p in pat]
    inits = tuple(let.let("accs", Replicate(grid.shape, ne), t) for ne, t in zip(neutral, types, strict=True))
    params = tuple(Param(let.names.fresh("accs"), t) for t in types)
    s, inner = let.names.fresh("s"), let.inner()
    part = part_at(inner, Var(s), step, screma.width)
    nexts = _threads(inner, grid, shared_rows(inner, grid.tiles, part), part, params)
    body = inner.body(tuple(Var(p.name) for p in nexts))
    outs = tuple(Param(let.names.fresh("accs"), t) for t in types)
    let.stms.append(Stm(outs, Loop(params, inits, ForLoop(s, steps, Prim.I64), body), (), (), let.loc))
    return outs


# ---- a thread ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Thread:
    """A thread's indices in the grid, and its rows of each dimension: their places in the tile, up to the last one."""

    grid: Grid
    local: tuple[Name, ...]
    rows: tuple[tuple[Atom, ...], ...]

    def points(self, let: Let, result: tuple[int, int]) -> dict[Name, Atom]:
        """The indices of the space that one of the thread's results stands for."""
        tiles = self.grid.tiles
        dims = zip(tiles.found.tiled, tiles.bases, self.rows, result, strict=True)
        return {name: let.op(Op.ADD, base, rows[a]) for (name, _), base, rows, a in dims}


def _thread(let: Let, grid: Grid) -> _Thread:
    local = tuple(let.names.fresh("k") for _ in grid.tiles.found.tiled)

    def rows(k: Name, count: Atom) -> tuple[Atom, ...]:
        last = let.op(Op.SUB, count, i64(1))
        offsets = (let.op(Op.MUL, i64(a), grid.grid) if a else i64(0) for a in range(grid.each))
        return tuple(let.op(Op.MIN, let.op(Op.ADD, offset, Var(k)), last) for offset in offsets)

    return _Thread(grid, local, tuple(rows(k, count) for k, count in zip(local, grid.tiles.counts, strict=True)))


def _threads(
    let: Let, grid: Grid, shared: list[Shared | None], part: Part, accs: tuple[Param, ...]
) -> tuple[Param, ...]:
    """segmap^thread (k < g, l < g) { accs[k,l] ⊕ redomap over the part, for each of its rows }"""
    inner = let.inner()
    thread = _thread(inner, grid)
    screma = _redomap(inner, thread, shared, part)
    pat = grid.tiles.found.redomap.pat
    partial = [tuple(Param(let.names.fresh("partial"), p.type) for p in pat) for _ in grid.results]
    flat = tuple(p for one in partial for p in one)
    inner.stms.append(Stm(flat, screma, grid.tiles.found.redomap.certs, (), let.loc))
    values: list[tuple[Atom, ...]] = []
    for result, one in zip(grid.results, partial, strict=True):
        left = _elements(inner, accs, thread, result)
        values.append(combined(inner, grid.tiles.found.screma, left, tuple(Var(p.name) for p in one)))
    return _segmap(let, inner, thread, values, tuple(p.type for p in pat), "accs")


def _redomap(let: Let, thread: _Thread, shared: list[Shared | None], part: Part) -> Screma:
    """One redomap with the accumulators of all the thread's results; each row is read once."""
    found = thread.grid.tiles.found
    params: list[Param] = []
    arrays: list[Name] = []
    taken: dict[tuple[Name, tuple[int, ...]], Name] = {}

    def element(param: Param, tile: Shared, result: tuple[int, int]) -> Name:
        """The element of the row that this result wants, an input of the redomap."""
        rows = tuple(result[k] for k in tile.runs if k is not None)
        if (param.name, rows) not in taken:
            fresh = Param(let.names.again(param.name), param.type)
            params.append(fresh)
            arrays.append(_row(let, thread, tile, result, part, param.type))
            taken[param.name, rows] = fresh.name
        return taken[param.name, rows]

    stms, outs, reds = list[Stm](), list[Atom](), list[Reduction]()
    for result in thread.grid.results:
        known = _before(let, thread, result)
        for param, tile in zip(found.screma.map.params, shared, strict=True):
            assert tile is not None
            known[param.name] = Var(element(param, tile, result))
        code = rename_body(substitute_body(found.screma.map.body, known), let.names)
        stms += code.stms
        outs += code.result
        reds += [Reduction(rename_lambda(r.op, let.names), r.neutral, r.comm) for r in found.screma.reds]
    ret = found.screma.map.ret * len(thread.grid.results)
    f = Lambda(tuple(params), Body(tuple(stms), tuple(outs)), ret)
    return Screma(part.length, tuple(arrays), f, (), tuple(reds))


def _before(let: Let, thread: _Thread, result: tuple[int, int]) -> dict[Name, Atom]:
    """What the redomap needs of the statements before it, for one of the thread's results: their values by name."""
    found = thread.grid.tiles.found
    points = thread.points(let, result)
    stms = needed(found.before, free_in_lambda(found.screma.map))
    names = tuple(p.name for stm in stms for p in stm.pat)
    code = rename_body(substitute_body(Body(stms, tuple(map(Var, names))), points), let.names)
    let.stms += code.stms
    return {**points, **dict(zip(names, code.result, strict=True))}


def _row(let: Let, thread: _Thread, tile: Shared, result: tuple[int, int], part: Part, element: Type) -> Name:
    """The part of a row in shared memory."""
    along = Slice(i64(0), part.length, i64(1))
    dims = tuple(along if k is None else Fix(thread.rows[k][result[k]]) for k in tile.runs)
    if len(dims) == 1:
        return tile.array
    return let.name("row", Index(tile.array, dims, True), element.array_of(part.length))


def _finished(let: Let, grid: Grid, accs: tuple[Param, ...], exp: SegMap) -> tuple[Var, ...]:
    """segmap^thread (k < g, l < g) { what follows the redomap, for each result }"""
    found, inner = grid.tiles.found, let.inner()
    thread = _thread(inner, grid)
    result = exp.body.result
    wanted = {n for s in found.after for n in free_in_stm(s)} | {a.name for a in result if isinstance(a, Var)}
    values: list[tuple[Atom, ...]] = []
    for one in grid.results:
        points = thread.points(inner, one)
        points.update(zip((p.name for p in found.redomap.pat), _elements(inner, accs, thread, one), strict=True))
        rest = substitute_body(Body((*needed(found.before, wanted), *found.after), result), points)
        rest = rename_body(rest, let.names)
        inner.stms += rest.stms
        values.append(rest.result)
    return tuple(Var(p.name) for p in _segmap(let, inner, thread, values, exp.ret, "out"))


def _elements(let: Let, arrays: tuple[Param, ...], thread: _Thread, result: tuple[int, int]) -> tuple[Var, ...]:
    at = (*(Fix(Var(k)) for k in thread.local), *(Fix(i64(a)) for a in result))
    return tuple(let.let("acc", Index(a.name, at, True), scalar(a.type.prim)) for a in arrays)


def _segmap(
    let: Let, inner: Let, thread: _Thread, values: list[tuple[Atom, ...]], ret: tuple[Type, ...], base: str
) -> tuple[Param, ...]:
    """segmap^thread (k < g, l < g) { [[v_00, v_01, ..], ..] }"""
    grid = thread.grid
    outs = tuple(_square(inner, [one[k] for one in values], grid.each, t) for k, t in enumerate(ret))
    types = tuple(t.array_of(*grid.shape[2:]) for t in ret)
    pat = tuple(Param(let.names.fresh(base), t.array_of(*grid.shape[:2])) for t in types)
    space = SegSpace(tuple((k, grid.grid) for k in thread.local))
    let.stms.append(Stm(pat, SegMap(Level.THREAD, space, inner.body(outs), types), (), (), let.loc))
    return pat


def _square(let: Let, values: list[Atom], each: int, t: Type) -> Var:
    """R rows of R values."""
    row = t.array_of(i64(each))
    rows = tuple(let.let("row", ArrayLit(tuple(values[a : a + each]), t), row) for a in range(0, len(values), each))
    return let.let("square", ArrayLit(rows, row), row.array_of(i64(each)))
