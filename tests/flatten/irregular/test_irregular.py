"""Nonuniform parallelism: each rule fires where it should, and every version means what the program means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from soac.flatten.context.trace import Rule
from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.errors import RunError
from soac.ir.interpret import Thresholds, interpret
from soac.ir.machine import CPU, CUDA, Mode
from soac.ir.parse import parse_prog
from soac.ir.version_tree import combinations, sites
from soac.kernels.devices.cpu.executable import Executable
from soac.pipeline import compile_core
from tests.support.property.generate import Case
from tests.support.property.law import check_law

SIZE = "let k = i64.i32 (i32.abs y)"
COUNT = "map i32.i64 (iota k)"

CASES = {
    "row sums of varying length": ("[n]i32", f"map (\\y -> {SIZE} in reduce (+) 0 ({COUNT})) ys", {Rule.FLAT_RED}),
    "sums of two": (
        "[n](i32, i32)",
        f"map (\\y -> {SIZE} in reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip ({COUNT}) ({COUNT}))) ys",
        {Rule.FLAT_RED},
    ),
    "rows of a matrix, cut": (
        "[n]i32",
        "map2 (\\xs y -> let k = i64.min m (i64.i32 (i32.abs y)) in i32.sum (xs[0:k])) xss ys",
        {Rule.FLAT_RED},
    ),
    "every second of a row": (
        "[n]i32",
        "map2 (\\xs y -> let k = i64.min m (i64.i32 (i32.abs y)) in i32.maximum (xs[0:k:2])) xss ys",
        {Rule.FLAT_RED},
    ),
    "beside regular parallelism": (
        "[n][m]i32",
        f"map2 (\\xs y -> {SIZE} let s = reduce (+) 0 ({COUNT}) in map (+ s) (scan (+) 0 xs)) xss ys",
        {Rule.FLAT_RED, Rule.GR_SCAN, Rule.BALANCE},
    ),
    "map of varying length": (
        "[n]i32",
        f"map (\\y -> {SIZE} let zs = map (\\i -> i32.sum (map (* i32.i64 i) ys)) (iota k) in i32.sum zs) ys",
        {Rule.FLAT_MAP},
    ),
    "nonuniform in nonuniform": (
        "[n]i32",
        f"map (\\y -> {SIZE} in i32.sum (map (\\i -> i32.sum (map i32.i64 (iota i))) (iota k))) ys",
        {Rule.FLAT_MAP, Rule.FLAT_RED},
    ),
    "nonuniform in a matrix": (
        "[n][m]i32",
        "map (map (\\x -> i32.sum (map (\\i -> i32.i64 i * x) (iota (i64.i32 (i32.abs x)))))) xss",
        {Rule.FLAT_RED},
    ),
    "nonuniform in nonuniform in a matrix": (
        "[n][m]i32",
        """map (map (\\x -> let k = i64.i32 (i32.abs x)
                        let inner i = i32.sum (map (* x) (scan (+) 0 (map i32.i64 (iota (k - i)))))
                        in i32.sum (map inner (iota k)))) xss""",
        {Rule.FLAT_MAP, Rule.FLAT_SCAN},
    ),
    "scan of varying length": (
        "[n]i32",
        f"map (\\y -> {SIZE} let zs = scan (+) 0 ({COUNT}) in if k > 2 then zs[2] else y) ys",
        {Rule.FLAT_SCAN},
    ),
    "scan and reduction of varying length": (
        "[n]i32",
        f"map (\\y -> {SIZE} in reduce i32.max 0 (map2 (*) (scan (+) 0 ({COUNT})) (replicate k y))) ys",
        {Rule.FLAT_SCAN},
    ),
    "first that is not 0": (
        "[n]i32",
        f"""map (\\y -> {SIZE}
                    let first a b = if a == 0 then b else a
                    in reduce first 0 (map (% 3) (scan first 0 (map (\\z -> z * y - 2) ({COUNT}))))) ys""",
        {Rule.FLAT_SCAN},
    ),
    "operator that can fail": (
        "[n]i32",
        f"map (\\y -> {SIZE} in reduce (\\a b -> if b == 0 then a else a // b * b + a % b) 0 ({COUNT})) ys",
        {Rule.FLAT_RED},
    ),
    "operator that fails from one row to the next": (
        "[n]i32",
        f"""map (\\y -> {SIZE}
                    let op a b = if a == -1 then b else if b == -1 then a else assert (a % 9 == b % 9) (i32.max a b)
                    in i32.sum (scan op (-1) (map (\\i -> i32.i64 i * 9 + y) (iota k)))) ys""",
        {Rule.FLAT_SCAN},
    ),
    "operator on rows": (
        "[n][m]i32",
        f"""map (\\y -> {SIZE}
                    let rows = map (\\i -> map (+ i32.i64 i) xss[i % n]) (iota k)
                    in reduce (map2 (+)) (replicate m 0) rows) ys""",
        {Rule.IRWIM, Rule.FLAT_RED},
    ),
    "scan of rows": (
        "[n]i32",
        f"""map (\\y -> {SIZE}
                    let last a b = if b == 0 then a else b
                    let rows = map (\\i -> map (\\x -> (x + i32.i64 i) % 3) xss[i % n]) (iota k)
                    in i32.sum (map i32.sum (scan (map2 last) (replicate m 0) rows))) ys""",
        {Rule.ISWIM},
    ),
    "rows of rows": (
        "[n]i32",
        f"""map (\\y -> {SIZE}
                    let rows = map (\\i -> scan (+) 0 (map (\\j -> i32.i64 (i * j)) (iota k))) (iota k)
                    in i32.sum (map i32.sum (transpose rows)) + (if k > 1 then rows[1, k-1] else 0)) ys""",
        {Rule.FLAT_MAP, Rule.FLAT_SCAN, Rule.FLAT_RED},
    ),
    "rows of rows in a matrix": (
        "[n][m]i32",
        """map (map (\\x -> let k = i64.i32 (i32.abs x)
                        let rows = map (\\i -> map (\\j -> i32.i64 (i * 2 + j)) (iota (k + 1))) (iota k)
                        in i32.sum (map (\\row -> x + reduce i32.max 0 (scan (+) 0 row)) rows))) xss""",
        {Rule.FLAT_MAP, Rule.FLAT_SCAN},
    ),
    "rows of varying size in rows of one number": (
        "[n]i32",
        """map (\\y -> let k = i64.min m (i64.i32 (i32.abs y))
                    let rows = map (\\xs -> scan (+) 0 xs[:k]) xss
                    in i32.sum (map i32.sum (transpose rows)) + (if k > 0 then rows[0, k-1] else 0)) ys""",
        {Rule.FLAT_MAP, Rule.FLAT_SCAN, Rule.FLAT_RED},
    ),
    "rows of varying size beside sums": (
        "[n](i32, i32)",
        """map (\\y -> let k = i64.min m (i64.i32 (i32.abs y))
                    let (sums, rows) = unzip (map (\\xs -> (i32.sum xs[:k], map (+ y) xs[:k])) xss)
                    in (i32.sum sums, i32.sum (map i32.sum (transpose rows)))) ys""",
        {Rule.SPLIT, Rule.FLAT_MAP, Rule.FLAT_RED},
    ),
    "operator on rows of varying size": (
        "[n]i32",
        """map (\\y -> let k = i64.min m (i64.i32 (i32.abs y))
                    let rows = map (\\xs -> xs[m-k:] :> [k]i32) xss
                    in i32.sum (map (% 7) (reduce (map2 i32.max) (replicate k i32.lowest) rows))) ys""",
        {Rule.IRWIM, Rule.FLAT_MAP},
    ),
    "scan of rows of varying size": (
        "[n]i32",
        """map (\\y -> let k = i64.min m (i64.i32 (i32.abs y))
                    in i32.sum (flatten (scan (map2 (+)) (replicate k 0) (map (\\xs -> xs[:k]) xss)))) ys""",
        {Rule.IRWIM, Rule.FLAT_MAP},
    ),
    "map over map over iota": (
        "[n]i32",
        """map (\\y -> let k = i64.i32 (i32.abs y)
                    let inner i j = i32.sum (map i32.i64 (iota (i * j)))
                    in i32.sum (map (\\i -> i32.sum (map (inner i) (iota i))) (iota k))) ys""",
        {Rule.FLAT_MAP, Rule.FLAT_RED},
    ),
    "filter and sum": ("[n]i32", "map (\\xs -> reduce (+) 0 (rotate 1 (filter (> 2) xs))) xss", {Rule.FLAT_SCATTER}),
    "filter of a filter": (
        "[n]i32",
        "map (\\xs -> i32.product (rotate 1 (filter (< 6) (rotate 1 (filter (> 0) xs))))) xss",
        {Rule.FLAT_SCATTER, Rule.FLAT_SCAN},
    ),
    "histogram of varying width": (
        "[n][m]i32",
        f"map (\\y -> {SIZE} in hist (+) 0 m (map (% m) (iota k)) ({COUNT})) ys",
        {Rule.FLAT_SCATTER},
    ),
    "rows that are updated": (
        "[n]i32",
        f"map (\\y -> {SIZE} let zs = scan (+) 0 ({COUNT}) in if k > 1 then i32.sum (copy zs with [1] = y) else 0) ys",
        {Rule.FLAT_SCAN},
    ),
    "rows that are updated at their end": (
        "[n]i32",
        f"map (\\y -> {SIZE} in i32.sum (scan (+) 0 (({COUNT}) with [k - 1] = y))) ys",
        {Rule.UPDATE, Rule.FLAT_SCAN},
    ),
    "rows of which a part is updated": (
        "[n]i32",
        f"map (\\y -> {SIZE} let zs = {COUNT} in i32.sum (scan (+) 0 (zs with [k / 2:] = replicate (k - k / 2) y))) ys",
        {Rule.UPDATE, Rule.FLAT_SCAN},
    ),
    "parts of varying size of regular rows": (
        "[n]i32",
        """map2 (\\xs y -> let k = i64.min m (i64.i32 (i32.abs y))
                       in i32.sum (scan (+) 0 (copy xs with [m-k:] = map (* 2) xs[:k]))) xss ys""",
        {Rule.UPDATE, Rule.GR_SCAN},
    ),
    "corners of varying size": (
        "[n]i32",
        """map (\\y -> let (k, l) = (i64.min n (i64.i32 (i32.abs y)), i64.min m (i64.i32 (i32.abs y)))
                    let zss = copy xss with [:k, m-l:] = replicate k (replicate l y)
                    in i32.sum (map i32.sum (transpose (scan (map2 (+)) (replicate m 0) zss)))) ys""",
        {Rule.UPDATE},
    ),
    "rows side by side": (
        "[n]i32",
        f"map2 (\\xs y -> {SIZE} in i32.sum (scan (+) 0 (xs ++ scan (+) 0 ({COUNT})))) xss ys",
        {Rule.CONCAT, Rule.FLAT_SCAN},
    ),
    "branch of varying condition": (
        "[n][m]i32",
        "map2 (\\xs y -> if y > 1 then scan (+) 0 xs else map (+ 1) xs) xss ys",
        {Rule.VARYING_IF, Rule.GR_SCAN},
    ),
    "branch that gives rows of varying size": (
        "[n]i32",
        f"map (\\y -> {SIZE} let zs = if y > 1 then scan (+) 0 ({COUNT}) else replicate k y in i32.sum zs) ys",
        {Rule.VARYING_IF, Rule.FLAT_SCAN},
    ),
    "branch that gives rows of its own size": (
        "[n]i32",
        "map2 (\\xs y -> i32.sum (if y > 1 then filter (> 1) xs else xs)) xss ys",
        {Rule.VARYING_IF},
    ),
    "branch that chooses a slice": (
        "[n]i32",
        """map2 (\\xs y -> let k = i64.min m (i64.i32 (i32.abs y))
                       in i32.sum (map (+ y) (if y > 1 then xs[:k] else xs[k:]))) xss ys""",
        {Rule.VARYING_IF, Rule.FLAT_RED},
    ),
    "branch that chooses a slice, the same one for all": (
        "[n]i32",
        """map2 (\\xs y -> let k = i64.min m (i64.i32 (i32.abs y))
                       in i32.sum (map (+ y) (if n > 3 then xs[:k] else scan (+) 0 xs[k:]))) xss ys""",
        {Rule.VARYING_IF, Rule.FLAT_RED},
    ),
    "loop that changes sizes": (
        "[n]i32",
        f"map (\\y -> {SIZE} in i32.sum (loop zs = {COUNT} for i < 3 do map (+ i) (scan (+) 0 zs[length zs / 2:]))) ys",
        {Rule.VARYING_LOOP, Rule.FLAT_SCAN},
    ),
    "loop that changes sizes for as long as it likes": (
        "[n]i32",
        """map2 (\\(xs: [m]i32) y -> let (zs, _) = loop (zs, k) = (xs, 0) while length zs > 1 && k < y do
                                       (filter (> zs[0]) zs ++ [y], k + 1)
                       in i32.sum zs) xss ys""",
        {Rule.VARYING_LOOP, Rule.VARYING_IF, Rule.FLAT_SCATTER},
    ),
    "loop over rows of varying size": (
        "[n]i32",
        f"map (\\y -> {SIZE} in i32.sum (loop zs = {COUNT} for i < 3 do map (+ i) (scan (+) 0 zs))) ys",
        {Rule.VARYING_LOOP},
    ),
    "rounds that vary too": (
        "[n]i32",
        f"map (\\y -> {SIZE} in i32.sum (loop zs = {COUNT} for i < y do map (+ i) (scan (+) 0 zs))) ys",
        {Rule.VARYING_LOOP, Rule.VARYING_IF},
    ),
    "rows that go on for as long as they like": (
        "[n]i32",
        f"""map (\\y -> {SIZE}
                    let (zs, _) = loop (zs, i) = ({COUNT}, 0) while i < y && i < 3 do (map (+ i) (scan (+) 0 zs), i + 1)
                    in i32.sum zs) ys""",
        {Rule.VARYING_LOOP, Rule.VARYING_IF},
    ),
    "reduction of nonuniform sums": (
        "i32",
        f"reduce i32.max 0 (map (\\y -> {SIZE} in reduce (+) 0 ({COUNT})) ys)",
        {Rule.FLAT_RED},
    ),
    "lengths that fail": ("[n]i32", "map (\\y -> i32.sum (map i32.i64 (iota (i64.i32 y)))) ys", {Rule.FLAT_RED}),
    "elements that fail": (
        "[n]i32",
        f"map (\\y -> {SIZE} in i32.sum (map (\\i -> ys[i] + y) (iota k))) ys",
        {Rule.FLAT_RED},
    ),
    "as asked, in the threads": (
        "[n]i32",
        f"#[flattening(sequentialise_nonuniform)] map (\\y -> {SIZE} in reduce (+) 0 ({COUNT})) ys",
        {Rule.G1},
    ),
}


def compiled(result: str, body: str) -> Prog:
    text = f"""
    entry main [n][m] (xss: [n][m]i32) (ys: [n]i32) : {result} =
      let result = {body} in result
    """
    return simplify(fuse(simplify(inline(compile_text(text, "irregular.soac")))))


def arguments(n: int, m: int, seed: int) -> list[np.ndarray]:
    numbers = np.random.default_rng(seed)
    return [numbers.integers(-3, 9, shape).astype(np.int32) for shape in ((n, m), (n,))]


SHAPES = ((3, 4), (0, 3), (2, 0), (5, 2))
INPUTS = [
    *(arguments(*shape, seed) for seed, shape in enumerate(SHAPES)),
    [np.zeros((4, 3), np.int32), np.zeros(4, np.int32)],
    [np.full((5, 2), 3, np.int32), np.array([0, 0, 20, 0, 1], np.int32)],
]


def run(prog: Prog, args: Sequence[np.ndarray], version: dict[str, bool]) -> list | None:
    try:
        return list(interpret(prog, "main", args, Thresholds(forced=version))[0])
    except RunError:
        return None


def assert_agree(expected: list | None, found: list | None) -> None:
    """If the program fails, a version fails or does not need what fails."""
    if expected is not None:
        assert found is not None
        for x, y in zip(expected, found, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    result, body, fires = CASES[name]
    prog = compiled(result, body)
    done = flatten_traced(prog, Mode.INCREMENTAL, CUDA)
    assert fires <= {fired.rule for fired in done.trail}
    check(done.prog, Stage.FLAT)
    flat = simplify(done.prog)
    for args in INPUTS:
        expected = run(prog, args, {})
        for version in combinations(sites(flat)):
            assert_agree(expected, run(flat, args, version))


@pytest.mark.parametrize("name", CASES)
def test_case_on_the_device(name: str) -> None:
    result, body, _ = CASES[name]
    made = compile_core(compiled(result, body), Mode.INCREMENTAL, CPU)
    program = Executable.build(made.host, made.flat.functions)
    for args in INPUTS:
        expected = run(made.core, args, {})
        for version in combinations(sites(made.flat)):
            try:
                found = list(program.run("main", args, forced=version, threads=2)[0])
            except RunError:
                found = None
            assert_agree(expected, found)


def test_failing_lengths_fail_on_every_version() -> None:
    """An empty row is not a row whose length is wrong: its neutral element is used."""
    result, body, _ = CASES["lengths that fail"]
    flat = flatten_traced(compiled(result, body), Mode.INCREMENTAL, CUDA).prog
    args = [np.zeros((3, 0), np.int32), np.array([2, -1, 0], np.int32)]
    for version in combinations(sites(flat)):
        with pytest.raises(RunError, match="negative"):
            interpret(flat, "main", args, Thresholds(forced=version))


def test_a_place_out_of_bounds_behind_a_check_fails_on_every_version() -> None:
    """The update of an element relies on both, and on its row being the point's own."""
    body = f"""map2 (\\xs y -> let zs = assert (y < 8) (copy xs with [i64.i32 y] = y)
                          {SIZE} let us = scan (+) 0 zs in i32.sum us + i32.sum (scan i32.max 0 ({COUNT}))) xss ys"""
    flat = flatten_traced(compiled("[n]i32", body), Mode.INCREMENTAL, CUDA).prog
    args = [np.zeros((3, 5), np.int32), np.array([2, 7, 4], np.int32)]
    for version in combinations(sites(flat)):
        with pytest.raises(RunError, match=r"index \[7\] out of bounds"):
            interpret(flat, "main", args, Thresholds(forced=version))


