"""Scans that count what is kept, and store it in order: what a filter is in a kernel.

    scan (count) carry (total) from (0) over i { x; keep; values i64 keep; op (+)
                                                 after at = before + count - 1; if keep { out[at] := x } }

Its elements need not be counted one by one: what a vector keeps is side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from .counts import adds, operator_of
from .nodes import BlockScan, KConvert, KIf, KLet, KOp, KStm, KVar, Operand, Rhs, Store
from .traverse import names, variables_in


@dataclass(frozen=True, slots=True)
class KeptStores:
    """Where `keep` holds, the values are stored `before` and the number of those kept so far behind the start; `rest`:
    the scan without the component that counts, and without these stores, if there are others."""

    keep: KVar
    before: tuple[Operand, ...]
    stores: tuple[Store, ...]
    component: int
    rest: BlockScan | None


def kept_stores(scan: BlockScan) -> KeptStores | None:
    """What a scan keeps and stores, if it does nothing else with its counts; `before` are terms of a sum."""
    match scan.after:
        case (*lets, KIf(KVar() as keep, (Store(index=KVar() as at), *_) as stores, ())):
            pass
        case _:
            return None
    found = {let.var: let.rhs for let in (*scan.body, *lets) if isinstance(let, KLet)}
    kept = tuple(store for store in stores if isinstance(store, Store) and store.index == at)
    place = _place(found, at, scan.scanned)
    if len(kept) < len(stores) or place is None:
        return None
    component, before, counts = place
    value = scan.values[component]
    counted = found.get(value) if isinstance(value, KVar) else None
    if counted != KConvert(Prim.BOOL, Prim.I64, keep) or not adds(scan.op, component):
        return None
    others = [let for let in lets if not (isinstance(let, KLet) and let.var in counts)]
    if len(scan.scanned) == 1:
        inside = {*scan.scanned, *(let.var for let in lets if isinstance(let, KLet))}
        return None if inside & {store.value for store in kept} else KeptStores(keep, before, kept, component, None)
    mentioned = variables_in((tuple(others), tuple(store.value for store in kept)))
    if not mentioned.isdisjoint(names(scan.scanned[component], *counts)):
        return None
    return KeptStores(keep, before, kept, component, _rest(scan, component, tuple(others)))


def _place(
    found: Mapping[KVar, Rhs], at: KVar, scanned: tuple[KVar, ...]
) -> tuple[int, tuple[Operand, ...], tuple[KVar, ...]] | None:
    """The component of a scan that `at` is the count of, less one; what stands before it; the variables of the sum."""
    match found.get(at):
        case KOp(Op.SUB, Prim.I64, (KVar() as x, Const(value=1))) if x in scanned:
            return scanned.index(x), (), (at,)
        case KOp(Op.SUB, Prim.I64, (KVar() as x, Const(value=1))):
            match found.get(x):
                case KOp(Op.ADD, Prim.I64, (carry, KVar() as count)) if count in scanned and carry not in found:
                    return scanned.index(count), (carry,), (at, x)
                case _:
                    return None
        case _:
            return None


def _rest(scan: BlockScan, component: int, after: tuple[KStm, ...]) -> BlockScan:
    kept = [k for k in range(len(scan.scanned)) if k != component]
    scanned, carry_out = (tuple(xs[k] for k in kept) for xs in (scan.scanned, scan.carry_out))
    values, carry, neutral = (tuple(xs[k] for k in kept) for xs in (scan.values, scan.carry, scan.neutral))
    op = operator_of(scan.op, kept)
    parts = {"values": values, "carry": carry, "neutral": neutral, "op": op, "after": after}
    return replace(scan, scanned=scanned, carry_out=carry_out, **parts)
