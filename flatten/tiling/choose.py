"""Tiling: the sequential redomaps of neighbouring threads read the same rows; a block reads each row once.

    segmap^thread (.., j < n) { redomap p f ⊕ ys }                    ys the same for all j        [T1]
    ⟶  segmap^block (.., b < ⌈n/t⌉) {
          loop accs = replicate t ne for s < ⌈p/t⌉ do
            ys' = copy ys[s·t :+ t]                                   shared by the block
            segmap^thread (k < t) { accs[k] ⊕ redomap t f ⊕ ys' } }

    segmap^thread (.., i < n, j < m) { redomap p f ⊕ xs ys }          xs of i alone, ys of j alone  [T2]
    ⟶  if R = 8 then #[tiled(8)] segmap^thread .. { .. } else .. #[tiled(1)] segmap^thread .. { .. }

The last tiles are cut short: threads beyond the end repeat the last row, and the results are cut to size. The order of
a reduction stays. t is the threads of a block, so that each has one accumulator, in registers
(`kernels/schedule/own_elements.py`).

In two dimensions each thread computes R x R results, which are registers: that is a kernel's matter
(`kernels/schedule/cuda/tiles.py`), and what is chosen here is R. It is the largest one up to a parameter
(`main.ys.registers_0`) with which there are as many blocks as a machine can run at once, another (`main.ys.blocks_0`);
R = 4 is enough too where shares of long redomaps make blocks of their own (`kernels/schedule/cuda/tile_splits.py`).
Golden 4.6; PPoPP'17 (locality), Futhark's TileLoops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from ...ir.basic import whole
from ...ir.core import (
    Attr,
    Body,
    Convert,
    Copied,
    Fix,
    FunDef,
    If,
    Index,
    Iota,
    Level,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Screma,
    SegMap,
    SegOp,
    SegSpace,
    SizeParam,
    Slice,
    Stm,
)
from ...ir.machine import Machine
from ...ir.ops import Op
from ...ir.rename import rename_body, substitute_body
from ...ir.thresholds import Threshold, next_of
from ...ir.traverse import bound_in_body, free_in_lambda, rewritten
from ...ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64
from .block import Let, Row, Tileable, block_body

LEAST_WIDTH = 8
"""Redomaps of fewer elements, where that is known, are not worth a tile."""

REGISTERS = (8, 4, 2, 1)
"""Results of a thread along either dimension that there is code for, the default first."""

MOST_STATEMENTS = 768
"""Code that is repeated R² times is no longer than this."""

GRID = 16
"""Threads of a block along either of two tiled dimensions."""

LEAST_BLOCKS = 128
"""The default of how many blocks there shall be, about as many as a large GPU runs at once."""

SPLIT, LEAST_SHARE = 4, 512
"""Results of a thread along either dimension where redomaps are cut into shares, and the least elements of these."""


def tile(prog: Prog, machine: Machine) -> Prog:
    """`prog` with the segmaps tiled that gain by it, for machines whose blocks share memory."""
    if machine.tile is None:
        return prog
    names, edge = Names(prog.next_name), machine.tile
    counts: dict[Threshold, int] = {}

    def on_function(fun: FunDef) -> FunDef:
        entry = fun.entry.name if fun.entry is not None else fun.name.base

        def on_stm(stm: Stm) -> Iterable[Stm] | None:
            if (found := tileable(stm)) is not None:
                return _tiled(stm, found, partial(next_of, counts, entry), edge, names)
            return (stm,) if isinstance(stm.exp, SegOp) else None

        return replace(fun, body=rewritten(fun.body, on_stm))

    functions = tuple(map(on_function, prog.functions))
    return Prog(prog.consts, functions, names.next)


# ---- what can be tiled --------------------------------------------------------------------------------------------


def tileable(stm: Stm) -> Tileable | None:
    """A segmap over threads around one redomap with scalar results, some of whose rows neighbours share."""
    exp = stm.exp
    if not isinstance(exp, SegMap) or exp.level is not Level.THREAD or not exp.space.dims or stm.certs:
        return None
    if any(t.shape for t in exp.ret):
        return None
    stms = exp.body.stms
    at = [k for k, inner in enumerate(stms) if isinstance(inner.exp, Screma)]
    if len(at) != 1 or not all(_is_plain(inner) for k, inner in enumerate(stms) if k != at[0]):
        return None
    redomap = stms[at[0]]
    screma = redomap.exp
    assert isinstance(screma, Screma)
    bound = {*bound_in_body(exp.body), *exp.space.indices}
    if not _is_scalar_redomap(redomap, screma) or _uses(screma.width, bound) or _is_short(screma.width):
        return None
    if not all(_is_closed(red, bound) for red in screma.reds):
        return None
    views = {s.pat[0].name: s.exp for s in stms[: at[0]] if isinstance(s.exp, Index) and not s.certs}
    rows = tuple(_row(a, screma.width, views, bound, exp.space) for a in screma.arrays)
    for depth in (2, 1):
        found = _shared(rows, exp.space, depth)
        if found is not None:
            split = len(exp.space.dims) - depth
            dims = exp.space.dims
            return Tileable(stms[: at[0]], redomap, screma, stms[at[0] + 1 :], found, dims[:split], dims[split:])
    return None


def _is_plain(stm: Stm) -> bool:
    return isinstance(stm.exp, PrimOp | Convert | Copied | Index | Iota | Rearrange | Replicate)


def _is_scalar_redomap(stm: Stm, exp: Screma) -> bool:
    """Whether all results are scalars, which those of reductions alone are, and so are the elements."""
    scalars = all(not p.type.shape for p in (*stm.pat, *exp.map.params))
    return scalars and all(_is_plain(inner) for red in exp.reds for inner in red.op.body.stms)


def _is_closed(red: Reduction, bound: set[Name]) -> bool:
    """Whether operator and neutral element are the same for all results of a tile."""
    return not any(_uses(atom, bound) for atom in red.neutral) and bound.isdisjoint(free_in_lambda(red.op))


def _uses(atom: Atom, names: Iterable[Name]) -> bool:
    return isinstance(atom, Var) and atom.name in names


def _is_short(width: Atom) -> bool:
    return isinstance(width, Const) and int(width.value) < LEAST_WIDTH


def _row(array: Name, width: Atom, views: dict[Name, Index], bound: set[Name], space: SegSpace) -> Row | None:
    """A row of an array outside of the kernel, at indices of the space or fixed ones; None for any other."""
    if array not in bound:
        return Row(array, (Slice(i64(0), width, i64(1)),), 0, {})
    view = views.get(array)
    if view is None or view.array in bound or not view.safe:
        return None
    along = [k for k, dim in enumerate(view.dims) if isinstance(dim, Slice)]
    if len(along) != 1:
        return None
    of: dict[int, Name] = {}
    for k, dim in enumerate(view.dims):
        match dim:
            case Fix(Var(name)) if name in space.indices:
                of[k] = name
            case Fix(index) if _uses(index, bound):
                return None
            case Slice(start, count, stride) if any(_uses(a, bound) for a in (start, count, stride)):
                return None
            case Fix() | Slice():
                pass
    return Row(array=view.array, dims=view.dims, along=along[0], of=of)


def _shared(rows: tuple[Row | None, ...], space: SegSpace, depth: int) -> tuple[Row | None, ...] | None:
    """The rows to be shared when the `depth` innermost dimensions are tiled; None if it does not pay."""
    if len(space.dims) < depth:
        return None
    inner = set(space.indices[-depth:])
    used = [inner & set(row.of.values()) if row is not None else inner for row in rows]
    if depth == 1:
        found = tuple(row if row is not None and not u else None for row, u in zip(rows, used, strict=True))
        return found if any(row is not None for row in found) else None
    if any(row is None or u == inner for row, u in zip(rows, used, strict=True)):
        return None
    return rows if set().union(*used) == inner and len([u for u in used if u]) > 1 else None


# ---- the tiled form -----------------------------------------------------------------------------------------------


def _tiled(stm: Stm, found: Tileable, named: Callable[[str, str], str], edge: int, names: Names) -> list[Stm]:
    """The statements that bind `stm.pat` by way of tiles; `named` gives the name of a size parameter for a binding and
    a kind."""
    host = Let(names, stm.loc)
    if len(found.tiled) == 1:
        _in_blocks(host, stm, found, i64(edge))
        return host.stms
    sizes = tuple(each for each in REGISTERS if each == 1 or each * each * _statements(found) <= MOST_STATEMENTS)
    binding = stm.pat[-1].name.base
    each = host.let("each", SizeParam(named(binding, "registers"), REGISTERS[0]), I64)
    least = host.let("least", SizeParam(named(binding, "blocks"), LEAST_BLOCKS), I64)
    _choose(host, stm, stm.pat, found, (each, least), sizes)
    return host.stms


def _statements(found: Tileable) -> int:
    """How much code a result takes."""
    reds = (stm for red in found.screma.reds for stm in red.op.body.stms)
    return len((*found.before, *found.screma.map.body.stms, *reds, *found.after))


def _choose(
    host: Let,
    stm: Stm,
    pat: tuple[Param, ...],
    found: Tileable,
    limits: tuple[Atom, Atom],
    sizes: tuple[int, ...],
) -> None:
    """if R <= most && there are blocks enough then #[tiled(R)] .. else .., for each of the sizes but the last one."""
    size, *rest = sizes
    if not rest:
        host.stms.append(_in_registers(stm, pat, size, host.names))
        return
    (most, least), bodies = limits, list[Body]()
    for part in ((size,), tuple(rest)):
        let, to = host.inner(), tuple(Param(host.names.again(p.name), p.type) for p in pat)
        _choose(let, stm, to, found, limits, part)
        bodies.append(Body(tuple(let.stms), tuple(Var(p.name) for p in to)))
    blocks: Atom = i64(1)
    for width in (*(w for _, w in found.outer), *(host.ceil_div(w, i64(GRID * size)) for _, w in found.tiled)):
        blocks = host.op(Op.MUL, blocks, width)
    if size == SPLIT and not _on_tensor_cores(found):
        shares = host.op(Op.MAX, host.op(Op.QUOT, found.screma.width, i64(LEAST_SHARE)), i64(1))
        blocks = host.op(Op.MUL, blocks, shares)
    fits = host.let("fits", PrimOp(Op.LE, Prim.I64, (i64(size), most)), BOOL)
    enough = host.let("enough", PrimOp(Op.LE, Prim.I64, (least, blocks)), BOOL)
    taken = host.let("taken", PrimOp(Op.AND, Prim.BOOL, (fits, enough)), BOOL)
    host.stms.append(Stm(pat, If(taken, *bodies), (), (), stm.loc))