# ---- budgets -----------------------------------------------------------------------------------------------------


def test_too_many_elements_are_a_failure_to_allocate() -> None:
    """The sum of the widths overflows: that is the failure of this version, and no wrong result."""
    prog = compiled("[n]i64", "map (\\y -> reduce (+) 0 (scan (+) 0 (iota (i64.i32 y * (1 << 61))))) ys")
    made = compile_core(prog, Mode.INCREMENTAL, CPU)
    program = Executable.build(made.host, made.flat.functions)
    args = [np.zeros((4, 0), np.int32), np.full(4, 2, np.int32)]
    version = {site.name: False for site in sites(made.flat)}
    with pytest.raises(RunError, match="out of memory"):
        program.run("main", args, forced=version, threads=1)


def test_more_elements_than_can_be_counted_are_a_failure() -> None:
    """The same without an array of them: a reduction of what no number counts has no parts."""
    prog = compiled("[n]i64", "map (\\y -> reduce (+) 0 (iota (i64.i32 y * (1 << 61)))) ys")
    made = compile_core(prog, Mode.INCREMENTAL, CPU)
    program = Executable.build(made.host, made.flat.functions)
    version = {site.name: False for site in sites(made.flat)}
    with pytest.raises(RunError, match="too many elements"):
        program.run("main", [np.zeros((4, 0), np.int32), np.full(4, 2, np.int32)], forced=version, threads=1)


