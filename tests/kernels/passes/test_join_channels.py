"""Points of a few elements that are computed alike have one loop over these, the ends apart."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.passes.join_channels import has_channels, join_channels
from soac.kernels.passes.pipeline import CPU_PASSES

CLAMPED = "xs[i64.max 0 (i - 1), i64.min (m - 1) (j + 1), c]"
ALIKE = (
    f"entry f [n][m] (xs: [n][m][3]f32) = tabulate_3d n m 3 (\\i j c -> xs[i, j, c] + {CLAMPED})",
    f"entry f [n][m][k] (xs: [n][m][k]u8) = tabulate_3d n m k (\\i j c -> xs[i, j, c] / 2 + {CLAMPED} / 2)",
    "entry f [n][m] (xs: [n][m][2]f64) = tabulate_2d (n - 1) m (\\i j -> [2 * xs[i + 1, j, 0], 2 * xs[i + 1, j, 1]])",
    "entry f [n][m] (xs: [n][m][4]i16) = tabulate_3d n m 4 (\\i j c -> "
    "if xs[i, j, c] > 2 then 1 else xs[i, i64.max 0 (j - 1), c])",
    "entry f [n][m] (xs: [n][m][3]f32) (g: f32) = tabulate_3d n m 3 (\\i j c -> "
    f"xs[i, j, c] + {CLAMPED} + xs[i, i64.max 0 (j - 1), c] + xs[0, j, c] + if c == 1 then -g else 2)",
)
OTHERWISE = (
    "entry f [n] (xs: [n][3]f32) (w: [3]f32) = map (map2 (*) w) xs",
    "entry f [n] (xs: [n][3]f32) = map (\\p -> [p[0] + 1, p[1] + 1, p[0] * p[2]]) xs",
    "entry f [n] (xs: [n][3]f32) = map (\\p -> [p[1], p[0], p[2]]) xs",
    "entry f [n] (xs: [n][3]f32) (w: [n]f32) = map2 (\\w -> map (* w)) w xs",
    "entry f [n] (xs: [n][2]f32) = map (\\p -> [p[0] + 1, p[1] - 1]) xs",
    "entry f [n][m] (xs: [n][m][2]f32) = tabulate_3d n m 2 (\\i j c -> xs[i, j, c] + f32.i64 j)",
)


def is_joined(text: str) -> bool:
    """Whether the pass has something to do."""
    return any(map(has_channels, soac.compile(text).compiled.host.kernels))


@pytest.mark.parametrize("text", ALIKE)
def test_alike(text: str) -> None:
    assert is_joined(text)


@pytest.mark.parametrize("text", OTHERWISE)
def test_others_stay(text: str) -> None:
    assert not is_joined(text)


def test_the_pass_stands_behind_the_cut() -> None:
    names = [name for name, _ in CPU_PASSES]
    assert names.index("join-channels") == names.index("peel-boundaries") + 1


SQUARES = """kernel squares(block; ys_1: [f32], xs_2: [f32]; n_3: i64, s_0: f32) {{
  threads i_4 in 0..n_3 {{
    let t_5: i64 = mul_i64! i_4 2
    let t_6: i64 = add_i64! t_5 1
    let x_7: f32 = xs_2[t_5]
    let x_8: f32 = xs_2[t_6]
    {links}
    let v_9: f32 = add_f32 x_7 s_59
    let v_10: f32 = add_f32 x_8 s_60
    ys_1[t_5] := v_9
    ys_1[t_6] := v_10
  }}
}}"""


def test_what_all_points_share_is_asked_once() -> None:
    """However often it is used: of a chain of squares, which names its operand twice, once for each link."""
    links = "\n".join(f"let s_{k + 1}: f32 = mul_f32 s_{k} s_{k}" for k in range(60))
    kernel = parse_kernel(SQUARES.format(links=links))
    assert join_channels(kernel) is kernel


SIZES = """
entry blurred [n][m] (xs: [n][m][3]f32): [n][m][3]f32 =
  tabulate_3d n m 3 (\\i j c -> xs[i, i64.max 0 (j - 1), c] + xs[i, j, c] + xs[i, i64.min (m - 1) (j + 2), c])
entry any_number [n][m][k] (xs: [n][m][k]f32): [n][m][k]f32 =
  tabulate_3d n m k (\\i j c -> xs[i, i64.max 0 (j - 1), c] + xs[i, j, c] + xs[i, i64.min (m - 1) (j + 2), c])
entry chosen [n][m] (xs: [n][m][3]f32) (g: f32): [n][m][3]f32 =
  tabulate_3d n m 3 (\\i j c ->
    let a = if c == 1 then g else if c == 2 then 7 else 0
    let a = if i > 0 then a + xs[i - 1, j, c] else a
    let a = if j > 0 then a + xs[i, j - 1, c] else a
    in if xs[i, j, c] > 0.5 then a else -a)
entry rounds [n][m] (xs: [n][m][3]f32): [n][m][3]f32 =
  loop xs for _i < 5 do map (map (\\p -> [p[0] * 2 + 1, p[1] * 2 + 1, p[2] * 2 + 1])) xs
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SIZES)


@pytest.mark.parametrize("m", [0, 1, 2, 3, 5, 17, 64, 700])
def test_sizes(program: soac.Program, m: int) -> None:
    for n in (0, 1, 4):
        xs = np.random.default_rng(m).random((n, m, 3), np.float32)
        j = np.arange(m)
        wide = xs[:, np.maximum(0, j - 1)] + xs + xs[:, np.minimum(m - 1, j + 2)]
        np.testing.assert_array_equal(program.blurred(xs), wide)
        np.testing.assert_array_equal(program.any_number(xs), wide)
        a = np.zeros_like(xs) + np.array([0, 9, 7], np.float32)
        a[1:] += xs[:-1]
        a[:, 1:] += xs[:, :-1]
        np.testing.assert_array_equal(program.chosen(xs, np.float32(9)), np.where(xs > 0.5, a, -a))
        expected = xs
        for _ in range(5):
            expected = expected * np.float32(2) + np.float32(1)
        np.testing.assert_array_equal(program.rounds(xs), expected)
