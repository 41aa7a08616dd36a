"""Kernels as CUDA C: one function for each, over `cuda_prelude.h`.

A block is `THREADS` threads. What is uniform every thread computes for itself, what writes memory outside of threads
the first one does (`kernels/scope.py`); `Threads` is a loop of the block's threads in steps of their number; `Fence`
is a barrier; collectives are in `cuda_collect.py`. A failing check records itself and ends the thread; the others end
at their next barrier. Arrays of a block that have no size known beforehand are taken from a stack (`Stack`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from ..ir.core import Level
from . import kir
from .cuda_collect import WARP, block_reduce, block_scan
from .cuda_ops import c_type, conversion, expression, operand
from .cuda_text import Printer, alloc, barrier, can_fail, check, statements_text
from .fences import place_fences
from .kir import Kernel, KStm, KVar
from .scope import Who, solo, statements

THREADS = 256


def prelude() -> str:
    return (files(__name__.rpartition(".")[0]) / "cuda_prelude.h").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel's text. If blocks `take_turns`, a grid of any number of blocks does the work of all."""

    name: str
    text: str
    threads: int
    take_turns: bool


def cuda_module(kernels: Iterable[CudaKernel]) -> str:
    """The text of a module with all kernels."""
    return "\n".join([prelude(), *(kernel.text for kernel in kernels)])


def cuda_kernel(kernel: Kernel, threads: int = THREADS) -> CudaKernel:
    """`extern "C" __global__ void NAME(failures, blocks, memory, arrays, scalars)` for blocks of so many threads; a
    kernel whose collective is a warp has blocks of one."""
    threads = WARP if kernel.collective is Level.WARP else threads
    p = Printer(place_fences(kernel), threads, plain_statements)
    statements_text(p, p.kernel.body, Who.EVERY)
    text = "\n".join([*_head(p), *_setup(p), *_all_blocks(p), "}", ""])
    return CudaKernel(kernel.name, text, threads, p.used_stack)


def _head(p: Printer) -> list[str]:
    kernel = p.kernel
    written = {s.array.name for s in statements(kernel.body) if isinstance(s, kir.Store | kir.Atomic)}
    params = ["u64 *failures", "i64 blocks", "Memory memory"]
    params += [f"{'' if a.name in written else 'const '}{c_type(a.prim)} *__restrict__ {a.name}" for a in kernel.arrays]
    params += [f"{c_type(v.prim)} {v.name}" for v in kernel.scalars]
    lines = [f"// {place}" for place in _places(kernel)]
    lines.append(f'extern "C" __global__ void __launch_bounds__({p.threads})')
    lines.append(f"{kernel.name}({', '.join(params)}) {{")
    return lines


def _places(kernel: Kernel) -> list[str]:
    """Where in the source its checks stand. A text of the user's in a comment must not end or go on with it."""
    found = {f"{site.loc.file}:{site.loc.line}:{site.loc.col}: {site.code}": None for site in kernel.sites}
    return ["".join(c if c.isalnum() or c in " ./:_-" else "?" for c in place) for place in found]


def _setup(p: Printer) -> list[str]:
    lines: list[str] = []
    if can_fail(p):
        lines += ["  __shared__ i32 failed;", "  if (threadIdx.x == 0) failed = 0;", "  __syncthreads();"]
    if p.used_stack:
        lines += [
            "  DYNAMIC_SHARED_MEMORY;",
            "  Stack stack = block_stack(memory, shared_memory), own = thread_stack(memory);",
        ]
    return lines


def _all_blocks(p: Printer) -> list[str]:
    """A block of threads for each block; where blocks need memory, as many as have some take turns."""
    block = p.kernel.block.name
    if not p.used_stack:
        return [f"  const i64 {block} = blockIdx.x;", *p.lines]
    head = f"  for (i64 {block} = blockIdx.x; {block} < blocks; {block} += gridDim.x) {{"
    end = ["    __syncthreads();", "    if (failed) return;", "  }"]
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
            p.line(f"{kind}{var.name} = {operand(init)};")
        case kir.Assign(var, value):
            p.line(f"{var.name} = {operand(value)};")
        case kir.Store(array, index, value):
            _by(p, who, f"{array.name}[{operand(index)}] = {operand(value)};")
        case kir.Atomic(op, prim, array, index, value):
            t, x = c_type(prim), operand(value)
            update = f"[&]({t} old) -> {t} {{ return {expression(op, prim, ('old', x))}; }}"
            _by(p, who, f"atomic_update(&{array.name}[{operand(index)}], {update});")
        case kir.Alloc():
            alloc(p, stm)
        case kir.Check(ok, site, values):
            check(p, operand(ok), site, values)
        case kir.BoundsCheck(index, size, site, values):
            check(p, f"(u64){operand(index)} < (u64){operand(size)}", site, values)
        case kir.KIf(cond, then, orelse):
            with p.block(f"if ({operand(cond)})"):
                statements_text(p, then, who)
            if orelse:
                with p.block("else"):
                    statements_text(p, orelse, who)
        case kir.For(index, bound, body):
            i = index.name
            with p.block(f"for ({c_type(index.prim)} {i} = 0; {i} < {operand(bound)}; {i}++)"):
                statements_text(p, body, who)
        case kir.KWhile(before, cond, body):
            with p.block("while (true)"):
                statements_text(p, before, who)
                p.line(f"if (!{operand(cond)}) break;")
                statements_text(p, body, who)
        case kir.Threads(index, lo, hi, body):
            i = index.name
            step = f"i64 {i} = {operand(lo)} + threadIdx.x; {i} < {operand(hi)}; {i} += {p.threads}"
            with p.block(f"for ({step})"):
                statements_text(p, body, Who.EACH)
        case kir.BlockReduce():
            block_reduce(p, stm)
        case kir.BlockScan():
            block_scan(p, stm)
        case kir.Fence():
            barrier(p)


def right_hand_side(rhs: kir.Rhs) -> str:
    match rhs:
        case kir.KOp(op, prim, args):
            return expression(op, prim, tuple(operand(a) for a in args))
        case kir.KConvert(source, target, arg):
            return conversion(source, target, operand(arg))
        case kir.KLoad(array, index):
            return f"{array.name}[{operand(index)}]"


def _by(p: Printer, who: Who, text: str) -> None:
    p.line(f"if (threadIdx.x == 0) {text}" if who is Who.EVERY else text)


def _leader(p: Printer, stm: KStm) -> None:
    """The first thread alone; the variables that it assigns are the block's again at the end."""
    inside = {s.var for s in statements((stm,)) if isinstance(s, kir.Declare)}
    assigned = {s.var for s in statements((stm,)) if isinstance(s, kir.Assign)} - inside
    with p.block("if (threadIdx.x == 0)"):
        statement(p, stm, Who.LEADER)
    for var in sorted(assigned, key=lambda v: v.name):
        broadcast(p, var)


def broadcast(p: Printer, var: KVar) -> None:
    """The first thread's value to all."""
    place = p.fresh(var.name)
    p.line(f"__shared__ {c_type(var.prim)} {place};")
    p.line(f"if (threadIdx.x == 0) {place} = {var.name};")
    barrier(p)
    p.line(f"{var.name} = {place};")
    barrier(p)
