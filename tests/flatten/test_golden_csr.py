"""The golden of sparse matrices (4.9): structure of the versions, what their guards measure, values on each, and
the merge-path split into any number of parts."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Level, Prog, SegMap, SegRed
from soac.ir.interpret import Thresholds, interpret
from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.ir.parse import parse_prog
from soac.ir.show import show
from soac.ir.traverse import all_exps
from soac.ir.version_tree import combinations, sites, size_params
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.schedule import merge_path as mergepath
from soac.pipeline import compile_core
from soac.testing.structure import structure

CSR = """
entry main [n][nnz][m] (off: [n]i64) (col: [nnz]i64) (value: [nnz]i32) (x: [m]i32): [n - 1]i32 =
  let ys = map (\\i -> reduce (+) 0 (map (\\k -> value[k] * x[col[k]]) (off[i]..<off[i+1]))) (iota (n - 1))
  in ys
"""
ROWS = {
    "an empty row": [3, 0, 5, 1],
    "a row with nine tenths": [2, 90, 3, 1, 0, 4],
    "no rows": [],
    "no elements": [0, 0, 0],
    "empty at the ends": [0, 0, 7, 0],
    "one long row": [1000],
    "many": [k % 7 for k in range(300)],
}


def fused(text: str) -> Prog:
    return simplify(fuse(simplify(inline(compile_text(text, "csr.soac")))))


def flat(mode: Mode = Mode.INCREMENTAL, machine: Machine = CUDA) -> Prog:
    prog = simplify(flatten_traced(fused(CSR), mode, machine).prog)
    check(prog, Stage.FLAT)
    return prog


def matrix(lengths: list[int]) -> tuple[list[np.ndarray], np.ndarray]:
    """A matrix with rows of these lengths, a vector, and their product."""
    numbers = np.random.default_rng(len(lengths))
    off = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    col, value, x = (
        numbers.integers(0, 7, off[-1]),
        numbers.integers(-9, 9, off[-1]).astype(np.int32),
        numbers.integers(-9, 9, 7).astype(np.int32),
    )
    rows = [np.sum(value[a:b] * x[col[a:b]], dtype=np.int32) for a, b in pairwise(off)]
    return [off, col, value, x], np.array(rows, np.int32)


def thresholds_of(prog: Prog) -> tuple[str, ...]:
    (site,) = sites(prog)
    return tuple(name.removeprefix("main.ys.") for name in site.thresholds)


# ---- structure -------------------------------------------------------------------------------------------------------


def test_thread_warp_and_balanced() -> None:
    prog = flat()
    assert thresholds_of(prog) == ("suff_outer_0", "suff_intra_warp_0")
    assert size_params(prog) == {"main.ys.skew_0": 2000, "main.ys.skew_warp_0": 2000}
    found = structure(prog)
    thread, warp, balanced = "/If/True", "/If/False/If/True", "/If/False/If/False"
    assert found[f"{thread}/SegMap/Redomap"] == found[f"{thread}/SegMap"] == 1
    assert found[f"{warp}/SegMap/SegRed"] == found[f"{warp}/SegMap"] == 1
    assert found[f"{balanced}/SegRed"] == 1
    exps = list(all_exps(prog.functions[0].body))
    assert [exp.level for exp in exps if isinstance(exp, SegMap)].count(Level.WARP) == 1
    assert [exp.ends is not None for exp in exps if isinstance(exp, SegRed)].count(True) == 1


def test_a_segred_of_rows_is_read_as_it_is_shown() -> None:
    shown = show(flat(Mode.EVERY))
    assert re.search(r"segred\^thread \(p_\d+ < \w+, q_\d+ < total_\d+\) rows ends_\d+\n", shown)
    assert show(parse_prog(shown)) == shown


def test_the_block_is_pruned_unless_all_is_asked_for() -> None:
    prog = flat(Mode.EVERY)
    assert thresholds_of(prog) == ("suff_outer_0", "suff_intra_warp_0", "suff_intra_0")
    assert size_params(prog)["main.ys.longest_0"] == 1024
    found = structure(prog)
    assert found["/If/False/If/False/If/True/SegMap/SegRed"] == found["/If/False/If/False/If/False/SegRed"] == 1
    assert thresholds_of(flat(Mode.EVERY, CPU)) == ("suff_even_0", "suff_intra_0")
    assert thresholds_of(flat(Mode.INCREMENTAL, CPU)) == ("suff_even_0",)


# ---- guards ----------------------------------------------------------------------------------------------------------


def seen(lengths: list[int], sizes: dict[str, int]) -> list[int]:
    """What the guards of all versions compare, on the way to the last one."""
    prog = flat(Mode.EVERY)
    refused = dict.fromkeys(sites(prog)[0].thresholds, False)
    args, _ = matrix(lengths)
    _, trace = interpret(prog, "main", args, Thresholds(sizes, refused))
    return [par for _, par, _ in trace]


def test_guards_measure_the_padded_work() -> None:
    """Rows 3, 0, 5, 1 in one warp: ε_thread = 32*5/(9+4), ε_warp = 32*4/(9+4), longest 5, mean 2. A guard sees its
    parallelism while ε is at most the parameter; little work counts as parallelism for the threads."""
    rows, thread, warp = [3, 0, 5, 1], 1000 * 32 * 5 // 13, 1000 * 32 * 4 // 13
    names = ("main.ys.skew_0", "main.ys.skew_warp_0", "main.ys.longest_0")
    assert seen(rows, dict(zip(names, (thread, warp, 5), strict=True))) == [9, 4, 2]
    assert seen(rows, dict(zip(names, (thread - 1, warp - 1, 4), strict=True))) == [9, 0, 0]
    assert seen([0, 0, 0], {}) == [3, 0, 0]  # nothing padded in threads; a warp to a row has nothing to do
    assert seen([], {}) == [0, 0, 0]


def test_long_rows_are_not_for_threads() -> None:
    """Of 2^14 elements or more the number of rows counts, if these are alike and none keeps a multiprocessor long."""
    assert seen([64] * 320, {})[:2] == [320, 320]
    assert seen([600] * 32, {})[:2] == [0, 32]
    assert seen([600] * 31 + [1 << 11], {})[:2] == [0, 32]
    assert seen([600] * 31 + [1 << 14], {})[:2] == [0, 0]
    assert seen([1] * 20000, {})[:2] == [20000, 0]


def test_without_warps_the_longest_row_counts() -> None:
    """3/2 of the work over that of the longest, rows counting one and their elements; little work is enough for one."""
    prog, long = flat(Mode.INCREMENTAL, CPU), 1 << 14
    cases = (([long] * 20, 30), ([long, 0, 0, 0, 0], 1), ([1, long, long, 0], 3), ([], 0), ([5, 0, 7], 12))
    for lengths, parallelism in cases:
        args, _ = matrix(lengths)
        _, trace = interpret(prog, "main", args, Thresholds(forced={"main.ys.suff_even_0": True}))
        assert [par for _, par, _ in trace] == [parallelism]


@pytest.mark.parametrize(("lengths", "parallelism"), [([1 << 10] * 32, 6), ([1 << 14, 3, 0], 0)])
def test_rows_of_a_loop_are_measured(lengths: list[int], parallelism: int) -> None:
    """What a loop does to a row counts as its length; the lanes of a vector wait for the longest."""
    text = """
    entry main [n] (lengths: [n]i64): [n]i64 =
      let ys = map (\\l -> i64.sum (loop xs = iota l for _i < 3 do scan (+) 0 xs)) lengths in ys
    """
    prog = simplify(flatten_traced(fused(text), Mode.INCREMENTAL, CPU).prog)
    _, trace = interpret(prog, "main", [np.array(lengths, np.int64)], Thresholds(default=1 << 40))
    assert trace[0][:2] == ("main.ys.suff_even_0", parallelism)


# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [CPU, CUDA], ids=lambda machine: machine.name)
def test_every_version(machine: Machine) -> None:
    prog = flat(Mode.EVERY, machine)
    made = compile_core(fused(CSR), Mode.EVERY, machine, schedules=CPU)
    program = Executable.build(made.host, made.flat.functions)
    for lengths in ROWS.values():
        args, expected = matrix(lengths)
        for version in combinations(sites(prog)):
            (found,), _ = interpret(prog, "main", args, Thresholds(forced=version))
            np.testing.assert_array_equal(found, expected)
            (found,), _ = program.run("main", args, forced=version, threads=2)
            np.testing.assert_array_equal(found, expected)


# ---- the split -------------------------------------------------------------------------------------------------------

COMPOSED = """
entry main [n] (lengths: [n]u8): [n](i32, i32) =
  let ys = map (\\(l: u8) ->
                  reduce (\\(a, b) (c, d) -> (c * a, c * b + d)) (1, 0)
                    (map (\\k -> (i32.i64 (k % 5) - 2, i32.i64 k)) (iota (i64.u8 l)))) lengths
  in ys
