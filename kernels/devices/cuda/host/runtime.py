"""What compiled host programs of a GPU call, as LLVM IR and in this process: the files `*.ll` of this folder, and what
of the CPU's runtime is the same for both."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.resources import files

import llvmlite.binding as llvm

from .....ir.machine import BLOCK
from ....schedule.cuda.bulk_copies import CHUNK, MOST_DIMS, TILE
from ... import disk_cache as disk
from ...cpu.runtime import assembly, jit
from . import structs
from .launches import CUDA_FUNCTIONS
from .limits import (
    BULK,
    MOST_GRAPHS,
    MOST_GRID,
    MOST_STEPS,
    MOST_UNSEEN,
    RECORD,
    SMALLEST,
    STACK_BUDGET,
    STEP_ROOM,
    TILES_PAY,
    TURNS,
    WAVES,
)

FOLDER = files(__name__.rpartition(".")[0])
PARTS = ("types", "memory", "launches", "copies", "graphs")
SHARED = ("descriptors", "stack", "trace")
"""Of the CPU's runtime."""
OWN = ("soac_cuda_drop", "soac_cuda_let_go", "soac_cuda_trim")
"""What Python uses."""
NO_KERNEL = 500
"""The driver's number for what it does not find."""

CONSTANTS = {
    "RECORD_WORDS": RECORD, "RECORD_BYTES": 8 * RECORD, "SMALLEST": SMALLEST, "MOST_GRID": MOST_GRID,
    "MOST_UNSEEN": MOST_UNSEEN, "ALMOST_GRID": MOST_GRID - 1, "STACK_BUDGET": STACK_BUDGET, "TURNS": TURNS,
    "WAVES": WAVES, "THREADS": BLOCK.threads, "ALMOST_CHUNK": CHUNK - 1, "TILE": TILE, "ALMOST_TILE": TILE - 1,
    "MOST_STEPS": MOST_STEPS, "STEP_ROOM": STEP_ROOM, "MOST_GRAPHS": MOST_GRAPHS, "MOST_PITCH": 1 << 31,
    "STEP_BYTES": ctypes.sizeof(structs.Step), "TILES_PAY": TILES_PAY, "MOST_DIMS": MOST_DIMS, "NO_KERNEL": NO_KERNEL,
    **{kind.upper(): BULK.index(f"{kind}_1") for kind in ("copy", "fill", "transpose", "iota")},
}  # fmt: skip


def runtime_modules(triple: str) -> tuple[str, ...]:
    """The modules of the runtime for a target."""
    own = "\n".join((FOLDER / f"{part}.ll").read_text(encoding="utf-8") for part in PARTS)
    texts = (assembly.filled(own, {**assembly.constants(triple), **CONSTANTS}), *shared_modules(triple))
    return tuple(text.replace("@soac_host_", "@soac_cuda_") for text in texts)


def shared_modules(triple: str) -> tuple[str, ...]:
    """What is the same on a CPU."""
    return tuple(assembly.module(name, triple) for name in SHARED)


@cache
def runtime() -> jit.CompiledKernels:
    """The runtime of this process, its functions made known to what is linked later. Its memory is never freed."""
    names = tuple(name.replace("soac_host_", "soac_cuda_") for name in CUDA_FUNCTIONS)
    key = disk.key_of("cuda-runtime-1", disk.compiler(), *jit.identity())
    code = jit.load_stored(key, (*names, *OWN))
    if code is None:
        source = jit.Source(runtime_modules(jit.host().triple), jit.Effort.AS_WRITTEN, key)
        code = jit.load_source(source, (*names, *OWN))
    for name in names:
        llvm.add_symbol(name, code.address(name))
    code.engine.detach()
    return code
