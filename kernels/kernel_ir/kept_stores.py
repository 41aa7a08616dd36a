"""Scans that count what is kept, and store it in order: what a filter is in a kernel.

    scan (count) carry (total) from (0) over i { x; keep; values i64 keep; op (+)
                                                 after at = before + count - 1; if keep { out[at] := x } }

Its elements need not be counted one by one: what a vector keeps lies side by side.
"""

from __future__ import annotations

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from .nodes import BlockScan, KConvert, KIf, KLambda, KLet, KOp, KVar, Operand, Store


@dataclass(frozen=True, slots=True)
class KeptStores:
    """Where `keep` holds, the values are stored `before` and the number of those kept so far behind the start."""

    keep: KVar
    before: tuple[Operand, ...]
    stores: tuple[Store, ...]


def kept_stores(scan: BlockScan) -> KeptStores | None:
    """What a scan keeps and stores, if it does nothing else with its counts; `before` are terms of a sum."""
    match scan.after:
        case (*lets, KIf(KVar() as keep, (Store(index=KVar() as at), *_) as stores, ())):
            pass
        case _:
            return None
    found = {let.var: let.rhs for let in (*scan.body, *lets) if isinstance(let, KLet)}
    if not all(isinstance(store, Store) and store.index == at for store in stores) or not _is_sum(scan.op):
        return None
    (value,) = scan.values
    if found.get(value) != KConvert(Prim.BOOL, Prim.I64, keep) if isinstance(value, KVar) else True:
        return None
    match found.get(at):
        case KOp(Op.SUB, Prim.I64, (x, Const(value=1))) if x == scan.scanned[0]:
            before: tuple[Operand, ...] = ()
        case KOp(Op.SUB, Prim.I64, (KVar() as x, Const(value=1))):
            match found.get(x):
                case KOp(Op.ADD, Prim.I64, (carry, count)) if count == scan.scanned[0] and carry not in found:
                    before = (carry,)
                case _:
                    return None
        case _:
            return None
    inside = {store.value for store in stores if isinstance(store, Store)}
    kept = tuple(store for store in stores if isinstance(store, Store))
    return None if inside & {let.var for let in lets if isinstance(let, KLet)} else KeptStores(keep, before, kept)


def _is_sum(op: KLambda) -> bool:
    match op.left, op.right, op.body, op.results:
        case (x,), (y,), (KLet(var, KOp(Op.ADD, Prim.I64, args)),), (result,):
            return set(args) == {x, y} and result == var
        case _:
            return False
