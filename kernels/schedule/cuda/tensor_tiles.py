"""Products on tensor cores: register tiles (`tiles.py`) whose results are fragments of warps.

    segmap^thread (.., i < n, j < m) { sum (map2 (\\x y -> x * y) xs_i ys_j) }                                 [T2]
    ⟶  block (.., b, c) of 8 warps, 2 x 4 of them, each with R/2 x R/2 sums of 16 x 8 results {
          threads { sums = 0 }                                                   fragments (`kir.Distribute`)
          for s < ⌈p/K⌉ {
            wait for the copies of stage s; fence; begin to copy those of s + D - 1
            threads { left = [R/2] of xs, right = [R/2] of ys }                  fragments of the tiles: `ldmatrix`
            warps { sums[a, c] += left[a] · right[c] }                           `mma.sync`
          }
          threads { out[i, j] = what follows of sums }
        }

Taken for sums of f32 over products of f16 or bf16, which are exact in f32; where `#[tensor]` stands before the sum, for
sums of f32, as tf32, and of f16 and bf16, which are then rounded once, at the end. A step adds up to 16 products in an
order of the hardware's own. `tensor_steps.py` has the copies and the fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ....flatten.tiling.block import Row, Tileable
from ....ir import core
from ....ir.attributes import has_attr
from ....ir.core import Convert, Level, PrimOp, Screma
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Const, Name, Prim, Var, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.fragments import COLUMNS, INSTRUCTIONS, LANES, ROWS, Role
from ...kernel_ir.nodes import KArray
from ..host_builder import HostBuilder, Made
from ..kernel_builder import ZERO, Operand
from ..table import Segop, in_memory
from .tensor_steps import WARPS, Side, copied_steps, fragments, led, loaded_steps, sides_of, take
from .tile_block import THREADS, Result, TileBlock, tile_block
from .tiles import finish, tiling

TENSOR = "tensor"
"""The attribute by which sums that are rounded more than the program says are computed so."""


@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products as tensor cores take it: `inputs` are the numbers of those of the first tiled dimension and the
    second."""

    found: Tileable
    each: int
    inputs: tuple[int, int]
    prim: Prim


def on_tensor_cores(s: Segop[core.SegMap]) -> Product | str:
    """The product that a segmap is; else why it is none that tensor cores take."""
    shape = tiling(s.stm, s.exp)
    if shape is None:
        return "without the attribute `tiled`, or without room"
    found, each = shape
    factors = _factors(found.screma)
    if factors is None:
        return "no sum of products of two rows"
    names = [name for name, _ in found.tiled]
    places = [_tiled_name(row, names) for row in found.rows]
    if sorted(places, key=str) != sorted(names, key=str):
        return "both rows of a product belong to one dimension"
    prim, total = factors
    if prim not in INSTRUCTIONS:
        return f"no products of {prim.value}"
    if (prim is Prim.F32 or total is not Prim.F32) and not has_attr(found.redomap.attrs, TENSOR):
        return f"the sum of {total.value} would be rounded in another way: only by the attribute `{TENSOR}`"
    if each < 2:
        return "one result for each thread"
    first = places.index(names[0])
    return Product(found, each, (first, 1 - first), prim)


def _tiled_name(row: Row | None, names: list[Name]) -> Name | None:
    return next((name for name in row.of.values() if name in names), None) if row is not None else None


