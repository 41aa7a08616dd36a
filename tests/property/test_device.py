"""The law on the CPU device: what the interpreter gives, every version of the compiled program gives too.

    interpret(core) == run(cpu, any leaves)

Sizes cross the width of a vector. Where core fails, a version fails or succeeds. The number of programs is 60, or
$SOAC_DEVICE_PROGRAMS.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.flatten.levels import CPU, Mode
from soac.flatten.tree import combinations, sites
from soac.ir.core import FunDef
from soac.ir.errors import RunError
from soac.ir.interpret import interpret
from soac.ir.scalar import DTYPES
from soac.ir.types import Name, Prim, Type, Var
from soac.kernels.cpu import Executable
from soac.pipeline import compile_core
from tests.property.generate import Case, cases
from tests.property.test_meaning import ACCEPTED, agree

PROGRAMS = int(os.environ.get("SOAC_DEVICE_PROGRAMS", "60"))
SIZES = (0, 1, 3, 15, 16, 17, 20)
MOST_LEAVES = 6


def resized(case: Case, n: int, k: int, seed: int) -> Case:
    """The program with arguments of other sizes."""
    (fun,) = case.prog.functions
    sizes = dict(zip((p.name for p in fun.params), (n, k), strict=False))
    source = np.random.default_rng(seed)
    return replace(case, args=tuple(argument(source, p.type, sizes) for p in fun.params[2:]))


def argument(source: np.random.Generator, t: Type, sizes: dict[Name, int]) -> np.ndarray | np.generic:
    shape = tuple(sizes[d.name] if isinstance(d, Var) else int(d.value) for d in t.shape)
    numbers = source.integers(-3, 9, size=shape)
    values = np.asarray(numbers % 2 if t.prim is Prim.BOOL else numbers).astype(DTYPES[t.prim])
    return values if shape else DTYPES[t.prim].type(values[()])


def entry_of(case: Case) -> FunDef:
    (fun,) = case.prog.functions
    return fun


def expected_of(case: Case) -> list | None:
    try:
        return interpret(case.prog, "main", case.args)[0]
    except RunError:
        return None


@settings(ACCEPTED, max_examples=PROGRAMS)
@given(cases(), st.sampled_from(SIZES), st.sampled_from(SIZES), st.integers(0, 1 << 16))
def test_every_version_on_the_device_keeps_the_meaning(case: Case, n: int, k: int, seed: int) -> None:
    case = resized(case, n, k, seed)
    expected = expected_of(case)
    compiled = compile_core(case.prog, Mode.INCREMENTAL, CPU)
    program = Executable.build(compiled.host, compiled.flat.functions)
    for leaf in combinations(sites(compiled.flat))[:MOST_LEAVES]:
        try:
            found = program.run("main", case.args, forced=leaf, threads=2)[0]
        except RunError:
            found = None
        assert agree(expected, found), (leaf, expected, found)