"""
FAILING = """
entry main [n] (lengths: [n]u8): [n]i32 =
  let ys = map (\\(l: u8) -> reduce (\\a b -> if b == 0 then a else a // b * b + a % b) 0
                              (map (\\k -> i32.i64 (k * 7 % 11)) (iota (i64.u8 l)))) lengths
  in ys
"""


def linear(length: int) -> tuple[int, int]:
    """The functions x -> (k % 5 - 2) x + k one after the other."""
    a, b = np.int32(1), np.int32(0)
    with np.errstate(over="ignore"):
        for k in range(length):
            c = np.int32(k % 5 - 2)
            a, b = c * a, c * b + np.int32(k)
    return int(a), int(b)


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 13])
@pytest.mark.parametrize("rows", ROWS)
def test_parts(rows: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same whatever the number of parts, of an operator that does not commute; nothing depends on the threads."""
    lengths = [min(length, 255) for length in ROWS[rows]]
    monkeypatch.setattr(mergepath, "GRAIN", max(1, -(-(len(lengths) + sum(lengths)) // parts)))
    made = compile_core(fused(COMPOSED), Mode.INCREMENTAL, CPU)
    program = Executable.build(made.host, made.flat.functions)
    version = {site.name: False for site in sites(made.flat)}
    expected = np.array([linear(length) for length in lengths], np.int32).reshape(-1, 2)
    for threads in (1, 2):
        found, _ = program.run("main", [np.array(lengths, np.uint8)], forced=version, threads=threads)
        np.testing.assert_array_equal(np.stack(list(found), axis=1), expected)


@pytest.mark.parametrize("parts", [1, 3, 13])
def test_parts_with_an_operator_that_can_fail(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code stands in no collective: a part reduces a row in a loop."""
    lengths = np.array([3, 0, 70, 1, 200], np.uint8)
    monkeypatch.setattr(mergepath, "GRAIN", max(1, -(-(5 + int(lengths.sum())) // parts)))
    made = compile_core(fused(FAILING), Mode.INCREMENTAL, CPU)
    program = Executable.build(made.host, made.flat.functions)
    version = {site.name: False for site in sites(made.flat)}
    (expected,), _ = interpret(made.core, "main", [lengths])
    (found,), _ = program.run("main", [lengths], forced=version, threads=2)
    np.testing.assert_array_equal(found, expected)
