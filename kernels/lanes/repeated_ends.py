"""The last threads of a loop as a whole vector, which reaches back over threads that have been: no mask.

    threads i in lo..hi { zs[s + i] := f(xs[..], i) }
      ⟶  i = lo, lo + W, .. as long as i < hi:  threads of min i (hi - W) .. { the same }          hi - lo >= W

for processors that do not store under a mask as fast as without. What is stored twice is the same value: a thread
stores elements of its own and reads nothing that the loop stores. The middle of a loop whose ends differ goes so, too;
its ends go one by one, in scalar code.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.types import Prim
from ..analysis.uniformity import Affine
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KVar, PeeledThreads, Store, Threads
from ..kernel_ir.traverse import all_statements, loaded_arrays, statements, stored_arrays
from ..llvm.text import llvm_type
from .values import Lanes, Linear, Uniform

PLAIN = kir.KLet, kir.Declare, kir.Assign, kir.Store, kir.Check, kir.BoundsCheck, kir.KIf, kir.Note
HARMLESS = (*PLAIN, kir.For, kir.KWhile, kir.Alloc, kir.LoadRow, kir.LoadTile)


def may_repeat(e: Lanes, loop: Threads | PeeledThreads) -> bool:
    """Whether threads of a loop may run twice, one after the other, and it is worth it here."""
    if e.masks or not loop.index.prim.is_signed:
        return False
    stms = tuple(all_statements(loop.body))
    own = {stm.array for stm in stms if isinstance(stm, kir.Alloc)}
    shared = {array for pair in e.kernel.over for array in pair}
    read = {array for stm in stms for array in loaded_arrays(stm)} - own | shared
    declared = {stm.var for stm in stms if isinstance(stm, kir.Declare)}
    stores = [stm for stm in stms if isinstance(stm, Store) and stm.array not in own]
    return (
        bool(stores)
        and all(isinstance(stm, PLAIN if isinstance(loop, PeeledThreads) else HARMLESS) for stm in stms)
        and read.isdisjoint(array for stm in stms for array in stored_arrays(stm) if array not in own)
        and declared.issuperset(stm.var for stm in stms if isinstance(stm, kir.Assign))
        and all(e.facts.of(stm.index) in (Affine(1), Affine(-1)) for stm in stores)
    )


def walks(e: Lanes, loop: Threads) -> bool:
    """Whether threads go along columns, or over others' elements, in loops of their own, not row by row in tiles; nor
    over elements that this processor does not load under a mask."""
    if not loop.index.prim.is_signed or not any(isinstance(stm, kir.For) for stm in loop.body):
        return False
    return not any(
        isinstance(stm, kir.KWhile | kir.LoadTile | kir.StoreTile) or (not e.masks and _loads_narrow(e, stm))
        for stm in statements(loop.body)
    )


def _loads_narrow(e: Lanes, stm: kir.KStm) -> bool:
    """Whether each lane loads an element of less than 32 bits."""
    match stm:
        case kir.KLet(_, kir.KLoad(array, index)):
            return array.prim.bytes < 4 and e.facts.varies(index)
        case _:
            return False


def reaching_back(e: Lanes, index: KVar, position: str, bounds: tuple[str, str], body: Callable[[], None]) -> None:
    """`body` for all that is left, if that and what was before is a group: the last group ends where the loop does."""
    prim, t, code, (first, last) = index.prim, llvm_type(index.prim), e.code, bounds
    least = code.op(f"sub {t} {last}, {e.lanes}")
    end = code.op(f"select i1 {code.op(f'icmp sge {t} {least}, {first}')}, {t} {last}, {t} {first}")
    with code.loop("threads", "whole", "rest") as test:
        i = code.op(f"load {t}, ptr {position}")
        test(code.op(f"icmp slt {t} {i}, {end}"))
        at = e.one.intrinsic("smin", prim, i, least)
        e.env[index.name] = Linear(prim, at, 1, True)
        body()
        code.do(f"store {t} {code.op(f'add {t} {at}, {e.lanes}')}, ptr {position}")


def one_by_one(
    e: Lanes, index: KVar, position: str, bounds: tuple[str, str, str, str], body: Callable[[], None]
) -> None:
    """What is before and behind the middle of a loop. `bounds`: where the loop begins, where its middle begins and
    ends, where it ends."""
    code, (lo, since, until, last) = e.code, bounds
    first = e.one.intrinsic("smax", Prim.I64, since, lo)
    none = code.op(f"icmp eq i64 {lo}, {first}")
    code.do(f"store i64 {code.op(f'select i1 {none}, i64 {until}, i64 {lo}')}, ptr {position}")
    with code.loop("ends", "one", "rest", scalar=True) as test:
        i = code.op(f"load i64, ptr {position}")
        test(code.op(f"icmp slt i64 {i}, {last}"))
        e.env[index.name], e.alone = Uniform(index.prim, i), True
        body()
        e.alone = False
        behind = code.op(f"add i64 {i}, 1")
        skipped = code.op(f"icmp eq i64 {behind}, {first}")
        code.do(f"store i64 {code.op(f'select i1 {skipped}, i64 {until}, i64 {behind}')}, ptr {position}")
