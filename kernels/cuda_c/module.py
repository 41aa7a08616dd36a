"""Kernels as CUDA C: one function for each, over `cuda_prelude.h`.

A block is `THREADS` threads. What is uniform every thread computes for itself, what writes memory outside of threads
the first one does (`kernels/kernel_ir/execution.py`); `Threads` is a loop of the block's threads in steps of their
number; `Fence` is a barrier; collectives are in `collectives.py`. A failing check records itself and ends the thread;
the others end at their next barrier. Arrays of a block that have no size known beforehand are taken from a stack
(`Stack`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files

from ...ir.core import Level
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who, solo, statements, written_arrays
from ..kernel_ir.nodes import Kernel, KStm
from .collectives import WARP, block_reduce, block_scan, in_order
from .inline_expressions import bare, number, readable, right_hand_side
from .names import KEYWORDS, WORD, names_in
from .ops import LIBRARY, c_type, operand
from .ordered_collectives import goes_staged, staged_reduce, staged_scan
from .text import (
    Printer,
    alloc,
    barrier,
    by,
    can_fail,
    check,
    only,
    place_text,
    printable,
    statements_text,
    threads_loop,
)
from .threads import atomic, broadcast, for_threads

THREADS = 256
WIDTH = 110


def prelude() -> str:
    return (files(__name__.rpartition(".")[0]) / "prelude.h").read_text(encoding="utf-8")


@cache
def prelude_names() -> frozenset[str]:
    """The functions, types and constants of the prelude."""
    kinds = r"DEVICE [^(;{]*?(\w+)\(|struct (?:alignas\([^)]*\)+ )?(\w+)|typedef [^;]*?(\w+);|constexpr \w+ (\w+)"
    found = re.findall(kinds + r"|, ([A-Z]+) = [-\w]+", prelude())
    return frozenset(name for names in found for name in names if name)


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel's text. If blocks `take_turns`, a grid of any number of blocks does the work of all; with a `stack`
    they must, for each needs memory."""

    name: str
    text: str
    threads: int
    take_turns: bool
    stack: bool


class Grid(Enum):
    """A block of threads for each block of the kernel, or blocks of threads that go on to further ones."""

    WHOLE = "whole"
    TURNS = "turns"


def cuda_module(kernels: Iterable[CudaKernel]) -> str:
    """The text of a module with all kernels."""
    return "\n".join([prelude(), *(kernel.text for kernel in kernels)])


def cuda_kernel(kernel: Kernel, threads: int = THREADS, first_site: int = 0, grid: Grid = Grid.WHOLE) -> CudaKernel:
    """`extern "C" __global__ void NAME(failures, blocks, memory, arrays, scalars)` for blocks of so many threads, of a
    kernel that has its fences; one whose collective is a warp has blocks of one. Failure sites are recorded by numbers
    from `first_site` on. Blocks that wait for each other do not take turns."""
    threads = WARP if kernel.collective is Level.WARP else threads
    if any(isinstance(s, kir.WarpTurns) for s in statements(kernel.body)):  # it has so many warps' histograms
        threads = min(threads, THREADS)
    waits = any(isinstance(s, (kir.WaitFor, kir.LookBack)) for s in statements(kernel.body))
    shown = readable(kernel, prelude_names())
    names = {word for name in names_in(shown) for word in WORD.findall(name)} | prelude_names() | KEYWORDS | LIBRARY
    p = Printer(shown, threads, plain_statements, first_site, names=names, waits=waits)
    head = _head(p)
    statements_text(p, p.kernel.body, Who.EVERY)
    turns = p.used_stack or (grid is Grid.TURNS and not waits)
    text = "\n".join([*head, *_setup(p), *(_in_turns(p) if turns else _one_block(p)), "}", ""])
    return CudaKernel(kernel.name, text, threads, turns, p.used_stack)


