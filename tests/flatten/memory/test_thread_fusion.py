"""SOACs that become one loop of a thread read each other by element, and have nothing between them that overwrites."""

from __future__ import annotations

import pytest

from soac.flatten.memory.thread_fusion import chain_at
from soac.ir.check import Stage, check
from soac.ir.parse import parse_prog

SCALARS = ("let (a_20: i64) = add_i64 k_4 1i64", "let (b_21: i64) = mul_i64 a_20 k_4")
WRITE = "let (ws_30: [n_1]i64) = ds_3 with [k_4] <- k_4"
MAP = r"let (ys_10: [n_1]i64) = map n_1 (xs_2) \(x_11: i64) : (i64) -> { let (y_12: i64) = add_i64 x_11 k_4 in (y_12) }"
SUM = (
    r"let (s_13: i64) = reduce n_1 (x_40: i64 <- ys_10) (0i64) \(v_14: i64, w_15: i64) : (i64) ->"
    " { let (t_16: i64) = add_i64 v_14 w_15 in (t_16) }"
)


def chain(*between: str) -> tuple[int, ...]:
    return chain_of("let (zs_5: [n_1]i64) = copy ds_3", MAP, *between, SUM)


def chain_of(*stms: str, behind: str = "", arrays: bool = False) -> tuple[int, ...]:
    """The chain that the last statement ends, if there is something behind it."""
    prog = parse_prog(
        "next_name 100 fun main_0 (n_1: i64, xs_2: [n_1]i64, ds_3: [n_1]i64, k_4: i64, xss_7: [n_1][n_1]i64)"
        f" consumes (ds_3) : (r_6: i64) = {{ {' '.join(stms)} {behind} in (s_13) }}"
    )
    check(prog, Stage.CORE)
    return chain_at(prog.functions[0].body, len(stms) - 1, arrays)


def test_what_is_between_and_overwrites_nothing_does_not_matter() -> None:
    assert chain() == (1, 2)
    assert chain(*SCALARS) == (1, 4)


@pytest.mark.parametrize("place", range(len(SCALARS) + 1))
def test_nothing_between_the_first_and_the_last_overwrites_an_array(place: int) -> None:
    between = (*SCALARS[:place], WRITE, *SCALARS[place:])
    assert chain(*between) == (len(between) + 2,)


ELEMENT = "let (e_60: i64) = ys_10[k_4]"
OPERATOR = r"\(v_{0}4: i64, w_{0}5: i64) : (i64) -> {{ let (t_{0}6: i64) = add_i64 v_{0}4 w_{0}5 in (t_{0}6) }}"
WITH_SUM = (
    r"let (q_61: i64, ys_10: [n_1]i64) = redomap n_1 (xs_2) \(x_11: i64) : (i64, i64) ->"
    " { let (y_12: i64) = add_i64 x_11 k_4 in (x_11, y_12) } reduce (0i64) " + OPERATOR.format(7)
)
USES_SUM = "let (u_62: i64) = add_i64 q_61 1i64"
ROW_SUM = (
    r"let (ys_10: [n_1]i64) = reduce n_1 (x_41: [n_1]i64 <- xss_7) (xs_2) \(v_64: [n_1]i64, w_65: [n_1]i64)"
    r" : ([n_1]i64) -> { let (t_66: [n_1]i64) = map n_1 (v_64, w_65) \(a_67: i64, b_68: i64) : (i64) ->"
    " { let (c_69: i64) = add_i64 a_67 b_68 in (c_69) } in (t_66) }"
)
READS_ALL = (
    r"let (s_13: i64) = redomap n_1 (ys_10) \(x_70: i64) : (i64) -> { let (y_71: i64) = ys_10[k_4]"
    " let (z_72: i64) = add_i64 x_70 y_71 in (z_72) } reduce (0i64) " + OPERATOR.format(8)
)


def test_what_is_read_by_element_and_no_further() -> None:
    assert chain_of(MAP, SUM) == (0, 1)
    assert chain_of(MAP, ELEMENT, SUM) == (2,)
    assert chain_of(MAP, READS_ALL) == (1,)


def test_arrays_that_are_read_behind_the_chain() -> None:
    assert chain_of(MAP, SUM, behind=ELEMENT) == (1,)
    assert chain_of(MAP, SUM, behind=ELEMENT, arrays=True) == (0, 1)
    assert chain_of(MAP, ELEMENT, SUM, arrays=True) == (2,)


def test_results_of_reductions_are_known_behind_the_chain() -> None:
    assert chain_of(WITH_SUM, SUM, behind=USES_SUM) == (0, 1)
    assert chain_of(WITH_SUM, USES_SUM, SUM) == (2,)
    assert chain_of(ROW_SUM, SUM) == (1,)
