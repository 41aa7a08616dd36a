"""Each check of `soac check --performance` warns of what it is for, and of nothing that some version does well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from soac.api import compile_prog
from soac.commands.check import command
from soac.performance.checks import CHECKS, performance_warnings

PROGRAMS = Path(__file__).parents[3] / "programs"

SLOW = {
    "W0502": """entry main [n] (xs: [n]f64): [4]f64 =
  #[sequential_inner] map (\\k -> f64.sum (map (* f64.i64 k) xs)) (iota 4)""",
    "W0503": """entry main [n] (xss: [n][n]f64): [n]f64 =
  map (\\i -> loop s = 0 for j < n do let k = (j * j) % n in s + xss[i, k] * xss[k, i]) (iota n)""",
    "W0504": """entry main [n][m][k] (xs: [n][k]f32) (ys: [m][k]f32): [n][m]f32 =
  map (\\x -> map (\\y -> loop a = 0 for i < k do a + x[i] * y[i]) ys) xs""",
    "W0505": """entry main [n] (is: [n]i64): [n]i64 =
  map (\\i -> (loop xs = iota i for j < i - 1 do xs with [j + 1] = xs[j] + xs[j + 1] % 7)[i / 2]) is""",
    "W0506": "entry main [n] (xs: [n]f64): [n]f64 = map (\\i -> xs[(i * i) % n]) (iota n)",
    "W0507": """entry main [n] (xs: [n]i32): ([n]i32, [n]i32) =
  let ys = copy xs
  let zs = map (+ 0) (map (* 1) ys)
  let ws = loop ys for i < n do ys with [i / 2] = 9
  in (map2 (\\z w -> z + w - w) zs ws, ws)""",
    "W0508": """entry main [n] (m: i64) (xs: [n]i32) (ends: [n]i64): [m]i32 =
  let after k = (loop (lo, hi) = (0, n) while lo < hi do
                   let mid = (lo + hi) / 2 in if ends[mid] <= k then (mid + 1, hi) else (lo, mid)).0
  in tabulate m (\\k -> xs[after k])""",
    "W0509": """entry main [n] (a: i64) (m: i64) (xs: [n]u8) (ys: [n]u8): [n]u8 =
  map2 (\\x y -> u8.i64 ((a * i64.u8 x + (m - a) * i64.u8 y) / m)) xs ys""",
}
"""A program for each code, of which something is slow on every version."""

