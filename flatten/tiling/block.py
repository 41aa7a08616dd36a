"""The body of a block of a tiled segmap (`choose.py`): tiles of the shared rows, and each thread's part of them.

What a thread computes before the redomap, and its accumulators, are arrays of the block with an element for each of its
threads, which no other one touches: a machine keeps them in registers.
"""

from __future__ import annotations

from dataclasses import field, replace

from ...ir.core import (
    Body,
    Copy,
    DimIndex,
    Exp,
    Fix,
    ForLoop,
    Index,
    Level,
    Loop,
    Param,
    PrimOp,
    Replicate,
    Screma,
    SegMap,
    SegSpace,
    Slice,
    Stm,
)
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_body, substitute_body, substitute_lambda
from ...ir.traverse import free_in_lambda, free_in_stm, live, needed
from ...ir.types import I64, Atom, Name, Names, Prim, Type, Var, i64, scalar


@dataclass(frozen=True, slots=True)
class Row:
    """A row that a redomap reads: `array[dims]` with one slice, at dimension `along`. `of`: the tiled indices that
    it depends on, by the dimension they stand in."""

    array: Name
    dims: tuple[DimIndex, ...]
    along: int
    of: dict[int, Name]

    @property
    def slice(self) -> Slice:
        found = self.dims[self.along]
        assert isinstance(found, Slice)
        return found


@dataclass(frozen=True, slots=True)
class Tileable:
    """A segmap that can be tiled: statements before the redomap, the redomap, statements after it; the rows to be
    shared (None for one that a thread reads by itself); the dimensions that become blocks."""

    before: tuple[Stm, ...]
    redomap: Stm
    screma: Screma
    after: tuple[Stm, ...]
    rows: tuple[Row | None, ...]
    outer: tuple[tuple[Name, Atom], ...]
    tiled: tuple[tuple[Name, Atom], ...]


@dataclass(slots=True)
class Let:
    """Statements under construction."""

    names: Names
    loc: Loc
    stms: list[Stm] = field(default_factory=list)
    known: dict[tuple[Op, Atom, Atom], Atom] = field(default_factory=dict)

    def name(self, base: str, exp: Exp, type_: Type) -> Name:
        param = Param(self.names.fresh(base), type_)
        self.stms.append(Stm((param,), exp, (), (), self.loc))
        return param.name

    def let(self, base: str, exp: Exp, type_: Type) -> Var:
        return Var(self.name(base, exp, type_))

    def op(self, op: Op, x: Atom, y: Atom) -> Atom:
        """`x op y` on sizes, computed once."""
        if (op, x, y) in ((Op.ADD, i64(0), y), (Op.MUL, i64(1), y)):
            return y
        if (op, y) == (Op.MUL, i64(1)):
            return x
        if (op, x, y) not in self.known:
            self.known[op, x, y] = self.let(op.value, PrimOp(op, Prim.I64, (x, y)), I64)
        return self.known[op, x, y]

    def ceil_div(self, x: Atom, y: Atom) -> Atom:
        """⌈x/y⌉, y at least 1."""
        return self.op(Op.QUOT, self.op(Op.ADD, x, self.op(Op.SUB, y, i64(1))), y)

    def body(self, result: tuple[Atom, ...]) -> Body:
        """The statements that `result` stands on."""
        return live(Body(tuple(self.stms), result))

    def inner(self) -> Let:
        """Statements of a body inside."""
        return Let(self.names, self.loc)


def block_body(found: Tileable, edge: Atom, steps: Atom, numbers: tuple[Name, ...], exp: SegMap, let: Let) -> Body:
    """The body of block `numbers`: accumulators over all tiles, then what follows the redomap."""
    tiles = tiles_of(found, edge, numbers, let)
    accs = _accumulated(let, tiles, steps)
    result = tuple(Var(a.name) for a in accs)
    if exp.body.result != tuple(Var(p.name) for p in found.redomap.pat):
        result = _finished(let, tiles, accs, exp)
    return rename_body(let.body(result), let.names)


@dataclass(frozen=True, slots=True)
class Tiles:
    """A block's share of the tiled dimensions: their first indices, and how many there are (at most `edge`)."""

    found: Tileable
    edge: Atom
    bases: list[Atom]
    counts: list[Atom]

    def place(self, name: Name | None) -> int | None:
        """Which tiled dimension has this index."""
        return next((k for k, (index, _) in enumerate(self.found.tiled) if index == name), None)


