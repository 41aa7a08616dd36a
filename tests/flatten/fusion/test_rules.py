"""Fusion keeps what a producer relies on, and the arrays beside the one that is fused."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.fusion.driver import fused_once
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Loop, Prog
from soac.ir.interpret import interpret
from soac.ir.machine import CPU, Mode
from soac.ir.parse import parse_prog
from soac.ir.traverse import all_exps
from soac.ir.types import Name
from soac.pipeline import compile_core

CONSUMERS = {
    "map": r"map n_1 (ys_11) \(v_21: i64) : (i64) -> { let (w_22: i64) = mul_i64 v_21 2i64 in (w_22) }",
    "gather": r"map n_1 (is_3) \(i_21: i64) : (i64) -> { let (v_22: i64) = ys_11![i_21] in (v_22) }",
    "scan": r"scan n_1 (x_30: i64 <- ys_11) (0i64) \(a_31: i64, b_32: i64) : (i64) ->"
    " { let (s_33: i64) = add_i64 a_31 b_32 in (s_33) }",
    "scatter": r"scatter n_1 (is_3, ys_11) rank 1 dests (ds_6) \(i_31: i64, b_32: i64) : (i64, i64) ->"
    " { in (i_31, b_32) }",
    "hist": r"hist n_1 (is_3, ys_11) rank 1 dests (ds_6) \(i_31: i64, b_32: i64) : (i64, i64) -> { in (i_31, b_32) }"
    r" reduce_comm (0i64) \(a_34: i64, b_35: i64) : (i64) -> { let (s_33: i64) = add_i64 a_34 b_35 in (s_33) }",
}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_what_is_fused_relies_on_the_checks_of_both(consumer: str) -> None:
    prog = parse_prog(
        "next_name 100 fun main_0 (n_1: i64, xs_2: [n_1]i64, is_3: [n_1]i64, c_4: bool, d_5: bool, ds_6: [n_1]i64)"
        ' consumes (ds_6) : (r_8: [n_1]i64) = { let (ok_9: bool) = assert c_4 "R0103" ("no")'
        ' let (ok_10: bool) = assert d_5 "R0103" ("no") #{ok_9} let (ys_11: [n_1]i64) = map n_1 (xs_2)'
        r" \(x_12: i64) : (i64) -> { let (y_13: i64) = add_i64 x_12 1i64 in (y_13) }"
        f" #{{ok_10}} let (zs_20: [n_1]i64) = {CONSUMERS[consumer]} in (zs_20) }}"
    )
    check(prog, Stage.CORE)
    fused, rules = fused_once(prog)
    *_, last = fused.functions[0].body.stms
    assert rules
    assert set(last.certs) == {Name("ok", 9), Name("ok", 10)}


def results(prog: Prog, args: list[np.ndarray]) -> list[np.ndarray]:
    return [np.asarray(one) for one in interpret(prog, "main", args)[0]]


SCALARS = {
    "let (q_9: i64) = mul_i64 k_7 2i64": True,
    'let (ok_30: bool) = assert c_4 "R0103" ("no") #{ok_30} let (q_9: i64) = mul_i64 k_7 2i64': False,
    "let (q_9: i64) = div_i64 k_7 n_1": False,
    "let (ws_32: [n_1]i64) = replicate [n_1] k_7 let (q_9: i64) = ws_32![k_7]": False,
}


@pytest.mark.parametrize("before", SCALARS)
def test_a_loop_with_other_code_than_cheap_scalars_stays(before: str) -> None:
    """What may fail, relies on a check, or is an array would be computed again for each element."""
    prog = parse_prog(
        "next_name 100 fun main_0 (n_1: i64, xs_2: [n_1]i64, m_3: i64, c_4: bool) : (r_5: [n_1]i64) = {"
        " let (ys_6: [n_1]i64) = loop (zs_8: [n_1]i64 = xs_2) for k_7: i64 < m_3 do {"
        f" {before}"
        r" let (vs_10: [n_1]i64) = map n_1 (zs_8) \(x_11: i64) : (i64) ->"
        " { let (y_12: i64) = add_i64 x_11 q_9 in (y_12) }"
        " in (vs_10) } in (ys_6) }"
    )
    check(prog, Stage.CORE)
    _, rules = fused_once(prog)
    assert bool(rules) == SCALARS[before]


def test_a_nest_may_divide_the_counter_of_a_loop_of_maps() -> None:
    """Row and column of an index are computed once for all lanes."""
    text = """
entry main [h][w][c][n] (x: [h][w][c]f32) (k: [n][c]f32): [][][c]f32 =
  tabulate_2d (h - 2) (w - 2) (\\i j ->
    loop y = replicate c 0 for t < n do map3 (\\y v k -> y + v * k) y x[i + t / 3, j + t % 3] k[t])
"""
    flat = compile_core(compile_text(text, "divided.soac"), Mode.INCREMENTAL, CPU).flat
    loops = [e for fun in flat.functions for e in all_exps(fun.body) if isinstance(e, Loop)]
    assert loops
    assert not any(p.type.shape for loop in loops for p in loop.params)
