"""Gathers of bytes and words of 16 bits: NumPy's, by words of each processor and one by one."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import replace

import numpy as np
import pytest

from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.narrow_gathers import for_narrow_gathers
from soac.kernels.lanes.gathers import narrow_gather
from soac.kernels.llvm.text import Module

HERE = jit.host()
TARGETS = {
    "as the processor has it": HERE,
    "AVX2": replace(HERE, cpu="x86-64-v3", features="+avx2,+bmi,+bmi2,+popcnt"),
    "none": replace(HERE, cpu="x86-64", features="+sse4.2"),
}


def module(bits: int, width: int) -> str:
    """A function that gathers, from tables of as many as lanes."""
    made = Module()
    name = narrow_gather(made, bits, width)
    return f"""{made.text()}
define void @take(ptr %out, ptr %places) {{
  %at = load <{width} x ptr>, ptr %places, align 1
  %x = call <{width} x i{bits}> @{name}(<{width} x ptr> %at)
  store <{width} x i{bits}> %x, ptr %out, align 1
  ret void
}}
attributes #0 = {{ nounwind }}
"""


def between_pages() -> tuple[mmap.mmap, int]:
    """A page whose neighbours may not be read, and where it begins."""
    size = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * size)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for page in (start, start + 2 * size):
        assert protect(page, size, 0) == 0
    return memory, start + size


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="the processors are those of x86")
def test_elements_are_those_of_numpy_up_to_both_ends_of_a_page(target: jit.Host, bits: int) -> None:
    dtype, random = np.dtype(f"u{bits // 8}"), np.random.default_rng(bits)
    memory, start = between_pages()
    count = mmap.PAGESIZE // dtype.itemsize
    page = np.frombuffer(memory, dtype, count, mmap.PAGESIZE)
    page[:] = random.integers(0, 1 << bits, count)
    for width in (4, 8, 16, 32):
        code = jit.load_object(jit.compile_object((module(bits, width),), target), ("take",))
        assert code is not None
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(code.address("take"))
        at = random.permutation(np.r_[np.arange(width // 2), np.arange(count - width // 2, count)])
        places, got = start + at * dtype.itemsize, np.zeros(width, dtype)
        run(*(int(array.ctypes.data) for array in (got, places)))
        assert np.array_equal(got, page[at])


def test_words_are_gathered() -> None:
    changed = for_narrow_gathers(module(8, 16), "x86_64-unknown-linux-gnu", "+avx2,+avx512f")
    assert "@llvm.masked.gather.v16i32" in changed
    assert "@llvm.masked.gather.v16i8" not in changed.partition("define")[2]


def test_others_are_loaded_one_by_one() -> None:
    text = module(8, 16)
    assert for_narrow_gathers(text, "x86_64-unknown-linux-gnu", "+avx2") == text
    assert for_narrow_gathers(text, "aarch64-unknown-linux-gnu", "+neon") == text
