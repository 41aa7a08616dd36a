"""Arrays on the stacks of threads, whose words lie between each other: what that moves, that no word is of two threads,
and what kernels with such arrays take."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.ir.interpret import interpret
from soac.ir.machine import CUDA
from soac.kernels.cuda_c.module import CudaKernel, cuda_kernel, cuda_module
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.nvrtc import NoCompiler, compile_cuda, resources
from soac.kernels.kernel_ir.nodes import Kernel, Space
from soac.kernels.kernel_ir.shared_stack import place_of
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.kernels.tracer import memory
from soac.kernels.tracer.run import TraceSettings, ready_kernels, trace_kernels
from soac.pipeline import Compiled, compile_prog
from soac.versions import runs_of
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

QUEENS = """
-- How many ways there are to place n queens, from each place of the first two on.
entry main (n: i64): [n*n]i64 =
  map (\\p ->
    let (a, b) = (p / n, p % n)
    let start = replicate (n + 1) (-1i64) with [0] = a with [1] = b
    let fits (at: [n + 1]i64) (row: i64) (c: i64) =
      loop good = true for r < row do good && at[r] != c && i64.abs (at[r] - c) != row - r
    in if !(fits start 1 b) then 0 else
    let (_, _, found) =
      loop (at, row, found) = (start, 2, 0) while row >= 2 do
        let c = loop c = at[row] + 1 while c < n && !(fits at row c) do c + 1
        in if c >= n then (at with [row] = -1, row - 1, found)
           else if row == n - 1 then (at with [row] = c, row, found + 1)
           else (at with [row] = c with [row + 1] = -1, row + 1, found)
    in found) (iota (n * n))
"""
MEDIANS = """
-- The median of the k elements from each one on: an insertion sort in each thread.
entry main [n] (k: i64) (xs: [n]f32): [n]f32 =
  map (\\i ->
    let sorted =
      loop ys = map (\\j -> xs[(i + j) % n]) (iota k) for top < k do
        let (ys, _) =
          loop (ys, j) = (ys, top) while j > 0 && ys[j - 1] > ys[j] do
            let a = ys[j - 1] let b = ys[j]
            in (ys with [j - 1] = b with [j] = a, j - 1)
        in ys
    in sorted[k / 2]) (iota n)
"""
EDITS = """
-- The edit distance of each word to one: a row of the table in each thread.
entry main [n][m][k] (words: [n][m]u8) (word: [k]u8): [n]i32 =
  map (\\w ->
    let row =
      loop row = map i32.i64 (iota (k + 1)) for i < m do
        let corner = row[0]
        let (row, _) =
          loop (row, corner) = (row with [0] = i32.i64 (i + 1), corner) for j < k do
            let above = row[j + 1]
            let left = row[j]
            let least = i32.min (corner + (if w[i] == word[j] then 0 else 1)) (1 + i32.min above left)
            in (row with [j + 1] = least, above)
        in row
    in row[k]) words
"""
SIEVES = """
-- The sum of the primes below each number: a sieve of bools, and a list of i64, in each thread.
entry main [n] (most: i64) (xs: [n]i64): [n]i64 =
  map (\\x ->
    let (composite, primes, count) =
      loop (composite, primes, count) = (replicate most false, replicate most 0i64, 0) for i < most - 2 do
        let p = i + 2
        in if composite[p] then (composite, primes, count) else
        let (composite, _) =
          loop (composite, q) = (composite, p * p) while q < most do (composite with [q] = true, q + p)
        in (composite, primes with [count] = p, count + 1)
    in loop sum = 0 for i < count do sum + (if primes[i] < x then primes[i] else 0)) xs
"""


def letters(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(97, 101, shape).astype(np.uint8)


def numbers(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(-50, 50, n)


CASES: dict[str, tuple[str, list[Any]]] = {
    "queens": (QUEENS, [np.int64(6)]),
    "medians": (MEDIANS, [np.int64(9), numbers(64).astype(np.float32)]),
    "edits": (EDITS, [letters(64, 5), letters(12)]),
    "sieves": (SIEVES, [np.int64(24), np.arange(64) % 24]),
}


@cache
def compiled(name: str) -> Compiled:
    return compile_prog(CASES[name][0], f"{name}.soac", machine=CUDA)


def sectors(name: str) -> tuple[int, int]:
    """What the accesses to arrays of threads move, in the version of a thread for each point, and the least."""
    made, args = compiled(name), CASES[name][1]
    report = trace_kernels(made, ready_kernels(made), "main", args, None, TraceSettings(64))
    assert report.is_clean
    assert np.array_equal(report.results[0], interpret(made.core, "main", args)[0][0])
    own = [site for launch in report.launches for site in launch.sites if site.array.space is Space.PRIVATE]
    return sum(site.units for site in own), sum(site.least for site in own)


@pytest.mark.parametrize(
    ("name", "moved", "before", "least"),
    [
        ("queens", 3346, 4582, 1380),
        ("medians", 4256, 8172, 1118),
        ("edits", 1632, 13056, 1632),
        ("sieves", 1648, 6592, 794),  # a bool has an eighth of a word, which an i64 fills
    ],
)
def test_neighbours_read_neighbours(
    name: str, moved: int, before: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside what they would move if the bytes of a thread were one after the other."""
    assert sectors(name) == (moved, least)
    monkeypatch.setattr(memory, "place_of", lambda byte, lane, word: (lane << 12) + byte)
    assert sectors(name) == (before, least)


