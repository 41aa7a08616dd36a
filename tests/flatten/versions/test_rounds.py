"""Loops at the top level whose rounds are those of one collective."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import soac
from soac.ir.interpret import interpret
from soac.ir.version_tree import sites
from soac.kernels.devices.cpu.runtime import thread_pool
from soac.kernels.tracer.run import TraceSettings, trace_program
from soac.pipeline import flat_prog

ROUNDS = {
    "map": ("entry main [n] (xs: [n]i64): [n]i64 = loop xs for i < 9 do map2 (\\x y -> x + y * i) xs (rotate 1 xs)", 1),
    "while": ("entry main (n: i64): i64 = loop x = n while x > 1 do x - 1 - i64.sum (map (x >>) (iota 16))", 1),
    "while an array": (
        "entry main [n] (xs: [n]i64): [n]i64 = "
        "(loop (xs, k) = (xs, 0) while k < 9 && any (< 99) xs do (map2 (+) xs (rotate k xs), k + 1)).0",
        1,
    ),
    "overwritten while": (
        "entry main [n] (a: *[n]i64): [n]i64 = "
        "(loop (a: *[n]i64, k) = (a, 0) while k < n && k < 9 do (a with [k] = i64.sum (map (* 2) a), k + 1)).0",
        1,
    ),
    "while of its own": (
        "entry main [n] (xs: [n]i64) = loop xs for i < 9 do loop xs while any (> i) xs do map (/ 2) xs",
        1,  # of the inner loop
    ),
    "narrow count": (
        "entry main [n] (xs: [n]i64) = loop xs for i < 9i8 do map2 (\\x y -> x + y * i64.i8 i) xs (rotate 1 xs)",
        1,
    ),
    "a count that i64 does not hold": ("entry main [n] (xs: [n]i64) = loop xs for _i < 9u64 do reverse xs", 0),
    "count of its own": (
        "entry main [n] (xs: [n]i64) = "
        "loop xs for i < 9 do loop xs for _j < i64.sum xs % 7 do map2 (+) xs (rotate i xs)",
        1,  # of the inner loop
    ),
    "overwritten": ("entry main [n] (a: *[n]i64): [n]i64 = loop a for i < n do a with [i] = i64.sum (map (* 2) a)", 1),
    "nested": (
        "entry main [n] (xs: [n]i64): [n]i64 = loop xs for i < 9 do loop xs for j < i do map2 (+) xs (rotate j xs)",
        1,
    ),
    "rows in threads": (
        "entry main [n] (a: [n][n]i64): [n][n]i64 = "
        "loop a for _i < 9 do map (\\r -> loop r for j < r[0] do map (+ j) r) a",
        0,
    ),
    "sums of rows": (
        "entry main [n] (xs: [n]i64) = loop xs for _i < 9 do map (\\x -> x + i64.sum (map (\\y -> y % 5 * x) xs)) xs",
        1,
    ),
    "counts of points": (
        "entry main [n] (xs: [n]i64) = loop xs for _i < 9 do map (\\x -> loop x for j < x do x - j) xs",
        0,
    ),
    "sizes of its own": ("entry main [n] (a: [n]i64): []i64 = loop a for _i < 9 do filter (> 1) (map (/ 2) a)", 0),
    "no_intra": ("entry main [n] (a: [n]i64): [n]i64 = #[flattening(no_intra)] loop a for i < 9 do map (+ i) a", 0),
}

MOST = {"sums of rows": 64, "overwritten": 4096, "overwritten while": 4096}
"""Where it is not 1024 elements: a point goes through all of them; nothing is made but in place."""

SHAPES = {
    "substitution": (
        "entry main [n] (a: [n][n]i32) (b: [n]i32): [n]i32 = loop x = replicate n 0 for i < n do "
        "x with [i] = b[i] - i32.sum (map2 (*) (a[i, :i] :> [i]i32) (x[:i] :> [i]i32))",
        1024,
    ),
    "backwards": (
        "entry main [n] (a: [n][n]i32) (b: [n]i32): [n]i32 = loop x = replicate n 0 for t < n do "
        "let i = n - 1 - t let m = n - (i + 1) in "
        "x with [i] = b[i] - i32.sum (map2 (*) (a[i, i+1:] :> [m]i32) (x[i+1:] :> [m]i32))",
        1024,
    ),
    "elimination by rows": (
        "entry main [n] (a: *[n][n]i32) (b: [n]i32): *[n][n]i32 = loop a for k < n do loop a for i in k+1..<n do "
        "let m = n - (k + 1) let f = a[i, k] * b[k] in "
        "a with [i, k+1:] = map2 (\\x y -> x - f * y) (a[i, k+1:] :> [m]i32) (a[k, k+1:] :> [m]i32)",
        1024,
    ),
    "elimination": (
        "entry main [n] (a: *[n][n]i32) (b: [n]i32): *[n][n]i32 = loop a for k < n do "
        "let m = n - (k + 1) let row = a[k, k+1:] :> [m]i32 in "
        "a with [k+1:, k+1:] = map (\\r -> map2 (\\x y -> x - b[k] * y) r row) (a[k+1:, k+1:] :> [m][m]i32)",
        32,
    ),
    "narrow counters": (
        "entry main [n] (a: *[n][n]i32) (b: [n]i32): *[n][n]i32 = loop a for k < u32.i64 n do loop a for i < k do "
        "let m = i64.u32 (k - i) let j = i64.u32 k in "
        "a with [j, :m] = map (+ b[j]) (a[i64.u32 i, :m] :> [m]i32)",
        1024,
    ),
    "rows of two in turns": (
        "entry main [n] (a: *[n][n]i32) (b: [n]i32): *[n][n]i32 = (loop (a, c) = (a, copy a) for k < n do "
        "(c with [k] = map2 (+) c[k] b, a with [k] = map2 (*) a[k] b)).0",
        361,  # copied in each round: what is in the memory of a collective
    ),
    "one of two widths": (
        "entry main [n] (a: *[n][n]i32) (b: [n]i32): *[n][n]i32 = loop a for k < n do "
        "let m = if b[k] > 0 then 1 else n - k in a with [:m, :m] = map (map (+ b[k])) (a[:m, :m] :> [m][m]i32)",
        32,
    ),
    "a width that is read": (
        "entry main [n] (a: *[n][n]i32) (b: [n]i32): *[n][n]i32 = loop a for k < n do "
        "let m = i64.i32 b[k] % n in a with [k, :m] = map (+ 1) (a[k, :m] :> [m]i32)",
        None,
    ),
}
"""Loops whose widths change from round to round, and for which n they are taken: None where
there is no version."""


@pytest.mark.parametrize("name", SHAPES)
def test_widths_that_change(name: str) -> None:
    """Widths have bounds that are known before the loop; they are 0 and 1 in some rounds."""
    text, most = SHAPES[name]
    program = soac.compile(text)
    found = [site.name for site in sites(program.compiled.flat) if "suff_rounds" in site.name]
    assert len(found) == (most is not None)
    for n in (1, 2, 3, 17, 40) if found else ():
        rng = np.random.default_rng(n)
        args = [rng.integers(-3, 4, (n, n), dtype=np.int32), rng.integers(-3, 4, n, dtype=np.int32)]
        (expected,), _ = interpret(program.compiled.core, "main", [arg.copy() for arg in args])
        for side in (True, False):
            np.testing.assert_array_equal(program.trace("main", args, forced={found[0]: side})[0][0], expected)
        assert program.trace("main", args)[1][0][2] == (n <= (most or 0))
        report = trace_program(program.compiled, "main", args, {}, TraceSettings(threads=8, warp=4))
        assert report.is_clean


def test_what_is_overwritten_counts_for_nothing() -> None:
    """A batch copies a matrix of 2 MB to its result, and has as many rounds as are worth that; matrices that take turns
    would be copied in each round."""
    n = 720
    args = [np.ones((n, n), np.int32), np.arange(n, dtype=np.int32)]
    turns = soac.compile(SHAPES["rows of two in turns"][0])
    assert not turns.trace("main", args)[1][0][2]
    program = soac.compile(SHAPES["elimination by rows"][0])
    got, trace = program.trace("main", args)
    ((name, room, taken),) = trace
    assert (room, taken) == (1025 - n, True)
    np.testing.assert_array_equal(got[0], program.trace("main", args, forced={name: False})[0][0])


@pytest.mark.parametrize(
    ("n", "d", "of_sums", "of_elements"), [(12, 3, True, True), (100, 3, False, True), (100, 8, True, True)]
)
def test_many_short_rows_are_not_gone_through_in_a_collective(n: int, d: int, of_sums: bool, of_elements: bool) -> None:
    """Elements that are mapped as they lie have no rows."""
    source = """
    entry sums [n][d] (xs: [n][d]f64): [n][d]f64 = loop xs for _i < 9 do
      map (\\r -> let s = f64.sum r in map (/ s) r) xs
    entry elements [n][d] (xs: [n][d]f64): [n][d]f64 = loop xs for _i < 9 do
      let s = f64.sum (flatten xs) in map (map (/ s)) xs
    """
    program, xs = soac.compile(source), np.random.default_rng(n).random((n, d))
    for entry, taken in (("sums", of_sums), ("elements", of_elements)):
        (found,), trace = program.trace(entry, [xs])
        assert [on for name, _, on in trace if "rounds" in name] == [taken]
        if entry == "sums":
            np.testing.assert_allclose(found, xs / xs.sum(axis=1, keepdims=True))


def test_a_check_fails_in_a_round() -> None:
    """At the same place, with the same values as by launches."""
    text = (
        "entry main [n] (a: [n]i64): [n]i64 = loop a = copy a for i < n do "
        "let m = n - i in a with [i] = i64.sum (map (\\x -> x / a[i]) (a[i:] :> [m]i64))"
    )
    program, args = soac.compile(text), [np.array([1, 2, 0, 3])]
    (name,) = [site.name for site in sites(program.compiled.flat)]
    said: list[str] = []
    for side in (True, False):
        with pytest.raises(soac.RunError) as failure:
            program.trace("main", args, forced={name: side})
        said.append(str(failure.value))
    assert "division by zero" in said[0]
    assert said[0] == said[1]


IN_TURN = "map (\\row -> map2 (\\x u -> x + row[{0}] * u) row {1}[{0}]) {1}"
LOOPS_IN_A_LOOP = f"""entry main [n] (a: [n][n]i64) =
  loop (a, b) = (a, copy a) for _r < n do loop (a, b) = (a, b) for k < n do
    ({IN_TURN.format("k", "a")}, loop b for j < n do {IN_TURN.format("j", "b")})"""


EVERY = ROUNDS | {"loops in a loop, by arrays in place": (LOOPS_IN_A_LOOP, 1)}


@pytest.mark.parametrize("name", EVERY)
def test_which_loops_have_a_version_in_one_collective(name: str) -> None:
    """None inside of a loop that has one."""
    text, versions = EVERY[name]
    guards = {name for site in sites(flat_prog(text, "rounds.soac").flat) for name in site.thresholds}
    assert sum("suff_rounds" in name for name in guards) == versions


@pytest.mark.parametrize("name", [name for name, (_, versions) in ROUNDS.items() if versions])
def test_rounds(name: str) -> None:
    """The version means the same, and is taken where arrays are short."""
    text, _ = ROUNDS[name]
    program = soac.compile(text)
    found = [site.name for site in sites(program.compiled.flat) if "suff_rounds" in site.name]
    most = MOST.get(name, 1024)
    for n in (0, 1, 5, 64, 700, 1100):
        (given,) = program.compiled.core.functions[0].params[-1:]
        arg = np.arange(n) if given.type.shape else np.int64(n)
        got, trace = program.trace("main", [arg])
        _, room, taken = next(guard for guard in trace if guard[0] == found[0])
        assert taken == (not given.type.shape or n <= most)
        for side in (True, False) if room >= 0 else ():
            np.testing.assert_array_equal(program.trace("main", [arg], forced={found[0]: side})[0][0], got[0])


MANY = """
entry counted [n] (k: i32) (xs: [n]i64): [n]i64 =
  loop xs for i < k do map2 (\\x y -> x + y * i64.i32 i) xs (rotate 1 xs)
