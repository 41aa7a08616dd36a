"""Parts of a concatenation are written where they belong, or read where they are; those that others need are copied."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soac
from soac.ir.interpret import interpret
from soac.kernels.host_ir.nodes import show_host
from soac.kernels.tracer.run import TraceSettings, trace_program
from soac.versions import runs_of

IN_PLACE = {
    "behind a scan": "[0] ++ scan (+) 0 xs",
    "a prefix": "[7] ++ (scan (+) 0 xs)[:n / 2]",
    "scans side by side": "scan (+) 0 xs ++ [5] ++ scan i32.max 0 xs",
    "several results": "let (a, b) = unzip (scan (\\(x, a) (y, b) -> (x + y, i32.min a b)) (0, 9) (zip xs xs)) "
    "in b ++ a",
    "a filter": "scan (+) 0 xs ++ filter (> 2) xs",
    "maps": "map (+ 1) xs ++ xs ++ map (* 2) xs[n / 2:]",
    "widths that follow": "let a = scan (+) 0 xs let m = n / 3 let b = map (+ 1) xs[:m] in a ++ b",
    "loops": "loop ys = [0] for i < 3 do [i32.i64 i] ++ scan (+) 0 ys ++ map (+ 1) ys",
    "branches": "if n32 > 2 then [1] ++ scan (+) 0 xs else map (+ 1) xs ++ [2]",
    "in turn": "let ys = [1] ++ scan (+) 0 xs in [2] ++ map (* 3) ys ++ scan (+) 0 ys",
}
READ = {
    "the element before": "map2 (-) xs (init ([4] ++ xs) :> [n]i32)",
    "the element behind": "map2 (-) (tail (xs ++ [n32]) :> [n]i32) xs",
    "both neighbours": "let p = [1] ++ xs ++ [2, 3] in map3 (\\x y z -> x * 2 - y + z) (take n p) (take n (drop 1 p)) "
    "(take n (drop 2 p))",
    "offsets": "let p = [0] ++ scan (+) 0 xs in map2 (-) (tail p) (init p)",
    "a scan without its element": "exscan (+) 0 (map (* 2) xs)",
    "in rows": "flatten (map (\\x -> map2 (-) xs (init ([x] ++ xs) :> [n]i32)) xs[:n / 9])",
}
COPIED = {
    "needed afterwards": "let ys = scan (+) 0 xs let zs = [1] ++ ys let zs[0] = 5 in map2 (+) (zs[1:] :> [n]i32) ys",
    "a view needed afterwards": "let ys = scan (+) 0 xs let zs = ys ++ [1] let zs[0] = 5 in scan (+) 0 zs ++ ys[::-1]",
    "twice": "let ys = scan (+) 0 xs in ys ++ [1] ++ ys",
    "an operand": "xs ++ xs[n / 2:]",
    "a prefix before others": "(scan (+) 0 xs)[:n / 2] ++ xs",
    "a histogram": "[n32] ++ hist (+) 0 7 (map (\\x -> i64.i32 x % 7) xs) xs",
    "a suffix": "[1] ++ (scan (+) 0 xs)[n / 2:]",
}
ROWS = """
entry main [n][m] (xss: [n][m]i32): [][]i32 =
  [replicate m 1] ++ map (scan (+) 0) xss ++ map (map (* 2)) xss[:n / 2] ++ [replicate m 3]
"""
SIZES = (1, 2, 7, 64, 65, 1000)


@cache
def compiled(name: str) -> soac.Program:
    text = (IN_PLACE | READ | COPIED)[name]
    return soac.compile(f"entry main [n] (xs: [n]i32): []i32 =\n  let n32 = i32.i64 n\n  in {text}\n")


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, 9, shape, dtype=np.int32)


def check(program: soac.Program, xs: np.ndarray) -> None:
    (expected,), _ = interpret(program.compiled.core, "main", [xs])
    for forced in runs_of(program.compiled.flat, "main"):
        for _ in range(2):  # in memory that was used before, too
            np.testing.assert_array_equal(program.call("main", [xs], forced=forced)[0], expected, f"{forced}")


@pytest.mark.parametrize("name", [*IN_PLACE, *READ, *COPIED])
def test_values(name: str) -> None:
    for n in (0, *SIZES):
        check(compiled(name), numbers(n))


@pytest.mark.parametrize("name", IN_PLACE)
def test_no_thread_writes_beside_its_part(name: str) -> None:
    program = compiled(name)
    for n in (2, 40):
        settings = TraceSettings(threads=8, warp=4)
        assert trace_program(program.compiled, "main", [numbers(n)], {}, settings).is_clean


@pytest.mark.parametrize("name", [*IN_PLACE, *READ, *COPIED])
def test_what_is_copied(name: str) -> None:
    """A concatenation of which a part is in place, or that is read in parts, is none any more."""
    assert (" concat " in show_host(compiled(name).compiled.host)) == (name in COPIED)


def test_rows() -> None:
    program = soac.compile(ROWS)
    assert " concat " not in show_host(program.compiled.host)
    for shape in ((0, 3), (1, 1), (3, 0), (5, 17), (70, 8), (3, 1000)):
        check(program, numbers(*shape))


def test_one_buffer_is_enough() -> None:
    """What is behind the part is of the same memory: a result of its own size, in one piece."""
    program = soac.compile("entry main [n] (xs: [n]i64): []i64 = [3] ++ (scan (+) 0 xs)[:n-1]")
    found = program.main(np.arange(100_000))
    np.testing.assert_array_equal(found, np.concatenate([[3], np.cumsum(np.arange(99_999))]))
    assert found.flags.c_contiguous
