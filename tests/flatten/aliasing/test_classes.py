"""Whatever may share memory with an array that is overwritten counts as overwritten: construct by construct."""

from __future__ import annotations

import itertools

import pytest

from soac.flatten.aliasing.classes import Sharing, overwritten_names, sharing_in
from soac.ir.check import Stage, check
from soac.ir.parse import parse_prog
from soac.ir.types import Name

SHARED = {
    "copied": "let (v_9: [n_1]i32) = xs_2",
    "slice": "let (v_9: [n_1]i32) = xs_2[0i64 :+ n_1 * 1i64]",
    "rearranged": "let (v_9: [n_1]i32) = rearrange (0) xs_2",
    "reshaped": "let (v_9: [n_1]i32) = reshape [n_1] xs_2",
    "first branch": "let (v_9: [n_1]i32) = if c_4 then { in (xs_2) } else { in (ys_3) }",
    "second branch": "let (v_9: [n_1]i32) = if c_4 then { in (ys_3) } else { in (xs_2) }",
    "initial value": "let (v_9: [n_1]i32) = loop (a_10: [n_1]i32 = xs_2) for i_11: i64 < n_1 do { in (a_10) }",
    "next value": "let (v_9: [n_1]i32) = loop (a_10: [n_1]i32 = ys_3) for i_11: i64 < n_1 do { in (xs_2) }",
    "call": "let (v_9: [n_1]i32) = same_20(n_1, ys_3, xs_2)",
}


@pytest.mark.parametrize("how", SHARED)
def test_the_source_of_what_is_overwritten_is_overwritten(how: str) -> None:
    prog = parse_prog(
        "next_name 100 fun same_20 (n_21: i64, a_22: [n_21]i32, b_23: [n_21]i32) : (r_24: [n_21]i32) = { in (b_23) }"
        " fun main_0 (n_1: i64, xs_2: [n_1]i32, ys_3: [n_1]i32, c_4: bool) consumes (xs_2, ys_3) : (r_8: i64) = {"
        f" {SHARED[how]} let (w_12: [n_1]i32) = v_9 with [0i64] <- 1i32 in (n_1) }}"
    )
    check(prog, Stage.CORE)
    assert sharing_in(prog).consumed(Name("xs", 2))
    assert Name("xs", 2) in overwritten_names(prog)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))], ids=str)
def test_a_class_is_overwritten_with_any_of_its_members(order: tuple[int, ...]) -> None:
    x, y, z = (Name("x", k) for k in range(3))
    for (a, b), (c, d) in itertools.product([(x, y), (y, x)], [(y, z), (z, y)]):
        sharing = Sharing()
        steps = (lambda s: s.link(a, b), lambda s: s.link(c, d), lambda s: s.consume(z))  # noqa: B023
        for k in order:
            steps[k](sharing)
        assert all(map(sharing.consumed, (x, y, z)))
        assert sharing.same(x, z)


ROW = "[m_2]i32"
ROWS = {
    "map": f"let (v_9: [n_1]{ROW}) = map n_1 (xss_3) \\(b_12: {ROW}) : ({ROW}) -> {{ in (b_12) }}",
    "reduce": f"let (v_9: {ROW}, w_14: {ROW}) = reduce n_1 (y_15: {ROW} <- yss_4, x_10: {ROW} <- xss_3) (ne_5, ne_6)"
    f" \\(c_16: {ROW}, a_11: {ROW}, d_17: {ROW}, b_12: {ROW}) : ({ROW}, {ROW}) -> {{ in (c_16, a_11) }}",
    "scan": f"let (v_9: [n_1]{ROW}) = scan n_1 (x_10: {ROW} <- xss_3) (ne_5)"
    f" \\(a_11: {ROW}, b_12: {ROW}) : ({ROW}) -> {{ in (a_11) }}",
    "hist": f"let (v_9: [n_1]{ROW}) = hist n_1 (is_7, xss_3) rank 1 dests (ds_8)"
    f" \\(i_13: i64, x_10: {ROW}) : (i64, {ROW}) -> {{ in (i_13, x_10) }}"
    f" reduce (ne_5) \\(a_11: {ROW}, b_12: {ROW}) : ({ROW}) -> {{ in (a_11) }}",
}


@pytest.mark.parametrize("soac", ROWS)
def test_what_a_lambda_is_given_shares_with_the_rows_it_comes_from(soac: str) -> None:
    prog = parse_prog(
        f"next_name 100 fun main_0 (n_1: i64, m_2: i64, xss_3: [n_1]{ROW}, yss_4: [n_1]{ROW}, ne_5: {ROW}, ne_6: {ROW},"
        f" is_7: [n_1]i64, ds_8: [n_1]{ROW}) consumes (ds_8) : (r_20: i64) = {{ {ROWS[soac]} in (n_1) }}"
    )
    check(prog, Stage.CORE)
    sharing = sharing_in(prog)
    assert sharing.same(Name("b", 12), Name("xss", 3))
    assert not sharing.same(Name("b", 12), Name("yss", 4))
