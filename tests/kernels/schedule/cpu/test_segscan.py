"""Scans of long segments on several cores: a chain of chunks, whose bits depend neither on threads nor on timing."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import soac
from soac.ir.core import Copy
from soac.ir.errors import RunError
from soac.ir.version_tree import sites
from soac.kernels.host_ir.launch_parameters import DEFAULTS, Kind
from soac.kernels.host_ir.nodes import statements
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready

CHUNK = DEFAULTS[Kind.CHUNK]
THREADS = (1, 2, 3, 8)
SHAPES = ((1, 5 * CHUNK), (1, 3 * CHUNK + 1), (3, CHUNK + 17), (7, 2 * CHUNK), (2, CHUNK), (5, 1000))

SUMS = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 = map (scan (+) 0) xss

def followed_by (a: u32, b: u32) (c: u32, d: u32): (u32, u32) = (c * a, c * b + d)

entry functions [n] (as: [n]u32) (bs: [n]u32): ([n]u32, [n]u32) = unzip (scan followed_by (1, 0) (zip as bs))

entry chosen [n][m] (xs: [n]i32) (is: [m]i64): [m]i32 = scan (+) 0 (map (\\i -> xs[i]) is)

entry bytes [n] (xs: [n]i8): [n]i8 = scan (+) 0 xs
"""


AVERAGES = """
entry main [n] (as: [n]f64) (bs: [n]f64): ([n]f64, [n]f64) =
  unzip (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip as bs))
"""


@pytest.fixture(scope="module")
def sums() -> soac.Program:
    return soac.compile(SUMS)


