"""Programs on the CPU device: determinism, concurrent calls, arguments left alone, failures with their place."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import soac
from soac.ir.errors import RunError

SUMS = """
entry sums [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
entry total [n] (xs: [n]f32): f32 = f32.sum xs
entry scanned [n] (xs: [n]f32): [n]f32 = scan (+) 0 xs
entry same [n] (xs: [n]f32): ([n]f32, [n]f32) = (xs, xs)
entry clear [n] (xs: *[n]f32): *[n]f32 = if n > 0 then xs with [0] = 0 else xs
entry at [n] (xs: [n]i32) (i: i64): i32 = xs[i]
entry gather [n][k] (xs: [n]i32) (is: [k]i64): [k]i32 = map (\\i -> xs[i]) is
entry halves [n] (xs: [n]i32) (ys: [n]i32): [n]i32 = map2 (/) xs ys
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SUMS, "sums.soac")


@pytest.fixture
def source() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("shape", [(1, 200_000), (300, 700), (0, 5), (5, 0), (2, 65_537)])
def test_any_number_of_threads_gives_the_same_bits(program, source, shape) -> None:
    xss = source.random(shape, dtype=np.float32)
    for version in (True, False):
        forced = {"sums.ys.suff_outer_0": version}
        results = [program.call("sums", [xss], forced=forced, threads=t)[0].tobytes() for t in (1, 2, 3, 2)]
        assert len(set(results)) == 1


def test_long_scans_and_sums_do_not_depend_on_threads(program, source) -> None:
    xs = source.random(500_000, dtype=np.float32)
    for entry in ("total", "scanned"):
        assert len({program.call(entry, [xs], threads=t)[0].tobytes() for t in (1, 2, 3)}) == 1
    np.testing.assert_allclose(program.scanned(xs), np.cumsum(xs, dtype=np.float64), rtol=1e-5)


def test_calls_from_several_threads_do_not_disturb_each_other(program, source) -> None:
    inputs = [source.random((50 + k, 1000), dtype=np.float32) for k in range(12)]
    expected = [program.sums(x) for x in inputs]
    with ThreadPoolExecutor(6) as threads:
        for _ in range(3):
            for found, wanted in zip(threads.map(program.sums, inputs), expected, strict=True):
                assert np.array_equal(found, wanted)


def test_arguments_stay_and_results_are_their_own(program) -> None:
    xs = np.ones(5, np.float32)
    first, second = program.same(xs)
    assert not np.may_share_memory(first, xs)
    assert not np.may_share_memory(first, second)
    assert program.clear(xs)[0] == 0
    assert xs[0] == 1


@pytest.mark.parametrize(
    ("entry", "args", "text"),
    [
        ("at", (np.arange(3, dtype=np.int32), 4), "index [4] out of bounds for array of shape [3]"),
        (
            "gather",
            (np.arange(3, dtype=np.int32), np.array([0, 2, -1, 1])),
            "index [-1] out of bounds for array of shape [3]",
        ),
        ("halves", (np.ones(40, np.int32), np.arange(40, dtype=np.int32)), "division by zero"),
    ],
)
def test_failures_name_place_and_values(program, entry, args, text) -> None:
    with pytest.raises(RunError) as error:
        getattr(program, entry)(*args)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.message == text
    assert diagnostic.primary.loc.file == "sums.soac"
    assert diagnostic.primary.loc.line > 1


def test_a_program_works_on_after_a_failure(program) -> None:
    with pytest.raises(RunError):
        program.gather(np.arange(3, dtype=np.int32), np.array([7]))
    assert program.gather(np.arange(3, dtype=np.int32), np.array([2, 0])).tolist() == [2, 0]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_long_loops_of_few_points_are_shared_among_threads():
    """No estimate knows how long a loop is: what turns out to take long is shared, its first blocks aside."""
    executable = soac.compile("entry main [n][m] (xss: [n][m]f64) = map f64.sum xss").executable
    rows = np.ones((16, 1 << 18))

    def of_others() -> float:
        """Seconds of processor time of all threads but this one."""
        all_before, own_before = time.process_time(), time.thread_time()
        (sums,), _ = executable.run("main", [rows], threads=2)
        assert (sums == 1 << 18).all()
        return time.process_time() - all_before - (time.thread_time() - own_before)

    executable.run("main", [rows], threads=1)
    assert max(of_others() for _ in range(50)) > 2e-4