def _factors(screma: Screma) -> tuple[Prim, Prim] | None:
    """The types of factors and sum of a sum of products of two elements, which may be converted first."""
    f, params = screma.map, {p.name for p in screma.map.params}
    if len(screma.reds) != 1 or len(params) != 2 or len({p.type.prim for p in f.params}) != 1:
        return None
    (red,) = screma.reds
    neutral, operator = red.neutral[0], red.op.body.stms
    if len(red.neutral) != 1 or not isinstance(neutral, Const) or neutral.value != 0 or len(operator) != 1:
        return None
    prim, total, names = f.params[0].type.prim, red.op.params[0].type.prim, {name: name for name in params}
    if not _is_op(operator[0].exp, Op.ADD, {p.name for p in red.op.params}, total):
        return None
    for stm in f.body.stms[:-1]:
        match stm.exp:
            case Convert(source, target, Var(name)) if (source, target) == (prim, total) and name in params:
                names[stm.pat[0].name] = name
            case _:
                return None
    *_, product = f.body.stms or (None,)
    if product is None or f.body.result != (Var(product.pat[0].name),):
        return None
    renamed = _renamed(product.exp, names)
    return (prim, total) if renamed is not None and _is_op(renamed, Op.MUL, params, total) else None


def _renamed(exp: core.Exp, names: dict[Name, Name]) -> PrimOp | None:
    if not isinstance(exp, PrimOp):
        return None
    args: tuple[Atom, ...] = tuple(Var(names.get(a.name, a.name)) if isinstance(a, Var) else a for a in exp.args)
    return replace(exp, args=args)


def _is_op(exp: core.Exp, op: Op, names: set[Name], prim: Prim) -> bool:
    """Is it the operation on just these two variables?"""
    match exp:
        case PrimOp(found, at, (Var(x), Var(y))):
            return (found, at) == (op, prim) and {x, y} == names
        case _:
            return False


