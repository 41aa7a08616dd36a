"""`soac explain --report`: the two cases of the founding documents come out as there, and the rest is at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from soac.ir.machine import CUDA
from soac.kernels.passes.pipeline import CUDA_PASSES, ready
from soac.page.axes import Shape, Where, axes_of
from soac.page.lines import fused_away, located, sources_of
from soac.page.text import report_lines, units_of_work
from soac.pipeline import compile_prog
from soac.reports.schedules import schedules_of
from tests.support.command_line import Command

PRODUCT = """def main [mk][kn] (m: i64) (n: i64) (k: i64) (a: [mk]f32) (b: [kn]f32): [m][n]f32 =
  map (\\i -> map (\\j -> loop c = 0 for l < k do c + a[i * k + l] * b[l * n + j]) (iota n)) (iota m)
"""
"""The listing of TExpr's post: par i, par j, seq k."""

ROWS = """-- ==
-- input { [0, 2] [0, 1] [1f32, 2f32] [3f32, 4f32] } output { [11f32] }
def main [n][nnz][m] (off: [n]i64) (col: [nnz]i64) (value: [nnz]f32) (x: [m]f32): [n-1]f32 =
  map (\\i -> reduce (+) 0 (map2 (\\j v -> v * x[j]) col[off[i]:off[i+1]] value[off[i]:off[i+1]])) (iota (n - 1))
"""
LENGTHS = (3, 2, 0, 5, 1, 7, 2, 4)
"""Of the rows of an 8 x 8 matrix, as TeAAL's specification of Loops' group-mapped product has one."""


def reported(command: Command, program: Path, *args: object) -> dict[str, Any]:
    return json.loads(command("explain", program, "--report", "--json", "--seconds", "60", *args).clean().out)


def test_the_product_of_texpr() -> None:
    """f' of both accesses by the axes, and σ: a row of threads along j costs 1 + 4 sectors, one along i 32 + 1."""
    compiled = compile_prog(PRODUCT, "product.soac", machine=CUDA)
    (kernel,) = compiled.host.kernels
    found = axes_of(ready(kernel, CUDA_PASSES), "ceil(m*n/256)", Shape(256, 32, 1))
    assert [(a.name, a.where, a.extent) for a in found.axes] == [
        ("block", Where.SPACE, "ceil(m*n/256)"), ("point", Where.SPACE, "256"), ("l", Where.TIME, "k")
    ]  # fmt: skip
    assert found.bindings == ("point = block*256 + thread",)
    assert [(a.array, a.index) for a in found.accesses] == [
        ("a", "point//n*k + l"), ("b", "l*n + point % n"), ("ys", "point")
    ]  # fmt: skip
    (segop,) = schedules_of(compiled.flat, CUDA, ("main",))
    taken, lost = (row for row in segop.rows if row.name.startswith("σ"))
    assert (taken.name.partition(": ")[2], taken.why_not) == ("a 1, b 4, ys 4", None)
    assert (lost.name.partition(": ")[2], lost.why_not) == ("a 32, b 1, ys 32", "not the cheapest")
    assert taken.cost is not None
    assert lost.cost is not None
    assert 6 < lost.cost / taken.cost < 7


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    (tmp_path / "rows.soac").write_text(ROWS)
    return tmp_path / "rows.soac"


