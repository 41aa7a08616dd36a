"""Indices with flipped bits: what NumPy gives, whichever bits these are and wherever the indices begin."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready
from soac.pipeline import compile_core

TYPES = ("f64", "f32", "i16", "u8")
SOURCE = "\n".join(
    f"""
entry {t} [k] (n: i64) (c: i64) (d: i64) (u: i64) (xs: [k]{t}): [n]{t} = tabulate n (\\i -> xs[((i + c) ^ u) + d])
entry {t}_some [k] (n: i64) (c: i64) (d: i64) (u: i64) (xs: [k]{t}): [n]{t} =
  tabulate n (\\i -> let at = ((i + c) ^ u) + d in if at >= 0 && at < k && at % 3 != 1 then xs[at] + 1 else 7)
"""
    for t in TYPES
)
FLIPPED = (0, 1, 2, 3, 7, 8, 13, 16, 31, 32, 48, 64, 77, 128, 1024, -1, -8, -64, 1 << 40)


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SOURCE)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("u", FLIPPED)
def test_what_is_read(program: soac.Program, name: str, u: int) -> None:
    for n, c in ((0, 0), (1, 0), (16, 0), (67, 0), (256, 64), (256, 3), (1000, -128), (5003, 0)):
        at = (np.arange(n) + c) ^ u
        k, least = (int(at.max() - at.min()) + 1, int(at.min())) if n else (0, 0)
        xs = (np.arange(min(k, 1 << 16)) * 37 % 101).astype({"f64": "f8", "f32": "f4", "i16": "i2", "u8": "u1"}[name])
        if k <= len(xs):
            assert np.array_equal(program.call(name, [n, c, -least, u, xs])[0], xs[at - least])
        for d in (-least, -least - k // 2):
            here = at + d
            reads = (here >= 0) & (here < len(xs)) & (here % 3 != 1)
            expected = np.full(n, 7, xs.dtype)
            expected[reads] = xs[here[reads]] + 1
            assert np.array_equal(program.call(f"{name}_some", [n, c, d, u, xs])[0], expected)


@pytest.mark.parametrize("u", (1, 16, 64, -64))
def test_what_is_outside_fails(program: soac.Program, u: int) -> None:
    n, at = 256, np.arange(256) ^ u
    least, size = int(at.min()), int(at.max() - at.min()) + 1
    for d, k in ((-least, size - 1), (-least - 1, size)):
        first = int(at[(at + d < 0) | (at + d >= k)][0]) + d
        with pytest.raises(soac.SoacError, match=rf"index \[{first}\] out of bounds for array of shape \[{k}\]"):
            program.f32(n, 0, d, u, np.zeros(k, np.float32))


def test_rounds_of_a_transform() -> None:
    source = """
    def main [n] (x: [n]i64) (m: i64): [n]i64 =
      loop x for b < m do map2 (\\i v -> if (i >> b) & 1 == 1 then v + x[i ^ (1 << b)] else v) (iota n) x"""
    program = soac.compile(source)
    for m in (0, 1, 4, 9, 14):
        x = np.arange(1 << m) % 19 - 5
        sums = x.reshape((2,) * m)
        for axis in range(m):
            sums = np.cumsum(sums, axis)
        assert np.array_equal(program.main(x, m), sums.reshape(-1))


def test_lanes_are_permuted() -> None:
    """Where there are no lookups in tables: bytes under a mask have loads for each."""
    source = "entry main [n] (xs: [n]f32) (u: i64): [n]f32 = tabulate n (\\i -> xs[i ^ u] - xs[i])"
    host = compile_core(compile_text(source, "main.soac"), Mode.INCREMENTAL, CPU).host
    assert "@soac.lookup.v16i32.16(ptr" in emit(all_ready(host.kernels, CPU_PASSES))
