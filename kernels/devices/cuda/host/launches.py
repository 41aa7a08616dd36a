"""What of a compiled host program is a GPU's: launches through the driver, elements by way of the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from .....ir.errors import IRError
from .....ir.types import Atom, Prim
from ....analysis.stack_sizes import StackSizes
from ....cuda_c.narrow_indices import BLOCKS, LIMIT
from ....host_ir.nodes import HostStm, Launch
from ....kernel_ir.affine import Poly
from ....kernel_ir.nodes import Kernel, Space
from ....llvm.text import literal, llvm_type
from ...cpu.host.arrays import constant
from ...cpu.host.control import dense_copy, setting
from ...cpu.host.failure_sites import MemorySite
from ...cpu.host.frame import (
    DATA,
    Array,
    Backend,
    Emitter,
    ask,
    call,
    fail_if,
    get,
    number,
    prim_of,
    read_scalar,
    release,
    stop_if,
    value,
    write_scalar,
)  # fmt: skip
from ...cpu.runtime.assembly import Status
from ...cpu.runtime.functions import SHARED
from .limits import RECORD
from .stack_peaks import peak

HEAD = 7
"""Words of parameters that the runtime fills in: failures, those before, blocks, `Memory`."""

OWN = {
    "soac_host_launch": ("i64", ("ptr", "ptr", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "i1")),
    "soac_host_read": ("i64", ("ptr", "i64", "i64", "ptr")),
    "soac_host_write": ("void", ("ptr", "i64", "i64", "i64")),
    "soac_host_fill": ("void", ("ptr", "ptr", "i64", "i64", "i64")),
    "soac_host_upload": ("void", ("ptr", "i64", "ptr", "i64")),
    "soac_host_finish": ("i64", ("ptr",)),
    "soac_host_graph_begin": ("void", ("ptr", "i64")),
    "soac_host_graph_turn": ("void", ("ptr",)),
    "soac_host_graph_end": ("void", ("ptr",)),
}
CUDA_FUNCTIONS = {**SHARED, **OWN}
"""What a host program may call: result and parameters."""


@dataclass(frozen=True, slots=True)
class Launching:
    """Kernels by name, in the form that they are launched in, what they take of their stacks, and what is to be at most
    `LIMIT` where their indices are of 32 bits."""

    kernels: Mapping[str, Kernel]
    stacks: Mapping[str, StackSizes]
    bounds: Mapping[str, Poly]


def cuda_backend(kernels: Mapping[str, Kernel], bounds: Mapping[str, Poly]) -> Backend:
    """The backend for host programs that launch these kernels, which have gone through the passes."""
    known = Launching(kernels, {name: StackSizes.of(kernel) for name, kernel in kernels.items()}, bounds)
    return Backend(
        name="cuda",
        is_here=False,
        functions=CUDA_FUNCTIONS,
        record=RECORD,
        read=read,
        write=write,
        fill=fill,
        constants=constants,
        launch=lambda h, stm, exp: launch(h, known, stm, exp),
        end=lambda h: stop_if(h, ask(h, "soac_host_finish", "%state")),
    )


def launch(h: Emitter, known: Launching, stm: HostStm, exp: Launch) -> None:
    """Parameters as CUDA C lays them out, and the runtime's launch."""
    kernel = known.kernels[exp.kernel]
    arrays = [h.arrays[name] for name in exp.arrays]
    dense = [a if a.dense else dense_copy(h, a, stm.loc) for a in arrays]
    scalars = tuple(value(h, atom) for atom in exp.scalars)
    at = 8 * HEAD
    for array in dense:
        h.code.do(f"store i64 {get(h, array, DATA)}, ptr {byte(h, at)}")
        at += 8
    for var, atom, text in zip(kernel.scalars, exp.scalars, scalars, strict=True):
        if prim_of(h, atom) is not var.prim:
            raise IRError(f"{exp.kernel}: {var.name} is launched with a {prim_of(h, atom).value}")
        at = -(-at // var.prim.bytes) * var.prim.bytes
        write_scalar(h, var.prim, text, byte(h, at))
        at += var.prim.bytes
    h.slots = max(h.slots, -(-at // 8))
    which = str(h.kernels.setdefault(exp.kernel, len(h.kernels)))
    sizes = [setting(h, size.name, 0)[1] for size in exp.sizes] + ["0", "0"]
    peaks = (peak(h.one, known.stacks[exp.kernel], scalars, space) for space in (Space.SHARED, Space.PRIVATE))
    blocks = number(h, exp.blocks)
    values = {var.name: text for var, text in zip(kernel.scalars, scalars, strict=True)}
    wide = is_wide(h, known.bounds[exp.kernel], {**values, BLOCKS: blocks})
    how = ("%state", "%table", str(at), which, blocks, *sizes[:2], *peaks, wide)
    status = ask(h, "soac_host_launch", *how)
    full = h.code.op(f"icmp eq i64 {status}, {int(Status.MEMORY)}")
    fail_if(h, full, MemorySite(Prim.U8, 0, stm.loc, h.what), tuple)
    stop_if(h, status)
    for array, given in zip(arrays, dense, strict=True):
        if array is not given:
            release(h, given)


def is_wide(h: Emitter, bound: Poly, values: Mapping[str, str]) -> str:
    """i1: whether the scalars of a launch, by name, ask for indices of 64 bits (`fits`)."""
    factors = dict.fromkeys(name for monomial, _ in bound for name in monomial)
    if not factors:
        return str(sum(factor for _, factor in bound) > LIMIT).lower()
    signs = reduce(lambda x, y: h.code.op(f"or i64 {x}, {y}"), (values[name] for name in factors))
    floats = {name: h.code.op(f"sitofp i64 {values[name]} to double") for name in factors}
    terms = (
        reduce(lambda x, y: h.code.op(f"fmul double {x}, {y}"), (float_text(factor), *(floats[n] for n in monomial)))
        for monomial, factor in bound
    )
    total = reduce(lambda x, y: h.code.op(f"fadd double {x}, {y}"), terms)
    beyond = h.code.op(f"fcmp ogt double {total}, {float_text(LIMIT)}")
    return h.code.op(f"or i1 {beyond}, {h.code.op(f'icmp slt i64 {signs}, 0')}")


def float_text(value: int) -> str:
    """double: an integer."""
    return literal(Prim.F64, value)


def byte(h: Emitter, at: int) -> str:
    """ptr: byte number `at` of the parameters."""
    return h.code.op(f"getelementptr i8, ptr %table, i64 {at}")


def read(h: Emitter, prim: Prim, at: str) -> str:
    """The element at an address, which the host waits for."""
    slot = h.code.slot("i64", 8)
    stop_if(h, ask(h, "soac_host_read", "%state", at, str(prim.bytes), slot))
    return read_scalar(h, prim, slot)


def write(h: Emitter, prim: Prim, text: str, at: str) -> None:
    """The element at an address becomes a scalar."""
    call(h, "soac_host_write", "%state", at, str(prim.bytes), bits(h, prim, text))


def fill(h: Emitter, target: Array, atom: Atom) -> None:
    """Every element of `target` becomes a scalar."""
    what = str(target.rank), str(target.prim.bytes), bits(h, target.prim, value(h, atom))
    call(h, "soac_host_fill", "%state", target.pointer, *what)


def constants(h: Emitter, array: Array, data: bytes) -> None:
    """The elements of a dense array become those of `data`."""
    call(h, "soac_host_upload", "%state", get(h, array, DATA), constant(h, data), str(len(data)))


def bits(h: Emitter, prim: Prim, text: str) -> str:
    """i64: a scalar as the integer with its bits."""
    width = f"i{8 * prim.bytes}"
    if prim.is_float:
        text = h.code.op(f"bitcast {llvm_type(prim)} {text} to {width}")
    held = "i1" if prim is Prim.BOOL else width
    return text if held == "i64" else h.code.op(f"zext {held} {text} to i64")
