"""Filters in one pass: what is a filter, and what it keeps, at all sizes, of all types, on one thread and on two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.core import Copy, Param, SegScan, SegScatter, Stm
from soac.ir.errors import NOWHERE
from soac.ir.machine import CPU, Mode
from soac.ir.rename import substitute_exp
from soac.ir.types import Name, Var
from soac.kernels.kernel_ir.kept_stores import kept_stores
from soac.kernels.kernel_ir.nodes import BlockScan
from soac.kernels.kernel_ir.traverse import all_statements
from soac.kernels.schedule.cpu.filters import filters_in
from soac.pipeline import compile_core

SOURCE = """
entry bytes [n] (xs: [n]i8): []i8 = filter (> 0) xs
entry shorts [n] (xs: [n]i16): []i16 = map (* 2) (filter (> 0) xs)
entry halves [n] (xs: [n]f16): []f16 = filter (> 0) xs
entry ints [n] (xs: [n]i32): []i32 = filter (> 0) xs
entry doubles [n] (xs: [n]f64): []f64 = filter (> 0) xs
entry bools [n] (xs: [n]bool): []bool = filter id xs
entry places [n] (xs: [n]f32): []i64 = filter (\\i -> xs[i] > 0) (iota n)
entry tripled [n] (xs: [n]i32): []i64 = map (* 3) (filter (\\i -> xs[i] > 0) (iota n))
entry numbered [n] (xs: [n]i32): []i64 =
  map (.0) (filter (.1) (zip (scan (+) 0 (map (\\x -> i64.bool (x > 0)) xs)) (map (> 0) xs)))
entry several [n] (xs: [n]i32): ([]i32, []f64, []bool) =
  unzip3 (map (\\x -> (x, f64.i32 x, x > 3)) (filter (> 0) xs))
entry flags [n] (xs: [n]i32): ([]i32, [n]bool) = (filter (> 0) xs, map (> 0) xs)
entry counts [n] (xs: [n]i32): ([]i32, [n]i64) = (filter (> 0) xs, scan (+) 0 (map (\\x -> i64.bool (x > 0)) xs))
entry signs [n] (xs: [n]i32): ([]i32, []i64) =
  (filter (> 0) xs, filter (\\i -> xs[i] < 0) (iota n))
entry thirds [n] (xs: [n]i32): ([]i32, [n]i32, []i32, []i32, [n]bool) =
  (filter (> 2) xs, scan (+) 0 xs, filter (\\x -> x > -2 && x <= 2) xs, filter (<= -2) xs, map (> 2) xs)
entry steps [n] (xs: [n]i32): []i32 =
  map i32.i64 (filter (\\i -> (xs[i] > 0) != (xs[i+1] > 0)) (iota (i64.max 1 n - 1)))
entry rounds [n] (xs: [n]i32): []i32 = loop ys = copy xs for i < 3 do filter (> i) (map (+ 1) ys)
entry updated [n] (xs: [n]i32): []i32 = let ys = filter (> 0) xs in if length ys > 0 then ys with [0] = 7 else ys
entry masked [n] (xs: [n]i32) (mask: [n]bool): []i32 = map (.0) (filter (.1) (zip xs mask))
entry apart [n] (xs: [n]i32): ([]i64, []i32) =
  let scanned = scan (+) 0 (map i64.i32 (reverse xs))
  in unzip (map (\\(s, x, _) -> (s, x)) (filter (.2) (zip3 scanned xs (map (> 0) xs))))
entry sums [n] (xs: [n]i32): []i32 =
  map (.0) (filter (\\(_, x) -> x > 0) (zip (scan (+) 0 xs) xs))
entry sums_and_all [n] (xs: [n]i32): ([]i32, [n]i32) =
  let sums = scan (+) 0 xs in (map (.0) (filter (\\(_, x) -> x > 0) (zip sums xs)), sums)
entry of_segments [n] (xs: [n]i32): ([]i32, []i64) =
  let starts = map (\\i -> i == 0 || xs[i] < xs[i - 1]) (iota n)
  let op (x, f) (y, g) = if g then (y, g) else (x + y, f)
  let scanned = scan op (0, false) (zip xs starts)
  let ends = map (\\i -> i == n - 1 || xs[i + 1] < xs[i]) (iota n)
  in unzip (map (\\((s, _), _, i) -> (s + 1, i)) (filter (\\(_, e, _) -> e) (zip3 scanned ends (iota n))))