def _on_tensor_cores(found: Tileable) -> bool:
    """Whether a product may go there, which takes no shares."""
    return bool(found.redomap.attrs) or any(p.type.prim.is_half for p in found.screma.map.params)


def _in_registers(stm: Stm, pat: tuple[Param, ...], each: int, names: Names) -> Stm:
    """T2: the segmap, to be run with `each` x `each` results of a thread."""
    assert isinstance(stm.exp, SegMap)
    body = rename_body(Body((replace(stm, attrs=(*stm.attrs, tiled_attr(each))),), ()), names)
    return replace(body.stms[0], pat=pat)


TILED = "tiled"


def tiled_attr(each: int) -> Attr:
    """#[tiled(each)]"""
    return Attr(TILED, (Attr(str(each), ()),))


def tiled_with(stm: Stm) -> int | None:
    """R of a segmap that is to be run with R x R results of a thread."""
    sizes = {tiled_attr(each): each for each in REGISTERS}
    return next((sizes[attr] for attr in stm.attrs if attr in sizes), None)


def _in_blocks(host: Let, stm: Stm, found: Tileable, edge: Atom) -> None:
    """T1: a result for each thread, `segmap^block (.., b < blocks) { body }`"""
    exp = stm.exp
    assert isinstance(exp, SegMap)
    ((_, width),) = found.tiled
    blocks = host.ceil_div(width, edge)
    steps = host.ceil_div(found.screma.width, edge)
    number = host.names.fresh("block")
    body = block_body(found, edge, steps, number, exp, host.inner())
    outer = tuple((host.names.again(name), width) for name, width in found.outer)
    body = substitute_body(body, {old: Var(new) for (old, _), (new, _) in zip(found.outer, outer, strict=True)})
    space, ret = SegSpace((*outer, (number, blocks))), tuple(r.array_of(edge) for r in exp.ret)
    tiles = [Param(host.names.fresh(p.name.base), r.array_of(*space.widths)) for p, r in zip(stm.pat, ret, strict=True)]
    host.stms.append(Stm(tuple(tiles), SegMap(Level.BLOCK, space, body, ret), (), stm.attrs, stm.loc))
    for param, tile in zip(stm.pat, tiles, strict=True):
        _cut(host, param, tile, (*(w for _, w in found.outer), host.op(Op.MUL, blocks, edge)))


def _cut(host: Let, param: Param, tiles: Param, padded: tuple[Atom, ...]) -> None:
    """[..][⌈n/t⌉][t] as [..][n]: the dimensions as `padded`, then cut."""
    array = host.name("padded", Reshape(padded, tiles.name), Type(param.type.prim, padded))
    host.stms.append(Stm((param,), Index(array, whole(param.type.shape), True), (), (), host.loc))