# ---- the kernel ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class WarpBlock(TileBlock):
    """A block whose threads have the results of fragments: rows 8 apart, pairs of columns 8 apart."""

    @contextmanager
    def threads(self) -> Iterator[tuple[Operand, ...]]:
        """threads { .. }, with the first row of the thread's and the first column."""
        b, thread = self.b, self.b.fresh("thread", Prim.I64)
        with b.threads(thread, ZERO, i64(THREADS)):
            lane, corner = self.corner(thread)
            yield tuple(b.add(x, y) for x, y in zip(corner, led(b, lane, SUM), strict=True))

    def corner(self, thread: Operand) -> tuple[Operand, tuple[Operand, Operand]]:
        """The lane of a thread, and where the results of its warp begin."""
        b, each = self.b, self.shape.each
        lane, warp = b.exact(Op.REM, thread, i64(LANES), "lane"), b.exact(Op.QUOT, thread, i64(LANES), "warp")
        y, x = b.exact(Op.QUOT, warp, i64(WARPS[1]), "wy"), b.exact(Op.REM, warp, i64(WARPS[1]), "wx")
        return lane, (b.mul(y, i64(ROWS * each // 2)), b.mul(x, i64(COLUMNS * each // 2)))

    def over_results(
        self,
        at: tuple[Operand, ...],
        body: Callable[[tuple[Result | None, ...]], None],
        dims: frozenset[int] | None = None,
        chosen: tuple[Result | None, ...] = (),
    ) -> None:
        """The thread's rows: what follows goes over the columns of each in runs."""
        assert dims == frozenset((0,)), "rows alone"
        b, a = self.b, self.b.fresh("a", Prim.I64)
        with b.loop(a, i64(self.shape.each), self.shape.each):
            body((Result(a, b.add(at[0], b.mul(a, i64(8)), "row")), None))

    def over_runs(self, place: Operand, body: Callable[[Result], None]) -> None:
        """The first column of each pair."""
        b, runs, c = self.b, self.shape.each // 2, self.b.fresh("c", Prim.I64)
        with b.loop(c, i64(runs), runs):
            body(Result(b.mul(c, i64(2)), b.add(place, b.mul(c, i64(COLUMNS)), "column")))

    def number(self, results: tuple[Result | None, ...]) -> Operand:
        """Where a result is among the registers of the thread: fragment after fragment."""
        b, (row, column) = self.b, results
        assert row is not None
        assert column is not None
        halves = [
            (b.exact(Op.QUOT, x.number, i64(2), "f"), b.exact(Op.REM, x.number, i64(2), "r")) for x in (row, column)
        ]
        (a, high), (c, low) = halves
        fragment = b.add(b.mul(a, i64(self.shape.each // 2)), c)
        return b.add(b.mul(b.add(b.mul(fragment, i64(2)), high), i64(2)), low, "c")


SUM = INSTRUCTIONS[Prim.F32].layouts[Role.SUM]
"""That of all instructions."""


def run_on_tensor_cores(s: Segop[core.SegMap], product: Product) -> None:
    """A kernel whose warps multiply fragments, and its launch."""
    in_memory(s)
    plain, blocks = tile_block(s.h, product.found, s.exp, product.each)
    shape = replace(plain.shape, run=2)
    block = WarpBlock(
        plain.b, plain.found, shape, plain.outer, plain.bases, plain.widths, plain.share, plain.start, plain.width
    )
    made = _kernel(s.h, block, s, product)
    s.h.launch(made, blocks, s.h.product(s.exp.space.widths), made.cost, s.stm.loc)


def _kernel(h: HostBuilder, block: WarpBlock, s: Segop[core.SegMap], product: Product) -> Made:
    b, shape, instruction = block.b, block.shape, INSTRUCTIONS[product.prim]
    b.say(f"{WARPS[0]} x {WARPS[1]} warps, {shape.each // 2} x {shape.each // 2} sums of {ROWS} x {COLUMNS} each")
    b.note(product.found.redomap.loc)
    rows = [product.found.rows[number] for number in product.inputs]
    sides = sides_of(block, [row for row in rows if row is not None], product.prim)
    sums = fragments(block, "sums", Prim.F32, shape.results, Role.SUM)
    with _each_register(block) as c:
        b.emit(kir.Store(sums, c, Const(Prim.F32, 0.0)))

    def multiply(stage: Operand) -> None:
        for first in range(0, sides[0].depth, instruction.depth):
            _multiply(block, sides, sums, stage, first)

    done = copied_steps(block, sides, multiply)
    loaded_steps(block, sides, done, multiply)
    finish(block, s.stm, s.exp, [_rounded(block, sums, product)])
    return h.finish(b, s.stm.pat[0].name.base if s.stm.pat else s.base)


@contextmanager
def _each_register(block: TileBlock) -> Iterator[Operand]:
    """threads { for c < R*R { .. } }"""
    b, thread, c, count = block.b, block.b.fresh("thread", Prim.I64), block.b.fresh("c", Prim.I64), block.shape.results
    with b.threads(thread, ZERO, i64(THREADS)), b.loop(c, i64(count), count):
        yield c


def _rounded(block: TileBlock, sums: KArray, product: Product) -> KArray:
    """The sums as what follows takes them."""
    (param,) = product.found.redomap.pat
    if param.type.prim is Prim.F32:
        return sums
    b, rounded = block.b, block.registers("rounded", param.type.prim, block.shape.results)
    with _each_register(block) as c:
        x = b.let("x", Prim.F32, kir.KLoad(sums, c))
        b.emit(kir.Store(rounded, c, b.let("y", rounded.prim, kir.KConvert(Prim.F32, rounded.prim, x))))
    return rounded


def _multiply(block: WarpBlock, sides: tuple[Side, ...], sums: KArray, stage: Operand, first: int) -> None:
    """threads { the fragments of a few k from `first` on }; warps { the products of all fragments }"""
    b, thread = block.b, block.b.fresh("thread", Prim.I64)
    with b.threads(thread, ZERO, i64(THREADS)):
        lane, corner = block.corner(thread)
        for side in sides:
            take(block, side, lane, corner[side.place], stage, first)
    left, right = sides
    count = block.shape.each // 2
    products = tuple(
        kir.Mma(
            sums, i64((a * count + c) * SUM.count),
            left.fragments, i64(a * left.layout.count), right.fragments, i64(c * right.layout.count),
        )
        for a in range(count)
        for c in range(count)
    )  # fmt: skip
    b.emit(kir.Threads(b.fresh("warp", Prim.I64), ZERO, i64(THREADS // LANES), products, unit=Level.WARP))