def tiles_of(found: Tileable, edge: Atom, numbers: tuple[Name, ...], let: Let) -> Tiles:
    """The share of block `numbers`."""
    bases = [let.op(Op.MUL, Var(number), edge) for number in numbers]
    counts = [
        let.op(Op.MIN, edge, let.op(Op.SUB, width, base)) for (_, width), base in zip(found.tiled, bases, strict=True)
    ]
    return Tiles(found, edge, bases, counts)


@dataclass(frozen=True, slots=True)
class Part:
    """The part of the rows at hand: elements `start` to `start + length`."""

    start: Atom
    length: Atom


@dataclass(frozen=True, slots=True)
class Shared:
    """A tile of rows in shared memory; for each of its dimensions the tiled one it runs over (None: the elements)."""

    array: Name
    runs: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Own:
    """What stands before the redomap: views, which each step takes anew, and values, of which a thread has its element
    of each of the `arrays`."""

    views: tuple[Stm, ...]
    values: tuple[Param, ...]
    arrays: tuple[Param, ...]


def _computed_before(let: Let, tiles: Tiles) -> Own:
    """segmap^thread (k < t) { the values before the redomap that it uses }"""
    found, inner = tiles.found, let.inner()
    rows = (array for array, row in zip(found.screma.arrays, found.rows, strict=True) if row is None)
    used = {*rows, *free_in_lambda(found.screma.map)}
    before = needed(found.before, used)
    views = tuple(stm for stm in before if stm.pat[0].type.shape)
    used |= {name for stm in views for name in free_in_stm(stm)}
    values = tuple(stm.pat[0] for stm in before if not stm.pat[0].type.shape and stm.pat[0].name in used)
    if not values:
        return Own(views, (), ())
    local = tuple(let.names.fresh("k") for _ in found.tiled)
    _, points = _points(inner, tiles, local)
    inner.stms += substitute_body(Body(before, ()), points).stms
    body = inner.body(tuple(Var(p.name) for p in values))
    return Own(views, values, _segmap(let, tiles, local, body, tuple(p.type for p in values), "own"))


def _accumulated(let: Let, tiles: Tiles, steps: Atom) -> tuple[Param, ...]:
    """loop accs = replicate ne for s < steps: the next tile of every row, then every thread's part of it."""
    own = _computed_before(let, tiles)
    screma, pat = tiles.found.screma, tiles.found.redomap.pat
    neutral = [a for red in screma.reds for a in red.neutral]
    edges = tuple(tiles.edge for _ in tiles.found.tiled)
    types = [p.type.array_of(*edges) for p in pat]
    inits = tuple(let.let("accs", Replicate(edges, ne), t) for ne, t in zip(neutral, types, strict=True))
    params = tuple(Param(let.names.fresh("accs"), t) for t in types)
    s, inner = let.names.fresh("s"), let.inner()
    part = part_at(inner, Var(s), tiles.edge, screma.width)
    nexts = _threads(inner, tiles, shared_rows(inner, tiles, part), part, own, params)
    body = inner.body(tuple(Var(p.name) for p in nexts))
    outs = tuple(Param(let.names.fresh("accs"), t) for t in types)
    let.stms.append(Stm(outs, Loop(params, inits, ForLoop(s, steps, Prim.I64), body), (), (), let.loc))
    return outs


def part_at(let: Let, s: Atom, step: Atom, width: Atom) -> Part:
    """Part `s` of rows of this width, of `step` elements but for the last."""
    start = let.op(Op.MUL, s, step)
    return Part(start, let.op(Op.MIN, step, let.op(Op.SUB, width, start)))


def shared_rows(let: Let, tiles: Tiles, part: Part) -> list[Shared | None]:
    """The tile of every row that is shared."""
    prims = [p.type.prim for p in tiles.found.screma.map.params]
    rows = zip(tiles.found.rows, prims, strict=True)
    return [_copied(let, tiles, row, prim, part) if row is not None else None for row, prim in rows]


def _copied(let: Let, tiles: Tiles, row: Row, prim: Prim, part: Part) -> Shared:
    """`copy array[base_i :+ count_i, start :+ length]`"""
    dims: list[DimIndex] = []
    runs: list[int | None] = []
    for k, dim in enumerate(row.dims):
        place = tiles.place(row.of.get(k))
        if k == row.along:
            stride = row.slice.stride
            offset = let.op(Op.ADD, row.slice.start, let.op(Op.MUL, part.start, stride))
            dims.append(Slice(offset, part.length, stride))
        elif place is not None:
            dims.append(Slice(tiles.bases[place], tiles.counts[place], i64(1)))
        else:
            dims.append(dim)
            continue
        runs.append(place)
    type_ = Type(prim, tuple(part.length if k is None else tiles.counts[k] for k in runs))
    view = let.name("view", Index(row.array, tuple(dims), True), type_)
    return Shared(let.name("shared", Copy(view), type_), tuple(runs))


