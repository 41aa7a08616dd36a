"""Collectives of a block in CUDA C: shuffles within warps, shared memory between them.

Operators become lambdas `op(x.., y.., out..)`. Every thread takes part with the neutral element where it has no value,
so all lanes are live. Order: a commutative reduction lets each thread take every `threads`-th element; any other, and
a scan, goes through tiles of `threads` elements, one for each thread, in which lanes combine with those behind (before)
them.

A reduction has one barrier: all warps write their values, meet, and then each combines them for itself. Where it is
executed again, warps that are ahead may be there before others have read; so its values alternate between two halves
of memory: no thread is beyond the next barrier before all have read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ir.machine import WARP
from ...ir.types import Const
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who
from ..kernel_ir.nodes import KVar, Operand
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
    take_in,
    texts,
)
from .ops import c_type, operand
from .text import (
    Printer,
    apart_for,
    apart_if,
    barrier,
    declare,
    in_rounds,
    stack_scope,
    statements_text,
    thread_steps,
    words_in,
)

Reduce = Callable[[Printer, kir.BlockReduce, Operator], Names]


# ---- reductions --------------------------------------------------------------------------------------------------


def block_reduce(p: Printer, stm: kir.BlockReduce, ordered: Reduce) -> None:
    """`ordered`: how, where the operator is not commutative."""
    with results(p, stm.outs):
        op = operator(p, stm.op)
        total = any_order(p, stm, op) if stm.commutative else ordered(p, stm, op)
        assign(p, tuple(o.name for o in stm.outs), total)


def any_order(p: Printer, stm: kir.BlockReduce, op: Operator) -> Names:
    """Each thread folds its elements, then the threads combine."""
    acc = declared(p, op.types, "acc", stm.neutral)
    used = [p.rounds[name] for name in words_in(stm.body) if name in p.distributed]
    with (
        in_rounds(p, stm.index, stm.hi, stm.body, max(used))
        if used
        else apart_for(p, thread_steps(p, stm.index, stm.lo, stm.hi), stm.body),
        stack_scope(p, stm.body),
    ):
        take_in(p, stm.op, acc, stm.body, stm.values)
    return combined(p, op, acc, texts(stm.neutral))


def in_order(p: Printer, stm: kir.BlockReduce, op: Operator) -> Names:
    """Tiles one after the other, of an element for each thread, the neutral one behind the last; the total so far
    stands left of the next tile."""
    total = declared(p, op.types, "total", stm.neutral)
    with tiles(p, stm.index, stm.lo, stm.hi):
        value = own_value(p, op, stm, f"{stm.index.name} < {operand(stm.hi)}")
        tile = combined(p, op, value, texts(stm.neutral))
        step(p, op, total, total, tile)
    return total


@contextmanager
def tiles(p: Printer, index: KVar, lo: Operand, hi: Operand) -> Iterator[None]:
    """A loop over tiles of `threads` elements from `lo` on: inside, `index` is the thread's element, at or behind `hi`
    in the last tile. All meet even if there is none."""
    first = p.fresh("first")
    kind = c_type(index.prim)
    with p.block(f"for ({kind} {first} = {operand(lo)}; {first} < {operand(hi)}; {first} += {p.threads})"):
        p.line(f"const {kind} {index.name} = {first} + {p.me};")
        yield
    meet_if_empty(p, lo, hi)


def meet_if_empty(p: Printer, lo: Operand, hi: Operand) -> None:
    """A collective of no elements is one: what came before it is visible behind it."""
    if isinstance(lo, Const) and isinstance(hi, Const) and lo.value < hi.value:
        return
    with p.block(f"if ({operand(lo)} >= {operand(hi)})"):
        barrier(p)


def combined(p: Printer, op: Operator, value: Names, neutral: Names) -> Names:
    """All threads' values, in order, in every thread."""
    warp_reduce(p, op, value, WARP.threads)
    if p.threads > WARP.threads:
        over_warps(p, op, value, neutral)
    else:
        barrier(p)
    return constants(p, op.types, "all", tuple(f"value_at({v}, 0)" for v in value))


