"""Rows whose ends differ, of all lengths around those of vectors: what is computed of neighbours that wrap around, are
clamped, or are not there, on processors with masks of lanes and with AVX2 alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import soac
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.passes.loop_middles import FAR

TEXT = """
entry ring [r][n] (a: [r][n]T): [r][n]T = tabulate_2d r n (\\i j -> a[i, (j + 1) % n] + 2 * a[i, (j + n - 3) % n])
entry clamp [r][n] (a: [r][n]T): [r][n]T =
  let at i j = a[i, i64.max 0 (i64.min (n - 1) j)]
  in tabulate_2d r n (\\i j -> at i j + 2 * at i (j + 1) + 3 * at i (j - 2))
entry inner [r][n] (a: [r][n]T): [r][n]T =
  let is_inner k m = 0 < k && k < m - 1
  in tabulate_2d r n (\\i j -> if is_inner i r && is_inner j n then a[i, j - 1] + 2 * a[i + 1, j + 1] else a[i, j])
entry zero [r][n] (a: [r][n]T): [r][n]T =
  let at i j = if j < 0 || j >= n then 1 else a[i, j]
  in tabulate_2d r n (\\i j -> at i (j - 1) + 2 * at i j + 3 * at i (j + 2))
entry below [r][n] (a: [r][n]T): [r][n]T = tabulate_2d r n (\\i j -> if j < i then a[i, j] else 2)
"""
DTYPES = {"u8": np.uint8, "f32": np.float32, "f64": np.float64}
HERE = jit.host()
AVX2 = replace(HERE, cpu="x86-64-v3", features="+avx2,+bmi,+bmi2,+popcnt,+fma")
Array = np.ndarray


def wanted(a: Array) -> dict[str, Array]:
    """What the entry points give, by NumPy."""
    (r, n), one = a.shape, a.dtype.type(1)
    padded, edges = np.pad(a, ((0, 0), (1, 2)), constant_values=one), np.pad(a, ((0, 0), (2, 1)), "edge")
    inner = a.copy()
    inner[1:-1, 1:-1] = a[1:-1, :-2] + 2 * a[2:, 2:]
    return {
        "ring": np.roll(a, -1, 1) + 2 * np.roll(a, 3, 1),
        "clamp": a + 2 * edges[:, 3 : n + 3] + 3 * edges[:, :n],
        "inner": inner,
        "zero": padded[:, :n] + 2 * a + 3 * padded[:, 3 : n + 3],
        "below": np.where(np.arange(n) < np.arange(r)[:, None], a, 2 * one),
    }


@pytest.mark.parametrize(
    ("prim", "target"),
    [("u8", HERE), ("f32", HERE), ("f64", HERE), ("f32", AVX2), ("f64", AVX2)],
    ids=["u8", "f32", "f64", "f32 with AVX2", "f64 with AVX2"],
)
@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="AVX2 is of x86")
def test_rows(prim: str, target: jit.Host, monkeypatch: pytest.MonkeyPatch) -> None:
    known_by = (*jit.identity(), target.cpu, target.features)
    for name in ("runtime.jit.host", "build.jit_host"):
        monkeypatch.setattr(f"soac.kernels.devices.cpu.{name}", lambda: target)
    monkeypatch.setattr("soac.kernels.devices.cpu.runtime.jit.identity", lambda: known_by)
    program = soac.compile(TEXT.replace("T", prim))
    for n in (4, 8, 9, 15, 16, 17, 18, 33, 64, 66, 130, 300):
        a = np.random.default_rng(n).integers(0, 9, (5, n)).astype(DTYPES[prim])
        for entry, values in wanted(a).items():
            for _ in range(2):  # code of little effort, then of full
                assert np.array_equal(program.call(entry, [a])[0], values), (entry, n)


def test_bounds_that_wrap() -> None:
    """Clamps at bounds that no index is near; the sum of a bound and a shift is beyond what integers hold."""
    program = soac.compile("entry f [n] (u: i64) (xs: [n]i32) = tabulate n (\\i -> xs[i64.max 0 (i64.min u (i - 2))])")
    xs = np.arange(50, dtype=np.int32)
    for u in (0, 20, 48, 49, FAR, (1 << 63) - 1):
        assert program.f(u, xs).tolist() == [max(0, min(u, i - 2)) for i in range(50)]
