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


def block_body(found: Tileable, edge: Atom, steps: Atom, number: Name, exp: SegMap, let: Let) -> Body:
    """The body of block `number`: accumulators over all tiles, then what follows the redomap."""
    tiles = tiles_of(found, edge, number, let)
    accs = _accumulated(let, tiles, steps)
    result = tuple(Var(a.name) for a in accs)
    if exp.body.result != tuple(Var(p.name) for p in found.redomap.pat):
        result = _finished(let, tiles, accs, exp)
    return rename_body(let.body(result), let.names)


@dataclass(frozen=True, slots=True)
class Tiles:
    """A block's share of the tiled dimension: its first index, and how many there are (at most `edge`)."""

    found: Tileable
    edge: Atom
    base: Atom
    count: Atom


def tiles_of(found: Tileable, edge: Atom, number: Name, let: Let) -> Tiles:
    """The share of block `number`."""
    ((_, width),) = found.tiled
    base = let.op(Op.MUL, Var(number), edge)
    return Tiles(found, edge, base, let.op(Op.MIN, edge, let.op(Op.SUB, width, base)))


@dataclass(frozen=True, slots=True)
class Part:
    """The part of the rows at hand: elements `start` to `start + length`."""

    start: Atom
    length: Atom


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
    k = let.names.fresh("k")
    points = _points(inner, tiles, k)
    inner.stms += substitute_body(Body(before, ()), points).stms
    body = inner.body(tuple(Var(p.name) for p in values))
    return Own(views, values, _segmap(let, tiles, k, body, tuple(p.type for p in values), "own"))


def _accumulated(let: Let, tiles: Tiles, steps: Atom) -> tuple[Param, ...]:
    """loop accs = replicate ne for s < steps: the next tile of every row, then every thread's part of it."""
    own = _computed_before(let, tiles)
    screma, pat = tiles.found.screma, tiles.found.redomap.pat
    neutral = [a for red in screma.reds for a in red.neutral]
    types = [p.type.array_of(tiles.edge) for p in pat]
    inits = tuple(let.let("accs", Replicate((tiles.edge,), ne), t) for ne, t in zip(neutral, types, strict=True))
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


def shared_rows(let: Let, tiles: Tiles, part: Part) -> list[Name | None]:
    """The tile of every row that is shared."""
    prims = [p.type.prim for p in tiles.found.screma.map.params]
    rows = zip(tiles.found.rows, prims, strict=True)
    return [_copied(let, row, prim, part) if row is not None else None for row, prim in rows]


def _copied(let: Let, row: Row, prim: Prim, part: Part) -> Name:
    """`copy array[.., start :+ length, ..]`"""
    dims, stride = list(row.dims), row.slice.stride
    offset = let.op(Op.ADD, row.slice.start, let.op(Op.MUL, part.start, stride))
    dims[row.along] = Slice(offset, part.length, stride)
    type_ = Type(prim, (part.length,))
    return let.name("shared", Copy(let.name("view", Index(row.array, tuple(dims), True), type_)), type_)


def _threads(
    let: Let, tiles: Tiles, shared: list[Name | None], part: Part, own: Own, accs: tuple[Param, ...]
) -> tuple[Param, ...]:
    """segmap^thread (k < t) { accs[k] ⊕ redomap over the part }"""
    found, screma, inner = tiles.found, tiles.found.screma, let.inner()
    k = let.names.fresh("k")
    points = _points(inner, tiles, k)
    points.update(zip((p.name for p in own.values), _elements(inner, own.arrays, k), strict=True))
    inner.stms += substitute_body(Body(own.views, ()), points).stms
    arrays: list[Name] = []
    dims = (Slice(part.start, part.length, i64(1)),)
    for array, tile, param in zip(screma.arrays, shared, screma.map.params, strict=True):
        if tile is None:
            tile = inner.name("row", Index(array, dims, True), param.type.array_of(part.length))
        arrays.append(tile)
    exp = replace(screma, width=part.length, arrays=tuple(arrays), map=substitute_lambda(screma.map, points))
    partial = tuple(Param(let.names.fresh("partial"), p.type) for p in found.redomap.pat)
    inner.stms.append(Stm(partial, exp, found.redomap.certs, (), let.loc))
    results = combined(inner, screma, _elements(inner, accs, k), tuple(Var(p.name) for p in partial))
    return _segmap(let, tiles, k, inner.body(results), tuple(p.type for p in partial), "accs")


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
    k = let.names.fresh("k")
    points = _points(inner, tiles, k)
    for param, value in zip(found.redomap.pat, _elements(inner, accs, k), strict=True):
        points[param.name] = value
    result = exp.body.result
    wanted = {n for s in found.after for n in free_in_stm(s)} | {a.name for a in result if isinstance(a, Var)}
    rest = substitute_body(Body((*needed(found.before, wanted), *found.after), result), points)
    inner.stms += rest.stms
    outs = _segmap(let, tiles, k, inner.body(rest.result), exp.ret, "out")
    return tuple(Var(p.name) for p in outs)


def _points(let: Let, tiles: Tiles, k: Name) -> dict[Name, Atom]:
    """The index that a thread stands for: by its place in the tile, no further than the last row of that."""
    ((index, _),) = tiles.found.tiled
    clamped = let.op(Op.MIN, Var(k), let.op(Op.SUB, tiles.count, i64(1)))
    return {index: let.op(Op.ADD, tiles.base, clamped)}


def _elements(let: Let, arrays: tuple[Param, ...], k: Name) -> tuple[Var, ...]:
    return tuple(let.let("acc", Index(a.name, (Fix(Var(k)),), True), scalar(a.type.prim)) for a in arrays)


def _segmap(let: Let, tiles: Tiles, k: Name, body: Body, ret: tuple[Type, ...], base: str) -> tuple[Param, ...]:
    pat = tuple(Param(let.names.fresh(base), r.array_of(tiles.edge)) for r in ret)
    let.stms.append(Stm(pat, SegMap(Level.THREAD, SegSpace(((k, tiles.edge),)), body, ret), (), (), let.loc))
    return pat
