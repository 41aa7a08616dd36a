"""What a block keeps at once, of wide elements and of rows, has room in the shared memory that texts may declare."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import numpy as np
import pytest

from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import BLOCK, CUDA
from soac.kernels.cuda_c.module import cuda_kernel
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.device import on_host
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.pipeline import Compiled, compile_prog
from soac.versions import misfits, runs_of
from tests.support.emulator.driver import emulated_gpu
from tests.support.emulator.emulate import COMPILER

ROOT = Path(__file__).parents[4]

BYTES = {"bool": 1, "i32": 4, "u32": 4, "i64": 8, "f64": 8}
SHARED, LENGTH = re.compile(r"__shared__ (\w+) \w+((?:\[\d+\])*);"), re.compile(r"\d+")
STRUCT, WORD = re.compile(r"struct (\w+) \{(.*?)\};", re.DOTALL), re.compile(r"alignas\((\d+)\)")
ENTRIES = {
    "scan": "(xs: [n]f64): [n]f64 = map one (scan add zero (map of xs))",
    "rows": "(ls: [n]i64): [n]f64 = map (\\l -> one (reduce add zero (map (\\i -> of (f64.i64 i)) (iota l)))) ls",
}


def program(entry: str, count: int) -> str:
    """A scan, or reductions of rows of varying length, of `count` numbers of 64 bits."""
    left, right = ([f"{side}{chr(97 + k)}" for k in range(count)] for side in ("x", "y"))
    sums = ", ".join(f"{x} + {y}" for x, y in zip(left, right, strict=True))
    return f"""
        type wide = ({", ".join(["f64"] * count)})
        def add (({", ".join(left)}): wide) (({", ".join(right)}): wide): wide = ({sums})
        def zero: wide = ({", ".join(["0"] * count)})
        def of (x: f64): wide = ({", ".join(f"x + {k}" for k in range(count))})
        def one (({", ".join(left)}): wide): f64 = {" * ".join(left)}
        entry main [n] {ENTRIES[entry]}"""


def in_text(text: str) -> int:
    """Bytes of shared memory that the text of a kernel declares."""
    found = SHARED.findall(text)
    assert text.count("__shared__") == len(found)
    sizes = BYTES | {name: sum(map(int, WORD.findall(fields))) for name, fields in STRUCT.findall(text)}
    return sum(sizes[type_] * prod(map(int, LENGTH.findall(lengths))) for type_, lengths in found)


def most_in_text(compiled: Compiled) -> int:
    """The most that a kernel of a program declares, in blocks of any size."""
    ready = all_ready(compiled.host.kernels, CUDA_PASSES)
    sizes = (64, BLOCK.threads, BLOCK.most)
    return max(in_text(cuda_kernel(kernel, threads).text) for kernel in ready for threads in sizes)


@pytest.mark.parametrize(
    ("entry", "count"), [("scan", 6), ("scan", 9), ("scan", 10), ("rows", 10), ("rows", 11), ("rows", 25)]
)
def test_wide_elements_have_room(entry: str, count: int) -> None:
    assert most_in_text(compile_prog(program(entry, count), "wide.soac", machine=CUDA)) <= BLOCK.bytes


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: nothing is emulated")
def test_rows_for_which_the_text_has_no_room_are_on_the_stack() -> None:
    """They are used where a setting gives a block more shared memory than texts may have."""
    path = ROOT / "tests" / "regress" / "many_rows_of_a_block.soac"
    compiled = compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA)
    assert most_in_text(compiled) <= BLOCK.bytes
    rows = np.random.default_rng(5).integers(-(1 << 62), 1 << 62, (2, 1000))
    (wanted,), _ = prepare(compiled.core).run("main", [rows], Thresholds())
    device = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(), 64)
    (version,) = (one for one in runs_of(compiled.flat, "main") if one.get("main.ys.suff_intra_0"))
    (found,), reached = device.run("main", [rows], {f"main.ys.shared_{k}": BLOCK.opt_in for k in (0, 1)}, version)
    assert misfits(version, reached) is None
    assert np.array_equal(np.asarray(on_host([found])[0]), wanted)
