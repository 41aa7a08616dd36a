"""Every pass over kernel IR on random programs made for it: with the pass and without it a program gives what the
interpreter of core gives, on every version, and the pass has changed many of their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, seed, settings

from soac.frontend.compile import compile_text
from soac.ir.errors import RunError
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CPU, CUDA, Mode
from soac.ir.version_tree import combinations, sites
from soac.kernels.devices.cpu import build
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.passes import columns_by_rows, narrow_carried
from soac.kernels.passes.choose_lanes import LaneSettings
from soac.kernels.passes.pipeline import CPU_PASSES, CUDA_PASSES, Passes, cpu_passes, ready
from soac.kernels.schedule import host_builder
from soac.kernels.tracer.run import trace_kernels
from soac.pipeline import Compiled, compile_core
from tests.support.pass_programs import WRITERS, Written, programs_for

ENOUGH = 50
MOST = 400
"""More programs than that a pass that changes kernels may not need."""
ROUND = 20
SEARCH = settings(max_examples=ROUND)
NEEDED = frozenset({"place-fences", "divide-warps"})
"""Passes that no kernel is right without: only with them programs are compared."""

Results = Sequence[Any] | None


def test_every_pass_has_programs_of_its_own() -> None:
    assert set(WRITERS) == {name for name, _ in (*CPU_PASSES, *CUDA_PASSES)}


@pytest.mark.parametrize("name", [name for name, _ in CPU_PASSES])
def test_pass_of_a_cpu(name: str) -> None:
    narrow = cpu_passes(LaneSettings(vector_bits=128, unroll=1))
    other = narrow if name == "choose-lanes" else without(name, CPU_PASSES)

    def law(program: Written) -> int:
        with patch.object(host_builder, "FAR_BYTES", 1):
            compiled = compile_core(compile_text(program.text, "random.soac"), Mode.INCREMENTAL, CPU)
        for passes in (CPU_PASSES, other):
            with (
                patch.object(build, "CPU_PASSES", passes),
                patch.multiple(columns_by_rows, LEAST=1, SIZE=1, KEPT=1 << 10),
                patch.object(narrow_carried, "SIZES", ((1 << 30, 1 << 22), (20,))[len(program.text) % 2]),
            ):
                agrees(compiled, program, on_cpu(compiled, program))
        return changes(compiled, name, CPU_PASSES)

    assert search(name, law) >= ENOUGH


@pytest.mark.parametrize("name", [name for name, _ in CUDA_PASSES])
def test_pass_of_a_gpu(name: str) -> None:
    other = without(name, CUDA_PASSES)

    def law(program: Written) -> int:
        compiled = compile_core(compile_text(program.text, "random.soac"), Mode.INCREMENTAL, CUDA)
        for passes in (CUDA_PASSES, other):
            agrees(compiled, program, traced(compiled, program, passes))
        return changes(compiled, name, CUDA_PASSES)

    assert search(name, law) >= ENOUGH


def without(name: str, passes: Passes) -> Passes:
    return passes if name in NEEDED else tuple((other, run) for other, run in passes if other != name)


def search(name: str, law: Callable[[Written], int]) -> int:
    """Hypothesis looks for a program that breaks the law, in rounds until the pass has changed enough kernels, of which
    the law gives the number. Gives their sum."""
    fired = 0
    for number in range(MOST // ROUND):

        @seed(number)
        @SEARCH
        @given(programs_for(name))
        def keeps_the_meaning(program: Written) -> None:
            nonlocal fired
            fired += law(program)

        keeps_the_meaning()
        if fired >= ENOUGH:
            break
    return fired


def changes(compiled: Compiled, name: str, passes: Passes) -> int:
    """The kernels of a program that a pass changes."""
    changed = 0
    for kernel in compiled.host.kernels:
        for other, run in passes:
            before, kernel = kernel, run(kernel)
            changed += other == name and kernel != before
    return changed


def on_cpu(compiled: Compiled, program: Written) -> Callable[[dict[str, bool]], Results]:
    executable = Executable.build(compiled.host, compiled.flat.functions)
    return lambda forced: executable.run("main", program.args, forced=forced, threads=2)[0]


def traced(compiled: Compiled, program: Written, passes: Passes) -> Callable[[dict[str, bool]], Results]:
    kernels = {kernel.name: ready(kernel, passes) for kernel in compiled.host.kernels}
    return lambda forced: trace_kernels(compiled, kernels.__getitem__, "main", program.args, forced).results


def agrees(compiled: Compiled, program: Written, run: Callable[[dict[str, bool]], Results]) -> None:
    """Every version gives what the interpreter gives, bit for bit, or fails as it does."""
    expected = values(lambda: prepare(compiled.fused).run("main", program.args, Thresholds())[0])
    for version in combinations(sites(compiled.flat)):
        found = values(lambda v=version: run(v))
        if expected is None or found is None:
            assert expected is found, (version, expected, found)
        else:
            for x, y in zip(expected, found, strict=True):
                np.testing.assert_array_equal(np.asarray(x), np.asarray(y), err_msg=str(version), strict=True)


def values(action: Callable[[], Results]) -> Results:
    try:
        return action()
    except RunError:
        return None
