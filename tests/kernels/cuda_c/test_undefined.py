"""What C++ gives no meaning, and what the hardware or the assembler refuses, is a problem in the emulator: a sum would
wrap there, and an access be in order, which on a GPU is another index, or the end of a context."""

from __future__ import annotations

import numpy as np
import pytest

from soac.ir.errors import IRError
from soac.kernels.cuda_c.module import prelude
from soac.kernels.devices.cuda.driver import DriverFault, DriverRefusal, Parameter, Signature
from tests.support.emulator.driver import EmulatedDriver, declared_shared
from tests.support.emulator.emulate import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
KERNEL = """extern "C" __global__ void k(i64 *xs, i64 n) {{
  i32 own[4];
  alignas(16) __shared__ i32 near[8];
  {};
}}
"""


def launched(text: str, n: int) -> list[int]:
    driver = EmulatedDriver()
    signature = Signature("k", (Parameter("i64 *", "Q"), Parameter("i64", "q")))
    address = driver.alloc(64)
    driver.upload(address, held := np.arange(8))
    driver.launch(driver.load(prelude() + KERNEL.format(text), [signature])["k"], 1, 32, 0, (address, n))
    driver.download(found := np.zeros_like(held), address)
    return found.tolist()


@pytest.mark.parametrize(
    ("text", "good", "bad", "why"),
    [
        ("const i32 i = (i32)n + 1000; xs[0] = i", 5, 2**31 - 5, "a sum overflows"),
        ("xs[0] = n * 4", 5, 2**62, "a product overflows"),
        ("own[n] = 3; xs[0] = own[n]", 3, 4, "an index outside of an array"),
        ("xs[0] = 1 << n", 31, 32, "a shift too far"),
        ("xs[0] = (i32)(1e3 * n)", 1000, 2**31, "a float that does not fit an integer"),
        ("store_row((i32 *)xs + n, load_row<2>((i32 *)xs + n))", 2, 1, "an access that is not aligned"),
        ("copy_later<4>(near, (i32 *)xs + n), commit_copies(), wait_for_copies<0>()", 4, 2, "16 bytes is not aligned"),
        ("f16 row[4]; load_matrices<false>(row, (f16 *)xs + n)", 8, 4, "16 bytes is not aligned"),
    ],
)  # fmt: skip
def test_what_has_no_meaning(text: str, good: int, bad: int, why: str) -> None:
    launched(text, good)
    with pytest.raises(DriverFault, match=why):
        launched(text, bad)


def test_threads_of_a_warp_meet_at_one_exchange() -> None:
    """In a branch that some of them take they would wait for each other at two."""
    assert launched("xs[lane_id() & 7] = value_at(n + lane_id(), 3)", 7) == [10] * 8
    with pytest.raises(DriverFault, match="threads of a warp meet at different exchanges"):
        launched("if (lane_id() < n) xs[0] = value_below(n, 2); else xs[1] = value_below(n, 1)", 7)
    with pytest.raises(DriverFault, match="threads of a warp meet at different exchanges"):
        launched("if (lane_id() < n) __syncwarp(); else xs[1] = __ballot_sync(WHOLE_WARP, true)", 7)


def test_the_line_is_reported_and_the_next_launch_begins_anew() -> None:
    """Of the module, whose kernels are compiled once."""
    for _ in range(2):
        with pytest.raises(DriverFault, match=r"k: block 0: a sum overflows at line \d+: xs\[0\] = n \+ 1;"):
            launched("xs[0] = n + 1", 2**63 - 1)
        assert launched("xs[0] = n + 1", 7) == [8, *range(1, 8)]


def test_operations_of_the_language_have_a_meaning_at_all_ends() -> None:
    """Of the smallest and greatest numbers, and of what is no number."""
    binary = ("add", "sub", "mul", "quot", "rem", "floor_div", "floor_mod", "shift_left", "shift_right", "mul_high",
              "shift_right_logical", "least", "greatest", "power")  # fmt: skip
    unary = ("neg", "absolute", "sign", "popcount", "leading_zeros", "trailing_zeros")
    lines = [f"s ^= (i64){op}<{t}>(({t})x, ({t})(y | 1))" for op in binary for t in INTEGERS]
    lines += [f"s ^= (i64){op}<{t}>(({t})x)" for op in unary for t in INTEGERS]
    floats = ("(f64)x", "(f64)x * 1e300 * 1e300", "bit_cast<f64>(0x7ff8000000000000ull)", "(f64)x + 0.5", "-0.0")
    lines += [f"s ^= (i64)to_int<{t}>({x})" for x in floats for t in INTEGERS]
    lines += [f"s ^= (i64)to_int<{t}>(wide(half_of<f16>({x})))" for x in floats for t in INTEGERS]
    loops = "for (i64 y = n; y != 0; y /= 3) for (i64 x = n; x != 0; x /= 2)"
    text = f"u64 s = 0; {loops} {{ {'; '.join(lines)}; }} xs[0] = (i64)s"
    for n in (2**63 - 1, -(2**63), -1, 255, -32768):
        launched(text, n)


def test_shared_memory_is_counted_as_the_assembler_does() -> None:
    """For each kernel, of arrays, structures and single values in the order of their alignment; what is beyond 48 KiB
    ends the loading, what a launch asks for beside it the launch."""
    one = """extern "C" __global__ void one(u64 *failures) {
  __shared__ u8 a[5];
  struct Tile {
    alignas(16) i32 status;
    u64 part;
    alignas(16) i32 status1;
    f16 part_2;
  };
  __shared__ Tile tiles[2][3];
  alignas(16) __shared__ f16 b[8];
  __shared__ i64 c;
}
"""
    other = one.replace("one", "other").replace("[3]", "[767][2]")
    assert declared_shared(prelude() + one + other) == {"one": 224, "other": 98208}
    driver, signature = EmulatedDriver(), Signature("one", (Parameter("u64 *", "P"),))
    loaded = driver.load(prelude() + one, [signature])["one"]
    assert driver.shared_bytes(loaded) == 224
    driver.launch(loaded, 1, 32, 48 * 1024 - 224, (0,))
    with pytest.raises(DriverRefusal, match="with 48929 bytes"):
        driver.launch(loaded, 1, 32, 48 * 1024 - 223, (0,))
    with pytest.raises(IRError, match="other declares 98208 bytes of shared memory"):
        driver.load(prelude() + other, [Signature("other", signature.parameters)])


INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
