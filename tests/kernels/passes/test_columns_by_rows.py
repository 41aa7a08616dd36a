"""Loops along columns go by rows where they touch a row of memory each; results keep their bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import soac
from soac.ir.machine import CPU
from soac.kernels.analysis.check_collectives import check_kernels
from soac.kernels.kernel_ir.nodes import For, Kernel, KIf, Threads
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes import columns_by_rows as by_rows
from soac.kernels.passes.choose_lanes import LaneSettings
from tests.support.compiled_kernels import compile_kernels
from tests.support.kernel_interpreter import NO_CACHE, Runner

AVERAGES = Path(__file__).parent / "golden" / "columns-by-rows" / "averages.kir"


def is_turned(text: str) -> bool:
    """Whether the pass turns a kernel of a program."""
    return any(by_rows.columns_by_rows(kernel) is not kernel for kernel in soac.compile(text).compiled.host.kernels)


TAKEN = {
    "averages, stored": """entry f [n][m] (x: [n][m]f64) (a: f64) =
      transpose (map (\\c -> (loop (o, s) = (replicate n 0, 0) for i < n do
      let s = s + a * (c[i] - s) in (o with [i] = s, s)).0) (transpose x))""",
    "the deepest fall": """entry f [n][m] (x: [n][m]f32) = map (\\c -> (loop (t, w) = (0, 0) for v in c do
      let t = f32.max t v in (t, f32.max w (t - v))).1) (transpose x)""",
    "a switch": """entry f [n][m] (x: [n][m]i8) = map (\\c -> loop on = false for v in c do
      if v > 40 then true else if v < -40 then false else on) (transpose x)""",
    "parameters of columns, weights of rows": """entry f [n][m] (x: [n][m]f32) (g: [m]f32) (w: [n]f32) =
      tabulate m (\\j -> loop s = 0 for i < n do s * g[j] + w[i] * x[i, j])""",
    "backwards": """entry f [n][m] (x: [n][m]i16) =
      tabulate m (\\j -> loop s = 7i16 for q < n do s * 3 + x[n - 1 - q, j])""",
    "a scan": "entry f [n][m] (x: [n][m]f32) = transpose (map (scan (+) 0) (transpose x))",
    "matrices, each its own": """entry f [k][n][m] (x: [k][n][m]f32) = map (\\y -> transpose (map (\\c ->
      (loop (o, s) = (replicate n 0, 0) for i < n do let s = s / 2 + c[i]
      in (o with [i] = s, s)).0) (transpose y))) x""",
    "a checked row": """entry f [n][m] (x: [n][m]f32) (w: i64) = map (\\c -> loop s = 0 for i < n do
      s * 2 + if i >= w then c[i] - c[i - w] else c[i]) (transpose x)""",
    "triangles": """entry f [n][m] (x: [n][n]f64) (y: [n][m]f64) =
      tabulate_2d n m (\\i j -> f64.sum (map (\\k -> x[k, i] * y[k, j]) (i + 1..<n)))""",
    "rows of 100": "entry f [n] (x: [n][100]i64) = tabulate 100 (\\j -> loop s = 0 for i < n do s * 3 + x[i, j])",
}
LEFT = {
    "windows": "entry f [n] (x: [n]f32) (k: i64) = tabulate (n - k) (\\i -> loop s = 0 for q < k do s * 2 + x[i + q])",
    "rows": "entry f [n][m] (x: [n][m]f32) = map (\\r -> loop s = 0 for v in r do s * 2 + v) x",
    "a product": """entry f [n][m][k] (x: [k][n]f32) (y: [n][m]f32) =
      map (\\r -> tabulate m (\\j -> loop s = 0 for i < n do s + r[i] * y[i, j])) x""",
    "nothing kept": "entry f [n][m] (x: [n][m]f64) = tabulate m (\\j -> loop s = 0 for i < n do f64.i64 i)",
    "a gather": """entry f [n][m] (x: [n][m]f64) (at: [m]i64) =
      tabulate m (\\j -> loop s = 0 for i < n do s * 2 + x[i, at[j]])""",
}


@pytest.mark.parametrize("name", TAKEN)
def test_is_done(name: str) -> None:
    assert is_turned(TAKEN[name])


@pytest.mark.parametrize("name", TAKEN)
def test_bounds_are_known_before_the_loop(name: str) -> None:
    """All that a kernel mentions has been made where it stands, what the number of steps is computed of, too."""
    check_kernels(map(by_rows.columns_by_rows, soac.compile(TAKEN[name]).compiled.host.kernels), CPU)


@pytest.mark.parametrize("name", LEFT)
def test_is_not_done(name: str) -> None:
    assert not is_turned(LEFT[name])


def averages() -> Kernel:
    return parse_kernel(AVERAGES.read_text(encoding="utf-8").partition("\n=>")[0])


def test_asks_for_long_rows_and_many() -> None:
    (branch,) = (stm for stm in by_rows.columns_by_rows(averages()).body if isinstance(stm, KIf))
    assert branch.orelse == averages().body[-1:]
    (tiles,) = (stm for stm in branch.then if isinstance(stm, For))
    assert [type(stm) for stm in tiles.body if not isinstance(stm, For)][-1] is Threads
    assert sum(isinstance(stm, Threads) for stm in statements(tiles.body)) == 3


@pytest.mark.parametrize("tile", [16, 256])
def test_keeps_the_bits(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runners = [Runner(averages(), compile_kernels((averages(),), LaneSettings(), NO_CACHE))]
    for name, value in (("LEAST", 1), ("SIZE", 1), ("KEPT", 16 * tile)):
        monkeypatch.setattr(by_rows, name, value)
    runners.append(Runner(averages(), compile_kernels((averages(),), LaneSettings(), NO_CACHE)))
    random = np.random.default_rng(1)
    for n, m in ((0, 5), (1, 1), (2, 7), (3, 15), (4, 16), (5, 17), (6, 63), (7, 64), (8, 65), (3, 257), (2, 300)):
        xs = random.random(max(1, n) * m)
        found: list[bytes] = []
        for run in runners:
            arrays = {"xs": xs, "ys": np.zeros(m)}
            run(arrays, {"m": m, "n": n, "a": 0.3}, -(-m // 128))
            found.append(arrays["ys"].tobytes())
        assert found[0] == found[1], (n, m)
        state = xs[:m]
        for row in xs[: n * m].reshape(n, m):
            state = state + 0.3 * (row - state)
        assert np.allclose(np.frombuffer(found[0]), state)
