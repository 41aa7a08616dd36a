"""Kernels as CUDA C: one function for each, over `cuda_prelude.h`.

A block is `BLOCK.threads` threads. What is uniform every thread computes for itself, what writes memory outside of
threads the first one does (`kernels/kernel_ir/execution.py`); `Threads` is a loop of the block's threads in steps of
their number; `Fence` is a barrier; collectives are in `collectives.py`. A failing check records itself and ends the
thread; the others end at their next barrier. Arrays of a block that have no size known beforehand are taken from a
stack (`Stack`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files

from ...ir.core import Level
from ...ir.machine import BLOCK, WARP
from ...ir.types import Const, Prim
from ..analysis.stack_sizes import StackSizes, takes_stack
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Poly
from ..kernel_ir.execution import Who, published, solo, written_arrays
from ..kernel_ir.fragments import INSTRUCTIONS, MATRICES
from ..kernel_ir.nodes import KArray, Kernel, KStm, Space
from ..kernel_ir.shared_stack import is_static, word_bytes
from ..kernel_ir.traverse import names_in, statements
from .collectives import block_reduce, block_scan, in_order
from .inline_expressions import bare, number, readable, right_hand_side
from .names import KEYWORDS, WORD
from .narrow_indices import Narrowed, narrow_indices
from .ops import LIBRARY, c_type, operand
from .ordered_collectives import goes_staged, staged_reduce, staged_scan
from .text import (
    STACKS,
    Printer,
    after_loop,
    alloc,
    apart_if,
    barrier,
    barrier_lines,
    by,
    can_fail,
    check,
    may_lack,
    meets,
    only,
    place_text,
    printable,
    statements_text,
    tears,
    threads_loop,
)
from .threads import atomic, broadcast, for_threads

WARPS = 4
"""Of a block of threads, where a warp is the kernel's block: a multiprocessor takes 32 blocks, and 64 warps."""
WARPS_BYTES = 16 << 10
"""Shared memory that the arrays of constant size of all these may have."""
REGISTERS, BESIDE, NEAR = 1 << 16, 38, 6
"""Of a multiprocessor; of a thread, beside those of its arrays and a third as many for operands; for places in the
shared memory of the block, whose arrays are taken there one after the other."""
WIDTH = 110


def prelude() -> str:
    """The text of `prelude.h`, which every module begins with, with the layouts of fragments."""
    text = (files(__name__.rpartition(".")[0]) / "prelude.h").read_text(encoding="utf-8")
    return text.replace("// MMA\n", "".join(map(_product, INSTRUCTIONS)) + "".join(map(_matrices, INSTRUCTIONS)))


def _product(prim: Prim) -> str:
    """`mma` for elements of a type where there is no such instruction."""
    layouts = INSTRUCTIONS[prim].layouts
    tables = {role.value: (*layout.lanes, *layout.registers) for role, layout in layouts.items()}
    shown = {name: ", ".join(f"{{{row}, {column}}}" for row, column in table) for name, table in tables.items()}
    lines = [f"  const Led {name}[] = {{{text}}};" for name, text in shown.items()]
    head = f"DEVICE void mma(f32 *d, const {c_type(prim)} *a, const {c_type(prim)} *b) {{"
    call = f"  mma<{INSTRUCTIONS[prim].depth}>(d, a, b, {', '.join(tables)});"
    return "\n".join((head, *lines, call, "}\n"))


def _matrices(prim: Prim) -> str:
    """`load_matrices` for elements of a type, likewise."""
    layout, t = MATRICES[prim.bytes], c_type(prim)
    table = ", ".join(f"{{{row}, {column}}}" for row, column in (*layout.lanes, *layout.registers))
    head = f"template <bool across, i32 n> DEVICE void load_matrices({t} (&held)[n], const {t} *row) {{"
    return f"{head}\n  const Led bits[] = {{{table}}};\n  take_matrices<across>(held, row, bits);\n}}\n"


