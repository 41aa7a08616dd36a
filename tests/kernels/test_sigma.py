"""σ: the order of a space, and manifests, by enumeration; the kernels with them are right and cost what was said."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.levels import CUDA
from soac.ir.core import Copy, Rearrange
from soac.ir.interpret import Thresholds, interpret
from soac.kernels.host import HostBody, HostIf, HostLoop, HostStm
from soac.kernels.kir import Kernel, Space
from soac.kernels.sectors import global_sectors, predict
from soac.kernels.trace import TraceSettings, trace_program
from soac.pipeline import Compiled, compile_prog

ROWS = "entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\r -> loop acc = 0 for x in r do acc * 0.5 + x) xss"
COLUMNS = (
    "entry main [n][m] (xss: [n][m]f32): [m]f32 = map (\\c -> loop acc = 0 for x in c do acc * 0.5 + x) (transpose xss)"
)
POINTS = "entry main [n][m] (xss: [n][m]f32) (ys: [m]f32): [n][m]f32 = map (\\r -> map2 (\\x y -> x * y + 1) r ys) xss"
TURNED = "entry main [n][m] (xss: [n][m]f32): [m][n]f32 = map (\\c -> map (\\x -> x + 1) c) (transpose xss)"
READ_TURNED = """
entry main [n][m] (xss: [n][m]f32) (yss: [n][m]f32) (zss: [n][m]f32): [m][n]f32 =
  map3 (\\xs ys zs -> map3 (\\x y z -> x + y * z) xs ys zs) (transpose xss) (transpose yss) (transpose zss)
"""


def compiled(text: str) -> Compiled:
    return compile_prog(text, "test.soac", machine=CUDA)


def statements(body: HostBody) -> list[HostStm]:
    found: list[HostStm] = []
    for stm in body.stms:
        found.append(stm)
        match stm.exp:
            case HostIf(_, then, orelse):
                found += [*statements(then), *statements(orelse)]
            case HostLoop(body=inner):
                found += statements(inner)
            case _:
                pass
    return found


def manifests(program: Compiled) -> int:
    """How many arrays are copied for a kernel with other dimensions innermost."""
    (fun,) = program.host.functions
    made = [s.exp for s in statements(fun.body)]
    turned = {s.pat[0].name for s in statements(fun.body) if isinstance(s.exp, Rearrange)}
    return sum(isinstance(exp, Copy) and exp.array in turned for exp in made)


def sectors_of_accesses(program: Compiled, scalars: list[int]) -> list[float]:
    """Sectors for each request, for the accesses to global memory of the one kernel of a program."""
    (kernel,) = program.host.kernels
    sites = predict(kernel, scalars, 4, 64)
    return [s.units / s.requests for s in sites if s.array.space is Space.GLOBAL]


def test_a_loop_over_rows_reads_a_manifest() -> None:
    """GOLDENS 4.8, coalescing1: 32 sectors for a load of a warp are 4 after the transposition."""
    program = compiled(ROWS)
    assert manifests(program) == 1
    assert sectors_of_accesses(program, [256, 64]) == [4, 4]


def test_a_loop_over_columns_does_not() -> None:
    program = compiled(COLUMNS)
    assert manifests(program) == 0
    assert sectors_of_accesses(program, [256, 64]) == [4, 4]


def test_points_of_a_matrix_are_taken_in_order() -> None:
    program = compiled(POINTS)
    assert manifests(program) == 0
    assert sectors_of_accesses(program, [64, 64]) == [4, 4, 4]


def test_the_order_is_that_of_most_accesses() -> None:
    """Three inputs that lie the other way outweigh one result: lanes run over the outer dimension."""
    program = compiled(READ_TURNED)
    assert manifests(program) == 0
    *reads, write = sectors_of_accesses(program, [64, 64])
    assert reads == [4, 4, 4]
    assert write == 32


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 7), (64, 3), (33, 65)])
@pytest.mark.parametrize("text", [ROWS, COLUMNS, POINTS, TURNED, READ_TURNED])
def test_values(text: str, shape: tuple[int, int]) -> None:
    """Every mapping gives what the interpreter gives, and the tracer sees no hazard."""
    program = compiled(text)
    (fun,) = program.core.functions
    rng = np.random.default_rng(7)
    args = [
        rng.integers(-4, 5, shape if p.type.rank == 2 else shape[1:]).astype(np.float32)
        for p in fun.params
        if p.type.shape
    ]
    wanted, _ = interpret(program.core, "main", args, Thresholds())
    report = trace_program(program, "main", args, settings=TraceSettings(64))
    assert report.is_clean
    for got, want in zip(report.results, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=1e-6)


def test_what_is_chosen_is_what_the_tracer_counts() -> None:
    program = compiled(ROWS)
    report = trace_program(program, "main", [np.ones((96, 40), np.float32)], settings=TraceSettings(64))
    (kernel,), (launch,) = program.host.kernels, report.launches
    assert isinstance(kernel, Kernel)
    measured = sum(s.units for s in launch.sites if s.array.space is Space.GLOBAL)
    assert global_sectors(predict(kernel, [96, 40], launch.blocks, 64)) == measured
