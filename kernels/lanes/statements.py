"""Statements in lanes: one case each, and the linear forms of index arithmetic."""

from __future__ import annotations

from ...ir.errors import IRError
from ...ir.ops import DIVISIONS, Op, can_fail, result_type
from ...ir.types import Prim
from ..analysis import uniformity
from ..analysis.uniformity import Across, Affine, of_operation
from ..kernel_ir.kept_stores import kept_stores
from ..kernel_ir.nodes import (
    GROUP,
    Alloc,
    Assign,
    AsyncCopy,
    Atomic,
    BlockReduce,
    BlockScan,
    BoundsCheck,
    Check,
    CommitCopies,
    Declare,
    Distribute,
    Fence,
    For,
    KAligned,
    KConvert,
    KIf,
    KLet,
    KLoad,
    KOp,
    KStm,
    KWhile,
    LoadMatrix,
    LoadRow,
    LoadTile,
    LookBack,
    Mma,
    Note,
    PeeledThreads,
    Publish,
    Rhs,
    RowScan,
    Shuffle,
    Store,
    StoreRow,
    StoreSome,
    StoreTile,
    TeamReduce,
    Threads,
    WaitCopies,
    WaitFor,
    WarpTurns,
)  # fmt: skip
from ..llvm.convert import convert, int_to_int
from ..llvm.math_power import power_of, uniform_power
from ..llvm.ops import apply
from .allocation import alloc, arena_mark, arena_release
from .checks import bounds_check, check
from .collectives import block_reduce, block_scan
from .control import (
    assign,
    before_line,
    conditional,
    declare,
    only_copies,
    peeled_loop,
    thread_loop,
    while_loop,
)
from .flags import publish, wait_for
from .flipped_bits import flipped
from .for_loops import for_loop
from .index_comparisons import compared
from .interleaved import load_row, store_row
from .kept_stores import MOST_LANES, store_kept
from .linear_conversion import as_floats
from .linear_division import by_few, divided
from .memory import atomic, load, load_beside, store
from .partial_rows import store_some
from .prefetch import rows_of_a_loop
from .repeated_ends import may_repeat, walks
from .row_scans import row_scan
from .runs import joined
from .tiles import move_tile
from .uniform_division import by_uniform
from .values import (
    Lanes,
    LaneValue,
    Linear,
    Uniform,
    Varying,
    chosen,
    operand,
    pointwise,
    scalar,
    vectors,
)  # fmt: skip
from .windows import moved


def statements(e: Lanes, stms: tuple[KStm, ...]) -> None:
    """A list of statements; what it allocated is freed at its end."""
    mark = arena_mark(e) if any(isinstance(s, Alloc) for s in stms) else None
    near = e.beside.get(id(stms), {})
    for stm in stms:
        match stm:
            case KLet(var, KLoad(array, index)) if var.name in near:
                e.env[var.name] = load_beside(e, array, index, near[var.name])
            case _:
                statement(e, stm)
    if mark is not None:
        arena_release(e, mark)


def unfreed(e: Lanes, stms: tuple[KStm, ...]) -> None:
    """A list whose allocations outlive it."""
    for stm in stms:
        statement(e, stm)