def _threads(
    let: Let, tiles: Tiles, shared: list[Shared | None], part: Part, own: Own, accs: tuple[Param, ...]
) -> tuple[Param, ...]:
    """segmap^thread (k < t) { accs[k] ⊕ redomap over the part }"""
    found, screma, inner = tiles.found, tiles.found.screma, let.inner()
    local = tuple(let.names.fresh("k") for _ in found.tiled)
    clamped, points = _points(inner, tiles, local)
    points.update(zip((p.name for p in own.values), _elements(inner, own.arrays, local), strict=True))
    inner.stms += substitute_body(Body(own.views, ()), points).stms
    arrays: list[Name] = []
    for array, tile, param in zip(screma.arrays, shared, screma.map.params, strict=True):
        row = param.type.array_of(part.length)
        if tile is None:
            dims: tuple[DimIndex, ...] = (Slice(part.start, part.length, i64(1)),)
            arrays.append(inner.name("row", Index(array, dims, True), row))
        else:
            dims = tuple(Slice(i64(0), part.length, i64(1)) if k is None else Fix(clamped[k]) for k in tile.runs)
            arrays.append(inner.name("row", Index(tile.array, dims, True), row) if len(dims) > 1 else tile.array)
    exp = replace(screma, width=part.length, arrays=tuple(arrays), map=substitute_lambda(screma.map, points))
    partial = tuple(Param(let.names.fresh("partial"), p.type) for p in found.redomap.pat)
    inner.stms.append(Stm(partial, exp, found.redomap.certs, (), let.loc))
    results = combined(inner, screma, _elements(inner, accs, local), tuple(Var(p.name) for p in partial))
    return _segmap(let, tiles, local, inner.body(results), tuple(p.type for p in partial), "accs")


def combined(let: Let, screma: Screma, left: tuple[Atom, ...], right: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """left ⊕ right, operator by operator."""
    results: list[Atom] = []
    for red in screma.reds:
        here = slice(len(results), len(results) + len(red.neutral))
        values = (*left[here], *right[here])
        body = substitute_body(red.op.body, {p.name: v for p, v in zip(red.op.params, values, strict=True)})
        body = rename_body(body, let.names)
        let.stms += body.stms
        results += body.result
    return tuple(results)


def _finished(let: Let, tiles: Tiles, accs: tuple[Param, ...], exp: SegMap) -> tuple[Var, ...]:
    """segmap^thread (k < t) { what follows the redomap }"""
    found, inner = tiles.found, let.inner()
    local = tuple(let.names.fresh("k") for _ in found.tiled)
    _, points = _points(inner, tiles, local)
    for param, value in zip(found.redomap.pat, _elements(inner, accs, local), strict=True):
        points[param.name] = value
    result = exp.body.result
    wanted = {n for s in found.after for n in free_in_stm(s)} | {a.name for a in result if isinstance(a, Var)}
    rest = substitute_body(Body((*needed(found.before, wanted), *found.after), result), points)
    inner.stms += rest.stms
    outs = _segmap(let, tiles, local, inner.body(rest.result), exp.ret, "out")
    return tuple(Var(p.name) for p in outs)


def _points(let: Let, tiles: Tiles, local: tuple[Name, ...]) -> tuple[list[Atom], dict[Name, Atom]]:
    """Each thread's place in the tile, no further than its last row, and the indices that it stands for."""
    clamped = [
        let.op(Op.MIN, Var(k), let.op(Op.SUB, count, i64(1))) for k, count in zip(local, tiles.counts, strict=True)
    ]
    dims = zip(tiles.found.tiled, tiles.bases, clamped, strict=True)
    return clamped, {name: let.op(Op.ADD, base, k) for (name, _), base, k in dims}


def _elements(let: Let, arrays: tuple[Param, ...], local: tuple[Name, ...]) -> tuple[Var, ...]:
    at = tuple(Fix(Var(k)) for k in local)
    return tuple(let.let("acc", Index(a.name, at, True), scalar(a.type.prim)) for a in arrays)


def _segmap(
    let: Let, tiles: Tiles, local: tuple[Name, ...], body: Body, ret: tuple[Type, ...], base: str
) -> tuple[Param, ...]:
    edges = tuple(tiles.edge for _ in local)
    pat = tuple(Param(let.names.fresh(base), r.array_of(*edges)) for r in ret)
    space = SegSpace(tuple(zip(local, edges, strict=True)))
    let.stms.append(Stm(pat, SegMap(Level.THREAD, space, body, ret), (), (), let.loc))
    return pat