def test_segments_are_shared() -> None:
    """A map, a scan and a reduction of one width have one descriptor."""
    body = f"map (\\y -> {SIZE} in reduce (+) 0 (scan (+) 0 (scan i32.max 0 ({COUNT})))) ys"
    trail = flatten_traced(compiled("[n]i32", body), Mode.INCREMENTAL, CUDA).trail
    assert [fired.rule for fired in trail].count(Rule.SEGMENTS) == 1
    assert [fired.rule for fired in trail].count(Rule.FLAT_SCAN) == 2


@pytest.mark.parametrize("most", [0, 1, 2, 3, 5])
def test_budget_of_segments(most: int) -> None:
    """An entry has no more descriptors than the machine allows; the rest stays in the thread, with the same meaning."""
    body = """
      map (\\y -> let sum k = i32.sum (map i32.i64 (iota (i64.i32 (i32.abs (y + k)))))
                  in if y % 2 == 0 then sum 1 * sum 2 + i32.i64 (length (filter (> y) ys))
                     else sum 3 - (if y > 0 then sum 4 else sum 5)) ys
    """
    prog = compiled("[n]i32", body)
    flattened = flatten_traced(prog, Mode.INCREMENTAL, replace(CPU, max_segments=most))
    assert [fired.rule for fired in flattened.trail].count(Rule.SEGMENTS) <= most + 1
    check(flattened.prog, Stage.FLAT)
    args = (np.zeros((4, 1), np.int32), np.array([3, -2, 0, 5], np.int32))
    before = interpret(prog, "main", args)[0]
    for version in combinations(sites(flattened.prog)):
        after = interpret(flattened.prog, "main", args, Thresholds(forced=version))[0]
        for x, y in zip(before, after, strict=True):
            np.testing.assert_array_equal(x, y)


