"""In a collective, threads that each reduce one row become collectives of a lower level; others stay threads."""

from __future__ import annotations

import pytest

from soac.flatten.versions.nested import rows_to
from soac.ir.check import Stage, check
from soac.ir.core import Level, SegMap, SegRed
from soac.ir.parse import parse_prog
from soac.ir.show import show_body
from soac.ir.types import Names

SUM = (
    r"reduce {} (x_40: i64 <- {}) (0i64) \(v_14: i64, w_15: i64) : (i64) ->"
    " {{ let (t_16: i64) = add_i64 v_14 w_15 in (t_16) }}"
)
ROW = "let (row_21: [m_2]i64) = xss_3![i_20, 0i64 :+ m_2 * 1i64]"
OF_ROWS = f"let (s_22: i64) = {SUM.format('m_2', 'row_21')}"
RAISED = {
    "a row": f"{ROW} {OF_ROWS}",
    "a row, and scalars behind it": f"{ROW} {OF_ROWS} let (a_23: i64) = mul_i64 s_22 i_20",
    "scalars alone before it": f"let (a_23: i64) = mul_i64 i_20 i_20 {ROW} {OF_ROWS}",
}
STAY = {
    "two rows": f"{ROW} {OF_ROWS}"
    f" let (s_24: i64) = {SUM.format('m_2', 'row_21').replace('_1', '_5').replace('_40', '_60')}",
    "no row": "let (s_22: i64) = mul_i64 i_20 i_20",
    "a row of few": "let (row_21: [2]i64) = yss_4![i_20, 0i64 :+ 2i64 * 1i64]"
    f" let (s_22: i64) = {SUM.format('2i64', 'row_21')}",
    "memory of its own": f"{ROW} let (c_25: [m_2]i64) = copy row_21 {OF_ROWS}",
    "a branch": f"{ROW} {OF_ROWS} let (a_23: i64) = if c_5 then {{ in (s_22) }} else {{ in (i_20) }}",
}


def raised(stms: str) -> str:
    prog = parse_prog(
        "next_name 100 fun main_0 (n_1: i64, m_2: i64, xss_3: [n_1][m_2]i64, yss_4: [n_1][2]i64, c_5: bool)"
        " : (r_6: [n_1]i64) = { let (ys_10: [n_1]i64) = segmap^thread (i_20 < n_1) : (i64) {"
        f" {stms} in (s_22) }} in (ys_10) }}"
    )
    check(prog, Stage.FLAT)
    (fun,) = prog.functions
    before = show_body(fun.body)
    body = rows_to(Level.WARP, fun.body, Names(prog.next_name))
    (stm,) = body.stms
    assert isinstance(stm.exp, SegMap)
    inner = [one.exp.level for one in stm.exp.body.stms if isinstance(one.exp, SegRed)]
    if show_body(body) == before:
        return "same"
    return f"{stm.exp.level.value} of {[level.value for level in inner]}"


@pytest.mark.parametrize("name", RAISED)
def test_threads_that_reduce_a_row_are_collectives(name: str) -> None:
    assert raised(RAISED[name]) == "warp of ['thread']"


@pytest.mark.parametrize("name", STAY)
def test_other_threads_stay(name: str) -> None:
    assert raised(STAY[name]) == "same"
