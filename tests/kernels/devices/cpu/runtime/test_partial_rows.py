"""Some elements of rows at places of their own: NumPy's, by stores of each processor and one by one."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.partial_rows import for_partial_rows
from soac.kernels.lanes.partial_rows import storing
from soac.kernels.llvm.text import Module

HERE = jit.host()
LARGE = "+avx2,+avx512bw,+avx512vl"
TARGETS = {
    "as the processor has it": HERE,
    "AVX2": replace(HERE, cpu="x86-64-v3", features="+avx2,+bmi,+bmi2,+popcnt"),
    "none": replace(HERE, cpu="x86-64", features="+sse4.2"),
}
KINDS = [(8, 1), (8, 3), (8, 8), (16, 2), (16, 4)]
FAR = 1 << 61
"""A place in no array."""


def module(bits: int, count: int, width: int) -> str:
    """A function that stores rows, from tables of as many as lanes."""
    made, words = Module(), f"<{width} x i64>"
    name = storing(made, width, bits, count)
    return f"""{made.text()}
define void @put(ptr %out, ptr %places, ptr %words, ptr %keeps) {{
  %at = load {words}, ptr %places, align 1
  %x = load {words}, ptr %words, align 1
  %keep = load <{width} x i8>, ptr %keeps, align 1
  call void @{name}(ptr %out, {words} %at, {words} %x, <{width} x i8> %keep)
  ret void
}}
attributes #0 = {{ nounwind }}
"""


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize(("bits", "count"), KINDS)
@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="the processors are those of x86")
def test_elements_are_those_of_numpy(target: jit.Host, bits: int, count: int) -> None:
    dtype, random = np.dtype(f"u{bits // 8}"), np.random.default_rng(count)
    for width in (4, 8, 16):
        code = jit.load_object(jit.compile_object((module(bits, count, width),), target), ("put",))
        assert code is not None
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address("put"))
        for _ in range(4):
            rows = random.integers(0, 1 << bits, (width, 8 * 8 // bits)).astype(dtype)
            keeps = random.integers(0, 1 << count, width).astype(np.uint8)
            places = np.where(keeps == 0, FAR, random.permutation(width) * count)
            got, wanted = np.zeros(width * count, dtype), np.zeros(width * count, dtype)
            for row, keep, at in zip(rows, keeps, places, strict=True):
                for k in range(count):
                    if keep >> k & 1:
                        wanted[at + k] = row[k]
            run(*(int(array.ctypes.data) for array in (got, places, rows, keeps)))
            assert np.array_equal(got, wanted)


def test_rows_are_stored_at_once() -> None:
    text = module(8, 5, 8)
    changed = for_partial_rows(text, "x86_64-unknown-linux-gnu", LARGE)
    assert "@llvm.masked.store.v16i8" in changed
    assert "@llvm.masked.scatter" not in changed.partition("define")[2]


def test_others_are_stored_one_by_one() -> None:
    text = module(8, 5, 8)
    assert for_partial_rows(text, "x86_64-unknown-linux-gnu", "+avx2") == text
    assert for_partial_rows(text, "aarch64-unknown-linux-gnu", "+neon") == text
