"""Inlining: calls become the bodies of the functions called."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten import inline as inline_module
from soac.flatten.inline import inline
from soac.ir.check import Stage, check
from soac.ir.core import Apply, Prog
from soac.ir.interpret import interpret
from soac.ir.parse import parse_prog
from soac.ir.traverse import all_exps

ENTRY = 'entry "main" sizes 0 ("x": "i32" 1) : ("i32" (0))'
SQUARE = "fun square_20 (x_21: i32) : (r_22: i32) = { let (y_23: i32) = mul_i32 x_21 x_21 in (y_23) }"
FOURTH = """fun fourth_30 (x_31: i32) : (r_32: i32) = {
  let (y_33: i32) = square_20(x_31)
  let (z_34: i32) = square_20(y_33)
  in (z_34)
}"""


def program(main: str, *functions: str) -> Prog:
    return parse_prog("\n".join(["next_name 100", *functions, f"fun main_0 (x_1: i32) : (r_2: i32) {ENTRY} = {main}"]))


def calls(prog: Prog) -> int:
    return sum(isinstance(exp, Apply) for fun in prog.functions for exp in all_exps(fun.body))


def test_calls_of_calls_are_inlined_and_the_functions_go() -> None:
    prog = inline(program("{ let (a_3: i32) = fourth_30(x_1) in (a_3) }", FOURTH, SQUARE))
    check(prog, Stage.CORE)
    assert calls(prog) == 0
    assert [fun.name.base for fun in prog.functions] == ["main"]
    assert interpret(prog, "main", [np.int32(3)])[0] == [81]


def test_calls_inside_loops_and_branches() -> None:
    main = """{
      let (s_3: i32) = loop (t_4: i32 = x_1) for i_5: i64 < 2i64 do {
        let (c_6: bool) = lt_i32 t_4 10i32
        let (u_7: i32) = if c_6 then { let (v_8: i32) = square_20(t_4) in (v_8) } else { in (t_4) }
        in (u_7)
      }
      in (s_3)
    }"""
    prog = inline(program(main, SQUARE))
    check(prog, Stage.CORE)
    assert calls(prog) == 0
    assert interpret(prog, "main", [np.int32(3)])[0] == [9 * 9]


def test_results_are_called_as_the_caller_calls_them() -> None:
    prog = inline(program("{ let (area_3: i32) = square_20(x_1) in (area_3) }", SQUARE))
    assert prog.functions[0].body.stms[0].pat[0].name.base == "area"


def test_attributes_of_a_call_go_to_the_parallelism_inside() -> None:
    total = """fun total_20 (n_21: i64) : (r_22: i64) = {
      let (is_23: [n_21]i64) = iota_i64 n_21 from 0i64 by 1i64
      let (s_24: i64) = reduce n_21 (e_25: i64 <- is_23) (0i64) \\(p_26: i64, q_27: i64) : (i64) -> {
        let (r_28: i64) = add_i64 p_26 q_27 in (r_28)
      }
      in (s_24)
    }"""
    main = """{
      #[sequential] let (a_3: i64) = total_20(5i64)
      let (b_4: i32) = i64_to_i32 a_3
      in (b_4)
    }"""
    prog = inline(program(main, total))
    check(prog, Stage.CORE)
    marked = [stm for stm in prog.functions[0].body.stms if stm.attrs]
    assert [stm.pat[0].type.shape for stm in marked] == [()]
    assert marked[0].attrs[0].name == "sequential"


def test_growth_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function calls the one before twice: inlined entirely, the program would double with each."""
    monkeypatch.setattr(inline_module, "GROWTH", 10)
    levels = [SQUARE.replace("square_20", "f0_20")]
    for k in range(1, 25):
        caller, callee = f"f{k}_{100 * k}", f"f{k - 1}_{100 * (k - 1) or 20}"
        x, a, b = (f"{base}_{1000 * k + 10_000 + j}" for j, base in enumerate("xab"))
        body = f"{{ let ({a}: i32) = {callee}({x}) let ({b}: i32) = {callee}({a}) in ({b}) }}"
        levels.append(f"fun {caller} ({x}: i32) : (r_{1000 * k + 10_005}: i32) = {body}")
    text = "\n".join(["next_name 100000", *levels])
    main = f"fun main_0 (x_1: i32) : (r_2: i32) {ENTRY} = {{ let (a_3: i32) = f24_2400(x_1) in (a_3) }}"
    prog = inline(parse_prog(f"{text}\n{main}"))
    check(prog, Stage.CORE)
    assert calls(prog) > 0
    assert sum(len(fun.body.stms) for fun in prog.functions) < 2_000


def test_recursion_stays() -> None:
    """A function that calls itself stays, and others are inlined in it."""
    one = "fun g_30 (x_31: i32) : (r_32: i32) = { let (y_33: i32) = add_i32 x_31 1i32 in (y_33) }"
    body = "{ let (z_24: i32) = g_30(x_21) let (y_23: i32) = f_20(z_24) in (y_23) }"
    loop = f"fun f_20 (x_21: i32) : (r_22: i32) = {body}"
    made = inline(program("{ let (a_3: i32) = f_20(x_1) in (a_3) }", loop, one))
    check(made, Stage.CORE)
    assert [str(fun.name) for fun in made.functions] == ["f_20", "main_0"]
    assert calls(made) == 2