@cache
def prelude_names() -> frozenset[str]:
    """The functions, types and constants of the prelude."""
    kinds = r"DEVICE [^(;{]*?(\w+)\(|struct (?:alignas\([^)]*\)+ )?(\w+)|typedef [^;]*?(\w+);|constexpr \w+ (\w+)"
    found = re.findall(kinds + r"|, ([A-Z]+) = [-\w]+", prelude())
    return frozenset(name for names in found for name in names if name)


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel's text. If blocks `take_turns`, a grid of any number of blocks does the work of all; with `stacks` they
    must, for each needs memory, but where that is shared memory alone. `threads` are those of a kernel's block, of
    which a block of threads has `together`. `fails`: it may. `near`: it is for launches whose arrays of a block are
    all in shared memory. `bound`: what is at most `LIMIT` of a launch, for its indices are of 32 bits."""

    name: str
    text: str
    threads: int
    together: int
    take_turns: bool
    fails: bool
    stacks: frozenset[Space]
    near: bool
    bound: Poly


class Grid(Enum):
    """A block of threads for each block of the kernel, or blocks of threads that go on to further ones."""

    WHOLE = "whole"
    TURNS = "turns"


def cuda_module(kernels: Iterable[CudaKernel]) -> str:
    """The text of a module with all kernels."""
    return "\n".join([prelude(), *(kernel.text for kernel in kernels)])


def cuda_kernel(
    kernel: Kernel,
    threads: int = BLOCK.threads,
    first_site: int = 0,
    grid: Grid = Grid.WHOLE,
    wide: bool = False,
    far: bool = False,
) -> CudaKernel:
    """`extern "C" __global__ void NAME(failures, before, blocks, memory, arrays, scalars)` for blocks of
    `threads` threads, of a kernel that has its fences; where the kernel's block is a warp, they have several. Failure
    sites are recorded by numbers from `first_site` on. Blocks that wait for each other do not take turns. `wide`:
    indices have 64 bits whatever they are. `far`: arrays of the block may be in global memory; else they are in shared
    memory, by instructions that are for it alone, where a launch tells how much they take."""
    warps = warps_together(kernel, threads) if kernel.collective is Level.WARP else 0
    threads = WARP.threads if warps else threads
    if any(isinstance(s, kir.WarpTurns) for s in statements(kernel.body)):  # it has histograms of that many warps
        threads = min(threads, BLOCK.threads)
    waits = any(isinstance(s, (kir.WaitFor, kir.LookBack)) for s in statements(kernel.body))
    narrowed = Narrowed(kernel, ()) if wide else narrow_indices(kernel)
    shown = readable(narrowed.kernel, prelude_names())
    names = {word for name in names_in(shown) for word in WORD.findall(name)} | prelude_names() | KEYWORDS | LIBRARY
    stacks = frozenset(space for space in STACKS if takes_stack(kernel, space))
    known = frozenset(space for space in stacks if StackSizes.of(kernel).tells(space))
    enough = known - {Space.SHARED} if far else known
    near = Space.SHARED in enough
    p = Printer(shown, threads, plain_statements, first_site)
    p.names, p.waits, p.stacks, p.enough, p.warps = names, waits, stacks, enough, warps
    p.word, p.beside = word_bytes(shown.body), WARP.threads if threads % WARP.threads == 0 else 1
    p.torn = meets(shown.body) and (waits or tears(p, shown.body))
    head = _head(p)
    statements_text(p, p.kernel.body, Who.EVERY)
    in_memory = not stacks <= ({Space.SHARED} if near else set())
    turns = in_memory or (grid is Grid.TURNS and not waits)
    text = "\n".join([*head, *_setup(p), *(_in_turns(p) if turns else _one_block(p)), "}", ""])
    return CudaKernel(kernel.name, text, threads, max(1, warps), turns, can_fail(p), stacks, near, narrowed.bound)


def warps_together(kernel: Kernel, threads: int) -> int:
    """How many warps a block of about `threads` threads has, each the kernel's block."""
    allocs = (s for s in statements(kernel.body) if isinstance(s, kir.Alloc))
    arrays = (s for s in allocs if s.array.space is Space.SHARED and is_static(s) and isinstance(s.count, Const))
    size = sum(int(s.count.value) * s.array.prim.bytes for s in arrays if isinstance(s.count, Const))
    return max(1, min(WARPS, threads // WARP.threads, WARPS_BYTES // max(1, size)))


def _head(p: Printer) -> list[str]:
    kernel = p.kernel
    written = {array.name for array in written_arrays(kernel)}
    params = ["u64 *failures", "const u64 *before", "i64 blocks", "Memory memory"]
    alone = {array.name: "__restrict__ " for array in {*kernel.arrays} - between_blocks(kernel)}
    params += [
        f"{'' if a.name in written else 'const '}{c_type(a.prim)} *{alone.get(a.name, '')}{a.name}"
        for a in kernel.arrays
    ]
    params += [f"{c_type(v.prim)} {v.name}" for v in kernel.scalars]
    notes = [stm.what for stm in kernel.body if isinstance(stm, kir.Note)]
    place = [place_text(what) for what in notes[:1] if not isinstance(what, str)]
    p.noted = place[0] if place else ""
    how = (f"// {what}" for what in notes if isinstance(what, str))
    lines = [*place, *how, *(f"// may fail at {where}" for where in _places(kernel))]
    lines.append(f'extern "C" __global__ void __launch_bounds__({launch_bounds(p)})')
    text = f"{kernel.name}({params[0]}"
    for param in params[1:]:
        text += f",\n    {param}" if len(text.rpartition("\n")[2]) + len(param) > WIDTH else f", {param}"
    return [*lines, text + ") {"]


def launch_bounds(p: Printer) -> str:
    """The threads of a block; where arrays are in registers, the blocks too that a multiprocessor is to hold, which the
    assembler would give up for a register more."""
    threads = p.threads * max(1, p.warps)
    own = [s for s in statements(p.kernel.body) if isinstance(s, kir.Distribute)]
    words = sum(-(-s.threads // p.threads) * s.count * max(4, s.array.prim.bytes) // 4 for s in own)
    each = words + words // 3 + BESIDE + NEAR * (Space.SHARED in p.enough) if own else 0
    blocks = REGISTERS // (threads * each) if each else 0
    return f"{threads}, {blocks}" if blocks > 1 else f"{threads}"


def between_blocks(kernel: Kernel) -> frozenset[KArray]:
    """The arrays that blocks of one launch show each other: flags, what they speak of, what is updated atomically.
    That nothing else reads or writes them (`__restrict__`) would let accesses move across those that order them."""
    found = set(published(kernel))
    for stm in statements(kernel.body):
        match stm:
            case kir.Publish(array) | kir.WaitFor(_, array) | kir.Atomic(_, _, array):
                found.add(array)
            case kir.LookBack(words=words):
                found.add(words)
            case _:
                pass
    return frozenset(found)


def _places(kernel: Kernel) -> list[str]:
    """Where in the source its checks stand."""
    found = {f"{site.loc.file}:{site.loc.line}:{site.loc.col}: {site.code}": None for site in kernel.sites}
    return [printable(place) for place in found]


def _setup(p: Printer) -> list[str]:
    """After a failure, of a kernel before it too, no thread begins: what a check was to ensure may not hold."""
    lines: list[str] = ["  if (has_failed(before)) return;"]
    if can_fail(p) and meets(
        p.kernel.body
    ):  # then other blocks of the launch may fail, and no thread is to begin alone
        vote = "__any_sync(WHOLE_WARP, has_failed(before))" if p.warps else "__syncthreads_or(has_failed(before))"
        lines = [f"  if (before != nullptr && {vote}) return;"]
    if p.torn:
        lines.append("  bool failed = false;")
    if Space.SHARED in p.stacks:
        near = not may_lack(p, Space.SHARED)
        kind, name = ("i32", "near_stack") if near else ("Stack", "block_stack")
        place = "memory" if near else "memory, shared_memory"
        lines += ["  DYNAMIC_SHARED_MEMORY;", f"  {kind} stack = {name}<{p.threads}>({place});"]
    if Space.PRIVATE in p.stacks:
        lines.append(f"  OwnStack own = thread_stack<{p.threads}, {p.word}, {p.beside}>(memory);")
    if p.half:
        lines.append(f"  i32 {p.half} = 0;")
    return lines


def _one_block(p: Printer) -> list[str]:
    """A block of threads for each block."""
    block, kind = p.kernel.block.name, c_type(p.kernel.block.prim)
    there = [f"  if ({block} >= blocks) return;"] if p.warps else []
    return [f"  const {kind} {block} = {number_of(p)};", *there, *p.lines]


def number_of(p: Printer) -> str:
    """The number of the kernel's block."""
    return f"collective<{p.threads}>()" if p.warps else "blockIdx.x"


def _in_turns(p: Printer) -> list[str]:
    """As many blocks of threads as there are take turns; shared memory is the next one's when all threads are done."""
    shares = any(isinstance(s, kir.Alloc) and s.array.space is Space.SHARED for s in statements(p.kernel.body))
    block, kind = p.kernel.block.name, c_type(p.kernel.block.prim)
    step = f"gridDim.x * {p.warps}" if p.warps else "gridDim.x"
    head = f"  for ({kind} {block} = {number_of(p)}; {block} < blocks; {block} += {step}) {{"
    end = [*(f"    {line}" for line in barrier_lines(p) if shares or meets(p.kernel.body)), "  }"]
    return [head, *(f"  {line}" for line in p.lines), *end]


# ---- statements --------------------------------------------------------------------------------------------------


def plain_statements(p: Printer, stms: tuple[KStm, ...], who: Who) -> None:
    """A list without its stack scope; what writes memory as a whole loop or branch is the first thread's."""
    for stm in stms:
        if who is Who.EVERY and solo(stm):
            _leader(p, stm)
        else:
            statement(p, stm, who)


def statement(p: Printer, stm: KStm, who: Who) -> None:
    """The text of one statement for those who execute it; what lanes have no form for is in `threads.py`."""
    match stm:
        case kir.KLet(var, rhs):
            kind = "" if var.name in p.declared else f"const {c_type(var.prim)} "
            p.line(f"{kind}{var.name} = {right_hand_side(rhs)};")
        case kir.Declare(var, init):
            kind = "" if var.name in p.declared else f"{c_type(var.prim)} "
            p.line(f"{kind}{var.name} = {bare(init)};")
        case kir.Assign(var, value):
            p.line(f"{var.name} = {bare(value)};")
        case kir.Store(array, index, value):
            by(p, who, f"{array.name}[{bare(index)}] = {bare(value)};")
        case kir.Atomic():
            atomic(p, stm, who)
        case kir.Alloc():
            alloc(p, stm, who)
        case kir.Check(ok, site, values):
            check(p, operand(ok), site, values, who)
        case kir.BoundsCheck(index, size, site, values):
            word = "u32" if {index.prim, size.prim} == {Prim.I32} else "u64"
            check(p, f"({word}){operand(index)} < ({word}){operand(size)}", site, values, who)
        case kir.KIf(cond, then, orelse):
            loose = p.loose
            with p.block(f"if ({bare(cond)})"):
                p.alone = only(then)
                statements_text(p, then, who)
            loose, p.loose = p.loose, loose
            if orelse:
                with p.block("else"):
                    p.alone = only(orelse)
                    statements_text(p, orelse, who)
            p.loose = p.loose or loose
        case kir.For(index, bound, body, unroll):
            i, p.loose = index.name, p.loose or (p.torn and who is Who.EVERY and tears(p, body))
            if unroll > 1:
                p.line(f"#pragma unroll {unroll}")
            with p.block(f"for ({c_type(index.prim)} {i} = 0; {i} < {number(operand(bound))}; {i}++)"):
                statements_text(p, body, who)
            after_loop(p, body, who)
        case kir.KWhile(before, cond, body):
            p.loose = p.loose or (p.torn and who is Who.EVERY and tears(p, (*before, *body)))
            with p.block("while (true)"):
                statements_text(p, before, who)
                p.line(f"if (!{operand(cond)}) break;")
                statements_text(p, body, who)
            after_loop(p, (*before, *body), who)
        case kir.Threads(body=body):
            with threads_loop(p, stm):
                statements_text(p, body, Who.EACH)
        case kir.BlockReduce():
            block_reduce(p, stm, staged_reduce if goes_staged(p, stm) else in_order)
        case kir.BlockScan():
            (staged_scan if goes_staged(p, stm) else block_scan)(p, stm)
        case kir.Fence():
            barrier(p)
        case _:
            for_threads(p, stm, who)


def _leader(p: Printer, stm: KStm) -> None:
    """The first thread alone; the variables that it assigns are the block's again at the end."""
    inside = {s.var for s in statements((stm,)) if isinstance(s, kir.Declare)}
    assigned = {s.var for s in statements((stm,)) if isinstance(s, kir.Assign)} - inside
    with apart_if(p, f"{p.me} == 0", (stm,)):
        statement(p, stm, Who.LEADER)
    for var in sorted(assigned, key=lambda v: v.name):
        broadcast(p, var)
