"""Kernels by hand on the CPU, and as CUDA C on the emulator: the interpreter's values on every version."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from soac.ir.errors import CompileError
from soac.ir.interpret import interpret
from soac.kernels.devices.cpu.executable import Executable
from soac.pipeline import compile_prog
from soac.versions import runs_of
from tests.support.by_hand import CALLS, arguments, on_cpu, on_gpu
from tests.support.emulator.emulate import COMPILER, Emulator, build, emulated

TWICE = """
def twice [n] (xs: [n]i32): [n]i32 = map (* 2) xs
#[implements(twice)]
def kernel [n] (xs: [n]i32) (ys: *[n]i32) = {}
entry main [n] (xs: [n]i32) = twice xs
"""


@cache
def emulator() -> Emulator:
    return build(on_gpu().host.kernels)


@pytest.mark.quick
@pytest.mark.parametrize(("name", "sizes"), [(name, sizes) for name, *sizes in CALLS])
def test_on_the_cpu(name: str, sizes: list[int]) -> None:
    args = arguments(name, *sizes)
    wanted = interpret(on_cpu().core, f"run_{name}", args)[0]
    executable = Executable.build(on_cpu().host, on_cpu().core.functions)
    for forced in runs_of(on_cpu().flat, f"run_{name}"):
        for got, expected in zip(executable.run(f"run_{name}", list(args), forced=forced)[0], wanted, strict=True):
            np.testing.assert_array_equal(got, expected, f"{forced}")


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
def test_as_cuda_c() -> None:
    for name, *sizes in CALLS[3::3]:
        args = arguments(name, *sizes)
        wanted = interpret(on_gpu().core, f"run_{name}", args)[0]
        for forced in [forced for forced in runs_of(on_gpu().flat, f"run_{name}") if any(forced.values())]:
            for order in (0, 5):
                found = emulated(on_gpu(), emulator(), order).run(f"run_{name}", args, None, forced)[0]
                for got, expected in zip(found, wanted, strict=True):
                    np.testing.assert_array_equal(np.asarray(got), expected, f"{name} {sizes} {forced} {order}")


@pytest.mark.parametrize(
    "body",
    [
        "fully par i < n in thread { ys[i] = xs[i] + xs[i]; }",
        """fully par w < (n + 31) / 32 in warp {
             par t < 32 in thread { let i = w * 32 + t; if i < n then { ys[i] = 2 * xs[i]; } else { } }
           }""",
        """fully par b < (n + 63) / 64 in block 64 {
             scan ones = (+) 0 1i64 for t < 64 in thread;
             fence;
             par t < 64 in thread { let i = b * 64 + ones[t] - 1; if i < n then { ys[i] = 2 * xs[i]; } }
           }""",
    ],
    ids=["thread", "warp", "scan"],
)
def test_levels_and_collectives(body: str) -> None:
    """At the level of a thread a block has 256 points; a scan gives an array of the block's."""
    compiled = compile_prog(TWICE.replace("{}", body), "a.soac")
    executable = Executable.build(compiled.host, compiled.core.functions)
    xs = np.arange(1000, dtype=np.int32)
    (forced, *_) = runs_of(compiled.flat, "main")
    np.testing.assert_array_equal(executable.run("main", [xs], forced=forced)[0][0], 2 * xs)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("()", "one `fully par` block"),
        ("fully par i < n in thread { xs[i] = 1; }", "`xs` is not one of them"),
        ("fully par b < n in block 2048 { }", "at most 1024 threads"),
        ("fully par b < n in block 64 { par t < n in thread { ys[t] = 1; } }", "known when the program is compiled"),
        (
            "fully par b < n in block 64 { registers r: [64]i32; par t < 64 in thread { r[63 - t] = 1; } }",
            "in the registers of threads",
        ),
    ],
)
def test_what_is_refused(body: str, said: str) -> None:
    with pytest.raises(CompileError, match=said):
        compile_prog(TWICE.replace("{}", body), "a.soac")
