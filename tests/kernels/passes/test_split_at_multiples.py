"""Comparisons that change inside of a loop decide as they would without the loop being cut there."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.passes.split_at_multiples import split_at_multiples
from soac.pipeline import compile_core

COMPARISONS = {"below": np.less, "most": np.less_equal, "above": np.greater, "least": np.greater_equal}
SIGNS = {"below": "<", "most": "<=", "above": ">", "least": ">="}
BODY = "tabulate 100 (\\i -> xs[(i + c) % m] + (if i + c {} m then 7 else 9))"
ENTRY = f"entry {{}} [m] (xs: [m]i32) (c: i64): [100]i32 = {BODY}"


def test_comparisons_change_where_they_should() -> None:
    text = "\n".join(ENTRY.format(name, sign) for name, sign in SIGNS.items())
    compiled = compile_core(compile_text(text, "split.soac"), Mode.FULL, CPU)
    assert all(split_at_multiples(kernel) != kernel for kernel in compiled.host.kernels)
    device = Executable.build(compiled.host, compiled.flat.functions)
    xs, i = np.arange(40, dtype=np.int32), np.arange(100)
    for name, compare in COMPARISONS.items():
        for c in (0, 7):
            expected = xs[(i + c) % 40] + np.where(compare(i + c, 40), 7, 9)
            np.testing.assert_array_equal(device.run(name, (xs, np.int64(c)))[0][0], expected)


def test_short_rows_wrap() -> None:
    """From 8 elements on in pieces."""
    body = "map (\\row -> tabulate w (\\j -> row[(j + w - 1) % w] + row[j])) a"
    text = f"entry main [h][w] (a: [h][w]u8): [h][w]u8 = {body}"
    compiled = compile_core(compile_text(text, "wrap.soac"), Mode.FULL, CPU)
    device = Executable.build(compiled.host, compiled.flat.functions)
    for w in (0, 1, 7, 8, 9, 31, 32, 33):
        a = np.arange(3 * w, dtype=np.uint8).reshape(3, w)
        np.testing.assert_array_equal(device.run("main", (a,))[0][0], np.roll(a, 1, axis=1) + a)


PIECES = "map (\\r -> tabulate n (\\j -> if j + {} {} d then r[j] + 1 else if j < e then r[n - 1 - j] else 2 * r[j])) a"
PIECEWISE = "entry {} [h][n] (d: i64) (e: i64) (a: [h][n]i32): [h][n]i32 = " + PIECES


@given(st.sampled_from(sorted(SIGNS)), st.integers(0, 40), st.integers(-3, 45), st.integers(-3, 45))
def test_rows_of_several_parts(name: str, n: int, d: int, e: int) -> None:
    """Long parts are loops of their own, short ones are not."""
    a = np.arange(3 * n, dtype=np.int32).reshape(3, n)
    j = np.arange(n)
    for shift in (0, 1):
        parts = np.where(j < e, a[:, ::-1], 2 * a)
        expected = np.where(COMPARISONS[name](j + shift, d), a + 1, parts)
        np.testing.assert_array_equal(piecewise().run(f"{name}{shift}", (np.int64(d), np.int64(e), a))[0][0], expected)


@cache
def piecewise() -> Executable:
    text = "\n".join(PIECEWISE.format(f"{name}{k}", k, sign) for name, sign in SIGNS.items() for k in (0, 1))
    compiled = compile_core(compile_text(text, "parts.soac"), Mode.FULL, CPU)
    assert sum(split_at_multiples(kernel) != kernel for kernel in compiled.host.kernels) == 2 * len(SIGNS)
    return Executable.build(compiled.host, compiled.flat.functions)


DIVIDED = "tabulate n (\\i -> xs[(i + c) % {m}] + i32.i64 ((i + c) / {m}) + i32.i64 ((i + c - 9) // {m}))"


@given(st.sampled_from((8, 9, 12, 15, 16, 24, 31, 32)), st.integers(0, 200), st.integers(0, 100), st.booleans())
def test_divided_by_what_is_not_long(m: int, n: int, c: int, constant: bool) -> None:
    xs, i = np.arange(m, dtype=np.int32), np.arange(n) + c
    expected = xs[i % m] + i // m + np.trunc((i - 9) / m).astype(np.int32)
    entry, args = (f"by{m}", ()) if constant else ("by", (np.int64(m),))
    np.testing.assert_array_equal(dividing().run(entry, (*args, np.int64(n), np.int64(c), xs))[0][0], expected)


@cache
def dividing() -> Executable:
    """Entries for divisors that are known, and one for others."""
    known = (8, 9, 12, 15, 16, 24, 31, 32)
    lines = [f"entry by{m} (n: i64) (c: i64) (xs: [{m}]i32): [n]i32 = {DIVIDED.format(m=m)}" for m in known]
    lines.append(f"entry by (m: i64) (n: i64) (c: i64) (xs: [m]i32): [n]i32 = {DIVIDED.format(m='m')}")
    compiled = compile_core(compile_text("\n".join(lines), "divided.soac"), Mode.FULL, CPU)
    cut = sum(split_at_multiples(kernel) != kernel for kernel in compiled.host.kernels)
    assert cut == sum(m >= 16 for m in known) + 1  # what is less and known needs no pieces
    return Executable.build(compiled.host, compiled.flat.functions)


SCANNED = """
entry sums [k] (m: i64) (xs: [k]i32): [k]i64 = scan (+) 0 (map (\\p -> i64.i32 xs[p] * (p % m) + (p + 5) / m) (iota k))
entry places [k] (m: i64) (xs: [k]i32): ([]i64, []i64) =
  unzip (filter (\\(i, j) -> xs[i * m + j] > i32.i64 j) (map (\\p -> (p / m, p % m)) (iota k)))
entry floats [k] (m: i64) (xs: [k]i32): [k]f64 = scan (+) 0 (map (\\p -> f64.i32 xs[p] + f64.i64 (p / m)) (iota k))
"""


@given(st.sampled_from((1, 7, 31, 32, 33, 100)), st.integers(0, 300), st.randoms())
def test_scans_of_divided_places(m: int, k: int, random: Random) -> None:
    """Each piece goes on with what was before it."""
    xs, p = np.array([random.randrange(m + 1) for _ in range(k)], np.int32), np.arange(k)
    np.testing.assert_array_equal(
        scanning().run("sums", (np.int64(m), xs))[0][0], np.cumsum(xs * (p % m) + (p + 5) // m)
    )
    np.testing.assert_array_equal(scanning().run("floats", (np.int64(m), xs))[0][0], np.cumsum(xs + p // m))
    kept = p[xs > p % m]
    rows, columns = scanning().run("places", (np.int64(m), xs))[0]
    np.testing.assert_array_equal(rows, kept // m)
    np.testing.assert_array_equal(columns, kept % m)


@cache
def scanning() -> Executable:
    compiled = compile_core(compile_text(SCANNED, "scans.soac"), Mode.FULL, CPU)
    changed = {kernel.name for kernel in compiled.host.kernels if split_at_multiples(kernel) != kernel}
    assert {name.split("_")[0] for name in changed} == {"sums", "places"}
    return Executable.build(compiled.host, compiled.flat.functions)
