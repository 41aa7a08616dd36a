"""Scans and ordered reductions of a block in CUDA C, by tiles that pass through shared memory.

A tile is ITEMS elements for each thread. Thread t computes elements t, threads + t, .. of the tile, so that a warp
reads neighbours, and puts them into `stage`; then it folds the ITEMS neighbours from t*ITEMS on, so that the threads of
the block meet once for a tile; what a scan has found goes back through `stage`, and thread t goes on with its elements.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.machine import WARP
from ..analysis.tile_items import element_bytes, tile_items
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who
from ..kernel_ir.traverse import bound
from .collectives import before_warp, combined, meet_if_empty
from .operator import (
    Names,
    Operator,
    assign,
    constants,
    declared,
    define,
    operator,
    own_value,
    results,
    shared,
    step,
    texts,
)
from .ops import c_type, operand
from .text import Printer, barrier, statements_text, words_in

Staged = kir.BlockReduce | kir.BlockScan
STAGE_BYTES = 24 << 10
"""Shared memory of a block for tiles; the rest is for its arrays."""


def goes_staged(p: Printer, stm: Staged) -> bool:
    """Does it pay, and is there room? What is computed for an element and used after the scan would have to be kept."""
    items = tile_items(element_bytes(stm.op))
    if not stm.is_long or items == 1 or p.threads < WARP.threads:
        return False
    if isinstance(stm, kir.BlockScan) and not bound_in(stm.body).isdisjoint(words_in(stm.after)):
        return False
    size = p.threads * items * element_bytes(stm.op) * (WARP.threads + 1) // WARP.threads
    if (p.staged + size) * max(1, p.warps) > STAGE_BYTES:
        return False
    p.staged += size
    return True


def bound_in(stms: tuple[kir.KStm, ...]) -> set[str]:
    """What a statement list makes for those that follow."""
    arrays = {s.array.name for s in stms if isinstance(s, kir.Alloc)}
    return arrays | {var.name for s in stms for var in bound(s)}


def staged_reduce(p: Printer, stm: kir.BlockReduce, op: Operator) -> Names:
    """Tiles one after the other; the total so far stands left of the next tile. All have read a tile when they meet to
    combine their runs."""
    items = tile_items(element_bytes(stm.op))
    total = declared(p, op.types, "total", stm.neutral)
    stage = stages(p, op, items)

    def tile(first: str) -> None:
        fill(p, stm, op, stage, items, first)
        run = fold_run(p, op, stage, items, None)
        step(p, op, total, total, combined(p, op, run, texts(stm.neutral)))

    over_tiles(p, stm, items, tile)
    return total


def staged_scan(p: Printer, stm: kir.BlockScan) -> None:
    """Runs, warps, the block: each scanned from the one before; `after` is executed by who executed the body."""
    with results(p, stm.carry_out):
        op, items = operator(p, stm.op), tile_items(element_bytes(stm.op))
        carry = declared(p, op.types, "carry", stm.carry)
        stage, totals = stages(p, op, items), shared(p, op.types, "partial", p.threads // WARP.threads)

        def tile(first: str) -> None:
            fill(p, stm, op, stage, items, first)
            run = fold_run(p, op, stage, items, stage)
            before = before_run(p, op, run, (carry, totals))
            add_before(p, op, stage, items, before)
            barrier(p)
            finish(p, stm, stage, items, first)
            barrier(p)

        over_tiles(p, stm, items, tile)
        assign(p, tuple(o.name for o in stm.carry_out), carry)


# ---- tiles -------------------------------------------------------------------------------------------------------


def stages(p: Printer, op: Operator, items: int) -> Names:
    """A tile in shared memory, with a gap after each 32 elements so that runs begin in different banks."""
    size = p.threads * items
    return shared(p, op.types, "stage", size + size // WARP.threads)


def over_tiles(p: Printer, stm: Staged, items: int, tile: Callable[[str], None]) -> None:
    """A loop over tiles of `items` elements for each thread; `tile` prints one and gets the name of its first index.
    All meet even if there is none."""
    first, kind = p.fresh("first"), c_type(stm.index.prim)
    step = f"{first} += {p.threads * items}"
    with p.block(f"for ({kind} {first} = {operand(stm.lo)}; {first} < {operand(stm.hi)}; {step})"):
        tile(first)
    meet_if_empty(p, stm.lo, stm.hi)


def at_stage(stage: Names, at: str) -> Names:
    """The elements at a place of the stage, one for each component; `at` is counted without the gaps."""
    return tuple(f"{s}[with_gaps({at})]" for s in stage)


def fill(p: Printer, stm: Staged, op: Operator, stage: Names, items: int, first: str) -> None:
    """The elements of the tile; the neutral element behind the last one."""
    item, at = p.fresh("item"), p.fresh("at")
    p.line("#pragma unroll 4")
    with p.block(f"for (i32 {item} = 0; {item} < {items}; {item}++)"):
        p.line(f"const i32 {at} = {item} * {p.threads} + {p.me};")
        p.line(f"const {c_type(stm.index.prim)} {stm.index.name} = {first} + {at};")
        value = own_value(p, op, stm, f"{stm.index.name} < {operand(stm.hi)}")
        assign(p, at_stage(stage, at), value)
    barrier(p)


def fold_run(p: Printer, op: Operator, stage: Names, items: int, target: Names | None) -> Names:
    """The thread's run, from the left; a scan leaves in `target` what it has found on the way."""
    run = declared(p, op.types, "run")
    assign(p, run, at_stage(stage, f"{p.me} * {items}"))
    item, at = p.fresh("item"), p.fresh("at")
    p.line("#pragma unroll")
    with p.block(f"for (i32 {item} = 1; {item} < {items}; {item}++)"):
        p.line(f"const i32 {at} = {p.me} * {items} + {item};")
        step(p, op, run, run, at_stage(stage, at))
        if target is not None:
            assign(p, at_stage(target, at), run)
    return run


def before_run(p: Printer, op: Operator, run: Names, sums: tuple[Names, Names]) -> Names:
    """What stands left of the thread's run; the carry moves on behind the tile. `sums`: it, and the warps' totals."""
    before = before_warp(p, op, run, *sums)
    above = constants(p, op.types, "above", tuple(f"value_above({r}, 1)" for r in run))
    with p.block("if (lane_id() > 0)"):
        step(p, op, before, before, above)
    return before


def add_before(p: Printer, op: Operator, stage: Names, items: int, before: Names) -> None:
    """Each element of the thread's run := `before` op the element, in the stage."""
    item, at = p.fresh("item"), p.fresh("at")
    p.line("#pragma unroll")
    with p.block(f"for (i32 {item} = 0; {item} < {items}; {item}++)"):
        p.line(f"const i32 {at} = {p.me} * {items} + {item};")
        step(p, op, at_stage(stage, at), before, at_stage(stage, at))


def finish(p: Printer, stm: kir.BlockScan, stage: Names, items: int, first: str) -> None:
    """`after` for the thread's elements of the tile, ITEMS rounds of neighbours, with what the scan has left in the
    stage."""
    item, at = p.fresh("item"), p.fresh("at")
    with p.block(f"for (i32 {item} = 0; {item} < {items}; {item}++)"):
        p.line(f"const i32 {at} = {item} * {p.threads} + {p.me};")
        p.line(f"const {c_type(stm.index.prim)} {stm.index.name} = {first} + {at};")
        p.line(f"if ({stm.index.name} >= {operand(stm.hi)}) break;")
        define(p, stm.scanned, at_stage(stage, at))
        statements_text(p, stm.after, Who.EACH)
