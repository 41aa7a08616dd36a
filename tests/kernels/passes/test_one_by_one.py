"""Threads that walk through memory, each as far as it has to, take turns where a step gathers and computes little;
`conformance/nests/walks_of_all_lengths` and `walks_that_end_when_they_may` have the values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import soac
from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir.nodes import Assign, BlockReduce, Declare, Kernel, KLet, KLoad, KWhile, Store, Threads
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.lanes.module import emit
from soac.kernels.passes.one_by_one import one_by_one
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready
from tests.support.block_kernels import OUT, XS, N, kernel, let, threads, var

WALK = """
entry f [n][m][k] (off: [n]i64) (at: [m]i64) (xs: [k]f32) (len: i64) =
  tabulate (n - 1) (\\i -> loop {start} for q < {bound} do {step})
"""


def walk(start: str = "s = 0f32", bound: str = "off[i + 1] - off[i]", step: str = "s + xs[at[off[i] + q]]") -> str:
    return WALK.format(start=start, bound=bound, step=step)


def threads_of(kernels: list[Kernel]) -> list[Threads]:
    return [stm for kernel in kernels for stm in statements(kernel.body) if isinstance(stm, Threads)]


def kernels_of(text: str) -> list[Kernel]:
    return list(soac.compile(text).compiled.host.kernels)


FAR_APART = {
    "rows": """entry f [n][m] (l: i64) (xs: [n]f64) (ys: [n]f64) (p: [m]i32) (q: [m]i32) =
       map2 (\\i j -> loop s = 0f64 for k < l do s + xs[i64.i32 i + 3 * k] * ys[i64.i32 j + 2 * k]) p q""",
    "phases": """entry f [n][t] (up: i64) (down: i64) (h: [t]f32) (xs: [n]f32) =
       tabulate (n * up / down) (\\m -> let (phase, at) = (m * down % up, m * down / up)
         in loop s = 0f32 for k < t / up do if at >= k then s + h[phase + k * up] * xs[at - k] else s)""",
    "roots": """entry f [n][f] (c: [n]f32) (s: [n]f32) (x: [n]f32) (fs: [f]i64) =
       map (\\w -> let (a, b) = loop (a, b) = (0f32, 0f32) for k < n do
             (a + x[k] * c[w * k % n], b + x[k] * s[w * k % n]) in a - b) fs""",
}
TAKEN = {
    "a gather": walk(),
    "a quotient of each row": walk(bound="(off[i + 1] - off[i]) / i64.max 1 len"),
    "a branch": walk(step="if xs[off[i] + q] > 0 then s + xs[at[off[i] + q]] else s"),
    "a running sum": """entry f [n][m] (off: [n]i64) (xs: [m]f32) =
       tabulate (n - 1) (\\i -> f32.maximum (scan (+) 0 xs[off[i]:off[i + 1]]))""",
    "as far as it may": """entry f [n][m] (off: [n]i64) (xs: [m]f32) =
       tabulate (n - 1) (\\i -> loop k = off[i] while k < off[i + 1] && xs[k] < 1 do k + 1)""",
    "a hash table": """entry f [n][m] (at: [n]i64) (keys: [m]i32) (qs: [n]i32) =
       map2 (\\a q -> loop k = a while keys[k] != q && keys[k] != 0 do (k + 1) % m) at qs""",
    "a list": """entry f [n] (next: [n]i64) = map (\\a -> loop k = a while next[k] != k do next[k]) next""",
    "two rows merged": """entry f [n][m] (off: [n]i64) (at: [n]i64) (xs: [m]i32) =
       tabulate (n - 1) (\\i -> (loop (s, p, q) = (0i32, off[i], at[i]) while p < off[i + 1] && q < at[i + 1] do
         if xs[p] < xs[q] then (s, p + 1, q) else if xs[p] > xs[q] then (s, p, q + 1) else (s + 1, p + 1, q + 1)).0)""",
    "some for each of a row": """entry f [n][m] (off: [n]i64) (at: [n]i64) (xs: [m]i32) =
       tabulate (n - 1) (\\i -> loop s = 0 for q in off[i]..<off[i + 1] do
         s + loop k = at[q] while k < m && xs[k] < xs[q] do k + 1)""",
    "a cell and its neighbours": """entry f [n][m] (off: [n]i64) (xs: [m]f32) (ys: [m]f32) (ps: [m]f32) =
       map (\\p -> loop s = 0f32 for c in i64.max 0 (i64.f32 p - 1)..<i64.min (n - 1) (i64.f32 p + 2) do
         loop s for k in off[c]..<off[c + 1] do
           let d = p - xs[k] in let t = ys[k] - d * d in if t > 0 then s + t * t else s) ps""",
    "rows of a table by list": """entry f [n][m][d] (off: [n]i64) (at: [m]i64) (a: [m]f32) (h: [m][d]f32) =
       tabulate (n - 1) (\\i ->
         let (s, z) = loop (s, z) = (replicate d 0f32, 0) for q in off[i]..<off[i + 1] do
           let p = f32.exp a[at[q]] in (map2 (\\s v -> s + p * v) s h[at[q]], z + p)
         in map (/ z) s)""",
    "neighbours by list": """entry f [n][m] (ps: [n][2]f32) (near: [n][m]i32) (size: [n]i64) =
       map3 (\\p js k -> loop s = 0f32 for q < k do
         let (x, y) = (ps[js[q], 0] - p[0], ps[js[q], 1] - p[1])
         let d = x * x + y * y in if d < 2 then s + x / d else s) ps near size""",
    "as far as sums fall": """entry f [n][m] (off: [n]i64) (xs: [m]u8) =
       tabulate (n - 1) (\\i -> (loop (s, least, at, k) = (0i32, 0i32, off[i], off[i]) while k < off[i + 1] && s < 9 do
         let s = s + 20 - i32.u8 xs[k]
         let (least, at) = if s < least then (s, k + 1) else (least, at) in (s, least, at, k + 1)).2)""",
    "rows by list": """entry f [n][m] (first: [n]i64) (size: [n]i64) (xs: [m]i16) =
       map2 (\\a k -> loop s = 0i16 for q < k do s + xs[a + q]) first size""",
    "least divisors": """entry f [n] (xs: [n]i32) =
       map (\\x -> (loop d = 2 while d * d <= x && x % d != 0 do d + 1)) xs""",
    "numbers that a flag ends": """entry f [n] (xs: [n]u64): [n]bool =
       map (\\x -> (loop (d, ok) = (3u64, x > 1) while ok && d * d <= x do (d + 2, x % d != 0)).1) xs""",
    "prime factors": """entry f [n] (xs: [n]i64) =
       map (\\x -> (loop (x, d, c) = (x, 2, 0) while d * d <= x do
         if x % d == 0 then (x / d, d, c + 1) else (x, d + 1, c)).2) xs""",
    "Euler's totients": """entry f [n] (xs: [n]i32) =
       map (\\x -> (loop (x, t, d) = (x, x, 2) while d * d <= x do
         if x % d != 0 then (x, t, d + 1) else (loop y = x / d while y % d == 0 do y / d, t - t / d, d + 1)).1) xs""",
    "a line of sight": """entry f [n][m] (z: [m][m]f32) (ps: [n]f32) (dy: [n]f32) (dx: [n]f32): [n]i32 =
       map3 (\\p dy dx -> (loop (k, ok) = (1i32, true) while ok && k < 1000 do
         let t = f32.i32 k / 1000
         let (y, x) = (i32.f32 (p + t * dy + 0.5), i32.f32 (p + t * dx + 0.5))
         in (k + 1, z[y, x] <= p + t * (dy - dx))).0) ps dy dx""",
    "counts of a row": """entry f [n][m] (xs: [n][m]i32): [n][16]i32 =
       map (\\row -> loop h = replicate 16 0 for x in row do h with [x] = h[x] + 1) xs""",
    "a permuted row": """entry f [n] (xs: [n][32]u8) (seeds: [n]u32) =
       map2 (\\row s -> (loop (r, s) = (copy row, s) for i < 32 do
         let s = s * 1664525 + 1013904223
         let k = i64.u32 (s >> 27)
         let (a, b) = (r[i], r[k])
         in (r with [i] = b with [k] = a, s)).0) xs seeds""",
    "a stack": """entry f [n][m] (xs: [n][m]i32) =
       map (\\row -> let (s, k) = loop (s, k) = (replicate m 0, 0) for x in row do
           if x >= 0 then (s with [k] = x, k + 1)
           else if k > 1 then (s with [k - 2] = s[k - 2] * 3 + s[k - 1], k - 1) else (s, k)
         in if k > 0 then s[k - 1] else 0) xs""",
    "two rows as long as all others": FAR_APART["rows"],
    "a filter for each phase": FAR_APART["phases"],
    "a table of roots": FAR_APART["roots"],
}

HEX = """entry f [n] (xs: [n][{0}]u8) (hex: [16]u8): [n][{1}]u8 =
  map (\\row -> flatten (map (\\b -> [hex[i64.u8 (b >> 4)], hex[i64.u8 (b & 15)]]) row) :> [{1}]u8) xs"""
PATCHES = """entry f [h][w] (xs: [h][w]{0}): [][][25]{0} =
  tabulate_2d (h - 4) (w - 4) (\\i j -> flatten xs[i:i+5, j:j+5] :> [25]{0})"""
ROWS = {
    "long rows of bytes": HEX.format(20, 40),
    "patches of bytes": PATCHES.format("u8"),
    "patches of words": PATCHES.format("f32"),
    "windows": """entry f [n] (xs: [n]f64): [][5]f64 = map (\\i -> xs[i:i+5] :> [5]f64) (iota (n - 4))""",
}


@pytest.mark.parametrize("text", (TAKEN | ROWS).values(), ids=(TAKEN | ROWS).keys())
def test_threads_take_turns(text: str) -> None:
    kernels = [one_by_one(kernel) for kernel in kernels_of(text)]
    walks = [new for new, old in zip(kernels, kernels_of(text), strict=True) if new != old]
    assert walks
    assert not threads_of(walks)
    assert "gather" not in emit(all_ready(walks, CPU_PASSES))


LEFT = {
    "much is computed": walk(step="f32.exp (s + xs[at[off[i] + q]])"),
    "nothing is gathered": walk(step="s * 0.5 + 1"),
    "the address is carried": walk(start="s = 0", step="at[s]"),
    "all rows are as long": walk(bound="len", step="s + xs[at[i * len + q]]"),
    "the next row is one longer": walk(bound="i", step="s + xs[i + q]"),
    "a ray that what it meets slows down": """entry f [n][m] (z: [m]f32) (ps: [n]f32) (dy: [n]f32) (dx: [n]f32) =
       map3 (\\p dy dx -> (loop (t, d) = (0f32, p) while t < 100 && d > 0.01 do
         let t = t + d * 0.3 + 0.01
         let (y, x) = (p * 0.5 - t * dy + t * t * 0.1, p + t * dx)
         in (t, y - z[i64.f32 (x * 0.5 + 0.5 * y)] * dy)).0) ps dy dx""",
    "a column": walk(step="s + xs[q * n + i]"),
    "one element of each turn": walk(bound="len", step="s + xs[at[i] + q]"),
    "neighbours at the ends": """entry f [n] (r: i64) (xs: [n]f32) (ys: [n]f32) =
       tabulate n (\\i -> loop s = 0f32 for k < r do
         let j = i64.max 0 (i64.min (n - 1) (i + k)) in s + xs[j] * ys[j])""",
    "much is computed of two": """entry f [n][m] (l: i64) (xs: [n]f64) (p: [m]i32) (q: [m]i32) =
       map2 (\\i j -> loop s = 0f64 for k < l do s + f64.exp (xs[i64.i32 i + k] * xs[i64.i32 j + k])) p q""",
    "a search": """entry f [n][m] (xs: [n]f32) (ys: [m]f32) =
       map (\\y -> (loop (a, b) = (0, n) while a < b do
         let k = (a + b) / 2 in if xs[k] < y then (k + 1, b) else (a, k)).0) ys""",
    "computing until it is done": """entry f [n] (xs: [n]f32) =
       map (\\x -> loop y = x while y * y > 2 do 0.5 * (y + x / y)) xs""",
    "as far as all others": """entry f [n][m] (stop: i64) (xs: [m]f32) (at: [n]i64) =
       map (\\a -> (loop (k, s) = (0, 0f32) while k < stop do (k + 1, s + xs[a + k])).1) at""",
    "divisors that all are tried": """entry f [n] (xs: [n]i32) =
       map (\\x -> (loop (d, c) = (1, 0) while d * d <= x do (d + 1, if x % d == 0 then c + 1 else c)).1) xs""",
    "common divisors": """entry f [n] (xs: [n]i64) (ys: [n]i64) =
       map2 (\\x y -> (loop (a, b) = (x, y) while b != 0 do (b, a % b)).0) xs ys""",
    "common divisors by branches": """entry f [n] (xs: [n]i64) (ys: [n]i64) =
       map2 (\\x y -> (loop (a, b) = (x, y) while a != 0 && b != 0 do
         if a > b then (a % b, b) else (a, b % a)).0) xs ys""",
    "orders modulo a number": """entry f [n] (xs: [n]i64) =
       map (\\x -> (loop (a, k) = (2 % x, 1) while a > 1 do (a * 2 % x, k + 1)).1) xs""",
    "much is computed for a place": """entry f [n] (xs: [n]f32): [n][32]f32 =
       map (\\x -> (loop (h, x) = (replicate 32 0, x) for _q < 100 do
         let t = x * 3.9 * (1 - x)
         let u = t * t * 0.3 + t * 0.5 + 0.1 * t * t * t
         let k = i64.f32 (u * 31)
         in (h with [k] = h[k] + t * u, t)).0) xs""",
    "short rows of bytes": HEX.format(16, 32),
    "long rows that neighbours read side by side": f"""entry f [n] (xs: [40][n]u8): [n][40]u8 =
       tabulate n (\\i -> [{", ".join(f"xs[{k}, i]" for k in range(40))}])""",
    "a part of each row": """entry f [n] (xs: [n][40]u8): [n][12]u8 =
       map (\\row -> map (+ 1) (row[3:15] :> [12]u8)) xs""",
    "loops over planes": """entry f [n] (xs: [4][8][n]u8): [n][4][8]u8 =
       tabulate n (\\i -> tabulate_2d 4 8 (\\j k -> xs[j, k, i]))""",
    "long rows of words": f"""entry f [n] (xs: [n][20]f32): [n][40]f32 =
       map (\\row -> [{", ".join(f"row[{k // 2}] * {k}" for k in range(40))}]) xs""",
    "places that all rows have": """entry f [n][m] (xs: [n][m]f32) =
       map (\\row -> loop r = copy row for i < m - 1 do r with [i + 1] = r[i] + r[i + 1]) xs""",
}


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT.keys())
def test_lanes_keep_the_rest(text: str) -> None:
    kernels = kernels_of(text)
    assert threads_of(kernels)
    assert all(one_by_one(kernel) == kernel for kernel in kernels)


def test_a_store_at_a_place_of_the_thread_alone_is_no_walk() -> None:
    """As many turns as each takes, the place is computed of what no turn changes."""
    v, i, x = var("v"), var("i"), var("x")
    go, test = let(Op.LT, v, i, prim=Prim.BOOL)
    at, place = let(Op.ADD, i, N)
    more, add = let(Op.MUL, v, i64(3))
    loop = KWhile((test,), go, (place, Store(OUT, at, v), add, Assign(v, more)))
    k = kernel(threads(i, N, KLet(x, KLoad(XS, i)), Declare(v, x), loop))
    assert one_by_one(k) == k


@pytest.mark.parametrize("m", [0, 1, 7, 64, 65, 200])
def test_values_far_apart(m: int) -> None:
    rng = np.random.default_rng(m)
    xs, ys = rng.integers(0, 9, (2, 40)).astype(np.float64)
    p, q = rng.integers(0, 20, (2, m)).astype(np.int32)
    wanted = [(xs[i : i + 12 : 3] * ys[j : j + 8 : 2]).sum() for i, j in zip(p, q, strict=True)]
    assert soac.compile(FAR_APART["rows"]).f(4, xs, ys, p, q).tolist() == wanted
    h, x = rng.integers(0, 9, 12).astype(np.float32), rng.integers(0, 9, m).astype(np.float32)
    places = [divmod(2 * k, 3) for k in range(m * 3 // 2)]
    wanted = [sum(h[phase + 3 * k] * x[at - k] for k in range(min(4, at + 1))) for at, phase in places]
    assert soac.compile(FAR_APART["phases"]).f(3, 2, h, x).tolist() == wanted
    c, s, x = rng.integers(0, 9, (3, 30)).astype(np.float32)
    fs = rng.integers(0, 99, m)
    wanted = [float((x * (c - s)[w * np.arange(30) % 30]).sum()) for w in fs]
    assert soac.compile(FAR_APART["roots"]).f(c, s, x, fs).tolist() == wanted


def test_reduced_threads_take_turns() -> None:
    text = "entry f [n] (next: [n]i64) = i64.sum (map (\\a -> loop k = a while next[k] != k do next[k]) next)"
    kernels = kernels_of(text)
    taken = [new for kernel in kernels if (new := one_by_one(kernel)) != kernel]
    assert taken
    assert not any(isinstance(stm, BlockReduce) for kernel in taken for stm in statements(kernel.body))


def test_many_rows_in_several_blocks() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 9, 10_000)
    first, xs = rng.integers(0, 1000, 10_000), rng.integers(-1000, 1000, 1010).astype(np.int16)
    (sums,) = soac.compile(TAKEN["rows by list"]).call("f", [first, sizes, xs])
    assert np.array_equal(sums, [xs[a : a + k].sum(dtype=np.int16) for a, k in zip(first, sizes, strict=True)])


def test_numbers_are_divided_until_one_leaves_nothing() -> None:
    numbers = np.array([*range(-5, 300), 7919, 7921, 46337**2], np.int32)
    (found,) = soac.compile(TAKEN["least divisors"]).call("f", [numbers])
    assert found.tolist() == [next(d for d in range(2, 1 << 16) if d * d > x or x % d == 0) for x in numbers.tolist()]
    (counts,) = soac.compile(TAKEN["prime factors"]).call("f", [numbers.astype(np.int64)])
    (totients,) = soac.compile(TAKEN["Euler's totients"]).call("f", [numbers])
    assert [(c, t) for c, t in zip(counts, totients, strict=True)] == [divided_out(x) for x in numbers.tolist()]
    odd = np.arange(1, 2001, 2).astype(np.uint64)
    (prime,) = soac.compile(TAKEN["numbers that a flag ends"]).call("f", [odd])
    assert prime.tolist() == [x > 1 and all(x % d for d in range(3, math.isqrt(x) + 1, 2)) for x in odd.tolist()]


def divided_out(x: int) -> tuple[int, int]:
    """How many prime factors are found, and the totient that they leave."""
    count, totient, d = 0, x, 2
    while d * d <= x:
        if x % d == 0:
            totient -= totient // d
        least = d
        while x % d == 0 and d * d <= x:
            x, count = x // d, count + 1
        d = least + 1
    return count, totient


def test_rows_keep_what_each_stores() -> None:
    """Arrays of a thread among them, and what fails."""
    rng = np.random.default_rng(5)
    rows, seeds = rng.integers(0, 256, (203, 32)).astype(np.uint8), rng.integers(0, 1 << 32, 203).astype(np.uint32)
    (permuted,) = soac.compile(TAKEN["a permuted row"]).call("f", [rows, seeds])
    for row, seed in zip(rows, seeds.tolist(), strict=True):
        for i in range(32):
            seed = (seed * 1664525 + 1013904223) % (1 << 32)
            row[[i, seed >> 27]] = row[[seed >> 27, i]]
    assert np.array_equal(permuted, rows)
    tokens = rng.integers(-3, 5, (203, 30)).astype(np.int32)
    (tops,) = soac.compile(TAKEN["a stack"]).call("f", [tokens])
    assert tops.tolist() == [top_of_stack(row) for row in tokens.tolist()]
    counts = soac.compile(TAKEN["counts of a row"])
    digits = rng.integers(0, 16, (70, 33)).astype(np.int32)
    assert np.array_equal(counts.call("f", [digits])[0], [np.bincount(row, minlength=16) for row in digits])
    digits[69, 32] = 16
    with pytest.raises(soac.RunError, match=r"index \[16\] out of bounds"):
        counts.call("f", [digits])


def top_of_stack(row: list[int]) -> int:
    stack: list[int] = []
    for x in row:
        if x >= 0:
            stack.append(x)
        elif len(stack) > 1:
            last = stack.pop()
            stack[-1] = stack[-1] * 3 + last
    return stack[-1] if stack else 0


@pytest.mark.parametrize("d", [0, 1, 5, 17])
def test_rows_of_a_table(d: int) -> None:
    """Lists of no rows and of many, NaN and infinity among what is weighed."""
    text = TAKEN["rows of a table by list"].replace("h: [m][d]f32) =", "h: [m][d]f32): [][d]f32 =")
    random = np.random.default_rng(d)
    off = np.array([0, 0, 3, 4, 30, 30, 40])
    at, a = random.integers(0, 40, 40), random.standard_normal(40).astype(np.float32)
    h = random.random((40, d), np.float32)
    a[at[3]], h[at[35]] = np.inf, np.nan
    with np.errstate(all="ignore"):
        rows = np.split(at, off[1:-1])
        wanted = [(np.exp(a[r])[:, None] * h[r]).sum(0) / np.exp(a[r]).sum() for r in rows]
    np.testing.assert_allclose(soac.compile(text).f(off, at, a, h), np.array(wanted).reshape(6, d), rtol=1e-4)


@pytest.mark.parametrize("prim", ["u8", "f32"])
def test_patches(prim: str) -> None:
    program = soac.compile(PATCHES.format(prim))
    for h, w in ((5, 5), (5, 70), (37, 41), (40, 36)):
        xs = (np.arange(h * w) * 7 % 251).astype({"u8": np.uint8, "f32": np.float32}[prim]).reshape(h, w)
        wanted = np.lib.stride_tricks.sliding_window_view(xs, (5, 5)).reshape(h - 4, w - 4, 25)
        assert np.array_equal(program.f(xs), wanted)


def test_long_rows_that_may_fail() -> None:
    program = soac.compile(ROWS["long rows of bytes"].replace("[16]u8", "[15]u8"))
    hexadecimal = np.arange(15, dtype=np.uint8) * 3 + 1
    for n in (0, 1, 33, 200):
        xs = np.random.default_rng(n).integers(0, 15, (n, 20, 2)).astype(np.uint8)
        assert np.array_equal(program.f(xs[..., 0] * 16 + xs[..., 1], hexadecimal), hexadecimal[xs].reshape(n, 40))
    with pytest.raises(soac.RunError, match=r"index \[15\] out of bounds"):
        program.f(np.full((50, 20), 15, np.uint8), hexadecimal)