def statement(e: Lanes, stm: KStm) -> None:
    """One statement. Raises IRError for what only machines with threads have."""
    match stm:
        case KLet(var, KOp(_, _, (x, y))) if var.name in e.quotients:
            quotient = by_uniform(e, operand(e, x), operand(e, y))
            e.env[var.name] = value_of(e, stm.rhs) if quotient is None else quotient
        case KLet(var, rhs):
            if isinstance(rhs, KOp) and rhs.op is Op.ADD and rhs.args[1] == GROUP:
                e.begins[var] = rhs.args[0]
            e.env[var.name] = value_of(e, rhs)
        case Declare():
            declare(e, stm)
        case Assign():
            assign(e, stm)
        case Store():
            store(e, stm)
        case Alloc():
            alloc(e, stm)
        case Check():
            check(e, stm)
        case BoundsCheck():
            bounds_check(e, stm)
        case KIf():
            conditional(e, stm, statements)
        case For():
            for_loop(e, stm, statements)
        case KWhile():
            while_loop(e, stm, statements)
        case Threads(index, lo, hi, body):
            begins, copies, again = before_line(e, stm), only_copies(stm), may_repeat(e, stm)
            e.ahead = rows_of_a_loop(e.kernel, stm)
            thread_loop(
                e, index, lo, hi, lambda: statements(e, body), lambda: None, begins, copies, walks(e, stm), again
            )
            e.ahead = {}
        case PeeledThreads(body=body, middle=middle):
            e.ahead = rows_of_a_loop(e.kernel, stm)
            begins, again = before_line(e, stm), may_repeat(e, stm)
            peeled_loop(e, stm, lambda: statements(e, body), lambda: statements(e, middle), begins, again)
            e.ahead = {}
        case BlockReduce():
            block_reduce(e, stm, statements)
        case BlockScan() if e.width <= MOST_LANES and (kept := kept_stores(stm)) is not None:
            store_kept(e, stm, kept, statements, unfreed)
        case BlockScan():
            block_scan(e, stm, statements, unfreed)
        case RowScan():
            row_scan(e, stm, statements)
        case Atomic():
            atomic(e, stm)
        case LoadTile() | StoreTile():
            move_tile(e, stm)
        case StoreSome():
            store_some(e, stm)
        case Fence() | Note():
            pass
        case Publish():
            publish(e, stm)
        case WaitFor():
            wait_for(e, stm)
        case LoadRow():
            load_row(e, stm)
        case StoreRow():
            store_row(e, stm)
        case LookBack() | TeamReduce() | WarpTurns():
            raise IRError(f"{type(stm).__name__} is for machines with threads")
        case AsyncCopy() | CommitCopies() | WaitCopies() | Distribute() | Shuffle() | LoadMatrix() | Mma():
            raise IRError(f"{type(stm).__name__} is for machines with threads")


def value_of(e: Lanes, rhs: Rhs) -> LaneValue:
    """The value of a right-hand side. Raises IRError for what only machines with threads have."""
    match rhs:
        case KOp(op, Prim.U64, (x, y)) if op in DIVISIONS and not e.alone and (q := by_few(e, op, x, y)) is not None:
            return q
        case KOp(op, prim, args):
            return operation(e, op, prim, tuple(operand(e, a) for a in args))
        case KConvert(source, target, arg):
            return conversion(e, source, target, operand(e, arg))
        case KLoad(array, index):
            return load(e, array, index)
        case KAligned():
            raise IRError("rows of elements are for machines with threads")


def operation(e: Lanes, op: Op, prim: Prim, args: tuple[LaneValue, ...]) -> LaneValue:
    """A scalar operation: linear where it can be, else on scalars or on each group of lanes. Divisors in lanes that are
    off are made 1, so that they cannot trap."""
    if prim.is_int and any(isinstance(a, Linear) for a in args):
        linear = linear_form(e, op, prim, args)
        if linear is not None:
            return linear
    match args:
        case (Linear() as x, Uniform() as y) if (quotient := divided(e, op, x, y)) is not None:
            return quotient
        case _:
            pass
    if (found := compared(e, op, prim, args)) is not None:
        return found
    if op is Op.SELECT and isinstance(args[0], Uniform):
        return _select_uniform(e, prim, *args)
    if op is Op.POW and prim in (Prim.F32, Prim.F64) and isinstance(exponent := args[1], Uniform):
        return pointwise(e, prim, args[:1], lambda v, texts: uniform_power(v, prim, texts[0], exponent.text))
    if op is Op.POW and prim in (Prim.F32, Prim.F64) and isinstance(base := args[0], Uniform):
        return pointwise(e, prim, args[1:], lambda v, texts: power_of(v, prim, base.text, texts[0]))
    if can_fail(op, prim) and op is not Op.POW and isinstance(args[1], Varying):
        args = args[0], _safe_divisor(e, args[1])
    made = pointwise(e, result_type(op, prim), args, lambda v, texts: apply(v, op, prim, texts))
    moved(e, op, args, made)
    joined(e, op, args, made)
    flipped(e, op, args, made)
    return made


