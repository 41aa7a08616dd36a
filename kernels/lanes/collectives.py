"""Collectives in lanes: reductions and scans of the block are operations on registers.

A commutative reduction keeps one accumulator in every lane and combines them at the end. Otherwise order is kept:
neighbours are combined first, vectors shrinking as they go. A scan takes log2(width) steps within each vector, and a
carry from one to the next. Lanes that are off count as the neutral element, for which an operator cannot fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...ir.ops import Op
from ...ir.types import Prim
from ..analysis.cost import VECTOR_BITS
from ..analysis.settled import deciding
from ..kernel_ir.counts import counted, without
from ..kernel_ir.fma import contracted_step
from ..kernel_ir.nodes import BlockReduce, BlockScan, KLambda, KLet, KOp, KVar, Operand
from ..kernel_ir.traverse import all_statements
from ..llvm.convert import int_to_int
from ..llvm.text import llvm_type
from .allocation import arena_mark, arena_release
from .control import Run, thread_loop
from .for_loops import any_open, open_lanes
from .prefetch import own_places
from .values import (
    Lanes,
    LaneValue,
    Uniform,
    Varying,
    any_lane,
    chosen,
    complement,
    mask_of,
    operand,
    scalar,
    splat,
    vectors,
)  # fmt: skip

Tuple = tuple[LaneValue, ...]
PRODUCTS = frozenset({Op.MUL, Op.DIV, Op.MOD, Op.QUOT, Op.REM})
WIDE = 64


def bind(e: Lanes, names: tuple[KVar, ...], values: Tuple) -> None:
    """Variables for values."""
    for var, value in zip(names, values, strict=True):
        e.env[var.name] = value


def combine(e: Lanes, op: KLambda, left: Tuple, right: Tuple, run: Run) -> Tuple:
    """The operator on two tuples of values."""
    bind(e, (*op.left, *op.right), (*left, *right))
    run(e, op.body)
    return tuple(operand(e, r) for r in op.results)


def combine_scalars(e: Lanes, op: KLambda, left: Tuple, right: Tuple, run: Run) -> Tuple:
    """The operator on two tuples of uniform values. What varies within the operator is vectors of two equal lanes."""
    with e.shaped(2, 1):
        return tuple(Uniform(x.prim, scalar(e, x)) for x in combine(e, op, left, right, run))


def as_varying(e: Lanes, values: Tuple) -> tuple[Varying, ...]:
    """The values as vectors, one for each group of lanes; uniform and linear ones are written out."""
    return tuple(Varying(x.prim, vectors(e, x)) for x in values)


def operands(e: Lanes, xs: tuple[Operand, ...]) -> Tuple:
    """The values that operands have now, one for each component."""
    return tuple(operand(e, x) for x in xs)


def or_neutral(e: Lanes, values: tuple[Varying, ...], neutral: Tuple) -> tuple[Varying, ...]:
    """The values, with the neutral element in lanes that are off."""
    mask = e.mask
    if mask is None:
        return values
    return tuple(
        Varying(x.prim, chosen(e, mask, x.prim, x.texts, vectors(e, ne))) for x, ne in zip(values, neutral, strict=True)
    )


def shuffle(e: Lanes, prim: Prim, x: str, y: str, lanes: list[int]) -> str:
    """Lanes of x (from 0) and y (from `width`)."""
    return e.code.shuffle(e.type(prim), x, y, lanes)


# ---- reductions --------------------------------------------------------------------------------------------------


def block_reduce(e: Lanes, stm: BlockReduce, run: Run) -> None:
    """Bind the results, which are uniform: in any order with an accumulator in each lane, else with neighbours
    first. Counts whose accumulators would take more than a vector are scalars."""
    truths = {k: x for k, x in counted(stm).items() if e.width * stm.neutral[k].prim.bits > VECTOR_BITS}
    if truths:
        _reduce_counting(e, stm, truths, run)
        return
    outs = _reduce_any_order(e, stm, run, _nothing) if stm.commutative else _reduce_in_order(e, stm, run)
    bind(e, stm.outs, outs)


def _reduce_counting(e: Lanes, stm: BlockReduce, truths: Mapping[int, Operand], run: Run) -> None:
    """Counts are scalars, to which each vector adds how many of its lanes are on and hold."""
    start: Tuple = tuple(operand(e, stm.neutral[k]) for k in truths)
    slots, rest = scalar_slots(e, start), without(stm, truths)

    def count() -> None:
        for slot, like, truth in zip(slots, start, truths.values(), strict=True):
            (total,) = read_scalars(e, (like,), (slot,))
            for mask in mask_of(e, operand(e, truth)):
                total = Uniform(like.prim, e.one.ins("add", like.prim, scalar(e, total), _lanes_on(e, like.prim, mask)))
            write_scalars(e, (slot,), (total,))

    outs = _reduce_any_order(e, rest, run, count)
    found = zip((*rest.outs, *(stm.outs[k] for k in truths)), (*outs, *read_scalars(e, start, slots)), strict=True)
    for var, value in found:
        e.env[var.name] = value


def _lanes_on(e: Lanes, prim: Prim, mask: str) -> str:
    """How many lanes of a mask are on, as a scalar of an integer type."""
    bits = Prim.U64 if e.width > Prim.U32.bits else Prim.U32
    word = e.code.op(f"bitcast <{e.width} x i1> {mask} to i{e.width}")
    if e.width < bits.bits:
        word = e.code.op(f"zext i{e.width} {word} to i{bits.bits}")
    return int_to_int(e.one, bits, prim, e.one.intrinsic("ctpop", bits, word))


def _reduce_any_order(e: Lanes, stm: BlockReduce, run: Run, beside: Callable[[], None]) -> Tuple:
    """`beside` is done with the values of each group, too, and then of all elements."""
    neutral = operands(e, stm.neutral)
    unroll = e.unroll if e.peeled else 1
    step = contracted_step(stm.step or stm.op, stm.body, stm.values)
    slots = [[e.code.slot(e.type(ne.prim)) for _ in range(unroll)] for ne in neutral]
    for ne, column in zip(neutral, slots, strict=True):
        _put(e, column, ne.prim, (splat(e, ne.prim, scalar(e, ne)),) * unroll)

    def accumulators(count: int) -> tuple[Varying, ...]:
        return tuple(_get(e, column[:count], ne.prim) for ne, column in zip(neutral, slots, strict=True))

    def body() -> None:
        run(e, stm.body)
        beside()
        values, old = as_varying(e, operands(e, stm.values)), accumulators(e.unroll)
        updated = as_varying(e, combine(e, step, old, values, run))
        for x, was, column in zip(updated, old, slots, strict=True):
            texts = x.texts if e.mask is None else chosen(e, e.mask, x.prim, x.texts, was.texts)
            _put(e, column, x.prim, texts)

    def join() -> None:
        """All accumulators into the first, ahead of the rest, which has one vector."""
        columns = accumulators(unroll)
        with e.shaped(e.width, 1):
            total: Tuple = tuple(Varying(c.prim, c.texts[:1]) for c in columns)
            for j in range(1, unroll):
                other = tuple(Varying(c.prim, c.texts[j : j + 1]) for c in columns)
                total = as_varying(e, combine(e, stm.op, total, other, run))
            for x, column in zip(as_varying(e, total), slots, strict=True):
                _put(e, column, x.prim, x.texts)

    def is_open() -> str:
        """No lane has what decides."""
        assert flag is not None
        bind(e, (stm.step or stm.op).left, accumulators(e.unroll))
        settled = complement(e, open_lanes(e, flag, run))
        return e.code.op(f"xor i1 {any_lane(e, settled)}, true")

    flag = deciding(stm) if beside is _nothing else None
    e.ahead, open_ = own_places(e.kernel, stm), None if flag is None else is_open
    thread_loop(e, stm.index, stm.lo, stm.hi, body, join if unroll > 1 else _nothing, open_=open_)
    e.ahead = {}
    with e.shaped(e.width, 1):
        return reduce_lanes(e, stm.op, accumulators(1), False, run)


def _nothing() -> None:
    """Nothing to do between the full groups and the rest, or beside a reduction."""


def _reduce_in_order(e: Lanes, stm: BlockReduce, run: Run) -> Tuple:
    neutral = operands(e, stm.neutral)
    slots = scalar_slots(e, neutral)

    def body() -> None:
        run(e, stm.body)
        values = or_neutral(e, as_varying(e, operands(e, stm.values)), neutral)
        with e.shaped(e.width, e.unroll):
            group = reduce_lanes(e, stm.op, values, True, run)
        so_far = read_scalars(e, neutral, slots)
        write_scalars(e, slots, combine_scalars(e, stm.op, so_far, group, run))

    def is_open() -> str:
        """What the elements so far give does not decide."""
        assert flag is not None
        with e.shaped(2, 1):
            bind(e, (stm.step or stm.op).left, read_scalars(e, neutral, slots))
            return any_open(e, flag, run)

    flag = deciding(stm)
    thread_loop(e, stm.index, stm.lo, stm.hi, body, _nothing, open_=None if flag is None else is_open)
    return read_scalars(e, neutral, slots)


def reduce_lanes(e: Lanes, op: KLambda, values: tuple[Varying, ...], ordered: bool, run: Run) -> Tuple:
    """Combine all lanes of all groups. In order: pairs of neighbours; else halves, which move less."""
    if e.unroll > 1:
        values = _pair_vectors(e, op, values, run)
        with e.shaped(e.width, e.unroll // 2):
            return reduce_lanes(e, op, values, ordered, run)
    half = e.width // 2
    if ordered:
        picks = [2 * lane for lane in range(half)], [2 * lane + 1 for lane in range(half)]
    else:
        picks = list(range(half)), list(range(half, e.width))
    if half == 1:
        left, right = (tuple(_lane(e, x, k) for x in values) for k in (0, 1))
        return combine_scalars(e, op, left, right, run)
    left, right = (
        tuple(Varying(x.prim, (shuffle(e, x.prim, x.texts[0], "poison", pick),)) for x in values) for pick in picks
    )
    with e.shaped(half, 1):
        return reduce_lanes(e, op, as_varying(e, combine(e, op, left, right, run)), ordered, run)


def _pair_vectors(e: Lanes, op: KLambda, values: tuple[Varying, ...], run: Run) -> tuple[Varying, ...]:
    """Neighbouring lanes of the groups, taken as one sequence: half as many vectors."""
    sides: list[Tuple] = []
    for first in (0, 1):
        pick = [2 * lane + first for lane in range(e.width)]
        sides.append(
            tuple(
                Varying(
                    x.prim, tuple(shuffle(e, x.prim, x.texts[j], x.texts[j + 1], pick) for j in range(0, e.unroll, 2))
                )
                for x in values
            )
        )
    with e.shaped(e.width, e.unroll // 2):
        return as_varying(e, combine(e, op, sides[0], sides[1], run))


def _lane(e: Lanes, x: Varying, lane: int) -> Uniform:
    return Uniform(x.prim, e.code.op(f"extractelement {e.type(x.prim)} {x.texts[0]}, i64 {lane}"))


# ---- scans -------------------------------------------------------------------------------------------------------


def block_scan(e: Lanes, stm: BlockScan, run: Run, run_keeping: Run, behind: Callable[[], None] = _nothing) -> None:
    """`run_keeping` leaves allocated what a list allocates: `after` may use it; `behind` is done after that."""
    neutral, carry = operands(e, stm.neutral), operands(e, stm.carry)
    slots, wide = scalar_slots(e, carry), not e.masks and _multiplies_wide(stm.op)

    def body() -> None:
        mark = arena_mark(e)
        run_keeping(e, stm.body)
        given = operands(e, stm.values)
        values = or_neutral(e, as_varying(e, given), neutral)
        with e.shaped(e.width, e.unroll):
            if wide and not all(isinstance(x, Uniform) for x in given):
                scanned = _scan_in_turn(e, stm.op, values, slots, run)
            else:
                scanned = _add_carries(e, stm.op, scan_lanes(e, stm.op, values, neutral, run), slots, run)
        for var, value in zip(stm.scanned, scanned, strict=True):
            e.env[var.name] = value
        run(e, stm.after)
        behind()
        arena_release(e, mark)

    e.ahead = own_places(e.kernel, stm)
    thread_loop(e, stm.index, stm.lo, stm.hi, body, _nothing)
    e.ahead = {}
    for var, value in zip(stm.carry_out, read_scalars(e, carry, slots), strict=True):
        e.env[var.name] = value


def scan_lanes(e: Lanes, op: KLambda, values: tuple[Varying, ...], neutral: Tuple, run: Run) -> tuple[Varying, ...]:
    """Inclusive scan within each vector (Hillis and Steele: lanes of distance 1, 2, 4, ..)."""
    distance, others = 1, [_beside(e, x.prim, ne) for x, ne in zip(values, neutral, strict=True)]
    while distance < e.width:
        pick = [e.width if lane < distance else lane - distance for lane in range(e.width)]
        before = tuple(
            Varying(x.prim, tuple(shuffle(e, x.prim, t, other, pick) for t in x.texts))
            for x, other in zip(values, others, strict=True)
        )
        values = as_varying(e, combine(e, op, before, values, run))
        distance *= 2
    return values


def _multiplies_wide(op: KLambda) -> bool:
    """Whether an operator of integers, which gives the same in any order, multiplies or divides 64 bits: an instruction
    of a scalar, ten of a vector without AVX-512, and each step of a scan in lanes has it."""
    rhs = (stm.rhs for stm in all_statements(op.body) if isinstance(stm, KLet))
    products = any(isinstance(x, KOp) and x.prim.bits == WIDE and x.op in PRODUCTS for x in rhs)
    return products and all(x.prim.is_int or x.prim is Prim.BOOL for x in op.left)


def _scan_in_turn(
    e: Lanes, op: KLambda, values: tuple[Varying, ...], slots: tuple[str, ...], run: Run
) -> tuple[Varying, ...]:
    """Each element after all before it, one by one as scalars, and the carry moved on."""
    so_far, groups = read_scalars(e, values, slots), []
    for j in range(e.unroll):
        group = ["poison"] * len(values)
        for lane in range(e.width):
            element = tuple(_lane(e, Varying(x.prim, x.texts[j : j + 1]), lane) for x in values)
            so_far = combine_scalars(e, op, so_far, element, run)
            for k, x in enumerate(so_far):
                one = f"{llvm_type(x.prim)} {scalar(e, x)}"
                group[k] = e.code.op(f"insertelement {e.type(x.prim)} {group[k]}, {one}, i64 {lane}")
        groups.append(group)
    write_scalars(e, slots, so_far)
    return tuple(Varying(x.prim, column) for x, column in zip(values, zip(*groups, strict=True), strict=True))


def _beside(e: Lanes, prim: Prim, neutral: LaneValue) -> str:
    """Neutral elements in all lanes. LLVM is not to see a zero of floats: to move others behind zeros, it takes an
    expansion by a mask, which takes longer than a shuffle."""
    x = splat(e, prim, scalar(e, neutral))
    return e.vec.intrinsic("arithmetic.fence", prim, x) if prim in (Prim.F32, Prim.F64) else x


def _add_carries(
    e: Lanes, op: KLambda, prefixes: tuple[Varying, ...], slots: tuple[str, ...], run: Run
) -> tuple[Varying, ...]:
    """Each vector after all before it, and the carry moved on, by the total of all vectors as a reduction in order
    combines it: so the last carry has the bits of `reduce_lanes`."""
    carry = read_scalars(e, prefixes, slots)
    last: list[Tuple] = [last_lane(e, prefixes, j) for j in range(e.unroll)]
    befores, total = _before_each(e, op, last, run)
    carries = [carry, *(combine_scalars(e, op, carry, before, run) for before in befores)]
    write_scalars(e, slots, combine_scalars(e, op, carry, total, run))
    left = tuple(
        Varying(x.prim, tuple(splat(e, x.prim, scalar(e, c[k])) for c in carries)) for k, x in enumerate(prefixes)
    )
    return as_varying(e, combine(e, op, left, prefixes, run))


def last_lane(e: Lanes, values: tuple[Varying, ...], j: int) -> Tuple:
    """The values in the last lane of group `j`, as uniform ones."""
    return tuple(
        Uniform(x.prim, e.code.op(f"extractelement {e.type(x.prim)} {x.texts[j]}, i64 {e.width - 1}")) for x in values
    )


def _before_each(e: Lanes, op: KLambda, totals: list[Tuple], run: Run) -> tuple[list[Tuple], Tuple]:
    """What stands before each of some totals but the first, and all of them, halves combined first."""
    if len(totals) == 1:
        return [], totals[0]
    half = len(totals) // 2
    (first, left), (second, right) = (_before_each(e, op, part, run) for part in (totals[:half], totals[half:]))
    behind = [combine_scalars(e, op, left, before, run) for before in second]
    return [*first, left, *behind], combine_scalars(e, op, left, right, run)


# ---- stack slots of accumulators ---------------------------------------------------------------------------------


def _put(e: Lanes, slots: list[str], prim: Prim, texts: tuple[str, ...]) -> None:
    for slot, text in zip(slots, texts, strict=False):
        e.code.do(f"store {e.type(prim)} {text}, ptr {slot}")


def _get(e: Lanes, slots: list[str], prim: Prim) -> Varying:
    return Varying(prim, tuple(e.code.op(f"load {e.type(prim)}, ptr {slot}") for slot in slots))


def scalar_slots(e: Lanes, start: Tuple) -> tuple[str, ...]:
    """Stack slots of 8 bytes that hold uniform values, `start` at first."""
    slots = tuple(e.code.slot(llvm_type(x.prim), 8) for x in start)
    write_scalars(e, slots, start)
    return slots


def read_scalars(e: Lanes, like: Tuple | tuple[Varying, ...], slots: tuple[str, ...]) -> Tuple:
    """What the slots hold now, of the types of `like`."""
    return tuple(
        Uniform(x.prim, e.code.op(f"load {llvm_type(x.prim)}, ptr {slot}")) for x, slot in zip(like, slots, strict=True)
    )


def write_scalars(e: Lanes, slots: tuple[str, ...], values: Tuple) -> None:
    """The slots := uniform values, one for each component."""
    for slot, x in zip(slots, values, strict=True):
        e.code.do(f"store {llvm_type(x.prim)} {scalar(e, x)}, ptr {slot}")
