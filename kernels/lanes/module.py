"""Kernels to LLVM IR, in lanes: the threads of a block are vector lanes (the SPMD-on-SIMD scheme of ISPC).

`emit` gives the text of one module. Each kernel is a function `void kernel.name(ptr args, i64 b0, i64 b1, i64 worker)`
that runs the blocks b0 <= b < b1; `args` is a table of 8-byte slots: the failure record (`checks.py`), the arena
table, the arrays in order, the scalars in order, each scalar stored at its own width at the start of its slot. The
arena table holds for each worker three words: base address, bytes already in use (0), size in bytes.

Code outside of `Threads` is scalar. A `Threads` loop runs groups of `width * unroll` lanes without a mask, then the
rest under one (`passes/choose_lanes.py`), and there are no fast-math flags: the same bits for any number of workers.

The parts: `llvm/text.py` (text), `values.py` (values, masks, the emitter's state), `analysis/uniformity.py` (what
varies), `llvm/ops.py`, `llvm/integers.py`, `llvm/convert.py`, `mathlib` (operations), `memory.py`, `small_tables.py`,
`prefetch.py`, `flags.py`, `checks.py`, `control.py`, `for_loops.py`, `last_lanes.py`,
`collectives.py`, `row_scans.py`, `statements.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.records import dataclass
from ...ir.types import Prim
from ..analysis.uniformity import Facts, dead_after, find_facts
from ..kernel_ir.execution import written_arrays
from ..kernel_ir.nodes import GROUP, KArray, Kernel
from ..kernel_ir.values import symbol_of
from ..llvm.convert import from_memory
from ..llvm.text import Code, Module, llvm_type, memory_type
from .block_numbers import bind_numbers, block_numbers, first_numbers, next_numbers
from .neighbours import neighbours
from .row_ends import arrays_in_place
from .small_tables import hold_tables
from .statements import statements
from .uniform_division import uniform_quotients
from .values import Lanes, Place, Uniform


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a target does fast. `shifts`: it takes a vector out of two in one instruction; `divides`: divisions of
    vectors by the same number are products there; `masks`: stores under a mask take no longer than others."""

    shifts: bool = True
    divides: bool = False
    masks: bool = True


def emit(kernels: Iterable[Kernel], far: bool | None = None, target: Abilities = Abilities()) -> str:  # noqa: B008
    """The module of all kernels, which passes have given their lanes, as text; with `far` only the form of each that
    is for such calls or for others."""
    module = Module()
    texts = [_kernel(module, kernel, far, target) for kernel in kernels]
    return "\n".join([module.text(), *texts, MODULE_END])


MODULE_END = """\
attributes #0 = { nounwind "no-trapping-math"="true" "prefer-vector-width"="512" }
attributes #1 = { nounwind willreturn memory(none) }
attributes #2 = { noinline nounwind "no-trapping-math"="true" "prefer-vector-width"="512" }
!0 = !{!"branch_weights", i32 1, i32 1000000}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = !{i32 1}
!3 = !{!"llvm.loop.unroll.runtime.disable"}
!4 = !{!"llvm.loop.align", i32 64}
"""


# ---- one kernel --------------------------------------------------------------------------------------------------


def _kernel(module: Module, kernel: Kernel, form: bool | None, target: Abilities) -> str:
    """The entry, which unpacks the slots, and the function that does the work; a second one that writes past the
    caches. Not in one, since parameters can say that arrays do not overlap."""
    if form is not None:
        text, past = _working(module, kernel, frozenset(kernel.streams if form else ()), target)
        return text + _entry(module, kernel, (past,))
    near, _ = _working(module, kernel, frozenset(), target)
    far, past = _working(module, kernel, frozenset(kernel.streams), target) if kernel.streams else ("", False)
    return near + far + _entry(module, kernel, (False, True)) if past else near + _entry(module, kernel, (False,))


