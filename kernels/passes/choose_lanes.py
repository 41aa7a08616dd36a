"""The lanes of a kernel: how wide vectors are, how many run at once, and what code there is for incomplete groups.

Both numbers are fixed by the kernel and the settings, never by the machine's load: the same bits for any number of
workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...ir.ops import COMPARISONS, Op
from ...ir.records import dataclass
from ...ir.types import Prim
from ..analysis.uniformity import find_facts
from ..analysis.widest_type import widest_type
from ..kernel_ir.kept_stores import kept_stores
from ..kernel_ir.nodes import (
    Assign,
    Atomic,
    BlockReduce,
    BlockScan,
    Declare,
    For,
    Kernel,
    KIf,
    KLet,
    KOp,
    KStm,
    KWhile,
    LaneShape,
    LoadRow,
    PeeledThreads,
    StoreRow,
    Threads,
)
from ..kernel_ir.traverse import all_statements, children, operators, statements

LONG_ROW, LONG_ROW_OF_BYTES = 6, 9
"""Elements of a row that is read or written by more than a few shuffles."""
MOST_ACCUMULATORS = 12
"""Accumulators of a thread of which two groups still find registers."""
LANES_OF_BYTES = 64
"""The most that vectors have. Truth values of as many need registers of 64 bytes: LLVM keeps those of two registers one
by one where a branch stands between their making and their use."""
OPERANDS = 4
"""Of how many parts of the registers one is left for what is added to accumulators."""
SCANNED = 2
"""The same of what is scanned: the rest is left for what a step moves."""
CHOICES = COMPARISONS | {Op.SELECT}


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """How wide code is. `vector_bits` is what one register holds (more than the machine has is fine);
    `width` and `unroll` override the choice made for each kernel; bodies of more than `peel_limit` statements are
    emitted once, under a mask, instead of twice."""

    vector_bits: int = 512
    width: int | None = None
    unroll: int | None = None
    peel_limit: int = 750


def choose_lanes(kernel: Kernel, settings: LaneSettings) -> Kernel:
    """The kernel with its lanes: a register of the widest type that it computes with; more groups for small bodies,
    where one hides the latency of the other. The middle of a row is seldom full groups: what is left of one is full
    vectors too."""
    size = body_size(kernel.body)
    adds = accumulates(kernel.body)
    unroll = settings.unroll or (
        1 if has_long_rows(kernel.body) else 4 if size <= 50 else 2 if size <= (200 if adds else 100) else 1
    )
    width = settings.width or max(4, settings.vector_bits // widest_type(kernel.body, find_facts(kernel.body)).bits)
    return replace(kernel, lanes=LaneShape(width, unroll, size <= settings.peel_limit))


def has_long_rows(stms: tuple[KStm, ...]) -> bool:
    """Whether threads read or write rows whose columns are independent work enough."""
    rows = [(s.array, len(s.vars)) for s in all_statements(stms) if isinstance(s, LoadRow)]
    rows += [(s.array, len(s.values)) for s in all_statements(stms) if isinstance(s, StoreRow)]
    return any(length >= (LONG_ROW_OF_BYTES if array.prim.bytes == 1 else LONG_ROW) for array, length in rows)


def accumulates(stms: tuple[KStm, ...]) -> bool:
    """Whether threads loop with accumulators, whose operations wait for each other, but not with too many of them for
    the registers."""
    loops = [s for s in statements(stms) if isinstance(s, Threads | PeeledThreads)]
    counts = [sum(isinstance(s, Declare) for s in statements(loop.body)) for loop in loops]
    return 0 < max(counts, default=0) <= MOST_ACCUMULATORS


def fitted(kernel: Kernel, registers: int, most: int) -> Kernel:
    """The kernel for a processor with `registers` bytes of vector registers, which has truth values for up to `most`
    lanes in one: with no more lanes, unless they are combined and do not branch (more have bytes alone, no result
    depends on that); with as many groups at once as leave room for the accumulators of their loops and for what they
    scan, as it is where results depend on how many there are."""
    if kernel.lanes is None:
        return kernel
    combined = depends_on_lanes(kernel)
    many = kernel.lanes.width > most and (branches(kernel) or not combined)
    lanes = replace(kernel.lanes, width=most) if many else kernel.lanes
    if lanes.unroll == 1 or (combined and not combines_exactly(kernel)):
        return replace(kernel, lanes=lanes)
    loops = (s for s in statements(kernel.body) if isinstance(s, Threads | PeeledThreads) and not combined)
    each = max(map(_accumulator_bytes, loops), default=0)
    groups = (registers - registers // OPERANDS) // max(1, each * lanes.width)
    scanned = max((_element_bytes(s) for s in statements(kernel.body) if isinstance(s, BlockScan)), default=0)
    groups = max(1, min(lanes.unroll, groups, registers // SCANNED // max(1, scanned * lanes.width)))
    groups = 1 << groups.bit_length() - 1 if combined else groups  # what is combined in order is halved
    return replace(kernel, lanes=replace(lanes, unroll=groups))


def branches(kernel: Kernel) -> bool:
    """Whether lanes go different ways, or truth values of theirs go from one round of a loop to the next. What a scan
    keeps is moved, not branched for. Of a choice of the block its first side counts, if it has lanes: the other one is
    for what is short, as rows that are all ends."""
    facts = find_facts(kernel.body)

    def usual(stms: tuple[KStm, ...]) -> Iterator[KStm]:
        for stm in stms:
            match stm:
                case KIf(cond, then, _) if not facts.varies(cond) and any(map(_has_lanes, all_statements(then))):
                    yield from usual(then)
                case BlockScan() if kept_stores(stm) is not None:
                    yield from usual(stm.body)
                case _:
                    yield stm
                    for inner in children(stm):
                        yield from usual(inner)

    def carries_truth(stm: KStm) -> bool:
        return isinstance(stm, Assign) and stm.var.prim is Prim.BOOL and facts.varies(stm.var)

    return any(
        facts.varies(stm.bound if isinstance(stm, For) else stm.cond) or any(map(carries_truth, all_statements((stm,))))
        for stm in usual(kernel.body)
        if isinstance(stm, For | KIf | KWhile)
    )


def _has_lanes(stm: KStm) -> bool:
    return isinstance(stm, Threads | PeeledThreads | BlockReduce | BlockScan)


def depends_on_lanes(kernel: Kernel) -> bool:
    """Whether results depend on the order in which elements come, or on how many lanes there are."""
    return any(operators(stm) or isinstance(stm, Atomic) for stm in statements(kernel.body))


def combines_exactly(kernel: Kernel) -> bool:
    """Whether operators round nothing, so that elements may be combined in any groups: they compare floats and choose
    among them, and compute with numbers of other types."""
    code = (s for stm in statements(kernel.body) for op in operators(stm) for s in all_statements(op.body))
    rhs = (s.rhs for s in code if isinstance(s, KLet))
    adds = (s.prim.is_float for s in statements(kernel.body) if isinstance(s, Atomic))
    return not any(adds) and all(isinstance(x, KOp) and (not x.prim.is_float or x.op in CHOICES) for x in rhs)


def _element_bytes(scan: BlockScan) -> int:
    """Of an element of several numbers that is scanned; what a filter counts has no lanes."""
    kept = kept_stores(scan)
    found = [x.prim.bytes for k, x in enumerate(scan.scanned) if kept is None or k != kept.component]
    return sum(found) if len(found) > 1 else 0


def _accumulator_bytes(loop: Threads | PeeledThreads) -> int:
    """Of the variables that loops of a thread assign."""
    inner = (s for stm in statements(loop.body) if isinstance(stm, For) for s in statements(stm.body))
    return sum(var.prim.bytes for var in {s.var for s in inner if isinstance(s, Assign)})


def body_size(stms: tuple[KStm, ...]) -> int:
    """Statements of the largest loop over threads, those of operators among them."""
    loops = (s for s in statements(stms) if isinstance(s, (Threads, PeeledThreads, BlockReduce, BlockScan)))
    return max((sum(1 for _ in all_statements((loop,))) - 1 for loop in loops), default=0)
