"""The law on the CPU device: what the interpreter gives, every version of the compiled program gives too.

    interpret(core) == run(cpu, any version)

Sizes cross the width of a vector. Where core fails, a version fails or succeeds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soac.ir.errors import RunError
from soac.ir.machine import CPU, Mode
from soac.ir.version_tree import combinations, sites
from soac.kernels.devices.cpu.executable import Executable
from soac.pipeline import compile_core
from tests.support.property.generate import Case, argument
from tests.support.property.guards import Broken
from tests.support.property.law import Tally, agree, meaning_of

SIZES = (0, 1, 3, 15, 16, 17, 20)
MOST_VERSIONS = 6


def resized(case: Case, n: int, k: int, seed: int) -> Case:
    """The program with arguments of other sizes."""
    (fun,) = (fun for fun in case.prog.functions if fun.entry is not None)
    sizes = dict(zip((p.name for p in fun.params), (n, k), strict=False))
    numbers = np.random.default_rng(seed)
    return replace(case, args=tuple(argument(numbers, p.type, sizes) for p in fun.params[2:]))


def check_device(case: Case) -> Tally:
    """Raises `Broken` unless the law holds on the device."""
    expected = meaning_of(case)
    compiled = compile_core(case.prog, Mode.INCREMENTAL, CPU)
    program = Executable.build(compiled.host, compiled.flat.functions)
    versions = combinations(sites(compiled.flat))
    for version in versions[:MOST_VERSIONS]:
        try:
            found = program.run("main", case.args, forced=version, threads=2)[0]
        except RunError:
            found = None
        if not agree(expected, found):
            raise Broken(f"device {version}: {expected} became {found}")
    return Tally(versions=len(versions[:MOST_VERSIONS]), skipped=len(versions[MOST_VERSIONS:]))