# ---- sorting -----------------------------------------------------------------------------------------------------


def test_sort_of_rows() -> None:
    """Odd-even sort: the trip count of a row is its length."""
    text = """
    def step [n] (i: i64) (xs: [n]i32): [n]i32 =
      map (\\k -> let is_first = (k + i) % 2 == 0
                 in if is_first && k + 1 < n then i32.min xs[k] xs[k+1]
                    else if !is_first && k > 0 then i32.max xs[k-1] xs[k] else xs[k]) (iota n)
    entry main [n][m] (off: [n]i64) (xs: [m]i32): [n - 1]i32 =
      let ys = map (\\i -> let row = copy xs[off[i]:off[i+1]]
                          let sorted = loop row for i < length row do step i row
                          in reduce (\\h x -> h * 31 + x) 0 sorted) (iota (n - 1))
      in ys
    """
    prog = simplify(fuse(simplify(inline(compile_text(text, "sort.soac")))))
    flat = simplify(flatten_traced(prog, Mode.INCREMENTAL, CUDA).prog)
    numbers = np.random.default_rng(3)
    off = np.array([0, 4, 4, 5, 12, 14], np.int64)
    xs = numbers.integers(-50, 50, 14).astype(np.int32)
    for version in combinations(sites(flat)):
        (found,), _ = interpret(flat, "main", [off, xs], Thresholds(forced=version))
        for value, a, b in zip(np.asarray(found), off, off[1:], strict=False):
            expected = 0
            for x in np.sort(xs[a:b]).tolist():
                expected = expected * 31 + x
            assert value == np.array(expected).astype(np.int32)