def _head(p: Printer) -> list[str]:
    kernel = p.kernel
    written = {array.name for array in written_arrays(kernel)}
    params = ["u64 *failures", "i64 blocks", "Memory memory"]
    params += [f"{'' if a.name in written else 'const '}{c_type(a.prim)} *__restrict__ {a.name}" for a in kernel.arrays]
    params += [f"{c_type(v.prim)} {v.name}" for v in kernel.scalars]
    notes = [stm.what for stm in kernel.body if isinstance(stm, kir.Note)]
    place = [place_text(what) for what in notes[:1] if not isinstance(what, str)]
    p.noted = place[0] if place else ""
    how = (f"// {what}" for what in notes if isinstance(what, str))
    lines = [*place, *how, *(f"// may fail at {where}" for where in _places(kernel))]
    lines.append(f'extern "C" __global__ void __launch_bounds__({p.threads})')
    text = f"{kernel.name}({params[0]}"
    for param in params[1:]:
        text += f",\n    {param}" if len(text.rpartition("\n")[2]) + len(param) > WIDTH else f", {param}"
    return [*lines, text + ") {"]


def _places(kernel: Kernel) -> list[str]:
    """Where in the source its checks stand."""
    found = {f"{site.loc.file}:{site.loc.line}:{site.loc.col}: {site.code}": None for site in kernel.sites}
    return [printable(place) for place in found]


def _setup(p: Printer) -> list[str]:
    """After a failure, of a kernel before it too, nobody begins: what a check was to ensure may not hold."""
    lines: list[str] = ["  if (has_failed(failures)) return;"]
    if can_fail(p):
        failed = ["  __shared__ i32 failed;", "  if (threadIdx.x == 0) failed = has_failed(failures);"]
        lines = [*failed, "  __syncthreads();", "  if (failed) return;"]
    if p.used_stack:
        lines += [
            "  DYNAMIC_SHARED_MEMORY;",
            "  Stack stack = block_stack(memory, shared_memory), own = thread_stack(memory);",
        ]
    if p.half:
        lines.append(f"  i32 {p.half} = 0;")
    return lines


def _one_block(p: Printer) -> list[str]:
    """A block of threads for each block."""
    return [f"  const i64 {p.kernel.block.name} = blockIdx.x;", *p.lines]


def _in_turns(p: Printer) -> list[str]:
    """As many blocks of threads as there are take turns; shared memory is the next one's when all threads are done."""
    block = p.kernel.block.name
    head = f"  for (i64 {block} = blockIdx.x; {block} < blocks; {block} += gridDim.x) {{"
    end = ["    __syncthreads();", *(["    if (failed) return;"] if can_fail(p) else []), "  }"]
    return [head, *(f"  {line}" for line in p.lines), *end]


# ---- statements --------------------------------------------------------------------------------------------------


def plain_statements(p: Printer, stms: tuple[KStm, ...], who: Who) -> None:
    for stm in stms:
        if who is Who.EVERY and solo(stm):
            _leader(p, stm)
        else:
            statement(p, stm, who)


def statement(p: Printer, stm: KStm, who: Who) -> None:

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
            alloc(p, stm)
        case kir.Check(ok, site, values):
            check(p, operand(ok), site, values)
        case kir.BoundsCheck(index, size, site, values):
            check(p, f"(u64){operand(index)} < (u64){operand(size)}", site, values)
        case kir.KIf(cond, then, orelse):
            with p.block(f"if ({bare(cond)})"):
                p.alone = only(then)
                statements_text(p, then, who)
            if orelse:
                with p.block("else"):
                    p.alone = only(orelse)
                    statements_text(p, orelse, who)
        case kir.For(index, bound, body, unroll):
            i = index.name
            if unroll > 1:
                p.line(f"#pragma unroll {unroll}")
            with p.block(f"for ({c_type(index.prim)} {i} = 0; {i} < {number(operand(bound))}; {i}++)"):
                statements_text(p, body, who)
        case kir.KWhile(before, cond, body):
            with p.block("while (true)"):
                statements_text(p, before, who)
                p.line(f"if (!{operand(cond)}) break;")
                statements_text(p, body, who)
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
    with p.block("if (threadIdx.x == 0)"):
        statement(p, stm, Who.LEADER)
    for var in sorted(assigned, key=lambda v: v.name):
        broadcast(p, var)
