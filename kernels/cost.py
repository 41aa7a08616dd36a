"""A static estimate of what kernel code costs, to choose which axis of a nest goes on the lanes.

The unit is one vector instruction. Uniform code counts an instruction per operation; a `Threads` loop counts one per
group of lanes. A size that is not constant is taken as `EXTENT`, for loops and threads alike: only the comparison of
two forms of the same code matters. Accesses weigh by how they lie on the lanes: contiguous or uniform 1, else a gather.
"""

from __future__ import annotations

from ..ir.ops import Op
from ..ir.types import Const
from . import kir
from .kir import KStm, KVar, Operand, Space

LANES = 16
EXTENT = 256.0
GATHER = 14.0
BLOCK_REDUCE = 24.0
CALLS = frozenset({Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.POW, Op.TANH, Op.DIV, Op.MOD, Op.QUOT, Op.REM, Op.SQRT})

# How a variable lies on the lanes: 0 the same in all, 1 counting up by one, 2 anything.
Lie = int


def cost(stms: tuple[KStm, ...], gather: float = GATHER) -> float:
    """Cost of a kernel's body, or of a part of one; `gather` is what an access that is not contiguous weighs."""
    return _stms(stms, _Lies(gather=gather), False)


class _Lies(dict[KVar, Lie]):
    """How variables lie, with the weight of a gather."""

    def __init__(self, gather: float) -> None:
        super().__init__()
        self.gather = gather


def _lie(operand: Operand, lies: _Lies) -> Lie:
    return 0 if isinstance(operand, Const) else lies.get(operand, 0)


def _combine(op: Op, lies: list[Lie]) -> Lie:
    if not any(lies):
        return 0
    if op in (Op.ADD, Op.SUB) and sorted(lies) == [0, 1] and not (op is Op.SUB and lies[1]):
        return 1
    return 2


def _stms(stms: tuple[KStm, ...], lies: _Lies, lanes: bool) -> float:
    return sum(_stm(s, lies, lanes) for s in stms)


def _trips(bound: Operand) -> float:
    return float(max(0, int(bound.value))) if isinstance(bound, Const) else EXTENT


def _groups(lo: Operand, hi: Operand) -> float:
    if isinstance(lo, Const) and isinstance(hi, Const):
        return float(max(0, -(-(int(hi.value) - int(lo.value)) // LANES)))
    return EXTENT / LANES


def _access(array: kir.KArray, index: Operand, lies: _Lies) -> float:
    lie = _lie(index, lies)
    if array.space is Space.PRIVATE:
        return 1.0 if lie == 0 else lies.gather
    return 1.0 if lie < 2 else lies.gather


def _stm(stm: KStm, lies: _Lies, lanes: bool) -> float:
    match stm:
        case kir.KLet(var, kir.KLoad(array, index)):
            lies[var] = 2 if _lie(index, lies) or (lanes and array.space is Space.PRIVATE) else 0
            return _access(array, index, lies)
        case kir.KLet(var, kir.KOp(op, _, args)):
            lies[var] = _combine(op, [_lie(a, lies) for a in args])
            return 8.0 if op in CALLS else 1.0
        case kir.KLet(var, kir.KConvert(_, _, arg)):
            lies[var] = _lie(arg, lies)
            return 0.5
        case kir.Declare(var, init) | kir.Assign(var, init):
            lies[var] = 2 if lanes else _lie(init, lies)
            return 0.5
        case kir.Store(array, index, _) | kir.Atomic(_, _, array, index, _):
            return _access(array, index, lies)
        case kir.Alloc():
            return 4.0
        case kir.Check() | kir.BoundsCheck():
            return 1.0
        case kir.Fence():
            return 0.0
        case kir.KIf(_, then, orelse):
            return 2.0 + _stms(then, lies, lanes) + _stms(orelse, lies, lanes)
        case kir.For(_, bound, body):
            return 2.0 + _trips(bound) * (1.0 + _stms(body, lies, lanes))
        case kir.KWhile(before, _, body):
            return EXTENT * (1.0 + _stms(before, lies, lanes) + _stms(body, lies, lanes))
        case kir.Threads(index, lo, hi, body):
            lies[index] = 1
            return 4.0 + _groups(lo, hi) * (1.0 + _stms(body, lies, True))
        case kir.BlockReduce(_, index, lo, hi, body, _, op, _, commutative):
            lies[index] = 1
            once = _stms(op.body, lies, True)
            step = once if commutative else 5.0 * (once + 2.0)
            return BLOCK_REDUCE + 4.0 * once + _groups(lo, hi) * (1.0 + _stms(body, lies, True) + step)
        case kir.BlockScan(scanned, _, index, lo, hi, body, _, op, _, _, after):
            lies[index] = 1
            lies.update(dict.fromkeys(scanned, 2))
            step = 5.0 * (_stms(op.body, lies, True) + 2.0 * len(scanned))
            return 8.0 + _groups(lo, hi) * (1.0 + _stms(body, lies, True) + step + _stms(after, lies, True))