@pytest.mark.parametrize(
    ("result", "body"),
    [
        ("[n]i32", "map2 (\\xs y -> reduce i32.max y xs) xss ys"),
        (
            "[n][m]i32",
            f"map (\\y -> {SIZE} in hist (\\a b -> i32.max (i32.min a b) y) 100 m (map (% m) (iota k)) ({COUNT})) ys",
        ),
    ],
)
def test_versions_that_are_the_same_are_one(result: str, body: str) -> None:
    """An operator that varies keeps the reduction, or the histogram, in the thread: then there is nothing to choose."""
    assert sites(flatten_traced(compiled(result, body), Mode.INCREMENTAL, CUDA).prog) == ()


def test_empty_segments_of_a_scan_beside_reductions_have_their_neutral_elements() -> None:
    prog = parse_prog(r"""next_name 60
        fun main_0 (n_1: i64, ys_2: [n_1]i64) : (r_3: [n_1]i64, r_4: [n_1]i64, r_5: [n_1]i64)
          entry "main" sizes 1 ("ys": "[n]i64" 1) : ("[n](i64, i64, i64)" (0, 1, 2)) = {
          let (a_6: [n_1]i64, b_7: [n_1]i64, c_8: [n_1]i64) = map n_1 (ys_2) \(y_9: i64) : (i64, i64, i64) -> {
            let (is_10: [y_9]i64) = iota_i64 y_9 from 0i64 by 1i64
            let (zs_11: [y_9]i64) = scan y_9 (i_14: i64 <- is_10) (0i64)
              \(x_16: i64, z_17: i64) : (i64) -> { let (s_18: i64) = add_i64 x_16 z_17 in (s_18) }
            let (p_12: i64, q_13: i64) = redomap y_9 (is_10)
              \(i_34: i64) : (i64, i64) -> { let (j_15: i64) = add_i64 i_34 2i64 in (i_34, j_15) }
              reduce (0i64, 1i64) \(e_19: i64, f_20: i64, g_21: i64, h_22: i64) : (i64, i64) -> {
                let (s_23: i64) = add_i64 e_19 g_21 let (m_24: i64) = mul_i64 f_20 h_22 in (s_23, m_24) }
            let (t_25: i64) = reduce y_9 (v_26: i64 <- zs_11) (0i64)
              \(k_27: i64, l_28: i64) : (i64) -> { let (u_29: i64) = add_i64 k_27 l_28 in (u_29) }
            in (t_25, p_12, q_13) }
          in (a_6, b_7, c_8) }""")
    args = (np.array([0, 3, 0, 6, 1, 0]),)
    tally = check_law(Case(prog, args), Mode.INCREMENTAL)
    assert tally.fired[Rule.FLAT_SCAN]