entry checked [n] (k: i32) (xs: [n]i64): ([n]i64, i32) =
  loop (xs, i) = (xs, 0) while i < k do (map2 (\\x y -> x + y * i64.i32 i) xs (rotate 1 xs), i + 1)
entry nested [n] (k: i64) (xs: [n]i64): [n]i64 =
  loop xs for _i < 2 do loop xs for j < k do map2 (\\x y -> x + y * j) xs (rotate 1 xs)
"""


@pytest.fixture(scope="module")
def many() -> soac.Program:
    return soac.compile(MANY)


@pytest.mark.parametrize("entry", ["counted", "checked"])
def test_rounds_are_in_batches(many: soac.Program, entry: str) -> None:
    """A batch of narrow rounds has 2^15, one of rounds over 1,024 elements 2^10."""
    (name,) = [site.name for site in sites(many.compiled.flat) if site.name.startswith(entry)]
    for k, n in ((-3, 2), (0, 2), (1, 2), ((1 << 15) - 1, 2), (1 << 15, 2), ((1 << 15) + 1, 2), (2049, 1024)):
        args = [np.int32(k), np.arange(n)]
        got, trace = many.trace(entry, args)
        assert trace[-1] == (name, 1024 - n, True)
        for one, other in zip(got, many.trace(entry, args, forced={name: False})[0], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("entry", ["counted", "checked"])
def test_a_loop_in_batches_is_stopped(many: soac.Program, entry: str) -> None:
    for n in (0, 1024):
        threading.Timer(0.1, thread_pool.request_stop).start()
        with pytest.raises(KeyboardInterrupt):
            many.trace(entry, [np.int32((1 << 31) - 1), np.zeros(n, np.int64)])


def test_rounds_of_loops_of_scalars_count_by_themselves() -> None:
    """Ten for each of 600 points are not as many rounds over all of these, nor rounds of each other."""
    step = "loop x for i < m do let k = i64.u32 (x[i % n] % 7) in x with [i % n] = x[k % n] * 5 + u32.i64 (i + r)"
    text = f"""
    entry main (n: i64) (t: i64) (m: i64): [t][n]u32 =
      (loop (x, out) = (map u32.i64 (iota n), replicate t (replicate n 0)) for r < t do
        let x = {step}
        let y = map (* 3) x
        let x = {step}
        in (x, out with [r] = map2 (-) x y)).1
    """
    program = soac.compile(text)
    expected, _ = interpret(program.compiled.core, "main", [np.int64(8), np.int64(20), np.int64(30)])
    np.testing.assert_array_equal(program.call("main", [np.int64(8), np.int64(20), np.int64(30)])[0], expected[0])
    for m, fits in ((1 << 16, True), (1 << 22, False)):
        assert program.trace("main", [np.int64(600), np.int64(1), np.int64(m)])[1][-1][2] == fits


def test_rounds_of_many_rounds_are_the_hosts(many: soac.Program) -> None:
    """A launch cannot be stopped."""
    for k, n, fits in ((1 << 15, 1 << 10, False), ((1 << 15) - 1, 1 << 10, True), (1 << 20, 0, False), (-3, 9, True)):
        assert many.trace("nested", [k, np.zeros(n, np.int64)])[1][-1][2] == fits
