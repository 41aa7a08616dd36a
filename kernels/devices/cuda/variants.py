"""The kernels of an entry for all block sizes and factors that a search may ask for, compiled ahead by worker processes
on all cores: into the cache, from which they are loaded when a launch first asks for them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from ...host_ir.launch_parameters import VALUES, Kind, size_kind
from ...host_ir.nodes import HostFun, launches
from .driver import Signature

Variant = tuple[str, int, bool]
"""A kernel, the threads of its blocks, and whether these take turns."""

Compile = Callable[[str, Sequence[Signature]], object]
"""Makes the code of a module and keeps it in the cache, in any process."""


def variants_of(fun: HostFun, usual: int) -> tuple[Variant, ...]:
    """What the launches of an entry may be set to, beside blocks of `usual` threads that do not take turns."""
    found: dict[Variant, None] = {}
    for launch in launches(fun.body):
        kinds = {size_kind(size.name) for size in launch.sizes}
        threads = (usual, *VALUES[Kind.BLOCK_SIZE]) if Kind.BLOCK_SIZE in kinds else (usual,)
        turns = (False, True) if Kind.FACTOR in kinds else (False,)
        found |= dict.fromkeys((launch.kernel, size, turn) for turn in turns for size in threads)
    return tuple(one for one in found if one[1:] != (usual, False))


def compile_ahead(
    compile: Compile, modules: Mapping[Variant, tuple[str, Sequence[Signature]]], cores: int | None = None
) -> Iterator[str]:
    """Compiles the text of each variant; gives the names of their kernels as they are done. One that cannot be compiled
    is left to the run that asks for it. Where there is one core, or no process may be started, nothing is done: a
    search asks for few of them."""
    cores = (os.cpu_count() or 1) if cores is None else cores
    if cores == 1 or not modules or multiprocessing.current_process().daemon:
        return
    pool = ProcessPoolExecutor(min(cores, len(modules)), multiprocessing.get_context("spawn"))
    try:
        jobs = {pool.submit(compile, *module): name for (name, *_), module in modules.items()}
        for job in as_completed(jobs):
            yield jobs[job]
    finally:
        pool.shutdown(cancel_futures=True)