def over_warps(p: Printer, op: Operator, value: Names, neutral: Names) -> None:
    """The first lane of each warp ends with the values of those of all warps."""
    warps, again = p.threads // WARP.threads, p.depth > ONCE
    partial = shared(p, op.types, "partial", 2 * warps if again else warps)
    half = f"{half_in_use(p)} + " if again else ""
    with p.block("if (lane_id() == 0)"):
        assign(p, tuple(f"{s}[{half}warp_id()]" for s in partial), value)
    barrier(p)
    inside = f"lane_id() < {warps}"
    loaded = (f"{inside} ? {s}[{half}lane_id()] : {ne}" for s, ne in zip(partial, neutral, strict=True))
    assign(p, value, tuple(loaded))
    if again:
        p.line(f"{p.half} ^= {warps};")
    warp_reduce(p, op, value, warps)


ONCE = 2
"""The depth of a reduction in the kernel's own list, which a block executes once; a block that takes turns meets at the
end of each."""


def half_in_use(p: Printer) -> str:
    """The variable that says where the half begins that the next reduction writes."""
    p.half = p.half or p.fresh("half")
    return p.half


def warp_reduce(p: Printer, op: Operator, value: Names, lanes: int | str) -> None:
    """Lane 0 ends with the values of `lanes` lanes in order: lane l holds those of l to l + 2d - 1 after distance d."""
    with p.index("d") as d, p.block(f"for (i32 {d} = 1; {d} < {lanes}; {d} *= 2)"):
        step(p, op, value, value, tuple(f"value_below({v}, {d})" for v in value))


# ---- scans -------------------------------------------------------------------------------------------------------


def block_scan(p: Printer, stm: kir.BlockScan) -> None:
    """Tiles one after the other, each scanned by warps, its warps' totals, and what came before."""
    with results(p, stm.carry_out):
        op = operator(p, stm.op)
        carry = declared(p, op.types, "carry", stm.carry)
        totals = shared(p, op.types, "partial", p.threads // WARP.threads)
        first = p.fresh("first")
        index, kind = stm.index.name, c_type(stm.index.prim)
        with p.block(f"for ({kind} {first} = {operand(stm.lo)}; {first} < {operand(stm.hi)}; {first} += {p.threads})"):
            p.line(f"const {kind} {index} = {first} + {p.me};")
            _scan_tile(p, stm, op, carry, totals)
        meet_if_empty(p, stm.lo, stm.hi)
        assign(p, tuple(o.name for o in stm.carry_out), carry)


def _scan_tile(p: Printer, stm: kir.BlockScan, op: Operator, carry: Names, totals: Names) -> None:
    has = f"{stm.index.name} < {operand(stm.hi)}"
    mine = declared(p, op.types, "value", stm.neutral)
    declare(p, stm.body, set(words_in(stm.after)))
    with stack_scope(p, stm.body):
        with apart_if(p, has, stm.body):
            p.run(p, stm.body, Who.EACH)
            assign(p, mine, texts(stm.values))
        result = _scanned(p, op, mine, carry, totals)
        with apart_if(p, has, stm.after):
            define(p, stm.scanned, result)
            statements_text(p, stm.after, Who.EACH)
    barrier(p)


def _scanned(p: Printer, op: Operator, mine: Names, carry: Names, totals: Names) -> Names:
    """`mine` scanned over the tile, behind `carry`, which moves on to the next tile."""
    before = before_warp(p, op, mine, carry, totals)
    step(p, op, mine, before, mine)
    return mine


def before_warp(p: Printer, op: Operator, mine: Names, carry: Names, totals: Names) -> Names:
    """What stands left of a warp: `carry`, which moves on behind the tile, and the `totals` of the warps before it.
    `mine` becomes what a thread has behind those of its warp."""
    warp_scan(p, op, mine)
    with p.block(f"if (lane_id() == {WARP.threads - 1})"):
        assign(p, tuple(f"{t}[{p.warp}]" for t in totals), mine)
    barrier(p)
    before = declared(p, op.types, "before")
    assign(p, before, carry)
    w = p.fresh("w")
    with p.block(f"for (i32 {w} = 0; {w} < {p.threads // WARP.threads}; {w}++)"):
        with p.block(f"if ({w} == {p.warp})"):
            assign(p, before, carry)
        step(p, op, carry, carry, tuple(f"{t}[{w}]" for t in totals))
    return before


def warp_scan(p: Printer, op: Operator, value: Names) -> None:
    """Inclusive, within each warp (Hillis and Steele)."""
    with p.index("d") as d, p.block(f"for (i32 {d} = 1; {d} < {WARP.threads}; {d} *= 2)"):
        above = constants(p, op.types, "above", tuple(f"value_above({v}, {d})" for v in value))
        with p.block(f"if (lane_id() >= {d})"):
            step(p, op, value, above, value)
