"""bf16 from literals to arrays of Python: rounded once everywhere, on the CPU, the emulated GPU and in data."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import soac
from soac.data.read_write import Format, read_values, write_values
from soac.ir import scalar
from soac.ir.errors import SystemFault
from soac.ir.machine import CUDA
from soac.ir.types import Prim
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.pipeline import compile_prog
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

SOURCE = """
entry numbers : (bf16, bf16, bf16, bf16) = (1.5bf16, 0x1.8p1bf16, bf16.pi, bf16.highest)
entry of_f64 [n] (xs: [n]f64) : [n]bf16 = map bf16.f64 xs
entry of_i64 [n] (xs: [n]i64) : [n]bf16 = map bf16.i64 xs
entry of_u64 [n] (xs: [n]u64) : [n]bf16 = map bf16.u64 xs
entry fma [n] (xs: [n]bf16) (ys: [n]bf16) (zs: [n]bf16) : [n]bf16 = map3 bf16.fma xs ys zs
entry others [n] (xs: [n]bf16) : ([n]f16, [n]f64, [n]i32, [n]u16, [n]bool) =
  unzip5 (map (\\x -> (f16.bf16 x, f64.bf16 x, i32.bf16 x, bf16.to_bits x, bf16.isnan x)) xs)
entry product [n][p][m] (xss: [n][p]bf16) (yss: [p][m]bf16) : [n][m]bf16 =
  map (\\xs -> map (\\ys -> bf16.sum (map2 (*) xs ys)) (transpose yss)) xss
"""
TIE = 1 + 2.0**-8
"""Halfway between 1 and the next bf16."""


def near(values: list[float]) -> list[float]:
    return [scalar.convert(Prim.F64, Prim.BF16, x) for x in values]


def test_rounding_is_once() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    prog = soac.compile(SOURCE)
    floats = [TIE, TIE + 2.0**-40, TIE - 2.0**-40, -TIE - 2.0**-40, 2.0**-134, 2.0**-134 * (1 + 2**-30), 3.4e38, 1e300]
    assert near(floats[:4]) == [1.0, 1 + 2**-7, 1.0, -1 - 2**-7]
    assert near(floats[4:]) == [0.0, 2.0**-133, np.inf, np.inf]
    assert prog.of_f64(np.array(floats)).tolist() == near(floats)
    ints = [(1 << 60) + (1 << 52), (1 << 60) + (1 << 52) + 1, -(1 << 60) - (1 << 52) - 1, 5, -7, 257, (1 << 63) - 1]
    assert prog.of_i64(np.array(ints)).tolist() == [scalar.convert(Prim.I64, Prim.BF16, x) for x in ints]
    assert prog.of_u64(np.array([(1 << 64) - 1, 3], np.uint64)).tolist() == [2.0**64, 3.0]
    x, y, z = (np.array([v], ml_dtypes.bfloat16) for v in (1 + 2.0**-7, 1 + 2.0**-7, 2.0**-100))
    assert prog.fma(x, y, z).tolist() == [1 + 2.0**-6]
    x, y = (np.array([v], ml_dtypes.bfloat16) for v in (1.5, 1 + 2.0**-7))  # 1.51171875: a tie but for z
    assert prog.fma(x, y, z).tolist() == [1.515625]
    assert prog.fma(x, y, -z).tolist() == [1.5078125]


def test_numbers_and_conversions() -> None:
    pytest.importorskip("ml_dtypes")
    prog = soac.compile(SOURCE)
    assert [float(x) for x in prog.numbers()] == [1.5, 3.0, 3.140625, np.inf]
    halves, doubles, ints, bits, nans = prog.others([1.0, -2.5, 300.0, float("inf"), float("nan")])
    assert halves.tolist()[:4] == [1.0, -2.5, 300.0, np.inf]
    assert doubles.tolist()[:4] == [1.0, -2.5, 300.0, np.inf]
    assert ints.tolist() == [1, -2, 300, 0, 0]
    assert bits.tolist()[:4] == [0x3F80, 0xC020, 0x4396, 0x7F80]
    assert nans.tolist() == [False] * 4 + [True]


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
def test_a_product_on_the_emulated_gpu() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    xs, ys = (np.random.default_rng(s).integers(-4, 5, (17, 17)).astype(ml_dtypes.bfloat16) for s in (1, 2))
    compiled = compile_prog(SOURCE, "bf16.soac", machine=CUDA)
    executable = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(EmulatedDriver()), 64)
    product, *_ = executable.run("product", [xs, ys])[0]
    np.testing.assert_array_equal(product.numpy().astype(np.float64), xs.astype(np.float64) @ ys.astype(np.float64))


def test_text_and_binary_read_back() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    text = b"[1bf16, 1.00390625000001bf16, bf16.nan, -bf16.inf, 0.1bf16]"
    (values,) = read_values(text, "data")
    assert values.dtype == ml_dtypes.bfloat16
    assert values.tolist()[1] == 1 + 2**-7
    assert write_values([values], Format.TEXT) == b"[1.0bf16, 1.01bf16, bf16.nan, -bf16.inf, 0.1bf16]\n"
    (back,) = read_values(write_values([values], Format.BINARY), "data")
    assert back.view(np.uint16).tolist() == values.view(np.uint16).tolist()
    (many,) = read_values(b"[" + b", ".join([b"1.00390625000001bf16"] * 200) + b"]", "data")
    assert set(many.tolist()) == {1 + 2**-7}


def test_without_the_package_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.delitem(scalar.DTYPES, Prim.BF16, raising=False)  # type: ignore[arg-type]
    with pytest.raises(SystemFault, match="ml_dtypes"):
        read_values(b"1bf16", "data")
