"""Kernels that are the same but for names are one (`kernels/kernel_ir/dedup.py`)."""

from __future__ import annotations

from dataclasses import replace

from soac.ir.core import Level
from soac.ir.machine import CPU, Mode
from soac.ir.types import Const, Prim, i64
from soac.kernels.host_ir.nodes import HostProgram
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.dedup import Kernels, form_of, same_kernel
from soac.kernels.kernel_ir.nodes import Kernel, KVar
from soac.pipeline import compile_prog

ONE = "entry first (xs: []i32) = map (\\x -> 2 * x + 1) xs\n"


def lowered(text: str, mode: Mode = Mode.INCREMENTAL) -> HostProgram:
    return compile_prog(text, "test.soac", mode, CPU).host


def test_entries_share_kernels() -> None:
    again = "entry second (other: []i32) = let doubled = map (\\y -> 2 * y + 1) other in doubled\n"
    assert len(lowered(ONE + again).kernels) == 1


def test_other_constants_and_types_are_other_kernels() -> None:
    constant = "entry second (xs: []i32) = map (\\x -> 2 * x + 3) xs\n"
    type_ = "entry third (xs: []u32) = map (\\x -> 2 * x + 1) xs\n"
    assert len(lowered(ONE + constant + type_).kernels) == 3


def test_kernels_that_fail_elsewhere_are_others() -> None:
    first = "entry first (xs: []i32) (is: []i64) = map (\\i -> xs[i]) is\n"
    second = "entry second (xs: []i32) (is: []i64) = map (\\i -> xs[i]) is\n"
    safe = "entry {} (xs: []i32) (is: []i64) = map (\\i -> #[unsafe] xs[i]) is\n"
    assert len(lowered(first + second).kernels) == 2
    assert len(lowered(safe.format("first") + safe.format("second")).kernels) == 1


def test_leaves_share_kernels() -> None:
    text = """
      entry main [n][m] (xss: [n][m]i32) =
        map (\\xs -> let y = reduce (+) 0 xs in map (\\x -> reduce i32.max x (map (+ y) xs)) xs) xss"""
    kernels = lowered(text, Mode.EVERY).kernels
    assert len({form_of(kernel) for kernel in kernels}) == len(kernels)
    assert len({kernel.name for kernel in kernels}) == len(kernels)


def test_forgotten_kernels_are_not_shared() -> None:
    (kernel,) = lowered(ONE).kernels
    kernels = Kernels()
    kernels.shared(kernel)
    kernels.forget(0)
    assert kernels.shared(kernel) is kernel
    assert kernels.made == [kernel]


def kernel_of(value: Const, unroll: int = 1, name: str = "x_1") -> Kernel:
    x, block = KVar(name, value.prim), KVar("block", Prim.I64)
    loop = kir.For(KVar("i_2", Prim.I64), i64(4), (kir.Assign(x, value),), unroll)
    return Kernel("k", block, (), (), (kir.Declare(x, value), loop), (), Level.BLOCK)


def test_names_do_not_count() -> None:
    one = Const(Prim.F32, 1.0)
    assert same_kernel(kernel_of(one), replace(kernel_of(one, name="y_7"), name="other"))


def test_everything_else_counts() -> None:
    """Also what is a hint, and the sign of a zero; a nan is equal to itself."""
    zero, nan = Const(Prim.F32, 0.0), Const(Prim.F32, float("nan"))
    assert not same_kernel(kernel_of(zero), kernel_of(Const(Prim.F32, -0.0)))
    assert not same_kernel(kernel_of(zero), kernel_of(Const(Prim.F64, 0.0)))
    assert not same_kernel(kernel_of(zero), kernel_of(zero, unroll=4))
    assert same_kernel(kernel_of(nan), kernel_of(Const(Prim.F32, float("nan"))))