FINE = {
    "one thread for each of many sums": "entry main [n] (xs: [n][4]f64): [n]f64 = map f64.sum xs",
    "few sums, flattened": "entry main [n] (xs: [n]f64): [4]f64 = map (\\k -> f64.sum (map (* f64.i64 k) xs)) (iota 4)",
    "a step for all rows": """entry main [n][m] (xss: [m][n]f64): [n]f64 =
  map (\\i -> loop s = 0 for j < m do s + xss[(j * j) % m, i]) (iota n)""",
    "rows by number": "entry main [n][m][k] (t: [n][m]f64) (is: [k]i64): [k][m]f64 = map (\\i -> t[i]) is",
    "a product": """entry main [n][m][k] (xs: [n][k]f32) (ys: [m][k]f32) (b: [m]f32): [n][m]f32 =
  map (\\x -> map2 (\\y c -> c + f32.sum (map2 (*) x y)) ys b) xs""",
    "squares": """entry main [n][m] (xs: [n]f32) (ys: [m]f32): [n][m]f32 =
  map (\\x -> map (\\y -> loop s = x for _i < 9 do s * s + y) ys) xs""",
    "an array of one size": """entry main [n] (is: [n]i64): [n]i64 =
  map (\\i -> (loop xs = replicate 8 i for j < 7 do xs with [j + 1] = xs[j] + 1)[i & 7]) is""",
    "an index divided once for all lanes": """entry main [n][m] (xs: [n]f64) (ys: [m]f64): f64 =
  f64.sum (map (\\i -> xs[i / m] * ys[i % m]) (iota (n * m)))""",
    "patches as rows": """entry main [h][w] (xs: [h][w]f32): [][][9]f32 =
  tabulate_2d (h - 2) (w - 2) (\\i j -> tabulate 9 (\\k -> xs[i + k / 3, j + k % 3]))""",
    "a wrap": "entry main [h][w] (xs: [h][w]i8): [h][w]i8 = tabulate_2d h w (\\i j -> xs[i, j] + xs[i, (j + 1) % w])",
    "a search for elements": """entry main [n][m] (xs: [m]i64) (ends: [n]i64): [m]i64 =
  map (\\x -> (loop (lo, hi) = (0, n) while lo < hi do
                 let mid = (lo + hi) / 2 in if ends[mid] <= x then (mid + 1, hi) else (lo, mid)).0) xs""",
    "a search beside other work": """entry main [n][m] (xs: [m]i64) (ends: [n]i64): [m]i64 =
  map (\\k -> let i = (loop (lo, hi) = (0, n) while lo < hi do
                         let mid = (lo + hi) / 2 in if ends[mid] <= k then (mid + 1, hi) else (lo, mid)).0
             in loop s = i for j < 99 do s * 3 + xs[(s + j) & 7]) (iota m)""",
    "bytes in 32 bits": """entry main [n] (a: i32) (xs: [n]u8): [n]u8 =
  map (\\x -> u8.i32 (a * i32.u8 x / 255)) xs""",
    "bytes that stay small": """entry main [n] (xs: [n]u8): [n]u8 =
  map (\\x -> u8.i64 (77 * i64.u8 x / 100)) xs""",
    "bytes and a number that is mostly small": """entry main [n] (a: i64) (xs: [n]u8) (ys: [n]u8): [n]u8 =
  map2 (\\x y -> u8.i64 ((a * i64.u8 x + (255 - a) * i64.u8 y) / 255)) xs ys""",
    "low bits of products": "entry main [n] (a: i64) (xs: [n]u8): [n]u8 = map (\\x -> u8.i64 (a * i64.u8 x)) xs",
    "digits computed": """entry main [n] (data: [n]u8): []u8 =
  let digit x = if x < 10 then x + 48 else x + 87
  in flatten (map (\\x -> [digit (x >> 4), digit (x & 15)]) data)""",
    "digits by a table": """entry main [n] (data: [n]u8): []u8 =
  tabulate (2 * n) (\\i -> ("0123456789abcdef")[i64.u8 (if i % 2 == 0 then data[i / 2] >> 4 else data[i / 2] & 15)])""",
    "a large table": "entry main [n] (t: [256]u8) (xs: [n]u8): [n]u8 = map (\\x -> t[i64.u8 x]) xs",
    "a small table of numbers": "entry main [n] (t: [16]f32) (xs: [n]u8): [n]f32 = map (\\x -> t[i64.u8 (x & 15)]) xs",
    "sums of bytes": "entry main [n] (a: i64) (xs: [n]u8): i64 = i64.sum (map (\\x -> a * i64.u8 x) xs)",
    "a copy that is asked for": "entry main [n] (xs: [n]i32): [n]i32 = loop ys = copy xs for i < n do ys with [i] = 9",
}


def codes(text: str) -> set[str]:
    return {one.code for one in performance_warnings(compile_prog(text, "slow.soac"))}


@pytest.mark.parametrize("code", SLOW)
def test_it_warns(code: str) -> None:
    assert codes(SLOW[code]) == {code}


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_it_does_not_warn(text: str) -> None:
    assert codes(text) == set()


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(PROGRAMS.glob("*.soac")), ids=lambda file: file.stem)
def test_no_false_alarms(file: Path) -> None:
    assert performance_warnings(compile_prog(file.read_text(encoding="utf-8"), str(file))) == ()


def test_columns_of_patches_are_far_apart() -> None:
    """Each point adds what nine patches say of it, and patches are rows."""
    text = """entry main [h][w] (patches: [h][w][3][3]f32): [][]f32 =
  tabulate_2d (h - 2) (w - 2) (\\i j -> f32.sum (tabulate 9 (\\k -> patches[i + k / 3, j + k % 3, k / 3, k % 3])))"""
    (warning,) = performance_warnings(compile_prog(text, "slow.soac"))
    assert (warning.code, warning.primary.loc.line) == ("W0503", 2)
    assert "several times neighbouring points read `patches` far apart" in warning.primary.text


def test_what_is_interpreted() -> None:
    compiled = compile_prog("entry main [n] (xs: [n]f64): f64 = f64.sum xs", "slow.soac")
    (one,) = compiled.scheduled
    broken = replace(compiled, scheduled=(replace(one, interpreted="no kernel for it"),))
    (warning,) = performance_warnings(broken)
    assert (warning.code, warning.primary.text, warning.primary.loc.line) == ("W0501", "no kernel for it", 1)


def test_every_check_has_a_program() -> None:
    assert {*SLOW, "W0501"} == set(CHECKS)


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "slow.soac"
    file.write_text(SLOW["W0506"], encoding="utf-8")
    plain, asked = (CliRunner().invoke(command, [str(file), *more], standalone_mode=False)
                    for more in ([], ["--performance", "--werror"]))  # fmt: skip
    assert (plain.return_value, asked.return_value) == (0, 1)
    assert "warning[W0506]" in asked.output
    assert "= hint:" in asked.output
