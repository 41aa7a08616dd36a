"""Elements of a table at numbers in a vector: NumPy's, by permutations of each processor and one by one."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.lookups import for_lookups
from soac.kernels.lanes.small_tables import LOOKUP, lookup
from soac.kernels.llvm.text import Module

HERE = jit.host()
OLD, LARGE = "+avx2,+bmi,+bmi2,+popcnt", "+avx2,+avx512bw,+avx512vl"
TARGETS = {
    "as the processor has it": HERE,
    "no permutation of bytes": replace(HERE, features=HERE.features.replace("+avx512vbmi,", "-avx512vbmi,")),
    "AVX2": replace(HERE, cpu="x86-64-v3", features=OLD),
    "none": replace(HERE, cpu="x86-64", features="+sse4.2"),
}
X86 = HERE.triple.startswith("x86_64")
COUNTS = {8: (1, 16, 17, 64, 65, 128, 200, 256), 16: (3, 8, 32, 33, 128, 256), 32: (2, 8, 9, 16, 32, 33, 64, 128)}
KINDS = [(bits, count) for bits, counts in (COUNTS | {64: (4, 5, 8, 16, 17, 32)}).items() for count in counts]


def module(bits: int, count: int, width: int) -> str:
    """A function that takes elements out of a table, at as many numbers as lanes."""
    made, t = Module(), f"<{width} x i{bits}>"
    name = lookup(made, bits, count, width)
    return f"""{made.text()}
define void @take(ptr %out, ptr %table, ptr %numbers) {{
  %i = load {t}, ptr %numbers, align 1
  %x = call {t} @{name}(ptr %table, {t} %i)
  store {t} %x, ptr %out, align 1
  ret void
}}
attributes #0 = {{ nounwind }}
"""


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize(("bits", "count"), KINDS)
@pytest.mark.skipif(not X86, reason="the processors are those of x86")
def test_elements_are_those_of_numpy(target: jit.Host, bits: int, count: int) -> None:
    dtype, random = np.dtype(f"u{bits // 8}"), np.random.default_rng(count)
    memory = np.zeros(256 * bits // 8 + 64, np.uint8)
    table = memory[-memory.ctypes.data % 64 :][: 256 * bits // 8].view(dtype)
    table[:] = random.integers(0, 1 << min(bits, 62), 256)
    for width in {4, 512 // bits, 1024 // bits if bits > 8 else 64}:
        code = jit.load_object(jit.compile_object((module(bits, count, width),), target), ("take",))
        assert code is not None
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("take"))
        for _ in range(4):
            at, got = random.integers(0, count, width).astype(dtype), np.zeros(width, dtype)
            run(*(int(array.ctypes.data) for array in (got, table, at)))
            assert np.array_equal(got, table[at])


@pytest.mark.parametrize(
    ("features", "name"),
    [(f"{LARGE},+avx512vbmi", "permvar.qi"), (LARGE, "pshuf.b.512"), (OLD, "pshuf.b")],
)
def test_bytes_are_permuted(features: str, name: str) -> None:
    text = for_lookups(module(8, 16, 64), "x86_64-unknown-linux-gnu", features)
    assert name in text.partition(LOOKUP)[2]
    assert "@llvm.masked.gather" not in text.partition("define")[2]


def test_others_are_loaded() -> None:
    text = module(8, 16, 64)
    assert for_lookups(text, "aarch64-unknown-linux-gnu", "+neon") == text
    assert for_lookups(module(64, 32, 8), "x86_64-unknown-linux-gnu", OLD).count("@llvm.masked.gather") == 2
