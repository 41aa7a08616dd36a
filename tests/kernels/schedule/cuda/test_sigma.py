"""The mappings of all segops: what is said of the one that is taken, and of its rival, is what the tracer counts; both
give what the interpreter does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from soac.data.read_write import compare_values
from soac.ir.interpret import interpret
from soac.ir.machine import CUDA
from soac.ir.scalar import DTYPES
from soac.kernels.analysis.sectors import EVERYTHING
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.variants import rivals, variants_of
from soac.kernels.host_ir.launch_parameters import Kind, launch_sizes, size_kind
from soac.kernels.kernel_ir.nodes import Space
from soac.kernels.schedule.cuda import mapping
from soac.kernels.schedule.host_builder import Sigma
from soac.kernels.tracer.run import TraceSettings, ready_kernels, trace_kernels
from soac.pipeline import Compiled, compile_prog
from soac.reports.schedules import as_json_of, schedules_of, sigma_lines
from soac.versions import runs_of
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER
from tests.support.null_driver import null_gpu

CASES = {
    "transposed map": """
        entry main [n][m] (xss: [n][m]f32): [m][n]f32 = map (\\c -> map (\\x -> x * 2) c) (transpose xss)""",
    "columns": "entry main [n][m] (xss: [n][m]f32): [m]f32 = map (\\c -> f32.sum c) (transpose xss)",
    "planes": """
        entry main [n][m][k] (xsss: [n][m][k]i32): [m][k]i32 =
          map (\\yss -> map (\\ys -> i32.sum ys) (transpose yss)) (rearrange (1, 0, 2) xsss)""",
    "every other element": "entry main [n] (xs: [n]f32): [n]f32 = map (\\i -> #[unsafe] xs[i / 3 * 2]) (iota n)",
    "strided rows": "entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> i32.sum xs[::-1]) xss",
    "scans of columns": "entry main [n][m] (xss: [n][m]i32): [m][n]i32 = map (\\c -> scan (+) 0 c) (transpose xss)",
    "columns in a block": """
        entry main [n][m] (xss: [n][m]i32): [m][n]i32 =
          map (\\c -> let y = i32.maximum c in map (\\x -> x - y) (scan (+) 0 c)) (transpose xss)""",
    "rows that threads keep": """
        entry main [n][m] (xss: [n][m]i32): [n]i32 =
          map (\\xs ->
            let ys = loop ys = copy xs for j < m do ys with [j] = ys[j] + ys[m - 1 - j]
            in loop y = 0 for j < m do y * 3 + ys[j]) xss""",
    "scans of columns in a function": """
        def f [n] (k: i64) (xss: [n][n]i32): [n][n]i32 =
          if k <= 0 then xss else f (k - 1) (map (\\c -> scan (+) 0 c) (transpose xss))
        entry main [n] (xss: [n][n]i32): [n][n]i32 = f 2 xss""",
    "histogram": """
        entry main [n][m] (xss: [n][m]i32): [16]i64 =
          hist (+) 0 16 (flatten (map (map (\\x -> i64.i32 (x & 15))) (transpose xss))) (replicate (m * n) 1)""",
}


RIVALS = (
    "transposed map", "strided rows", "scans of columns", "columns in a block", "rows that threads keep",
    "scans of columns in a function",
)  # fmt: skip
"""The cases that launch rivals at the sizes of the tests."""


def taken(compiled: Compiled) -> Iterator[tuple[str, Sigma]]:
    """The kernels whose mapping was chosen, or is a rival, with that."""
    others = rivals(compiled.host)
    for segop in compiled.scheduled:
        kernels: tuple[str, ...] = ()
        for row in segop.considered:
            kernels = row.kernels or kernels if row.sigma is None else kernels
            if row.sigma is not None and row.why_not is None:
                yield from ((kernel, row.sigma) for kernel in kernels[:1])
            elif row.sigma is not None and row.sigma.setting is not None:
                yield from ((kernel, row.sigma) for kernel in kernels if kernel in others)


def settings_of(compiled: Compiled, value: int) -> dict[str, int]:
    """All mappings that have rivals set to a value."""
    (fun,) = compiled.host.functions
    return {size.name: value for size in launch_sizes(fun) if size_kind(size.name) is Kind.MAPPING}


def small_args(compiled: Compiled, size: int) -> list[np.ndarray]:
    arrays = [p.type for f in compiled.core.functions if f.entry for p in f.params if p.type.shape]
    return [np.arange(size**t.rank, dtype=DTYPES[t.prim]).reshape((size,) * t.rank) for t in arrays]


@pytest.mark.parametrize(("name", "value"), [*((name, 1) for name in CASES), *((name, 2) for name in RIVALS)])
def test_the_tracer_counts_as_many_sectors(name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 16 if name == "planes" else 40
    monkeypatch.setattr(mapping, "EXTENT", size)
    monkeypatch.setattr(mapping, "SOME", EVERYTHING)
    compiled = compile_prog(CASES[name], "sigma.soac", machine=CUDA)
    args, settings = small_args(compiled, size), settings_of(compiled, value)
    (wanted,), _ = interpret(compiled.core, "main", args)
    said, found, kernels = dict(taken(compiled)), set[str](), ready_kernels(compiled)
    for version in runs_of(compiled.flat, "main"):
        report = trace_kernels(compiled, kernels, "main", args, version, TraceSettings(threads=256), sizes=settings)
        assert report.is_clean
        assert compare_values(report.results[0], wanted) is None
        for launch in report.launches:
            if launch.kernel in said:
                found.add(launch.kernel)
                counted = sum(site.units for site in launch.sites if site.array.space is not Space.SHARED)
                assert counted == said[launch.kernel].sectors, (launch.kernel, said[launch.kernel])
    assert found
    assert bool(found & rivals(compiled.host)) == (value == 2)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
@pytest.mark.parametrize("name", RIVALS)
def test_rivals_give_the_same(name: str) -> None:
    """On the device, for each value; a rival is compiled when it is launched first."""
    compiled = compile_prog(CASES[name], "sigma.soac", machine=CUDA)
    args, others = small_args(compiled, 40), rivals(compiled.host)
    (wanted,), _ = interpret(compiled.core, "main", args)
    driver = EmulatedDriver()
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)
    launched = dict[int, set[str]]()
    for value in (1, 2, 0):
        driver.names.clear()
        for version in runs_of(compiled.flat, "main"):
            (got,), _ = program.run("main", args, settings_of(compiled, value), version)
            assert compare_values(got.numpy(), wanted) is None
        launched[value] = set(driver.names)
    assert launched[2] & others
    assert launched[0] == launched[1]
    assert not launched[1] & others


def test_rivals_wait_until_they_are_launched() -> None:
    """One module at first; then one for the rival alone."""
    gpu, null = null_gpu()
    compiled = compile_prog(CASES["transposed map"], "sigma.soac", machine=CUDA)
    program = CudaExecutable.build(compiled.host, compiled.core.functions, gpu)
    assert null.loaded == 1
    counts = list[int]()
    for value in (1, 2, 2, 1):
        program.run("main", [np.zeros((40, 40), np.float32)], {"main.mapping": value})
        counts.append(null.loaded)
    assert [count - counts[0] for count in counts] == [0, 1, 1, 1]
    (fun,) = compiled.host.functions
    (rival,) = rivals(compiled.host)
    assert (rival, 256, False) in variants_of(fun, 256, {k.name for k in compiled.host.kernels} - {rival})


def test_what_caches_may_change_has_a_rival() -> None:
    """A manifest that counting puts ahead of reads that caches may hold; none where it is far ahead even then, and none
    for a mapping without manifests."""
    read_once = compile_prog(CASES["strided rows"], "sigma.soac", machine=CUDA)
    assert settings_of(read_once, 2) == {"main.ys.mapping_outer_0": 2}
    often = """
        entry main [n][m] (k: i64) (xss: [n][m]f32): [n]f32 =
          map (\\xs -> loop y = 0 for i < k * m do y * 0.5 + #[unsafe] xs[i % m]) xss"""
    for text in (often, CASES["histogram"], CASES["every other element"]):
        compiled = compile_prog(text, "sigma.soac", machine=CUDA)
        assert not settings_of(compiled, 2)
        assert not rivals(compiled.host)


def test_explain_shows_rivals() -> None:
    """A choice and what was not taken, for lanes over columns: small teams for short ones, a copy for long ones."""
    compiled = compile_prog(CASES["columns"], "sigma.soac", machine=CUDA)
    (_, flat) = segops = schedules_of(compiled.flat, CUDA, ["main"])
    shown = [line.split() for line in sigma_lines(segops)]
    assert ["(i),", "whole", "teams", "262656", "0", "xss", "32,", "partial", "1"] in shown
    assert [">", "(i),", "teams", "of", "4", "32832", "0", "xss", "4,", "partial", "1"] in shown
    setting = "main.ys.mapping_below_outer_0"
    assert ["as", "it", "is", "262656", "0", "xss", "32,", "partial", "1", setting, "2"] in shown
    assert [">", "xss", "as", "(1,", "0)", "33280", "2097152", "xss", "4,", "partial", "1", setting, "1"] in shown
    for value in range(4):
        (rival, counted) = (line for line in sigma_lines([flat], {setting: value}) if setting in line)
        assert (rival.split()[0] == ">", counted.split()[0] == ">") == (value > 1, value <= 1)
    rows = [row["sigma"] for row in as_json_of(flat)["schedules"] if row["taken"] and "sigma" in row]
    assert [row["sectors"] for row in rows] == [32832, 33280]
