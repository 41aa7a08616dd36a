"""A static estimate of what kernel code costs, to choose which axis of a nest goes on the lanes.

The unit is one vector instruction. Uniform code counts an instruction per operation; a `Threads` loop counts one per
group of lanes. A size that is not constant is taken as `EXTENT`, or as what is asked (`cost_at`), for loops and threads
alike; or as a size, and then the cost is a sum of products of sizes (`cost_by_sizes`). Only the comparison of two forms
of the same code matters. Accesses weigh by how they lie on the lanes: contiguous or uniform 1, a tile of rows
`TILED + LINES`, else a gather. An index that is clamped goes as it does without the clamp, which only the ends of a
loop have (`passes/peel_boundaries.py`). Lanes on the rows of a matrix touch 16 lines of the cache in a step, which the
next steps find again unless the rows are so long that the lines fall on each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.ops import Op, is_short
from ...ir.records import dataclass
from ...ir.types import Const, Name
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KStm, KVar, Operand, Space
from .symbolic_cost import Cost, Role, Sum, size
from .uniformity import Across, Affine, Facts, Uniform, Varying, find_facts, of_operation
from .widest_type import widest_type

LANES, VECTOR_BITS = 16, 512
EXTENT = 256.0
GATHER = 14.0
TILED, LINES = 3.5, 2.5
"""A vector of a tile: the instructions that load and transpose it, and the lines of the cache that it touches."""
TILED_STORE = 9.0
"""How much more it takes where the tile is stored: lines that one row does not fill."""
BLOCK_REDUCE = 4.0
REDUCE_LANES = 8.0
"""Of the lanes of a vector, in steps that wait for each other: times what the operator takes."""
SCATTERED = 4.0
"""A store to memory of the lanes at any place in each, times a gather: the next gather from there waits for it."""
EXTREMUM = 2.0
"""The smaller or larger of two floats, by what holds of NaN and zeros."""

NEAR, FAR = 64.0, 1024.0
"""Lines that lanes on the rows share stay in the cache while rows are no longer than this; none does from that on."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What an access weighs that goes in tiles (`passes/tile_rows.py`), whose lanes lie a stride apart, or anywhere;
    how many trips and threads are not known, and how many lanes a group has."""

    tiled: Cost
    strided: Cost
    gather: float
    loops: Cost
    threads: float
    lanes: int


Tiled = frozenset[str | kir.KArray]
"""What is loaded and stored in tiles: variables and arrays."""


def cost(
    stms: tuple[KStm, ...], gather: float = GATHER, tiled: Tiled = frozenset(), facts: Facts | None = None
) -> float:
    """Cost of a kernel's body, or of a part of one; `gather` is what an access that is not contiguous weighs;
    `facts`: of these statements, where they are known."""
    weights = Weights(min(TILED + LINES, gather), gather, gather, EXTENT, EXTENT, LANES)
    return _number(_stms(stms, _State(facts or find_facts(stms), weights, tiled, {}), False))


def cost_at(stms: tuple[KStm, ...], loops: float, threads: float, tiled: Tiled, facts: Facts, lanes: int) -> float:
    """Cost where loops make `loops` steps, along rows of that length, and `threads` threads are asked for, in groups of
    `lanes`."""
    far = min(max(loops, NEAR), FAR) / NEAR
    weights = Weights(TILED + LINES * far, GATHER * far, GATHER, loops, threads, lanes)
    return _number(_stms(stms, _State(facts, weights, tiled, {}), False))


def cost_by_sizes(stms: tuple[KStm, ...], sizes: Mapping[KVar, Name], width: Name, tiled: Tiled, facts: Facts) -> Sum:
    """Cost by the kernel's scalars that the host knows; `width` stands for the others, and `EXTENT` threads for those
    that are not all threads from 0 to a size."""
    weights = Weights(TILED + LINES, GATHER, GATHER, size(width, Role.STEPS), EXTENT, lanes_of(stms, facts))
    return Sum() + _stms(stms, _State(facts, weights, tiled, sizes), False)


def lanes_of(stms: tuple[KStm, ...], facts: Facts) -> int:
    """The lanes of a group: fewer where a vector holds fewer elements of the kernel's widest type."""
    return min(LANES, VECTOR_BITS // widest_type(stms, facts).bits)


def _number(found: Cost) -> float:
    assert not isinstance(found, Sum), "no size is known by name"
    return found


class _State:
    """How variables lie on the lanes (`inside`: those that vary at the ends of a loop only, elsewhere), the weights,
    what goes in tiles, sizes known by name, what is a part of a size, and what a counter below a size leads to."""

    def __init__(self, facts: Facts, weights: Weights, tiled: Tiled, sizes: Mapping[KVar, Name]) -> None:
        self.facts = facts
        self.weights = weights
        self.tiled = tiled
        self.sizes = sizes
        self.parts: dict[Operand, Cost] = {var: size(name, Role.STEPS) for var, name in sizes.items()}
        self.below: dict[Operand, Name] = {}
        self.inside: dict[Operand, Across] = {}

    def of(self, x: Operand) -> Across:
        found = self.inside.get(x) if self.inside else None
        return found or self.facts.of(x)


def _stms(stms: tuple[KStm, ...], state: _State, lanes: bool) -> Cost:
    total: Cost = 0.0
    for stm in stms:
        total = total + _stm(stm, state, lanes)
    return total


def _loop(bound: Operand, body: tuple[KStm, ...], state: _State, lanes: bool) -> Cost:
    """A loop of a thread goes along a row, which is as long as it takes steps."""
    outside, length = state.weights, state.sizes.get(bound) if isinstance(bound, KVar) else None
    if lanes and length is not None:
        far = size(length, Role.FAR)
        state.weights = replace(outside, tiled=far * LINES + TILED, strided=GATHER * far)
    once = _stms(body, state, lanes)
    state.weights = outside
    return _trips(bound, state) * (1.0 + once)


def _count(index: KVar, bound: Operand, state: _State) -> None:
    """The counter of a loop is half of its steps, in the mean."""
    below = state.sizes.get(bound) if isinstance(bound, KVar) else None
    below = below or state.below.get(bound)
    if below is not None:
        state.below[index], state.parts[index] = below, state.parts[bound] / 2


def _count_on(var: KVar, rhs: kir.Rhs, state: _State) -> None:
    """What is added to a counter, or taken from it or from a size, leaves it one: `n - (i + 1)`."""
    match rhs:
        case kir.KOp(Op.ADD | Op.SUB, _, (x, Const())) | kir.KOp(Op.ADD, _, (Const(), x)) if x in state.below:
            state.below[var], state.parts[var] = state.below[x], state.parts[x]
        case kir.KOp(Op.SUB, _, (x, y)) if y in state.below and x in state.parts:
            state.below[var], state.parts[var] = state.below[y], state.parts[x] / 2
        case _:
            pass


def _trips(bound: Operand, state: _State) -> Cost:
    if isinstance(bound, Const):
        return float(max(0, int(bound.value)))
    return state.parts.get(bound, state.weights.loops)


_SHARES = (Op.QUOT, Op.REM, Op.SELECT, Op.MUL)


def _part(rhs: kir.Rhs, state: _State) -> Cost | None:
    """A share of a size: a quotient by a number, what such a division leaves, either of them if something holds; and
    products of sizes that are known by name."""
    if not isinstance(rhs, kir.KOp) or rhs.op not in _SHARES:
        return None
    match rhs:
        case kir.KOp(Op.QUOT, _, (x, Const(_, number))):
            return state.parts.get(x, state.weights.loops) / max(1.0, float(number))
        case kir.KOp(Op.REM, _, (_, Const(_, number))):
            return float(number) / 2
        case kir.KOp(Op.SELECT, _, (_, x, _)):
            return state.parts.get(x)
        case kir.KOp(Op.MUL, _, (x, y)) if state.sizes:
            left, right = state.parts.get(x), state.parts.get(y)
            return None if left is None or right is None else left * right
        case _:
            return None


def _groups(lo: Operand, hi: Operand, state: _State) -> Cost:
    """Groups of lanes; one that is not full takes as long as one that is."""
    if isinstance(lo, Const) and isinstance(hi, KVar) and hi in state.sizes:
        return size(state.sizes[hi], Role.GROUPS) * (LANES / state.weights.lanes)
    if isinstance(lo, Const) and hi in state.below:
        return 0.5 + size(state.below[hi], Role.GROUPS) * (0.5 * LANES / state.weights.lanes)
    if isinstance(lo, Const) and isinstance(hi, Const):
        return float(max(0, -(-(int(hi.value) - int(lo.value)) // state.weights.lanes)))
    return max(1.0, state.weights.threads / state.weights.lanes)


def _access(array: kir.KArray, index: Operand, state: _State) -> Cost:
    """Lanes on elements side by side cost what a uniform access does; in falling order they are turned round."""
    match state.of(index):
        case Uniform():
            return 1.0
        case Affine(0 | 1) if array.space is not Space.PRIVATE:
            return 1.0
        case Affine(-1) if array.space is not Space.PRIVATE:
            return 2.0
        case Affine() if array.space is not Space.PRIVATE:
            return state.weights.strided
        case _:
            return state.weights.gather


def _store(array: kir.KArray, index: Operand, state: _State) -> Cost:
    """Lanes that do not lie side by side are stored one by one."""
    if array in state.tiled:
        return state.weights.tiled + TILED_STORE
    each, is_single = _access(array, index, state), array.space is Space.PRIVATE
    match state.of(index):
        case Uniform() | Affine(-1 | 0 | 1):
            return each
        case _:
            return SCATTERED * each if is_single else 2.0 * each


def _depth(op: kir.KLambda) -> float:
    """How often combining the lanes in order takes: in steps that wait for each other, which floats make slower."""
    return 5.0 if any(var.prim.is_float for var in op.left) else 3.0


def _rhs(rhs: kir.Rhs, state: _State) -> Cost:
    match rhs:
        case kir.KLoad(array, index):
            return _access(array, index, state)
        case kir.KOp(op, prim):
            return EXTREMUM if prim.is_float and op in (Op.MIN, Op.MAX) else 1.0 if is_short(op) else 8.0
        case kir.KConvert():
            return 0.5
        case kir.KAligned():
            return 1.0


def _without_clamps(var: KVar, rhs: kir.Rhs, state: _State) -> None:
    """Records how an index goes but for the ends of a loop: where the clamps in it do nothing."""
    if not isinstance(rhs, kir.KOp) or not rhs.prim.is_int or not isinstance(state.facts.of(var), Varying):
        return
    match rhs.op, tuple(map(state.of, rhs.args)):
        case Op.MIN | Op.MAX, (Uniform(), Affine() as found) | (Affine() as found, Uniform()):
            state.inside[var] = found
        case op, args if not isinstance(found := of_operation(op, rhs.prim, args), Varying):
            state.inside[var] = found
        case _:
            pass


def _stm(stm: KStm, state: _State, lanes: bool) -> Cost:
    match stm:
        case kir.KLet(var, rhs):
            _without_clamps(var, rhs, state)
            weight = _rhs(rhs, state)
            if state.below:
                _count_on(var, rhs, state)
            part = _part(rhs, state)
            if part is not None:
                state.parts[var] = part
            return state.weights.tiled if var.name in state.tiled else weight
        case kir.Declare() | kir.Assign():
            return 0.5
        case kir.Store(array, index, _) | kir.Atomic(_, _, array, index, _) | kir.Publish(array, index, _):
            return _store(array, index, state)
        case kir.LoadMatrix():
            return 1.0
        case kir.LoadRow(_, array, index) | kir.StoreRow(array, index, _):
            return _access(array, index, state)
        case kir.Alloc():
            return 4.0
        case kir.Check() | kir.BoundsCheck():
            return 1.0
        case kir.Fence() | kir.CommitCopies() | kir.WaitCopies() | kir.Distribute() | kir.Note():
            return 0.0
        case kir.WaitFor() | kir.LookBack() | kir.AsyncCopy() | kir.Shuffle() | kir.Mma():
            return BLOCK_REDUCE
        case kir.RowScan() | kir.PeeledThreads():
            raise AssertionError("made when code is printed: the estimate is of the loop")
        case kir.LoadTile() | kir.StoreTile() | kir.StoreSome():
            return EXTENT * state.weights.tiled
        case kir.TeamReduce(body=body, after=after) | kir.WarpTurns(body=body, turn=after):
            return EXTENT / LANES * (_stms(body, state, True) + _stms(after, state, True))
        case kir.KIf(_, then, orelse):
            return 2.0 + _stms(then, state, lanes) + _stms(orelse, state, lanes)
        case kir.For(index, bound, body):
            _count(index, bound, state)
            return 2.0 + _loop(bound, body, state, lanes)
        case kir.KWhile(before, _, body):
            return EXTENT * (1.0 + _stms(before, state, lanes) + _stms(body, state, lanes))
        case kir.Threads(_, lo, hi, body):
            return 4.0 + _groups(lo, hi, state) * (1.0 + _stms(body, state, True))
        case kir.BlockReduce(_, _, lo, hi, body, _, op, _, commutative):
            once = _stms(op.body, state, True)
            step = once if commutative else _depth(op) * (once + 2.0 * len(op.left))
            return REDUCE_LANES * once + _groups(lo, hi, state) * (1.0 + _stms(body, state, True) + step)
        case kir.BlockScan(scanned, _, _, lo, hi, body, _, op, _, _, after):
            combined = _stms(op.body, state, True)
            step = _depth(op) * (combined + 2.0 * len(scanned))
            once = 1.0 + _stms(body, state, True) + step + _stms(after, state, True)
            return 8.0 + REDUCE_LANES * combined + _groups(lo, hi, state) * once