def test_the_8_x_8_case_of_teaal(command: Command, rows: Path) -> None:
    """Blocks and warps of 2 threads, 2 rows to a block: space [M1, K0], time [M0, K1], with K1 = ceil(nnz(row)/2)."""
    starts = [sum(LENGTHS[:k]) for k in range(9)]
    cols = [k for length in LENGTHS for k in range(length)]
    data = [str(values) for values in (starts, cols, [1.0] * len(cols), [1.0] * 8)]
    machine = ("--device", "cuda", "--block", "2", "--warp", "2", "--param", "main.ys.factor_intra_warp_0=2")
    report = reported(command, rows, *data, *machine)
    (kernel,) = (one for one in report["kernels"] if one["level"] == "warp" and one["name"].startswith("main_ys"))
    assert [(a["where"], a["extent"]) for a in kernel["axes"]] == [
        ("space", "ceil((n - 1)/2)"), ("time", "2"), ("time", "ceil((off[block + 1] - off[block])/2)"), ("space", "2")
    ]  # fmt: skip
    (values,) = (a for a in kernel["accesses"] if a["array"] == "value")
    assert values["index"] == "off[block] + i"
    assert values["requests"] == sum(-(-length // 2) for length in LENGTHS) == 14
    assert values["lanes"] == sum(LENGTHS) == 24
    work = kernel["traced"]["work"]["each"]
    assert len(work) == 8
    assert [first > 0 for first, _ in work] == [length > 0 for length in LENGTHS]
    assert [second > 0 for _, second in work] == [length > 1 for length in LENGTHS]
    (entry,) = report["entries"]
    (one,) = entry["data"]
    assert one["taken"]["main.ys.suff_outer_0"] == {"full": 1}
    assert one["times"] == {} or report["notes"] == []
    text = "\n".join(report_lines(report))
    assert "space: block (ceil((n - 1)/2) warps of the grid), i (2 threads, reduced)" in text
    assert "time:  block (2 turns of a block), i (ceil((off[block + 1] - off[block])/2) turns)" in text


def test_times_and_paths_on_the_cpu(command: Command, rows: Path) -> None:
    report = reported(command, rows, "--device", "cpu", "--threads", "1")
    (entry,) = report["entries"]
    (one,) = entry["data"]
    assert {"as it is", "outer", "full"} <= one["times"].keys()
    assert all(0 < seconds < 10 for seconds in one["times"].values())
    assert entry["chart"].startswith("<svg")
    assert entry["tuning"] is None
    kernels = report["kernels"]
    assert all({"kernel IR", "LLVM IR"} == one["code"].keys() for one in kernels)
    assert any(one["traced"] for one in kernels)
    assert "error[E0001]" in command("explain", rows, "-e", "mian", "--report").err


def test_a_program_without_data(command: Command, tmp_path: Path) -> None:
    """Nothing is run, so that accesses are counted for sizes that are assumed."""
    program = tmp_path / "sums.soac"
    program.write_text("entry sums [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss\n")
    (kernel, *_) = (one for one in reported(command, program)["kernels"] if len(one["accesses"]) == 2)
    assert kernel["traced"] is None
    (read, written) = kernel["accesses"]
    assert (read["array"], written["array"]) == ("xss", "ys")
    assert read["requests"] > 0


def test_the_history_of_tuning(command: Command, rows: Path) -> None:
    command("autotune", rows, "--trials", "0", "--runs", "1", "--threads", "1").clean()
    report = reported(command, rows, "--threads", "1")
    (entry,) = report["entries"]
    runs = entry["tuning"]["runs"]
    assert {"untuned", "full"} & {run["version"] for run in runs}
    assert all(run["data"] == entry["data"][0]["label"] and run["seconds"] > 0 for run in runs)
    assert "timed runs of `soac autotune`" in "\n".join(report_lines(report))


@pytest.mark.quick
def test_accesses_without_data_are_predicted(command: Command, tmp_path: Path) -> None:
    (tmp_path / "rows.soac").write_text("def main [n][m] (xss: [n][m]f32) (y: f32) = map (map (+ y)) xss\n")
    report = reported(command, tmp_path / "rows.soac", "--device", "cuda")
    (kernel,) = report["kernels"]
    assert kernel["traced"] is None
    assert [a["units"] / a["requests"] for a in kernel["accesses"] if "units" in a] == [16, 16]  # of float4 each


def test_lines_know_where_they_come_from() -> None:
    compiled = compile_prog(PRODUCT, "product.soac", machine=CUDA)
    assert list(sources_of(compiled, "product.soac")) == ["product.soac"]
    places = {text.strip(): at for text, at in located(compiled.fused, ["product.soac"])}
    (product,) = (at for text, at in places.items() if "mul_f32" in text)
    start = PRODUCT.splitlines()[1].index("a[i * k + l] * b") + 1
    assert product[0][:3] == (0, 2, start)
    assert not any("@" in text for text in places)


def test_every_line_of_code_leads_somewhere() -> None:
    """The only statement of a function, and a map that is part of another one: of it what its function does is left."""
    text = (
        "def shift (d: f32) (x: f32): f32 =\n  x + d * 2\n"
        "entry main [n] (xs: [n]f32) (d: f32): f32 =\n  let ys = map (shift d) xs\n  in reduce (+) 0 ys\n"
        "entry last (x: i32) (y: i32): i32 =\n  x / y\n"
    )
    compiled = compile_prog(text, "k.soac")
    lines = [places for _, places in located(compiled.fused, ["k.soac"])]
    assert any(place[1] == 7 for places in lines for place in places)
    left = {place for places in lines for place in places}
    assert not any(place[1] == 4 for place in left)
    (gone,) = (inside for place, inside in fused_away(compiled.core, ["k.soac"], left) if place[1] == 4)
    assert {place[1] for place in gone} == {2}


def test_a_warp_takes_as_long_as_its_busiest_thread() -> None:
    assert units_of_work([[1, 5, 0, 0], [2, 2, 3, 0]], 2) == {
        "threads": [1, 5, 0, 0, 2, 2, 3, 0], "warps": [5, 0, 2, 3], "blocks": [5, 3]
    }  # fmt: skip