entry recurrences [n] (xs: [n]i32): ([]i64, []i32, [n]bool) =
  let op (a: i64, p: i64) (b, q) = (a * q + b, p * q)
  let scanned = scan op (0, 1) (map (\\x -> if x > -3 then (i64.i32 x, 3) else (0, 0)) xs)
  let (ys, _, zs) = unzip3 (filter (\\(_, x, _) -> x > 2) (zip3 (map (.0) scanned) xs xs))
  in (ys, zs, map (> 2) xs)
entry looked_up [n] (xs: [n]i32): ([]i32, [n]bool) =
  let op (f, x) (g, y) = (f || g, if g then y else x + y)
  let sums = scan op (false, 0) (map (\\x -> (x < 0, x)) xs)
  in (map (\\i -> sums[i].1) (filter (\\i -> xs[i] > 2) (iota n)), map (> 2) xs)
"""
SIZES = (0, 1, 2, 15, 16, 17, 63, 100, 1001, 65536, 65537, 200_000)


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SOURCE, "filters.soac")


def numbers(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(-5, 6, n).astype(np.int32)


def segments(xs: np.ndarray) -> list[np.ndarray]:
    """The sums of rising runs, and where these end."""
    starts = np.flatnonzero(np.append([True], np.diff(xs) < 0)) if len(xs) else np.zeros(0, np.int64)
    sums = np.add.reduceat(xs, starts) if len(xs) else xs
    return [(sums + 1).astype(np.int32), np.append(starts[1:], len(xs)) - 1 if len(xs) else starts]


def recurrence(xs: np.ndarray) -> np.ndarray:
    """y[i] = 3 y[i-1] + x[i], begun anew at -3 and below."""
    total, found = 0, []
    for x in xs.tolist():
        total = 3 * total + x & (1 << 64) - 1 if x > -3 else 0
        found.append(total)
    return np.array(found, np.uint64).astype(np.int64)


def sums_of_segments(xs: np.ndarray) -> np.ndarray:
    """Sums that begin anew at what is negative."""
    total, found = 0, []
    for x in xs.tolist():
        total = x if x < 0 else total + x
        found.append(total)
    return np.array(found, np.int32)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", SIZES)
def test_what_is_kept(program: soac.Program, n: int, threads: int) -> None:
    xs = numbers(n)
    kept = xs[xs > 0]
    expected = {
        "bytes": [kept.astype(np.int8)], "shorts": [2 * kept.astype(np.int16)], "halves": [kept.astype(np.float16)],
        "ints": [kept], "doubles": [kept.astype(np.float64)], "bools": [np.ones(len(kept), bool)],
        "places": [np.flatnonzero(xs > 0)], "tripled": [3 * np.flatnonzero(xs > 0)],
        "numbered": [np.arange(len(kept)) + 1], "several": [kept, kept.astype(np.float64), kept > 3],
        "flags": [kept, xs > 0], "counts": [kept, np.cumsum(xs > 0)],
        "signs": [kept, np.flatnonzero(xs < 0)],
        "thirds": [xs[xs > 2], np.cumsum(xs, dtype=np.int32), xs[(xs > -2) & (xs <= 2)], xs[xs <= -2], xs > 2],
        "steps": [np.flatnonzero(np.diff(xs > 0))],
        "rounds": [(xs + 3)[(xs + 1 > 0) & (xs + 2 > 1) & (xs + 3 > 2)]],
        "masked": [kept], "apart": [np.cumsum(xs[::-1].astype(np.int64))[xs > 0], kept],
        "sums": [np.cumsum(xs, dtype=np.int32)[xs > 0]],
        "sums_and_all": [np.cumsum(xs, dtype=np.int32)[xs > 0], np.cumsum(xs, dtype=np.int32)],
        "of_segments": segments(xs), "recurrences": [recurrence(xs)[xs > 2], xs[xs > 2], xs > 2],
        "looked_up": [sums_of_segments(xs)[xs > 2], xs > 2],
        "updated": [np.append([7], kept[1:]).astype(np.int32)] if len(kept) else [kept],
    }  # fmt: skip
    types = {"bytes": np.int8, "shorts": np.int16, "halves": np.float16, "doubles": np.float64, "places": np.float32}
    for entry, results in expected.items():
        given = xs > 0 if entry == "bools" else xs.astype(types.get(entry, np.int32))
        found = program.call(entry, [given, xs > 0] if entry == "masked" else [given], threads=threads)
        for one, other in zip(found, results, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "body, is_one",
    [
        ("filter (> 0) xs", True),
        ("map (+ 1) (filter (> 0) xs)", True),
        ("map i32.i64 (filter (\\i -> xs[i] > xs[i+1]) (iota (n - 1)))", True),
        ("filter (> 0) xs ++ filter (< 0) xs", True),
        (
            "let f x = (loop x for _i < x % 9 do 2 * x) > 9 in filter f xs ++ filter (\\x -> f (x - 1)) xs",
            False,
        ),
        ("filter (> 0) (map (+ xs[0]) (0i32..<300))", True),
        ("map (.0) (filter (\\(s, x) -> x > 0) (zip (scan (+) 0 xs) xs))", True),
        ("map (.0) (filter (.1) (zip xs (map bool.i32 (reverse xs))))", True),
        (
            "let s = scan (\\(f, x) (g, y) -> (f || g, if g then y else x + y)) (false, 0) (map (\\x -> (x < 0, x)) xs)"
            " let is = filter (\\i -> xs[i] > 2) (iota n) in map (\\i -> s[i].1) is ++ map i32.i64 is",
            True,
        ),
        ("let cs = scan (+) 0 (map (\\x -> i64.bool (x > 0)) xs) in map i32.i64 cs", False),
        ("scatter (copy xs) (map i64.i32 xs) xs", False),
        ("(partition (> 0) xs).0", False),
    ],
)
def test_what_is_a_filter(body: str, is_one: bool) -> None:
    prog = compile_text(f"entry main [n] (xs: [n]i32): []i32 = {body}", "main.soac")
    kernels = compile_core(prog, Mode.INCREMENTAL, CPU).host.kernels
    scans = [stm for kernel in kernels for stm in all_statements(kernel.body) if isinstance(stm, BlockScan)]
    assert any(kept_stores(scan) is not None for scan in scans) == is_one


@pytest.mark.parametrize(("before", "is_one"), [(SegScan, True), (SegScatter, False)])
def test_what_a_filter_stores_is_there_when_its_scan_runs(before: type, is_one: bool) -> None:
    prog = compile_text("entry main [n] (xs: [n]i32): []i32 = filter (> 0) xs", "main.soac")
    (main,) = compile_core(prog, Mode.INCREMENTAL, CPU).flat.functions
    (xs,) = (param for param in main.params if param.type.shape)
    copied = Name("ys", -1)
    stms = [
        replace(stm, exp=substitute_exp(stm.exp, {xs.name: Var(copied)})) if isinstance(stm.exp, SegScatter) else stm
        for stm in main.body.stms
    ]
    place = next(k for k, stm in enumerate(stms) if isinstance(stm.exp, before))
    stms.insert(place, Stm((Param(copied, xs.type),), Copy(xs.name), (), (), NOWHERE))
    assert bool(filters_in(tuple(stms), main.body.result)) == is_one


@pytest.mark.parametrize("entry", ["bytes", "ints", "places"])
def test_blocks_write_nothing_of_others(program: soac.Program, entry: str) -> None:
    """Of two blocks at once, one whose total is known overwrites what it keeps itself, and no more."""
    xs = np.random.default_rng(1).integers(-5, 6, 300_000).astype(np.int32)
    given = xs.astype({"bytes": np.int8, "places": np.float32}.get(entry, np.int32))
    expected = np.flatnonzero(xs > 0) if entry == "places" else given[xs > 0]
    for _ in range(20):
        (found,) = program.call(entry, [given], thresholds={f"{entry}.chunk": 70}, threads=2)
        np.testing.assert_array_equal(found, expected)