def _select_uniform(e: Lanes, prim: Prim, cond: LaneValue, x: LaneValue, y: LaneValue) -> LaneValue:
    if isinstance(x, Uniform) and isinstance(y, Uniform):
        return Uniform(prim, e.one.select(prim, scalar(e, cond), x.text, y.text))
    t = e.type(prim)
    pairs = zip(vectors(e, x), vectors(e, y), strict=True)
    return Varying(prim, tuple(e.code.op(f"select i1 {scalar(e, cond)}, {t} {a}, {t} {b}") for a, b in pairs))


def _safe_divisor(e: Lanes, divisor: Varying) -> Varying:
    """1 in the lanes that are off: they must not trap."""
    if e.mask is None:
        return divisor
    ones = (e.vec.const(divisor.prim, 1),) * e.unroll
    return Varying(divisor.prim, chosen(e, e.mask, divisor.prim, divisor.texts, ones))


# ---- linear forms ------------------------------------------------------------------------------------------------


STRIDE_LIMIT = 1 << 32
"""Bounds are checked at the first and the last lane, which must not be an address space apart."""


def linear_form(e: Lanes, op: Op, prim: Prim, args: tuple[LaneValue, ...]) -> LaneValue | None:
    """What is affine by the rules of `analysis/uniformity.py`, if its stride is known."""
    match of_operation(op, prim, [across_of(x) for x in args]):
        case Affine(int(stride)) if abs(stride) < STRIDE_LIMIT:
            base = _base(e, op, prim, [scalar(e, x) for x in args])
            return Linear(prim, base, stride, _counts(e, op, args, base)) if stride else Uniform(prim, base)
        case _:
            return None


def _counts(e: Lanes, op: Op, args: tuple[LaneValue, ...], base: str) -> bool:
    """Whether this is the index of a peeled loop and a small number, which does not wrap; it is noted."""
    match args:
        case (Linear(Prim.I64, start, 1), Uniform(_, text)) | (Uniform(_, text), Linear(Prim.I64, start, 1)):
            if e.counted is None or start not in e.counted.shifts or not _is_literal(text):
                return False
        case _:
            return False
    if op is Op.ADD or (op is Op.SUB and isinstance(args[0], Linear)):
        shift = e.counted.shifts[start] + (int(text) if op is Op.ADD else -int(text))
        if abs(shift) < STRIDE_LIMIT:
            e.counted.shifts[base] = shift
            return True
    return False


def _base(e: Lanes, op: Op, prim: Prim, bases: list[str]) -> str:
    match op:
        case Op.NEG:
            return e.one.ins("sub", prim, "0", *bases)
        case Op.MUL:
            return e.one.ins("mul", prim, *sorted(bases, key=_is_literal))
        case Op.SELECT:
            return apply(e.one, op, prim, tuple(bases))
        case _:
            return e.one.ins(op.value, prim, *bases)


def across_of(value: LaneValue) -> Across:
    """How a value varies across the lanes; a product with a large literal has no known stride."""
    match value:
        case Linear(_, _, stride, _):
            return Affine(stride)
        case Uniform(prim, text):
            return uniformity.Uniform(int(text) if prim.is_int and _is_literal(text) else None)
        case Varying():
            return uniformity.VARYING


def _is_literal(text: str) -> bool:
    return not text.startswith("%") and abs(int(text)) < 1 << 24


def conversion(e: Lanes, source: Prim, target: Prim, x: LaneValue) -> LaneValue:
    """A conversion by the rules of `ir/scalar.py`; of a linear value to an integer type it stays linear, if that type
    is no wider or the value does not wrap."""
    if source is target:
        return x
    match x:
        case Linear(_, base, stride, exact) if target.is_int and (target.bits <= source.bits or exact):
            exact = exact and target.bits >= source.bits
            return Linear(target, int_to_int(e.one, source, target, base), stride, exact)
        case Linear() if (floats := as_floats(e, x, target)) is not None:
            return floats
        case _:
            return pointwise(e, target, (x,), lambda v, texts: convert(v, source, target, *texts))
