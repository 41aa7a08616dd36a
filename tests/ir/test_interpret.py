"""The interpreter on programs written by hand, against results computed otherwise."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from soac.ir.errors import DataError, IRError, RunError
from soac.ir.interpret import Thresholds, interpret
from soac.ir.parse import parse_prog

PROGRAMS = Path(__file__).parent / "programs"
EVERYTHING, LOOPS, MATMUL, MATMUL_FLAT, SEGOPS = (
    (PROGRAMS / f"{name}.ir").read_text(encoding="utf-8")
    for name in ("everything", "loops", "matmul", "matmul_flat", "segops")
)


def run(text: str, *args: object, thresholds: Thresholds | None = None) -> list:
    return interpret(parse_prog(text), "main", [np.asarray(a) for a in args], thresholds)[0]


def i32s(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


def function(params: str, results: str, body: str) -> str:
    return f"next_name 1000\nfun main_0 ({params}) : ({results}) = {{ {body} }}"


# ---- whole programs -------------------------------------------------------------------------------------------------

XSS = np.arange(6, dtype=np.float32).reshape(2, 3)
YSS = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_matmul_is_a_product_of_matrices() -> None:
    (zss,) = run(MATMUL, XSS, YSS)
    assert zss.dtype == np.float32
    assert np.array_equal(zss, XSS @ YSS)


@pytest.mark.parametrize("shapes", [(0, 3, 4), (2, 0, 4), (2, 3, 0), (1, 1, 1)])
@pytest.mark.parametrize("text", [MATMUL, MATMUL_FLAT], ids=["core", "flat"])
def test_empty_arrays_keep_their_shape(text: str, shapes: tuple[int, int, int]) -> None:
    n, p, m = shapes
    (zss,) = run(text, np.ones((n, p), np.float32), np.ones((p, m), np.float32))
    assert zss.shape == (n, m)
    assert np.array_equal(zss, np.full((n, m), p, np.float32))


PATHS = {
    (True, True): (("main.res.suff_outer_0", 8, True),),
    (False, True): (("main.res.suff_outer_0", 8, False), ("main.res.suff_intra_0", 3, True)),
    (False, False): (("main.res.suff_outer_0", 8, False), ("main.res.suff_intra_0", 3, False)),
}


@pytest.mark.parametrize("version", PATHS)
def test_every_version_agrees_and_the_trace_tells_it(version: tuple[bool, bool]) -> None:
    forced: dict[str, bool] = {"main.res.suff_outer_0": version[0], "main.res.suff_intra_0": version[1]}
    (zss,), trace = interpret(parse_prog(MATMUL_FLAT), "main", [XSS, YSS], Thresholds(forced=forced))
    assert np.array_equal(zss, XSS @ YSS)
    assert trace == PATHS[version]


def test_guards_compare_thresholds_with_parallelism() -> None:
    prog = parse_prog(MATMUL_FLAT)
    taken = {
        t: interpret(prog, "main", [XSS, YSS], Thresholds({"main.res.suff_outer_0": t}))[1][0][2] for t in (7, 8, 9)
    }
    assert taken == {7: True, 8: True, 9: False}
    assert interpret(prog, "main", [XSS, YSS])[1][0][2] is False  # the default threshold is larger


def test_loops_branches_calls_and_constants() -> None:
    xs = i32s(1, 2, 3, 4, 5)
    filled = xs * i32s(2, 3, 5, 7, 2) + 1
    ys, steps = run(LOOPS, xs, np.int32(3))
    assert np.array_equal(ys, filled)
    assert steps == 2
    ys, steps = run(LOOPS, xs, np.int32(100))
    assert np.array_equal(ys, np.concatenate([filled, xs]))
    assert steps == 7
    assert np.array_equal(xs, [1, 2, 3, 4, 5])


def test_everything() -> None:
    xss = i32s([1, 2, 3], [4, 5, 6])
    a, b, c, d, e, f, g, h, k = run(EVERYTHING, np.int64(2), np.int64(3), xss, np.array([2, 7], np.int64))
    assert a.tolist() == [0, 0, 1, 0, 0, 0, 0, 1, 0, 0]
    assert b.tolist() == [-6, -21]
    assert np.array_equal(c, xss)
    assert d.tolist() == [[-1] * 3, [-1] * 3, [1, 2, 3]]
    assert e == 8
    assert f.tolist() == [4, 4]
    assert g.tolist() == [10, 7, 4]
    assert h.tolist() == [[7, 8], [7, 8]]
    assert k == 8.0


def test_segops() -> None:
    xss = i32s([1, 2, 3, 4, 5], [-6, 7, 8, 9, 10])
    dest, hists = np.full((2, 4), -1, np.int32), np.zeros((2, 3), np.int32)
    a, b, c, d, e, f = run(SEGOPS, xss, dest, hists)
    assert a.tolist() == [-15, -28]
    assert np.array_equal(b, -xss)
    assert np.array_equal(c, np.cumsum(xss, axis=1))
    assert d.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert np.array_equal(e, xss[:, :4])  # the fifth column is out of range
    assert f.tolist() == [[5, 1, 2], [10, 0, 7]]  # 3, 4, 8, 9 and -6 fall out
    assert np.all(dest == -1), "arguments are never overwritten"


def test_a_matmul_of_32_is_quick() -> None:
    rng = np.random.default_rng(1)
    xss, yss = (rng.integers(-8, 8, (32, 32)).astype(np.float32) for _ in range(2))
    start = time.perf_counter()
    for text in (MATMUL, MATMUL_FLAT):
        assert np.array_equal(run(text, xss, yss)[0], xss @ yss)
    assert time.perf_counter() - start < 4


@pytest.mark.parametrize("n", [0, 3])
def test_a_map_over_nothing_has_as_many_rows_as_it_says(n: int) -> None:
    text = function(
        "n_1: i64", "r_2: [n_1]i32", r"let (r_3: [n_1]i32) = map n_1 () \() : (i32) -> { in (7i32) } in (r_3)"
    )
    assert run(text, np.int64(n))[0].tolist() == [7] * n


def test_an_array_of_another_length_than_the_width_is_our_fault() -> None:
    body = r"let (r_5: [n_1]i32) = map n_1 (xs_3) \(x_4: i32) : (i32) -> { in (x_4) } in (r_5)"
    text = function("n_1: i64, m_2: i64, xs_3: [m_2]i32", "r_6: [n_1]i32", body)
    with pytest.raises(IRError, match="an array of 3 rows where the width is 2"):
        run(text, np.int64(2), np.int64(3), i32s(1, 2, 3))


def test_array_valued_operator() -> None:
    text = function(
        "n_1: i64, m_2: i64, xss_3: [n_1][m_2]i32, ne_4: [m_2]i32",
        "r_5: [m_2]i32, s_6: [n_1][m_2]i32",
        r"""
        let (s_7: [n_1][m_2]i32) =
          scanomap n_1 (xss_3) \(xs_9: [m_2]i32) : ([m_2]i32) -> { in (xs_9) }
            scan (ne_4) \(a_10: [m_2]i32, b_11: [m_2]i32) : ([m_2]i32) -> {
              let (c_12: [m_2]i32) = map m_2 (a_10, b_11) \(x_13: i32, y_14: i32) : (i32) -> {
                let (z_15: i32) = add_i32 x_13 y_14 in (z_15) }
              in (c_12) }
        let (r_8: [m_2]i32) =
          redomap n_1 (xss_3) \(xs_19: [m_2]i32) : ([m_2]i32) -> { in (xs_19) }
            reduce (ne_4) \(a_20: [m_2]i32, b_21: [m_2]i32) : ([m_2]i32) -> {
              let (c_22: [m_2]i32) = map m_2 (a_20, b_21) \(x_23: i32, y_24: i32) : (i32) -> {
                let (z_25: i32) = max_i32 x_23 y_24 in (z_25) }
              in (c_22) }
        in (r_8, s_7)
        """,
    )
    xss = i32s([1, 9], [3, 2], [2, 5])
    r, s = run(text, np.int64(3), np.int64(2), xss, i32s(0, 0))
    assert r.tolist() == [3, 9]
    assert np.array_equal(s, np.cumsum(xss, axis=0))
    r, s = run(text, np.int64(0), np.int64(2), xss[:0], i32s(0, 0))
    assert r.tolist() == [0, 0]
    assert s.shape == (0, 2)


def test_a_histogram_of_rows_whose_operator_exchanges_them() -> None:
    """Both new rows are of what was there before: the second is not what the first has become."""
    row = "[n_1]i32"
    text = function(
        f"n_1: i64, is_2: [n_1]i64, ne_3: {row}, a_4: [2]{row}, b_5: [2]{row}",
        f"r_6: [2]{row}, s_7: [2]{row}",
        rf"""
        let (r_8: [2]{row}, s_9: [2]{row}) =
          hist n_1 (is_2) rank 1 dests (a_4, b_5)
            \(i_10: i64) : (i64, {row}, {row}) -> {{ in (i_10, ne_3, ne_3) }}
            reduce_comm (ne_3, ne_3)
              \(x_11: {row}, y_12: {row}, p_13: {row}, q_14: {row}) : ({row}, {row}) -> {{ in (y_12, x_11) }}
        in (r_8, s_9)
        """,
    )
    a, b = i32s([1, 2, 3], [4, 5, 6]), i32s([-1, -2, -3], [-4, -5, -6])
    r, s = run(text, np.int64(3), [1, 7, 1], i32s(0, 0, 0), a, b)
    assert (r.tolist(), s.tolist()) == (a.tolist(), b.tolist())
    r, s = run(text, np.int64(3), [1, 7, 0], i32s(0, 0, 0), a, b)
    assert (r.tolist(), s.tolist()) == (b.tolist(), a.tolist())


# ---- failures -------------------------------------------------------------------------------------------------------


def failure(text: str, *args: object) -> tuple[str, str]:
    with pytest.raises(RunError) as caught:
        run(text, *args)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.message


XS = "n_1: i64, xs_2: [n_1]i32"
YSS_PARAMS = "n_1: i64, m_2: i64, yss_3: [n_1][m_2]i32, i_4: i64, j_5: i64"


@pytest.mark.parametrize("index", [-1, 3, 4])
def test_index_out_of_bounds(index: int) -> None:
    text = function(f"{XS}, i_3: i64", "r_4: i32", "let (x_5: i32) = xs_2[i_3] in (x_5)")
    assert failure(text, np.int64(3), i32s(1, 2, 3), np.int64(index)) == (
        "R0101",
        f"index [{index}] out of bounds for array of shape [3]",
    )


def test_index_out_of_bounds_in_two_dimensions() -> None:
    text = function(YSS_PARAMS, "r_6: i32", "let (x_7: i32) = yss_3[i_4, j_5] in (x_7)")
    args = (np.int64(2), np.int64(3), np.zeros((2, 3), np.int32), np.int64(1), np.int64(4))
    assert failure(text, *args) == ("R0101", "index [1, 4] out of bounds for array of shape [2][3]")


def test_update_out_of_bounds() -> None:
    text = function(f"{XS}, i_3: i64", "r_4: [n_1]i32", "let (x_5: [n_1]i32) = xs_2 with [i_3] <- 0i32 in (x_5)")
    code, message = failure(text, np.int64(3), i32s(1, 2, 3), np.int64(3))
    assert (code, message) == ("R0101", "index [3] out of bounds for array of shape [3]")


@pytest.mark.parametrize(
    ("start", "count", "stride", "expected"),
    [(1, 2, 1, [2, 3]), (4, -1, 1, None), (2, 3, -1, [3, 2, 1]), (0, 2, 3, [1, 4]), (3, 2, 1, None), (0, 5, -1, None),
     (9, 0, 1, []), (-1, 2, 1, None), (1, 2, 0, [2, 2])],
)  # fmt: skip
def test_slices(start: int, count: int, stride: int, expected: list[int] | None) -> None:
    text = function(
        f"{XS}, s_3: i64, k_4: i64, d_5: i64", "r_6: [k_4]i32", "let (x_7: [k_4]i32) = xs_2[s_3 :+ k_4 * d_5] in (x_7)"
    )
    args = [np.int64(4), i32s(1, 2, 3, 4), *map(np.int64, (start, count, stride))]
    if expected is None:
        slice_text = f"slice [{start}:+{count}*{stride}] out of bounds for array of shape [4]"
        assert failure(text, *args) == ("R0101", slice_text)
    else:
        assert run(text, *args)[0].tolist() == expected


def test_an_index_said_to_be_safe_is_our_fault() -> None:
    text = function(XS, "r_4: i32", "let (x_5: i32) = xs_2![n_1] in (x_5)")
    with pytest.raises(IRError, match=r"index \[3\] out of bounds"):
        run(text, np.int64(3), i32s(1, 2, 3))


@pytest.mark.parametrize("op", ["div", "mod", "quot", "rem"])
def test_division_by_zero(op: str) -> None:
    text = function("x_1: i32, y_2: i32", "r_3: i32", f"let (z_4: i32) = {op}_i32 x_1 y_2 in (z_4)")
    assert failure(text, np.int32(1), np.int32(0)) == ("R0102", "division by zero")


def test_failures_in_untaken_branches_do_not_happen() -> None:
    text = function(
        "x_1: i32",
        "r_2: i32",
        "let (c_3: bool) = ne_i32 x_1 0i32 "
        "let (y_4: i32) = if c_3 then { let (z_5: i32) = div_i32 8i32 x_1 in (z_5) } else { in (7i32) } in (y_4)",
    )
    assert run(text, np.int32(0)) == [7]
    assert run(text, np.int32(2)) == [4]


def test_assertions_say_values() -> None:
    code, message = failure(LOOPS, i32s(4, -5), np.int32(99))
    assert code == "R0103"
    assert message == 'limit is 99 of [4, -5]\n"x"'


def test_a_failure_has_a_place() -> None:
    text = function("x_1: i32", "r_2: i32", 'let (y_3: i32) = div_i32 1i32 x_1 @"a.soac":3:7-3:10 in (y_3)')
    with pytest.raises(RunError) as caught:
        run(text, np.int32(0))
    assert str(caught.value.diagnostics[0].primary.loc) == "a.soac:3:7"


def test_values_must_have_the_type_they_are_bound_to() -> None:
    for made in ("replicate [5] 0i32", "replicate [3] 0i64"):
        text = function(XS, "r_4: [n_1]i32", f"let (x_5: [n_1]i32) = {made} in (x_5)")
        with pytest.raises(IRError, match="x_5 should be an array"):
            run(text, np.int64(3), i32s(1, 2, 3))


# ---- entries --------------------------------------------------------------------------------------------------------


def test_sizes_must_agree_at_the_entry() -> None:
    assert failure(MATMUL, np.zeros((5, 5), np.float32), np.zeros((3, 4), np.float32)) == (
        "R0105",
        "invalid size: argument 2 `yss` has shape [3][4], `xss` needs [5][_] because both use size p",
    )


def test_constant_sizes_must_agree_at_the_entry() -> None:
    code, message = failure(SEGOPS, i32s([1]), i32s([1, 2, 3]), i32s([1, 2, 3]))
    assert code == "R0105"
    assert message == "invalid size: argument 2 `dest` has shape [1][3], its type needs [_][4]"


def test_arguments_must_be_of_the_types_of_the_entry() -> None:
    with pytest.raises(DataError, match=r"D0104.*argument 2 `yss`: expected \[p\]\[m\]f32, got \[3\]\[4\]f64"):
        run(MATMUL, XSS, YSS.astype(np.float64))
    with pytest.raises(DataError, match=r"D0104.*argument 2 `dest`: expected \[n\]\[4\]i32, got \[3\]i64"):
        run(SEGOPS, i32s([1]), np.arange(3), i32s([1, 2, 3]))
    with pytest.raises(DataError, match=r"D0113.*`main` takes 2 values \(\[n\]\[p\]f32, \[p\]\[m\]f32\), got 1"):
        run(MATMUL, XSS)


def test_results_are_numpy_values_of_their_type() -> None:
    text = function("x_1: u64", "r_2: u64, s_3: bool", "let (b_4: bool) = gt_u64 x_1 5u64 in (x_1, b_4)")
    r, s = run(text, np.uint64(2**64 - 1))
    assert (r, r.dtype) == (2**64 - 1, np.uint64)
    assert (bool(s), s.dtype) == (True, np.bool_)
