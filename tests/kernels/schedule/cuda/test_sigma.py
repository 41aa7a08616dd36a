"""The mappings of all segops: what is said of the one that is taken is what the tracer counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from soac.ir.machine import CUDA
from soac.ir.scalar import DTYPES
from soac.kernels.analysis.sectors import EVERYTHING
from soac.kernels.kernel_ir.nodes import Space
from soac.kernels.schedule.cuda import mapping
from soac.kernels.schedule.host_builder import Sigma
from soac.kernels.tracer.run import TraceSettings, trace_program
from soac.pipeline import Compiled, compile_prog
from soac.reports.schedules import as_json_of, schedules_of, sigma_lines
from soac.versions import runs_of

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
    "histogram": """
        entry main [n][m] (xss: [n][m]i32): [16]i64 =
          hist (+) 0 16 (flatten (map (map (\\x -> i64.i32 (x & 15))) (transpose xss))) (replicate (m * n) 1)""",
}


def taken(compiled: Compiled) -> Iterator[tuple[str, Sigma]]:
    """The kernels whose mapping was chosen, with that."""
    for segop in compiled.scheduled:
        kernels: tuple[str, ...] = ()
        for row in segop.considered:
            kernels = row.kernels or kernels if row.sigma is None else kernels
            if row.sigma is not None and row.why_not is None:
                yield from ((kernel, row.sigma) for kernel in kernels[:1])


@pytest.mark.parametrize("name", CASES)
def test_the_tracer_counts_as_many_sectors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 16 if name == "planes" else 40
    monkeypatch.setattr(mapping, "EXTENT", size)
    monkeypatch.setattr(mapping, "SOME", EVERYTHING)
    compiled = compile_prog(CASES[name], "sigma.soac", machine=CUDA)
    (fun,) = compiled.host.functions
    arrays = [p.type for p in fun.params if p.type.shape]
    args = [np.arange(size**t.rank, dtype=DTYPES[t.prim]).reshape((size,) * t.rank) for t in arrays]
    said, found = dict(taken(compiled)), set[str]()
    for version in runs_of(compiled.flat, "main"):
        report = trace_program(compiled, "main", args, version, TraceSettings(threads=256))
        assert report.is_clean
        for launch in report.launches:
            if launch.kernel in said:
                found.add(launch.kernel)
                counted = sum(site.units for site in launch.sites if site.array.space is not Space.SHARED)
                assert counted == said[launch.kernel].sectors, (launch.kernel, said[launch.kernel])
    assert found


def test_explain_shows_rivals() -> None:
    """A choice and what was not taken, for lanes over columns: small teams for short ones, a copy for long ones."""
    compiled = compile_prog(CASES["columns"], "sigma.soac", machine=CUDA)
    (_, flat) = segops = schedules_of(compiled.flat, CUDA, ["main"])
    shown = [line.split() for line in sigma_lines(segops)]
    assert ["(i),", "whole", "teams", "262656", "0", "xss", "32,", "partial", "1"] in shown
    assert [">", "(i),", "teams", "of", "4", "32832", "0", "xss", "4,", "partial", "1"] in shown
    assert [">", "xss", "as", "(1,", "0)", "33280", "2097152", "xss", "4,", "partial", "1"] in shown
    rows = [row["sigma"] for row in as_json_of(flat)["schedules"] if row["taken"] and "sigma" in row]
    assert [row["sectors"] for row in rows] == [32832, 33280]