@pytest.mark.parametrize("word", [1, 2, 4, 8])
def test_each_byte_has_a_place(word: int) -> None:
    """Of its own, in as many bytes as all stacks have; an element is in one piece."""
    places = {place_of(byte, lane, word) for byte, lane in product(range(48), range(32))}
    assert places == set(range(48 * 32))
    assert all(place_of(byte + word - 1, 7, word) == place_of(byte, 7, word) + word - 1 for byte in range(0, 48, word))


# ---- the text ------------------------------------------------------------------------------------------------------


def texts(name: str) -> list[CudaKernel]:
    """The kernels whose threads have a stack."""
    return [text for text in map(cuda_kernel, ready_for_cuda(compiled(name))) if Space.PRIVATE in text.stacks]


def ready_for_cuda(made: Compiled) -> tuple[Kernel, ...]:
    return all_ready(made.host.kernels, CUDA_PASSES)


def test_words_are_as_wide_as_the_widest_element() -> None:
    """Also of elements that are narrower."""
    shown = {name: {found for text in texts(name) for found in re.findall(r"Own<.*?>", text.text)} for name in CASES}
    assert shown == {
        "queens": {"Own<i64, 8>"}, "medians": {"Own<f32, 4>"}, "edits": {"Own<i32, 4>"},
        "sieves": {"Own<bool, 8>", "Own<i64, 8>"},
    }  # fmt: skip


@pytest.mark.parametrize(("name", "registers"), [("queens", 40), ("medians", 32), ("edits", 32), ("sieves", 40)])
def test_what_kernels_take(name: str, registers: int) -> None:
    """No more registers than with the bytes of a thread one after the other, and no generic accesses."""
    text = cuda_module(texts(name))
    try:
        taken = resources(text, "sm_90").values()
        ptx = compile_cuda(text, "compute_90").decode()
    except NoCompiler as why:
        pytest.skip(str(why))
    assert max(use.registers for use in taken) <= registers
    assert not any(use.spills for use in taken)
    assert not re.findall(r"\b(?:ld|st)\.(?:v\d\.)?[bsuf]\d+", ptx)


LENGTHS = """
entry main [n] (ns: [n]i64): [n]i64 =
  map (\\n -> let xs = scan (+) 0 (iota n) in loop sum = 0 for i < n do sum * 3 + xs[n - 1 - i]) ns
"""


def test_nothing_can_lack_where_a_launch_tells_the_sizes() -> None:
    """So nothing is compared; blocks take turns all the same, each with memory for its threads."""
    varying = map(cuda_kernel, ready_for_cuda(compile_prog(LENGTHS, "lengths.soac", machine=CUDA)))
    for lacks, found in ((True, list(varying)), *((False, texts(name)) for name in CASES)):
        own = [text for text in found if Space.PRIVATE in text.stacks]
        assert own
        assert all(text.take_turns for text in own)
        assert {("NOWHERE" in text.text, "next_own" in text.text) for text in own} == {(lacks, not lacks)}


# ---- random programs -------------------------------------------------------------------------------------------------

KINDS = ("i8", "i16", "i32", "i64", "f32", "f64")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Threads with arrays of several widths, of sizes that differ or do not, in branches and loops that not all take.

    Of `x`, the thread's own number, and `n`, the same for all."""
    sizes = ("n + 65", "n * 3 + 1", "70", "n + x % 5 + 1", "x % 7 + 1")
    lines = list[str]()
    for k in range(draw(st.integers(2, 4))):
        kind, size = draw(st.sampled_from(KINDS)), draw(st.sampled_from(sizes))
        turns = draw(st.sampled_from(("3", "x % 4", "n % 5 + 2")))
        other = draw(st.sampled_from(KINDS))
        lines += [
            f"let m{k} = {size}",
            f"let total = if (x + total) % {draw(st.integers(2, 3))} == 0 then total + {k} else",
            f"  let start = map (\\i -> {kind}.i64 ((i * {k + 2} + total) % 50)) (iota m{k})",
            f"  let ys = loop ys = start for i < {turns} do",
            f"    let zs = map (\\y -> {other}.{kind} y) (copy ys)",
            f"    let at = (i * 3 + x) % m{k}",
            f"    let zs = zs with [at] = {other}.i64 (i + x % 9)",
            f"    let ys = loop ys = ys for j < m{k} do ys with [m{k} - 1 - j] = {kind}.{other} zs[j]",
            "    in ys",
            f"  in loop total = total for i < m{k} do (total * 3 + i64.{kind} ys[i]) % 1000",
        ]
    body = "\n    ".join(lines)
    return (
        f"entry main (n: i64) (xs: []i64): []i64 =\n  map (\\x ->\n    let total = x % 11\n    {body}\n    in total) xs"
    )


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
@settings(max_examples=4, deadline=None)
@given(source=programs(), n=st.integers(0, 9), seed=st.integers(0, 99))
def test_random_programs(source: str, n: int, seed: int) -> None:
    """Threads in several orders, each warp ahead of the others too: values of the interpreter."""
    made = compile_prog(source, "own.soac", machine=CUDA)
    xs = np.random.default_rng(seed).integers(0, 1000, 150)
    (wanted,), _ = interpret(made.core, "main", [np.int64(n), xs])
    for order in (0, 1, 5):
        program = CudaExecutable.build(made.host, made.core.functions, emulated_gpu(EmulatedDriver(order=order)), 64)
        (got,), _ = program.run("main", [np.int64(n), xs], forced=all_outer(made))
        assert np.array_equal(got.numpy(), wanted)


def all_outer(made: Compiled) -> dict[str, bool]:
    """The version of a thread for each point, where there are others."""
    return next(iter(runs_of(made.flat, "main")))
