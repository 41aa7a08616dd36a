"""The type whose elements a vector register is divided into."""

from __future__ import annotations

from ...ir.types import Prim
from ..kernel_ir.nodes import Atomic, KConvert, KLet, KLoad, KOp, KStm, KVar, Store
from ..kernel_ir.traverse import all_statements


def widest_type(stms: tuple[KStm, ...]) -> Prim:
    """The widest float that is computed with; without floats, the widest integer but for 64-bit arithmetic, which is
    mostly of indices, and of those LLVM makes two vectors."""
    used: set[Prim] = set()
    for stm in all_statements(stms):
        match stm:
            case KLet(_, KOp(_, prim, _)) if prim.is_float or prim.bits < 64:
                used.add(prim)
            case KLet(_, KConvert(_, target, _)) if target.is_float or target.bits < 64:
                used.add(target)
            case Atomic(out=KVar()):
                pass  # a number of the block
            case KLet(_, KLoad(array, _)) | Store(array, _, _) | Atomic(_, _, array, _, _):
                used.add(array.prim)
            case _:
                pass
    used.discard(Prim.BOOL)
    floats = [p for p in used if p.is_float]
    return max(floats or used or {Prim.I32}, key=lambda p: p.bits)
