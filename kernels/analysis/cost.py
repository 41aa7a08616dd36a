"""A static estimate of what kernel code costs, to choose which axis of a nest goes on the lanes.

The unit is one vector instruction. Uniform code counts an instruction per operation; a `Threads` loop counts one per
group of lanes. A size that is not constant is taken as `EXTENT`, or as what is asked (`cost_at`), for loops and threads
alike; or as a size, and then the cost is a sum of products of sizes (`cost_by_sizes`). Only the comparison of two forms
of the same code matters. Accesses weigh by how they lie on the lanes:
contiguous or uniform 1, a tile of rows `TILED`, else a gather. Lanes on the rows of a matrix touch 16 lines of the
cache in a step, which the next steps find again unless the rows are so long that the lines fall on each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...ir.ops import Op, is_short
from ...ir.types import Const, Name
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KStm, KVar, Operand, Space
from .symbolic_cost import Cost, Role, Sum, size

LANES = 16
EXTENT = 256.0
GATHER = 14.0
TILED = 2.0
BLOCK_REDUCE = 4.0

NEAR, FAR = 64.0, 1024.0
"""Lines that lanes on the rows share stay in the cache while rows are no longer than this; none does from that on."""

# How a variable lies on the lanes: 0 the same in all, 1 counting up by one, 2 by a number of any size, 3 anything.
Lie = int


@dataclass(frozen=True, slots=True)
class Weights:
    """What an access weighs that goes in tiles (`passes/tile_rows.py`), whose lanes lie a stride apart, or anywhere;
    how many trips and threads are not known."""

    tiled: Cost
    strided: Cost
    gather: float
    loops: Cost
    threads: float


Tiled = frozenset[str | kir.KArray]
"""What is loaded and stored in tiles: variables and arrays."""


def cost(stms: tuple[KStm, ...], gather: float = GATHER, tiled: Tiled = frozenset()) -> float:
    """Cost of a kernel's body, or of a part of one; `gather` is what an access that is not contiguous weighs."""
    return _number(_stms(stms, _Lies(Weights(min(TILED, gather), gather, gather, EXTENT, EXTENT), tiled, {}), False))


def cost_at(stms: tuple[KStm, ...], loops: float, threads: float, tiled: Tiled = frozenset()) -> float:
    """Cost where loops make `loops` steps, along rows of that length, and `threads` threads are asked for."""
    far = min(max(loops, NEAR), FAR) / NEAR
    return _number(_stms(stms, _Lies(Weights(TILED * far, GATHER * far, GATHER, loops, threads), tiled, {}), False))


def cost_by_sizes(stms: tuple[KStm, ...], sizes: Mapping[KVar, Name], width: Name, tiled: Tiled = frozenset()) -> Sum:
    """Cost by the kernel's scalars that the host knows; `width` stands for the others, and `EXTENT` threads for those
    that are not all threads from 0 to a size."""
    weights = Weights(TILED, GATHER, GATHER, size(width, Role.STEPS), EXTENT)
    return Sum() + _stms(stms, _Lies(weights, tiled, sizes), False)


def _number(found: Cost) -> float:
    assert not isinstance(found, Sum), "no size is known by name"
    return found


class _Lies(dict[KVar, Lie]):
    """How variables lie, with the weights, what goes in tiles, sizes known by name, and what is a part of a size."""

    def __init__(self, weights: Weights, tiled: Tiled, sizes: Mapping[KVar, Name]) -> None:
        super().__init__()
        self.weights = weights
        self.tiled = tiled
        self.sizes = sizes
        self.parts: dict[Operand, Cost] = {var: size(name, Role.STEPS) for var, name in sizes.items()}


def _lie(operand: Operand, lies: _Lies) -> Lie:
    return 0 if isinstance(operand, Const) else lies.get(operand, 0)


def _combine(op: Op, lies: list[Lie]) -> Lie:
    if not any(lies):
        return 0
    if op in (Op.ADD, Op.SUB):
        return 1 if sorted(lies) == [0, 1] and not (op is Op.SUB and lies[1]) else min(3, max(2, *lies))
    return 2 if op is Op.MUL and sorted(lies)[0] == 0 and max(lies) < 3 else 3


def _stms(stms: tuple[KStm, ...], lies: _Lies, lanes: bool) -> Cost:
    total: Cost = 0.0
    for stm in stms:
        total = total + _stm(stm, lies, lanes)
    return total


def _loop(bound: Operand, body: tuple[KStm, ...], lies: _Lies, lanes: bool) -> Cost:
    """A loop of a thread goes along a row, which is as long as it takes steps."""
    outside, length = lies.weights, lies.sizes.get(bound) if isinstance(bound, KVar) else None
    if lanes and length is not None:
        far = size(length, Role.FAR)
        lies.weights = replace(outside, tiled=TILED * far, strided=GATHER * far)
    once = _stms(body, lies, lanes)
    lies.weights = outside
    return _trips(bound, lies) * (1.0 + once)


def _trips(bound: Operand, lies: _Lies) -> Cost:
    if isinstance(bound, Const):
        return float(max(0, int(bound.value)))
    return lies.parts.get(bound, lies.weights.loops)


