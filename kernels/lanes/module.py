"""Kernels to LLVM IR, in lanes: the threads of a block are vector lanes (the SPMD-on-SIMD scheme of ISPC).

`emit` gives the text of one module. Each kernel is a function `void kernel.name(ptr args, i64 b0, i64 b1, i64 worker)`
that runs the blocks b0 <= b < b1; `args` is a table of 8-byte slots: the failure record (`checks.py`), the arena
table, the arrays in order, the scalars in order, each scalar stored at its own width at the start of its slot. The
arena table holds for each worker three words: base address, bytes already in use (0), size in bytes.

Code outside of `Threads` is scalar. A `Threads` loop runs groups of `width * unroll` lanes without a mask, then the
rest under one. Both numbers are fixed by the kernel and the settings, never by the machine's load, and there are no
fast-math flags: the same bits for any number of workers.

The parts: `llvm/text.py` (text), `values.py` (values, masks, the emitter's state), `analysis/uniformity.py` (what
varies), `llvm/ops.py`, `llvm/integers.py`, `llvm/convert.py`, `mathlib` (operations), `memory.py`, `prefetch.py`,
`flags.py`, `checks.py`, `control.py`, `collectives.py`, `row_scans.py`, `statements.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...ir.types import Prim
from ..analysis.uniformity import find_facts
from ..kernel_ir.nodes import (
    Atomic,
    BlockReduce,
    BlockScan,
    Declare,
    For,
    KArray,
    KConvert,
    Kernel,
    KIf,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    KWhile,
    Publish,
    RowScan,
    Store,
    StoreTile,
    Threads,
)  # fmt: skip
from ..llvm.text import Code, Module, llvm_type, memory_type
from ..passes.flat_row_scans import with_row_scans
from ..passes.if_convert import with_selects
from ..passes.narrow_argreduce import with_places
from ..passes.nontemporal_stores import FAR, streamed
from ..passes.peel_boundaries import cut_ends
from ..passes.scalarise_row_walks import with_rows_in_turn
from ..passes.split_varying_reductions import with_varying_rows
from ..passes.tile_rows import in_tiles
from .checks import from_memory
from .statements import statements
from .values import Lanes, Place, Uniform

MOST_ACCUMULATORS = 12
"""Accumulators of a thread of which two groups still find registers."""
LIGHT = 24
"""Statements of a loop over rows in tiles that waits for memory alone: more groups at once would only touch more lines
of the same sets of the cache."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """How wide code is. `vector_bits` is what one register holds (more than the machine has is fine);
    `width` and `unroll` override the choice made for each kernel; bodies of more than `peel_limit` statements are
    emitted once, under a mask, instead of twice."""

    vector_bits: int = 512
    width: int | None = None
    unroll: int | None = None
    peel_limit: int = 500


@dataclass(frozen=True, slots=True)
class Shape:
    """The lanes of one kernel: `unroll` vectors at once where that many are left; `peeled`: full ones without a mask;
    `singles`: what is left, as far as it is full vectors, without one too."""

    width: int
    unroll: int
    peeled: bool
    singles: bool


def emit(kernels: tuple[Kernel, ...], settings: LaneSettings) -> str:
    """The module of all kernels, as text."""
    module = Module()
    texts = [_kernel(module, *_shaped(kernel, settings), streamed(kernel)) for kernel in kernels]
    return "\n".join([module.text(), *texts, MODULE_END])


MODULE_END = """\
attributes #0 = { nounwind "no-trapping-math"="true" "prefer-vector-width"="512" }
attributes #1 = { nounwind willreturn memory(none) }
attributes #2 = { noinline nounwind "no-trapping-math"="true" "prefer-vector-width"="512" }
!0 = !{!"branch_weights", i32 1, i32 1000000}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = !{i32 1}
"""


def _shaped(kernel: Kernel, settings: LaneSettings) -> tuple[Kernel, Shape]:
    """A kernel as it is printed. The middle of a row is seldom full groups: what is left of one is full vectors too."""
    cut = cut_ends(kernel)
    made = with_places(with_selects(cut))
    shape = shape_of(made, settings)
    return made, replace(shape, singles=shape.singles or (cut is not kernel and shape.unroll > 1))


# ---- one kernel --------------------------------------------------------------------------------------------------


def _kernel(module: Module, kernel: Kernel, shape: Shape, streams: frozenset[KArray]) -> str:
    """The entry, which unpacks the slots, and the function that does the work; a second one that writes past the
    caches. Not in one, since parameters can say that arrays do not overlap."""
    kernel = with_varying_rows(with_rows_in_turn(with_row_scans(kernel)), shape.width)
    tiled = in_tiles(kernel, shape.width)
    if tiled is not kernel and body_size(kernel.body) <= LIGHT:
        shape = replace(shape, unroll=1, singles=False)
    near, _ = _working(module, tiled, shape, frozenset())
    far, past = _working(module, tiled, shape, streams) if FAR in kernel.scalars else ("", False)
    return near + (far if past else "") + _entry(module, tiled, past)


def _working(module: Module, kernel: Kernel, shape: Shape, streams: frozenset[KArray]) -> tuple[str, bool]:
    """The function that runs blocks. What it writes past the caches, if it does, others see when it is done."""
    e = Lanes(Code(module), kernel, find_facts(kernel), shape.width, shape.unroll, shape.peeled, shape.singles)
    e.streams = streams
    params = _bind_parameters(e)
    _block_loop(e)
    head = f"define internal void @{_working_function(kernel, e.streamed)}({params}) #2"
    return f"{head} {{\nentry:\n{e.code.text()}}}\n", e.streamed


def symbol_of(name: str) -> str:
    """The symbol of a kernel: apart from those of the C library."""
    return f"kernel.{name}"


def _working_function(kernel: Kernel, far: bool) -> str:
    return f'"{symbol_of(kernel.name)}.{"far" if far else "blocks"}"'


def _bind_parameters(e: Lanes) -> str:
    """Arrays and scalars as parameters of the working function."""
    written = written_arrays(e.kernel.body)
    listed = ["ptr noalias %record", "ptr noalias %arena", "i64 %arena.used", "i64 %arena.size", "i64 %b0", "i64 %b1"]
    for k, array in enumerate(e.kernel.arrays):
        e.places[array] = Place(f"%a{k}", 0, None)
        listed.append(f"ptr noalias{'' if array in written else ' readonly'} %a{k}")
    for k, var in enumerate(e.kernel.scalars):
        e.env[var.name] = Uniform(var.prim, f"%x{k}")
        listed.append(f"{llvm_type(var.prim)} %x{k}")
    return ", ".join(listed)


def _block_loop(e: Lanes) -> None:
    code = e.code
    code.entry.append("  %arena.top = alloca i64, align 8")
    block = code.slot("i64", 8)
    code.do("store i64 %arena.used, ptr %arena.top")
    code.do(f"store i64 %b0, ptr {block}")
    code.jump("head")
    code.label("head")
    b = code.op(f"load i64, ptr {block}")
    code.branch(code.op(f"icmp slt i64 {b}, %b1"), "block", "end")
    code.label("block")
    e.env[e.kernel.block.name] = Uniform(Prim.I64, b)
    statements(e, e.kernel.body)
    code.do(f"store i64 {code.op(f'add i64 {b}, 1')}, ptr {block}")
    code.jump("head")
    code.label("end")
    if e.streamed:
        code.do("fence seq_cst")
    code.do("ret void")


def _entry(module: Module, kernel: Kernel, past: bool) -> str:
    code = Code(module)
    e = Lanes(code, kernel, find_facts(kernel), 2, 1, False, False)
    record, table = (_slot(code, "ptr", k) for k in (0, 1))
    worker = code.op(f"getelementptr {{ptr, i64, i64}}, ptr {table}, i64 %worker")
    used = code.op(f"getelementptr i64, ptr {worker}, i64 1")
    size = code.op(f"getelementptr i64, ptr {worker}, i64 2")
    args = [("ptr", record), ("ptr", code.op(f"load ptr, ptr {worker}"))]
    args += [("i64", code.op(f"load i64, ptr {p}")) for p in (used, size)]
    args += [("i64", "%b0"), ("i64", "%b1")]
    args += [("ptr", _slot(code, "ptr", 2 + k)) for k in range(len(kernel.arrays))]
    for k, var in enumerate(kernel.scalars, 2 + len(kernel.arrays)):
        args.append((llvm_type(var.prim), from_memory(e, var.prim, _slot(code, memory_type(var.prim), k))))
    if past:
        code.branch(args[-1][1], "far", "near")
        code.label("far")
        code.call_void(_working_function(kernel, True), tuple(args))
        code.do("ret void")
        code.label("near")
    code.call_void(_working_function(kernel, False), tuple(args))
    code.do("ret void")
    head = f'define void @"{symbol_of(kernel.name)}"(ptr readonly %args, i64 %b0, i64 %b1, i64 %worker) #0'
    return f"{head} {{\nentry:\n{code.text()}}}\n"


def _slot(code: Code, type_: str, index: int) -> str:
    return code.op(f"load {type_}, ptr {code.op(f'getelementptr i64, ptr %args, i64 {index}')}")


# ---- what a kernel does ------------------------------------------------------------------------------------------


def inner(stm: KStm) -> tuple[tuple[KStm, ...], ...]:
    """The statement lists inside a statement."""
    match stm:
        case KIf(_, then, orelse):
            return then, orelse
        case For(_, _, body) | Threads(_, _, _, body):
            return (body,)
        case KWhile(before, _, body):
            return before, body
        case BlockReduce():
            return stm.body, stm.op.body
        case BlockScan() | RowScan():
            return stm.body, stm.op.body, stm.after
        case _:
            return ()


def all_statements(stms: tuple[KStm, ...]) -> list[KStm]:
    """All statements, at any depth."""
    found: list[KStm] = []
    pending = [stms]
    while pending:
        for stm in pending.pop():
            found.append(stm)
            pending += inner(stm)
    return found


def written_arrays(stms: tuple[KStm, ...]) -> frozenset[KArray]:
    return frozenset(s.array for s in all_statements(stms) if isinstance(s, (Store, StoreTile, Atomic, Publish)))


def shape_of(kernel: Kernel, settings: LaneSettings) -> Shape:
    """The lanes of a kernel: a register of the widest type that it computes with; more groups for small bodies, where
    one hides the latency of the other."""
    size = body_size(kernel.body)
    unroll = settings.unroll or (4 if size <= 50 else 2 if size <= (200 if accumulates(kernel.body) else 100) else 1)
    width = settings.width or max(4, settings.vector_bits // widest_type(kernel).bits)
    return Shape(width, unroll, size <= settings.peel_limit, unroll > 1 and accumulates(kernel.body))


def accumulates(stms: tuple[KStm, ...]) -> bool:
    """Whether threads loop with accumulators, whose operations wait for each other, but not with too many of them for
    the registers."""
    loops = [s for s in all_statements(stms) if isinstance(s, Threads)]
    counts = [sum(isinstance(s, Declare) for s in all_statements(loop.body)) for loop in loops]
    return 0 < max(counts, default=0) <= MOST_ACCUMULATORS


def body_size(stms: tuple[KStm, ...]) -> int:
    """Statements of the largest loop over threads."""
    loops = [s for s in all_statements(stms) if isinstance(s, (Threads, BlockReduce, BlockScan))]
    return max((sum(len(all_statements(body)) for body in inner(loop)) for loop in loops), default=0)


def widest_type(kernel: Kernel) -> Prim:
    """The widest float that is computed with; without floats, the widest integer but for 64-bit arithmetic, which is
    mostly of indices, and of those LLVM makes two vectors."""
    used: set[Prim] = set()
    for stm in all_statements(kernel.body):
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
