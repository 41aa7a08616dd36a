"""SOACs that become one loop of a thread have nothing between them that overwrites an array."""

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
    stms = ("let (zs_5: [n_1]i64) = copy ds_3", MAP, *between, SUM)
    prog = parse_prog(
        "next_name 100 fun main_0 (n_1: i64, xs_2: [n_1]i64, ds_3: [n_1]i64, k_4: i64) consumes (ds_3)"
        f" : (r_6: i64) = {{ {' '.join(stms)} in (s_13) }}"
    )
    check(prog, Stage.CORE)
    return chain_at(prog.functions[0].body, len(stms) - 1, arrays=False)


def test_what_is_between_and_overwrites_nothing_does_not_matter() -> None:
    assert chain() == (1, 2)
    assert chain(*SCALARS) == (1, 4)


@pytest.mark.parametrize("place", range(len(SCALARS) + 1))
def test_nothing_between_the_first_and_the_last_overwrites_an_array(place: int) -> None:
    between = (*SCALARS[:place], WRITE, *SCALARS[place:])
    assert chain(*between) == (len(between) + 2,)
