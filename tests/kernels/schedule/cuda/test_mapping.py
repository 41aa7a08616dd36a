"""σ: the order of a space, and manifests, by enumeration; the kernels with them are right and cost what was said."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from soac.ir.core import Copy, Level, Rearrange, SegSpace
from soac.ir.interpret import Thresholds, interpret
from soac.ir.machine import CUDA
from soac.ir.ops import Op
from soac.ir.types import Name, Names, Prim, i64
from soac.kernels.analysis.sectors import global_sectors, predict
from soac.kernels.analysis.uniformity import Facts
from soac.kernels.host_ir.nodes import HostBody, HostIf, HostLoop, HostStm
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.dedup import Kernels
from soac.kernels.kernel_ir.nodes import KArray, Kernel, Space
from soac.kernels.lower import schedules_of
from soac.kernels.schedule.cuda import segmap as gpu_segmap
from soac.kernels.schedule.cuda.mapping import (
    FACTORS,
    GAIN,
    Build,
    Layouts,
    Mapping,
    Search,
    best_mapping,
    mapped,
    search_of,
)
from soac.kernels.schedule.host_builder import HostBuilder, Made
from soac.kernels.schedule.kernel_builder import NotLowerable
from soac.kernels.tracer.run import TraceSettings, trace_program
from soac.pipeline import Compiled, compile_prog
from tests.support.block_kernels import BLOCK, let, threads, var

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

STRIDES = """
entry main [n][m] (xss: [n][m][5]f32) (ks: [m]i64): [5][m][n]f32 =
  map (\\k -> map (\\j -> map (\\i -> xss[i, j, k] + xss[i, ks[j] % m, k]) (iota n)) (iota m)) (iota 5)
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
    """Sectors for each request, for the accesses to global memory of the first kernel of a program."""
    kernel, *_ = program.host.kernels
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
    """Three inputs that lie the other way outweigh one result: lanes run over the outer dimension. The result is
    written so too, and then copied: two accesses that are coalesced for one of 32 sectors."""
    program = compiled(READ_TURNED)
    assert manifests(program) == 1
    assert sectors_of_accesses(program, [64, 64]) == [4, 4, 4, 4]


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
    (kernel, *_), (launch,) = program.host.kernels, report.launches
    assert isinstance(kernel, Kernel)
    measured = sum(s.units for s in launch.sites if s.array.space is Space.GLOBAL)
    assert global_sectors(predict(kernel, [96, 40], launch.blocks, 64)) == measured


# ---- the enumeration ---------------------------------------------------------------------------------------------


def with_constants(mapping: Mapping, size: int) -> Made:
    """Threads read three arrays; in the other order they read one, and a block reads twelve constants."""
    point, arrays = var("p"), [KArray(f"a{k}", Prim.F32, Space.GLOBAL) for k in range(13)]
    read, constants = (arrays[:3], []) if mapping.order == (0, 1) else (arrays[:1], arrays[1:])
    lo, first = let(Op.MUL, BLOCK, i64(mapping.chunk(size)))
    hi, last = let(Op.ADD, lo, i64(mapping.chunk(size)))
    uniform = (kir.KLet(var("c", Prim.F32), kir.KLoad(a, i64(0))) for a in constants)
    loads = (kir.KLet(var("x", Prim.F32), kir.KLoad(a, point)) for a in read)
    body = (first, last, *uniform, threads(point, hi, *loads, lo=lo))
    one = Kernel("k", BLOCK, tuple(arrays), (), body, (), Level.BLOCK)
    return Made(one, (), (), (), (), Facts({}, frozenset()), frozenset(), 1.0)


def test_a_pair_of_order_and_factor_is_found_that_is_not_of_the_best_order() -> None:
    """With S = 1 the order of the source is best; with S = 8 a block reads its constants for 8 times the points."""
    h = HostBuilder("main", Names(0), Kernels(), (), CUDA, schedules_of(CUDA).inner)
    names = Names(0)
    space = SegSpace(((names.fresh("i"), i64(64)), (names.fresh("j"), i64(64))))
    search = search_of(h, space, with_constants)
    costs = {(o, s): mapped(search, {}, Mapping(o, s)).bytes for o in ((0, 1), (1, 0)) for s in FACTORS}
    assert costs[(0, 1), 1] < costs[(1, 0), 1]
    assert costs[(0, 1), 8] == costs[(0, 1), 1]
    h.considered.clear()
    assert best_mapping(h, space, with_constants) == ((Mapping((1, 0), 8), {}),)
    (taken,) = (row for row in h.considered if row.why_not is None)
    assert taken.schedule.startswith("σ (j, i), S = 8: ")
    assert taken.cost == costs[(1, 0), 8] == min(row.cost or 0 for row in h.considered)


def all_bytes(search: Search, layouts: Layouts) -> Iterator[float]:
    """What every order and factor costs with these manifests and at most one more, none left out."""
    rank = len(search.widths)
    made = mapped(search, layouts, Mapping(tuple(range(rank)), 1)).made
    may = [n for n, writes in zip(made.arrays, made.writes) if not writes or n in search.results]
    inner = [(n, d) for n in may for d in range(search.h.types[n].rank - 1)]
    moved = [{n: (*(e for e in range(search.h.types[n].rank) if e != d), d)} for n, d in inner if n not in layouts]
    for more in ({}, *moved):
        for order in permutations(range(rank)):
            for factor in FACTORS:
                with suppress(NotLowerable):
                    yield mapped(search, {**layouts, **more}, Mapping(order, factor)).bytes


@pytest.mark.parametrize("text", [ROWS, COLUMNS, POINTS, TURNED, READ_TURNED, STRIDES])
def test_no_mapping_costs_clearly_less(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not evaluated is no better: with all orders and factors, and any other manifest."""
    least: list[float] = []

    def watched(
        h: HostBuilder, space: SegSpace, build: Build, results: Set[Name]
    ) -> tuple[tuple[Mapping, Layouts], ...]:
        ((mapping, layouts), *_) = found = best_mapping(h, space, build, results)
        search = replace(search_of(h, space, build), results=frozenset(results))
        least.append(min(all_bytes(search, layouts)) / mapped(search, layouts, mapping).bytes)
        return found

    monkeypatch.setattr(gpu_segmap, "best_mapping", watched)
    compiled(text)
    assert least
    assert min(least) >= GAIN
