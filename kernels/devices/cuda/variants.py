"""The kernels of an entry for all block sizes and factors that a search may ask for, compiled ahead by worker processes
on all cores: into the cache, from which they are loaded when a launch first asks for them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from ....ir.core import PrimOp, SizeParam
from ....ir.ops import Op
from ....ir.types import Name, Var
from ...host_ir.launch_parameters import VALUES, Kind, size_kind
from ...host_ir.nodes import HostBody, HostFun, HostIf, HostProgram, Launch, bodies_of, launches
from .driver import Signature

Variant = tuple[str, int, bool]
"""A kernel, the threads of its blocks, and whether these take turns."""

Compile = Callable[[str, Sequence[Signature]], object]
"""Makes the code of a module and keeps it in the cache, in any process."""


def rivals(program: HostProgram) -> frozenset[str]:
    """The kernels that are launched only where the setting `mapping` says so: nothing compiles them before."""
    usual, others, settings = set[str](), set[str](), set[Name]()

    def walk(body: HostBody, found: set[str]) -> None:
        for stm in body.stms:
            match stm.exp:
                case SizeParam(name) if size_kind(name) is Kind.MAPPING:
                    settings.add(stm.pat[0].name)
                case PrimOp(Op.LE, _, (Var(size), _)) if size in settings:
                    settings.add(stm.pat[0].name)
                case HostIf(Var(cond), counted, rival) if cond in settings:
                    walk(counted, found)
                    walk(rival, others)
                case Launch(kernel):
                    found.add(kernel)
                case exp:
                    for inner in bodies_of(exp):
                        walk(inner, found)

    for fun in program.functions:
        for body in fun.bodies:
            walk(body, usual)
    return frozenset(others - usual)


def variants_of(fun: HostFun, usual: int, loaded: Container[str]) -> tuple[Variant, ...]:
    """What the launches of an entry may be set to, beside blocks of `usual` threads that do not take turns of kernels
    that are `loaded`."""
    found: dict[Variant, None] = {}
    for launch in launches(*fun.bodies):
        kinds = {size_kind(size.name) for size in launch.sizes}
        threads = (usual, *VALUES[Kind.BLOCK_SIZE]) if Kind.BLOCK_SIZE in kinds else (usual,)
        turns = (False, True) if Kind.FACTOR in kinds else (False,)
        found |= dict.fromkeys((launch.kernel, size, turn) for turn in turns for size in threads)
    return tuple(one for one in found if one[1:] != (usual, False) or one[0] not in loaded)


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
