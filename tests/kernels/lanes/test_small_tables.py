"""Lookups in small tables: right around the sizes where another way is taken, and checked as other loads are."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soac
from soac.kernels.analysis.small_tables import small_tables
from soac.kernels.analysis.uniformity import find_facts
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.show import show_kernel

TYPES = {
    "bool": np.bool_, "u8": np.uint8, "f16": np.float16, "f32": np.float32, "i64": np.int64,
}  # fmt: skip
INDICES = ["u8", "i8", "i16", "i32", "i64"]
SIZES = [1, 15, 16, 17, 32, 33, 64, 65, 128, 129, 255, 256, 257, 400]


@cache
def program(prim: str) -> soac.Program:
    """Elements at numbers of each type, of arrays whose sizes are known at run time."""
    entries = [
        f"entry by_{i} [n][k] (t: [k]{prim}) (xs: [n]{i}): [n]{prim} = map (\\x -> t[i64.{i} x]) xs" for i in INDICES
    ]
    return soac.compile("\n".join(entries))


@pytest.mark.parametrize("prim", TYPES)
def test_elements_at_numbers(prim: str) -> None:
    random = np.random.default_rng(7)
    for size in SIZES:
        table = random.integers(0, 2 if prim == "bool" else 100, size).astype(TYPES[prim])
        for index in INDICES:
            dtype = np.dtype(f"{index[0]}{int(index[1:]) // 8}")
            xs = random.integers(0, min(size, np.iinfo(dtype).max + 1), 300).astype(dtype)
            for n in (0, 1, 63, 64, 300):
                got = getattr(program(prim), f"by_{index}")(table, xs[:n])
                np.testing.assert_array_equal(got, table[xs[:n]], err_msg=f"{size} {index} {n}")


@pytest.mark.parametrize("index", ["u8", "i8", "i16", "i32"])
def test_an_index_outside_fails(index: str) -> None:
    dtype = np.dtype(f"{index[0]}{int(index[1:]) // 8}")
    for size in (0, 1, 100, 127, 128, 255, 256, 300):
        table, xs = np.zeros(size, np.uint8), np.zeros(200, dtype)
        for bad in {size, size + 1, -1, np.iinfo(dtype).max, np.iinfo(dtype).min}:
            if np.iinfo(dtype).min <= bad <= np.iinfo(dtype).max and not 0 <= bad < size:
                xs[150] = bad
                first = bad if size else 0
                message = rf"index \[{first}\] out of bounds for array of shape \[{size}\]"
                with pytest.raises(soac.SoacError, match=message):
                    getattr(program("u8"), f"by_{index}")(table, xs)


KERNEL = """
kernel k(block; t: [u8], u: [16 f32], v: [u8], w: [8 i32], xs: [u8], out: [f32]; n: i64, m: i64) {
  threads i in 0..n {
    let x: u8 = xs[i]
    let j: i64 = u8_to_i64 x
    check 0 <= j < m else #0(j, m)
    let a: u8 = t[j]
    let b: f32 = u[j]
    check 0 <= i < n else #1(j, i, m, n)
    check 0 <= j < m else #1(j, i, m, n)
    let c: u8 = v[j]
    let d: i32 = w[j]
    w[i] := d
    out[i] := b
  }
}
sites {
  #0 R0101 "a" 1:1..1:1 "" i64 i64
  #1 R0101 "a" 1:1..1:1 "" i64 i64 i64 i64
}
"""


def test_tables_of_a_kernel() -> None:
    """Of a known length, or checked alone against a number of the call; not what the kernel writes, nor a row."""
    kernel = parse_kernel(KERNEL)
    assert show_kernel(kernel) == KERNEL.strip()
    found = {array.name: size for array, size in small_tables(kernel, find_facts(kernel.body)).items()}
    assert set(found) == {"t", "u"}
    assert found["t"] == kernel.scalars[1]


def test_two_lookups_under_conditions() -> None:
    """Lanes that are off look up nothing, whatever number they have."""
    prog = soac.compile("""
entry main [n][k] (t: [k]u8) (u: [5]f64) (xs: [n]i64): [n]f64 =
  map (\\x -> if x >= 0 && x < k then let y = t[x] in if y < 5 then u[i64.u8 y] / f64.u8 (y + 1) else -1 else 0) xs
""")
    random = np.random.default_rng(1)
    for size in (1, 20, 100, 300):
        t, u, xs = random.integers(0, 9, size).astype(np.uint8), random.random(5), random.integers(-400, 500, 777)
        y = t[np.clip(xs, 0, size - 1)]
        inside = np.where(y < 5, u[np.minimum(y, 4)] / (y + 1), -1)
        np.testing.assert_allclose(prog.main(t, u, xs), np.where((xs >= 0) & (xs < size), inside, 0))