def _working(module: Module, kernel: Kernel, streams: frozenset[KArray], target: Abilities) -> tuple[str, bool]:
    """The function that runs blocks. What it writes past the caches, if it does, others see when it is done."""
    shape = kernel.lanes
    assert shape is not None, "lanes are chosen before a kernel is printed"
    facts, dead = find_facts(kernel.body), dead_after(kernel.body)
    e = Lanes(Code(module), kernel, facts, dead, shape.width, shape.unroll, shape.peeled, target.masks)
    e.in_place = arrays_in_place(kernel)
    e.quotients = uniform_quotients(kernel, facts) if target.divides else frozenset()
    e.streams, e.beside = streams, neighbours(kernel) if target.shifts else {}
    params = _bind_parameters(e)
    _block_loop(e)
    head = f"define internal void @{_working_function(kernel, e.streamed)}({params}) #2"
    return f"{head} {{\nentry:\n{e.code.text()}}}\n", e.streamed


def _working_function(kernel: Kernel, far: bool) -> str:
    return f'"{symbol_of(kernel.name)}.{"far" if far else "blocks"}"'


def _bind_parameters(e: Lanes) -> str:
    """Arrays and scalars as parameters of the working function."""
    written, over = written_arrays(e.kernel), {array for pair in e.kernel.over for array in pair}
    listed = ["ptr noalias %record", "ptr noalias %arena", "i64 %arena.used", "i64 %arena.size", "i64 %b0", "i64 %b1"]
    for k, array in enumerate(e.kernel.arrays):
        e.places[array] = Place(f"%a{k}", 0, None)
        listed.append(f"ptr{'' if array in over else ' noalias'}{'' if array in written else ' readonly'} %a{k}")
    e.env[GROUP.name] = Uniform(GROUP.prim, str(e.width * e.unroll))
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
    hold_tables(e)
    numbers = block_numbers(e.kernel)
    if numbers.digits:
        code.branch(code.op("icmp slt i64 %b0, %b1"), "first", "end")
        code.label("first")
    counters = first_numbers(e, numbers, "%b0")
    code.jump("head")
    code.label("head")
    b = code.op(f"load i64, ptr {block}")
    code.branch(code.op(f"icmp slt i64 {b}, %b1"), "block", "end")
    code.label("block")
    e.env[e.kernel.block.name] = Uniform(Prim.I64, b)
    bind_numbers(e, counters)
    statements(e, numbers.rest)
    next_numbers(e, counters)
    code.do(f"store i64 {code.op(f'add i64 {b}, 1')}, ptr {block}")
    code.jump("head")
    code.label("end")
    if e.streamed:
        code.do("fence seq_cst")
    code.do("ret void")


def _entry(module: Module, kernel: Kernel, forms: tuple[bool, ...]) -> str:
    code = Code(module)
    e = Lanes(code, kernel, Facts({}, frozenset()), {}, 2, 1, False)
    record, table = (_slot(code, "ptr", k) for k in (0, 1))
    worker = code.op(f"getelementptr {{ptr, i64, i64}}, ptr {table}, i64 %worker")
    used = code.op(f"getelementptr i64, ptr {worker}, i64 1")
    size = code.op(f"getelementptr i64, ptr {worker}, i64 2")
    args = [("ptr", record), ("ptr", code.op(f"load ptr, ptr {worker}"))]
    args += [("i64", code.op(f"load i64, ptr {p}")) for p in (used, size)]
    args += [("i64", "%b0"), ("i64", "%b1")]
    args += [("ptr", _slot(code, "ptr", 2 + k)) for k in range(len(kernel.arrays))]
    for k, var in enumerate(kernel.scalars, 2 + len(kernel.arrays)):
        args.append((llvm_type(var.prim), from_memory(e.one, var.prim, _slot(code, memory_type(var.prim), k))))
    if len(forms) == 2:
        code.branch(args[-1][1], "far", "near")
        code.label("far")
        code.call_void(_working_function(kernel, True), tuple(args))
        code.do("ret void")
        code.label("near")
    code.call_void(_working_function(kernel, forms[0]), tuple(args))
    code.do("ret void")
    head = f'define void @"{symbol_of(kernel.name)}"(ptr readonly %args, i64 %b0, i64 %b1, i64 %worker) #0'
    return f"{head} {{\nentry:\n{code.text()}}}\n"


def _slot(code: Code, type_: str, index: int) -> str:
    return code.op(f"load {type_}, ptr {code.op(f'getelementptr i64, ptr %args, i64 {index}')}")
