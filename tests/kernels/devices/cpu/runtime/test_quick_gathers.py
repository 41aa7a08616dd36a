"""Gathers and scatters of code of little effort: those of NumPy, by functions that are called."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.quick_gathers import with_called_gathers
from soac.kernels.lanes.gathers import masked_gather
from soac.kernels.llvm.text import Code, Module

NOWHERE = 1 << 61
"""An address of nothing."""
ELEMENTS = {"i8": 1, "i16": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}


def module(element: str, width: int, mask: str = "%keep") -> str:
    """Functions that gather and scatter."""
    made, size = Module(), ELEMENTS[element]

    def gathered(code: Code) -> str:
        return masked_gather(code, element, size, width, "%0", mask.replace("%keep", "%1"))

    def scattered(code: Code) -> str:
        code.masked_scatter(element, size, width, "%2", "%0", mask.replace("%keep", "%1"))
        return "zeroinitializer"

    t = f"<{width} x {element}>"
    params = (f"<{width} x ptr>", f"<{width} x i1>", t)
    made.function("gathered", t, params, gathered)
    made.function("scattered", t, params, scattered)
    given = f"(<{width} x ptr> %at, <{width} x i1> %on, {t} %x)"
    return f"""{made.text()}
define void @take(ptr %values, ptr %places, ptr %keeps, i1 %scatters) {{
  %at = load <{width} x ptr>, ptr %places, align 1
  %keep = load <{width} x i8>, ptr %keeps, align 1
  %on = icmp ne <{width} x i8> %keep, zeroinitializer
  %x = load {t}, ptr %values, align 1
  br i1 %scatters, label %scatter, label %gather
scatter:
  %none = call {t} @scattered{given}
  ret void
gather:
  %found = call {t} @gathered{given}
  store {t} %found, ptr %values, align 1
  ret void
}}
attributes #0 = {{ nounwind }}
"""


@pytest.mark.parametrize("width", [2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("element", ELEMENTS)
def test_elements_are_those_of_numpy(element: str, width: int) -> None:
    """Of lanes that scatter to one place the last one counts."""
    text = with_called_gathers(module(element, width))
    assert "@llvm.masked.gather" not in text.partition("define")[2]
    assert "@llvm.masked.scatter" not in text.partition("define")[2]
    code = jit.load_text(text, ("take",), effort=jit.Effort.QUICK)
    take = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_bool)(code.address("take"))
    random, dtype = np.random.default_rng(width), np.dtype(f"u{ELEMENTS[element]}")
    for density in (0.0, 0.5, 1.0):
        table = random.integers(1, 1 << 8, 2 * width).astype(dtype)
        places, keeps = random.integers(0, len(table), width), (random.random(width) < density).astype(np.uint8)
        addresses = np.where(keeps, places * dtype.itemsize + table.ctypes.data, NOWHERE)
        values = random.integers(1, 1 << 8, width).astype(dtype)
        changed = table.copy()
        for place, value in zip(places[keeps > 0], values[keeps > 0], strict=True):
            changed[place] = value
        take(values.ctypes.data, addresses.ctypes.data, keeps.ctypes.data, True)
        np.testing.assert_array_equal(table, changed)
        wanted = np.where(keeps, changed[places], 0)
        take(values.ctypes.data, addresses.ctypes.data, keeps.ctypes.data, False)
        np.testing.assert_array_equal(values, wanted)


def test_masks_that_are_constants() -> None:
    jit.verified(with_called_gathers(module("i32", 8, "splat (i1 true)")))


def test_code_of_little_effort_has_no_branch_for_each_lane() -> None:
    """A gather more is a call more."""
    target = jit.host()
    if jit.has_avx512(target):
        pytest.skip("the processor has an instruction for it")
    text = module("float", 16)
    assert with_called_gathers("define void @f() { ret void }") == "define void @f() { ret void }"
    (line,) = [line for line in text.splitlines() if "call <16 x float> @llvm.masked.gather" in line]
    more = "\n".join([line, *(line.replace(line.split()[0], f"%more{k}") for k in range(15))])
    sizes = [len(jit.compile_object((one,), target, jit.Effort.QUICK)) for one in (text, text.replace(line, more))]
    assert sizes[1] < sizes[0] + 15 * 300
