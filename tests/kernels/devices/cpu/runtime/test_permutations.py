"""Permutations by numbers in a vector, of each type and width of registers: NumPy's, where LLVM's passes see a call."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.llvm.text import PERMUTE, mangled

TYPES = {"float": np.float32, "double": np.float64, "i8": np.uint8, "i16": np.int16}


@pytest.mark.parametrize(("element", "lanes"), [("float", 16), ("float", 8), ("double", 8), ("i8", 64), ("i16", 32)])
def test_lanes_are_those_of_numpy(element: str, lanes: int) -> None:
    t, numbers, name = f"<{lanes} x {element}>", f"<{lanes} x i32>", f"{PERMUTE}{mangled(element, lanes)}"
    text = f"""
declare {t} @{name}({t}, {numbers}) memory(none)
define void @permute(ptr %out, ptr %a, ptr %b) {{
  %x = load {t}, ptr %a, align 1
  %i = load {numbers}, ptr %b, align 1
  %j = sub {numbers} splat (i32 {lanes - 1}), %i
  %1 = call {t} @{name}({t} %x, {numbers} %j)
  %r = call {t} @{name}({t} %1, {numbers} %i)
  store {t} %r, ptr %out, align 1
  ret void
}}"""
    code = jit.load_object(jit.compile_object((text,), jit.host()), ("permute",))
    assert code is not None
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("permute"))
    xs = np.arange(1, lanes + 1).astype(TYPES[element])
    at = (np.arange(lanes) * 7 % lanes // 2).astype(np.int32)
    got = np.empty_like(xs)
    run(*(int(array.ctypes.data) for array in (got, xs, at)))
    assert np.array_equal(got, xs[lanes - 1 - at][at])
