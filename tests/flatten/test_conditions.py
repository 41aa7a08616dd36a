"""Programs that a rule must leave alone: each breaks one of its conditions, and means the same after all passes."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.flatten import flatten_traced
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.entry import Argument
from soac.ir.errors import RunError
from soac.ir.interpret import Prepared, Thresholds, prepare
from soac.ir.machine import CPU, Mode
from soac.pipeline import CORE_PASSES, FLAT_PASSES

PROGRAMS = {
    "an element of a scan that is not the last": "(scan (+) 0 (map (* 2) xs))[n - 2]",
    "what was kept from an array that is overwritten": (
        "let xs = copy xs let ys = filter (> 1) xs let xs = xs with [0] = 100 in i64.sum (map (+ 1) ys) + xs[0]"
    ),
    "a map of what was kept that would fail on the rest": "map (\\x -> 12 / x) (filter (!= 0) xs)",
    "what a branch uses and the program gives": (
        "let ys = map (* 2) xs in (if c then i64.sum (map (+ 1) ys) else 0, ys)"
    ),
    "what a branch uses of an array that is overwritten before it": (
        "let xs = copy xs let ys = map (* 2) xs let xs = xs with [0] = 50"
        " in if c then i64.sum (map (+ 1) ys) + xs[0] else xs[0]"
    ),
    "a part made of one that is overwritten before it": (
        "let h = n / 2 let a = copy xs let part = map2 (+) a[:h] (a[h:2 * h] :> [h]i64)"
        " let a = a with [h:2 * h] = map (* 3) a[h:2 * h] in a with [:h] = part"
    ),
    "two parts that meet": (
        "let h = n / 2 let a = copy xs let part = map (* 2) a[:h]"
        " let a = a with [1:h + 1] = replicate h 7 in a with [:h] = part"
    ),
    "a part that is out of bounds": "let a = copy xs in a with [2:n + 2] = map (* 2) xs",
    "a branch that divides": "map (\\x -> if x == 0 then 5 else 12 / x) xs",
    "an array that is overwritten before it is read again": (
        "let a = copy xs let ys = map (* 2) a let a = scatter a (iota n) (replicate n 7) in map2 (+) (map (+ 1) ys) a"
    ),
    "a scatter that reads what the one before it wrote": (
        "let a = scatter (copy xs) (iota n) (replicate n 7) let v = copy a"
        " in scatter a (map (+ 1) (iota n)) (map (\\i -> v[i] + i) (iota n))"
    ),
    "a scatter of parts that reads what the part before it writes": (
        "let a = copy xs let v = map (+ 1) a"
        " in scatter a (iota n ++ iota n) (map (\\i -> a[n - 1 - i] + v[i]) (iota n) ++ map (\\i -> a[i] * 2) (iota n))"
    ),
    "parts that are overwritten before they are scattered": (
        "let a = map (\\x -> x * x) xs let vs = a ++ map (+ 2) xs let a = a with [0] = 9"
        " in (a, scatter (replicate 20 0) (iota n ++ map (+ n) (iota n)) vs)"
    ),
    "a copy of what was kept and is overwritten": (
        "let ys = filter (> 1) xs let c = copy ys in (if null ys then ys else ys with [0] = 9, c)"
    ),
    "histograms in a nest whose neutral elements differ": (
        "map (\\x -> reduce_by_index (replicate 3 (-9999)) i64.max (-1000 - x * x) (map (% 3) xs) (map (+ x) xs)) xs"
    ),
    "histograms by the same indices into other bins": (
        "(reduce_by_index (replicate n 0) (+) 0 xs xs, reduce_by_index (replicate (n + 1) 0) (+) 0 xs (map (* 2) xs))"
    ),
    "results of a map of rows in another order": (
        "let op (a, b) (c, d) = let (u, v) = unzip (map4 (\\x y z w -> (y + w, i64.max x z)) a b c d) in (v, u)"
        " in let (p, q) = reduce op (replicate n i64.lowest, replicate n 0)"
        " (map (\\x -> (map (+ x) xs, map (* x) xs)) xs)"
        " in p ++ q"
    ),
    "what a map between them overwrites": (
        "let a = copy xs let ys = map (* 2) a let a = map (\\x -> x) (scatter a (iota n) (replicate n 7))"
        " let zs = map (+ 1) ys in map2 (+) zs a"
    ),
    "what another one that moves along reads": (
        "let a = copy xs let ys = map (* 2) xs let us = map2 (+) ys a let a = a with [0] = 50"
        " let (vs, w) = (map (+ 1) ys, a[0]) in (vs, us, w)"
    ),
    "a map that is read at other places behind what overwrites its array": (
        "let a = reduce_by_index (replicate n 1) (+) 0 xs xs let ys = map (\\x -> x * x + 1) a let a = a with [0] = 50"
        " in (map (\\i -> ys[(i + 1) % n] * 2) (iota n), a)"
    ),
    "a value of a loop that becomes a number": "loop (a, b) = (n, 1) for _i < n do (7, b + a)",
    "sums of products of halves": (
        "map (\\x -> let y = f16.i64 x / 7 in f16.sum (map2 (*) [y, y + 1] [y, y + 0.3])) (map (* 3) xs)"
    ),
    "rows that are read beside copies that are overwritten": (
        "map (\\c -> let rows = map (\\x -> map (+ (x + c)) (iota 3)) xs"
        " in map2 (\\row other -> i64.sum (scatter (copy row) (iota 2) (map (* 7) xs[:2])) + i64.sum (map (* 3) other))"
        " rows rows) xs"
    ),
    "rows that are read as a whole beside copies that are overwritten": (
        "map (\\c -> let rows = map (\\x -> map (+ (x + c)) (iota 3)) xs"
        " in map (\\row -> i64.sum (scatter (copy row) (iota 2) (map (* 7) xs[:2])) + i64.sum (map (* 3) rows[n - 1]))"
        " rows) xs"
    ),
    "differences of equal operands": "map (\\x -> (x - n) * 10 + (n - x)) xs",
    "sums of rows that are read at other places": (
        "reduce (map2 (+)) (replicate n 0)"
        " (map (\\x -> let a = map (\\y -> y * x + 1) xs in map (\\j -> a[j * 3 % n] * 2 + 1) (iota n)) xs)"
    ),
    "loops over arrays whose size differs by element": (
        "map (\\x -> i64.sum (loop ys = iota (x + 1) for i < 3 do map (\\y -> y * x + i) ys)) xs"
    ),
    "bounds at the end of the numbers": (
        "loop a = copy xs for k < 3 do map (\\i -> if i > 9223372036854775807 then a[i] + 1 else a[i] + k) (iota n)"
    ),
    "one of two results is a row of any size": (
        "map (\\x -> let m = x %% 3 in let (rows, sums) = unzip (map (\\i -> (map (+ (i + x)) xs[:m], i * x)) (iota 2))"
        " in i64.sum (flatten rows) + sums[1]) xs"
    ),
    "a copy of an array that has other names": (
        "let ys = map (* 2) xs let zs = ys[:n] :> [n]i64 let c = copy zs let c = c with [0] = 100"
        " in (c, zs, i64.sum zs)"
    ),
    "a map whose result is flattened and read by another name": (
        "let ys = map (\\x -> map (+ x) xs) xs let zs = (ys[:n] :> [n][n]i64) let a = flatten zs"
        " in (map (+ 1) a, map i64.sum zs)"
    ),
    "a map of which a part is taken by another name": (
        "let ys = map (\\x -> x * x + 1) xs let zs = ys[:n] in (zs[:n / 2], i64.sum zs)"
    ),
}
VIEWS = {
    "rows": "map (\\r -> r) a",
    "rows of rows": "map (\\r -> map (\\x -> x) r) a",
    "parts of rows": "map (\\r -> r[1:]) a",
    "columns": "map (\\i -> map (\\r -> r[i]) a) (iota n)",
    "transposed rows": "map transpose (map (\\r -> [r, r]) a)",
    "rows in one": "map (\\(r: [n]i64) -> unflatten (r :> [1 * n]i64)) a",
    "copies": "map copy a",
    "copies turned": "(map copy a)[::-1]",
    "a copy turned": "(copy a)[::-1]",
    "a repetition": "(replicate 3 a)[1]",
    "a literal": "[a, copy a][0]",
    "a part of a literal": "[a, copy a][0, ::-1]",
}
"""What becomes a view of `a`: what overwrites the result must not overwrite that, and the other way round."""

PROGRAMS |= {
    f"{name} of which {what}": f"let a = map (\\x -> map (* (x + 1)) xs) xs let v = {view} let {changed} in (v, a)"
    for name, view in VIEWS.items()
    for what, changed in (
        ("the view is overwritten", "v = v with [0] = copy v[n - 1]"),
        ("the source is overwritten", "a = a with [0] = copy a[n - 1]"),
    )
}
XS = np.array([3, 0, 1, 5, 2, 0, 7], np.int64)


@pytest.fixture(scope="module")
def programs() -> tuple[Prepared, Prepared]:
    """All of them as they are, and after all passes. No pass makes a program that reads what has been overwritten."""
    entries = (f"entry e{k} [n] (xs: [n]i64) (c: bool) = {body}" for k, body in enumerate(PROGRAMS.values()))
    prog = compile_text("\n".join(entries), "conditions.soac")
    made = prog
    for _, run in CORE_PASSES:
        check(made := run(made), Stage.CORE)
    made = flatten_traced(made, Mode.FULL, CPU).prog
    for _, run in FLAT_PASSES:
        check(made := run(made), Stage.FLAT)
    return prepare(prog), prepare(made)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_means_what_it_meant(programs: tuple[Prepared, Prepared], name: str) -> None:
    entry = f"e{list(PROGRAMS).index(name)}"
    for n, c in ((2, True), (7, True), (7, False)):
        before, after = (results(program, entry, (XS[:n], np.bool_(c))) for program in programs)
        if before is not None:
            assert after is not None
            for x, y in zip(before, after, strict=True):
                np.testing.assert_array_equal(x, y)


def results(program: Prepared, entry: str, args: tuple[Argument, ...]) -> list[Argument] | None:
    try:
        return program.run(entry, args, Thresholds())[0]
    except RunError:
        return None
