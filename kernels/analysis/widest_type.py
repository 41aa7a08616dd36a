"""The type whose elements a vector register is divided into."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.types import Prim
from ..kernel_ir.counts import counted
from ..kernel_ir.kept_stores import kept_stores
from ..kernel_ir.nodes import (
    Atomic,
    BlockReduce,
    BlockScan,
    For,
    KConvert,
    KIf,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    KWhile,
    Store,
)
from ..kernel_ir.traverse import all_statements, children
from .uniformity import Facts, Varying


def widest_type(stms: tuple[KStm, ...], facts: Facts) -> Prim:
    """Of what varies over the lanes, the widest float that is computed with; without floats, the widest integer but for
    64-bit arithmetic, which is mostly of indices, and of those LLVM makes two vectors. Sums that count have no lanes,
    nor have results that a block stores, and indices that are kept."""
    used: set[Prim] = set()
    results = {id(stm) for stm in _of_block(stms) if isinstance(stm, Store)}
    for scan in all_statements(stms):
        if isinstance(scan, BlockScan) and (kept := kept_stores(scan)) is not None:
            results |= {id(store) for store in kept.stores if not isinstance(facts.of(store.value), Varying)}
    for stm in all_statements(stms):
        match stm:
            case KLet(var, _) if not facts.varies(var):
                pass
            case KLet(_, KOp(_, prim, _)) if prim.is_float or prim.bits < 64:
                used.add(prim)
            case KLet(_, KConvert(_, target, _)) if target.is_float or target.bits < 64:
                used.add(target)
            case Atomic(out=KVar()):
                pass  # a number of the block
            case Store() if id(stm) in results:
                pass
            case KLet(_, KLoad(array, _)) | Store(array, _, _) | Atomic(_, _, array, _, _):
                used.add(array.prim)
            case BlockReduce():
                counts = counted(stm)
                used.update(x.prim for k, x in enumerate(stm.neutral) if k not in counts)
            case _:
                pass
    used.discard(Prim.BOOL)
    floats = [p for p in used if p.is_float]
    return max(floats or used or {Prim.I32}, key=lambda p: p.bits)


def _of_block(stms: tuple[KStm, ...]) -> Iterator[KStm]:
    """The statements that all threads execute together."""
    for stm in stms:
        yield stm
        if isinstance(stm, KIf | For | KWhile):
            for inner in children(stm):
                yield from _of_block(inner)