def _part(rhs: kir.Rhs, lies: _Lies) -> Cost | None:
    """A share of a size: a quotient by a number, what such a division leaves, either of them if something holds; and
    products of sizes that are known by name."""
    match rhs:
        case kir.KOp(Op.QUOT, _, (x, Const(_, number))):
            return lies.parts.get(x, lies.weights.loops) / max(1.0, float(number))
        case kir.KOp(Op.REM, _, (_, Const(_, number))):
            return float(number) / 2
        case kir.KOp(Op.SELECT, _, (_, x, _)):
            return lies.parts.get(x)
        case kir.KOp(Op.MUL, _, (x, y)) if lies.sizes:
            left, right = lies.parts.get(x), lies.parts.get(y)
            return None if left is None or right is None else left * right
        case _:
            return None


def _groups(lo: Operand, hi: Operand, lies: _Lies) -> Cost:
    """Groups of lanes; one that is not full takes as long as one that is."""
    if isinstance(lo, Const) and isinstance(hi, KVar) and hi in lies.sizes:
        return size(lies.sizes[hi], Role.GROUPS)
    if isinstance(lo, Const) and isinstance(hi, Const):
        return float(max(0, -(-(int(hi.value) - int(lo.value)) // LANES)))
    return max(1.0, lies.weights.threads / LANES)


def _access(array: kir.KArray, index: Operand, lies: _Lies) -> Cost:
    weights, lie = lies.weights, _lie(index, lies)
    if array.space is Space.PRIVATE:
        return 1.0 if lie == 0 else weights.gather
    return (1.0, 1.0, weights.strided, weights.gather)[lie]


def _store(array: kir.KArray, index: Operand, lies: _Lies) -> Cost:
    """Lanes that do not lie side by side are stored one by one."""
    if array in lies.tiled:
        return 2.0 * lies.weights.tiled
    each = _access(array, index, lies)
    return 2.0 * each if array.space is not Space.PRIVATE and _lie(index, lies) >= 2 else each


def _depth(op: kir.KLambda) -> float:
    """How often combining the lanes in order takes: in steps that wait for each other, which floats make slower."""
    return 5.0 if any(var.prim.is_float for var in op.left) else 3.0


def _rhs(rhs: kir.Rhs, lies: _Lies, lanes: bool) -> tuple[Lie, Cost]:
    """How a value lies, and what it costs."""
    match rhs:
        case kir.KLoad(array, index):
            varies = _lie(index, lies) > 0 or (lanes and array.space is Space.PRIVATE)
            return 3 if varies else 0, _access(array, index, lies)
        case kir.KOp(op, _, args):
            return _combine(op, [_lie(a, lies) for a in args]), 1.0 if is_short(op) else 8.0
        case kir.KConvert(_, _, arg):
            return _lie(arg, lies), 0.5
        case kir.KAligned():
            return 0, 1.0


def _stm(stm: KStm, lies: _Lies, lanes: bool) -> Cost:
    match stm:
        case kir.KLet(var, rhs):
            lies[var], weight = _rhs(rhs, lies, lanes)
            part = _part(rhs, lies)
            if part is not None:
                lies.parts[var] = part
            return lies.weights.tiled if var.name in lies.tiled else weight
        case kir.Declare(var, init) | kir.Assign(var, init):
            lies[var] = 3 if lanes else _lie(init, lies)
            return 0.5
        case kir.Store(array, index, _) | kir.Atomic(_, _, array, index, _) | kir.Publish(array, index, _):
            return _store(array, index, lies)
        case kir.LoadRow(_, array, index) | kir.StoreRow(array, index, _):
            return _access(array, index, lies)
        case kir.Alloc():
            return 4.0
        case kir.Check() | kir.BoundsCheck():
            return 1.0
        case kir.Fence() | kir.CommitCopies() | kir.WaitCopies() | kir.Distribute() | kir.Note():
            return 0.0
        case kir.WaitFor() | kir.LookBack() | kir.AsyncCopy():
            return BLOCK_REDUCE
        case kir.RowScan():
            raise AssertionError("rows are scanned as they lie when code is printed: the estimate is of the loop")
        case kir.LoadTile() | kir.StoreTile():
            return EXTENT * lies.weights.tiled
        case kir.TeamReduce(index=index, body=body, after=after) | kir.WarpTurns(index=index, body=body, turn=after):
            lies[index] = 1
            return EXTENT / LANES * (_stms(body, lies, True) + _stms(after, lies, True))
        case kir.KIf(_, then, orelse):
            return 2.0 + _stms(then, lies, lanes) + _stms(orelse, lies, lanes)
        case kir.For(_, bound, body):
            return 2.0 + _loop(bound, body, lies, lanes)
        case kir.KWhile(before, _, body):
            return EXTENT * (1.0 + _stms(before, lies, lanes) + _stms(body, lies, lanes))
        case kir.Threads(index, lo, hi, body):
            lies[index] = 1
            return 4.0 + _groups(lo, hi, lies) * (1.0 + _stms(body, lies, True))
        case kir.BlockReduce(_, index, lo, hi, body, _, op, _, commutative):
            lies[index] = 1
            once = _stms(op.body, lies, True)
            step = once if commutative else _depth(op) * (once + 2.0)
            return BLOCK_REDUCE + 4.0 * once + _groups(lo, hi, lies) * (1.0 + _stms(body, lies, True) + step)
        case kir.BlockScan(scanned, _, index, lo, hi, body, _, op, _, _, after):
            lies[index] = 1
            lies.update(dict.fromkeys(scanned, 3))
            step = _depth(op) * (_stms(op.body, lies, True) + 2.0 * len(scanned))
            return 8.0 + _groups(lo, hi, lies) * (1.0 + _stms(body, lies, True) + step + _stms(after, lies, True))