def values(n: int, m: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal((n, m)).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floats_have_the_same_bits_on_any_number_of_threads(sums: soac.Program, shape: tuple[int, int]) -> None:
    xss = values(*shape)
    first, *others = (sums.call("main", [xss], threads=threads)[0] for threads in (*THREADS, *THREADS))
    exact = np.cumsum(xss, axis=1, dtype=np.float64)
    assert np.allclose(first, exact, rtol=1e-3, atol=1e-2)
    for other in others:
        assert np.array_equal(first.view(np.int32), other.view(np.int32))


@pytest.mark.parametrize("chunk", [100, 1000, CHUNK])
def test_any_length_of_chunks_is_right(sums: soac.Program, chunk: int) -> None:
    xss = np.round(100 * values(3, 20_000))
    for threads in THREADS:
        (found,) = sums.call("main", [xss], thresholds={"main.chunk": chunk}, threads=threads)
        assert np.array_equal(found, np.cumsum(xss, axis=1, dtype=np.float64).astype(np.float32))


@pytest.mark.parametrize("threads", THREADS)
def test_order_is_kept(sums: soac.Program, threads: int) -> None:
    n = 2 * CHUNK + 100
    factors, terms = np.random.default_rng(3).integers(0, 1 << 32, (2, n)).astype(np.uint32)
    factors |= 1  # a product that is 0 would forget what was before
    found = sums.call("functions", [factors, terms], threads=threads)
    a, b = np.uint32(1), np.uint32(0)
    with np.errstate(over="ignore"):
        for k in range(n):
            a, b = factors[k] * a, factors[k] * b + terms[k]
            if k % 999 == 0 or k == n - 1:
                assert (found[0][k], found[1][k]) == (a, b), k


@pytest.mark.parametrize("threads", THREADS)
def test_narrow_elements(sums: soac.Program, threads: int) -> None:
    xs = np.random.default_rng(4).integers(-128, 128, 3 * CHUNK).astype(np.int8)
    assert np.array_equal(sums.call("bytes", [xs], threads=threads)[0], np.cumsum(xs, dtype=np.int8))


@pytest.mark.parametrize("place", [0, 1, CHUNK, 3 * CHUNK + 5, 8 * CHUNK - 1])
@pytest.mark.parametrize("threads", THREADS)
def test_who_waits_hears_of_a_failure(sums: soac.Program, threads: int, place: int) -> None:
    """The block that fails publishes nothing: those behind it must not wait for that."""
    xs, places = np.arange(10, dtype=np.int32), np.zeros(8 * CHUNK, np.int64)
    places[place] = 10
    with pytest.raises(RunError, match="10"):
        sums.call("chosen", [xs, places], threads=threads)
    places[place] = 9
    assert sums.call("chosen", [xs, places], threads=threads)[0][-1] == 9


def test_lanes_stay_as_wide_as_the_elements(sums: soac.Program) -> None:
    """The numbers of blocks are 64 bits wide, and no reason for fewer lanes."""
    (kernel,) = [k for k in sums.compiled.host.kernels if any(a.prim.value == "i8" for a in k.arrays)]
    assert "<64 x i8>" in emit(all_ready((kernel,), CPU_PASSES))


TURNED = """
entry middle [l][n][m] (a: [l][n][m]i32): [l][n][m]i32 =
  map (\\b -> transpose (map (scan (+) 0) (transpose b))) a
entry copied [n][m] (a: [n][m]i32): [n][m]i32 = copy (transpose (map (scan i32.max i32.lowest) (transpose a)))
entry mapped [l][n][m] (a: [l][n][m]i32): ([l][n][m]i64, [l][n][m]i32) =
  let both c = map (\\s -> (i64.i32 s, s * 2)) (scan (+) 0 c)
  in unzip (map (\\b -> unzip (map unzip (transpose (map both (transpose b))))) a)
entry read_twice [l][n][m] (a: [l][n][m]i32): ([l][n][m]i32, [l][n][m]i32) =
  let sums = map (\\b -> transpose (map (scan (+) 0) (transpose b))) a in (sums, map (map reverse) sums)
"""


@pytest.mark.parametrize(
    "shape", [(0, 3, 4), (3, 0, 4), (2, 3, 0), (1, 1, 1), (3, 5, 7), (2, 700, 3), (1, 3, 400), (70, 4, 17)]
)
@pytest.mark.parametrize(("outer", "threads"), [(True, 1), (True, 2), (False, 2)])
def test_scans_of_columns(shape: tuple[int, ...], outer: bool, threads: int) -> None:
    turned = compiled_turned()
    a = np.random.default_rng(3).integers(-9, 9, shape).astype(np.int32)
    forced = {site.name: outer for site in sites(turned.compiled.flat)}
    sums = np.cumsum(a, 1, dtype=np.int32)

    def call(entry: str, x: np.ndarray) -> list[np.ndarray]:
        return turned.call(entry, [x], forced=forced, threads=threads)

    np.testing.assert_array_equal(call("middle", a)[0], sums)
    for b in a:
        np.testing.assert_array_equal(call("copied", b)[0], np.maximum.accumulate(b, 0))
    for found, wanted in zip(call("mapped", a), (sums, sums * 2), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found, wanted in zip(call("read_twice", a), (sums, sums[:, :, ::-1]), strict=True):
        np.testing.assert_array_equal(found, wanted)


@functools.cache
def compiled_turned() -> soac.Program:
    return soac.compile(TURNED)


def test_scans_of_columns_are_stored_where_they_are_wanted() -> None:
    host = compiled_turned().compiled.host
    copied = {fun.entry.name for fun in host.functions if any(isinstance(s.exp, Copy) for s in statements(fun.body))}
    assert copied.isdisjoint({"middle", "copied"})


@pytest.mark.parametrize("threads", THREADS)
def test_floats_are_combined_in_order(threads: int) -> None:
    random = np.random.default_rng(4)
    factors, xs = 0.9 + 0.1 * random.random(2 * CHUNK + 5), random.random(2 * CHUNK + 5)
    wanted, x = [], 0.0
    for a, b in zip(factors.tolist(), xs.tolist(), strict=True):
        x = a * x + b
        wanted.append(x)
    assert np.allclose(soac.compile(AVERAGES).call("main", [factors, xs], threads=threads)[1], wanted)


NUMBERS = """
def digits (f, x: i64, p: i64) (g, y, q) = (f || g, if g then y else x * q + y, if g then q else p * q)
def scanned [n] (text: [n]u8): [n]i64 =
  let (_, x, _) = unzip3 (scan digits (false, 0, 1)
                               (map (\\c -> if c < 10 then (false, i64.u8 c, 10) else (true, 0, 1)) text))
  in x
entry numbers [n] (text: [n]u8): [n]i64 = scanned text
entry ends [n] (text: [n]u8): []i64 = map (.1) (filter (.0) (zip (map (> 9) (rotate 1 text)) (scanned text)))
entry hashes [n] (text: [n]u8): [n]u64 =
  let (_, h) = unzip (scan (\\(p, h) (q, g) -> (p * q, h * q + g)) (1, 0) (map (\\c -> (31, u64.u8 c)) text))
  in h
entry powers [n] (xs: [n]i64): [n]i64 = scan (\\x y -> x * y % 1009) 1 xs
"""


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("n", [0, 1, 7, 8, 33, 1000, 3 * CHUNK + 1])
def test_products_of_64_bits_are_scanned_one_by_one(n: int, threads: int) -> None:
    """Numbers in a text, hashes of its beginnings, powers: what a loop gives, in chunks that go on from each other."""
    random = np.random.default_rng(n)
    text, xs = random.integers(0, 12, n).astype(np.uint8), random.integers(1, 1009, n)
    numbers, hashes, powers, x, h, p = [], [], [], 0, 0, 1
    for c, y in zip(text.tolist(), xs.tolist(), strict=True):
        x, h, p = 10 * x + c if c < 10 else 0, (31 * h + c) % (1 << 64), p * y % 1009
        x = (x + (1 << 63)) % (1 << 64) - (1 << 63)
        numbers.append(x)
        hashes.append(h)
        powers.append(p)
    program = soac.compile(NUMBERS)
    wanted = {"numbers": numbers, "hashes": hashes, "powers": powers}
    for name, args in {"numbers": text, "hashes": text, "powers": xs}.items():
        assert program.call(name, [args], threads=threads)[0].tolist() == wanted[name], name
    ends = [x for x, behind in zip(numbers, np.roll(text, -1).tolist(), strict=True) if behind > 9]
    assert program.call("ends", [text], threads=threads)[0].tolist() == ends
